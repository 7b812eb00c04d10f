# SPDX-License-Identifier: BSD-3-Clause
"""Kamuee Zero (Ohara, Yamagishi, 2016): the design and implementation of a route table for a software router.

Its machine: two Xeon E5-2687W v3 (3.1 GHz), four 40 GbE ports, 15 forwarder cores, a Spirent that offers 160 Gb/s.
Ours is whatever this runs on, so everything is per core: `path_bench` puts kamueed's forwarder on ports in memory
(figures 2 to 7, 9, table 3), `publisher_bench` puts readers of the FIB under each way of publishing (figure 8).
The paper's figures have no numbers; what its text and table 3 say is what ours stands beside.
"""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from measure import plot
from paper import Result, Row

NAME = "kamuee0-rcu"
IDEA = "ways to publish a FIB to forwarders, table sizes, queues, paths, loss against load, delay (Kamuee Zero, 2016)"

PAPER_GHZ, PAPER_CORES, PAPER_GBIT_S = 3.1, 15, 160
# Table 3: percent of the offered 160 Gb/s that was dropped.
PAPER_DROPPED = {"L3NONE": {64: 40.34, 128: 0.02, 1518: 0.03}, "L3DEFAULTS": {64: 42.16, 128: 2.13, 1518: 0.03},
                 "L3BGPFULL": {64: 44.16, 128: 9.04, 1518: 7.03}}
# 4.7: SIGNAL was the fastest to synchronise, "followed by" the others in this order.
PAPER_SYNCHRONISE = ("SIGNAL", "global mutex", "per-thread mutex", "QSBR", "MB")
TABLES = {"L3NONE": "mode=io", "L3DEFAULTS": "table=default4,pattern=random", "L3BGPFULL": "table=linx,pattern=random"}
TODAY = "L3BGPFULL, today's table"


@dataclass
class Trials:
    """The rounds of one case of path_bench."""
    ghz: float
    trials: list[dict]

    def cycles(self) -> list[float]:
        return [t["cycles"] / t["packets"] for t in self.trials]

    def mpps_a_core(self) -> list[float]:
        """By CPU time: what others did on the core in the meantime does not count."""
        return [self.ghz * 1e3 / c for c in self.cycles()]

    def mpps(self) -> list[float]:
        return [t["packets"] / t["seconds"] / 1e6 for t in self.trials]

    def lost_percent(self) -> list[float]:
        return [100 * t["lost"] / max(1, t["offered"]) for t in self.trials]


def call(argv: Sequence[object]) -> dict:
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{argv[0]}: status {done.returncode}: {done.stderr.strip()[-800:]}")
    return json.loads(done.stdout)


def path(ctx, cases: Iterable[str], ms: int = 20) -> dict[str, Trials]:
    """All cases in turns within each round."""
    names = list(dict.fromkeys(cases))
    found = call([ctx.program("path_bench"), "--rounds", 3 if ctx.quick else 11, "--ms", ms, "--prefixes", ctx.prefixes(), *names])
    return {case["case"]: Trials(found["tsc_ghz"], case["trials"]) for case in found["cases"]}


def median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def run(ctx) -> Result:
    result = Result()
    ctx.say("tables and sizes (figure 9, table 3), paths (figure 2), queues (figures 3, 4)")
    tables(ctx, result)
    peak = queues_and_paths(ctx, result)
    ctx.say("loss against load (figure 7), delay (figures 5, 6)")
    loss(ctx, result, peak)
    delay(ctx, result, peak)
    ctx.say("ways to publish (figure 8)")
    publishers(ctx, result)
    result.notes += [
        f"scaled: the paper's {PAPER_CORES} cores and {PAPER_GBIT_S} Gb/s to one core; its Mpps are divided by its cores, its cycles "
        f"are those of {PAPER_GHZ} GHz; ports in memory instead of NICs: no PCIe, no wire that could be the limit",
        "table 3 gives the share that was dropped of the offered 160 Gb/s; at 128 and 1518 bytes the wire, not the core, was the paper's limit",
        "L3NONE: packets go back by the port they came from, unseen; L3BGPFULL: a generated table of the paper's 518,231 routes, and today's",
    ]
    return result


# --- figure 9, table 3: the size of the table ---

def line_rate_mpps(size: int) -> float:
    return PAPER_GBIT_S * 1e3 / ((size + 20) * 8)


def paper_mpps_a_core(table: str, size: int) -> float:
    return line_rate_mpps(size) * (1 - PAPER_DROPPED[table][size] / 100) / PAPER_CORES


