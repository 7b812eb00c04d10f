# SPDX-License-Identifier: BSD-3-Clause
"""show ipv4|ipv6 mroute [vr VR]"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee import render
from kamuee.arguments import family_of
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import count

LEGEND = "Flags: S static  K kernel  F forwarded by the kernel (foreign output)"


def show(context: Context, match: Match) -> None:
    family = match.family
    state = context.client.state("multicast")
    vr = match.args.get("VR")
    routes = [route for route in state.get("route", []) if route["family"] == family and vr in (None, route["vr"])]
    if context.options.json:
        context.json(routes)
        return
    context.lines([LEGEND] if routes else ["no multicast routes"])
    for route in routes:
        context.lines(["", *entry(route, context.room)])
    joins = [join for join in state.get("join", []) if family_of(join["group"]) == family and vr in (None, join["vr"])]
    if joins:
        context.lines(["", "Joined by the host itself:",
                       *(f"  {join['group']} on {join['interface']}" for join in joins)])


def entry(route: dict, width: int) -> Iterator[str]:
    """One route as IOS shows it."""
    source = "*" if route["source"] == "any" else route["source"]
    flags = ("S" if route["origin"] == "static" else "K") + ("F" if route.get("by-kernel") else "")
    vr = "" if route["vr"] == "default" else f", virtual router {route['vr']}"
    yield f"({source}, {route['group']}), flags {flags}{vr}"
    yield f"  in   {route.get('input', '-')}"
    outputs = ", ".join(out["interface"] + (f" (ttl > {out['ttl']})" if out["ttl"] > 1 else "")
                        for out in route["output"])
    first, *rest = list(render.wrapped(outputs or "-", width, 7, 7))
    yield f"  out  {first.strip()}"
    yield from rest
    yield (f"  {count(route['packets'])} packets, {count(route['bytes'])} bytes, "
           f"{count(route['wrong-interface'])} on a wrong interface")
