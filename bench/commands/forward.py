# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench forward`: packets per second of one core on the whole forwarding path, without a NIC.

kamueed, and any other DPDK program beside it, forwards between replay ports (bench/replay), which are their own traffic
generator; measure/replay.py starts, measures slices in turns and verifies. docs/features/bench-forward.md explains the
columns.
"""
from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from kamuee import render
from kamuee.context import terminal_width
from kamuee.lab.errors import LabError
from kamuee.render import Column, count, right
from measure import machine, plot
from measure.program import Unavailable, bench_program, daemon, must_be_built, run_command
from measure.replay import CASES, Bench, Case, Program, Rate, command, kamueed, l3fwd, testpmd

IDEA = ("packets per second of one core with a full table and other cases, verified, compared with testpmd, l3fwd or "
        "any DPDK program (root)")
TABLE = (Column("Case"), Column("Program"),
         *map(right, ("Mpps", "25 %", "75 %", "Cycles", "Ratio", "From", "To", "Bad")))
QUICK = ("ipv4-full", "ipv4-default4", "ipv6-full", "ipv4-flow")
# --quick starts no case that would not be over by then; this much for a case of a new kind
QUICK_S, EXPECTED_S = 45.0, 8.0


def parser() -> argparse.ArgumentParser:
    cases = "\n".join(f"  {name:14} {case.idea}" for name, case in CASES.items())
    given = argparse.ArgumentParser(prog="kamuee bench forward", description=__doc__.splitlines()[0],
                                    formatter_class=argparse.RawDescriptionHelpFormatter, epilog=f"cases:\n{cases}")
    given.add_argument("cases", nargs="*", type=case_name, metavar="CASE",
                       help="run only these cases (default: all; with --quick the first four)")
    given.add_argument("--case", nargs="+", type=case_name, default=[], metavar="NAME", help="same as CASE")
    given.add_argument("--ring", action="store_true",
                       help="also run each case with packets that cycle through 1,024 descriptors, as in a NIC")
    given.add_argument("--peer", action="append", default=[], metavar="PROGRAM", type=peer,
                       help="compare with this program in alternating slices: testpmd, testpmd-MODE, l3fwd (lpm; fib "
                       "for IPv6), l3fwd-lpm, l3fwd-fib, the path of another build's kamueed, or a command line with "
                       "{eal} for DPDK's options ({eal-main}: its main lcore forwards)")
    given.add_argument("--verify", action="store_true", help="check every frame during the whole measurement (default: "
                       "for 0.2 s)")
    given.add_argument("--seconds", type=float, metavar="S",
                       help="seconds of each program's slices (default: 4; 0.5 with --quick)")
    given.add_argument("--ports", type=positive, default=4, metavar="N", help="number of ports (default: 4)")
    given.add_argument("--cores", type=positive, default=1, metavar="N",
                       help="forwarding cores, each with a queue of every port (default: 1)")
    given.add_argument("--quick", action="store_true", help="short run, ends within 50 s")
    given.add_argument("--json", "-j", action="store_true", help="print JSON")
    given.add_argument("--prefixes", metavar="FILE", help="the full routing table, one prefix per line (may be "
                       "gzipped)")
    given.add_argument("--set", action="append", default=[], metavar="LINE", dest="lines",
                       help="additional configuration line for kamueed, without 'set', e.g. 'fib-engine lpm'")
    given.add_argument("--no-huge", action="store_true", help="use ordinary pages, no huge pages")
    given.add_argument("--plot", metavar="FILE", help="file for a plot (PNG or SVG)")
    return given


def case_name(text: str) -> str:
    if text not in CASES:
        raise argparse.ArgumentTypeError(f"'{text}': expected {', '.join(CASES)}")
    return text


def positive(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"'{text}': expected a number from 1 to 64")
    return int(text)


def peer(text: str) -> str:
    known = ["l3fwd", "l3fwd-lpm", "l3fwd-fib", "testpmd", *(f"testpmd-{mode}" for mode in ("io", "mac", "macswap"))]
    if text not in known and "{eal" not in text and Path(text).name != "kamueed":
        raise argparse.ArgumentTypeError(f"'{text}': expected {', '.join(known)}, the path of a kamueed, or a command "
                                         "line with {eal} for DPDK's options")
    return text


def peer_program(text: str, case: Case, lines: Sequence[str] = ()) -> Program | None:
    """The program of --peer, for this case; None if it cannot do it. lines: of every kamueed."""
    name, _, how = text.partition("-")
    if "{eal" in text:
        return command(text)
    if Path(text).name == "kamueed":
        return kamueed(*lines, name=text, binary=Path(text).resolve())
    if name == "testpmd":
        return testpmd(how or "macswap")
    if case.vlan:
        return None
    return l3fwd(how or ("fib" if 6 in case.families else "lpm"))


def main(argv: list[str]) -> int:
    given = parser().parse_intermixed_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("kamuee bench forward: stopped by SIGTERM"))
    return run_command("forward", lambda: run(given), LabError, RuntimeError, plot.NoPlot)


def run(given: argparse.Namespace) -> int:
    must_be_built(daemon(), bench_program("route_install"))
    say = Voice()
    bench = Bench(daemon().parent, daemon(), prefixes=given.prefixes, huge=not given.no_huge, say=say)
    failed: list[str] = []
    with bench:
        rates = [rate for case in wanted(given) for rate in measured(bench, case, given, say, failed)]
    rows = [row(rate) for rate in rates]
    publish(given, rows)
    for rate in rates:
        if rate.bad:
            failed.append(f"{rate.case.name}: {rate.program}: {rate.bad:,} wrong of {rate.verified:,} frames: "
                          f"{faults(rate)}")
    print(*(f"kamuee bench forward: {text}" for text in failed), sep="\n", end="\n" if failed else "", file=sys.stderr)
    return 1 if failed else 0


class Voice:
    """Progress, on stderr, with the time."""

    def __init__(self):
        self.begun = time.monotonic()
        self.longest: dict[str, float] = {}      # seconds of a case so far, by its table

    def passed(self) -> float:
        return time.monotonic() - self.begun

    def __call__(self, text: str) -> None:
        print(f"{self.passed():6.1f} s  {text}", file=sys.stderr, flush=True)


def wanted(given: argparse.Namespace) -> Iterable[Case]:
    names = [*given.cases, *given.case] or (QUICK if given.quick else CASES)
    for name in names:
        case = replace(CASES[name], ports=given.ports, cores=given.cores)
        yield case
        if given.ring:
            yield replace(case, ring=True)


def measured(bench: Bench, case: Case, given: argparse.Namespace, say: Voice, failed: list[str]) -> list[Rate]:
    """The case's rates; none, and a sentence in `failed`, if it could not be measured."""
    begun = say.passed()
    if given.quick and begun + say.longest.get(case.table, EXPECTED_S) > QUICK_S:
        say(f"{title(case)}: skipped with --quick, takes too long")
        return []
    lines = [f"set {line}" for line in given.lines]
    programs = [kamueed(*lines)]
    for text in given.peer:
        found = peer_program(text, case, lines)
        programs += [found] if found else []
        if not found:
            say(f"{title(case)}: without {text}, which does not support VLANs")
    seconds = given.seconds or (0.5 if given.quick else 4.0)
    try:
        return bench.compare(programs, case, seconds, verify_s=seconds if given.verify else 0.2)
    except Unavailable as error:
        failed.append(f"{title(case)}: {error}")
        return []
    finally:
        say.longest[case.table] = max(say.longest.get(case.table, 0.0), say.passed() - begun)


