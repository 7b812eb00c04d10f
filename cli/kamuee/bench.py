# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench`: measure what Kamuee claims.

    kamuee bench                          the benchmarks there are
    kamuee bench fib [--quick] [--json] [--prefixes FILE] [--plot FILE] [--scaling]
    kamuee bench NAME... [--quick] [--json] [--prefixes FILE] [--force]

`fib` measures longest-prefix match alone, by the program fib_bench: our engine and DPDK's over the same
table in one process, in turns. The others are those of bench/run.py and need root. Both are parts of the
build tree and are not installed.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from kamuee import render, svg
from kamuee.context import terminal_width
from kamuee.errors import EXIT_INTERRUPTED
from kamuee.render import Column, count, right

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "bench/run.py"
PLOT = "fib-bench.svg"
SCALES = (1_000, 10_000, 100_000, 300_000, 1_000_000, 2_000_000, 4_000_000)
TABLE = (Column("Engine"), Column("Kernel"), Column("IP"), Column("Pattern"), right("Next hops"), right("Mlookups/s"),
         right("Ratio"), right("MB"), right("Build ms"), right("Updates/s"))


class BenchError(Exception):
    """What is missing, and what to do."""


def parser() -> argparse.ArgumentParser:
    given = argparse.ArgumentParser(prog="kamuee bench", description=__doc__.splitlines()[0],
                                    epilog="Without a name: the list of benchmarks. 'fib' needs no root.")
    given.add_argument("names", nargs="*", metavar="NAME", help="fib, or benchmarks of the list; 'all' = all of these")
    given.add_argument("--quick", action="store_true", help="few rounds: fib ends within 50 s")
    given.add_argument("--json", "-j", action="store_true", help="print JSON")
    given.add_argument("--prefixes", metavar="FILE", help="table, one prefix a line (.gz too)")
    given.add_argument("--plot", metavar="FILE", help=f"fib: where the picture goes (SVG; {PLOT}, none with --json)")
    given.add_argument("--scaling", action="store_true", help="fib: synthetic tables of 1,000 to 4,000,000 routes (many minutes)")
    given.add_argument("--force", action="store_true", help="others than fib: on a busy machine too")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    try:
        return fib(given) if given.names == ["fib"] else others(given)
    except BenchError as error:
        print(f"kamuee bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("kamuee bench: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def build() -> Path:
    """The build directory: of $KAMUEED, or build/ of this checkout."""
    named = os.environ.get("KAMUEED")
    return Path(named).resolve().parent if named else ROOT / "build"


# --- bench/run.py ---

def others(given: argparse.Namespace) -> int:
    if not RUN.exists():
        raise BenchError(f"no {RUN}: the benchmarks are not installed; run this in a source tree, or 'make bench' there")
    argv = [sys.executable, str(RUN)]
    if not given.names:
        return subprocess.run([*argv, "--list"]).returncode
    argv += ["--build", str(build())]
    argv += ["--only", *given.names] if given.names != ["all"] else []
    argv += [f"--{name}" for name in ("quick", "force") if getattr(given, name)]
    argv += ["--prefixes", given.prefixes] if given.prefixes else []
    if not given.json:
        return subprocess.run(argv).returncode
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        code = subprocess.run([*argv, "--json", str(result)], stdout=sys.stderr).returncode
        if result.exists():
            print(result.read_text())
    return code


# --- fib ---

def fib(given: argparse.Namespace) -> int:
    program = build() / "bench/fib_bench"
    if not os.access(program, os.X_OK):
        raise BenchError(f"no {program}: build it (make build), or name the daemon of another build in KAMUEED")
    if given.scaling:
        rows = [row for size in SCALES for row in of_size(program, given, size)]
    else:
        rows = measured(program, given)
    if given.json:
        print(json.dumps({"rows": rows}, indent=1))
    else:
        print(*render.table(TABLE, map(cells, rows), terminal_width()), sep="\n")
        print("Ratio: to rte_fib (rte_fib6) with AVX-512, the median of the rounds' own ratios. Updates: with a reader.")
    plot = given.plot or (None if given.json else PLOT)
    if plot:
        Path(plot).write_text(svg.picture(scaling_charts(rows) if given.scaling else charts(rows)), encoding="utf-8")
        print(f"picture: {plot}", file=sys.stderr)
    return 0


def measured(program: Path, given: argparse.Namespace, *more: str) -> list[dict]:
    argv = [str(program), "--json", *more] + (["--quick"] if given.quick else [])
    argv += ["--prefixes", given.prefixes] if given.prefixes and not given.scaling else []
    done = subprocess.run(argv, stdout=subprocess.PIPE)
    if done.returncode:
        raise BenchError(f"{program.name} ended with code {done.returncode}; what it said is above")
    return json.loads(done.stdout)["rows"]


def of_size(program: Path, given: argparse.Namespace, size: int) -> list[dict]:
    """A synthetic table. DPDK's take minutes to fill, or refuse, where there are millions of routes; rte_fib6 before."""
    print(f"kamuee bench: {count(size)} routes", file=sys.stderr)
    common = ("--table", str(size), "--next-hops", "64")
    engines = {"4": "poptrie,rte_fib" if size <= 1_000_000 else "poptrie", "6": "poptrie"}
    return [row for family in engines
            for row in measured(program, given, *common, "--family", family, "--engines", engines[family])]


def cells(row: dict) -> list[str | None]:
    return [row["engine"], row["kernel"], str(row["family"]), row["pattern"], count(row["next_hops"]),
            f"{row['mlps']:.1f}", f"{row['ratio']:.2f}" if row["ratio"] else None, f"{row['bytes'] / 1e6:.1f}",
            f"{row['build_ms']:.0f}", count(round(row["updates_per_s"])) if row["updates_per_s"] else None]


def label(row: dict) -> str:
    return f"{row['engine']} {row['kernel']}"


def chart_of(title: str, rows: Sequence[dict], group) -> svg.Chart:
    series = list(dict.fromkeys(map(label, rows)))
    value = {(group(row), label(row)): row["mlps"] for row in rows}
    groups = list(dict.fromkeys(map(group, rows)))
    return svg.Chart(title, "million lookups a second", series,
                     [(name, [value.get((name, one)) for one in series]) for name in groups])


def charts(rows: Iterable[dict]) -> list[svg.Chart]:
    """One for each family and number of next hops; sequential traffic, which is no one's, would dwarf the others."""
    found: dict[tuple[int, int], list[dict]] = {}
    for row in rows:
        if row["pattern"] != "sequential":
            found.setdefault((row["family"], row["next_hops"]), []).append(row)
    return [chart_of(f"IPv{family}, {count(hops)} next hops", some, lambda row: row["pattern"])
            for (family, hops), some in found.items()]


def scaling_charts(rows: Iterable[dict]) -> list[svg.Chart]:
    fastest = [row for row in rows if row["pattern"] == "uniform" and row["kernel"] not in ("single", "scalar")]
    return [chart_of(f"IPv{family}, uniform, by number of routes", [row for row in fastest if row["family"] == family],
                     lambda row: count(row["routes"])) for family in (4, 6)]
