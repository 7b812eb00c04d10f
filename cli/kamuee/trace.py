# SPDX-License-Identifier: BSD-3-Clause
"""trace in INTERFACE …: the path of real packets, printed as they pass."""
from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from kamuee import packet_trace, stream
from kamuee.client import plain
from kamuee.context import Context
from kamuee.errors import DaemonError
from kamuee.grammar import Match


def run(context: Context, match: Match) -> int:
    given = {leaf: int(match.args[name], 0) for name, leaf in (("TRACED", "count"), ("SECONDS", "seconds"))
             if name in match.args}
    answer = context.client.stream("trace", interface=match.args["INTERFACE"], filter=match.args.get("EXPRESSION"),
                                   **given)
    answer.wait_forever()
    try:
        if context.options.json:
            context.json_rows(json.dumps(row, ensure_ascii=False) for row in rows(answer.body))
            return 0
        number = 0
        for number, row in enumerate(rows(answer.body), 1):
            context.lines(text(number, row, context.room))
            sys.stdout.flush()
        if not number:
            context.line("no matching packet was received")
    finally:
        answer.close()
    return 0


def rows(body: Iterator[bytes]) -> Iterator[dict]:
    try:
        yield from map(plain, stream.rows(body, "passage"))
    except stream.Broken as broken:
        raise DaemonError([f"the trace was cut off: {broken}"]) from None


def text(number: int, row: dict, width: int) -> Iterator[str]:
    if number > 1:
        yield ""
    yield f"{number}. {row['time'].replace('T', ' ').rstrip('Z')} UTC"
    yield from packet_trace.told(row, width)
