# SPDX-License-Identifier: BSD-3-Clause
"""test tap [INTERFACE]: kamueed opens sockets through its TAPs; exit code 1 if one does not work."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column

RESULTS = (Column("Interface"), Column("Family"), Column("Socket"), Column("Result", wrap=True))


def run(context: Context, match: Match) -> int:
    results = context.client.call("test-tap", interface=match.args.get("INTERFACE")).get("result", [])
    if context.options.json:
        context.json(results)
    elif not results:
        context.line("nothing to test: no interface has an address")
    else:
        context.lines(render.table(RESULTS, map(row, results), context.width, context.wide))
    return int(not all(entry["passed"] for entry in results))


def row(entry: dict) -> list[str | None]:
    return [entry["interface"], entry["family"], entry["socket"],
            "works" if entry["passed"] else f"failed: {entry.get('reason')}"]
