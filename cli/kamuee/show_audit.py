# SPDX-License-Identifier: BSD-3-Clause
"""show audit [vr VR], audit [vr VR]: do kernel, RIB and FIB agree?"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee import render
from kamuee.client import key
from kamuee.context import Context
from kamuee.errors import DaemonError, NotFound
from kamuee.grammar import Match
from kamuee.render import count, duration
from kamuee.show_route import no_vr


def show(context: Context, match: Match) -> None:
    vr = match.args.get("VR")
    try:
        found = context.client.state(f"audit={key(vr)}") if vr else context.client.entries("audit")
    except NotFound:
        raise no_vr(vr or "") from None
    if context.options.json:
        context.json(found)
        return
    for entry in found:
        context.line(f"Virtual router {entry['vr']}")
        context.lines(render.fields([
            ("audits", count(entry["audits"])),
            ("last", f"{duration(entry['ended'])} ago, took {entry['took'] / 1000:.2f} s"
             if "ended" in entry else "none yet"),
            ("longest pause", f"{entry['longest-pause'] / 1000:.1f} ms" if "ended" in entry else None),
            ("checked", looked_at(entry) if "ended" in entry else None),
            ("differed", count(entry["diverged"]) if "ended" in entry else None),
            ("fib divergence", f"{count(entry['fib-divergence'])} since the start"),
            ("not followed", count(entry.get("not-followed", 0))),
        ], context.room))
        context.lines(findings(entry))
        context.lines(unfollowed(entry))


def looked_at(entry: dict) -> str:
    return (f"{entry['checked']:,} kernel routes, {entry['prefixes']:,} FIB prefixes, "
            f"{entry['lookups']:,} lookups")


def findings(entry: dict) -> Iterator[str]:
    for finding in entry.get("finding", []):
        yield f"    {finding['prefix']}: {finding['what']}"


def not_followed(answer: dict) -> Iterator[str]:
    """Settings of Linux that affect forwarding and that kamueed does not follow."""
    for state in answer.get("kernel-state", []):
        yield f"not followed: {state['subject']} {state['attribute']}: {state['what']}"


def unfollowed(entry: dict) -> Iterator[str]:
    """Rules and routes of Linux that forwarding does not follow, and the effect on packets."""
    for kind in entry.get("unfollowed", []):
        more = f" and {kind['routes'] - 1:,} more" if kind["routes"] > 1 else ""
        yield f"    {kind['kind']}: {kind['example']}{more}"
        yield f"        {kind['effect']}"


def verdict(answer: dict) -> str:
    others = answer.get("not-followed", 0)
    said = f"{answer['checked']:,} routes checked: kernel, RIB and FIB agree"
    if not others:
        return said
    return f"{said}, but {others:,} of the kernel's rules and routes {'is' if others == 1 else 'are'} not followed:"


def audit(context: Context, match: Match) -> int:
    """audit [vr VR]; exit code 1 if something was repaired or is not followed."""
    answer = context.client.call("audit", vr=match.args.get("VR"))
    if "checked" not in answer:
        raise DaemonError(["kamueed did not report what it checked"])
    diverged = answer.get("diverged", 0)
    if context.options.json:
        context.json(answer)
    elif diverged:
        context.line(f"{diverged:,} of {answer['checked']:,} routes differed and were repaired; if this happens again, "
                     f"see "
                     "journalctl -u kamueed")
        context.lines(findings(answer))
        context.lines(unfollowed(answer))
    else:
        context.line(verdict(answer))
        context.lines(unfollowed(answer))
    if not context.options.json:
        context.lines(not_followed(answer))
    return 1 if diverged or answer.get("not-followed") else 0
