# SPDX-License-Identifier: BSD-3-Clause
"""path_bench for the papers: cases measured in turns, and a paper's number brought to one core and one cycle."""
from __future__ import annotations

import os
import re
import statistics
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure.program import Unavailable
from paper import Row

WIRE_BYTES = 20     # preamble and gap, which Ethernet's bit rates contain
LABEL_COLUMNS = 14
SIZES = (64, 96, 128, 256, 512, 1024, 1518)


def case(**keys) -> str:
    """key=value,... in path_bench's form."""
    return ",".join(f"{key}={value}" for key, value in keys.items())


def cores() -> int:
    return len(os.sched_getaffinity(0))


def median(values: Sequence[float]) -> float:
    """0 without values, which means that a trial found the core taken away."""
    return statistics.median(values) if values else 0.0


def labels(names: Iterable[str]) -> list[str]:
    """Broken into lines, so that they fit below their bars."""
    return [textwrap.fill(name, LABEL_COLUMNS, break_long_words=False) for name in names]


def gbps(mpps: float, size: int) -> float:
    """Bits on the wire, as testers count them."""
    return mpps * (size + WIRE_BYTES) * 8 / 1e3


def mpps_of(rate_gbps: float, size: int) -> float:
    return rate_gbps * 1e3 / ((size + WIRE_BYTES) * 8)


def full_table(ctx, cases: Iterable[str]) -> list[str]:
    """The options that the table `full` needs, which a case without a table has."""
    return ["--prefixes", str(ctx.prefixes())] if any("table=" not in name or "table=full" in name.split(",")
                                                      for name in cases) else []


class Measured:
    """path_bench's answer; a case is named by its text."""

    def __init__(self, answers: Sequence[dict]):
        self.ghz = answers[0]["tsc_ghz"]
        self.kernel = answers[0]["kernel"]
        self.huge = answers[0]["huge"]
        self.fibs = {(fib["table"], fib["engine"]): fib for answer in answers for fib in answer["fibs"]}
        self.threads: dict[str, int] = {}
        self.trials: dict[str, list[dict]] = {}
        for entry in (entry for answer in answers for entry in answer["cases"]):
            self.threads[entry["case"]] = entry["threads"]
            self.trials.setdefault(entry["case"], []).extend(entry["trials"])

    def cycles(self, name: str) -> list[float]:
        """TSC cycles of CPU time a packet, of all threads together, each round."""
        return [trial["cycles"] / trial["packets"] for trial in self.trials[name] if trial["packets"]]

    def mpps(self, name: str) -> list[float]:
        """Million packets per second of all threads, if each has its core to itself."""
        return [self.threads[name] * self.ghz * 1e3 / cycles for cycles in self.cycles(name)]

    def stages(self, name: str) -> dict[str, list[float]]:
        """TSC cycles a packet in each stage, as the forwarder itself times some of its bursts (`show thread
        stages`)."""
        found: dict[str, list[float]] = {}
        for trial in self.trials[name]:
            for stage, cycles in trial["stages"].items():
                found.setdefault(stage, []).append(cycles)
        return found

    def gbps(self, name: str, size: int) -> list[float]:
        return [gbps(mpps, size) for mpps in self.mpps(name)]


def measure(ctx, cases: Iterable[str], *options: str, rounds: int | None = None, ms: int | None = None) -> Measured:
    """All cases in turns in each round, in one process."""
    cases = list(dict.fromkeys(cases))
    rounds, ms = rounds or (3 if ctx.quick else 9), ms or (10 if ctx.quick else 50)
    argv = [ctx.program("path_bench"), "--rounds", str(rounds), "--ms", str(ms), *full_table(ctx, cases), *options,
            *cases]
    with ctx.step(f"{len(cases)} cases, {rounds} rounds"):
        return Measured([ctx.run_json(argv, timeout_s=1800)])


def alternate(ctx, cases: Sequence[str], variants: Sequence[Sequence[str]],
              rounds: int | None = None) -> list[Measured]:
    """The same cases in one process per variant of options; the processes take turns."""
    rounds = rounds or (2 if ctx.quick else 7)
    found: list[list[dict]] = [[] for _ in variants]
    with ctx.step(f"{len(cases)} cases, {len(variants)} variants, {rounds} rounds"):
        for _ in range(rounds):
            for answers, options in zip(found, variants):
                argv = [ctx.program("path_bench"), "--rounds", "1", "--ms", "20" if ctx.quick else "100", *options,
                        *cases]
                answers.append(ctx.run_json(argv, timeout_s=600))
    return [Measured(answers) for answers in found]


