# SPDX-License-Identifier: BSD-3-Clause
"""The context of a command: the client, the options, and where its lines go."""
from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kamuee import plain
from kamuee.client import Client
from kamuee.output import Sink, Writer

NARROW = 80
TELLS_AFTER_S = 1
LONG = {"configure": "commits", "edit": "reads", "compare": "compares", "configuration": "prints"}  # the work of kamueed
UNLIMITED = 100_000


@dataclass
class Options:
    """Options of a line; they may stand anywhere in it."""

    json: bool = False
    wide: bool = False
    check: bool = False
    once: bool = False
    interval: float = 1.0
    confirmed: int | None = None  # minutes
    comment: str | None = None
    yes: bool = False
    binary: str | None = None


class Waiting(NamedTuple):
    """A commit that is rolled back unless it is confirmed."""

    revision: int
    until: float  # of time.monotonic()

    @property
    def seconds(self) -> int:
        """Seconds until the rollback; below 0: it has happened."""
        return int(self.until - time.monotonic())


@dataclass
class Editing:
    """The state of configure mode, shared by all lines of an interactive session or a script."""

    session: int | None = None  # of the daemon; None: not editing
    changed: bool = False
    waits: Waiting | None = None  # our commit that waits to be confirmed


@dataclass
class Context:
    client: Client
    options: Options = field(default_factory=Options)
    sink: Sink = field(default_factory=Writer)
    width: int = NARROW
    interactive: bool = False
    editing: Editing = field(default_factory=Editing)
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def wide(self) -> bool:
        return self.options.wide

    @property
    def room(self) -> int:
        """Columns available for output."""
        return UNLIMITED if self.options.wide else self.width

    def line(self, text: str = "") -> None:
        self.sink.line(text)

    def lines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.sink.line(text)

    def agrees(self, question: str) -> bool:
        """Asks the person at the terminal; without a terminal the answer is no."""
        if not sys.stdin.isatty():
            return False
        sys.stdout.flush()
        sys.stderr.write(f"{plain.text(question)} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def progress(self, text: str) -> None:
        """Shows a line on the terminal that the next one replaces; "" removes it."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{plain.line(text)}")
            sys.stderr.flush()

    def call(self, operation: str, /, **given: Any) -> dict:
        """Calls an operation that may take long; after a second a terminal shows a line, until it is over."""
        if operation not in LONG or not sys.stderr.isatty():
            return self.client.call(operation, **given)
        import threading                                # not for the others: it takes time to load
        over = threading.Event()
        telling = threading.Thread(target=self._tell, args=(LONG[operation], over), daemon=True)
        telling.start()
        try:
            return self.client.call(operation, **given)
        finally:
            over.set()
            telling.join()

    def _tell(self, what: str, over: Any) -> None:
        begun = time.monotonic()
        told = False
        while not over.wait(TELLS_AFTER_S):
            self.progress(f"kamueed {what}: {time.monotonic() - begun:.0f} s")
            told = True
        if told:
            self.progress("")

    def json(self, value: Any) -> None:
        for text in json.dumps(value, indent=2, ensure_ascii=False).split("\n"):
            self.sink.line(text)

    def json_rows(self, rows: Iterable[str]) -> None:
        """An array of rows that are JSON already, one per line, written as they arrive."""
        held = None
        self.line("[")
        for row in rows:
            if held is not None:
                self.sink.line(held + ",")
            held = row
        if held is not None:
            self.sink.line(held)
        self.line("]")


def terminal_width() -> int:
    """Columns of the terminal; 80 when the output is none."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or NARROW
    except (OSError, ValueError):
        return NARROW