# --- results ---

def title(case: Case) -> str:
    return f"{case.name} ring" if case.ring else case.name


def faults(rate: Rate) -> str:
    return ", ".join(f"{kind} {n:,}" for kind, n in rate.faults.items())


def row(rate: Rate) -> dict:
    low, _, high = statistics.quantiles(rate.samples) if len(rate.samples) > 1 else 3 * [rate.mpps]
    ratio = [round(value, 3) for value in rate.ratio] if rate.ratio else 3 * [None]
    return {"case": rate.case.name, "program": rate.program, "ring": int(rate.case.ring),
            "mpps": round(rate.mpps, 2), "mpps_p25": round(low, 2), "mpps_p75": round(high, 2),
            "cycles": round(rate.cycles, 2), "slices": len(rate.samples), "bad": rate.bad, "verified": rate.verified,
            "faults": rate.faults, "ratio": ratio[0], "ratio_low": ratio[1], "ratio_high": ratio[2],
            "routes": rate.routes}


def cells(one: dict) -> list[str | None]:
    def number(name: str, digits: int = 1) -> str | None:
        return None if one[name] is None else f"{one[name]:.{digits}f}"
    return [f"{one['case']} ring" if one["ring"] else one["case"], one["program"],
            *map(number, ("mpps", "mpps_p25", "mpps_p75", "cycles")),
            *(number(name, 3) for name in ("ratio", "ratio_low", "ratio_high")), count(one["bad"])]


def publish(given: argparse.Namespace, rows: list[dict]) -> None:
    if given.json:
        print(json.dumps({"rows": rows, "machine": machine.facts()}, indent=1))
    elif rows:
        print(*render.table(TABLE, map(cells, rows), terminal_width()), sep="\n")
        print("Mpps: median, and 25 % and 75 % of the slices. Cycles: TSC cycles per packet, summed over the forwarding "
              "cores.\nRatio: of kamueed to the program in neighboring slices, median and 95 % interval. Bad: frames "
              "that were wrong or\nlost, of those checked.")
    if given.plot and rows:
        plot.save(given.plot, charts(rows))
        print(f"plot: {given.plot}", file=sys.stderr)


def charts(rows: Sequence[dict]) -> list[plot.Bars]:
    cases = list(dict.fromkeys(cells(one)[0] for one in rows))
    programs = list(dict.fromkeys(one["program"] for one in rows))
    value = {(one["program"], cells(one)[0]): one for one in rows}

    def series(name: str) -> dict[str, list[float | None]]:
        return {program: [value[program, case][name] if (program, case) in value else None for case in cases]
                for program in programs}
    return [plot.Bars("Forwarding, 64-byte frames", "Mpps", cases, series("mpps")),
            plot.Bars("Cost per packet, with the driver", "TSC cycles", cases, series("cycles"))]
