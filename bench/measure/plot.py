# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of results: bars side by side and lines, in one file (PNG, SVG or PDF by its name).

Matplotlib draws. It is a package of its own (python3-matplotlib): without it `save` says so and the numbers,
which are the result, remain.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

WIDTH_INCH, HEIGHT_INCH = 9.0, 4.2
COLORS = ("#08519c", "#3182bd", "#9ecae1", "#e6550d", "#fdae6b", "#238b45", "#74c476", "#6a51a3", "#969696", "#252525")


class NoPlot(Exception):
    """The missing package, and its remedy."""


@dataclass
class Bars:
    """Groups of bars side by side: series[name][i] belongs to groups[i], None = no bar."""
    title: str
    unit: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[float | None]]


@dataclass
class Lines:
    """series[name] = points (x, y); dashed series are published by others."""
    title: str
    x: str
    y: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False
    dashed: Sequence[str] = field(default_factory=tuple)


def draw_bars(axes, chart: Bars) -> None:
    width = 0.8 / max(1, len(chart.series))
    for number, (name, values) in enumerate(chart.series.items()):
        at = [group + (number - (len(chart.series) - 1) / 2) * width for group, v in enumerate(values) if v is not None]
        bars = axes.bar(at, [v for v in values if v is not None], width * 0.92, label=name,
                        color=COLORS[number % len(COLORS)])
        axes.bar_label(bars, fmt="%.3g", fontsize=6, padding=1)
    axes.set_xticks(range(len(chart.groups)), chart.groups, fontsize=8)
    axes.set_ylabel(chart.unit)


def draw_lines(axes, chart: Lines) -> None:
    for number, (name, points) in enumerate(chart.series.items()):
        axes.plot([x for x, _ in points], [y for _, y in points], label=name, color=COLORS[number % len(COLORS)],
                  marker="." if len(points) <= 40 else None, linestyle="--" if name in chart.dashed else "-")
    axes.set_xlabel(chart.x)
    axes.set_ylabel(chart.y)
    if chart.log_x:
        axes.set_xscale("log")
    if chart.log_y:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def figure(charts: Sequence[Bars | Lines]):
    """The charts below each other, as a matplotlib figure."""
    try:
        import matplotlib
        matplotlib.use("agg")
        from matplotlib import pyplot
    except ImportError as error:
        raise NoPlot("no picture without matplotlib: apt-get install python3-matplotlib") from error
    fig, rows = pyplot.subplots(len(charts), 1, figsize=(WIDTH_INCH, HEIGHT_INCH * len(charts)), squeeze=False,
                                layout="constrained")
    for (axes,), chart in zip(rows, charts):
        draw_bars(axes, chart) if isinstance(chart, Bars) else draw_lines(axes, chart)
        axes.set_title(chart.title, loc="left", fontsize=10, fontweight="bold")
        axes.spines[["top", "right"]].set_visible(False)
        if len(chart.series) > 1:
            axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return fig


def save(path: Path | str, charts: Sequence[Bars | Lines]) -> None:
    fig = figure(charts)
    fig.savefig(path, dpi=120)
    fig.clear()
