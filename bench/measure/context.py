# SPDX-License-Identifier: BSD-3-Clause
"""The context of an experiment: paths, amount of measurements, a place for its numbers, and messages."""
import json
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from measure.program import Unavailable, write_table
from measure.report import Outcome

class Context:
    def __init__(self, build: Path, kamueed: Path, rounds: int, quick: bool, prefixes: str | None, work: Path):
        self.build, self.kamueed, self.quick, self.work = build, kamueed, quick, work
        self.rounds = rounds
        self._prefixes_wanted = prefixes
        self._prefixes: Path | None = None
        self.console = Console(stderr=True, highlight=False)
        self.outcome = Outcome("", "")
        self._begun = time.monotonic()

    # --- numbers ---

    def add(self, what: str, variant: str, unit: str, *values: float, goal: str = "", note: str = "") -> None:
        self.outcome.add(what, variant, unit, *values, goal=goal, note=note)

    def note(self, text: str) -> None:
        self.outcome.note(text)

    # --- progress ---

    def say(self, text: str) -> None:
        passed = time.monotonic() - self._begun
        self.console.print(f"[dim]{passed:7.1f} s[/]  {self.outcome.name}: {text}", soft_wrap=True)

    @contextmanager
    def step(self, text: str):
        """A piece of work that takes a while: a spinner on a terminal, a line elsewhere."""
        begun = time.monotonic()
        if self.console.is_terminal:
            with self.console.status(f"{self.outcome.name}: {text}"):
                yield
            self.say(f"{text}: {time.monotonic() - begun:.1f} s")
        else:
            self.say(text)
            yield

    def each_round(self):
        for number in range(1, self.rounds + 1):
            self.say(f"round {number} of {self.rounds}")
            yield number

    # --- programs ---

    def program(self, name: str) -> Path:
        path = self.build / "bench" / name
        if not os.access(path, os.X_OK):
            raise Unavailable(f"{path} is not built: ninja -C {self.build}")
        return path

    def need_kamueed(self) -> Path:
        if not os.access(self.kamueed, os.X_OK):
            raise Unavailable(f"no daemon at {self.kamueed}: run make build, or set KAMUEED")
        return self.kamueed

    def run_json(self, argv: list, timeout_s: float = 300, check: bool = True) -> dict:
        """Run a program that prints one JSON object."""
        done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=timeout_s)
        if (check and done.returncode) or not done.stdout.strip():
            raise RuntimeError(f"{' '.join(map(str, argv))}: status {done.returncode}: {done.stderr.strip()[-800:]}"
                               f"{done.stdout.strip()[-200:]}")
        return json.loads(done.stdout)

    # --- the table ---

    def prefixes(self) -> Path:
        """The full table as text, one prefix per line: the named file, or the one that the feed finds or makes."""
        if self._prefixes is None:
            with self.step("preparing the full table"):
                self._prefixes = write_table(self.work / "prefixes.txt", self._prefixes_wanted,
                                             100_000 if self.quick else None)
        return self._prefixes
