# SPDX-License-Identifier: BSD-3-Clause
"""How long tests and phases took: read from what meson and pytest write, kept in one file for each run, printed.

A run is a file of lines `phase TAB seconds TAB result TAB test`, where the line of a phase itself has no test: its seconds are those
that passed on the clock, while those of its tests overlap.
"""
import json
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

KEPT = 20           # runs
SLOWEST = 10


@dataclass(frozen=True)
class Timed:
    name: str
    seconds: float
    result: str     # passed, failed or skipped
    why: str = ""   # a line that it said


def from_meson(log: Path) -> Iterator[Timed]:
    """The tests of meson-logs/testlog.json."""
    if not log.exists():
        return
    for line in log.read_text().splitlines():
        test = json.loads(line)
        result = {"OK": "passed", "SKIP": "skipped"}.get(test["result"], "failed")
        said = [line for line in test.get("stdout", "").splitlines() if line.strip()]
        yield Timed(test["name"].partition(" / ")[2], test["duration"], result, said[-1] if said else "")


def from_junit(xml: Path) -> Iterator[Timed]:
    """The tests of a file that pytest's --junitxml wrote; a test that fails in its setup and its teardown stands there twice."""
    if not xml.exists():
        return
    for case in ElementTree.parse(xml).getroot().iter("testcase"):
        kinds = {child.tag for child in case}
        result = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        file = case.get("classname", "").replace(".", "/") + ".py"
        said = next((child.get("message") or "" for child in case if child.tag in ("failure", "error", "skipped")), "")
        yield Timed(f"{file}::{case.get('name')}", float(case.get("time", 0)), result, said.partition("\n")[0])


class Run:
    """One run of the tests, written to a file in `folder`."""

    def __init__(self, folder: Path):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.before = runs(folder)
        self.file = folder / time.strftime("%Y%m%d-%H%M%S.tsv")
        self.phases: list[tuple[str, float, list[Timed]]] = []

    def add(self, phase: str, seconds: float, tests: Iterable[Timed]) -> None:
        self.phases.append((phase, seconds, list(tests)))

    def tests(self, phase: str = "") -> Iterator[Timed]:
        return (test for name, _, tests in self.phases if not phase or name == phase for test in tests)

    def write(self) -> None:
        lines = []
        for phase, seconds, tests in self.phases:
            lines.append(f"{phase}\t{seconds:.2f}\t\t")
            lines += [f"{phase}\t{test.seconds:.2f}\t{test.result}\t{test.name}" for test in tests]
        self.file.write_text("\n".join(lines) + "\n")
        for old in runs(self.folder)[:-KEPT]:
            old.unlink()

    def longest_first(self, phase: str) -> Path:
        """A file with the test files of a phase in the order in which to start them: as the last run measured them, else as committed."""
        order = self.folder / "longest-first"
        files: dict[str, float] = {}
        for run in reversed(self.before):
            for name, seconds, _, test in read(run):
                if name == phase and test:
                    file = test.partition("::")[0]
                    files[file] = files.get(file, 0) + seconds
            if len(files) > 50:         # a whole run, not one of a few files
                order.write_text("\n".join(sorted(files, key=files.get, reverse=True)) + "\n")
                return order
        return Path(__file__).parent / phase / "longest-first"

    def report(self) -> str:
        slowest = sorted(self.tests(), key=lambda test: -test.seconds)[:SLOWEST]
        lines = ["slowest tests:", *(f"{test.seconds:8.1f} s  {test.name}" for test in slowest), "",
                 f"{'phase':<14}{'tests':>6}{'sum, s':>9}{'clock, s':>10}"]
        for phase, seconds, tests in self.phases:
            lines.append(f"{phase:<14}{len(tests):>6}{sum(test.seconds for test in tests):>9.0f}{seconds:>10.0f}")
        lines.append(f"{'all':<14}{sum(1 for _ in self.tests()):>6}{sum(test.seconds for test in self.tests()):>9.0f}"
                     f"{sum(seconds for _, seconds, _ in self.phases):>10.0f}")
        return "\n".join(lines) + f"\neach test: {self.file}"


def runs(folder: Path) -> list[Path]:
    """Files of earlier runs, the oldest first."""
    return sorted(folder.glob("*.tsv"))


def read(run: Path) -> Iterator[tuple[str, float, str, str]]:
    """(phase, seconds, result, test) of each line."""
    for line in run.read_text().splitlines():
        phase, seconds, result, test = line.split("\t")
        yield phase, float(seconds), result, test
