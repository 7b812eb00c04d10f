# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench vr`: what a virtual router costs: to make, to have, to delete, to forward in.

A kamueed without ports, in network namespaces of its own, gets virtual routers one commit after the other; its memory
is read from /proc. How fast 16 of them forward is measured by forward_bench, and how long 16 full tables take to come
by the router of `kamuee bench forward`.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kamuee.errors import DaemonError, Unreachable
from kamuee.lab.errors import LabError
from kamuee.lab.netns import Namespace, sh
from kamuee.render import Column, right
from measure.daemon import Kamueed
from measure.cases import case_parser, print_rows
from measure.goal import Goal
from measure.program import (Unavailable, answer_of, bench_program, daemon, end, must_be_built, run_command,
                             wait_until, write_table)
from measure.topology import own_namespaces

IDEA = "a virtual router's cost: creating, deleting, memory, start and forwarding of 16 full tables (root)"
CREATE, DELETE, EMPTY, KERNEL = "create", "delete", "empty-memory", "empty-memory-kernel"
START, FORWARD, METALINK = "start-16-full", "forward-16", "metalink"
SMALL, SMALL_MEMORY = "start-1000-small", "small-memory"
CASES = {
    CREATE: "a commit that makes a virtual router in a namespace that exists, the last ones of all",
    DELETE: "a commit that deletes one",
    EMPTY: "memory of kamueed for each one without routes: resident, huge pages, page tables",
    KERNEL: "memory of the kernel for each one, beside its namespace: sockets",
    START: "from the start until 16 virtual routers have a full table each (minutes; not with --quick)",
    SMALL: "the same with 1,000 virtual routers of 1,000 routes each (not with --quick)",
    SMALL_MEMORY: "memory of kamueed for each of these",
    FORWARD: "full tables in 16 virtual routers: throughput to that with one",
    METALINK: "what a hop over a metalink adds to a packet, the lookup before it included",
}
LIFE = (CREATE, DELETE, EMPTY, KERNEL)
VRS, QUICK_VRS = 1000, 200
TIMED = 32              # commits of which the median is taken
MEMORY_MIB = 128
READY_S = 120
STOP_S = 30
START_S = 600
FULL = 16
SMALL_VRS, SMALL_ROUTES = 1000, 1000
QUICK_ROUTES = 100_000
ONE, SIXTEEN = "IPv4 full table, VLAN to VLAN", "IPv4 full table, 16 virtual routers by VLAN"
LINKED = "IPv4 full table, VLAN to VLAN over a metalink"
TABLE = (Column("Case"), right("Value"), Column("Unit"))


def parser() -> argparse.ArgumentParser:
    given = case_parser("vr", __doc__, CASES, f"{QUICK_VRS} virtual routers, small tables, no {START}; ends within 50 s")
    given.add_argument("--vrs", type=int, metavar="N", help=f"virtual routers (default: {VRS}; {QUICK_VRS} with "
                       "--quick)")
    given.add_argument("--routes", type=int, metavar="N", help="a table of so many routes in place of the full one")
    given.add_argument("--prefixes", metavar="FILE", help="full routing table, one prefix per line (may be gzipped)")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("vr", lambda: run(given), LabError, DaemonError, Unreachable, RuntimeError)


def run(given: argparse.Namespace) -> int:
    rows, notes = measured(given)
    print_rows(rows, notes, ALL_GOALS, given.json, TABLE, lambda row: [row["case"], f"{row['value']:,}", row["unit"]])
    return 0