@dataclass
class Theirs:
    """A paper's throughput and what it took: the number of cores that forwarded, their nominal clock."""
    cores: int
    ghz: float
    what: str       # "2 cores of a Xeon E5-2687W v3"


def rows(figure: str, what: str, found: Measured, name: str, size: int, theirs: Theirs | None = None,
         printed_gbps: float | None = None, printed_mpps: float | None = None, note: str = "") -> list[Row]:
    """One case as the paper prints it (Gb/s or Mpps of everything), a core, and a packet in cycles."""
    total = printed_mpps if printed_mpps is not None else mpps_of(printed_gbps,
                                                                  size) if printed_gbps is not None else None
    each = total / theirs.cores if total is not None and theirs else None
    threads = found.threads[name]
    whole = (Row(figure, what, "Mpps", printed_mpps, found.mpps(name), note) if printed_mpps is not None
             else Row(figure, what, "Gb/s", printed_gbps, found.gbps(name, size), note))
    by = f"theirs: {theirs.what}, nominal {theirs.ghz} GHz" if each else ""
    return [whole,
            Row(figure, what, "Mpps a core", each, [mpps / threads for mpps in found.mpps(name)], by),
            Row(figure, what, "cycles/packet", theirs.ghz * 1e3 / each if each else None, found.cycles(name), by)]


def not_here(figure: str, what: str, unit: str, paper: float | None, why: str) -> Row:
    return Row(figure, what, unit, paper, [], f"n/a: {why}")


# --- instructions ---

EVENTS = ("Ir", "Dr", "Dw", "D1mr", "D1mw", "DLmr", "DLmw")


@dataclass
class Counted:
    """Of one packet, by callgrind: events (EVENTS) and instructions by function."""
    events: dict[str, float]
    functions: dict[str, float]

    @property
    def accesses(self) -> float:
        return self.events["Dr"] + self.events["Dw"]


def count(ctx, name: str, packets: int = 20_000) -> Counted:
    """A case under callgrind, only what is between rx and tx of the packets measured, harness included.
    On small pages: valgrind does not give DPDK the addresses it wants for huge ones."""
    out = ctx.work / f"callgrind-{abs(hash(name))}"
    argv = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=path_measured",
            "--cache-sim=yes", ctx.program("path_bench"), "--small-pages", "--rounds", "1", "--packets", str(packets),
            *full_table(ctx, [name]), name]
    with ctx.step(f"counting instructions: {name}"):
        try:
            answer = ctx.run_json(argv, timeout_s=900)
        except FileNotFoundError as error:
            raise Unavailable("valgrind is not installed: apt-get install valgrind") from error
    return parse_callgrind(out, answer["cases"][0]["trials"][0]["packets"])


def parse_callgrind(path: Path, packets: int) -> Counted:
    """The format of callgrind: `fn=(id) name`, then lines `position cost…`; after `calls=` one line of what the callee
    cost."""
    names: dict[str, str] = {}
    functions: dict[str, float] = {}
    events: list[str] = []
    totals: list[int] = []
    function, inclusive = "", False
    for line in path.read_text(errors="replace").splitlines():
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith(("totals:", "summary:")):
            totals = [int(word) for word in line.split()[1:]]
        elif match := re.match(r"fn=\((\d+)\)(?: (.*))?", line):
            names.setdefault(match[1], match[2] or "")
            function = names[match[1]].split(".")[0]    # without what the compiler adds: .lto_priv.0
        elif match := re.match(r"cfn=\((\d+)\) (.*)", line):
            names.setdefault(match[1], match[2])
        elif line.startswith("calls="):
            inclusive = True
        elif re.match(r"[+\-*\d]\S* \d", line):
            if not inclusive:
                functions[function] = functions.get(function, 0) + int(line.split()[1])
            inclusive = False
    return Counted({event: total / packets for event, total in zip(events, totals)},
                   {name: cost / packets for name, cost in sorted(functions.items(), key=lambda item: -item[1])})
