# SPDX-License-Identifier: BSD-3-Clause
"""show route counters [vr VR]"""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, right
from kamuee.show_port import text

COLUMNS = (Column("Prefix", spill=True), Column("VR"), right("Packets"), right("Bytes"), Column("Counted"), right("Next hop"))


def show(context: Context, match: Match) -> None:
    found = context.client.entries("counted-prefix")
    if vr := match.args.get("VR"):
        found = [entry for entry in found if entry["vr"] == vr]
    if context.options.json:
        context.json(found)
    elif found:
        context.lines(render.table(COLUMNS, map(row, found), context.width, context.wide))
    else:
        context.line("no prefix is counted; to count one: 'set counters prefix default 192.0.2.0/24'")


def row(entry: dict) -> list[str | None]:
    counted = "yes" if entry["active"] else "local" if "nexthop" in entry else "no route"
    return [entry["prefix"], entry["vr"], count(entry["packets"]), count(entry["bytes"]), counted, text(entry, "nexthop")]
