# SPDX-License-Identifier: BSD-3-Clause
"""What requests to the management interface, and walks of the whole table, cost forwarding.

kamueed on replay ports forwards all it can, alone and asked in turns: by 1,000 requests a second, then by these and, at
once, the full table by RESTCONF, by SNMP (a real snmpd) and the metrics of Prometheus; and beside a program that asks
nothing and is busy, which shows what the machine itself takes when another core works (cores that are two threads of
one), and beside one that fills memory, which shows what any program takes that moves much of it. A window begins when
every walk is answered. Clients and everything of kamueed but the forwarder share the cores that do not forward. What is
left is each window against those alone before and after it; windows are short and many, because a virtual machine moves
by more than what is to be judged. The mean is told with its 95 % interval, and judged when that is narrow enough.
"""
import math
import os
import shutil
import statistics
import time
from pathlib import Path

from measure.api_load import COUNTED, RATE, Load
from measure.program import Unavailable
from measure.replay import CASES, Bench, kamueed

NAME = "api"
IDEA = ("How much 1,000 API requests per second slow down forwarding, alone and with concurrent SNMP, RESTCONF and "
        "Prometheus walks.")
NEEDS = ("kamueed",)
WINDOWS, QUICK_WINDOWS = 40, 6   # of each kind, in a round
WINDOW_S = 0.2
COST_PERCENT = 1.0        # that is allowed, and the widest 95 % interval (to each side) of a mean that is judged
KINDS = {f"{RATE:,} requests/s": "requests", "and walks by RESTCONF, SNMP, Prometheus": "walks",
         "a busy program, no requests": "busy", "one that fills memory, no requests": "memory"}
CONTROLS = ("busy", "memory")
SUBAGENT = "src/mgmt/snmp/kamuee-snmp"
SETTLE_S = 3.0            # until snmpd and kamueed know each other


def run(ctx) -> None:
    if not shutil.which("snmpd") or not shutil.which("snmpbulkwalk"):
        raise Unavailable("snmpd and snmpbulkwalk are not installed: apt-get install snmp snmpd")
    subagent = Path(ctx.build, SUBAGENT)
    if not subagent.exists():
        raise Unavailable("kamuee-snmp is not built: apt-get install libsnmp-dev")
    bench = Bench(ctx.build, ctx.kamueed, prefixes=ctx.prefixes(), say=ctx.say)
    with bench:
        with bench.start(kamueed(), CASES["ipv4-full"]) as router:
            daemon = router.live.daemon
            cores = os.sched_getaffinity(0) - set(router.live.site.cores)
            loads = {name: Load(router.live.ns, daemon.socket, daemon.run_dir, kind, cores, subagent)
                     for name, kind in KINDS.items()}
            try:
                for load in loads.values():
                    begin(router, load)
                measure(ctx, router, loads)
            finally:
                router.live.thaw()
                for load in loads.values():
                    load.end()


def begin(router, load: Load) -> None:
    router.live.thaw()
    load.start()
    time.sleep(SETTLE_S)
    load.halt()
    router.live.freeze()


def measure(ctx, router, loads: dict[str, Load]) -> None:
    alone, left = [statistics.mean(router.measure(1.0))], {name: [] for name in loads}
    for _ in ctx.each_round():
        for _ in range(QUICK_WINDOWS if ctx.quick else WINDOWS):
            for name, load in loads.items():
                rate, per_second = window(router, load), load.per_second
                alone.append(window(router, None))
                left[name].append(100 * rate / statistics.mean(alone[-2:]))
                ctx.add("forwarded", name, "Mpps", rate)
                ctx.add("forwarder waited for its core", name, "%", 100 * router.waited)
                for what, n in per_second.items():
                    if n or load.kind == "walks":
                        ctx.add(what, name, "1/s", n)
    ctx.add("forwarded", "alone", "Mpps", *alone)
    for name, values in left.items():
        ctx.add("throughput that is left", name, "%", *values)
        mean, half = statistics.mean(values), interval95(values)
        verdict = "a control" if loads[name].kind in CONTROLS else \
            f"within {half:.1f}: too wide to judge {COST_PERCENT:g} %" if half > COST_PERCENT else \
            f"aim {100 - COST_PERCENT:g} %: {'met' if mean >= 100 - COST_PERCENT else 'missed'}"
        ctx.note(f"{name}: mean {mean:.1f} % left, 95 % interval {mean - half:.1f} to {mean + half:.1f}, {len(values)} "
                 f"windows; {verdict}.")


def interval95(values: list[float]) -> float:
    """Half the width of the interval around the mean; windows count as independent."""
    return 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def window(router, load: Load | None) -> float:
    """Mpps; also stores the load's counts per second."""
    if not load:
        return statistics.mean(router.measure(WINDOW_S, steady=False))
    router.live.thaw()
    load.go()
    if silent := load.silent():
        raise Unavailable(f"{load.kind}: not answered: {', '.join(silent)}")
    before, since = load.counts(), time.monotonic()
    rate = statistics.mean(router.measure(WINDOW_S, steady=False))
    load.halt()
    passed, after = time.monotonic() - since, load.counts()
    load.per_second = {what: (after[what] - before[what]) / passed for what in COUNTED}
    return rate
