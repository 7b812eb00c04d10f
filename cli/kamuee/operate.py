# SPDX-License-Identifier: BSD-3-Clause
"""Operations: ports, lookup, shutdown."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.errors import DaemonError
from kamuee.grammar import Match
from kamuee.show_route import ways

PORT_DONE = {"detach": "detached", "start": "started", "stop": "stopped"}


def port_attach(context: Context, match: Match) -> None:
    name = match.args["NAME"]
    context.client.call("port-attach", name=name, devargs=match.args["DEVARGS"], namespace=match.args.get("NS"))
    context.line(f"port {name} attached")


def port(context: Context, match: Match) -> None:
    """port detach|start|stop PORT"""
    name, (verb,) = match.args["PORT"], PORT_DONE.keys() & match.args.keys()
    context.client.call(f"port-{verb}", name=name)
    context.line(f"port {name} {PORT_DONE[verb]}")


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


def clear_neighbor(context: Context, match: Match) -> None:
    """clear neighbor [interface INTERFACE] [address ADDRESS] [vr VR]"""
    args = match.args
    answer = context.client.call("clear-neighbor", interface=args.get("INTERFACE"), address=args.get("ADDRESS"),
                                 vr=args.get("VR"))
    n = answer.get("count", 0)
    context.line(f"{n or 'no'} neighbor{'s' * (n != 1)} cleared; they will be resolved again")


def shutdown(context: Context, match: Match) -> None:
    context.client.call("shutdown")
    context.line("kamueed is stopping; to start it again: systemctl start kamueed")


def web(context: Context, match: Match) -> None:
    """web: the page's address for a browser on this host, with its key."""
    found = context.client.call("web-address")
    if context.options.json:
        context.json({"url": found.get("url", [])})
        return
    if not found.get("url"):
        raise DaemonError(["the web page is off; to enable it: install kamuee-proxy, then kamuee set api proxy kamuee-proxy"])
    for url in found["url"]:
        context.line(url)
