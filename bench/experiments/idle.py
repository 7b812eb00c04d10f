# SPDX-License-Identifier: BSD-3-Clause
"""What kamueed costs when nothing happens, in each idle mode, and what the first packet then waits for.

Twice: with ports that can wake a forwarder (packet sockets), and with one more that cannot (net_ring), so
that the forwarder that polls it sleeps by the clock. A look begins three seconds after the mode was set: the schedule
has come to its end by then (src/data/forwarder/idle.c). The first ping after two seconds of silence tells how long
a packet waits: it crosses the router twice, and both hosts have to wake up too; in mode `performance`, where the
forwarder never sleeps, the rest of the way is all there is.
"""
import time

from measure.topology import Star, star

NAME = "idle"
IDEA = "CPU use of kamueed without traffic in each idle mode, and the effect on latency."
NEEDS = ("kamueed",)
MODES = ("balanced", "powersave", "performance")
SETTLE_S = 3
SILENCE_S = 2
GOAL = {"balanced": "<= 3"}     # % of a core, all threads of kamueed together
POLLED_PORT = "set port polled devargs net_ring0"


def run(ctx) -> None:
    with star("kamueed", ctx) as s:
        for _ in ctx.each_round():
            for mode in MODES:
                measure(ctx, s, mode, mode)
            s.kamueed.client.call("configure", line=[POLLED_PORT])
            for mode in MODES:
                measure(ctx, s, mode, f"{mode}, a port has to be polled")
            s.kamueed.client.call("configure", line=["delete port polled"])


def measure(ctx, s: Star, mode: str, variant: str) -> None:
    seconds, firsts = (3, 3) if ctx.quick else (10, 10)
    s.kamueed.client.call("configure", line=[f"set forwarding idle {mode}"])
    with ctx.step(variant):
        time.sleep(SETTLE_S)
        cpu(ctx, s, variant, seconds, GOAL.get(mode, ""))
        ctx.add("ping round trip, 20 a second", variant, "µs",
                *(1000 * t for t in s.rtts_ms("10.90.1.2", 2, interval_s=0.05)))
        first = s.rtts_ms("10.90.1.2", firsts * SILENCE_S, interval_s=SILENCE_S)
        ctx.add(f"ping round trip after {SILENCE_S} s of silence", variant, "µs", *(1000 * t for t in first))


def cpu(ctx, s: Star, variant: str, seconds: float, goal: str) -> None:
    before, begun = s.kamueed.cpu_s(), time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - begun
    after = s.kamueed.cpu_s()
    for name in sorted(after):
        used = 100 * (after[name] - before.get(name, 0.0)) / passed
        if used >= 0.05 or "forward" in name:
            ctx.add(f"CPU of thread {name}", variant, "% of a core", used)
    total = sum(after.values()) - sum(before.values())
    ctx.add("CPU of kamueed", variant, "% of a core", 100 * total / passed, goal=goal)
