#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares two builds of this tree, as with two versions of DPDK or of a compiler: forwarding, lookups, access lists and queues.

    bench/compare.py A B                A, B: what to write before a program's name to run it
    bench/compare.py build/bench/ 'tools/debian-root run DEBIAN TREE /build/build/bench/'

Runs the programs of both in turns on one core (A B, B A, …). Costs are cycles of a packet, or ns of a lookup; the ratio is the median of
the rounds' own B / A, with the least and the most. `worse` marks medians above 1.03. A second A as B shows the machine's own spread.
"""
import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import machine     # noqa: E402

PROGRAMS = {
    "forward_bench": "--routes 100000 --rounds 7",
    "fib_bench": "--quick --table 100000 --next-hops 64 --patterns uniform,prefix",
    "acl_bench": "--quick --sets acl:4:1000,blocklist:4:100000",
    "queue_bench": "--only classes",
}
NAMING = ("what", "variant", "set", "family", "rules", "traffic", "case", "vrs", "engine")
WORSE = 1.03


def costs(answer: dict) -> dict[str, float]:
    """By case: cycles of a packet, or ns of a lookup."""
    found = {}
    for row in answer.get("results", answer.get("rows")):
        values = row.get("values", row.get("cycles"))       # none where a peer refused the rules
        if values:
            cost = median(values) if isinstance(values, list) else values
            found[", ".join(str(row[key]) for key in NAMING if key in row)] = 1000 / cost if row.get("unit") == "Mlookups/s" else cost
    return found


def run(before: str, program: str, options: str, core: int) -> dict[str, float]:
    done = subprocess.run(["taskset", "-c", str(core), *shlex.split(f"{before}{program} --json {options}")], stdout=subprocess.PIPE, check=True)
    return costs(json.loads(done.stdout))


def row(name: str, a: list[float], b: list[float]) -> str:
    ratios = [after / before for before, after in zip(a, b)]
    worse = "  worse" if median(ratios) > WORSE else ""
    return f"{name:88} {median(a):8.1f} {median(b):8.1f} {median(ratios):6.3f} {min(ratios):6.3f} {max(ratios):6.3f}{worse}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs=2, metavar=("A", "B"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=PROGRAMS, action="append")
    parser.add_argument("--force", action="store_true", help="measure even if the machine is busy")
    given = parser.parse_args()
    machine.must_be_quiet(given.force)
    print(f"{'cycles of a packet, ns of a lookup':88} {'A':>8} {'B':>8} {'B / A':>6} {'least':>6} {'most':>6}")
    for program in given.only or PROGRAMS:
        rounds: dict[str, list[list[float]]] = {}
        for k in range(given.rounds):
            for which in (k % 2, 1 - k % 2):
                for name, cost in run(given.builds[which], program, PROGRAMS[program], machine.last_core()).items():
                    rounds.setdefault(name, [[], []])[which].append(cost)
        print(*(row(name, *both) for name, both in rounds.items() if all(both)), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
