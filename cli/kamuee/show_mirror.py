# SPDX-License-Identifier: BSD-3-Clause
"""show mirror, show mirror-session: mirrors and their counts."""
from __future__ import annotations

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column, count, right


def destination(entry: dict) -> str:
    return f"tap {entry['to-tap']}" if "to-tap" in entry else f"port {entry.get('to-port')}"


COPIES = (
    Leaf("", Column("To"), show=destination),
    Leaf("sent", right("Sent"), show=count),
    Leaf("bytes", right("Bytes"), show=count),
    Leaf("missed", right("Missed"), show=count),
)
MIRROR = (Leaf("port", Column("Port")), Leaf("direction", Column("Frames")), *COPIES)
SESSION = (Leaf("name", Column("Session")), *COPIES)


def show(context: Context, match: Match) -> None:
    listing(context, MIRROR, context.client.entries("mirror"), "no port mirrors")


def sessions(context: Context, match: Match) -> None:
    listing(context, SESSION, context.client.entries("mirror-session"), "no mirror sessions")
