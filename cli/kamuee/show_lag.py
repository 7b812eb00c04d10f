# SPDX-License-Identifier: BSD-3-Clause
"""show lag [LAG]: LAGs, and which members are in use."""
from __future__ import annotations

from collections.abc import Iterator

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column

COLUMNS = (Column("LAG"), Column("Status"), Column("Mode"), Column("Member"), Column("State"), Column("LACP"), Column("Partner"), Column("Why"))
NONE = "no LAG; 'set port lag0 lag member PORT' configures one"


def show(context: Context, match: Match) -> None:
    lags = context.client.one_or_all("lag", match.args.get("PORT"), "LAG")
    if context.options.json:
        context.json(lags)
    else:
        context.lines(render.table(COLUMNS, [row for lag in lags for row in rows(lag)], context.width, context.wide, NONE))


def rows(lag: dict) -> Iterator[list[str | None]]:
    first = [lag["name"], lag.get("status"), lag.get("mode")]
    for member in lag.get("member", []):
        lacp = member.get("lacp", {})
        yield [*first, member["name"], member.get("status"), lacp.get("mux"), lacp.get("partner", {}).get("system"), member.get("reason")]
