# SPDX-License-Identifier: BSD-3-Clause
"""One Leaf for each leaf of the state that a command shows: its name, its column, its line in the details.

A Leaf without a name shows the whole entry. JSON needs none: it is what the daemon sends. Used by the show_*.py.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kamuee import render
from kamuee.context import Context
from kamuee.render import Cell, Column


class Leaf(NamedTuple):
    name: str
    column: Column | None = None  # of the table of all entries; None = not in it
    label: str | bool = ""        # in the details of one entry; True = the name, "" = not in them
    show: Callable[[Any], Cell | list[str]] = str
    at: int = 0                   # place of the column, where the details have another order

    def cell(self, entry: dict) -> Any:
        value = entry.get(self.name) if self.name else entry
        return None if value is None else self.show(value)


def words(values: Iterable[str]) -> Cell:
    return " ".join(values) or None


def given(text: str) -> Cell:
    """None for an empty text."""
    return text or None


def table(context: Context, leaves: Sequence[Leaf], entries: Iterable[dict], none: str = "") -> Iterator[str]:
    """The lines of a table. `none` is the sentence for a table without rows."""
    shown = sorted((leaf for leaf in leaves if leaf.column), key=lambda leaf: leaf.at)
    rows = [[leaf.cell(entry) for leaf in shown] for entry in entries]
    return render.table([leaf.column for leaf in shown], rows, context.width, context.wide, none)


def pairs(leaves: Sequence[Leaf], entry: dict) -> list[tuple[str, Any]]:
    """Label and value of each detail of one entry."""
    return [(leaf.name if leaf.label is True else leaf.label, leaf.cell(entry)) for leaf in leaves if leaf.label]


def details(context: Context, leaves: Sequence[Leaf], entry: dict, indent: int = 2) -> Iterator[str]:
    """The lines of one entry; those without a value are left out."""
    return render.fields(pairs(leaves, entry), context.room, indent)


def listing(context: Context, leaves: Sequence[Leaf], entries: list[dict], none: str = "") -> None:
    """Prints the entries, as JSON or as a table."""
    if context.options.json:
        context.json(entries)
    else:
        context.lines(table(context, leaves, entries, none))


def of_vr(entries: list[dict], vr: str | None) -> list[dict]:
    """The entries of one virtual router, or all."""
    return [entry for entry in entries if vr in (None, entry.get("vr"))]
