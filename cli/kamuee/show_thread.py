# SPDX-License-Identifier: BSD-3-Clause
"""show thread [statistics]

Load is what share of its cycles a forwarder spent on packets, and what share of a core a manager
used, both since the daemon began to count; `monitor` shows the load of the last second.
"""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, right

STATE = (Column("Thread"), Column("Role"), right("Core"), right("CPU time"), right("Load"),
         Column("Queues", wrap=True))
COUNTERS = (Column("Thread"), right("Rx packets"), right("Tx packets"), right("To kernel"),
            right("From kernel"), right("Drops"), right("Held", wide=True), right("Polls", wide=True),
            right("Idle polls", wide=True), right("Bursts", wide=True), right("Packets/burst", wide=True))


def show(context: Context, match: Match) -> None:
    threads = context.client.entries("thread")
    if context.options.json:
        context.json(threads)
    elif "statistics" in match.args:
        forwarders = [thread for thread in threads if thread.get("statistics")]
        context.lines(render.table(COUNTERS, map(counters, forwarders), context.width, context.wide))
    else:
        context.lines(render.table(STATE, map(state, threads), context.width, context.wide))


def state(thread: dict) -> list[str | None]:
    core, seen = thread.get("core", -1), thread.get("statistics", {})
    busy, idle = seen.get("busy-cycles", 0), seen.get("idle-cycles", 0)
    cpu = thread.get("cpu-time")
    queues = " ".join(f"{queue['port']}/{queue['queue']}" for queue in thread.get("queue", []))
    return [thread["name"], thread.get("role"), "any" if core < 0 else str(core),
            None if cpu is None else f"{cpu / 1e9:.1f} s", render.percent(busy, busy + idle), queues or None]


def counters(thread: dict) -> list[str | None]:
    seen = thread["statistics"]
    bursts = seen.get("bursts", 0)
    return [thread["name"],
            *(count(seen.get(f"{name}-packets")) for name in ("rx", "tx", "punt", "inject", "drop", "held")),
            count(seen.get("polls")), count(seen.get("polls-idle")), count(bursts),
            f"{seen.get('rx-packets', 0) / bursts:.1f}" if bursts else None]
