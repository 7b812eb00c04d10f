# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench acl`: access lists and address sets of up to a million entries, compared with DPDK's rte_acl in one
process, in alternating rounds.

The program acl_bench measures classification, changes, memory; forward_bench the whole path with lists bound. This
module asks for both, prints the rows, and what they say about the goals.
"""
from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable

from kamuee import render
from kamuee.context import terminal_width
from kamuee.render import Column, count, right
from measure.cases import command_parser
from measure.goal import GOALS, Goal
from measure.program import answer_of, run_command

IDEA = ("access lists and address sets with up to a million entries, compared with rte_acl: lookups, updates, "
        "memory, forwarding (no root)")
MILLION = 1_000_000
# What --only names. Each part takes at most five minutes on two cores with other work, much of them in rte_acl's
# compiler.
PARTS = {
    "sizes": "one:4:1,acl:4:16,acl:4:100,acl:4:1000,acl:4:2000,acl:4:4000,acl:4:10000",
    "shapes": "fw:4:100,fw:4:1000,fw:4:2000,fw:4:4000,ipc:4:100,ipc:4:1000,ipc:4:2000,ipc:4:4000,ipc:4:10000",
    "large": "acl:4:100000,acl:4:1000000:100000",
    "large-shapes": "fw:4:10000,fw:4:100000:10000,ipc:4:100000:10000",
    "blocklist": "blocklist:4:1000,blocklist:4:100000,blocklist:4:1000000",
    "ipv6": "acl:6:16,acl:6:1000,acl:6:4000,acl:6:10000,acl:6:100000:10000,"
            "blocklist:6:1000,blocklist:6:100000,blocklist:6:1000000:100000",
}
FORWARD = "forward"
PLAIN, EMPTY, FULL = "IPv4 full table, acl-none", "IPv4 full table, acl-empty", "IPv4 full table, acl-full"
TABLE = (Column("Set"), right("Rules"), Column("IP"), Column("Traffic"), Column("Engine"), right("Mlookups/s"),
         right("Min"), right("Max"),
         right("Cycles"), right("Ratio"), right("MB"), right("Build ms"), right("Updates/s"), right("Batched/s"))
PATHS = (Column("Whole path, cycles per packet"), right("Median"), right("Min"), right("Max"))
LEGEND = ("Ratio: speed relative to rte_acl's fastest variant, median over the rounds; * = rte_acl has fewer rules "
          "because it cannot hold as many.",
          "Cycles: TSC cycles per packet in bursts of 64. MB: memory of readers and writer. Updates: measured with a "
          "concurrent reader.")


def parser() -> argparse.ArgumentParser:
    given = command_parser("acl", __doc__, "fewer sets and rounds, ends within 50 s; rte_acl with at most 100,000 rules")
    given.add_argument("--only", metavar="PART,...", type=parts,
                       help=f"run only these parts: {', '.join(PARTS)}, {FORWARD} (the whole forwarding path). All of "
                       "them take 15 to 25 minutes:  sizes and forward up to 1 each, large and blocklist 2, shapes 3, "
                       "large-shapes and ipv6 4")
    given.add_argument("--sets", metavar="SHAPE:FAMILY:RULES[:PEER],...",
                       help="SHAPE: one, acl, fw, ipc, blocklist or hosts; FAMILY: 4 or 6; RULES: number of rules; "
                       "PEER: how many of them for rte_acl (0: skip rte_acl)")
    given.add_argument("--traffic", metavar="NAME,...", help="traffic patterns: hot, scatter, unlisted, hostile "
                       "(default: all)")
    given.add_argument("--rounds", type=int, metavar="N", help="rounds (default: 15; 7 with --quick)")
    given.add_argument("--seed", type=int, metavar="N", help="seed for generating the rules (default: 1)")
    given.add_argument("--memory", type=int, metavar="MIB", help="memory limit for rte_acl to build one list (default: "
                       "4096)")
    given.add_argument("--no-forward", action="store_true", help="skip the whole forwarding path")
    return given


def parts(text: str) -> list[str]:
    named = text.split(",")
    for name in named:
        if name not in PARTS and name != FORWARD:
            raise argparse.ArgumentTypeError(f"unknown part '{name}', expected {', '.join(PARTS)}, {FORWARD}")
    return named


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("acl", lambda: run(given))


def run(given: argparse.Namespace) -> int:
    found = measured(given)
    if not given.no_forward and (not given.only or FORWARD in given.only):
        found["forward"] = forward(given.quick)
    found["goals"] = [goal.as_json(found) for goal in ALL_GOALS]
    if given.json:
        print(json.dumps(found, indent=1))
        return 0
    if found["rows"]:
        print(*render.table(TABLE, map(cells, found["rows"]), terminal_width()), *LEGEND, "", sep="\n")
    if "forward" in found:
        print(*render.table(PATHS, map(path_cells, found["forward"].items()), terminal_width()), "", sep="\n")
    print(*render.table(GOALS, (goal.cells(found) for goal in ALL_GOALS), terminal_width()), sep="\n")
    return 0


def measured(given: argparse.Namespace) -> dict:
    argv = ["--quick"] if given.quick else []
    if not given.sets and (given.only or not given.quick):
        given.sets = ",".join(PARTS[name] for name in given.only or PARTS if name != FORWARD)
    if given.only == [FORWARD]:
        return {"rows": []}
    for name in ("sets", "traffic", "rounds", "seed", "memory"):
        if getattr(given, name) is not None:
            argv += [f"--{name}", str(getattr(given, name))]
    return answer_of("acl_bench", *argv)


def forward(quick: bool) -> dict[str, list[float]]:
    """Cycles per packet of the whole path, with ports, round by round, by case."""
    found = answer_of("forward_bench", "--acl", *(["--quick"] if quick else []))
    ports = found["harness_cycles"]
    return {one["what"].removeprefix("forward 64 B, "): [round(ports + net, 2) for net in one["values"]]
            for one in found["results"]}


def cells(row: dict) -> list[str | None]:
    name = [row["set"], count(row["rules"]), str(row["family"])]
    if "refused" in row:
        return [*name, "", row["engine"], *[None] * 6, f"{row['build_ms']:.0f}", "refused:", row["refused"]]
    ratio = f"{row['ratio']:.2f}{'*' if row['ratio_rules'] != row['rules'] else ''}" if row["ratio"] else None
    return [*name, row["traffic"], row["engine"], *(f"{row[mlps]:.1f}" for mlps in ("mlps", "mlps_min", "mlps_max")),
            f"{row['cycles']:.1f}", ratio, f"{megabytes(row):.1f}", f"{row['build_ms']:.0f}",
            *(count(row[rate]) if row[rate] else None for rate in
                                                                       ("updates_per_s", "updates_batched_per_s"))]


def path_cells(measured_case: tuple[str, list[float]]) -> list[str]:
    case, cycles = measured_case
    return [case, *(f"{of_cycles(cycles):.1f}" for of_cycles in (statistics.median, min, max))]


def megabytes(row: dict) -> float:
    return (row["bytes"] + row["writer_bytes"]) / 1e6


# --- goals ---

def one(found: dict, **wanted) -> dict | None:
    """The row with these values."""
    return next((row for row in found["rows"] if all(row.get(name) == value for name, value in wanted.items())), None)


def of(what: str, **wanted) -> Callable[[dict], float | None]:
    def value(found: dict) -> float | None:
        row = one(found, **wanted)
        return row[what] or None if row else None
    return value


def blocklist(what: str) -> Callable[[dict], float | None]:
    return of(what, set="blocklist", family=4, rules=MILLION, traffic="unlisted", engine="list")


def memory_share(found: dict) -> float | None:
    """Memory of rte_acl as a multiple of our set's."""
    rows = [one(found, set="blocklist", family=4, rules=MILLION, engine=engine) for engine in ("set", "rte_acl")]
    return megabytes(rows[1]) / megabytes(rows[0]) if all(rows) else None


