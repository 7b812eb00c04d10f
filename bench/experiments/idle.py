# SPDX-License-Identifier: BSD-3-Clause
"""What kamueed costs when nothing happens: CPU of its threads without a packet, in each idle mode."""
import time

from measure.topology import Star, star

NAME = "idle"
IDEA = "How much CPU kamueed uses at zero traffic, in each idle mode of its forwarders, and what that does to latency."
NEEDS = ("kamueed",)
MODES = ("balanced", "powersave", "performance")


def run(ctx) -> None:
    seconds = 3 if ctx.quick else 10
    with star("kamueed", ctx) as s:
        for _ in ctx.each_round():
            for mode in MODES:
                s.kamueed.client.call("configure", line=[f"set forwarding idle {mode}"])
                time.sleep(0.5)
                with ctx.step(mode):
                    measure(ctx, s, mode, seconds)


def measure(ctx, s: Star, mode: str, seconds: float) -> None:
    before, begun = s.kamueed.cpu_s(), time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - begun
    after = s.kamueed.cpu_s()
    for name in sorted(after):
        used = 100 * (after[name] - before.get(name, 0.0)) / passed
        if used >= 0.05 or "forward" in name:
            ctx.add(f"CPU of thread {name}", mode, "% of a core", used)
    total = sum(after.values()) - sum(before.values())
    ctx.add("CPU of kamueed", mode, "% of a core", 100 * total / passed)
    ctx.add("ping round trip, 20 a second", mode, "µs", *(1000 * t for t in s.rtts_ms("10.90.1.2", 2, interval_s=0.05)))
