# SPDX-License-Identifier: BSD-3-Clause
"""show fib [vr VR], show vr [VR]"""
from __future__ import annotations

from collections.abc import Callable

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, details, given, listing
from kamuee.render import Cell, Column, count, iec, right, yes_no
from kamuee.show_vr_budget import bill

FEW = 1000  # prefixes below which memory by prefix says nothing


def by_prefix(fib: dict) -> Cell:
    routes, size = fib.get("routes"), fib.get("bytes")
    return f"{size / routes:.1f}" if size and routes and routes >= FEW else None


def by_node(copies: list[dict]) -> Cell:
    """Memory nodes with a copy: "0: 2.7 MiB, 1: 2.7 MiB"."""
    return ", ".join(f"{copy['node']}: {iec(copy['bytes'])}" for copy in copies) or None


FIB = (
    Leaf("vr", Column("VR")),
    Leaf("family", Column("Family")),
    Leaf("engine", Column("Engine")),
    Leaf("routes", right("Prefixes"), show=count),
    Leaf("nodes", right("Nodes", wide=True), show=count),
    Leaf("leaves", right("Leaves", wide=True), show=count),
    Leaf("bytes", right("Memory"), show=iec),
    Leaf("shared-bytes", right("Shared"), show=iec),
    Leaf("", right("B/prefix"), show=by_prefix),
    Leaf("control-bytes", right("Control"), show=iec),
    Leaf("updates", right("Updates", wide=True), show=count),
    Leaf("rib-routes", right("RIB routes", wide=True), show=count),
    Leaf("engine-faults", right("Faults", wide=True), show=count),
    Leaf("engine-rebuilds", right("Rebuilds", wide=True), show=count),
    Leaf("memory-node", Column("Memory by node", wide=True), show=by_node),
)


def show(context: Context, match: Match) -> None:
    routers = context.client.one_or_all("vr", match.args.get("VR"), "virtual router")
    listing(context, FIB, [{"vr": vr["name"], **fib} for vr in routers for fib in vr.get("fib", [])])


def prefixes(family: str) -> Callable[[dict], Cell]:
    """Shows the number of prefixes of the family."""
    return lambda router: next(
        (count(fib.get("routes", 0)) for fib in router.get("fib", []) if fib["family"] == family), None)


def engines(router: dict) -> str:
    """One word, or one per family if they differ."""
    return ", ".join(dict.fromkeys(fib["engine"] for fib in router.get("fib", []) if "engine" in fib))


def flow_hash(router: dict) -> Cell:
    """Hash that chooses a member of a next-hop group: "l4 with flow label, seed 7"."""
    if "flow-hash" not in router:
        return None
    label = " with flow label" if router.get("flow-label") and router["flow-hash"] != "symmetric" else ""
    return f"{router['flow-hash']}{label}, seed {router.get('flow-hash-seed')}"


def namespace(router: dict) -> str:
    made = " (made by kamueed)" if router.get("own-namespace") else ""
    return f"{router['namespace']}{made}" if "namespace" in router else "kamueed's own"


def routing_daemon(router: dict) -> Cell:
    """Its own daemon: "frr", and whether it runs."""
    if "routing-daemon" not in router:
        return None
    return router["routing-daemon"] + ("" if router.get("routing-daemon-runs") else " (does not run)")


def fib_memory(router: dict) -> Cell:
    """Of both FIBs, and the part shared with other virtual routers: stored once, counted by each."""
    fibs = [fib for fib in router.get("fib", []) if "bytes" in fib]
    size, shared = (sum(fib.get(leaf, 0) for fib in fibs) for leaf in ("bytes", "shared-bytes"))
    return f"{iec(size)}, {iec(shared)} of it shared" if shared else iec(size) if fibs else None


VR = (
    Leaf("name", Column("VR")),
    Leaf("description", label=True, show=given),
    Leaf("enabled", Column("Enabled", wide=True), label=True, show=yes_no),
    Leaf("namespace", Column("Namespace"), show=given),
    Leaf("", label="namespace", show=namespace),
    Leaf("", Column("Daemon", wide=True), "routing daemon", routing_daemon),
    Leaf("table", right("Table"), "kernel table"),
    Leaf("synced", Column("Synced"), label=True, show=yes_no),
    Leaf("", label="FIB engine", show=engines),
    Leaf("", label="flow hash", show=flow_hash),
    Leaf("", right("IPv4"), "IPv4 prefixes", prefixes("ipv4")),
    Leaf("", right("IPv6"), "IPv6 prefixes", prefixes("ipv6")),
    Leaf("nexthops", right("Next hops"), "next hops", count),
    Leaf("neighbors", right("Neighbors"), label=True, show=count),
    Leaf("mpls-labels", label="MPLS labels", show=count),
    Leaf("held", label="packets held", show=count),
    Leaf("rib-bytes", label="RIB memory", show=iec),
    Leaf("", label="FIB memory", show=fib_memory),
    Leaf("messages", right("Messages", wide=True), "netlink messages", count, at=2),
    Leaf("batches", right("Batches", wide=True), label=True, show=count, at=2),
    Leaf("overruns", right("Overruns", wide=True), label=True, show=count, at=2),
    Leaf("resyncs", right("Resyncs", wide=True), label=True, show=count, at=1),
    Leaf("swept", right("Swept", wide=True), "routes swept", count, at=2),
    Leaf("diverged", right("Diverged", wide=True), "routes diverged", count, at=2),
    Leaf("rules-ignored", right("Rules ignored", wide=True), "rules ignored", count, at=2),
    Leaf("not-followed", label="not followed", show=count),
)


def vr(context: Context, match: Match) -> None:
    name = match.args.get("VR")
    routers = context.client.one_or_all("vr", name, "virtual router")
    if name and not context.options.json:
        context.line(f"Virtual router {name}")
        context.lines(details(context, VR, routers[0]))
        context.lines(bill(context, routers[0]))
    else:
        listing(context, VR, routers)
