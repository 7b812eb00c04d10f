# SPDX-License-Identifier: BSD-3-Clause
"""show latency: latency inside the router, by pair of ports."""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, count, right, scaled

OFF = "nothing measured; to measure as much as possible: set forwarding latency-sample 61"


def span(ns: float) -> str:
    """A short time: 850 ns, 12.3 us."""
    return scaled(ns, 1000, (" ns", " us", " ms", " s"))


PAIR = (
    Leaf("input", Column("In")),
    Leaf("output", Column("Out")),
    Leaf("packets", right("Packets"), show=count),
    *(Leaf(name, right(title), show=span) for name, title in (
        ("mean", "Mean"), ("median", "Median"), ("p90", "90 %"), ("p99", "99 %"), ("p999", "99.9 %"), ("max", "Max"))),
)


def show(context: Context, match: Match) -> None:
    listing(context, PAIR, context.client.entries("latency"), OFF)
