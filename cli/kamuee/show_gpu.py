# SPDX-License-Identifier: BSD-3-Clause
"""show gpu, gpu reopen: the GPU that looks up for virtual routers, and whether that pays."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, pairs
from kamuee.render import count


def causes(entries: list[dict]) -> str:
    return ", ".join(f"{entry['cause']} {count(entry['lookups'])}" for entry in entries if int(entry["lookups"])) or "none"


def microseconds(nanoseconds: int) -> str | None:
    return f"{nanoseconds / 1000:.1f} us" if nanoseconds else None


def mebibytes(octets: str) -> str:
    return f"{int(octets) / 2**20:.1f} MiB"


def cycles(entries: list[dict]) -> list[str] | None:
    return [f"forwarder {entry['forwarder']}: {entry['cpu-cycles']} by the CPU alone, {entry['gpu-cycles']} with the GPU" for entry in entries] or None


GPU = (
    Leaf("name", None, "GPU"), Leaf("device", None, True), Leaf("status", None, True), Leaf("activity", None, "lookups now"),
    Leaf("why", None, True), Leaf("vr", None, "virtual routers", show=", ".join),
    Leaf("tables", None, "tables mirrored"),
    Leaf("memory", None, "device memory", show=mebibytes), Leaf("copied", None, "copied to it", show=mebibytes),
    Leaf("batches", None, True, show=count), Leaf("lookups", None, True, show=count),
    Leaf("by-cpu", None, "lookups by the CPU", show=causes), Leaf("sampled", None, "answers checked", show=count),
    Leaf("wrong", None, "wrong answers", show=count), Leaf("age-p50", None, "half are not older than", show=microseconds),
    Leaf("age-p99", None, "99 % are not older than", show=microseconds), Leaf("forwarder", None, "cycles of a lookup", show=cycles),
)

def show(context: Context, match: Match) -> None:
    entries = context.client.entries("gpu")
    if context.options.json:
        context.json(entries)
    elif not entries:
        context.line("no GPU; to use one: 'set gpu NAME device 0 vr default'")
    for entry in [] if context.options.json else entries:
        context.lines(render.fields(pairs(GPU, entry), context.room, 0))


def reopen(context: Context, match: Match) -> None:
    """gpu reopen GPU"""
    context.client.call("gpu-reopen", name=match.args["GPU"])
