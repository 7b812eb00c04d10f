# SPDX-License-Identifier: BSD-3-Clause
"""show lag [LAG]: LAGs, and which members are in use."""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, table
from kamuee.render import Column

NONE = "no LAG; 'set port lag0 lag member PORT' configures one"
MEMBER = (  # with the name, status and mode of its LAG
    Leaf("lag", Column("LAG"), show=lambda lag: lag["name"]),
    Leaf("lag", Column("Status"), show=lambda lag: lag.get("status")),
    Leaf("lag", Column("Mode"), show=lambda lag: lag.get("mode")),
    Leaf("name", Column("Member")),
    Leaf("status", Column("State")),
    Leaf("lacp", Column("LACP"), show=lambda lacp: lacp.get("mux")),
    Leaf("lacp", Column("Partner"), show=lambda lacp: lacp.get("partner", {}).get("system")),
    Leaf("reason", Column("Why")),
)


def show(context: Context, match: Match) -> None:
    lags = context.client.one_or_all("lag", match.args.get("PORT"), "LAG")
    if context.options.json:
        context.json(lags)
    else:
        members = [{**member, "lag": lag} for lag in lags for member in lag.get("member", [])]
        context.lines(table(context, MEMBER, members, NONE))
