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
from kamuee.leaf import Leaf, table, words
from kamuee.render import Column, count, iec, right


def load(thread: dict) -> str | None:
    seen = thread.get("statistics", {})
    busy, idle = seen.get("busy-cycles", 0), seen.get("idle-cycles", 0)
    return render.percent(busy, busy + idle)


def queue_name(queue: dict) -> str:
    return f"{queue['port']}/{queue['queue']}"


def ratio(part: float, whole: float) -> str | None:
    return f"{part / whole:.1f}" if whole else None


STATE = (
    Leaf("name", Column("Thread")),
    Leaf("role", Column("Role")),
    Leaf("", right("Core"), show=lambda thread: "any" if (core := thread.get("core", -1)) < 0 else str(core)),
    Leaf("socket", right("Socket"), show=lambda number: None if number < 0 else str(number)),
    Leaf("cpu-time", right("CPU time"), show=lambda time: f"{time / 1e9:.1f} s"),
    Leaf("", right("Load"), show=load),
    Leaf("queue", Column("Queues", wrap=True), show=lambda queues: words(
        queue_name(queue) + " (remote)" * bool(queue.get("remote")) for queue in queues)),
)
COUNTERS = (  # of the statistics, with the thread's name
    Leaf("name", Column("Thread")),
    *(Leaf(name, column, show=count) for name, column in (
        ("rx-packets", right("Rx packets")), ("tx-packets", right("Tx packets")), ("punt-packets", right("To kernel")),
        ("inject-packets", right("From kernel")), ("drop-packets", right("Drops")),
        ("held-packets", right("Held", wide=True)), ("polls", right("Polls", wide=True)),
        ("polls-idle", right("Idle polls", wide=True)))),
    Leaf("", right("Bursts", wide=True), show=lambda seen: count(seen.get("bursts", 0))),
    Leaf("", right("Packets/burst", wide=True),
         show=lambda seen: ratio(seen.get("rx-packets", 0), seen.get("bursts", 0))),
)
STAGES = (Column("Thread"), Column("Stage"), right("Cycles/packet"), right("Share"), right("Packets/call"),
          right("Timed calls", wide=True), right("Timed packets", wide=True))
QUEUES = (  # with the thread's name
    Leaf("thread", Column("Thread")),
    Leaf("", Column("Queue"), show=queue_name),
    Leaf("packets", right("Rx packets"), show=count),
    Leaf("bytes", right("Rx bytes"), show=iec),
    Leaf("depth", right("Waiting"), show=count),
    Leaf("depth-max", right("Most"), show=count),
    Leaf("rx-mode", Column("Rx mode")),
    Leaf("remote", Column("Remote"), show=render.yes_no),
)


def show(context: Context, match: Match) -> None:
    threads = context.client.entries("thread")
    if context.options.json:
        context.json(threads)
    elif "statistics" in match.args:
        context.lines(table(context, COUNTERS, [{"name": thread["name"], **thread["statistics"]}
                                                for thread in threads if thread.get("statistics")]))
    elif "stages" in match.args:
        context.lines(render.table(STAGES, chain.from_iterable(map(stages, threads)), context.width, context.wide,
                                   "no packets timed yet"))
        if sizes := list(bursts(threads, context.width)):
            context.lines(["", *sizes])
    elif "queues" in match.args:
        queues = [{"thread": thread["name"], **queue} for thread in threads for queue in thread.get("queue", [])]
        context.lines(table(context, QUEUES, queues, "no queues are polled: there are no ports"))
    else:
        context.lines(table(context, STATE, threads))


def stages(thread: dict) -> Iterator[list[str | None]]:
    """A row for each stage of the timed bursts, and one for all: per received packet."""
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
    """Bursts by size, with their share of all."""
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
