# SPDX-License-Identifier: BSD-3-Clause
"""show program [PROGRAM], show program PROGRAM table TABLE: packet programs of virtual routers."""
from __future__ import annotations

from collections.abc import Iterable

from kamuee.context import Context
from kamuee.errors import KamueeError
from kamuee.grammar import Match
from kamuee.leaf import Leaf, details, listing, table
from kamuee.render import Column, count, right


def packets(name: str):
    """Packets with that verdict."""
    return lambda verdicts: next((count(entry["packets"]) for entry in verdicts if entry["name"] == name), "-")


def named(value: str):
    return lambda entries: listed((entry["name"], entry[value]) for entry in entries)


def listed(pairs: Iterable[tuple[str, int]]) -> str | None:
    return ", ".join(f"{name} {count(value)}" for name, value in pairs if value) or None


def hook(entry: dict) -> str:
    return entry.get("ether-type") or entry["hook"]


def status(entry: dict) -> str:
    return entry["status"] if entry["status"] == "running" else f"off: {entry['fault']}"


PROGRAM = (
    Leaf("name", Column("Program"), True), Leaf("vr", Column("VR"), True), Leaf("", Column("Hook"), "hook", show=hook),
    Leaf("order", right("Order", wide=True), True), Leaf("", Column("Status"), "status", show=status), Leaf("file", None, True),
    Leaf("packets", right("Packets"), True, show=count),
    Leaf("cycles", right("Cycles"), "cycles a packet"), Leaf("verdict", right("Dropped"), show=packets("drop")),
    Leaf("verdict", None, "verdicts", show=named("packets")), Leaf("reason", None, "reasons", show=named("packets")),
    Leaf("counter", None, "counters", show=named("value")), Leaf("faults", right("Faults"), True, show=count),
    Leaf("fault-packets", None, "packets after a fault", show=count), Leaf("no-way", None, "packets without a way", show=count),
    Leaf("loads", None, "times loaded"), Leaf("instructions", None, "instructions at most"), Leaf("window", None, "bytes seen"),
    Leaf("source-hash", None, "source"), Leaf("signer", None, "signed by"),
    Leaf("log", None, "says", show=lambda log: f"{log['number']}: {log['value']} ({log['lines']} lines)"),
)
TABLES = (
    Leaf("name", Column("Table")), Leaf("kind", Column("Kind")), Leaf("size", right("Size"), show=count), Leaf("used", right("Used"), show=count),
    Leaf("read-only", Column("Filled by"), show=lambda read_only: "operator" if read_only else "program and operator"),
)
ENTRIES = (Leaf("key", right("Key")), Leaf("value", right("Value")))


def show(context: Context, match: Match) -> None:
    name, entries = match.args.get("PROGRAM"), context.client.entries("program")
    if not name:
        listing(context, PROGRAM, entries, "no programs; to run one: 'program load NAME file FILE hook HOOK'")
        return
    found = [entry for entry in entries if entry["name"] == name]
    if not found:
        raise KamueeError(f"no program {name}: see show program")
    if context.options.json:
        context.json(found)
        return
    context.lines(details(context, PROGRAM, found[0], 0))
    if found[0].get("table"):
        context.line("")
        context.lines(table(context, TABLES, found[0]["table"]))


def entries(context: Context, match: Match) -> None:
    asked, rows, place = {"name": match.args["PROGRAM"], "table": match.args["TABLE"]}, [], None
    while place is None or place:
        answer = context.client.call("program-table", **asked, **({"place": str(place)} if place else {}))
        rows += answer.get("entry", [])
        place = answer.get("place", 0)
    listing(context, ENTRIES, rows, "the table is empty")
