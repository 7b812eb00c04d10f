# SPDX-License-Identifier: BSD-3-Clause
"""show sflow, show ipfix: the collectors that get data, and their counters."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, table
from kamuee.render import Column, count, right

COLLECTOR = (
    Leaf("address", Column("Collector")),
    Leaf("port", right("Port")),
    Leaf("datagrams", right("Datagrams"), show=count),
    Leaf("bytes", right("Bytes", wide=True), show=count),
    Leaf("datagrams-lost", right("Lost"), show=count),
    Leaf("error", Column("Why")),
)


def sflow(context: Context, match: Match) -> None:
    sampled(context, "sflow", "sFlow", lambda found: [
        ("agent address", found.get("agent-address")),
        ("counter samples", count(found.get("counter-samples"))),
    ])


def ipfix(context: Context, match: Match) -> None:
    sampled(context, "ipfix", "IPFIX", lambda found: [
        ("samples without IP", count(found.get("samples-no-ip"))),
        ("flows now", f"{count(found.get('flows-now'))} of {count(found.get('flows-max'))}"),
        ("flows exported", count(found.get("flows"))),
        ("to make room", count(found.get("flows-no-room"))),
    ])


def sampled(context: Context, name: str, title: str, more) -> None:
    found = context.client.state(name)
    if context.options.json:
        context.json(found)
        return
    if found["status"] == "off":
        context.line(f"{title} is off; to enable it: set {name} collector ADDRESS, and set interface NAME {name} true")
        return
    context.lines(render.fields([
        ("sampled", f"one packet in {count(found.get('sample-rate'))}"),
        ("interfaces", " ".join(found.get("interface", [])) or f"none: set interface NAME {name} true"),
        ("samples", f"{count(found.get('samples'))}, {count(found.get('samples-missed'))} missed"),
        *more(found),
    ], context.room, indent=0))
    context.lines(["", *table(context, COLLECTOR, found.get("collector", []))])
