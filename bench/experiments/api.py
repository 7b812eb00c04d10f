# SPDX-License-Identifier: BSD-3-Clause
"""What requests to the management interface, and walks of the whole table, cost forwarding.

kamueed on replay ports forwards all it can, alone and asked in turns: by 1,000 requests a second, then by these and, at once, the
full table by RESTCONF, by SNMP (a real snmpd) and the metrics of Prometheus; and beside a program that asks nothing and is busy, which
shows what the machine itself takes when another core works (cores that are two threads of one), and beside one that fills memory,
which shows what any program takes that moves much of it. A window begins when every walk is answered. Clients and everything of kamueed but the forwarder
share the cores that do not forward. What is left is each window against those alone before and after it. When these differ among
themselves by as much as what is judged, nothing is judged.
"""
import shutil
import statistics
import time

from measure.api_load import COUNTED, RATE, Load
from measure.context import Unavailable
from measure.replay import CASES, Bench, kamueed

NAME = "api"
IDEA = "1,000 requests a second, alone and with walks by SNMP, RESTCONF and Prometheus at once: what is left of forwarding."
NEEDS = ("kamueed",)
WINDOWS = 6               # of each kind, in a round
COST_PERCENT = 1.0        # that is allowed, and the most that the windows alone may differ (between quartiles)
KINDS = {f"{RATE:,} requests/s": "requests", "and walks by RESTCONF, SNMP, Prometheus": "walks", "a busy program, no requests": "busy",
         "one that fills memory, no requests": "memory"}
SETTLE_S = 3.0            # until snmpd and kamueed know each other


def run(ctx) -> None:
    if not shutil.which("snmpd") or not shutil.which("snmpbulkwalk"):
        raise Unavailable("no snmpd and snmpbulkwalk: apt-get install snmp snmpd")
    seconds = 0.5 if ctx.quick else 1.0
    bench = Bench(ctx.build, ctx.kamueed, prefixes=ctx.prefixes(), force=True, say=ctx.say)
    with bench:
        with bench.start(kamueed(), CASES["ipv4-full"]) as router:
            daemon = router.live.daemon
            loads = {name: Load(router.live.ns, daemon.socket, daemon.run_dir, kind) for name, kind in KINDS.items()}
            try:
                for load in loads.values():
                    begin(router, load)
                measure(ctx, router, loads, seconds)
            finally:
                router.live.thaw()
                for load in loads.values():
                    load.end()


def begin(router, load: Load) -> None:
    router.live.thaw()
    router.live.daemon.client.call("configure", line=[f"set snmp agentx {load.dir}/agentx"])
    load.start()
    time.sleep(SETTLE_S)
    load.halt()
    router.live.freeze()


def measure(ctx, router, loads: dict[str, Load], seconds: float) -> None:
    alone, asked = [window(router, None, seconds)], {name: [] for name in loads}
    for _ in ctx.each_round():
        for _ in range(WINDOWS):
            for name, load in loads.items():
                rate, per_second = window(router, load, seconds), load.per_second
                alone.append(window(router, None, seconds))
                asked[name].append(100 * rate / statistics.mean(alone[-2:]))
                ctx.add("forwarded", name, "Mpps", rate)
                ctx.add("forwarder waited for its core", name, "%", 100 * router.waited)
                for what, n in per_second.items():
                    if n or load.kind == "walks":
                        ctx.add(what, name, "1/s", n)
    ctx.add("forwarded", "alone", "Mpps", *alone)
    quartiles = statistics.quantiles(alone, n=4)
    moved = 100 * (quartiles[2] - quartiles[0]) / quartiles[1]
    judged = moved <= COST_PERCENT
    ctx.note(f"Windows alone differ by {moved:.2f} % between their quartiles" + ("." if judged else ": nothing can be said about 1 %, so it is not judged."))
    for name, left in asked.items():
        ctx.add("throughput that is left", name, "%", *left, goal=f">= {100 - COST_PERCENT:g}" if judged and loads[name].kind not in ("busy", "memory") else "")


def window(router, load: Load | None, seconds: float) -> float:
    """Mpps, median of its intervals; the load's counts by the second are kept in it."""
    if not load:
        return statistics.median(router.measure(seconds))
    router.live.thaw()
    load.go()
    if silent := load.silent():
        raise Unavailable(f"{load.kind}: not answered: {', '.join(silent)}")
    before, since = load.counts(), time.monotonic()
    rate = statistics.median(router.measure(seconds))
    load.halt()
    passed, after = time.monotonic() - since, load.counts()
    load.per_second = {what: (after[what] - before[what]) / passed for what in COUNTED}
    return rate
