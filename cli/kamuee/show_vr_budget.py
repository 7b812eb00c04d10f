# SPDX-License-Identifier: BSD-3-Clause
"""The budget part of show vr VR: use of its budgets, and of the bandwidth and buffers of ports."""
from __future__ import annotations

from collections.abc import Iterator

from kamuee.context import Context
from kamuee.leaf import Leaf, table
from kamuee.render import Cell, Column, count, iec, right, si


def amount(leaf: str):
    """Bytes as KiB or MiB, all others as numbers with their unit in a column of its own."""
    def cell(budget: dict) -> Cell:
        value = budget.get(leaf)
        return None if value is None else iec(value) if budget["unit"] == "bytes" else count(value)
    return cell


def share(budget: dict) -> Cell:
    return f"{100 * budget['used'] // budget['limit']} %" if budget.get("limit") else None


def refused(budget: dict) -> Cell:
    """Prefixes that wait for space; neighbors that were refused."""
    found = budget.get("waiting") or budget.get("refused")
    return f"{count(found)} {'waiting' if budget.get('waiting') else 'refused'}" if found else None


BUDGET = (
    Leaf("name", Column("Budget")),
    Leaf("", right("Used"), show=amount("used")),
    Leaf("", right("Limit"), show=amount("limit")),
    Leaf("", right("Share"), show=share),
    Leaf("unit", Column("Unit"), show=lambda unit: None if unit == "bytes" else unit),
    Leaf("", Column("Beyond"), show=refused),
)
BANDWIDTH = (
    Leaf("port", Column("Port")),
    Leaf("rate", right("Rate"), show=si),
    Leaf("guarantee", right("Guarantee"), show=si),
    Leaf("maximum", right("Maximum"), show=si),
    Leaf("waiting-packets", right("Buffers held"), show=count),
    Leaf("waiting-bytes", right("Bytes"), show=count),
    Leaf("limit", right("Limit"), show=count),
    Leaf("reserve", right("Reserve"), show=count),
)


def bandwidth(context: Context, name: str) -> list[dict]:
    """Its share of each port with a queue."""
    return [{"port": queue["port"], **client} for queue in context.client.entries("queue")
            for client in queue.get("vr", []) if client["name"] == name]


def bill(context: Context, router: dict) -> Iterator[str]:
    if not router.get("budget"):
        return
    yield ""
    yield from table(context, BUDGET, router["budget"])
    if ports := bandwidth(context, router["name"]):
        yield ""
        yield from table(context, BANDWIDTH, ports)
