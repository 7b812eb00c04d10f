# SPDX-License-Identifier: BSD-3-Clause
"""show snmp, show sflow, show ipfix: who is told what, and how that goes."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import count


def snmp(context: Context, match: Match) -> None:
    found = context.client.state("snmp")
    if context.options.json:
        context.json(found)
    elif found["status"] == "off":
        context.line("SNMP is off: set snmp agentx SOCKET")
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
            ("refused", f"{count(found.get('set-refused'))} set, {count(found.get('errors'))} that could not be read"),
            ("notifications", f"{count(found.get('notifications'))} sent, {count(found.get('notifications-lost'))} lost"),
        ], context.room, indent=0))
