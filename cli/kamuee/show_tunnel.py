# SPDX-License-Identifier: BSD-3-Clause
"""show tunnel: tunnels, and the way to their remote ends."""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, right

TUNNEL = (
    Leaf("name", Column("Tunnel")), Leaf("kind", Column("Kind")), Leaf("status", Column("Status")),
    Leaf("local", Column("Local", wide=True)), Leaf("remote", Column("Remote")), Leaf("vr", Column("Outer VR", wide=True)),
    Leaf("interface-vr", Column("VR")), Leaf("key", right("Key")), Leaf("vni", right("VNI")), Leaf("mtu", right("MTU")),
    Leaf("path-mtu", right("Path", wide=True)), Leaf("overhead", right("Added", wide=True)),
    Leaf("nexthop", right("Next hop", wide=True)),
)


def show(context: Context, match: Match) -> None:
    listing(context, TUNNEL, context.client.entries("tunnel"), "no tunnel is configured")
