# SPDX-License-Identifier: BSD-3-Clause
"""Tables and numbers for people, within 80 columns.

A table is columns and rows of cells. A cell is text; None prints as '-'. A column marked `wide` appears with -w only;
the one marked `wrap` takes the remaining width and breaks its text between words; a cell of a first column marked
`spill` that is too long gets a line of its own. Counters print exactly with thousands separated, rates with SI
prefixes, memory with IEC prefixes, as operators expect them.
"""
from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

Cell = str | None
GAP = 2
NARROWEST = 20


class Column(NamedTuple):
    title: str
    right: bool = False
    wide: bool = False
    wrap: bool = False
    spill: bool = False


def right(title: str, wide: bool = False) -> Column:
    """A column of numbers."""
    return Column(title, right=True, wide=wide)


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], width: int,
          wide: bool = False, none: str = "") -> Iterator[str]:
    """The lines of a table: the titles, then the rows. `none` is the sentence that stands for a table without rows."""
    rows = list(rows)
    if none and not rows:
        yield none
        return
    shown = [i for i, column in enumerate(columns) if wide or not column.wide]
    cells = [["-" if row[i] is None else row[i] for i in shown] for row in rows]
    heads = [columns[i] for i in shown]
    sizes = [max([len(head.title), *(len(row[k]) for row in cells)]) for k, head in enumerate(heads)]
    for k, head in enumerate(heads):
        if (head.wrap or head.spill) and not wide:
            others = sum(size + GAP for i, size in enumerate(sizes) if i != k)
            sizes[k] = min(sizes[k], max(width - others, NARROWEST))
    yield line([head.title for head in heads], heads, sizes)
    for row in cells:
        if heads[0].spill and len(row[0]) > sizes[0]:
            yield row[0]
            row[0] = ""
        broken = [textwrap.wrap(text, size, break_long_words=False, break_on_hyphens=False) or [""]
                  if head.wrap and len(text) > size else [text]
                  for text, head, size in zip(row, heads, sizes)]
        for n in range(max(map(len, broken), default=0)):
            yield line([part[n] if n < len(part) else "" for part in broken], heads, sizes)


def line(texts: Sequence[str], heads: Sequence[Column], sizes: Sequence[int]) -> str:
    return (" " * GAP).join(text.rjust(size) if head.right else text.ljust(size)
                            for text, head, size in zip(texts, heads, sizes)).rstrip()


def fields(pairs: Iterable[tuple[str, Cell | list[str]]], width: int = 80, indent: int = 2) -> Iterator[str]:
    """Name and value of one object, one line per value; names in one column, long values wrapped."""
    known = [(name, value) for name, value in pairs if value is not None]
    size = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        room = max(width - indent - size - GAP, NARROWEST)
        values = [value] if isinstance(value, str) else value
        first, *rest = [part for one in values for part in textwrap.wrap(one, room, break_long_words=False)] or [""]
        yield f"{'':{indent}}{name:{size}}  {first}".rstrip()
        yield from (f"{'':{indent + size + GAP}}{more}" for more in rest)


def count(n: int | None) -> Cell:
    """A counter, exactly: 1,234,567."""
    return None if n is None else f"{n:,}"


def scaled(x: float, step: int, units: Sequence[str]) -> str:
    size, unit = abs(x), 0
    while size >= step * 0.9995 and unit < len(units) - 1:
        size, x, unit = size / step, x / step, unit + 1
    if unit == 0:
        digits = 0 if size >= 10 or size == int(size) else 1
    else:
        digits = 2 if size < 9.995 else 1 if size < 99.95 else 0
    return f"{x:.{digits}f}{units[unit]}"


def si(x: float | None) -> Cell:
    """A rate with an SI prefix: 14.9M."""
    return None if x is None else scaled(x, 1000, ("", "k", "M", "G", "T", "P"))


def iec(n: int | None) -> Cell:
    """An amount of memory or traffic with an IEC prefix: 3.91 MiB."""
    return None if n is None else scaled(n, 1024, (" B", " KiB", " MiB", " GiB", " TiB", " PiB"))


def speed(mbps: int | None) -> Cell:
    """The speed of a link: 10G; None when unknown."""
    if not mbps:
        return None
    return f"{mbps / 1000:g}G" if mbps >= 1000 else f"{mbps}M"


def duration(seconds: int | float | None) -> Cell:
    """A duration: 4 d 03:02:01."""
    if seconds is None:
        return None
    days, rest = divmod(int(seconds), 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days} d {clock}" if days else clock


def ago(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else duration(seconds) or ""


def percent(part: float, whole: float) -> Cell:
    return f"{100 * part / whole:.1f}%" if whole > 0 else None


def labels(stack: Iterable[int]) -> str:
    """An MPLS label stack, as iproute2 writes it."""
    return "/".join(map(str, stack))


def yes_no(flag: bool | None) -> Cell:
    return None if flag is None else "yes" if flag else "no"


def wrapped(text: str, width: int, first: int, rest: int) -> Iterator[str]:
    """The text broken to the width, `first` blanks before it and `rest` before each line after."""
    yield from textwrap.wrap(text, width, initial_indent=" " * first, subsequent_indent=" " * rest,
                             break_long_words=False, break_on_hyphens=False)
