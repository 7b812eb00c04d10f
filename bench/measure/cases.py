# SPDX-License-Identifier: BSD-3-Clause
"""The command line of a benchmark, and the rows, notes and goals that it prints."""
from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from kamuee import render
from kamuee.context import terminal_width
from kamuee.render import Column

from measure.goal import GOALS, Goal


def command_parser(command: str, doc: str, quick: str, **more) -> argparse.ArgumentParser:
    """With --quick and --json."""
    given = argparse.ArgumentParser(prog=f"kamuee bench {command}", description=doc.splitlines()[0], **more)
    given.add_argument("--quick", action="store_true", help=quick)
    given.add_argument("--json", "-j", action="store_true", help="print JSON")
    return given


def case_parser(command: str, doc: str, cases: Mapping[str, str], quick: str) -> argparse.ArgumentParser:
    """With --quick, --only and --json; `cases` have names and descriptions."""
    width = max(map(len, cases)) + 2
    given = command_parser(command, doc, quick, formatter_class=argparse.RawDescriptionHelpFormatter,
                           epilog="cases:\n" + "\n".join(f"  {name:{width}} {idea}" for name, idea in cases.items()))
    given.add_argument("--only", metavar="CASE,...", type=names_of(cases), help="run only these cases (default: all)")
    return given


def names_of(cases: Mapping[str, str]) -> Callable[[str], list[str]]:
    def named(text: str) -> list[str]:
        for name in text.split(","):
            if name not in cases:
                raise argparse.ArgumentTypeError(f"unknown case '{name}', expected {', '.join(cases)}")
        return text.split(",")
    return named


def added_rows(results: list[dict], keys: Sequence[str], plain: tuple[str, ...]) -> list[dict]:
    """Of each case, named by these keys, the cycles added to the plain one, round by round, and its throughput against it."""
    values = {tuple(one[key] for key in keys): one["values"] for one in results}
    base = values.pop(plain)
    rows = []
    for case, found in values.items():
        added = [cycles - then for cycles, then in zip(found, base)]
        quarters = statistics.quantiles(added, n=4) if len(added) > 1 else added * 3
        rows.append({**dict(zip(keys, case)), "cycles": round(statistics.median(added), 1), "spread": round(quarters[2] - quarters[0], 1),
                     "ratio": round(statistics.median(base) / statistics.median(found), 3)})
    return rows


def print_rows(rows: list[dict], notes: list[str], goals: Sequence[Goal], as_json: bool, table: Sequence[Column],
               cells: Callable[[dict], Iterable[str]]) -> None:
    found = {"rows": rows, "notes": notes}
    found["goals"] = [goal.as_json(found) for goal in goals]
    if as_json:
        print(json.dumps(found, indent=1))
        return
    print(*render.table(table, map(cells, rows), terminal_width()), *notes, "", sep="\n")
    print(*render.table(GOALS, (goal.cells(found) for goal in goals), terminal_width()), sep="\n")
