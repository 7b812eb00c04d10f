# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench tunnel`: what a tunnel adds to a packet, each kind in each direction, and what 10,000 tunnels cost.

Packets: tunnel_bench measures what is added, each case against the same packets without a tunnel; forward_bench the whole path with a full table,
all packets into VXLAN or out of it, against plain ones. One forwarder, ports in memory.
Tunnels: one commit of a kamueed without ports makes them all.
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
from measure import tunnels
from measure.cases import added_rows, command_parser
from measure.goal import GOALS, Goal
from measure.program import answer_of, run_command

IDEA = "what a tunnel adds to a packet: IP in IP, GRE, GRE in UDP, VXLAN, into and out of it (no root); 10,000 tunnels (root)"
PLAIN = ("plain", "-")
PACKETS, MANY = "packets", "many"
TUNNELS, QUICK_TUNNELS = 10_000, 1_000
MANY_CASES = {"set-up": "s", "divided": "s", "delete": "s", "taps": "s", "memory": "B", "interface": "B"}
MANY_TABLE = (Column("Case"), right("Value"), Column("Unit"))
ROUTER_TABLE = (Column("Whole path, full table"), right("Cycles"), right("Ratio"))
PLAIN_ROUTER = "plain"
TABLE = (Column("Kind"), Column("Direction"), right("Cycles"), right("Spread"), right("Ratio"))


def parser() -> argparse.ArgumentParser:
    given = command_parser("tunnel", __doc__, f"fewer rounds, {QUICK_TUNNELS:,} tunnels; ends within 50 s")
    given.add_argument("--only", choices=(PACKETS, MANY), help="what is added to a packet, or what many tunnels cost (default: both)")
    given.add_argument("--tunnels", type=int, metavar="N", help=f"so many (default: {TUNNELS:,}; {QUICK_TUNNELS:,} with --quick)")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("tunnel", lambda: run(given), LabError, DaemonError, Unreachable, RuntimeError)


def run(given: argparse.Namespace) -> int:
    found: dict = {"rows": [], "router": [], "many": [], "notes": []}
    if given.only != MANY:
        packets(given, found)
    if given.only != PACKETS:
        many(given, found)
    found["goals"] = [goal.as_json(found) for goal in ALL_GOALS]
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        print_all(found)
    return 0


def packets(given: argparse.Namespace, found: dict) -> None:
    load = os.getloadavg()[0]
    found["rows"] = added_rows(answer_of("tunnel_bench", *(["--quick"] if given.quick else []))["results"], ("kind", "direction"), PLAIN)
    found["router"] = router_of(answer_of("forward_bench", "--tunnel", *(["--quick"] if given.quick else [])))
    found["notes"].append(f"cycles: of the TSC, added to a packet, median of the rounds; whole path: all of a packet, ports included; "
                           f"ratio: of throughput, round by round; load of the machine before: {load:.1f}.")


def many(given: argparse.Namespace, found: dict) -> None:
    if os.geteuid():
        found["notes"].append(f"{', '.join(MANY_CASES)}: not measured; network namespaces need root.")
        return
    n = given.tunnels or (QUICK_TUNNELS if given.quick else TUNNELS)
    values = tunnels.measured(n)
    found["many"] = [{"case": case, "value": round(values[case], 2), "unit": unit} for case, unit in MANY_CASES.items()]
    found["notes"].append(f"{n:,} tunnels, set up by one commit; divided: over {tunnels.VRS} virtual routers; memory: of kamueed, each; "
                           "interface: the same of a sub-interface; taps: as many TAPs by the kernel alone.")


def print_all(found: dict) -> None:
    width = terminal_width()
    if found["rows"]:
        print(*render.table(TABLE, ([row["kind"], row["direction"], f"{row['cycles']:.1f}", f"{row['spread']:.1f}", f"{row['ratio']:.2f}"]
                                    for row in found["rows"]), width), sep="\n")
    if found["router"]:
        print(*render.table(ROUTER_TABLE, ([row["case"], f"{row['cycles']:.1f}", f"{row['ratio']:.2f}"]
                                           for row in found["router"]), width), sep="\n")
    if found["many"]:
        print(*render.table(MANY_TABLE, ([row["case"], f"{row['value']:,}", row["unit"]] for row in found["many"]), width), sep="\n")
    print(*found["notes"], "", sep="\n")
    print(*render.table(GOALS, (goal.cells(found) for goal in ALL_GOALS), width), sep="\n")


def router_of(answer: dict) -> list[dict]:
    """The whole path, ports included: cycles of a packet, and throughput against packets without tunnels in the same round."""
    ports = answer["harness_cycles"]
    cycles = {one["what"].partition("full table")[2].removeprefix(", ") or PLAIN_ROUTER: [ports + net for net in one["values"]]
              for one in answer["results"]}
    return [{"case": case, "cycles": round(statistics.median(found), 1),
             "ratio": round(statistics.median(plain / one for plain, one in zip(cycles[PLAIN_ROUTER], found)), 3)} for case, found in cycles.items()]


def of(kind: str, direction: str) -> Callable[[dict], float | None]:
    return lambda found: next((row["cycles"] for row in found["rows"] if (row["kind"], row["direction"]) == (kind, direction)), None)


def of_many(case: str) -> Callable[[dict], float | None]:
    return lambda found: next((row["value"] for row in found["many"] if row["case"] == case), None)


def of_router(case: str) -> Callable[[dict], float | None]:
    return lambda found: next((row["ratio"] for row in found["router"] if row["case"] == case), None)


def own_memory(found: dict) -> float | None:
    memory, interface = of_many("memory")(found), of_many("interface")(found)
    return None if memory is None or interface is None else memory - interface


ALL_GOALS = (*(Goal(f"{kind}, {direction}: added to a packet", "cycles", must, goal, of(kind, direction), at_most=True)
               for kind, must, goal in (("ipip", 45, 25), ("gre", 45, 25), ("gre-udp", 60, 35), ("vxlan", 60, 35))
               for direction in ("encap", "decap")),
             *(Goal(f"whole path, full table, {case}: throughput against plain", "", 0.55, 0.7, of_router(case))
               for case in ("into one VXLAN tunnel", "into 4 VXLAN tunnels", "out of one VXLAN tunnel", "out of 4 VXLAN tunnels")),
             Goal("many tunnels: set-up", "s", 20, 5, of_many("set-up"), at_most=True),
             Goal(f"the same, divided over {tunnels.VRS} virtual routers", "s", 20, 5, of_many("divided"), at_most=True),
             Goal("many tunnels: memory of each, besides its interface", "B", 1024, 1024, own_memory, at_most=True))
