# SPDX-License-Identifier: BSD-3-Clause
"""Results: measurements as numbers, as JSON and as a Markdown table.

Every number of an experiment is a value of a series: (what, variant, unit). The values of all rounds are
kept; median, min and max are worked out when they are shown. A goal is a bound on the median.
"""
import json
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path

PERCENTILES_FROM = 20   # values: with fewer, p90 and p99 would only repeat the maximum


@dataclass
class Series:
    what: str
    variant: str
    unit: str
    values: list[float] = field(default_factory=list)
    goal: str = ""          # "<= 2" or ">= 1", on the median
    note: str = ""

    def median(self) -> float:
        return statistics.median(self.values)

    def percentile(self, percent: float) -> float | None:
        if len(self.values) < PERCENTILES_FROM:
            return None
        ordered = sorted(self.values)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]

    def met(self) -> bool | None:
        if not self.goal or not self.values:
            return None
        sign, bound = self.goal.split()
        return self.median() <= float(bound) if sign == "<=" else self.median() >= float(bound)


@dataclass
class Outcome:
    """Of one experiment."""
    name: str
    idea: str
    series: list[Series] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    skipped: str = ""       # why it did not run
    failed: str = ""        # why it ended early
    load_before: dict = field(default_factory=dict)
    load_after: dict = field(default_factory=dict)

    def add(self, what: str, variant: str, unit: str, *values: float, goal: str = "", note: str = "") -> None:
        for s in self.series:
            if (s.what, s.variant, s.unit) == (what, variant, unit):
                s.values += values
                return
        self.series.append(Series(what, variant, unit, list(values), goal, note))

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def number(value: float | None) -> str:
    """Four significant digits, thousands separated; nothing for nothing."""
    if value is None:
        return ""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def verdict(s: Series) -> str:
    return {None: "", True: "yes", False: "**no**"}[s.met()]


def table(outcome: Outcome) -> list[str]:
    lines = ["| measured | variant | unit | median | min | max | p90 | p99 | n | goal | met |",
             "|---|---|---|--:|--:|--:|--:|--:|--:|---|---|"]
    for s in outcome.series:
        if not s.values:
            continue
        cells = [s.what, s.variant, s.unit, number(s.median()), number(min(s.values)), number(max(s.values)),
                 number(s.percentile(90)), number(s.percentile(99)), str(len(s.values)),
                 s.goal.replace("<=", "≤").replace(">=", "≥"), verdict(s)]
        lines.append("| " + " | ".join(cells) + " |")
    notes = list(outcome.notes) + [f"{s.what}, {s.variant}: {s.note}" for s in outcome.series if s.note]
    return lines + ([""] if notes else []) + [f"- {note}" for note in notes]


def machine_lines(machine: dict) -> list[str]:
    """The machine in three lines."""
    caches = " ".join(f"{level} {size}" for level, size in machine["caches"].items())
    pages = " ".join(f"{name.removeprefix('hugepages-')}: {n}" for name, n in machine["huge-pages"].items())
    return [f"{machine['cpu']} ({machine['family/model/stepping']}), {machine['cores']} cores, "
            f"{'virtual, ' if machine['hypervisor'] else ''}TSC {machine['tsc-mhz']:.0f} MHz, {caches}, "
            f"{' '.join(machine['vector'])}", f"{machine['memory-mib']} MiB, huge pages {pages or 'none'}, transparent "
            f"{machine['transparent-huge-pages']}",
            f"Linux {machine['kernel']}, {machine['distribution']}, commit {machine['commit']}"
            + (f" with {machine['changed-files']} changed files" if machine["changed-files"] else "")]


def markdown(result: dict) -> str:
    """The whole result for a document."""
    lines = [f"Measured {result['started']}:", ""] + [f"- {line}" for line in machine_lines(result["machine"])]
    for entry in result["experiments"]:
        outcome = Outcome(**{**entry, "series": [Series(**s) for s in entry["series"]]})
        busy = outcome.load_before.get("busy-percent")
        lines += ["", f"### {outcome.name}", "", outcome.idea, ""]
        if outcome.skipped or outcome.failed:
            lines += [f"**{'skipped' if outcome.skipped else 'failed'}**: {outcome.skipped or outcome.failed}", ""]
        if outcome.series:
            lines += table(outcome)
            lines += ["", f"{outcome.seconds:.0f} s; other work on the machine before it: {busy} % of its cores."]
    return "\n".join(lines) + "\n"


def write(result: dict, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(result, indent=1) + "\n")
    part.rename(path)


def as_dict(outcome: Outcome) -> dict:
    return asdict(outcome)
