# SPDX-License-Identifier: BSD-3-Clause
"""Bars as an SVG picture: groups of bars side by side, one colour a series, the value above each bar."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

COLOURS = ("#9ecae1", "#6baed6", "#3182bd", "#08519c", "#fdae6b", "#e6550d", "#a63603", "#74c476", "#238b45", "#969696")
BAR, GAP, HEIGHT, LEFT, TOP, FOOT = 26, 22, 260, 64, 56, 44
TEXT = 'font-family="sans-serif" font-size="11"'


class Chart(NamedTuple):
    title: str
    unit: str
    series: Sequence[str]
    groups: Sequence[tuple[str, Sequence[float | None]]]  # name, a value for each series; None = no bar


def picture(charts: Sequence[Chart]) -> str:
    """The charts below each other."""
    width = max(LEFT + len(c.groups) * group_width(c) + 180 for c in charts)
    each = TOP + HEIGHT + FOOT
    body = [part for number, c in enumerate(charts) for part in drawn(c, number * each)]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{each * len(charts)}">\n'
            f'<rect width="100%" height="100%" fill="white"/>\n' + "\n".join(body) + "\n</svg>\n")


def group_width(chart: Chart) -> int:
    return len(chart.series) * BAR + GAP


def drawn(chart: Chart, top: int) -> Iterator[str]:
    values = [v for _, row in chart.groups for v in row if v is not None]
    step = nice_step(max(values, default=1.0))
    most = step * (int(max(values, default=1.0) / step) + 1)
    floor = top + TOP + HEIGHT
    yield text(LEFT, top + 24, f"{chart.title}, {chart.unit}", 'font-weight="bold"')
    for n in range(int(most / step) + 1):
        y = floor - HEIGHT * n * step / most
        yield f'<line x1="{LEFT}" x2="{LEFT + len(chart.groups) * group_width(chart)}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield text(LEFT - 6, y + 4, f"{n * step:g}", 'text-anchor="end"')
    for at, (name, row) in enumerate(chart.groups):
        x0 = LEFT + at * group_width(chart) + GAP // 2
        yield text(x0 + len(row) * BAR / 2, floor + 18, name, 'text-anchor="middle"')
        for number, value in enumerate(row):
            if value is not None:
                yield from bar(x0 + number * BAR, floor, HEIGHT * value / most, value, COLOURS[number % len(COLOURS)])
    for number, name in enumerate(chart.series):
        x, y = LEFT + len(chart.groups) * group_width(chart) + 12, top + TOP + number * 18
        yield f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[number % len(COLOURS)]}"/>'
        yield text(x + 18, y + 10, name)


def bar(x: float, floor: float, height: float, value: float, colour: str) -> Iterator[str]:
    yield f'<rect x="{x + 1:.1f}" y="{floor - height:.1f}" width="{BAR - 2}" height="{height:.1f}" fill="{colour}"/>'
    yield text(x + BAR / 2, floor - height - 3, f"{value:.3g}", 'text-anchor="middle" fill="#444"')


def text(x: float, y: float, what: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {TEXT} {more}>{escape(what)}</text>'


def nice_step(most: float) -> float:
    """1, 2 or 5 times a power of ten, so that there are four to ten lines."""
    step = 1e-6
    while True:
        for factor in (1, 2, 5):
            if most / (step * factor) <= 8:
                return step * factor
        step *= 10
