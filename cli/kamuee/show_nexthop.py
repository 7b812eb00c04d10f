# SPDX-License-Identifier: BSD-3-Clause
"""show nexthop [ID], show nexthop-group [ID]"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee.context import Context
from kamuee.errors import DaemonError
from kamuee.grammar import Match
from kamuee.leaf import Leaf, details, listing, table
from kamuee.render import Column, count, labels, percent, right, si, yes_no


def gateway(entry: dict) -> str | None:
    members = entry.get("member")
    return f"{len(members)} members" if members is not None else entry.get("gateway")


NEXTHOP = (  # in the order of the details
    Leaf("id", right("ID")),
    Leaf("kind", Column("Kind"), label=True, at=1),
    Leaf("", Column("Gateway", spill=True), show=gateway, at=2),
    Leaf("gateway", label=True),
    Leaf("labels", Column("Labels", wide=True), label=True, show=labels, at=8),
    Leaf("interface", Column("Interface"), label=True, at=3),
    Leaf("vr", Column("VR"), "virtual router", at=4),
    Leaf("mac", Column("MAC", wide=True), "MAC", at=7),
    Leaf("mtu", right("MTU", wide=True), "MTU", at=8),
    Leaf("references", right("Used by"), "used by", count, at=5),
    Leaf("in-use", Column("In use", wide=True), "in use", yes_no, at=9),
    Leaf("packets", right("Packets"), show=si, at=6),
    Leaf("packets", label="packets from groups", show=count),
    Leaf("sent-packets", label="packets sent", show=count),
    Leaf("sent-bytes", label="bytes sent", show=count),
)
GROUP = (
    Leaf("vr", label="virtual router"),
    Leaf("kernel-id", label="next-hop object"),
    Leaf("references", label="used by", show=count),
    Leaf("buckets", label=True, show=count),
)
MEMBER = (  # with its packets and its share
    Leaf("nexthop", right("ID")),
    Leaf("gateway", Column("Gateway", spill=True)),
    Leaf("interface", Column("Interface")),
    Leaf("labels", Column("Labels", wide=True), show=labels),
    Leaf("weight", right("Weight")),
    Leaf("buckets", right("Buckets"), show=count),
    Leaf("packets", right("Packets"), show=si),
    Leaf("alive", Column("Alive"), show=yes_no),
    Leaf("share", right("Share", wide=True)),
)


def show(context: Context, match: Match) -> None:
    wanted = match.args.get("ID")
    found = context.client.one_or_all("nexthop", wanted, "next hop")
    if wanted and not context.options.json:
        context.lines(in_full(context, found[0]))
    else:
        listing(context, NEXTHOP, found)


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


def in_full(context: Context, entry: dict) -> Iterator[str]:
    if entry["kind"] == "group":
        yield from group(context, entry, given(context))
        return
    yield f"Next hop {entry['id']}"
    yield from details(context, NEXTHOP, entry)


def group(context: Context, entry: dict, packets: dict[int, int]) -> Iterator[str]:
    """The group, and a table of its members. A member's packets are counted over all its groups."""
    yield f"Next-hop group {entry['id']}"
    yield from details(context, GROUP, entry)
    yield from table(context, MEMBER, [
        {**member, "packets": packets.get(member["nexthop"]),
         "share": percent(member.get("buckets", 0), entry.get("buckets", 0))} for member in entry.get("member", [])])
