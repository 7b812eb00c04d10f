# SPDX-License-Identifier: BSD-3-Clause
"""capture, show capture: frames from kamueed as pcapng, and running captures.

kamueed writes the pcapng; this passes each block on at once, so tcpdump or wireshark behind a pipe show frames as they
come. The capture ends with the connection: at Ctrl-C, when the reader of the pipe leaves, or when this program dies.
"""
from __future__ import annotations

import os
import select
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from kamuee import http
from kamuee.context import Context
from kamuee.errors import DaemonError, Unreachable, UsageError
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, count, right

POINTS = ("rx", "tx", "drop", "punt")
SNAPLEN = (64, 9728)
RUNNING = (
    Leaf("id", right("Id")),
    Leaf("client", Column("Client")),
    Leaf("point", Column("Frames at"), show=" ".join),
    Leaf("", Column("Of"), show=lambda entry: entry.get("port") or entry.get("interface") or entry.get("vr") or "all ports"),
    Leaf("filter", Column("Filter", wrap=True)),
    Leaf("snaplen", right("Bytes/frame", wide=True), show=count),
    Leaf("seconds", right("Seconds", wide=True), show=count),
    Leaf("sent", right("Sent"), show=count),
    Leaf("missed", right("Missed"), show=count),
)


def run(context: Context, match: Match) -> int:
    given = arguments(match)
    with target(match.args.get("FILE")) as file:
        answer = context.client.stream("capture", **given)
        frames = told(context, answer, file)
    print(frames, file=sys.stderr)
    return 0


def arguments(match: Match) -> dict:
    args = match.args
    snaplen = number(args.get("BYTES"), "snaplen", *SNAPLEN)
    return {"point": [point for point in POINTS if point in args] or None, "port": args.get("PORT"),
            "interface": args.get("INTERFACE"), "vr": args.get("VR"), "filter": args.get("EXPRESSION"),
            "count": number(args.get("COUNT"), "count", 1, (1 << 32) - 1), "snaplen": snaplen}


def number(text: str | None, what: str, least: int, most: int) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise UsageError(f"{what}: '{text}' is not valid, expected {least} to {most}")
    return int(text)


@contextmanager
def target(name: str | None) -> Iterator[BinaryIO]:
    """The destination of the frames."""
    if name in (None, "-"):
        if sys.stdout.isatty():
            raise UsageError("frames are binary: add 'write FILE', or 'write -' followed by '| tcpdump -n -r -'")
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    try:
        file = open(name, "wb")
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from None
    with file:
        yield file


class Counted:
    """Counts the frames of a pcapng stream as it passes, and the frames missed before each (epb_dropcount)."""

    PACKET, DROPPED = 6, 4

    def __init__(self) -> None:
        self.frames = self.missed = 0
        self.known = True  # it is pcapng
        self._rest = b""

    def take(self, data: bytes) -> None:
        self._rest += data
        while self.known and len(self._rest) >= 12:
            kind, length = struct.unpack_from("<II", self._rest)
            self.known = length >= 12 and length % 4 == 0
            if not self.known or len(self._rest) < length:
                return
            if kind == self.PACKET:
                self.frames += 1
                self.missed += self._dropped(self._rest[:length - 4])
            self._rest = self._rest[length:]

    def _dropped(self, block: bytes) -> int:
        at = 28 + (struct.unpack_from("<I", block, 20)[0] + 3) // 4 * 4
        while at + 4 <= len(block):
            code, length = struct.unpack_from("<HH", block, at)
            if code == self.DROPPED and length == 8:
                return struct.unpack_from("<Q", block, at + 4)[0]
            at += 4 + (length + 3) // 4 * 4
        return 0

    def __str__(self) -> str:
        return f"{self.frames} frames captured, {self.missed} missed" if self.known else "done"


def told(context: Context, answer: http.Answer, file: BinaryIO) -> str:
    """Passes the frames on to the end; returns their number."""
    left = threading.Event()
    answer.wait_forever()
    counted = Counted()
    threading.Thread(target=watch_reader, args=(file.fileno(), answer, left), daemon=True).start()
    try:
        for block in answer.body:
            file.write(block)
            file.flush()
            counted.take(block)
    except KeyboardInterrupt:
        return summary(context, answer, counted)
    except (BrokenPipeError, Unreachable):
        if not left.is_set():
            raise
        return summary(context, answer, counted)
    finally:
        answer.close()
    return str(counted)


def watch_reader(fd: int, answer: http.Answer, left: threading.Event) -> None:
    """Ends the capture when the reader of the pipe leaves, even without frames."""
    poll = select.poll()
    poll.register(fd, 0)
    if not is_pipe(fd):
        return
    poll.poll()
    left.set()
    answer.interrupt()


def is_pipe(fd: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:")
    except OSError:                                      # closed meanwhile
        return False


def summary(context: Context, answer: http.Answer, counted: Counted) -> str:
    """Frames that were passed on, and the others of kamueed's counts while the capture still runs."""
    try:
        found = context.client.state(f"capture={answer.headers.get('capture', '0')}")[0]
    except (DaemonError, Unreachable, LookupError):
        return str(counted)
    return f"{counted.frames} frames captured, {int(found['sent']) + int(found['missed']) - counted.frames} missed"


def show(context: Context, match: Match) -> None:
    listing(context, RUNNING, context.client.entries("capture"), "no capture is running")
