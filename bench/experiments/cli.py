# SPDX-License-Identifier: BSD-3-Clause
"""The command line: how long a short command takes, and what a very long one does to the router.

`show ipv4 route -j` of a full table goes through the daemon's control thread to a client; forwarding must not
notice. Pings cross the router meanwhile, and before, so that the machine's own pauses can be told apart.
"""
import os
import subprocess
import time

from measure.program import ROOT
from measure.topology import Star, star

NAME = "cli"
IDEA = "How quickly the command line answers, and whether streaming a full table pauses forwarding."
NEEDS = ("kamueed", "route_install")
KAMUEE = ROOT / "kamuee"
STARTS = 20


def run(ctx) -> None:
    with star("kamueed", ctx) as s:
        for _ in ctx.each_round():
            with ctx.step("show version"):
                ctx.add("start to end of `kamuee show version`", "kamuee", "ms",
                        *(1000 * once(s) for _ in range(STARTS)), goal="<= 150")
                ctx.add("start to end of an empty program", "python3 -c ''", "ms",
                        *(1000 * timed(["/usr/bin/python3", "-c", ""]) for _ in range(STARTS)))
        rib, fib = s.kamueed.routes()
        with ctx.step("installing the full table"):
            result = s.install("add")
            n = result["routes4"] + result["routes6"]
            s.kamueed.wait_routes(rib + n, fib + n)
        for _ in ctx.each_round():
            with ctx.step("show ipv4 route -j of the full table, pings meanwhile"):
                stream(ctx, s, result["routes4"])


def timed(argv: list[str]) -> float:
    begun = time.monotonic()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def once(s: Star) -> float:
    return timed([str(KAMUEE), "--socket", str(s.kamueed.socket), "show", "version"])


def stream(ctx, s: Star, n_routes: int) -> None:
    seconds = 2 if ctx.quick else 5
    ctx.add("ping round trip, nothing else", "kamueed", "ms", *s.rtts_ms("10.90.1.2", seconds))
    argv = s.hosts["src"].argv(["ping", "-n", "-i", "0.005", "-W", "1", "10.90.1.2"])
    pings = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    rss_kib, took, n_bytes = show_routes(ctx, s)
    pings.terminate()
    out = pings.communicate()[0]
    ctx.add("`show ipv4 route -j` of the full table", "kamuee", "s", took)
    ctx.add("its output", "kamuee", "MB", n_bytes / 1e6)
    ctx.add("its rate", "kamuee", "routes/s", n_routes / took)
    ctx.add("memory of the client", "kamuee", "MB", rss_kib * 1024 / 1e6)
    rtts = [float(line.partition("time=")[2].split()[0]) for line in out.splitlines() if "time=" in line]
    sent = [int(line.partition("icmp_seq=")[2].split()[0]) for line in out.splitlines() if "icmp_seq=" in line]
    ctx.add("ping round trip while it streams", "kamueed", "ms", *rtts)
    ctx.add("pings lost while it streams", "kamueed", "count", max(sent, default=0) - len(rtts), goal="<= 0")


def show_routes(ctx, s: Star) -> tuple[int, float, int]:
    """(highest RSS of the client in KiB, seconds, bytes printed)."""
    out = ctx.work / "routes.json"
    begun = time.monotonic()
    with open(out, "wb") as f:
        proc = subprocess.Popen([str(KAMUEE), "--socket", str(s.kamueed.socket), "show", "ipv4", "route", "-j"],
                                stdout=f)
        _, status, usage = os.wait4(proc.pid, 0)
    proc.returncode = os.waitstatus_to_exitcode(status)
    if proc.returncode:
        raise RuntimeError(f"show ipv4 route -j: status {proc.returncode}")
    n_bytes = out.stat().st_size
    out.unlink()
    return usage.ru_maxrss, time.monotonic() - begun, n_bytes
