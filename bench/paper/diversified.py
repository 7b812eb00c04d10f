# SPDX-License-Identifier: BSD-3-Clause
"""A performance analysis of the Diversified Router, Washington University, 2006.

A 2^k factorial experiment on a network processor's simulator, and the experiments it plans: payload sizes, number of
processors, pipelined against parallel; the metrics of the benchmarks it surveys (CommBench, PacketBench).
"""
from __future__ import annotations

import os
from itertools import product

from measure import plot, tenants
from measure.program import Unavailable
from measure.factorial import Analysis, analyze
from paper import Result, Row, program
from paper.path import case, cores, count, labels, measure, median, not_here

NAME = "diversified"
IDEA = ("Diversified Router: 2^k factorial of size, queue manager and cores, payload sweep, pipeline, instructions per "
        "packet (table 1).")
# Table 1: throughput in Mb/s by (packet size, queue managers, threads of the parse block), each -1 or +1
TABLE_1 = {(-1, -1, -1): 3190.8, (1, -1, -1): 4604.6, (-1, 1, -1): 3894.3, (1, 1, -1): 4402.6,
           (-1, -1, 1): 3168.0, (1, -1, 1): 4473.1, (-1, 1, 1): 3917.1, (1, 1, 1): 4403.8}
TABLE_1_FACTORS = ("packet size", "queue manager", "threads")
TABLE_1_PERCENT = {("packet size",): 75.65, ("queue manager",): 7.65, ("threads",): 0.09,
                   ("packet size", "queue manager"): 16.30,
                   ("packet size", "threads"): 0.09, ("queue manager", "threads"): 0.17,
                   ("packet size", "queue manager", "threads"): 0.04}
TABLE_1_EFFECT = {("packet size",): 464.24, ("queue manager",): 147.65, ("threads",): -16.28,
                  ("packet size", "queue manager"): -215.49,
                  ("packet size", "threads"): -16.28, ("queue manager", "threads"): 22.28,
                  ("packet size", "queue manager", "threads"): 10.87}
SIZE = (78, 1518)       # bytes: their least packet, in a UDP tunnel, and a large one
PAYLOADS = (0, 64, 128, 256, 512, 768, 1024, 1280, 1480)
FULL = "full"


def run(ctx) -> Result:
    result = Result()
    factorial(ctx, result)
    payloads(ctx, result)
    processors(ctx, result)
    workload(ctx, result)
    programs(ctx, result)
    slices(ctx, result)
    result.notes += [
        "Their factors: packet size, queue manager, threads of one block of a network processor. Ours: packet size, "
        "queue manager, cores that forward. As theirs, the second one's level -1 is with a queue manager, +1 without: "
        "each sending port has eight classes for each virtual router and a rate that holds nothing back. With several "
        "cores most packets reach it from another one, by a ring; those that find the ring full do not count.",
        "The payload of each packet is written into the buffer at rx and read at tx by the same core, as a copying "
        "port (memif) does; without that (`headers`) a packet costs the same whatever its size, because no forwarder "
        "looks at the payload. The same through memif ports between processes: bench/run.py --only forward-memif.",
        "A pipeline here: one core receives, the next forwards and sends, a ring of 1,024 packets between them. Both "
        "cores must run at the same time: on a busy machine, where they wait for each other, its number means nothing."]
    return result


# --- table 1 ---

def factorial(ctx, result: Result) -> None:
    theirs = analyze(TABLE_1_FACTORS, {run: [y] for run, y in TABLE_1.items()})
    for effect in theirs.effects:
        result.row("table 1", f"their results, our arithmetic: {effect.name}", "% of variation",
                   TABLE_1_PERCENT[effect.factors], [effect.percent])
    factors = ("packet size", "queue manager", "cores") if cores() >= 2 else ("packet size", "queue manager")
    levels = list(product((-1, 1), repeat=len(factors)))
    named = {run: name_of(dict(zip(factors, run))) for run in levels}
    found = measure(ctx, named.values(), rounds=5 if ctx.quick else 11)
    ours = analyze(factors, {run: [1e3 * rate for rate in found.gbps(name, SIZE[run[0] > 0])]
                             for run, name in named.items()})
    result.rows += [Row("table 1", "mean throughput", "Mb/s", theirs.mean, [ours.mean],
                        "theirs: a network processor with 5 Gb/s of links"),
                    *effects(ours)]
    result.charts.append(variation_chart(ours))


