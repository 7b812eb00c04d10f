# SPDX-License-Identifier: BSD-3-Clause
"""clear counters: counters of the daemon only grow; people see what came after 'clear'."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.moment import told


def clear(context: Context, match: Match) -> None:
    """clear counters [interface [INTERFACE]|port [PORT]]"""
    of = next((word for word in ("interface", "port") if word in match.args), None)
    name = match.args.get("INTERFACE") or match.args.get("PORT")
    context.client.call("clear-counters", of=of, name=name)
    whose = f"{of} {name}" if name else f"all {of}s" if of else "all interfaces and ports"
    context.line(f"counters of {whose} cleared")


def grown(entry: dict) -> dict:
    """The statistics of an interface or port since they were cleared."""
    base = entry.get("cleared", {})
    return {name: max(value - base[name], 0) if name in base else value
            for name, value in entry.get("statistics", {}).items()}


def named_counters(entry: dict) -> dict:
    """The name of the entry and its grown() statistics."""
    return {"name": entry["name"], **grown(entry)}


def when(entry: dict) -> str | None:
    time = entry.get("cleared", {}).get("time")
    return time and told(time)[:19]


def note(entries: Iterable[dict]) -> Iterator[str]:
    """Lines below a table of counters: the cleared entries, and the times."""
    at: dict[str, list[str]] = {}
    for entry in entries:
        if time := when(entry):
            at.setdefault(time, []).append(entry["name"])
    if at:
        yield ""
    for time, names in at.items():
        yield f"counters cleared {time}: {' '.join(names)}"
