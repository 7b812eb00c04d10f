# SPDX-License-Identifier: BSD-3-Clause
"""show port-history [PORT]: traffic of each port by the minute, during the last hour."""
from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, right, si

MINUTES = (Column("Until"), Column("Port"), right("Rx pps"), right("Rx bps"), right("Tx pps"), right("Tx bps"),
           right("Missed"))
NONE = "nothing yet: port counters are recorded every 10 seconds"
EVERY_S = 60


def show(context: Context, match: Match) -> None:
    histories = context.client.one_or_all("port-history", match.args.get("PORT"), "port")
    if context.options.json:
        context.json(histories)
    else:
        rows = [row for history in histories for row in minutes(history)]
        context.lines(render.table(MINUTES, rows, context.width, context.wide, NONE))


def minutes(history: dict) -> Iterator[list[str | None]]:
    """The newest minute first, each from its last point back; the rest of an hour that is less than a minute is one row
    as well."""
    points, step = history["point"], max(1, EVERY_S // history["interval"])
    for last in range(len(points) - 1, 0, -step):
        yield row(history["name"], points[max(0, last - step)], points[last])


def row(port: str, was: dict, now: dict) -> list[str | None]:
    until = datetime.fromisoformat(now["time"])
    seconds = (until - datetime.fromisoformat(was["time"])).total_seconds()
    grown = {name: int(now[name]) - int(was[name]) for name in now if name != "time"}
    if seconds <= 0 or min(grown.values()) < 0:          # the counters began anew
        return [f"{until.astimezone():%H:%M:%S}", port, None, None, None, None, None]
    return [f"{until.astimezone():%H:%M:%S}", port, si(grown["rx-packets"] / seconds),
            si(8 * grown["rx-bytes"] / seconds),
            si(grown["tx-packets"] / seconds), si(8 * grown["tx-bytes"] / seconds), count(grown["rx-missed"])]
