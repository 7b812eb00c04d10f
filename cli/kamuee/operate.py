# SPDX-License-Identifier: BSD-3-Clause
"""Operations: ports, lookup, audit, shutdown."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.errors import DaemonError
from kamuee.grammar import Match
from kamuee.show_route import ways


def port_attach(context: Context, match: Match) -> None:
    name = match.args["NAME"]
    context.client.call("port-attach", name=name, devargs=match.args["DEVARGS"], namespace=match.args.get("NS"))
    context.line(f"port {name} attached")


def port_detach(context: Context, match: Match) -> None:
    port(context, match, "detach", "detached")


def port_start(context: Context, match: Match) -> None:
    port(context, match, "start", "started")


def port_stop(context: Context, match: Match) -> None:
    port(context, match, "stop", "stopped")


def port(context: Context, match: Match, verb: str, done: str) -> None:
    name = match.args["PORT"]
    context.client.call(f"port-{verb}", name=name)
    context.line(f"port {name} {done}")


def lookup(context: Context, match: Match) -> None:
    """lookup ADDRESS [vr VR]"""
    answer = context.client.call("lookup", vr=match.args.get("VR"), address=[match.args["ADDRESS"]])
    results = answer.get("result", [])
    if context.options.json:
        context.json(results)
        return
    for found in results:
        if "prefix" not in found:
            context.line(f"{found['address']}: no route")
            continue
        context.line(found["address"])
        context.lines(render.fields([
            ("prefix", found.get("prefix")),
            ("next hop", None if found.get("nexthop") is None else str(found["nexthop"])),
            ("kind", found.get("kind")),
            ("interface", found.get("interface")),
            ("gateway", found.get("gateway")),
        ], context.room))
        if len(found.get("hop", [])) > 1:
            context.lines(ways(found))


def audit(context: Context, match: Match) -> int:
    """audit [vr VR]; exit code 1 if something had to be healed."""
    answer = context.client.call("audit", vr=match.args.get("VR"))
    if "checked" not in answer:
        raise DaemonError(["kamueed did not say what it checked"])
    checked, diverged = answer["checked"], answer.get("diverged", 0)
    if context.options.json:
        context.json({"checked": checked, "diverged": diverged})
    elif diverged:
        context.line(f"{diverged:,} of {checked:,} routes differed and were healed; if that comes again, see "
                     "journalctl -u kamueed")
    else:
        context.line(f"{checked:,} routes checked: kernel, RIB and FIB agree")
    return 1 if diverged else 0


def shutdown(context: Context, match: Match) -> None:
    context.client.call("shutdown")
    context.line("kamueed stops")