def name_of(levels: dict[str, int]) -> str:
    threads = cores() if levels.get("cores", -1) > 0 else 1
    return case(table=FULL, bytes=SIZE[levels["packet size"] > 0], whole=1, threads=threads, ports=1, queues=threads,
                queue=int(levels["queue manager"] < 0))


def effects(ours: Analysis) -> list[Row]:
    """Next to theirs: their threads correspond to our cores."""
    rows = []
    for effect in ours.effects:
        alike = tuple({"cores": "threads"}.get(factor, factor) for factor in effect.factors)
        sure = "" if effect.low is None else f"90 % confidence: {effect.low:,.0f} to {effect.high:,.0f}"
        rows += [Row("table 1", effect.name, "% of variation", TABLE_1_PERCENT.get(alike), [effect.percent]),
                 Row("table 1", f"effect of {effect.name}", "Mb/s", TABLE_1_EFFECT.get(alike), [effect.value],
                     sure if effect.significant is not False else f"{sure}: not significant")]
    return rows + [Row("table 1", "error", "% of variation", None, [ours.error_percent],
                       "theirs: a simulator, without one")]


def variation_chart(ours: Analysis) -> plot.Bars:
    groups = [effect.name for effect in ours.effects] + ["error"]
    alike = [TABLE_1_PERCENT.get(tuple({"cores": "threads"}.get(factor, factor) for factor in effect.factors))
             for effect in ours.effects]
    return plot.Bars("What the throughput depends on (as table 1; their threads beside our cores)", "% of variation",
                     labels(groups), {"kamuee": [effect.percent for effect in ours.effects] + [ours.error_percent],
                      "paper": [*alike, None]})


# --- §5.4, planned there ---

def frame_of(payload: int) -> int:
    """Bytes: Ethernet header and checksum, IPv4 header, at least 64."""
    return max(64, payload + 38)


def payloads(ctx, result: Result) -> None:
    named = {(payload, whole): case(table=FULL, bytes=frame_of(payload), whole=whole) for payload in PAYLOADS
             for whole in (0, 1)}
    found = measure(ctx, named.values())
    for (payload, whole), name in named.items():
        kind = "payload" if whole else "headers"
        result.row("§5.4", f"payload of {payload} B, {kind}", "cycles/packet", None, found.cycles(name))
        if whole:
            result.row("§5.4", f"payload of {payload} B, {kind}", "Gb/s a core", None,
                       found.gbps(name, frame_of(payload)), "they expect a line up to their links' 5 Gb/s")
    result.charts.append(plot.Lines("Payload sweep, one core", "payload, bytes", "Gb/s",
                                    {kind: [(payload, median(found.gbps(named[payload, whole], frame_of(payload))))
                                            for payload in PAYLOADS]
                                     for kind, whole in (("payload", 1), ("headers", 0))}))


def processors(ctx, result: Result) -> None:
    parallel = {n: case(table=FULL, threads=n, ports=1, queues=n) for n in range(1, cores() + 1)}
    pipeline = case(table=FULL, threads=2, ports=1, pipeline=1)
    if cores() < 2:
        result.rows.append(not_here("§5.4", "pipelined against parallel", "Mpps", None, "one core"))
    found = measure(ctx, [*parallel.values(), *((pipeline,) if cores() >= 2 else ())])
    for n, name in parallel.items():
        result.row("§5.4", f"{n} processor{'s' if n > 1 else ''}, parallel (run to completion)", "Mpps", None,
                   found.mpps(name), "they expect linear scaling")
        result.row("§5.4", f"{n} processor{'s' if n > 1 else ''}, parallel (run to completion)", "cycles/packet", None,
                   found.cycles(name))
    series = {"parallel": [(n, median(found.mpps(name))) for n, name in parallel.items()]}
    if cores() >= 2:
        result.row("§5.4", "2 processors, pipelined", "Mpps", None, found.mpps(pipeline))
        result.row("§5.4", "2 processors, pipelined", "cycles/packet", None, found.cycles(pipeline),
                   "of both cores, waiting included")
        series["pipelined"] = [(2, median(found.mpps(pipeline)))]
    result.charts.append(plot.Lines("Processors: parallel and pipelined", "cores", "Mpps", series))


# --- §4.1.2: PL-VINI ---