def measured(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """The rows, and notes about them."""
    wanted = given.only or [name for name in CASES if name not in (START, SMALL, SMALL_MEMORY) or not given.quick]
    rows, notes = [], []
    parts: Sequence[tuple[Sequence[str], Callable]] = ((LIFE, life), ((FORWARD, METALINK), forward), ([START], start),
                                                ((SMALL, SMALL_MEMORY), small))
    for cases, part in parts:
        if any(case in wanted for case in cases):
            more, said = part(given)
            rows += [row for row in more if row["case"] in wanted]
            notes += said
    return rows, notes


def row_of(case: str, value: float, unit: str) -> dict:
    return {"case": case, "value": value, "unit": unit}


# --- their life ---

def life(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    if os.geteuid():
        return [], [f"{', '.join(LIFE)}: not measured; network namespaces need root."]
    own_namespaces()
    n = given.vrs or (QUICK_VRS if given.quick else VRS)
    with tempfile.TemporaryDirectory(prefix="kb-") as work, router(Path(work), n) as kamueed:
        before = memory(kamueed)
        add(kamueed, range(n - TIMED))
        made = [timed(kamueed, f"set vr {name(k)} namespace {name(k)}") for k in range(n - TIMED, n)]
        wait_until(lambda: all(vr["synced"] for vr in kamueed.client.entries("vr")), "not all are synced", READY_S)
        after = memory(kamueed)
        gone = [timed(kamueed, f"delete vr {name(k)}") for k in range(n - TIMED, n)]
    each = [round((now - then) / n) for then, now in zip(before, after)]
    return ([row_of(CREATE, round(statistics.median(made), 2), "ms"),
             row_of(DELETE, round(statistics.median(gone), 2), "ms"), row_of(EMPTY, each[0], "B"),
             row_of(KERNEL, each[1], "B")],
            [f"create and delete: with {n - TIMED:,} to {n:,} virtual routers; from {min(made):.1f} to "
             f"{max(made):.1f} ms, from {min(gone):.1f} to {max(gone):.1f} ms.",
             f"{KERNEL}: what the machine's slabs grew by, so others count, too."])


def name(k: int) -> str:
    return f"kb{k}"


@contextmanager
def router(work: Path, n: int) -> Iterator[Kamueed]:
    """A kamueed without ports, and n namespaces."""
    sh(["ip", "-batch", "-"], stdin="".join(f"netns add {name(k)}\n" for k in range(n)), timeout_s=READY_S)
    kamueed = daemon_in(work)
    try:
        kamueed.start()
        yield kamueed
    finally:
        stop(kamueed)


def daemon_in(work: Path, lines: Sequence[str] = ()) -> Kamueed:
    must_be_built(daemon())
    ns = Namespace("kb-vr")
    if not ns.exists():
        ns.create()
    return Kamueed(ns, daemon(), work / "run", [f"set memory {MEMORY_MIB}", "set huge-pages never", *lines])


def stop(kamueed: Kamueed) -> None:
    if not end(kamueed.proc, patience_s=STOP_S):
        raise RuntimeError(f"kamueed does not stop:\n{kamueed.log_end()}")


def add(kamueed: Kamueed, which: range) -> None:
    for first in range(which.start, which.stop, 100):
        kamueed.client.call("configure", line=[f"set vr {name(k)} namespace {name(k)}"
                                               for k in range(first, min(first + 100, which.stop))])


def timed(kamueed: Kamueed, line: str) -> float:
    begun = time.monotonic()
    kamueed.client.call("configure", line=[line])
    return 1e3 * (time.monotonic() - begun)


def memory(kamueed: Kamueed) -> tuple[int, int]:
    """Bytes of the daemon, and of the kernel's slabs."""
    own = sum(kamueed.status_kib(field) for field in ("VmRSS", "HugetlbPages", "VmPTE"))
    slab = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("Slab:"))
    return 1024 * own, 1024 * int(slab.split()[1])


# --- forwarding ---

def forward(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    """Throughput without the ports' own cost, round by round."""
    options, notes = ["--quick"] if given.quick else [], []
    routes = given.routes or (QUICK_ROUTES if given.quick else None)
    if given.prefixes:
        options += ["--prefixes", given.prefixes]
    elif routes:
        options += ["--routes", str(routes)]
        notes = [f"{FORWARD}: a table has {routes:,} routes."]
    # Both in one run, in turns.
    found = {one["what"].partition(", ")[2]: one["values"]
             for one in answer_of("forward_bench", "--only", "VLAN", *options)["results"]}
    one, sixteen, linked = (statistics.median(found[case]) for case in (ONE, SIXTEEN, LINKED))
    return ([row_of(FORWARD, round(one / sixteen, 3), "x"), row_of(METALINK, round(linked - one, 1), "cycles")],
            [*notes, f"{FORWARD}: {one:.1f} cycles a packet with one, {sixteen:.1f} with sixteen; {METALINK}: {linked:.1f}."])


# --- the start ---

def start(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    if os.geteuid():
        return [], [f"{START}: not measured; network namespaces need root."]
    took, size, routes = started(FULL, given.prefixes, given.routes)
    return [row_of(START, round(took, 1), "s")], [f"{START}: {routes:,} IPv4 routes each; {size / 1e6:,.0f} MB resident."]


def small(given: argparse.Namespace) -> tuple[list[dict], list[str]]:
    if os.geteuid():
        return [], [f"{SMALL}, {SMALL_MEMORY}: not measured; network namespaces need root."]
    n = given.vrs or SMALL_VRS
    took, size, routes = started(n, None, 2 * SMALL_ROUTES, SMALL_ROUTES)
    return ([row_of(SMALL, round(took, 1), "s"), row_of(SMALL_MEMORY, round(size / n), "B")],
            [f"{SMALL}: {n:,} virtual routers, {routes:,} IPv4 routes each; {size / 1e6:,.0f} MB resident."])


def started(n: int, prefixes: str | None, limit: int | None, most: int | None = None) -> tuple[float, int, int]:
    """kamueed finds n tables in the kernel, in namespaces with a veth pair that stands for an upstream: seconds until it has
    read them, bytes resident, and how many routes each has."""
    own_namespaces()
    with tempfile.TemporaryDirectory(prefix="kb-") as work:
        table = write_table(Path(work) / "table", prefixes, limit)
        four = [line for line in table.read_text().splitlines() if ":" not in line][:most]
        table.write_text("".join(f"{line}\n" for line in four))
        spaces = [Namespace(f"kb-full{k}") for k in range(n)]
        for k, ns in enumerate(spaces):
            fill(ns, table, k)
        kamueed = daemon_in(Path(work), [f"set vr full{k} namespace {ns.name}" for k, ns in enumerate(spaces)])
        begun = time.monotonic()
        try:
            kamueed.start(START_S)
            wait_until(lambda: complete(kamueed, n, len(four)), "not all tables have come", START_S, proc=kamueed.proc,
                       log_end=kamueed.log_end)
            return time.monotonic() - begun, 1024 * kamueed.status_kib("VmRSS"), len(four)
        finally:
            stop(kamueed)


def fill(ns: Namespace, table: Path, k: int) -> None:
    """Routes by one of four next hops; the assignment of prefixes differs between namespaces."""
    ns.create()
    ns.ip_batch(["link add up0 type veth peer name up1", "link set up0 up", "link set up1 up",
                 "addr add 192.0.2.1/24 dev up0"])
    vias = [word for hop in range(2, 6) for word in ("--via", f"192.0.2.{hop}%up0")]
    done = subprocess.run(ns.argv([str(bench_program("route_install")), "--mode", "add", "--shift", str(k),
                                   "--prefixes", str(table), *vias]), capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"the kernel did not take the table of {ns.name}: {done.stderr.strip()}")


def complete(kamueed: Kamueed, n: int, routes: int) -> bool:
    vrs = [vr for vr in kamueed.client.entries("vr") if vr["name"] != "default"]
    return len(vrs) == n and all(vr["synced"] and vr["fib"][0]["routes"] >= routes for vr in vrs)


# --- goals ---

def of(case: str, scale: float = 1) -> Callable[[dict], float | None]:
    return lambda found: next((scale * row["value"] for row in found["rows"] if row["case"] == case), None)


ALL_GOALS = (
    Goal("creating one", "ms", 20, 5, of(CREATE), at_most=True),
    Goal("memory of an empty one", "KiB", 64, 32, of(EMPTY, 1 / 1024), at_most=True),
    Goal("16 full tables: start", "s", 40, 20, of(START), at_most=True),
    Goal("16 full tables: throughput to one's", "x", 0.85, 0.95, of(FORWARD)),
    Goal("a hop over a metalink", "cycles", 25, 15, of(METALINK), at_most=True),
)
