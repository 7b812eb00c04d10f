# SPDX-License-Identifier: BSD-3-Clause
"""What a BGP speaker tells, in the form that both speakers share."""
from __future__ import annotations

import struct
from typing import NamedTuple

from kamuee.flowspec.flow import Flow


class Attributes(NamedTuple):
    """Of a route: its actions as (name, value), its next hop, its AS path from the nearest AS on."""

    actions: tuple[tuple[str, float | str], ...] = ()
    nexthop: str = ""
    path: tuple[int, ...] = ()


class Session(NamedTuple):
    peer: str
    up: bool
    local: str = ""         # our address; "" if the speaker does not tell
    local_as: int = 0
    peer_as: int = 0
    again: bool = False     # all its routes are told once more


class Announce(NamedTuple):
    peer: str
    flow: Flow
    attributes: Attributes


class Withdraw(NamedTuple):
    peer: str
    flow: Flow


class Complete(NamedTuple):
    """The peer has sent all its routes of the family (RFC 4724)."""

    peer: str
    family: int


class Unreadable(NamedTuple):
    peer: str
    text: str
    reason: str


Event = Session | Announce | Withdraw | Complete | Unreadable


def action(community: int) -> tuple[str, float | str] | None:
    """The action of an extended community (RFC 8955 7; 0x0800: redirect to the next hop of the route). None: it is none."""
    kind, value = community >> 48, community & 0xffffffffffff
    rate = struct.unpack(">f", (value & 0xffffffff).to_bytes(4, "big"))[0]
    if kind == 0x8006:
        return "rate", rate
    if kind == 0x800c:
        return "packets", rate
    if kind == 0x8007:
        return "traffic-action", float(value & 3)
    if kind == 0x8008:
        return "redirect", f"{value >> 32}:{value & 0xffffffff}"
    if kind == 0x8108:
        return "redirect", f"{dotted(value >> 16)}:{value & 0xffff}"
    if kind == 0x8208:
        return "redirect", f"{value >> 16}:{value & 0xffff}"
    if kind == 0x8009:
        return "mark", float(value & 63)
    if kind == 0x0800:
        return "nexthop", float(value & 1)
    if kind == 0x010c:
        return "address", dotted(value >> 16)
    return ("unknown", f"0x{community:016x}") if kind >> 8 in (0x80, 0x81, 0x82) else None


def dotted(number: int) -> str:
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
