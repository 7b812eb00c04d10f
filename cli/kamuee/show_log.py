# SPDX-License-Identifier: BSD-3-Clause
"""show log: the end of kamueed's log, from the journal, or from its file where it has one, as in a lab."""
from __future__ import annotations

import os
import stat
import subprocess
from collections import deque

from kamuee import plain
from kamuee.context import Context
from kamuee.errors import KamueeError
from kamuee.grammar import Match

LINES = 1000
JOURNAL = ("journalctl", "-u", "kamueed", "-n", str(LINES), "--no-pager", "-o", "short-iso")


def show(context: Context, match: Match) -> None:
    """show log"""
    context.lines(file(context, LINES) or journal())


def file(context: Context, lines: int) -> list[str]:
    """The end of the file to which kamueed logs; empty: it logs elsewhere, or we may not read it."""
    try:
        with open(f"/proc/{context.client.state('system')['pid']}/fd/2", encoding="utf-8", errors="replace") as log:
            if stat.S_ISREG(os.fstat(log.fileno()).st_mode):
                return [line.rstrip("\n") for line in deque(log, lines)]
    except (KamueeError, OSError):
        pass
    return []


def journal() -> list[str]:
    try:
        done = subprocess.run(JOURNAL, capture_output=True, text=True, errors="replace", check=False)
    except OSError:
        raise KamueeError("journalctl is not installed, and kamueed does not log to a file that can be read here") from None
    if done.returncode or done.stdout.strip() in ("", "-- No entries --"):
        raise KamueeError(f"{done.stderr.strip() or 'the journal has no entries of kamueed'}; try: sudo journalctl -u kamueed")
    return plain.lines(done.stdout)
