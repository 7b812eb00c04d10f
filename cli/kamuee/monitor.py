# SPDX-License-Identifier: BSD-3-Clause
"""monitor: the router, live

    monitor             full screen, q quits
    monitor --once      two looks, an interval apart, as tables
    monitor -j          one JSON object a line and interval; with --once, one object

The screen stays while kamueed restarts: it says that it waits and goes on.
"""
from __future__ import annotations

import json
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kamuee import plain, render, sample
from kamuee.context import Context
from kamuee.errors import KamueeError, UsageError
from kamuee.grammar import Match
from kamuee.render import Column, right, si
from kamuee.show_latency import span
from kamuee.show_queue import wait

ENDS = (b"q", b"Q", b"\x03", b"\x04")


def run(context: Context, match: Match) -> None:
    if context.options.once:
        once(context)
    elif context.options.json:
        for found in samples(context):
            context.line(json.dumps(found))
            sys.stdout.flush()
    elif not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("monitor needs a terminal; in scripts: monitor --once -j")
    else:
        live(context)


def samples(context: Context) -> Iterator[dict]:
    before = sample.look(context.client, context.clock)
    while True:
        context.sleep(context.options.interval)
        after = sample.look(context.client, context.clock)
        yield sample.measured(before, after)
        before = after


def once(context: Context) -> None:
    found = next(samples(context))
    if context.options.json:
        context.json(found)
    else:
        context.lines(text(found, context.width))


def text(found: dict, width: int) -> Iterator[str]:
    """A sample as plain tables."""
    rates = ("rx-pps", "rx-bps", "tx-pps", "tx-bps", "drop-pps")
    yield from render.table(
        (Column("Port"), Column("Status"), right("Rx pps"), right("Rx bps"), right("Tx pps"), right("Tx bps"),
         right("Drops/s")),
        [[port["name"], port["status"], *(si(port[name]) for name in rates)] for port in found["port"]], width)
    if found["interface"]:
        yield ""
        yield from render.table(
            (Column("Interface"), Column("Status"), right("Rx pps"), right("Rx bps"), right("Tx pps"), right("Tx bps"),
             right("Drops/s")),
            [[one["name"], one["status"], *(si(one[name]) for name in rates)] for one in found["interface"]], width)
    yield ""
    yield from render.table(
        (Column("Thread"), right("Core"), right("Load"), right("pps"), right("Burst")),
        [[thread["name"], "any" if (thread["core"] or 0) < 0 else str(thread["core"]),
          None if thread["load"] is None else f"{100 * thread['load']:.1f}%", si(thread["pps"]),
          None if thread["burst"] is None else f"{thread['burst']:.1f}"]
         for thread in found["thread"]], width)
    yield ""
    yield from render.table(
        (Column("Table"), Column("Family"), right("Prefixes"), right("Memory"), right("Updates/s")),
        [[table["vr"], table["family"], render.count(table["routes"]), render.iec(table["bytes"]),
          si(table["updates-ps"])] for table in found["table"]], width)
    yield ""
    yield from render.table((Column("Control plane"), right("pps"), right("Drops/s"), right("Waiting")),
                            [[punt["class"], si(punt["pps"]), si(punt["drop-pps"]), render.count(punt["queued"])]
                             for punt in found["punt"]], width)
    if found["latency"]:
        yield ""
        yield from render.table((Column("In"), Column("Out"), right("Median"), right("99 %"), right("99.9 %")),
                                [[pair["input"], pair["output"],
                                  *(span(pair[name]) for name in ("median", "p99", "p999"))]
                                 for pair in found["latency"]], width)
    if found["queue"]:
        yield ""
        yield from render.table(
            (Column("Queue"), Column("Client"), right("bps"), right("Guarantee"), right("At most"), right("Waiting"),
             right("99 %"), right("Drops/s")),
            [[one["port"], one["client"], *(si(one[name]) for name in ("bps", "guarantee", "most")),
              render.count(one["waiting"]), wait(one["p99"]), si(one["drop-pps"])]
             for one in found["queue"]], width)
    if found["alarm"]:
        yield ""
        yield from render.table((Column("Severity"), Column("Alarm"), Column("Meaning", wrap=True)),
                                [[alarm["severity"], alarm["name"], alarm["message"]] for alarm in found["alarm"]],
                                width)
    if found["drop"]:
        yield ""
        yield from render.table((Column("Drops now"), right("/s"), Column("Meaning", wrap=True)),
                                [[drop["name"], si(drop["pps"]), drop["sentence"]] for drop in found["drop"]], width)
    yield ""
    yield f"held {found['held']:,}   imbalance {found['imbalance']:,}"


def live(context: Context) -> None:
    """The full screen until a key ends it."""
    from rich.console import Console
    from rich.live import Live

    from kamuee.screen import Trail, screen
    console, trail = Console(), Trail()
    before, shown, trouble = None, None, ""
    with interrupts() as interrupted, keyboard() as pressed, \
            Live(console=console, screen=True, auto_refresh=False) as display:
        wait = min(0.3, context.options.interval)  # the first rates come soon
        while not interrupted():
            try:
                after, trouble = sample.look(context.client, context.clock), ""
                if before:
                    shown = plain.data(sample.measured(before, after))
                    trail.add(shown)
                before = after
            except KamueeError as error:
                trouble = plain.shown(str(error).split("\n", maxsplit=1)[0])
            display.update(screen(shown, trail, trouble, console.width, console.height), refresh=True)
            if pressed(wait):
                return
            wait = context.options.interval if shown else wait
    raise KeyboardInterrupt


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Remembers Ctrl-C: inside a finalizer, Python only prints the exception and continues."""
    seen = False

    def remember(signal_number: int, frame: object) -> None:
        nonlocal seen
        seen = True
        raise KeyboardInterrupt

    kept = signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: seen
    finally:
        signal.signal(signal.SIGINT, kept)


@contextmanager
def keyboard() -> Iterator[Callable[[float], bool]]:
    """Keys one by one. Returns a function that waits for some seconds and says whether to end."""
    import termios
    import tty
    fd = sys.stdin.fileno()
    kept = termios.tcgetattr(fd)

    def pressed(seconds: float) -> bool:
        readable, _, _ = select.select([fd], [], [], seconds)
        return bool(readable) and os.read(fd, 1) in (*ENDS, b"")

    try:
        tty.setcbreak(fd)
        yield pressed
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, kept)
