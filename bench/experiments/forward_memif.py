# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding between memif ports: shared memory between two processes, no system call per burst.

So the forwarder itself is what limits, on one core, with its whole path. testpmd in the router's place,
moving packets without looking at them, shows what the two memifs and the generator carry.
"""
import json
import subprocess
import time

from kamuee.lab.netns import Namespace
from measure import search
from measure.context import Unavailable
from measure.daemon import DIE_WITH_US, Kamueed

NAME = "forward-memif"
IDEA = "What one forwarder core carries between two memif ports, against testpmd moving packets unseen."
NEEDS = ("kamueed", "memif_load")
DESTINATION = "198.51.100.0"
GENERATOR_MAC = "02:00:00:00:90:02"
EAL = ["--no-huge", "-m", "512", "--no-shconf", "--no-pci", "--no-telemetry", "--log-level", "lib.*:error"]


def run(ctx) -> None:
    if subprocess.run(["sh", "-c", "command -v dpdk-testpmd"], capture_output=True).returncode:
        raise Unavailable("dpdk-testpmd is not installed: apt-get install dpdk-dev")
    for number in ctx.each_round():
        for router, measure in (("testpmd io", with_testpmd), ("kamueed", with_kamueed)):
            with ctx.step(router):
                found = measure(ctx, number)
            ctx.add("64 B without loss", router, "Mpps", found["strict"] / 1e6)
            ctx.add("64 B with at most 0.1 % loss", router, "Mpps", found["tolerant"] / 1e6)
            ctx.add("64 B received when flooded", router, "Mpps", found["flood"] / 1e6)
            ctx.add("offered when flooding", router, "Mpps", found["flood-offered"] / 1e6)


def devargs(port: int, socket, role: str) -> str:
    return f"net_memif{port},role={role},id={port},socket={socket},socket-abstract=no"


def trials(ctx, socket, to_mac: str, load_core: int, tag: str) -> dict:
    log = ctx.work / f"load-{tag}.log"
    proc = subprocess.Popen(
        [ctx.program("memif_load"), *EAL, "--file-prefix", f"kb-load-{tag}", "-l", str(load_core),
         "--vdev", devargs(0, socket, "client"), "--vdev", devargs(1, socket, "client"),
         "--", "--to", to_mac, "--source", "10.90.0.2", "--destination", DESTINATION, "--destinations", "256"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log.open("wb"), text=True)

    def trial(rate: float, seconds: float) -> dict:
        proc.stdin.write(f"{rate:.0f} {seconds}\n")
        proc.stdin.flush()
        line = proc.stdout.readline()
        if not line:
            raise RuntimeError(f"memif_load ended: {log.read_text(errors='replace')[-500:]}")
        return json.loads(line)

    try:
        trial(10000, 0.3)
        return search.throughput(trial, 0.3 if ctx.quick else 1.0)
    finally:
        proc.stdin.close()
        proc.wait(10)


def with_testpmd(ctx, number: int) -> dict:
    socket, log = ctx.work / f"testpmd{number}.sock", ctx.work / f"testpmd{number}.log"
    proc = subprocess.Popen(
        [*DIE_WITH_US, "dpdk-testpmd", *EAL, "--file-prefix", f"kb-io-{number}", "--lcores", "0@0,1@1",
         "--vdev", devargs(0, socket, "server"), "--vdev", devargs(1, socket, "server"),
         "--", "--forward-mode=io", "--auto-start", "--no-lsc-interrupt", "--stats-period=3600", "--total-num-mbufs=16384"],
        stdin=subprocess.DEVNULL, stdout=log.open("wb"), stderr=subprocess.STDOUT)
    try:
        # It listens before its ports are ready, and refuses a peer that comes meanwhile.
        wait_for(lambda: "io packet forwarding" in log.read_text(errors="replace"), "testpmd does not start forwarding", proc)
        return trials(ctx, socket, "02:00:00:00:90:01", 0, f"io-{number}")
    finally:
        proc.terminate()
        proc.wait(10)


def with_kamueed(ctx, number: int) -> dict:
    socket = ctx.work / f"kamueed{number}.sock"
    router = Namespace(f"kb-memif{number}")
    router.create()
    k = Kamueed(router, ctx.need_kamueed(), ctx.work / router.name,
                [f"set port m{port} devargs {devargs(port, socket, 'server')}" for port in (0, 1)])
    try:
        k.start()
        for port in (0, 1):
            router.ip(f"link set m{port} up")
            router.add_addresses(f"m{port}", [f"10.90.{port}.1/24"])
        router.ip(f"neigh replace 10.90.1.2 lladdr {GENERATOR_MAC} dev m1 nud permanent")
        router.add_route(f"{DESTINATION}/24 via 10.90.1.2")
        wait_for(socket.exists, "kamueed makes no memif socket", k.proc)
        mac = router.ip_json("link show dev m0")[0]["address"]
        forwarding = k.forwarder_cores()
        return trials(ctx, socket, mac, 0 if 1 in forwarding else 1, f"kamueed-{number}")
    finally:
        k.stop()
        router.delete()


def wait_for(condition, what: str, proc: subprocess.Popen) -> None:
    end = time.monotonic() + 10
    while not condition():
        if time.monotonic() > end or proc.poll() is not None:
            raise RuntimeError(f"{what} (status {proc.poll()})")
        time.sleep(0.02)
    time.sleep(0.3)
