# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench gpu`: lookups on a GPU against the CPU's own: rate, CPU cycles saved or lost, age.

Measured by gpu_bench. With --emulated a thread stands in for the GPU: that tests the path, and measures no GPU.
"""
from __future__ import annotations

import argparse
import json
import os

from kamuee import render
from kamuee.context import terminal_width
from kamuee.render import Column, right
from measure.cases import command_parser
from measure.goal import GOALS, Goal
from measure.program import answer_of, run_command

IDEA = "lookups on a GPU: where they pay and lose (no root; --emulated without one)"
AGE_MUST_US = 50
FIGURES = (right("CPU"), right("Offload"), right("Saved"), right("p50 µs"), right("p99 µs"))
TABLE = (right("Tables"), right("Batch"), Column("Updates"), right("Mlookups/s"), *FIGURES)
LEGEND = "CPU, Offload: TSC cycles of the forwarder a lookup, by itself and through the device. Saved: the difference; below 0 it is lost."
NOT_A_GPU = "Emulated device: a thread on this CPU. These are not figures of a GPU."


def parser() -> argparse.ArgumentParser:
    given = command_parser("gpu", __doc__, "fewer batch sizes, small tables; ends within 50 s")
    given.add_argument("--emulated", action="store_true", help="a thread in place of a GPU: its figures are not a GPU's")
    given.add_argument("--device", metavar="N", type=int, default=0, help="number of the GPU (default: 0)")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("gpu", lambda: run(given))


def run(given: argparse.Namespace) -> int:
    load = os.getloadavg()[0]
    argv = ["--device", str(given.device)] + ["--emulated"] * given.emulated + ["--quick"] * given.quick
    found = answer_of("gpu_bench", *argv)
    found["load"] = round(load, 1)
    found["goals"] = [goal.as_json(found) for goal in ALL_GOALS]
    found["verdict"] = verdict(found)
    if given.json:
        print(json.dumps(found, indent=1))
        return 0
    width = terminal_width()
    print(*render.table(TABLE, map(cells, found["rows"]), width), f"{found['routes']:,.0f} random IPv4 routes in each table.", "",
          LEGEND, f"Load of the machine before: {load:.1f}.", "", sep="\n")
    print(*render.table(GOALS, (goal.cells(found) for goal in ALL_GOALS), width), "", verdict(found), sep="\n")
    return 0


def figures(row: dict) -> list[str]:
    return [f"{row['mlps']:.2f}", *(f"{row[name]:.1f}" for name in ("cpu_cycles", "offload_cycles", "saved", "age_p50_us", "age_p99_us"))]


def cells(row: dict) -> list[str | None]:
    return [f"{row['tables']:.0f}", f"{row['batch']:.0f}", "yes" if row["updates"] else "no", *figures(row)]


def sized(found: dict) -> dict[float, list[dict]]:
    """The rows that count, without updates, by number of tables."""
    sizes = sorted({row["tables"] for row in found["rows"]})
    return {size: [row for row in found["rows"] if row["tables"] == size and not row["updates"]] for size in sizes}


def best(rows: list[dict]) -> dict | None:
    """The row that saves most, of those whose answers are young enough; if none is, of all."""
    young = [row for row in rows if row["age_p99_us"] <= AGE_MUST_US]
    return max(young or rows, key=lambda row: row["saved"], default=None)


def pays(row: dict) -> bool:
    return row["saved"] > 0 and row["age_p99_us"] <= AGE_MUST_US


def verdict_of(found: dict) -> str:
    each = [(size, row) for size, rows in sized(found).items() if (row := best(rows))]
    # from there on it also pays for all larger ones
    last_loss = max((i for i, (_, row) in enumerate(each) if not pays(row)), default=-1)
    start = each[last_loss + 1][0] if last_loss + 1 < len(each) else None
    text = f"pays from {start:,.0f} table{'s' * (start != 1)}" if start else "pays for no number of tables"
    losses = [f"{size:,.0f} ({row['saved']:+.1f} cycles, p99 {row['age_p99_us']:.0f} µs)" for size, row in each if not pays(row)]
    return text + (f"; loses with tables: {', '.join(losses)}." if losses else "; loses nowhere that was measured.")


def verdict(found: dict) -> str:
    text = f"Lookups: {verdict_of(found)}"
    return f"{NOT_A_GPU} With it: {text}" if found["device"] == "emulated" else text


def of_gpu(size: int, value: str):
    """A figure of the best row of that size; none for an emulated device."""
    def get(found: dict) -> float | None:
        row = None if found["device"] == "emulated" else best(sized(found).get(size, []))
        if row is None:
            return None
        return row["cpu_cycles"] / row["offload_cycles"] if value == "ratio" else row[value]
    return get


ALL_GOALS = (Goal("16 tables: lookups, against the CPU alone", "×", 1.1, 1.3, of_gpu(16, "ratio")),
             Goal("16 tables: age of an answer, p99", "µs", AGE_MUST_US, 20, of_gpu(16, "age_p99_us"), at_most=True))
