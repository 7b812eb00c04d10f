# SPDX-License-Identifier: BSD-3-Clause
"""show mirror, show mirror-session: mirrors and what they have copied."""
from __future__ import annotations

from kamuee import render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, right

MIRRORS = (Column("Port"), Column("Frames"), Column("To"), right("Sent"), right("Bytes"), right("Missed"))

SESSIONS = (Column("Session"), *MIRRORS[2:])


def show(context: Context, match: Match) -> None:
    mirrors = context.client.entries("mirror")
    if context.options.json:
        context.json(mirrors)
    elif not mirrors:
        context.line("no port mirrors")
    else:
        context.lines(render.table(MIRRORS, map(row, mirrors), context.width, context.wide))


def sessions(context: Context, match: Match) -> None:
    found = context.client.entries("mirror-session")
    if context.options.json:
        context.json(found)
    elif not found:
        context.line("no mirror sessions")
    else:
        context.lines(render.table(SESSIONS, ([entry["name"], *done(entry)] for entry in found), context.width, context.wide))


def done(entry: dict) -> list[str | None]:
    to = f"tap {entry['to-tap']}" if "to-tap" in entry else f"port {entry.get('to-port')}"
    return [to, *(count(entry.get(name)) for name in ("sent", "bytes", "missed"))]


def row(entry: dict) -> list[str | None]:
    return [entry["port"], entry["direction"], *done(entry)]
