# SPDX-License-Identifier: BSD-3-Clause
"""show snmp, show sflow, show ipfix: the sessions and collectors that get data, and their counters."""
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


def snmp(context: Context, match: Match) -> None:
    found = context.client.state("snmp")
    if context.options.json:
        context.json(found)
    elif found["status"] == "off":
        context.line("SNMP is off; to enable it: set snmp agentx SOCKET")
    else:
        asked = " ".join(f"{count(found.get(name))} {name}" for name in ("get", "get-next", "get-bulk"))
        context.lines(render.fields([
            ("session", found["status"]),
            ("agent at", found.get("master")),
            ("error", found.get("error")),
            ("sessions so far", count(found.get("sessions"))),
            ("subtrees", count(found.get("trees"))),
            ("asked", asked),
            ("answered", f"{count(found.get('variables'))} variables"),
            ("refused", f"{count(found.get('set-refused'))} set, {count(found.get('errors'))} malformed"),
            ("notifications",
             f"{count(found.get('notifications'))} sent, {count(found.get('notifications-lost'))} lost"),
        ], context.room, indent=0))


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
