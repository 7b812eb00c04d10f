# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding between veths, where there is no card: kamueed's packet sockets against the kernel on the same veths.

TCP by iperf3, with offloads as Linux sets them (segments of up to 64 KB pass the router whole) and without; 64-byte
frames to 256 destinations; round-trip times by ping on an idle router. CPU time is that of the whole machine.
"""
import json
import os
import statistics
from pathlib import Path

from measure import search
from measure.topology import Star, star

NAME = "veth"
IDEA = "Routing between veths, without a card, compared with Linux on the same links: TCP with and without offloads, 64-byte frames, ping."
NEEDS = ("kamueed", "packet_load")
ROUTERS = ("linux", "kamueed")


def run(ctx) -> None:
    for _ in ctx.each_round():
        for offloads in (True, False):
            for router in ROUTERS:
                with star(router, ctx, offloads) as s:
                    with s.losses_noted():
                        measure(ctx, s, router, offloads)


def measure(ctx, s: Star, router: str, offloads: bool) -> None:
    how = f"offloads {'on' if offloads else 'off'}"
    for connections in (1, 4):
        with ctx.step(f"{router}, {how}: TCP, connections: {connections}"):
            rate, cpu = tcp(ctx, s, connections)
            ctx.add(f"TCP, {how}, connections: {connections}", router, "Gb/s", rate)
            if connections == 1:
                ctx.add(f"TCP, {how}: CPU time per gigabit", router, "ms", cpu)
    if not offloads:
        with ctx.step(f"{router}: 64-byte frames"):
            packets(ctx, s, router)
        with ctx.step(f"{router}: round trips"):
            rtts = s.rtts_ms("10.90.1.2", 1 if ctx.quick else 3)
            ctx.add("ping round trip, idle", router, "µs", *(1000 * t for t in rtts))
    if s.kamueed:
        ledger(ctx, s, router)


def packets(ctx, s: Star, router: str) -> None:
    def trial(rate: float, seconds: float) -> dict:
        return ctx.run_json([
            ctx.program("packet_load"), "--send", f"{s.hosts['src'].name}%e0", "--receive", f"{s.hosts['a'].name}%e0",
            "--to", s.router_mac("p0"), "--source", "10.90.0.2", "--destination", "198.51.100.0", "--destinations",
            "256", "--rate", f"{rate:.0f}", "--seconds", str(seconds), "--cpu", str(s.load_core)])

    s.router.ip("route replace 198.51.100.0/24 via 10.90.1.2")
    trial(10000, 0.3)                                    # warms up; waits for the route to be followed
    found = search.throughput(trial, 0.3 if ctx.quick else 1.0)
    ctx.add("64 B without loss", router, "kpps", found["strict"] / 1000)
    ctx.add("64 B with at most 0.1 % loss", router, "kpps", found["tolerant"] / 1000)
    ctx.add("64 B received when flooded", router, "kpps", found["flood"] / 1000)
    ctx.add("offered when flooding", router, "kpps", found["flood-offered"] / 1000)


def busy_s() -> float:
    """CPU time that this machine has spent, in all."""
    user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def tcp(ctx, s: Star, connections: int) -> tuple[float, float]:
    """Gb/s, and milliseconds of CPU time for each gigabit."""
    server = s.popen(s.hosts["a"], ["iperf3", "-s", "-1", "-J"])
    for _ in range(50):
        before = busy_s()
        out = s.hosts["src"].run(["iperf3", "-c", "10.90.1.2", "-J", "-P", str(connections), "-t", "2" if ctx.quick else "5"],
                                 check=False, timeout_s=60)
        busy = busy_s() - before
        result = json.loads(out or "{}")
        if "end" in result and "sum_received" in result["end"]:
            server.wait(10)
            received = result["end"]["sum_received"]
            return received["bits_per_second"] / 1e9, 1000 * busy / (received["bytes"] * 8 / 1e9)
        if "refused" not in result.get("error", ""):
            break
    raise RuntimeError(f"iperf3: {result.get('error', 'no answer')}")


def ledger(ctx, s: Star, router: str) -> None:
    state = s.kamueed.client.state("ledger")
    ctx.add("ledger: packets unaccounted for", router, "count", state["imbalance"], goal="<= 0")
    polls = [t["statistics"] for t in s.kamueed.client.entries("thread") if t.get("role") == "forwarder"]
    bursts = sum(p.get("bursts", 0) for p in polls)
    if bursts:
        ctx.add("packets a burst, on average", router, "count",
                statistics.fmean([sum(p["rx-packets"] for p in polls) / bursts]))
