# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench program`: what a packet program adds to a packet, sandboxed and as plain C.

Measured by program_bench: one forwarder, ports in memory, each program against the same packets without one. The programs
are the examples, built here by kamuee-program (clang, wasm2c and a C compiler).
"""
from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kamuee.errors import DaemonError, Unreachable
from kamuee.lab.errors import LabError
from kamuee.render import Column, right
from measure.cases import added_rows, command_parser, print_rows
from measure.goal import Goal
from measure.program import ROOT, Unavailable, answer_of, bench_program, daemon, run_command

IDEA = "what a packet program adds to a packet, sandboxed and as plain C (no root; needs clang, wabt)"
PROGRAMS = ("noop", "dscp", "syn-guard")
NONE = ("none", "none")
TABLE = (Column("Target"), Column("Program"), right("Cycles"), right("Spread"))
EXAMPLES = ROOT / "programs/examples"


def parser() -> argparse.ArgumentParser:
    return command_parser("program", __doc__, "fewer rounds; ends within 50 s")


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("program", lambda: run(given), LabError, DaemonError, Unreachable, RuntimeError, Unavailable)


def run(given: argparse.Namespace) -> int:
    load = os.getloadavg()[0]
    bench_program("program_bench")
    with built() as cases:
        rows = added_rows(answer_of("program_bench", *(["--quick"] if given.quick else []), *cases)["results"], ("target", "program"), NONE)
    print_rows(rows, [f"cycles: of the TSC, added to a packet, median of the rounds; load of the machine before: {load:.1f}."], ALL_GOALS,
               given.json, TABLE, lambda row: [row["target"], row["program"], f"{row['cycles']:.1f}", f"{row['spread']:.1f}"])
    return 0


@contextmanager
def built() -> Iterator[list[str]]:
    """The arguments of program_bench: each program for each target."""
    with tempfile.TemporaryDirectory(prefix="kamuee-bench-") as directory:
        yield [f"{target}:{name}:{make(target, name, Path(directory))}" for target in BUILDERS for name in PROGRAMS]


def make(target: str, name: str, directory: Path) -> Path:
    file = directory / f"{target}-{name}.so"
    done = subprocess.run(BUILDERS[target](name, file), capture_output=True, text=True)
    if done.returncode:
        raise Unavailable(f"{name} cannot be built for {target}: {done.stderr.strip()}")
    file.chmod(0o644)
    return file


def sandboxed(name: str, file: Path) -> list[str]:
    return [helper(), "build", str(EXAMPLES / f"{name}.c"), "-o", str(file)]


def helper() -> str:
    """kamuee-program: from the build, or installed."""
    for path in (daemon().parent / "compiler/kamuee-program", ROOT.parents[1] / "libexec/kamuee-program"):
        if os.access(path, os.X_OK):
            return str(path)
    raise Unavailable("no kamuee-program: build it (make build)")


def native(name: str, file: Path) -> list[str]:
    compiler = shutil.which("cc")
    if not compiler:
        raise Unavailable("no C compiler: apt install gcc")
    include = file.parent / "include"
    include.mkdir(exist_ok=True)
    if not (include / "kamuee").exists():
        (include / "kamuee").symlink_to(ROOT / "src/data/program")
    return [compiler, "-O2", "-shared", "-fPIC", f"-I{include}", f"-I{ROOT / 'src/data'}", f'-DEXAMPLE="{EXAMPLES / name}.c"',
            str(ROOT / "bench/program/native.c"), "-o", str(file)]


BUILDERS = {"tenant": sandboxed, "native": native}


def of(target: str, program: str) -> Callable[[dict], float | None]:
    return lambda found: next((row["cycles"] for row in found["rows"] if (row["target"], row["program"]) == (target, program)), None)


ALL_GOALS = tuple(Goal(f"{target}, {program}: added to a packet", "cycles", must, goal, of(target, program), at_most=True)
                  for target, program, must, goal in (("tenant", "noop", 20, 8), ("tenant", "dscp", 40, 20), ("tenant", "syn-guard", 80, 40)))
