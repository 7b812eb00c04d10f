# SPDX-License-Identifier: BSD-3-Clause
"""show policer: policers of interfaces, and packets by color."""
from __future__ import annotations

from collections.abc import Callable

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, count, right


def of_color(color: str) -> Callable[[list[dict]], str]:
    """Packets of that color."""
    return lambda colors: next((count(entry["packets"]) for entry in colors if entry["color"] == color), "-")


def bits(rate: str) -> str:
    """A rate as the configuration writes it: 100M."""
    for unit, scale in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if int(rate) >= scale:
            return f"{int(rate) / scale:.4g}{unit}"
    return str(rate)


POLICER = (
    Leaf("interface", Column("Interface")), Leaf("direction", Column("Dir")), Leaf("policer", Column("Policer")),
    Leaf("kind", Column("Kind", wide=True)),
    Leaf("cir", right("CIR"), show=bits), Leaf("pir", right("PIR"), show=bits),
    Leaf("color", right("Green"), show=of_color("green")), Leaf("color", right("Yellow"), show=of_color("yellow")),
    Leaf("color", right("Red"), show=of_color("red")),
)


def show(context: Context, match: Match) -> None:
    listing(context, POLICER, context.client.entries("policer"), "no interface has a policer")
