# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench queue`: the queue manager of a port beside DPDK's rte_sched and Linux HTB.

The program queue_bench measures the scheduler by itself, its peers in turns; forward_bench the whole path with
it and without; measure/shaped.py links that HTB shapes. This module asks for them, prints the rows, what they say about
the goals, and draws the picture.
"""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kamuee.errors import DaemonError, Unreachable
from kamuee.lab.errors import LabError
from kamuee.render import Column, count, right
from measure import plot
from measure.cases import case_parser, print_rows
from measure.goal import Goal
from measure.program import answer_of, daemon, run_command

IDEA = "a port's queue manager compared with rte_sched and Linux HTB: cycles, rates, shares, delay (root for HTB)"
PLOT = "queue-bench.svg"
PROGRAM = {
    "classes": "enqueue and dequeue, eight classes a virtual router",
    "flows": "the same with fq_codel, 1,024 flows a class",
    "empty": "a call that finds nothing to send while all are over their maximum",
    "rate": "total rate against the port's",
    "share": "shares of virtual routers with weights 1:2:…:128, all overloaded",
    "delay": "delay within a guarantee while all others flood",
}
WHOLE, LINUX = "whole", "linux"
CASES = {**PROGRAM,
         WHOLE: "the whole path, full table: 16 virtual routers by one port, with and without a queue",
         LINUX: "eight classes on a veth link, shaped by Linux HTB and by kamueed (root)"}
OURS, PEER = "kamuee", "rte_sched"
MEMBERS = ("case", "vrs", "engine", "cycles", "cycles_min", "cycles_max", "ratio", "error", "p99_us")
QUICK_ROUTES = 100_000
QUICK_S = 35.0          # with --quick a case that takes long is not begun later
# forward_bench's names of its cases, and the engines they measure.
BY_ONE_PORT = {"unshaped": "no queue", "shaped": OURS, "shaped, fq_codel": f"{OURS}, fq_codel"}
FRAMES_2_US = 9.87      # two frames of 1,518 bytes at 2.5 Gb/s, with what the wire adds
TABLE = (Column("Case"), right("VRs"), Column("Engine"), right("Cycles"), right("Min"), right("Max"), right("Ratio"),
         right("Error %"), right("p99 µs"), right("Mpps"))
LEGEND = ("Cycles: TSC cycles per packet (empty: per call), median of the rounds. Ratio: to rte_sched's cycles, median "
          "of the rounds' own; whole: throughput to that without a queue.",
          "Error: of the rate; of the share, rms over 100 ms, worst virtual router or class. p99: delay in the "
          "scheduler.")


def parser() -> argparse.ArgumentParser:
    given = case_parser("queue", __doc__, CASES, "fewer rounds and short trials, ends within 50 s")
    given.add_argument("--rounds", type=int, metavar="N", help="rounds (default: 15; 5 with --quick)")
    given.add_argument("--prefixes", metavar="FILE", help="full routing table for 'whole', one prefix per line (may be "
                       "gzipped)")
    given.add_argument("--plot", metavar="FILE", help=f"file for the plot (PNG or SVG; default: {PLOT}, none with "
                       "--json)")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("queue", lambda: run(given), plot.NoPlot, LabError, DaemonError, Unreachable, RuntimeError)


def run(given: argparse.Namespace) -> int:
    rows, notes = measured(given)
    print_rows(rows, notes if given.json else [*LEGEND, *notes], ALL_GOALS, given.json, TABLE, cells)
    picture = given.plot or (None if given.json else PLOT)
    if picture and (drawn := charts(rows)):
        plot.save(picture, drawn)
        print(f"plot: {picture}", file=sys.stderr)
    return 0


# --- measuring ---

def measured(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """The rows, and notes about them."""
    wanted, begun = given.only or list(CASES), time.monotonic()
    rows, notes = scheduler(given, [name for name in PROGRAM if name in wanted]), []
    for name, part in ((WHOLE, whole), (LINUX, linux)):
        if name not in wanted:
            continue
        if given.quick and time.monotonic() - begun > QUICK_S:
            notes.append(f"{name}: not measured; with --quick this machine is too slow or too busy.")
            continue
        more, said = part(given)
        rows += more
        notes += said
    return [plain(row) for row in rows], notes


def options(given: argparse.Namespace) -> list[str]:
    return [*(["--quick"] if given.quick else []), *(["--rounds", str(given.rounds)] if given.rounds else [])]


def scheduler(given: argparse.Namespace, cases: Sequence[str]) -> list[dict]:
    """The scheduler alone and its peers, in one run if all cases are wanted."""
    if len(cases) == len(PROGRAM):
        return answer_of("queue_bench", *options(given))["rows"]
    return [row for name in cases for row in answer_of("queue_bench", "--only", name, *options(given))["rows"]]


def whole(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """Cycles of the whole path, ports included. Throughput is compared round by round."""
    table, notes = [], []
    if given.prefixes:
        table = ["--prefixes", given.prefixes]
    elif given.quick:
        table, notes = ["--routes", str(QUICK_ROUTES)], [f"Whole: with --quick a table has {QUICK_ROUTES:,} routes."]
    found = answer_of("forward_bench", "--queue", *options(given), *table)
    ports = found["harness_cycles"]
    cycles = {one["what"].partition("by one port, ")[2]: [ports + net for net in one["values"]]
              for one in found["results"]}
    return [{"case": WHOLE, "vrs": 16, "engine": BY_ONE_PORT[name], "cycles": [round(one, 2) for one in rounds],
             "ratio": round(statistics.median(plain / one for plain, one in zip(cycles["unshaped"], rounds)), 3)}
            for name, rounds in cycles.items()], notes


def linux(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """Rows of links shaped by Linux HTB, and sentences."""
    if os.geteuid():
        return [], ["Linux HTB: not measured; network namespaces need root."]
    from measure import machine, shaped                 # they need packages that the other cases do without
    from measure.context import Context
    from measure.topology import own_namespaces
    own_namespaces()
    _, disturbed = machine.must_be_quiet(force=True)
    with tempfile.TemporaryDirectory(prefix="kb-") as work:
        ctx = Context(daemon().parent, daemon(), 1, given.quick, None, Path(work))
        ctx.outcome.name = "queue"
        rows = shaped.rows(ctx, [shaped.Htb(), shaped.KamueeQueue()])
        leaves = sorted({row["leaf"] for row in rows if row["engine"] != OURS})
        return rows, [*ctx.outcome.notes, *([f"Links: {disturbed}"] if disturbed else []),
                      f"Linux HTB: leaves are {', '.join(leaves)}"
                      + (" (this kernel has no fq_codel)." if leaves != ["fq_codel"] else ".")]


def plain(row: dict) -> dict:
    """The row with medians in place of the rounds; each has all members, null where its case has no such figure."""
    found: dict = dict.fromkeys(MEMBERS)
    for name, value in row.items():
        if not isinstance(value, list):
            found[name] = value
        elif values := [one for one in value if one is not None]:
            found[name] = round(statistics.median(values), 5)
            if name == "cycles":
                found |= {"cycles_min": min(values), "cycles_max": max(values)}
    return found


# --- results ---

def cells(row: dict) -> list[str | None]:
    def number(value: float | None, digits: int) -> str | None:
        return None if value is None else f"{value:.{digits}f}"
    error = None if row["error"] is None else 100 * row["error"]
    return [row["case"], count(row["vrs"]), label(row),
            *(number(row[name], 1) for name in ("cycles", "cycles_min", "cycles_max")), number(row["ratio"], 2),
            number(error, 3), number(row["p99_us"], 1), number(row.get("mpps"), 3)]


def charts(rows: Sequence[dict]) -> list[plot.Bars | plot.Lines]:
    found: list[plot.Bars | plot.Lines] = []
    series: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["case"] in ("classes", "flows") and row["cycles"] is not None:
            name = row["engine"] + (", flow queues" if row["case"] == "flows" else "")
            series.setdefault(name, []).append((row["vrs"], row["cycles"]))
    if series:
        found.append(plot.Lines("Enqueue and dequeue, eight classes", "virtual routers", "TSC cycles per packet",
                                {name: sorted(points) for name, points in series.items()}, log_x=True))
    found += bars(rows, "Error of rate and share", "%", ("rate", "share"), "error", 100)
    found += bars(rows, "Delay within a guarantee, p99", "µs", ("delay",), "p99_us", 1)
    return found or bars(rows, "Cycles", "TSC cycles", sorted({row["case"] for row in rows}), "cycles", 1)


def bars(rows: Iterable[dict], title: str, unit: str, cases: Sequence[str], what: str, scale: float) -> list[plot.Bars]:
    """One chart, a bar for each engine; none without values."""
    value = {(label(row), row["case"]): scale * abs(row[what]) for row in rows
             if row["case"] in cases and row[what] is not None}
    groups = [case for case in cases if any(case == named for _, named in value)]
    engines = list(dict.fromkeys(engine for engine, _ in value))
    return [plot.Bars(title, unit, groups, {engine: [value.get((engine, case)) for case in groups]
                                            for engine in engines})] if groups else []


def label(row: dict) -> str:
    return f"{row['engine']}, {row['links']}" if row.get("links") else row["engine"]


# --- goals ---

def of(what: str, case: str, vrs: Sequence[int] = (), scale: float = 1) -> Callable[[dict], float | None]:
    """The largest of ours in this case."""
    def value(found: dict) -> float | None:
        values = [scale * abs(row[what]) for row in found["rows"] if row["case"] == case and row["engine"] == OURS
                  and "links" not in row and (not vrs or row["vrs"] in vrs) and row[what] is not None]
        return max(values, default=None)
    return value


AT_MOST = tuple(Goal(name, unit, must, goal, value, at_most=True) for name, unit, must, goal, value in (
    ("classes, 8 and 16 virtual routers", "cycles", 60, 30, of("cycles", "classes", (8, 16))),
    ("classes, 8 and 16 virtual routers: to rte_sched", "x", 0.4, 0.2, of("ratio", "classes", (8, 16))),
    ("classes, 1,024 virtual routers", "cycles", 80, 45, of("cycles", "classes", (1024,))),
    ("classes, 4,096 virtual routers", "cycles", 110, 70, of("cycles", "classes", (4096,))),
    ("fq_codel, 1,024 flows a class", "cycles", 90, 45, of("cycles", "flows")),
    ("a call that finds nothing, 4,096 over their maximum", "cycles", 150, 50, of("cycles", "empty", (4096,))),
    ("total rate against the port's, 1 s", "%", 0.5, 0.1, of("error", "rate", scale=100)),
    ("share, rms over 100 ms, worst virtual router", "%", 3, 0.5, of("error", "share", scale=100)),
    ("p99 delay within a guarantee while others flood", "µs", 25, FRAMES_2_US, of("p99_us", "delay")),
))
ALL_GOALS = (*AT_MOST, Goal("whole router, 16 virtual routers by one port: against no queue", "x", 0.70, 0.85,
                            of("ratio", WHOLE)))
