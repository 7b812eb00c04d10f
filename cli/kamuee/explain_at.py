# SPDX-License-Identifier: BSD-3-Clause
"""explain in INTERFACE … at TIME: how packets would have been forwarded then, one in full or those of a file as a table."""
from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from kamuee import frames, packet_trace, pcap, render
from kamuee.context import Context
from kamuee.errors import UsageError
from kamuee.explain import packet
from kamuee.grammar import Match
from kamuee.moment import ago, told

FRAMES_MAX, AT_ONCE = 10000, 64     # of a file; in one request
COLUMNS = (render.right("FRAME"), render.Column("PACKET"), render.Column("VERDICT", wrap=True))


def run(context: Context, match: Match) -> int:
    """Exit code 1 if something is not known of then."""
    args, now = match.args, datetime.now().astimezone()
    ago(args["TIME"], now)  # refuses a time that is none, before a file is read
    table = "FILE" in args and "FRAME" not in args
    found = together(context, args, list(described(args)) if table else [], now)
    unknown = found.get("unknown") or [reason for entry in found["packet"] for reason in entry.get("unknown", [])]
    if context.options.json:
        context.json(found)
    else:
        context.line(f"at {told(found['time'])}")
        context.lines(rows(found, context.room) if table else one(found, context.room))
        context.lines(line for part in found.get("unknown", []) for line in render.wrapped(f"not known: {part}", context.room, 0, 2))
        context.lines(line for part in found.get("as-now", [])
                      for line in render.wrapped(f"changed since, so as it is now: {part}", context.room, 0, 2))
    return int(bool(unknown))


def described(args: dict[str, str]) -> Iterator[str]:
    """Frames of the file."""
    try:
        with Path(args["FILE"]).open("rb") as file:
            yield from (data.hex() for data in islice(pcap.frames(file, args["FILE"]), FRAMES_MAX) if len(data) > 1)
    except OSError as error:
        raise UsageError(f"{args['FILE']}: {error.strerror}") from None


def together(context: Context, args: dict[str, str], hexes: list[str], now: datetime) -> dict[str, Any]:
    """The answer for all frames; for the described packet if there are none."""
    found: dict[str, Any] = {}
    for at in range(0, len(hexes) or 1, AT_ONCE):
        asked = {"frame": hexes[at:at + AT_ONCE]} if hexes else packet(args)
        if isinstance(asked.get("frame"), str):
            asked = {"frame": [asked["frame"]]}
        answer = context.client.call("explain-at", interface=args["INTERFACE"], ago=ago(args["TIME"], now), **asked)
        found = {**answer, "packet": found.get("packet", []) + answer.get("packet", [])}
        if "unknown" in answer:
            break
    return found


def one(found: dict[str, Any], width: int) -> Iterator[str]:
    for passage in found["packet"]:
        if "unknown" in passage:
            for part in passage["unknown"]:
                yield from render.wrapped(f"not known: {part}", width, 0, 2)
        else:
            yield from packet_trace.told(passage, width)


def rows(found: dict[str, Any], width: int) -> Iterator[str]:
    """A line for each frame."""
    return render.table(COLUMNS, [
        (str(n), ", ".join(frames.described(bytes.fromhex(passage["in"]["octets"]))[1:]) if "in" in passage else "?",
         "not known: " + "; ".join(passage["unknown"]) if "unknown" in passage else packet_trace.verdict(passage))
        for n, passage in enumerate(found["packet"], 1)], width)
