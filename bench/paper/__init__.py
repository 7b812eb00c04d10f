# SPDX-License-Identifier: BSD-3-Clause
"""The papers' experiments, one module a paper: NAME, IDEA (one sentence) and run(ctx) -> Result.

`ctx` is bench/measure/context.py's Context (quick, build, prefixes(), work, say(), program()). A row is one number
of the paper beside our own ones for the same case; what was scaled to the machine, and how, is said in the notes.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from measure import plot


@dataclass
class Row:
    figure: str             # where the paper has it: "figure 5", "table 3", "§5.5"
    case: str               # what was measured, in the paper's words
    unit: str               # of both numbers: "Mpps a core", "cycles/packet", "ms"
    paper: float | None     # as the paper prints it; None: a curve without a number in the text
    ours: list[float] = field(default_factory=list)     # one for each round; none: not applicable here, `note` says why
    note: str = ""


@dataclass
class Result:
    rows: list[Row] = field(default_factory=list)
    charts: list[plot.Bars | plot.Lines] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def row(self, *given, **more) -> None:
        """One more row, of these fields."""
        self.rows.append(Row(*given, **more))