def tables(ctx, result: Result) -> None:
    sizes = (64, 128, 1518)
    cases = {(name, size): f"{case},ports=4,bytes={size}" for name, case in [*TABLES.items(), (TODAY, "table=full,pattern=random")]
             for size in sizes}
    found = path(ctx, cases.values())
    for (name, size), case in cases.items():
        rows_of_table(result, name, size, found[case])
    for larger, smaller in (("L3DEFAULTS", "L3NONE"), ("L3BGPFULL", "L3DEFAULTS")):
        ours = [100 * a / b for a, b in zip(found[cases[larger, 64]].mpps_a_core(), found[cases[smaller, 64]].mpps_a_core())]
        result.rows.append(Row("figure 9", f"{larger} against {smaller}, 64 B", "% of its Mpps",
                               100 * paper_mpps_a_core(larger, 64) / paper_mpps_a_core(smaller, 64), ours))
    names = list(dict.fromkeys(name for name, _ in cases))
    result.charts.append(plot.Bars("Figure 9: the size of the table, 64 B", "cycles a packet", names, {
        "paper": [PAPER_GHZ * 1e3 / paper_mpps_a_core(name.split(",")[0], 64) for name in names],
        "ours": [median(found[cases[name, 64]].cycles()) for name in names]}))


def rows_of_table(result: Result, name: str, size: int, ours: Trials) -> None:
    mpps = paper_mpps_a_core(name.split(",")[0], size)
    if size == 64:
        result.rows.append(Row("table 3", f"{name}, 64 B", "Mpps a core", mpps, ours.mpps_a_core()))
        result.rows.append(Row("table 3", f"{name}, 64 B", "cycles/packet", PAPER_GHZ * 1e3 / mpps, ours.cycles()))
    else:
        gbit = (size + 20) * 8 / 1e3
        result.rows.append(Row("table 3", f"{name}, {size} B", "Gb/s a core", mpps * gbit, [m * gbit for m in ours.mpps_a_core()],
                               "the paper's limit is the wire"))


# --- figures 2, 3, 4: paths and queues ---

def queues_and_paths(ctx, result: Result) -> float:
    """The Mpps that one core with two ports reaches on the paper's table: what the loads of figures 5 to 7 are parts of."""
    cores = len(os.sched_getaffinity(0))
    paths = {"BACK, no lookup": "mode=io,ports=2", "STRAIGHT": "table=linx,pattern=straight", "CROSS": "table=linx,pattern=cross"}
    queues = {q: f"table=linx,pattern=random,ports=2,queues={q}" for q in (1, 2, 3, 4, 5, 6)}
    spread = {n: f"table=linx,pattern=random,ports=2,queues={n},threads={n}" for n in range(1, cores + 1)}
    found = path(ctx, [*paths.values(), *queues.values(), *spread.values()])
    for name, case in paths.items():
        result.rows.append(Row("figure 2", f"{name}, one core, 64 B", "Mpps a core", None, found[case].mpps_a_core()))
    result.rows.append(Row("figure 2", "WRONGNUMA", "Mpps a core", None, [], "one socket here"))
    for q, case in queues.items():
        result.rows.append(Row("figure 3", f"Q{q}, all queues of two ports on one core, 64 B", "cycles/packet", None, found[case].cycles()))
    for n, case in spread.items():
        result.rows.append(Row("figure 4", f"Q{n}, {n} core(s), 64 B, 518,231 routes", "Mpps", None, found[case].mpps(),
                               "" if n < cores else "all cores of the machine: none left for others"))
    result.charts.append(plot.Lines("Figures 3, 4: cores with a queue of each port, 64 B", "cores", "Mpps", {
        "ours": [(n, median(found[case].mpps())) for n, case in spread.items()],
        "one core's times n": [(n, n * median(found[spread[1]].mpps())) for n in spread]}, dashed=("one core's times n",)))
    return median(found[queues[1]].mpps_a_core())


# --- figure 7: loss against load ---

def loss(ctx, result: Result, peak: float) -> None:
    steps = range(10, 101, 10) if ctx.quick else range(2, 101, 2)
    of_load = {percent: f"table=linx,pattern=random,mpps={peak / 2 * percent / 100:.4f}" for percent in steps}
    found = path(ctx, of_load.values())
    lost = {percent: found[case].lost_percent() for percent, case in of_load.items()}
    lowest = [min([p for p in steps if lost[p][round_] > 0], default=100) for round_ in range(len(lost[steps[0]]))]
    result.rows.append(Row("figure 7c", "lowest load with loss, one core, 64 B", "% of the peak", 1.0, [float(p) for p in lowest],
                           "the paper: even below 400 Mb/s of 40 Gb/s; ours in windows of 20 ms, in steps of "
                           f"{steps[1] - steps[0]} %; 100: none below"))
    half = found[of_load[50]]
    result.rows.append(Row("figure 7b", "packets lost a second though queues suffice, 64 B", "packets/s", 1e5 / 10,
                           [t["lost"] / t["seconds"] for t in half.trials], "the paper: 10^5 in about ten seconds; ours at half of the peak"))
    result.charts.append(plot.Lines("Figure 7c: loss against load, one core, 64 B", "% of the peak offered", "% lost", {
        "median": [(p, median(v)) for p, v in lost.items()], "worst round": [(p, max(v)) for p, v in lost.items()]}))


