# SPDX-License-Identifier: BSD-3-Clause
"""Where events come from: ExaBGP on standard input, or commands of GoBGP."""
from __future__ import annotations

import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from kamuee.flowspec import exabgp, gobgp
from kamuee.flowspec.event import Event, Session
from kamuee.flowspec.setup import Setup

CHUNK = 1 << 20
AGAIN_S = 1.0       # between two starts of a command of GoBGP
ASK_S = 2.0         # for the state of its sessions
FAMILIES = (4, 6)


class Stream:
    """Whole lines of a pipe."""

    def __init__(self, name: object, pipe: BinaryIO, read: Callable[[str], Iterator[Event]]) -> None:
        self.name, self.pipe, self.read, self.rest, self.ended = name, pipe, read, b"", False

    def lines(self) -> list[str]:
        chunk = os.read(self.pipe.fileno(), CHUNK)
        self.ended = not chunk
        *whole, self.rest = (self.rest + chunk).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole]


class Source:
    """The base: streams that are read as they come."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self.log = log
        self.selector = selectors.DefaultSelector()
        self.ended = False
        self.quiet = True       # the last look found nothing

    def add(self, stream: Stream) -> None:
        self.selector.register(stream.pipe, selectors.EVENT_READ, stream)

    def drop(self, stream: Stream) -> None:
        self.selector.unregister(stream.pipe)

    def events(self, timeout_s: float) -> Iterator[Event]:
        yield from self.before()
        ready = self.selector.select(timeout_s)
        self.quiet = not ready
        for key, _ in ready:
            stream = key.data
            for line in stream.lines():
                yield from stream.read(line)
            if stream.ended:
                self.drop(stream)
                yield from self.at_end(stream)

    def before(self) -> Iterator[Event]:
        yield from ()

    def at_end(self, stream: Stream) -> Iterator[Event]:
        self.ended = True
        yield from ()

    def close(self) -> None:
        self.selector.close()


class ExaBGP(Source):
    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(log)
        self.add(Stream("exabgp", sys.stdin.buffer, exabgp.events))
        for family in FAMILIES:     # peers that are up send everything again
            print(f"announce route-refresh ipv{family} flow", flush=True)


class GoBGP(Source):
    def __init__(self, setup: Setup, log: Callable[[str], None]) -> None:
        super().__init__(log)
        self.setup = setup
        self.children: dict[object, subprocess.Popen[bytes]] = {}       # by family, or 'neighbor'
        self.after: dict[object, float] = {}
        self.answer: list[str] = []
        self.sessions: dict[str, Session] = {}
        self.reached = True
        self.ended_by_us: set[object] = set()

    def start(self, name: object, command: list[str], read: Callable[[str], Iterator[Event]]) -> None:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError as error:
            self.log(f"cannot run {command[0]}: {error}; install the package gobgpd")
            self.after[name] = time.monotonic() + 10 * AGAIN_S
            return
        assert child.stdout
        self.children[name] = child
        self.add(Stream(name, child.stdout, read))

    def before(self) -> Iterator[Event]:
        now = time.monotonic()
        host, port = self.setup.host, self.setup.port
        for family in FAMILIES:
            if family not in self.children and now >= self.after.get(family, 0):
                self.start(family, gobgp.monitor(host, port, family), lambda line, family=family: gobgp.events(line, family))
        if "neighbor" not in self.children and now >= self.after.get("neighbor", 0):
            self.answer = []
            self.start("neighbor", gobgp.command(host, port, "neighbor"), self.keep)
        yield from ()

    def keep(self, line: str) -> Iterator[Event]:
        self.answer.append(line)
        yield from ()

    def at_end(self, stream: Stream) -> Iterator[Event]:
        name = stream.name
        child = self.children.pop(name)
        stream.pipe.close()
        failed = child.wait() != 0
        self.after[name] = time.monotonic() + (ASK_S if name == "neighbor" else AGAIN_S)
        if name != "neighbor":
            if name in self.ended_by_us:
                self.ended_by_us.discard(name)
            else:                                   # it may have missed something: as if sessions began again
                self.sessions = {peer: session._replace(up=False) for peer, session in self.sessions.items()}
                yield from self.sessions.values()
            return
        told = list(gobgp.sessions("\n".join(self.answer + [stream.rest.decode()]))) if not failed else [
            session._replace(up=False) for session in self.sessions.values()]
        if failed == self.reached:
            self.reached = not failed
            self.log(f"gobgpd at {self.setup.host} port {self.setup.port} {'does not answer' if failed else 'answers'}")
        came = [session for session in told if session.up and not (session.peer in self.sessions and self.sessions[session.peer].up)]
        self.sessions.update((session.peer, session) for session in told)
        # This may be news after their routes: hear all again. What is withdrawn meanwhile is not told.
        yield from (session._replace(again=session in came) for session in told)
        for family in FAMILIES if came else ():
            if family in self.children:
                self.children[family].terminate()
                self.ended_by_us.add(family)

    def close(self) -> None:
        for child in self.children.values():
            child.terminate()
        for child in self.children.values():
            child.wait()
        super().close()


def source_of(setup: Setup, log: Callable[[str], None]) -> Source:
    return ExaBGP(log) if setup.speaker == "exabgp" else GoBGP(setup, log)
