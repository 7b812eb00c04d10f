# SPDX-License-Identifier: BSD-3-Clause
"""show tunnel, show linux-tunnel: tunnels and the path to their remote ends; tunnels that are left to Linux."""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, right

TUNNEL = (
    Leaf("name", Column("Tunnel")), Leaf("kind", Column("Kind")), Leaf("made-by", Column("By", wide=True)),
    Leaf("status", Column("Status")),
    Leaf("local", Column("Local", wide=True)), Leaf("remote", Column("Remote")), Leaf("vr", Column("Outer VR", wide=True)),
    Leaf("interface-vr", Column("VR")), Leaf("key", right("Key")), Leaf("vni", right("VNI")), Leaf("mtu", right("MTU")),
    Leaf("path-mtu", right("Path", wide=True)), Leaf("overhead", right("Added", wide=True)),
    Leaf("nexthop", right("Next hop", wide=True)),
)
LEFT = (Leaf("name", Column("Device")), Leaf("kind", Column("Kind")), Leaf("vr", Column("VR")),
        Leaf("reason", Column("Reason")))


def show(context: Context, match: Match) -> None:
    listing(context, TUNNEL, context.client.entries("tunnel"), "there is no tunnel")


def left(context: Context, match: Match) -> None:
    listing(context, LEFT, context.client.entries("linux-tunnel"), "every tunnel of Linux is taken over")
