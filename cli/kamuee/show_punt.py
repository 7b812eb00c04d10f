# SPDX-License-Identifier: BSD-3-Clause
"""show punt, show icmp: the exception path, best class first."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, right

CLASSES = (Column("Class"), right("Packets/s"), right("Burst"), right("Queue"), right("Waiting", wide=True),
           right("To kernel"), right("Policed"), right("Queue full"))


def show(context: Context, match: Match) -> None:
    classes = context.client.entries("punt")
    if context.options.json:
        context.json(classes)
        return
    context.lines(render.table(CLASSES, map(row, classes), context.width, context.wide))


def row(entry: dict) -> list[str | None]:
    return [entry["class"], *(count(entry.get(name)) for name in ("rate", "burst", "queue", "queued", "passed",
                                                                 "policed", "queue-full"))]


def icmp(context: Context, match: Match) -> None:
    found = context.client.state("icmp")
    if context.options.json:
        context.json(found)
        return
    context.lines(render.fields([
        ("limit per interface", limit(found, "")),
        ("limit of the router", limit(found, "total-")),
        ("sent", count(found.get("sent"))),
        ("withheld: rate limit", count(found.get("limited"))),
        ("withheld: not allowed", count(found.get("forbidden"))),
    ], context.room, indent=0))


def limit(found: dict, prefix: str) -> str | None:
    rate, burst = found.get(f"{prefix}rate"), found.get(f"{prefix}burst")
    return None if rate is None else f"{count(rate)} errors/s, burst {count(burst)}" if rate else "none are sent"
