# SPDX-License-Identifier: BSD-3-Clause
"""The whole daemon forwarding while the kernel's routes change: kamueed on replay ports, 10,000 changes a second by
netlink.

The installer, the kernel and the managers share the cores that do not forward. A prefix is withdrawn and announced
again, with a default route below it: its packets go another way meanwhile, none is without one.
"""
import json
import statistics
import subprocess
from contextlib import contextmanager

from measure.replay import CASES, Bench, kamueed
from replay import table
from replay.router import link

NAME = "publication-daemon"
IDEA = "Cost of 10,000 route changes per second through the kernel: throughput and packets lost."
NEEDS = ("kamueed", "route_install")
RATE = 10_000           # changes a second
LOAD = 0.8              # of the throughput without changes, for the loss
STEADY_S = 2.0          # that measuring takes at most before it begins


def run(ctx) -> None:
    case, seconds = CASES["ipv4-full"], 1.0 if ctx.quick else 3.0
    name = f"{RATE:,} changes/s"
    bench = Bench(ctx.build, ctx.kamueed, prefixes=ctx.prefixes(), say=ctx.say)
    with bench, bench.start(kamueed(), case) as router:
        router.live.ns.ip(f"route add default via {table.hop_address(0, case.ports, 4)} dev {link(case, 0, 0)}")
        for _ in ctx.each_round():
            alone = statistics.median(router.measure(seconds))
            before = router.offer(LOAD * alone * 1e6, seconds)
            with flapping(ctx, router, seconds + STEADY_S):
                changed = statistics.median(router.measure(seconds))
            with flapping(ctx, router, seconds):
                load = router.offer(LOAD * alone * 1e6, seconds)
            ctx.add("forwarded, flooded", "no changes", "Mpps", alone)
            ctx.add("forwarded, flooded", name, "Mpps", changed)
            ctx.add("throughput that is left", name, "%", 100 * changed / alone, goal=">= 97")
            ctx.add(f"packets lost at {100 * LOAD:.0f} % of it", "no changes", "packets", before.lost)
            ctx.add(f"packets lost at {100 * LOAD:.0f} % of it", name, "packets", load.lost, goal="<= 0")


@contextmanager
def flapping(ctx, router, seconds: float):
    """The kernel's routes change from here on, for this long; the measurement inside ends earlier."""
    site = router.live.site
    vias = [word for hop in range(site.case.hops)
            for word in ("--via",
                         f"{table.hop_address(hop, site.case.ports, 4)}%{link(site.case, hop % site.case.ports, 0)}")]
    argv = ["taskset", "-c", str(site.main_core), str(ctx.program("route_install")), "--mode", "flap", "--rate",
            str(RATE), "--seconds", str(seconds), "--prefixes", str(site.prefixes), *vias]
    flap = subprocess.Popen(router.live.ns.argv(argv), stdout=subprocess.PIPE, text=True)
    try:
        yield
        found = json.loads(flap.communicate(timeout=60)[0])
    finally:
        flap.kill()
        flap.wait()
    ctx.add("route changes that the kernel took", f"{RATE:,} changes/s", "changes/s", found["per_second"],
            goal=f">= {0.98 * RATE:.0f}")
