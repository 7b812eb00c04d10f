# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a virtual router in the order of RFC 8955, with numbers that leave room for more.

A flow has consecutive numbers, one for each of its rules. New flows go into the gap between their neighbors; if that is
too small, the neighbors around it move apart. Numbers count from 0; each list adds the first of its own.
"""
from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from kamuee.flowspec.flow import Flow, order

ROOMY = 8           # after neighbors have moved, there are so many numbers for each rule
FEW = 64            # changes that are made one by one


class Full(Exception):
    """There are fewer numbers than rules."""


@dataclass
class Entry:
    lines: list[str]
    first: int = -1     # -1: not placed
    gone: bool = False

    @property
    def end(self) -> int:
        return self.first + len(self.lines)


class Rules:
    def __init__(self, size: int) -> None:
        self.size = size
        self.entries: dict[Flow, Entry] = {}
        self.sorted: list[tuple[str, Entry]] = []
        self.count = 0
        self.gone: set[int] = set()
        self.fresh: dict[int, str] = {}

    def change(self, wanted: dict[Flow, list[str] | None]) -> None:
        """New rules of flows; None: the flow goes. Afterwards `gone` and `fresh` have what is not taken yet."""
        old, new, rules = [], {}, self.count
        for flow, lines in wanted.items():
            known = self.entries.get(flow)
            if lines == (known.lines if known else None):
                continue
            if known:
                old.append(flow)
                rules -= len(known.lines)
            if lines:
                new[flow] = Entry(lines)
                rules += len(lines)
        if rules > self.size:
            raise Full
        self.remove(old)
        self.add(new)

    def take(self) -> tuple[dict[int, str], set[int]]:
        """What has to be added and deleted since the last call."""
        fresh, gone = self.fresh, self.gone - self.fresh.keys()
        self.fresh, self.gone = {}, set()
        return fresh, gone

    def every(self) -> dict[int, str]:
        return {number: line for _, entry in self.sorted for number, line in self.numbered(entry)}

    def numbered(self, entry: Entry) -> Iterable[tuple[int, str]]:
        return zip(range(entry.first, entry.end), entry.lines)

    def head(self, number: int) -> int:
        """The first number of the flow that has the number."""
        low, high = 0, len(self.sorted)
        while low < high:
            middle = (low + high) // 2
            if self.at(middle).first <= number:
                low = middle + 1
            else:
                high = middle
        return self.at(low - 1).first

    def restore(self, known: dict[Flow, tuple[list[str], int]]) -> None:
        """Flows with the numbers that they had. Those whose numbers are not in order get others."""
        end = 0
        for key, flow in sorted([(order(flow), flow) for flow in known], key=itemgetter(0)):
            lines, first = known[flow]
            entry = Entry(lines, first if end <= first and first + len(lines) <= self.size else -1)
            end = entry.end if entry.first >= 0 else end
            self.entries[flow] = entry
            self.count += len(lines)
            self.sorted.append((key, entry))
        self.place_all(None)

    # --- inside ---

    def remove(self, flows: list[Flow]) -> None:
        for flow in flows:
            entry = self.entries.pop(flow)
            entry.gone = True
            self.count -= len(entry.lines)
            self.lift(entry)
        if len(flows) <= FEW:
            for flow in flows:
                del self.sorted[bisect.bisect_left(self.sorted, (order(flow),))]
        else:
            self.sorted = [item for item in self.sorted if not item[1].gone]

    def add(self, new: dict[Flow, Entry]) -> None:
        items = [(order(flow), entry) for flow, entry in new.items()]
        self.entries |= new
        self.count += sum(len(entry.lines) for entry in new.values())
        if len(items) <= FEW:
            for item in items:
                bisect.insort(self.sorted, item)
        else:
            self.sorted = sorted(self.sorted + items, key=itemgetter(0))
        self.place_all([bisect.bisect_left(self.sorted, (key,)) for key, _ in sorted(items, key=itemgetter(0))] if len(items) <= FEW else None)

    def place_all(self, where: Iterable[int] | None) -> None:
        """Those without a number; None: look for them everywhere."""
        for at in [at for at, (_, entry) in enumerate(self.sorted) if entry.first < 0] if where is None else where:
            if self.at(at).first < 0:           # none of its neighbors has given it one
                self.place(at, at + 1)

    def at(self, index: int) -> Entry:
        return self.sorted[index][1]

    def place(self, begin: int, end: int) -> None:
        """Gives numbers to those from begin to end, and moves neighbors if they must."""
        end, low, high, need = self.gap(begin, end)
        more = 1
        while need > high - low or (more > 1 and need * ROOMY > high - low and (begin, end) != (0, len(self.sorted))):
            begin, end, more = max(0, begin - more), min(len(self.sorted), end + more), more * 2
            end, low, high, need = self.gap(begin, end)
        moved = [self.at(i) for i in range(begin, end)]
        between = (high - low - need) // (len(moved) + 1)
        if more == 1:           # later neighbors more likely follow than precede
            between = min(between, max(1, self.size // (4 * (self.count + 1000))))
        for entry in moved:
            self.lift(entry)
        for entry in moved:
            low += between
            entry.first = low
            low = entry.end
            self.fresh.update(self.numbered(entry))

    def gap(self, begin: int, end: int) -> tuple[int, int, int, int]:
        """The end behind further ones without numbers, the numbers between the neighbors (from, to), and how many are needed."""
        low = self.at(begin - 1).end if begin else 0
        while end < len(self.sorted) and self.at(end).first < 0:
            end += 1
        high = self.at(end).first if end < len(self.sorted) else self.size
        return end, low, high, sum(len(self.at(i).lines) for i in range(begin, end))

    def lift(self, entry: Entry) -> None:
        for number in range(entry.first, entry.end) if entry.first >= 0 else ():
            if self.fresh.pop(number, None) is None:
                self.gone.add(number)
        entry.first = -1
