# SPDX-License-Identifier: BSD-3-Clause
"""show ipv4|ipv6 route PREFIX|ADDRESS at TIME, show route changes, show journal: earlier routes of the FIB"""
from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from kamuee import render
from kamuee.context import Context
from kamuee.errors import DaemonError
from kamuee.grammar import Match
from kamuee.moment import ago, duration, told
from kamuee.render import count
from kamuee.show_route import asked, way

DEFAULT_LAST = timedelta(minutes=10)


def at(context: Context, match: Match) -> int:
    """The route at that time; exit code 1 if there was none, or it is not known."""
    args = match.args
    asked(args, match.family)  # refuses another family
    found = context.client.call("route-at", vr=args.get("VR"), address=args.get("ADDRESS"), prefix=args.get("PREFIX"),
                                ago=ago(args["TIME"], datetime.now().astimezone()))
    if context.options.json:
        context.json(found)
        return 0 if "prefix" in found else 1
    wanted = args.get("ADDRESS") or args["PREFIX"]
    if not found["known"]:
        starts = f": it starts at {told(found['since'])}" if "since" in found else ""
        raise DaemonError([f"the journal does not go back to {told(found['time'])}{starts}"])
    if "prefix" not in found:
        raise DaemonError([f"there was no route for {wanted} at {told(found['time'])}"])
    context.line(f"Route {found['prefix']}")
    context.lines(render.fields([("at", told(found["time"])), ("protocol", found["protocol"]),
                                 ("next hop", f"{found['nexthop']}, {found['kind']}")], context.room))
    context.lines(f"    {hop}" for hop in legs(found))
    return 0


def milliseconds(time: timedelta) -> str:
    return str(time // timedelta(milliseconds=1))


def legs(entry: dict) -> list[str]:
    found = [way(hop, marks=False) for hop in entry.get("hop", [])]
    return found + [f"and {entry['more-hops']} more"] if "more-hops" in entry else found


def changes(context: Context, match: Match) -> None:
    """show route changes [last DURATION] [prefix PREFIX [longer]] [vr VR]"""
    args = match.args
    last = duration(args["DURATION"]) if "DURATION" in args else DEFAULT_LAST
    assert last is not None  # the grammar has looked at it
    found = context.client.call("route-changes", vr=args.get("VR"), prefix=args.get("PREFIX"),
                                longer=True if "longer" in args else None, ago=milliseconds(last))
    if context.options.json:
        context.json(found)
        return
    rows = found.get("change", [])
    for change in reversed(rows):  # they come newest first
        context.lines(told_change(change, context.room, "VR" in args))
    if not rows:
        context.line("no route changes in the FIB")
    if found.get("cut"):
        context.line(f"only the newest {count(len(rows))} changes: ask for a shorter time or one prefix")
    elif not found.get("complete"):
        # A client of one virtual router does not learn the start time.
        context.line(f"the journal starts at {told(found['since'])}" if "since" in found else
                     "the journal does not go back that far")


def told_change(change: dict[str, Any], width: int, one_vr: bool) -> Iterator[str]:
    was, now = change.get("from"), change.get("to")
    what = "changed" if was and now else "added" if now else "removed"
    name = change.get("prefix") or f"next hop {(now or was or {}).get('nexthop')}"
    where = "" if one_vr or change["vr"] == "default" else f" in {change['vr']}"
    how = " -> ".join(words(entry, "prefix" in change) for entry in (was, now) if entry)
    yield from render.wrapped(f"{told(change['time'])} {name}{where} {what} by {change['cause']}: {how}", width, 0, 8)


def words(entry: dict, with_protocol: bool) -> str:
    """bgp via 192.0.2.1, p0; a group's legs with | between them."""
    hops = legs(entry)
    kind = "" if hops and entry["kind"] in ("adjacency", "group") else entry["kind"]
    protocol = entry["protocol"] if with_protocol and entry["protocol"] != "unspec" else ""
    return " ".join(filter(None, [protocol, kind, " | ".join(hops)]))


def journal(context: Context, match: Match) -> None:
    found = context.client.state("journal")
    if context.options.json:
        context.json(found)
        return
    if not found["size"]:
        context.line("off; to enable it: 'set journal size 64'")
        return
    context.lines(render.fields([
        ("memory", f"{found['size']} MiB, room for {count(found['room'])} changes"),
        ("kept", f"{count(found['records'])} of {count(found['changes'])} changes"),
        ("since", told(found["since"]) if "since" in found else None),
        ("ways", count(found["ways"])),
        ("without hops", count(found["ways-cut"]) if found["ways-cut"] else None),
    ], context.room, indent=0))
