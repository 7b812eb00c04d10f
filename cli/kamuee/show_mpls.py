# SPDX-License-Identifier: BSD-3-Clause
"""show mpls table [label N] [vr VR]"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee.client import key
from kamuee.context import Context
from kamuee.errors import DaemonError, NotFound
from kamuee.grammar import Match
from kamuee.leaf import Leaf, of_vr, table
from kamuee.render import Column, labels, right

ROW = (  # a label, or one more of its next hops
    Leaf("label", right("Label")),
    Leaf("operation", Column("Operation")),
    Leaf("via", Column("Next hop", spill=True)),
    Leaf("interface", Column("Interface")),
    Leaf("state", Column("State")),
    Leaf("vr", Column("VR")),
    Leaf("protocol", Column("Protocol", wide=True)),
)


def show(context: Context, match: Match) -> None:
    found = asked(context, match.args.get("MPLSLABEL"), match.args.get("VR"))
    if context.options.json:
        context.json(found)
    else:
        context.lines(table(context, ROW, (row for entry in found for row in rows(entry)), "no labels"))


def asked(context: Context, label: str | None, vr: str | None) -> list[dict]:
    if label is None:
        return of_vr(context.client.entries("label"), vr)
    vr = vr or "default"
    try:
        return context.client.state(f"label={key(vr, label)}")
    except NotFound:
        raise DaemonError([f"virtual router {vr} has no route of label {label}; 'show mpls table' lists them"]) from None


def rows(entry: dict) -> Iterator[dict]:
    for i, hop in enumerate(entry.get("hop") or [{}]):
        first = {name: entry[name] for name in ("label", "protocol", "vr")} if not i else {}
        yield {**first, **hop, "operation": operation(hop), "via": hop.get("gateway") or hop.get("mac"), "state": state(entry, hop)}


def operation(hop: dict) -> str:
    return f"swap {labels(hop['labels'])}" if "labels" in hop else "pop"


def state(entry: dict, hop: dict) -> str:
    if not entry.get("active"):
        return "not followed"
    return "not usable" if hop.get("alive") is False else "active" if hop.get("resolved") else "not resolved"
