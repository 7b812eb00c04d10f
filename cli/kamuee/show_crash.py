# SPDX-License-Identifier: BSD-3-Clause
"""show crash: crashes of earlier processes of kamueed."""
from __future__ import annotations

import os

from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, listing
from kamuee.render import Column
from kamuee.show_alarm import moment

CRASH = (Leaf("time", Column("Time"), show=moment), Leaf("signal", Column("Signal")), Leaf("thread", Column("Thread")),
         Leaf("stage", Column("Stage")), Leaf("file", Column("Note"), show=os.path.basename))


def show(context: Context, match: Match) -> None:
    listing(context, CRASH, context.client.entries("crash"), "no crashes")
