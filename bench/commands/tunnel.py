# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench tunnel`: what a tunnel adds to a packet, each kind in each direction.

Measured by tunnel_bench: one forwarder, ports in memory, each case against the same packets without a tunnel.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Callable

from kamuee import render
from kamuee.context import terminal_width
from kamuee.errors import DaemonError, Unreachable
from kamuee.lab.errors import LabError
from kamuee.render import Column, right
from measure.goal import GOALS, Goal
from measure.program import answer_of, run_command

IDEA = "what a tunnel adds to a packet: IP in IP, GRE, GRE in UDP, VXLAN, into and out of it (no root)"
PLAIN = ("plain", "-")
TABLE = (Column("Kind"), Column("Direction"), right("Cycles"), right("Spread"), right("Ratio"))


def parser() -> argparse.ArgumentParser:
    given = argparse.ArgumentParser(prog="kamuee bench tunnel", description=__doc__.splitlines()[0])
    given.add_argument("--quick", action="store_true", help="fewer rounds; ends within 50 s")
    given.add_argument("--json", "-j", action="store_true", help="print JSON")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("tunnel", lambda: run(given), LabError, DaemonError, Unreachable, RuntimeError)


def run(given: argparse.Namespace) -> int:
    load = os.getloadavg()[0]
    rows = rows_of(answer_of("tunnel_bench", *(["--quick"] if given.quick else []))["results"])
    found = {"rows": rows, "notes": [f"cycles: of the TSC, added to a packet, median of the rounds; load of the machine before: {load:.1f}."]}
    found["goals"] = [goal.as_json(found) for goal in ALL_GOALS]
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        print(*render.table(TABLE, ([row["kind"], row["direction"], f"{row['cycles']:.1f}", f"{row['spread']:.1f}", f"{row['ratio']:.2f}"]
                                    for row in rows), terminal_width()), *found["notes"], "", sep="\n")
        print(*render.table(GOALS, (goal.cells(found) for goal in ALL_GOALS), terminal_width()), sep="\n")
    return 0


def rows_of(results: list[dict]) -> list[dict]:
    """Each case less the plain one, round by round."""
    values = {(one["kind"], one["direction"]): one["values"] for one in results}
    plain = values.pop(PLAIN)
    return [row_of(*case, [cycles - then for cycles, then in zip(found, plain)],
                   statistics.median(plain) / statistics.median(found)) for case, found in values.items()]


def row_of(kind: str, direction: str, added: list[float], ratio: float) -> dict:
    quarters = statistics.quantiles(added, n=4) if len(added) > 1 else [added[0]] * 3
    return {"kind": kind, "direction": direction, "cycles": round(statistics.median(added), 1),
            "spread": round(quarters[2] - quarters[0], 1), "ratio": round(ratio, 3)}


def of(kind: str, direction: str) -> Callable[[dict], float | None]:
    return lambda found: next((row["cycles"] for row in found["rows"] if (row["kind"], row["direction"]) == (kind, direction)), None)


ALL_GOALS = tuple(Goal(f"{kind}, {direction}: added to a packet", "cycles", must, goal, of(kind, direction), at_most=True)
                  for kind, must, goal in (("ipip", 45, 25), ("gre", 45, 25), ("gre-udp", 60, 35), ("vxlan", 60, 35))
                  for direction in ("encap", "decap"))