# --- figures 5, 6: delay ---

def delay(ctx, result: Result, peak: float) -> None:
    queues = (1, 2, 3, 4, 6)
    cases = {q: f"table=linx,pattern=random,queues={q},mpps={peak / 2 * 0.5:.4f}" for q in queues}
    found = path(ctx, cases.values(), ms=50)
    columns = {"least": 0, "average": 1, "longest": 2}
    for q, case in cases.items():
        for word, at in columns.items():
            many = word == "longest" and q > 1
            result.rows.append(Row("figure 6" if q > 1 else "figure 5", f"Q{q}, half load, 64 B, {word} delay", "µs", 1000.0 if many else None,
                                   [t["delay_us"][at] for t in found[case].trials],
                                   "the paper: almost always more than this" if many else ""))
    result.charts.append(plot.Lines("Figures 5, 6: delay in the router, half load, 64 B", "queues a port", "µs", {
        word: [(q, median([t["delay_us"][at] for t in found[case].trials])) for q, case in cases.items()]
        for word, at in columns.items()}, log_y=True))
    result.notes.append("delay: from a packet's arrival in the receive queue to the transmit queue; a NIC, its bus and the wire come on top. "
                        "Jitter is longest less least; `kamuee bench throughput` measures both through real ports")


# --- figure 8: publication ---

def publishers(ctx, result: Result) -> None:
    argv = [ctx.program("publisher_bench"), "--json", "--prefixes", ctx.prefixes()] + (["--quick"] if ctx.quick else [])
    found = call(argv)
    most = max(1, found["cores"] - 1)       # so many readers leave the writer a core
    rows = {(row["publisher"], row["section"]): row for row in found["rows"] if row["readers"] == most}
    for row in found["rows"]:
        rows_of_publisher(result, row, most)
    names = [name for name, section in rows if section == "packet"]
    for row in ranks({name: rows[name, "packet"] for name in names}):
        result.rows.append(row)
    result.charts += [
        plot.Bars(f"Figure 8a: {most} reader(s), by what a section of the publisher holds", "Mpps a core", names,
                  {f"a {section}": [median(rows[name, section]["mpps"]) / most for name in names] for section in ("packet", "burst")}),
        plot.Bars(f"Figure 8c: time to publish under load, {most} reader(s), a section for each packet", "µs", names,
                  {p: [rows[name, "packet"]["publication_us"][p] for name in names] for p in ("p50", "p99")})]
    result.notes.append(f"figure 8: full table, the headers of 64 B packets, a publication every {found['publish_every_us']} µs while the time to "
                        "publish is taken. 'none' protects nothing: what the readers' work costs alone. The paper's forwarders entered a "
                        "section for each packet; kamueed's QSBR has one quiescent state for each poll")
    result.notes.append("SIGNAL: the writer of liburcu 0.13 sleeps a millisecond whenever a reader has not run its handler at once")


def rows_of_publisher(result: Result, row: dict, most: int) -> None:
    who = f"{row['paper'] or row['publisher']}, a section a {row['section']}, {row['readers']} reader(s)"
    crowded = "" if row["readers"] <= most else "the writer shares a core with a reader"
    if row["readers"] == most or row["section"] == "packet":
        result.rows.append(Row("figure 8a", who, "Mpps a core", None, [m / row["readers"] for m in row["mpps"]], crowded))
    if row["readers"] == most and row["section"] == "packet":
        result.rows += [Row("figure 8c", f"{who}, time to publish, {p}", "µs", None, [t for t in [row["publication_us"][p]] if t is not None])
                        for p in ("p50", "p99", "max")]


def ranks(rows: dict[str, dict]) -> list[Row]:
    """The order of the five in the paper, and ours: of throughput (the paper names the first only) and of the time to publish."""
    five = {row["paper"]: row for row in rows.values() if row["paper"]}
    fastest = sorted(five, key=lambda name: -median(five[name]["mpps"]))
    soonest = sorted(five, key=lambda name: five[name]["publication_us"]["p50"] or 0)
    found = [Row("figure 8a", "QSBR's place of five by throughput, 64 B", "place", 1.0, [fastest.index("QSBR") + 1.0])]
    found += [Row("figure 8c", f"{name}'s place of five by time to publish", "place", PAPER_SYNCHRONISE.index(name) + 1.0,
                  [soonest.index(name) + 1.0]) for name in PAPER_SYNCHRONISE]
    return found
