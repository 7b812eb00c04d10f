# SPDX-License-Identifier: BSD-3-Clause
"""show neighbor [vr VR]"""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing, of_vr
from kamuee.render import Column, count, right, yes_no

NEIGHBOR = (
    Leaf("address", Column("Address", spill=True)),
    Leaf("interface", Column("Interface")),
    Leaf("mac", Column("MAC")),
    Leaf("status", Column("State")),
    Leaf("held", right("Held"), show=count),
    Leaf("vr", Column("VR")),
    Leaf("gateway", Column("Gateway", wide=True), show=yes_no),
    Leaf("in-use", Column("In use", wide=True), show=yes_no),
    Leaf("nexthop", right("Next hop", wide=True)),
)


def show(context: Context, match: Match) -> None:
    listing(context, NEIGHBOR, of_vr(context.client.entries("neighbor"), match.args.get("VR")), "no neighbors")
