# SPDX-License-Identifier: BSD-3-Clause
"""upgrade, show upgrade: another kamueed takes over from the running one (docs/features/upgrade.md)."""
from __future__ import annotations

import os
import time

from kamuee import render
from kamuee.context import Context
from kamuee.errors import DaemonError, Unreachable
from kamuee.grammar import Match
from kamuee.leaf import Leaf, pairs, table
from kamuee.render import Cell, Column, count, right
from kamuee.show_alarm import moment

POLL_S = 0.05
SILENT_S = 15               # nobody answers: neither the old one nor the new one
LIMIT_S = 300
ENDED = ("done", "failed")
SUMMARY = (Leaf("phase", label="status"), Leaf("time", label="begun", show=moment), Leaf("why", label="why"),
           Leaf("binary", label="binary"), Leaf("from", label="from version"), Leaf("to", label="to version"),
           Leaf("took", label="took", show=lambda ms: f"{ms} ms"),
           Leaf("audited", label="kernel routes compared", show=count), Leaf("lookups", label="lookups compared", show=count))


def blocked(us: int) -> Cell:
    return f"{us / 1000:.1f}"


PORTS = (Leaf("name", Column("Port")), Leaf("blocked", right("Blocked ms"), show=blocked),
         Leaf("discarded", right("Lost at most"), show=count))


def lines(context: Context, found: dict) -> None:
    if context.options.json:
        context.json(found)
        return
    if found["phase"] == "none":
        context.line("no upgrade since the start")
        return
    context.lines(render.fields(pairs(SUMMARY, found), context.room))
    if found.get("port"):
        context.lines(table(context, PORTS, found["port"]))


def show(context: Context, match: Match) -> None:
    lines(context, context.client.state("upgrade"))


def run(context: Context, match: Match) -> None:
    """Starts the upgrade, and follows it from the old kamueed to the new one."""
    binary = context.options.binary
    context.client.call("upgrade", binary=os.path.abspath(binary) if binary else None)
    found = wait(context)
    if found["phase"] != "done":
        raise DaemonError([f"not upgraded, the running kamueed goes on: {found.get('why', 'no reason known')}"])
    lines(context, found)


def wait(context: Context) -> dict:
    end, silent = time.monotonic() + LIMIT_S, time.monotonic() + SILENT_S
    while True:
        try:
            found = context.client.state("upgrade")
            silent = time.monotonic() + SILENT_S
            if found["phase"] in ENDED:
                return found
        except Unreachable:
            if time.monotonic() > silent:
                raise
        if time.monotonic() > end:
            raise DaemonError([f"the upgrade has not ended within {LIMIT_S} s: kamuee show upgrade"])
        time.sleep(POLL_S)
