# SPDX-License-Identifier: BSD-3-Clause
"""show thread [statistics|stages|queues]

Load is the share of its cycles that a forwarder has spent on packets since the daemon started; `monitor` shows the load
of the last second. Cycles of a stage are per packet, from the timed bursts: one in 61.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, iec, right

STATE = (Column("Thread"), Column("Role"), right("Core"), right("Socket"), right("CPU time"), right("Load"),
         Column("Queues", wrap=True))
COUNTERS = (Column("Thread"), right("Rx packets"), right("Tx packets"), right("To kernel"),
            right("From kernel"), right("Drops"), right("Held", wide=True), right("Polls", wide=True),
            right("Idle polls", wide=True), right("Bursts", wide=True), right("Packets/burst", wide=True))
STAGES = (Column("Thread"), Column("Stage"), right("Cycles/packet"), right("Share"), right("Packets/call"),
          right("Timed calls", wide=True), right("Timed packets", wide=True))
QUEUES = (Column("Thread"), Column("Queue"), right("Rx packets"), right("Rx bytes"), right("Waiting"), right("Most"),
          Column("Rx mode"), Column("Remote"))


def show(context: Context, match: Match) -> None:
    threads = context.client.entries("thread")
    if context.options.json:
        context.json(threads)
    elif "statistics" in match.args:
        forwarders = [thread for thread in threads if thread.get("statistics")]
        context.lines(render.table(COUNTERS, map(counters, forwarders), context.width, context.wide))
    elif "stages" in match.args:
        context.lines(render.table(STAGES, chain.from_iterable(map(stages, threads)), context.width, context.wide,
                                   "no packets timed yet"))
        if sizes := list(bursts(threads, context.width)):
            context.lines(["", *sizes])
    elif "queues" in match.args:
        context.lines(render.table(QUEUES, chain.from_iterable(map(queues, threads)), context.width, context.wide,
                                   "no queues are polled: there are no ports"))
    else:
        context.lines(render.table(STATE, map(state, threads), context.width, context.wide))


def state(thread: dict) -> list[str | None]:
    core, seen = thread.get("core", -1), thread.get("statistics", {})
    busy, idle = seen.get("busy-cycles", 0), seen.get("idle-cycles", 0)
    cpu = thread.get("cpu-time")
    polled = " ".join(queue_name(queue) + (" (remote)" if queue.get("remote") else "")
                      for queue in thread.get("queue", []))
    return [thread["name"], thread.get("role"), "any" if core < 0 else str(core), socket(thread),
            None if cpu is None else f"{cpu / 1e9:.1f} s", render.percent(busy, busy + idle), polled or None]


def queue_name(queue: dict) -> str:
    return f"{queue['port']}/{queue['queue']}"


def socket(thread: dict) -> str | None:
    number = thread.get("socket", -1)
    return None if number < 0 else str(number)


def counters(thread: dict) -> list[str | None]:
    seen = thread["statistics"]
    bursts = seen.get("bursts", 0)
    return [thread["name"],
            *(count(seen.get(f"{name}-packets")) for name in ("rx", "tx", "punt", "inject", "drop", "held")),
            count(seen.get("polls")), count(seen.get("polls-idle")), count(bursts),
            f"{seen.get('rx-packets', 0) / bursts:.1f}" if bursts else None]


def stages(thread: dict) -> Iterator[list[str | None]]:
    """A row for each stage that a timed burst went through, and one for all of them: by received packet."""
    seen = [stage for stage in thread.get("stage", []) if stage.get("calls")]
    total = sum(stage["cycles"] for stage in seen)
    for stage in seen:
        yield [thread["name"], stage["name"], ratio(stage["cycles"], stage["packets"]),
               render.percent(stage["cycles"], total), ratio(stage["packets"], stage["calls"]), count(stage["calls"]),
               count(stage["packets"])]
    received = next((stage for stage in seen if stage["name"] == "rx"), None)
    if received:
        yield [thread["name"], "all", ratio(total, received["packets"]), render.percent(total, total),
               ratio(received["packets"], received["calls"]), count(received["calls"]), count(received["packets"])]


def bursts(threads: list[dict], width: int) -> Iterator[str]:
    """How many bursts there were of each size: what share of all of them."""
    forwarders = [thread for thread in threads if thread.get("burst-size")]
    if not forwarders:
        return
    starts = [entry["packets"] for entry in forwarders[0]["burst-size"]]
    ends = [following - 1 for following in starts[1:]] + [starts[-1]]
    titles = [str(first) if first == last else f"{first}-{last}" for first, last in zip(starts, ends)]
    rows = []
    for thread in forwarders:
        numbers = [entry["bursts"] for entry in thread["burst-size"]]
        rows.append([thread["name"], *(render.percent(n, sum(numbers)) for n in numbers)])
    yield from render.table((Column("Bursts of packets"), *map(right, titles)), rows, width)


def queues(thread: dict) -> Iterator[list[str | None]]:
    for queue in thread.get("queue", []):
        yield [thread["name"], queue_name(queue), count(queue.get("packets")), iec(queue.get("bytes")),
               count(queue.get("depth")), count(queue.get("depth-max")), queue.get("rx-mode"),
               render.yes_no(queue.get("remote"))]


def ratio(part: float, whole: float) -> str | None:
    return f"{part / whole:.1f}" if whole else None
