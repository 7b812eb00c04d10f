# SPDX-License-Identifier: BSD-3-Clause
"""show fib [vr VR], show vr [VR]"""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, iec, right
from kamuee.show_port import text

FEW = 1000  # prefixes below which memory by prefix says nothing

FIB = (Column("VR"), Column("Family"), Column("Engine"), right("Prefixes"), right("Nodes", wide=True), right("Leaves", wide=True),
       right("Memory"), right("Shared"), right("B/prefix"), right("Control"), right("Updates", wide=True),
       right("RIB routes", wide=True), right("Faults", wide=True), right("Rebuilds", wide=True), Column("Memory by node", wide=True))
VR = (Column("VR"), Column("Namespace"), right("Table"), Column("Synced"), right("IPv4"), right("IPv6"),
      right("Next hops"), right("Neighbors"), right("Resyncs", wide=True), right("Messages", wide=True),
      right("Batches", wide=True), right("Overruns", wide=True), right("Swept", wide=True),
      right("Diverged", wide=True), right("Rules ignored", wide=True))


def show(context: Context, match: Match) -> None:
    fibs = [{"vr": vr["name"], **fib} for vr in context.client.one_or_all("vr", match.args.get("VR"), "virtual router") for fib in vr.get("fib", [])]
    if context.options.json:
        context.json(fibs)
    else:
        context.lines(render.table(FIB, map(fib_row, fibs), context.width, context.wide))


def fib_row(fib: dict) -> list[str | None]:
    routes, size = fib.get("routes"), fib.get("bytes")
    return [fib["vr"], fib["family"], fib.get("engine"), count(routes), count(fib.get("nodes")), count(fib.get("leaves")),
            iec(size), iec(fib.get("shared-bytes")), f"{size / routes:.1f}" if size and routes and routes >= FEW else None,
            iec(fib.get("control-bytes")), count(fib.get("updates")), count(fib.get("rib-routes")),
            *(count(fib.get(name)) for name in ("engine-faults", "engine-rebuilds")), by_node(fib)]


def by_node(fib: dict) -> str | None:
    """Where each memory node has a copy: "0: 2.7 MiB, 1: 2.7 MiB"."""
    return ", ".join(f"{copy['node']}: {iec(copy['bytes'])}" for copy in fib.get("memory-node", [])) or None


def vr(context: Context, match: Match) -> None:
    name = match.args.get("VR")
    routers = context.client.one_or_all("vr", name, "virtual router")
    if context.options.json:
        context.json(routers)
    elif name:
        context.line(f"Virtual router {name}")
        context.lines(render.fields(vr_details(routers[0]), context.room))
    else:
        context.lines(render.table(VR, map(vr_row, routers), context.width, context.wide))


def prefixes(router: dict) -> dict[str, int]:
    return {fib["family"]: fib.get("routes", 0) for fib in router.get("fib", [])}


def engines(router: dict) -> str:
    """One word, or one for each family where they differ."""
    return ", ".join(dict.fromkeys(fib["engine"] for fib in router.get("fib", []) if "engine" in fib))


def flow_hash(router: dict) -> str | None:
    """What chooses a member of a next-hop group: "l4 with flow label, seed 7"."""
    if "flow-hash" not in router:
        return None
    label = " with flow label" if router.get("flow-label") and router["flow-hash"] != "symmetric" else ""
    return f"{router['flow-hash']}{label}, seed {router.get('flow-hash-seed')}"


def vr_row(router: dict) -> list[str | None]:
    routes = prefixes(router)
    return [router["name"], router.get("namespace") or None, text(router, "table"),
            render.yes_no(router.get("synced")), count(routes.get("ipv4")), count(routes.get("ipv6")),
            count(router.get("nexthops")), count(router.get("neighbors")), count(router.get("resyncs")),
            *(count(router.get(name)) for name in ("messages", "batches", "overruns", "swept", "diverged", "rules-ignored"))]


def vr_details(router: dict) -> list[tuple[str, str | None]]:
    routes = prefixes(router)
    return [("namespace", router.get("namespace") or "kamueed's own"),
            ("kernel table", text(router, "table")),
            ("synced", render.yes_no(router.get("synced"))),
            ("FIB engine", engines(router)),
            ("flow hash", flow_hash(router)),
            ("IPv4 prefixes", count(routes.get("ipv4"))),
            ("IPv6 prefixes", count(routes.get("ipv6"))),
            ("next hops", count(router.get("nexthops"))),
            ("neighbors", count(router.get("neighbors"))),
            ("packets held", count(router.get("held"))),
            ("RIB memory", iec(router.get("rib-bytes"))),
            ("netlink messages", count(router.get("messages"))),
            ("batches", count(router.get("batches"))),
            ("overruns", count(router.get("overruns"))),
            ("resyncs", count(router.get("resyncs"))),
            ("routes swept", count(router.get("swept"))),
            ("routes diverged", count(router.get("diverged"))),
            ("rules ignored", count(router.get("rules-ignored"))),
            ("not followed", count(router.get("not-followed")))]
