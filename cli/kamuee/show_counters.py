# SPDX-License-Identifier: BSD-3-Clause
"""show route counters [vr VR]"""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing, of_vr
from kamuee.render import Column, count, right

NONE = "no prefix is counted; to count one: 'set counters prefix default 192.0.2.0/24'"


def counted(entry: dict) -> str:
    return "yes" if entry["active"] else "local" if entry.get("nexthop") is not None else "no route"


PREFIX = (
    Leaf("prefix", Column("Prefix", spill=True)),
    Leaf("vr", Column("VR")),
    Leaf("packets", right("Packets"), show=count),
    Leaf("bytes", right("Bytes"), show=count),
    Leaf("", Column("Counted"), show=counted),
    Leaf("nexthop", right("Next hop")),
)


def show(context: Context, match: Match) -> None:
    listing(context, PREFIX, of_vr(context.client.entries("counted-prefix"), match.args.get("VR")), NONE)
