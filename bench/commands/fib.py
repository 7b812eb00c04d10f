# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench fib`: longest-prefix match alone, our engine and DPDK's over the same table in one process, in turns.

The program fib_bench measures; this module asks for the cases, prints the table and draws the picture.
"""
from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Iterable, Sequence

from kamuee import render
from kamuee.context import terminal_width
from kamuee.render import Column, count, right
from measure import plot
from measure.cases import command_parser
from measure.program import answer_of, run_command

IDEA = "longest-prefix match: Poptrie compared with DPDK's engines on one table: lookups, updates, memory (no root)"
PLOT = "fib-bench.svg"
# the largest first: the others are a part of it
SCALES = (4_000_000, 2_000_000, 1_000_000, 300_000, 100_000, 10_000, 1_000)
READS = (right("MiB"), right("Independent"), right("Chained"))
TABLE = (Column("Engine"), Column("Kernel"), Column("IP"), Column("Pattern"), right("Next hops"), right("Mlookups/s"),
         right("Ratio"), right("Single"), right("MB"), right("Build ms"), right("Updates/s"), right("p99 µs"),
         right("Worst µs"), right("of it CPU"))
LEGEND = ("Single: one address per call, relative to rte_fib.",
          "Updates: withdraw and announce, with a concurrent reader. Worst: wall-clock time; of it CPU: CPU time of "
          "the writer.")


def parser() -> argparse.ArgumentParser:
    given = command_parser("fib", __doc__, "few rounds, IPv4 with 64, 500, 5,000 and 60,000 next hops, IPv6 with 64; ends within 50 s")
    given.add_argument("--prefixes", metavar="FILE", help="routing table, one prefix per line (may be gzipped)")
    given.add_argument("--plot", metavar="FILE", help=f"file for the plot (PNG or SVG; default: {PLOT}, none with "
                       "--json)")
    given.add_argument("--reads", action="store_true",
                       help="measure random memory reads by working-set size: the lower bound for a lookup")
    given.add_argument("--scaling", action="store_true", help="synthetic tables of 1,000 to 4,000,000 routes (three "
                       "minutes)")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("fib", lambda: run(given), plot.NoPlot)


def run(given: argparse.Namespace) -> int:
    if given.reads:
        return reads(given.json)
    if given.scaling:
        rows = [row for family in (4, 6) for row in scaled(given, family)]
    else:
        rows = measured(given)
    if given.json:
        print(json.dumps({"rows": rows}, indent=1))
    else:
        print(*render.table(TABLE, map(cells, rows), terminal_width()), sep="\n")
        print(peers(rows), *LEGEND, sep="\n")
    picture = given.plot or (None if given.json else PLOT)
    if picture:
        plot.save(picture, scaling_charts(rows) if given.scaling else charts(rows))
        print(f"plot: {picture}", file=sys.stderr)
    return 0


def reads(as_json: bool) -> int:
    found = answer_of("read_bench")
    if as_json:
        print(json.dumps(found))
    else:
        print(*render.table(READS, read_rows(found["reads"]), terminal_width()), sep="\n")
        print("TSC cycles per random read: median of the rounds (minimum). Independent: many in flight; chained: one "
              "after the other.")
    return 0


def read_rows(measured_reads: Iterable[dict]) -> list[list[str]]:
    """A row for each size: the cost of both ways of reading."""
    found: dict[int, list[str]] = {}
    for one in measured_reads:
        cell = f"{statistics.median(one['cycles']):.1f} ({min(one['cycles']):.1f})"
        found.setdefault(one["mib"], [count(one["mib"])]).append(cell)
    return list(found.values())


def measured(given: argparse.Namespace, *more: str) -> list[dict]:
    argv = ["--quick"] if given.quick or given.scaling else []
    argv += ["--prefixes", given.prefixes] if given.prefixes and not given.scaling else []
    return answer_of("fib_bench", *argv, *more)["rows"]


def scaled(given: argparse.Namespace, family: int) -> list[dict]:
    """Synthetic tables, one process. rte_fib6 is not among them: it wants gigabytes, and refuses tables it should
    take."""
    print(f"kamuee bench fib: IPv{family}, {count(min(SCALES))} to {count(max(SCALES))} routes", file=sys.stderr)
    engines = {4: "poptrie,rte_fib", 6: "poptrie"}
    return measured(given, "--table", ",".join(map(str, SCALES)), "--next-hops", "64", "--family", str(family),
                    "--engines", engines[family], "--patterns", "uniform,prefix")


def cells(row: dict) -> list[str | None]:
    return [row["engine"], row["kernel"], str(row["family"]), row["pattern"], count(row["next_hops"]),
            f"{row['mlps']:.1f}", f"{row['ratio']:.2f}" if row["ratio"] else None,
            f"{row['ratio_single']:.2f}" if row.get("ratio_single") else None, f"{row['bytes'] / 1e6:.1f}",
            f"{row['build_ms']:.0f}", *changes(row)]


def peers(rows: Iterable[dict]) -> str:
    """The reference of the ratios: DPDK's fastest kernel on this CPU, which may differ from pattern to pattern."""
    kernels = sorted({row["peer"] for row in rows if row["peer"]})
    if not kernels:
        return "Ratio: none, because rte_fib was not measured."
    return ("Ratio: speed relative to rte_fib (rte_fib6) with its fastest kernel on this CPU "
            f"({', '.join(kernels)}), median over the rounds.")


def changes(row: dict) -> list[str | None]:
    if not row["updates_per_s"]:
        return [None] * 4
    return [count(round(row["updates_per_s"]))] + [f"{row[name]:.1f}" for name in
                                                   ("update_p99_us", "update_worst_us", "update_worst_cpu_us")]


def label(row: dict) -> str:
    return f"{row['engine']} {row['kernel']}"


def charts(rows: Iterable[dict]) -> list[plot.Bars]:
    """One for each family and number of next hops; sequential traffic, which is no one's, would dwarf the others."""
    found: dict[tuple[int, int], list[dict]] = {}
    for row in rows:
        if row["pattern"] != "sequential":
            found.setdefault((row["family"], row["next_hops"]), []).append(row)
    return [bars(f"IPv{family}, {count(hops)} next hops", some) for (family, hops), some in found.items()]


def bars(title: str, rows: Sequence[dict]) -> plot.Bars:
    value = {(label(row), row["pattern"]): row["mlps"] for row in rows}
    groups = list(dict.fromkeys(row["pattern"] for row in rows))
    return plot.Bars(title, "million lookups/s", groups,
                     {name: [value.get((name, group)) for group in groups] for name in dict.fromkeys(map(label, rows))})


PATTERNS = {"uniform": "uniform", "prefix": "in prefixes"}


def scaling_charts(rows: Iterable[dict]) -> list[plot.Lines]:
    """Nanoseconds a lookup against the number of routes, the vector kernels."""
    fastest = [row for row in rows if row["kernel"] not in ("single", "scalar")]
    found = []
    for family, pattern in itertools.product((4, 6), PATTERNS):
        series: dict[str, list[tuple[float, float]]] = {}
        for row in fastest:
            if (row["family"], row["pattern"]) == (family, pattern):
                series.setdefault(label(row), []).append((row["routes"], 1e3 / row["mlps"]))
        if series:
            found.append(plot.Lines(f"IPv{family}, {PATTERNS[pattern]}", "routes", "ns a lookup",
                                    {name: sorted(points) for name, points in series.items()}, log_x=True))
    return found
