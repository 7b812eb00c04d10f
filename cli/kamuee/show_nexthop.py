# SPDX-License-Identifier: BSD-3-Clause
"""show nexthop [ID], show nexthop-group [ID]"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee import render
from kamuee.context import Context
from kamuee.errors import DaemonError
from kamuee.grammar import Match
from kamuee.render import Column, count, percent, right, si
from kamuee.show_port import text

NEXTHOPS = (right("ID"), Column("Kind"), Column("Gateway", spill=True), Column("Interface"), Column("VR"), right("Used by"),
            right("Packets"), Column("MAC", wide=True), right("MTU", wide=True), Column("In use", wide=True))
MEMBERS = (right("ID"), Column("Gateway", spill=True), Column("Interface"), right("Weight"), right("Buckets"), right("Packets"),
           Column("Alive"), right("Share", wide=True))


def show(context: Context, match: Match) -> None:
    wanted = match.args.get("ID")
    found = context.client.one_or_all("nexthop", wanted, "next hop")
    if context.options.json:
        context.json(found)
    elif wanted:
        context.lines(in_full(context, found[0]))
    else:
        context.lines(render.table(NEXTHOPS, map(row, found), context.width, context.wide))


def groups(context: Context, match: Match) -> None:
    wanted = match.args.get("ID")
    found = [entry for entry in context.client.one_or_all("nexthop", wanted, "next hop") if entry["kind"] == "group"]
    if wanted and not found:
        raise DaemonError([f"next hop {wanted} is not a group; 'show nexthop-group' lists groups"])
    if context.options.json:
        context.json(found)
        return
    if not found:
        context.line("no next-hop groups")
    packets = given(context) if found else {}
    for i, entry in enumerate(found):
        context.lines([""] * (i > 0) + list(group(context, entry, packets)))


def given(context: Context) -> dict[int, int]:
    """Packets that groups gave each next hop."""
    return {entry["id"]: entry.get("packets", 0) for entry in context.client.entries("nexthop")}


def row(entry: dict) -> list[str | None]:
    members = entry.get("member")
    gateway = f"{len(members)} members" if members is not None else entry.get("gateway")
    return [text(entry, "id"), entry["kind"], gateway, entry.get("interface"), entry.get("vr"), count(entry.get("references")),
            si(entry.get("packets")), entry.get("mac"), text(entry, "mtu"), render.yes_no(entry.get("in-use"))]


def in_full(context: Context, entry: dict) -> Iterator[str]:
    if entry["kind"] == "group":
        yield from group(context, entry, given(context))
        return
    yield f"Next hop {entry['id']}"
    yield from render.fields([
        ("kind", entry["kind"]),
        ("gateway", entry.get("gateway")),
        ("interface", entry.get("interface")),
        ("virtual router", entry.get("vr")),
        ("MAC", entry.get("mac")),
        ("MTU", text(entry, "mtu")),
        ("used by", count(entry.get("references"))),
        ("in use", render.yes_no(entry.get("in-use"))),
        ("packets from groups", count(entry.get("packets"))),
        ("packets sent", count(entry.get("sent-packets"))),
        ("bytes sent", count(entry.get("sent-bytes"))),
    ], context.room)


def group(context: Context, entry: dict, packets: dict[int, int]) -> Iterator[str]:
    """The group, and a table of its members. A member's packets are those that all its groups gave it."""
    yield f"Next-hop group {entry['id']}"
    yield from render.fields([
        ("virtual router", entry.get("vr")),
        ("next-hop object", text(entry, "kernel-id")),
        ("used by", count(entry.get("references"))),
        ("buckets", count(entry.get("buckets"))),
    ], context.room)
    yield from render.table(MEMBERS, [
        [text(member, "nexthop"), member.get("gateway"), member.get("interface"), text(member, "weight"), count(member.get("buckets")),
         si(packets.get(member["nexthop"])), render.yes_no(member.get("alive")), percent(member.get("buckets", 0), entry.get("buckets", 0))]
        for member in entry.get("member", [])], context.width, context.wide)
