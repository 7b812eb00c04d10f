# SPDX-License-Identifier: BSD-3-Clause
"""show gpu, gpu reopen: the GPU that looks up for virtual routers and finds the rules of access lists, and whether that pays."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, pairs
from kamuee.render import count


def causes(entries: list[dict], unit: str = "lookups") -> str:
    return ", ".join(f"{entry['cause']} {count(entry[unit])}" for entry in entries if int(entry[unit])) or "none"


def packet_causes(entries: list[dict]) -> str:
    return causes(entries, "packets")


def microseconds(nanoseconds: int) -> str | None:
    return f"{nanoseconds / 1000:.1f} us" if nanoseconds else None


def mebibytes(octets: str) -> str:
    return f"{int(octets) / 2**20:.1f} MiB"


def cycles(entries: list[dict]) -> list[str] | None:
    return [f"forwarder {entry['forwarder']}: {entry['cpu-cycles']} by the CPU alone, {entry['gpu-cycles']} with the GPU" for entry in entries] or None


def lists(entries: list[dict]) -> list[str] | None:
    return [f"{entry['name']}: {state(entry)}" for entry in entries] or None


def state(entry: dict) -> str:
    if entry["status"] == "on":
        return f"on the device, {count(entry['rules'])} rules, {mebibytes(entry['memory'])}, {entry['tuples']} tuples"
    return f"on the CPU, {entry['why']}" if entry["status"] == "refused" else "on the CPU until the device has it"


GPU = (
    Leaf("name", None, "GPU"), Leaf("device", None, True), Leaf("status", None, True), Leaf("activity", None, "lookups now"),
    Leaf("list-activity", None, "access lists now"), Leaf("why", None, True), Leaf("vr", None, "virtual routers", show=", ".join),
    Leaf("tables", None, "tables mirrored"), Leaf("access-list", None, "access lists", show=lists),
    Leaf("memory", None, "device memory", show=mebibytes), Leaf("copied", None, "copied to it", show=mebibytes),
    Leaf("batches", None, True, show=count), Leaf("lookups", None, True, show=count),
    Leaf("by-cpu", None, "lookups by the CPU", show=causes), Leaf("sampled", None, "answers checked", show=count),
    Leaf("wrong", None, "wrong answers", show=count), Leaf("age-p50", None, "half are not older than", show=microseconds),
    Leaf("age-p99", None, "99 % are not older than", show=microseconds), Leaf("forwarder", None, "cycles of a lookup", show=cycles),
)
CLASSIFIED = (
    Leaf("packets", None, "classified", show=count), Leaf("by-cpu", None, "classified by the CPU", show=packet_causes),
    Leaf("forwarder", None, "cycles of a packet", show=cycles),
)


def show(context: Context, match: Match) -> None:
    entries = context.client.entries("gpu")
    if context.options.json:
        context.json(entries)
    elif not entries:
        context.line("no GPU; to use one: 'set gpu NAME device 0 vr default'")
    for entry in [] if context.options.json else entries:
        context.lines(render.fields(pairs(GPU, entry) + (pairs(CLASSIFIED, entry["classified"]) if entry["access-list"] else []), context.room, 0))


def reopen(context: Context, match: Match) -> None:
    """gpu reopen GPU"""
    context.client.call("gpu-reopen", name=match.args["GPU"])
