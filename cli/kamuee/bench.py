# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench`: measure what Kamuee claims, beside its peers.

    kamuee bench                          what can be measured
    kamuee bench NAME [OPTIONS]           one of the commands, or of the experiments
    kamuee bench NAME --help              its options

The benchmarks are a part of the source tree, and a package of their own, kamuee-bench. This file only finds them; each command's
module says what it measures and has `main(argv) -> exit code`. SIGTERM and SIGHUP end it as Ctrl-C does:
it stops what it started. Under nohup it goes on.
"""
from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from kamuee.context import terminal_width
from kamuee.errors import EXIT_INTERRUPTED
from kamuee.render import fields

BENCH = Path(__file__).resolve().parents[2] / "bench"


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def commands() -> list[str]:
    return sorted(path.stem for path in (BENCH / "commands").glob("*.py") if not path.stem.startswith("_"))


def main(argv: list[str]) -> int:
    if not (BENCH / "run.py").exists():
        print(f"kamuee bench: {BENCH} not found: the benchmarks are not installed: apt install kamuee-bench, or run this "
              f"in a source tree after 'make'",
              file=sys.stderr)
        return 1
    sys.path.insert(0, str(BENCH))
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
            signal.signal(number, interrupt)
    try:
        if argv and argv[0] in commands():
            return importlib.import_module(f"commands.{argv[0]}").main(argv[1:])
        if argv and not argv[0].startswith("-"):
            os.execv(sys.executable, [sys.executable, str(BENCH / "run.py"), "--only", *argv])
        return listing(argv)
    except KeyboardInterrupt:
        print("kamuee bench: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def listing(argv: list[str]) -> int:
    print(__doc__.split("\n\n")[1])
    ideas = [(name, importlib.import_module(f"commands.{name}").IDEA) for name in commands()]
    listed = subprocess.run([sys.executable, str(BENCH / "run.py"), "--list"], capture_output=True, text=True)
    experiments = [tuple(line.split(maxsplit=1)) for line in listed.stdout.strip().split("\n")]
    print("\nCommands:", *fields(ideas, terminal_width()), sep="\n")
    print("\nExperiments (need root, to create network namespaces):", *fields(experiments, terminal_width()), sep="\n")
    return listed.returncode if argv in ([], ["--help"], ["-h"]) else 2
