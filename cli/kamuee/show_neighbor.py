# SPDX-License-Identifier: BSD-3-Clause
"""show neighbor [vr VR]"""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, right
from kamuee.show_port import text

COLUMNS = (Column("Address", spill=True), Column("Interface"), Column("MAC"), Column("State"), right("Held"),
           Column("VR"), Column("Gateway", wide=True), Column("In use", wide=True), right("Next hop", wide=True))


def show(context: Context, match: Match) -> None:
    found = context.client.entries("neighbor")
    if vr := match.args.get("VR"):
        found = [entry for entry in found if entry.get("vr") == vr]
    if context.options.json:
        context.json(found)
    else:
        context.lines(render.table(COLUMNS, map(row, found), context.width, context.wide, "no neighbors"))


def row(entry: dict) -> list[str | None]:
    return [entry["address"], entry.get("interface"), entry.get("mac"), entry.get("status"),
            count(entry.get("held")), entry.get("vr"), render.yes_no(entry.get("gateway")),
            render.yes_no(entry.get("in-use")), text(entry, "nexthop")]
