# SPDX-License-Identifier: BSD-3-Clause
"""show latency: how long packets were inside the router, by pair of ports."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, right

PAIRS = (Column("In"), Column("Out"), right("Packets"), *(right(name) for name in ("Mean", "Median", "90 %", "99 %", "99.9 %", "Max")))
OFF = "nothing measured; to measure as much as possible: set forwarding latency-sample 61"


def show(context: Context, match: Match) -> None:
    pairs = context.client.entries("latency")
    if context.options.json:
        context.json(pairs)
    elif pairs:
        context.lines(render.table(PAIRS, map(row, pairs), context.width, context.wide))
    else:
        context.line(OFF)


def row(pair: dict) -> list[str | None]:
    return [pair["input"], pair["output"], count(pair["packets"]),
            *(span(pair.get(name)) for name in ("mean", "median", "p90", "p99", "p999", "max"))]


def span(ns: float | None) -> str | None:
    """A short time: 850 ns, 12.3 us."""
    return None if ns is None else render.scaled(ns, 1000, (" ns", " us", " ms", " s"))
