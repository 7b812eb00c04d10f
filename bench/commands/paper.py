# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench paper`: the experiments of the papers that Kamuee is based on, scaled to this machine, beside their
numbers.

    kamuee bench paper                          the papers
    kamuee bench paper 2015-80g                 one of them: a table and a picture
    kamuee bench paper all --quick --json
"""
from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import statistics
import sys
import tempfile
import textwrap
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import paper
from kamuee.context import terminal_width
from measure import machine, plot
from measure.cases import command_parser
from measure.context import Context
from measure.program import Unavailable, daemon, run_command
from measure.report import Outcome, number
from measure.topology import own_namespaces

IDEA = "the experiments of five papers repeated on this machine, next to the papers' numbers"
MARGIN = 10     # columns before a line of a case: where the figure stands


def papers() -> dict[str, object]:
    """The modules of bench/paper that are papers, by name."""
    found = [importlib.import_module(f"paper.{entry.name}") for entry in pkgutil.iter_modules(paper.__path__)]
    return {module.NAME: module for module in found if hasattr(module, "NAME")}


def parser() -> argparse.ArgumentParser:
    given = command_parser("paper", __doc__, "fewer cases and short trials: each paper ends within 60 s")
    given.add_argument("names", nargs="*", metavar="NAME", help="papers to run, or 'all' (default: list them)")
    given.add_argument("--plot", metavar="DIR", help="directory for the plots paper-NAME.svg (default: this directory; "
                       "none with --json)")
    given.add_argument("--prefixes", metavar="FILE", help="full routing table, one prefix per line (may be gzipped)")
    given.add_argument("--force", action="store_true", help="measure even if the machine is busy")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    known = papers()
    if not given.names:
        width = max(map(len, known))
        print(*(f"{name:{width}}  {module.IDEA}" for name, module in known.items()), sep="\n")
        return 0
    names = list(known) if given.names == ["all"] else given.names
    if unknown := [name for name in names if name not in known]:
        print(f"kamuee bench paper: no paper '{unknown[0]}', expected one of {' '.join(known)}, all", file=sys.stderr)
        return 2
    return run_command("paper", lambda: run(given, {name: known[name] for name in names}))


def run(given: argparse.Namespace, wanted: dict) -> int:
    _, disturbed = machine.must_be_quiet(given.force)
    answer = {"machine": machine.facts(), "disturbed": disturbed, "quick": given.quick, "papers": {}}
    failed = False
    if not os.geteuid():
        own_namespaces()                                    # for what runs a whole router
    with tempfile.TemporaryDirectory(prefix="kb-") as work:
        ctx = Context(daemon().parent, daemon(), 1 if given.quick else 3, given.quick, given.prefixes, Path(work))
        for name, module in wanted.items():
            ctx.outcome = Outcome(name, module.IDEA)
            try:
                result = module.run(ctx)
            except (Unavailable, RuntimeError) as why:      # the other papers go on
                print(f"kamuee bench paper: {name}: {why}", file=sys.stderr)
                failed = True
                continue
            answer["papers"][name] = {"rows": [asdict(row) for row in result.rows], "notes": result.notes}
            if not given.json:
                print(*show(module, result, disturbed, given.quick), sep="\n")
            picture(given, name, result)
    if given.json:
        print(json.dumps(answer, indent=1))
    return int(failed)


def show(module, result: paper.Result, disturbed: str, quick: bool = False) -> list[str]:
    """A heading for each case, a line for each unit."""
    width = max(terminal_width(), MARGIN + 60)
    lines = [f"{module.NAME}: {module.IDEA}", "", cells("", "paper", "ours", "min - max")]
    for (figure, case), rows in groupby(result.rows, key=lambda row: (row.figure, row.case)):
        lines.append(f"{figure:{MARGIN}}{case}")
        for row in rows:
            ours = number(statistics.median(row.ours)) if row.ours else "n/a"
            there = "-" if row.paper is None else number(row.paper)
            lines += beside(cells(row.unit, there, ours, spread(row.ours)), row.note, width)
    of_all = [text for text in ("With --quick a full table is 100,000 routes of one." if quick else "",
                                f"Disturbed: {disturbed}" if disturbed else "") if text]
    for note in result.notes + of_all:
        lines += textwrap.wrap(note, width, initial_indent="- ", subsequent_indent="  ")
    return lines + [""]


def cells(unit: str, there: str, ours: str, span: str) -> str:
    return f"{'':{MARGIN}}{unit:20}{there:>9}{ours:>10}  {span}".rstrip()


def beside(line: str, note: str, width: int) -> list[str]:
    """A note after the line if it fits, otherwise below it."""
    if len(line) + 2 + len(note) <= width:
        return [f"{line}  {note}".rstrip()]
    return [line, *textwrap.wrap(note, width, initial_indent=" " * (MARGIN + 2), subsequent_indent=" " * (MARGIN + 2))]


def spread(values: list[float]) -> str:
    return f"{number(min(values))} - {number(max(values))}" if len(values) > 1 else ""


def picture(given: argparse.Namespace, name: str, result: paper.Result) -> None:
    if not result.charts or (given.json and not given.plot):
        return
    directory = Path(given.plot or ".")
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"paper-{name}.svg"
    try:
        plot.save(path, result.charts)
    except plot.NoPlot as why:
        print(f"kamuee bench paper: {why}", file=sys.stderr)
        return
    print(f"plot: {path}", file=sys.stderr)
