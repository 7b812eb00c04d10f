# SPDX-License-Identifier: BSD-3-Clause
"""show [ipv4|ipv6] route [PREFIX|ADDRESS|longer-prefixes|protocol PROTOCOL|type TYPE|vr VR]… and its summary

The table streams row by row: a full one has 900,000 rows, and none are kept.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any

from kamuee import render
from kamuee.arguments import family_of
from kamuee.client import key
from kamuee.context import Context
from kamuee.errors import DaemonError, NotFound, UsageError
from kamuee.grammar import Match
from kamuee.render import Column, count, right

CODES = {"kernel": "K", "static": "S", "frr-static": "S", "bgp": "B", "ospf": "O", "rip": "R", "ripng": "R",
         "isis": "I", "babel": "a", "bird": "b", "zebra": "Z", "ra": "A", "dhcp": "D", "boot": "K"}
LEGEND = ("Codes: K kernel  C connected  L local  S static  B bgp  O ospf  R rip  I isis",
          "       a babel  b bird  Z zebra  A router advertisement  D dhcp  ? other",
          "       * in the FIB  - over budget  ! next hop not resolved  x not usable")


def show(context: Context, match: Match) -> None:
    args = match.args
    vr = args.get("VR", "default")
    query = {"protocol": args.get("PROTOCOL"), "type": args.get("TYPE"), **asked(args, families(match)[0])}
    rows = chain.from_iterable(found(context, vr, family, query) for family in families(match))
    if context.options.json:
        context.json_rows(rows)
    elif query.get("match") in ("exact", "longest"):
        context.lines(entries(rows, args.get("PREFIX") or args.get("ADDRESS"), context.room))
    else:
        first = list(islice(rows, 1))  # a refusal comes before the legend
        context.lines([*LEGEND, ""] if first else ["no routes"])
        for route in chain(first, rows):
            context.lines(listed(route, context.room))


def families(match: Match) -> list[str]:
    """The family in the command, or of its address; otherwise both."""
    word = match.args.get("PREFIX") or match.args.get("ADDRESS")
    if {"ipv4", "ipv6"} & match.args.keys():
        return [match.family]
    return [family_of(word.partition("/")[0]) or "ipv4"] if word else ["ipv4", "ipv6"]


def asked(args: dict[str, str], family: str) -> dict[str, str]:
    """The query for a prefix or an address, which must be of the family."""
    word = args.get("PREFIX") or args.get("ADDRESS")
    if "longer-prefixes" in args and "PREFIX" not in args:
        raise UsageError("longer-prefixes needs a prefix; try: show ipv4 route longer-prefixes 192.0.2.0/24")
    if "PREFIX" in args and "ADDRESS" in args:
        raise UsageError(f"expected a prefix or an address, not both: {args['PREFIX']}, {args['ADDRESS']}")
    if word is None:
        return {}
    if family_of(word.partition("/")[0]) != family:
        other = "ipv6" if family == "ipv4" else "ipv4"
        raise UsageError(f"{word} is not an {family.replace('ip', 'IP')} one; try: show {other} route {word}")
    if "ADDRESS" in args:
        return {"prefix": f"{word}/{32 if family == 'ipv4' else 128}", "match": "longest"}
    return {"prefix": word, "match": "longer" if "longer-prefixes" in args else "exact"}


def found(context: Context, vr: str, family: str, query: dict[str, str | None]) -> Iterator[Any]:
    """The routes; as JSON text if that is the output. They have no 64-bit numbers."""
    try:
        yield from context.client.rows(f"routes={key(vr, family)}", "route", query, raw=context.options.json)
    except NotFound:
        raise no_vr(vr) from None


def no_vr(vr: str) -> DaemonError:
    return DaemonError([f"there is no virtual router {vr}; 'show vr' lists them"])


def code(route: dict) -> str:
    by_type = {"local": "L", "broadcast": "L", "multicast": "L", "connected": "C"}
    return by_type.get(route.get("type", "")) or CODES.get(route.get("protocol", ""), "?")


def listed(route: dict, width: int) -> Iterator[str]:
    """One route as a line; members of a group on lines of their own."""
    head = f"{code(route)} {'*' if route.get('active') else '-' if route.get('over-budget') else ' '} {route['prefix']}"
    if route.get("metric"):
        head += f" metric {route['metric']}"
    if route.get("mtu"):
        head += f" mtu {route['mtu']}"
    if "imported-from" in route:
        head += f" of {route['imported-from']}"
    hops = [way(hop) for hop in route.get("hop", [])]
    what = purpose(route)
    if what or not hops:
        hops = [", ".join(filter(None, [what or route.get("type", ""), *hops]))]
    if max(len(head) + 1 + len(hop) for hop in hops) > width:
        yield head
        yield from (f"{'':8}{hop}" for hop in hops)
    else:
        yield f"{head} {hops[0]}"
        yield from (f"{'':{len(head)}} {hop}" for hop in hops[1:])


def purpose(route: dict) -> str:
    """The action of a route without a next hop."""
    kind = route.get("type", "unicast")
    if kind == "connected":
        return "is directly connected"
    if kind == "unicast":
        return "" if route.get("hop") else route.get("kind", "")
    return "is local" if kind == "local" else kind


def way(hop: dict, marks: bool = True) -> str:
    """via GATEWAY, INTERFACE, weight N, and the marks of the legend"""
    gateway, interface = hop.get("gateway"), hop.get("interface")
    parts = [f"via {gateway}" if gateway else "",
             f"{interface} (not an interface of kamueed)" if hop.get("foreign") else interface or ""]
    if "labels" in hop:
        parts.append(f"encap mpls {render.labels(hop['labels'])}")
    if hop.get("weight", 1) > 1:
        parts.append(f"weight {hop['weight']}")
    waits = gateway and hop.get("resolved") is False and not hop.get("foreign")
    mark = " x" if hop.get("alive") is False else " !" if waits else ""
    return ", ".join(filter(None, parts)) + mark * marks


def entries(rows: Iterator[dict], wanted: str, width: int) -> Iterator[str]:
    """Each route in full, as for one prefix or address."""
    some = False
    for route in rows:
        some = True
        yield f"Route {route['prefix']}"
        yield from render.fields([
            ("type", route.get("type")),
            ("protocol", route.get("protocol")),
            ("metric", str(route.get("metric", 0))),
            ("imported from", route.get("imported-from")),
            ("MTU", f"{route['mtu']}, or the interface's if smaller" if "mtu" in route else None),
            ("in the FIB", "no: beyond the virtual router's budget" if route.get("over-budget") else render.yes_no(bool(route.get("active")))),
            ("next hop", f"{route['nexthop']}, {route.get('kind', 'unknown')}" if "nexthop" in route else None),
        ], width)
        yield from ways(route)
    if not some:
        raise DaemonError([f"there is no route for {wanted}"])


def ways(route: dict) -> Iterator[str]:
    """Each hop, and whether it is usable."""
    for hop in route.get("hop", []):
        if hop.get("foreign"):
            yield f"    {way(hop, marks=False)}: packets are rejected"
            continue
        states = ("resolved" if hop.get("resolved") else "not resolved", "usable" if hop.get("alive") else "not usable")
        yield f"    {way(hop, marks=False)} ({', '.join(states)})"


def summary(context: Context, match: Match) -> None:
    """Numbers of routes, which the daemon counts."""
    vr, family = match.args.get("VR", "default"), match.family
    try:
        entry = context.client.state(f"vr={key(vr)}")[0]
    except NotFound:
        raise no_vr(vr) from None
    fib = next((fib for fib in entry.get("fib", []) if fib.get("family") == family), {"family": family})
    protocols = fib.get("protocol", [])
    if context.options.json:
        context.json({"vr": vr, "family": family, "rib-routes": fib.get("rib-routes", 0),
                      "routes": fib.get("routes", 0), "protocol": protocols})
        return
    context.line(f"{family.replace('ip', 'IP')} routes of virtual router {vr}")
    rows = [[entry["name"], count(entry["routes"])] for entry in protocols]
    rows += [["total in the RIB", count(fib.get("rib-routes", 0))],
             ["prefixes in the FIB", count(fib.get("routes", 0))]]
    context.lines(render.table((Column("Protocol"), right("Routes")), rows, context.width))
