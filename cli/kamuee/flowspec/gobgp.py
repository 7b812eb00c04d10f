# SPDX-License-Identifier: BSD-3-Clause
"""Reads what GoBGP's own command writes: `gobgp monitor adj-in -j`, one array of paths per line, and `gobgp neighbor -j`."""
from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from kamuee.flowspec import event
from kamuee.flowspec.event import Announce, Attributes, Event, Session, Unreadable, Withdraw
from kamuee.flowspec.flow import AND, BITS, DESTINATION, EQUAL, GREATER, LESS, MATCH, NOT, SOURCE, Flow, Invalid, flow, prefix

ESTABLISHED = 6
TERMINAL, SAMPLE = 1, 2
AS_PATH, COMMUNITIES, REACH = 2, 16, 14


def command(host: str, port: int, *words: str) -> list[str]:
    return ["gobgp", "-u", host, "-p", str(port), *words, "-j"]


def monitor(host: str, port: int, family: int) -> list[str]:
    """The command that prints the routes of a family, first all, then changes."""
    return command(host, port, "monitor", "adj-in", "--current", "-a", f"ipv{family}-flowspec")


def events(line: str, family: int) -> Iterator[Event]:
    try:
        paths = json.loads(line)
    except ValueError:
        return
    for path in paths if isinstance(paths, list) else ():
        peer = path.get("neighbor-ip", "")
        parts = path.get("nlri", {}).get("value")
        if not isinstance(parts, list) or not peer or family_of(path, parts) not in (family, 0):
            continue                # the monitor tells other families and the speaker's own paths, too
        try:
            found = read(family, parts)
            told = Withdraw(peer, found) if path.get("withdrawal") else Announce(peer, found, attributes(path.get("attrs", ())))
        except (Invalid, ValueError, KeyError, TypeError) as error:
            told = Unreadable(peer, json.dumps(parts), str(error))
        yield told


def family_of(path: dict, parts: list[dict]) -> int:
    """0: the path does not tell, which only a withdrawal may do."""
    for part in parts:
        if part.get("type") in (DESTINATION, SOURCE):
            return 4 if "." in part["value"]["prefix"] and ":" not in part["value"]["prefix"] else 6
    return next((4 if one["afi"] == 1 else 6 for one in path.get("attrs", ()) if "afi" in one), 0)


def read(family: int, parts: list[dict]) -> Flow:
    found = []
    for part in parts:
        kind, value = part["type"], part["value"]
        if kind in (DESTINATION, SOURCE):
            found.append((kind, prefix(family, value["prefix"], part.get("offset", 0))))
        else:
            keep = AND | (NOT | MATCH if kind in BITS else LESS | GREATER | EQUAL)
            found.append((kind, tuple((one["op"] & keep & (~AND if not i else ~0), one["value"]) for i, one in enumerate(value))))
    return flow(family, found)


def attributes(given: list[dict]) -> Attributes:
    by_type = {one["type"]: one for one in given}
    segments = by_type.get(AS_PATH, {}).get("as_paths", ())
    nexthop = by_type.get(REACH, {}).get("nexthop", "")
    return Attributes(tuple(found for one in by_type.get(COMMUNITIES, {}).get("value", ()) if (found := action(one))),
                      "" if nexthop in ("0.0.0.0", "::") else nexthop,
                      tuple(number for segment in segments if segment["segment_type"] == 2 for number in segment["asns"]))


def action(one: dict) -> tuple[str, float | str] | None:
    kind = one.get("type"), one.get("subtype")
    if kind == (128, 6):
        return "rate", float(one["rate"])
    if kind == (128, 7):
        return "traffic-action", float(TERMINAL * one.get("terminal", False) | SAMPLE * one.get("sample", False))
    if kind in ((128, 8), (129, 8), (130, 8)):
        return "redirect", str(one["value"])
    if kind == (128, 9):
        return "mark", float(one["value"])
    octets = opaque(one.get("value"))
    if octets:              # GoBGP does not know this one: the octets behind the type
        return event.action(int.from_bytes(bytes([one["type"]]) + octets, "big"))
    return ("unknown", f"type {kind[0]}, subtype {kind[1]}") if kind[0] in (128, 129, 130) else None


def opaque(value: object) -> bytes:
    try:
        found = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except ValueError:
        found = b""
    return found if len(found) == 7 else b""


def sessions(text: str) -> Iterator[Session]:
    """From `gobgp neighbor -j`."""
    for one in json.loads(text) or ():
        state = one.get("state", {})
        peer = state.get("neighbor_address") or one.get("conf", {}).get("neighbor_address", "")
        yield Session(peer, state.get("session_state") == ESTABLISHED, one.get("transport", {}).get("local_address", ""),
                      one.get("conf", {}).get("local_asn", 0), state.get("peer_asn", 0))