def slices(ctx, result: Result) -> None:
    """TCP throughput, jitter and utilization of each virtual router, as PL-VINI reported of its slices."""
    if os.geteuid():
        result.rows.append(not_here("§4.1.2", "TCP of virtual routers", "Mb/s", 86.2, "network namespaces need root"))
        return
    found = tenants.measured(ctx, 4 if ctx.quick else 8)
    for t in found.tenants:
        result.row("§4.1.2", f"TCP of {t.vr}, which has {t.share_bps / 1e6:.1f} of {tenants.RATE_BPS / 1e6:.0f} Mb/s", "Mb/s",
                   None, [t.tcp_bps / 1e6], f"payload; {100 * t.of_share:.1f} % of what its share can carry")
        result.row("§4.1.2", f"jitter of a call beside it, {t.vr}", "ms", None, [t.jitter_ms],
                   f"RFC 3550; {t.lost_percent:.2f} % lost")
    result.row("§4.1.2", "TCP of all, one shaped port on veth", "Mb/s", 86.2, [sum(t.tcp_bps for t in found.tenants) / 1e6],
               "theirs: the most that PL-VINI forwarded on a PC of 1 GHz; ours is held to the port's rate")
    result.row("§4.1.2", "utilization of the link", "%", None, [100 * found.link])
    result.row("§4.1.2", "utilization of the processor", "%", 40, [100 * found.forwarder], "ours: forwarders' busy cycles")


# --- §3: CommBench, NetBench, PacketBench ---

def workload(ctx, result: Result) -> None:
    """Instructions and memory accesses of a packet against its size (PacketBench), misses of the caches (NetBench)."""
    sizes = (64, 1518) if ctx.quick else (64, 128, 256, 512, 1024, 1518)
    tables = ("default4",) if ctx.quick else ("default4", FULL)
    points: dict[str, list[tuple[float, float]]] = {}
    for table, (whole, size) in product(tables, ((whole, size) for whole in (0, 1) for size in sizes)):
        # headers alone cost the same at any size, and 64 bytes are no more than headers
        if whole == (size == 64):
            continue
        try:
            counted = count(ctx, case(table=table, pattern="random" if table == "default4" else "prefix", bytes=size,
                                      whole=whole))
        except Unavailable as why:
            result.notes.append(f"Instructions per packet: {why}")
            return
        kind = f"{table}, {'payload' if whole else 'headers'}"
        points.setdefault(kind, []).append((size, counted.events["Ir"]))
        for what, value in (("instructions", counted.events["Ir"]), ("memory accesses", counted.accesses),
                            ("reads", counted.events["Dr"]), ("writes", counted.events["Dw"]),
                            ("misses of the first data cache", counted.events["D1mr"] + counted.events["D1mw"])):
            result.row("§3", f"{what}, {kind}, {size} B", "a packet", None, [value], "callgrind (AVX2), port included")
    result.charts.append(plot.Lines("Instructions of a packet (PacketBench)", "frame, bytes", "instructions/packet",
                                    points))


def programs(ctx, result: Result) -> None:
    """Of each example of a packet program, as a tenant has it: what CommBench and PacketBench say of their applications."""
    shares: dict[str, list[float | None]] = {"packet": [], "non-packet": []}
    counted: list[str] = []
    for name in program.EXAMPLES:
        try:
            found = program.count(ctx, name)
        except Unavailable as why:
            result.rows.append(not_here("§3", f"program {name}: instructions", "a packet", None, str(why)))
            continue
        counted.append(name)
        shares["packet"].append(found.packet)
        shares["non-packet"].append(found.loads + found.stores - found.packet)
        for what, unit, value in (("instructions", "a packet", found.instructions),
                                  ("instructions", "a byte (CommBench)", found.instructions / found.bytes),
                                  ("loads", "% of instructions (CommBench)", 100 * found.loads / found.instructions),
                                  ("stores", "% of instructions (CommBench)", 100 * found.stores / found.instructions),
                                  ("accesses to packet memory", "a packet (PacketBench)", found.packet),
                                  ("other accesses to memory", "a packet (PacketBench)", found.loads + found.stores - found.packet)):
            result.row("§3", f"program {name}: {what}", unit, None, [value], f"lackey; {found.bytes} bytes behind the Ethernet header, its tables included")
    if counted:
        result.charts.append(plot.Bars("Accesses to memory of packet programs (PacketBench)", "a packet", labels(counted), shares))