def megabytes_of(**wanted) -> Callable[[dict], float | None]:
    def value(found: dict) -> float | None:
        row = one(found, **wanted)
        return megabytes(row) if row else None
    return value


def slowest(found: dict) -> float | None:
    """The least ratio of a list with its verdict cache, as a forwarder uses it."""
    ratios = [row["ratio"] for row in found["rows"] if row["engine"] == "list, cache" and row["ratio"]
              and row["ratio_rules"] == row["rules"]]
    return min(ratios, default=None)


def lost(case: str) -> Callable[[dict], float | None]:
    """Throughput below the plain case, %, the median of the rounds' own ratios."""
    def value(found: dict) -> float | None:
        cycles = found.get("forward", {})
        if not cycles.get(case) or not cycles.get(PLAIN):
            return None
        return statistics.median(100 * (1 - plain / bound) for plain, bound in zip(cycles[PLAIN], cycles[case]))
    return value


FIVE = {"set": "acl", "family": 4}
ALL_GOALS = (
    Goal("bound but empty list, whole path: throughput lost", "%", 2, 1, lost(EMPTY), at_most=True),
    Goal("blocklist of 1 M, 95 % unlisted: against rte_acl", "x", 6, 15, blocklist("ratio")),
    Goal("blocklist of 1 M: added cycles", "cycles", None, 10, blocklist("cycles"), at_most=True),
    Goal("blocklist of 1 M: memory of rte_acl to ours", "x", 12, 15, memory_share),
    Goal("1 M five-tuple rules, 16 K hot flows: against rte_acl with 100 K", "x", 20, 20,
         of("ratio", **FIVE, rules=MILLION, traffic="hot", engine="list, cache")),
    Goal("1 M five-tuple rules, 16 K hot flows: added cycles", "cycles", None, 5,
         of("cycles", **FIVE, rules=MILLION, traffic="hot", engine="list, cache"), at_most=True),
    Goal("100 K five-tuple rules, cache-defeating: against rte_acl", "x", 1.5, 3,
         of("ratio", **FIVE, rules=100_000, traffic="scatter", engine="list")),
    Goal("1 M five-tuple rules, cache-defeating", "M/s", 3.5, 10, of("mlps", **FIVE, rules=MILLION, traffic="scatter",
                                                                     engine="list")),
    Goal("any size: list and cache against rte_acl, the worst row", "x", 0.95, 1, slowest),
    Goal("compile a set of 1 M", "ms", 3000, 1500, of("build_ms", set="blocklist", family=4, rules=MILLION,
                                                      engine="set"), at_most=True),
    Goal("memory of a set of 1 M", "MB", 40, 20, megabytes_of(set="blocklist", family=4, rules=MILLION, engine="set"),
         at_most=True),
    Goal("compile 1 M five-tuple rules", "ms", 10_000, 5000, of("build_ms", **FIVE, rules=MILLION, engine="list"),
         at_most=True),
    Goal("memory of 1 M five-tuple rules", "MB", 256, 128, megabytes_of(**FIVE, rules=MILLION, engine="list"),
         at_most=True),
    Goal("set members changed, one by one", "/s", 200_000, 400_000,
         of("updates_per_s", set="blocklist", family=4, rules=MILLION, engine="set")),
    Goal("set members changed, in batches of 1,000", "/s", 1_000_000, 2_000_000,
         of("updates_batched_per_s", set="blocklist", family=4, rules=MILLION, engine="set")),
    Goal("full table, 1 M blocklist, 10 K five-tuple rules, whole path: throughput lost", "%", 25, 5, lost(FULL),
         at_most=True),
)
