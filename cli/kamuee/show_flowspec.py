# SPDX-License-Identifier: BSD-3-Clause
"""show flowspec: flow specifications of BGP peers, their rules, and what these have matched."""
from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from kamuee.context import Context
from kamuee.errors import NotFound
from kamuee.flowspec import state
from kamuee.flowspec.setup import FILE, STATE, load
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, count, right

PAGE = 10000
FLOW = (
    Leaf("peer", Column("Peer")),
    Leaf("flow", Column("Flow", wrap=True)),
    Leaf("action", Column("Action")),
    Leaf("packets", right("Packets"), show=count),
    Leaf("bytes", right("Bytes", wide=True), show=count),
    Leaf("status", Column("Status")),
    Leaf("rule", right("Rules", wide=True), show=lambda rules: count(len(rules))),
    Leaf("reason", Column("Reason", wide=True), show=lambda reason: reason or None),
)


def show(context: Context, match: Match) -> None:
    """show flowspec [peer ADDRESS] [unused]"""
    path = os.environ.get("KAMUEE_FLOWSPEC") or FILE
    table(context, load(path).state if os.path.exists(path) else STATE, match.args.get("ADDRESS"), "unused" in match.args)


def table(context: Context, path: str, peer: str | None, unused: bool) -> None:
    rows = list(routes(context, path, peer)) if os.path.exists(path) else []
    listing(context, FLOW, [row for row in rows if not unused or (row["status"] == "installed" and not row["packets"])],
            "no flow specifications")


def routes(context: Context, path: str, peer: str | None) -> Iterator[dict[str, Any]]:
    told = state.read(path)
    head = next(told, {})
    hits = {vr: matches(context, lists) for vr, lists in head.get("lists", {}).items()}
    for row in told:
        if peer and row["peer"] != peer:
            continue
        flow, attributes = state.parse(row)
        placed = range(row["first"], row["first"] + row["rules"]) if row["first"] is not None else range(0)
        found = [hits.get(row["vr"], {}).get(number, (0, 0)) for number in placed]
        yield {"vr": row["vr"], "peer": row["peer"], "flow": str(flow), "action": actions(attributes.actions),
               "status": "installed" if placed else row["why"] or "other-peer", "reason": row["reason"], "rule": list(placed),
               "packets": sum(packets for packets, _ in found), "bytes": sum(octets for _, octets in found),
               "age": int(time.time()) - row["since"]}


def matches(context: Context, lists: list[list]) -> dict[int, tuple[int, int]]:
    """(packets, bytes) of each rule in all lists, by its number behind the list's first."""
    found: dict[int, tuple[int, int]] = {}
    for name, first, last, _ in lists:
        at: int | None = first
        while at is not None and at <= last:
            try:
                page = context.client.call("acl-rules", name=name, limit=PAGE, **{"from": at})
            except NotFound:
                break
            for rule in page.get("rule", ()):
                before = found.get(rule["number"] - first, (0, 0))
                found[rule["number"] - first] = before[0] + rule["packets"], before[1] + rule["bytes"]
            at = page.get("next")
    return found


def actions(given: tuple[tuple[str, Any], ...]) -> str:
    words = []
    for name, value in given:
        if name in ("rate", "packets"):
            words.append("drop" if not value else f"rate {value:.0f} {'bytes' if name == 'rate' else 'packets'}/s")
        elif name == "traffic-action":
            words += ["sample"] * bool(int(value) & 2) + ["non-terminal"] * bool(int(value) & 1)
        elif name == "mark":
            words.append(f"mark {value:.0f}")
        else:
            words.append("redirect" + (f" {value}" if name in ("redirect", "address") else ""))
    return ", ".join(words) or "accept"
