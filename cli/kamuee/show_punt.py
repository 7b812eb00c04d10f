# SPDX-License-Identifier: BSD-3-Clause
"""show punt, show icmp: packets to the control plane, best class first, and limits of ICMP errors."""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, details, listing
from kamuee.render import Column, count, right


def limit(prefix: str):
    """Shows a rate and its burst."""
    def shown(found: dict) -> str | None:
        rate, burst = found.get(f"{prefix}rate"), found.get(f"{prefix}burst")
        return None if rate is None else f"{count(rate)} errors/s, burst {count(burst)}" if rate else "none are sent"
    return shown


CLASS = (
    Leaf("class", Column("Class")),
    *(Leaf(name, column, show=count) for name, column in (
        ("rate", right("Packets/s")), ("burst", right("Burst")), ("queue", right("Queue")),
        ("queued", right("Waiting", wide=True)), ("passed", right("To kernel")), ("policed", right("Policed")),
        ("queue-full", right("Queue full")))),
)
ICMP = (
    Leaf("", label="limit per interface", show=limit("")),
    Leaf("", label="limit of the router", show=limit("total-")),
    Leaf("sent", label=True, show=count),
    Leaf("limited", label="withheld: rate limit", show=count),
    Leaf("forbidden", label="withheld: not allowed", show=count),
)


def show(context: Context, match: Match) -> None:
    listing(context, CLASS, context.client.entries("punt"))


def icmp(context: Context, match: Match) -> None:
    found = context.client.state("icmp")
    if context.options.json:
        context.json(found)
    else:
        context.lines(details(context, ICMP, found, indent=0))
