# SPDX-License-Identifier: BSD-3-Clause
"""Goals: bounds on a figure of a command's result, what was reached, and the table of them."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kamuee.render import Column, right

GOALS = (Column("Goal"), right("Must"), right("Goal"), right("Measured"), Column("Verdict"))


@dataclass(frozen=True)
class Goal:
    name: str
    unit: str
    must: float | None
    goal: float
    value: Callable[[dict], float | None]
    at_most: bool = False

    def reached(self, value: float, bound: float) -> bool:
        return value <= bound if self.at_most else value >= bound

    def verdict(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        if self.reached(value, self.goal):
            return "goal"
        return "must" if self.must is not None and self.reached(value, self.must) else "missed"

    def as_json(self, found: dict) -> dict:
        value = self.value(found)
        return {"name": self.name, "unit": self.unit, "must": self.must, "goal": self.goal, "at_most": self.at_most,
                "value": value, "verdict": self.verdict(value)}

    def cells(self, found: dict) -> list[str | None]:
        value, sign = self.value(found), "≤" if self.at_most else "≥"
        shown = [f"{sign} {bound:,.10g} {self.unit}" if bound is not None else None for bound in (self.must, self.goal)]
        return [self.name, *shown, None if value is None else f"{value:,.{2 if abs(value) < 10 else 1}f} {self.unit}",
                self.verdict(value)]
