# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding between veths through af_packet ports, against the kernel's own forwarding on the same veths.

Here the ports are the limit, not the forwarder: every packet costs a system call's share on both sides. What
is claimed is that nothing is lost below what the port carries. 64-byte frames to 256 destinations;
TCP by iperf3 with offloads off; round-trip times by ping on an idle router.
"""
import json
import statistics

from measure import search
from measure.topology import Star, star

NAME = "forward-ports"
IDEA = "Throughput of af_packet ports without loss, compared with Linux kernel forwarding on the same links."
NEEDS = ("kamueed", "packet_load")
ROUTERS = ("linux", "linux, 2 cores", "kamueed")


def run(ctx) -> None:
    for _ in ctx.each_round():
        for router in ROUTERS:
            with star(router, ctx) as s:
                with ctx.step(f"{router}: 64-byte frames"), s.losses_noted():
                    packets(ctx, s, router)
                with ctx.step(f"{router}: TCP"):
                    ctx.add("TCP, one connection, offloads off", router, "Gb/s", tcp(ctx, s))
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


def tcp(ctx, s: Star) -> float:
    server = s.popen(s.hosts["a"], ["iperf3", "-s", "-1", "-J"])
    for _ in range(50):
        out = s.hosts["src"].run(["iperf3", "-c", "10.90.1.2", "-J", "-t", "2" if ctx.quick else "5"], check=False,
                                 timeout_s=60)
        result = json.loads(out or "{}")
        if "end" in result and "sum_received" in result["end"]:
            server.wait(10)
            return result["end"]["sum_received"]["bits_per_second"] / 1e9
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
