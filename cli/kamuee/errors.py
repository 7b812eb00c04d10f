# SPDX-License-Identifier: BSD-3-Clause
"""Errors, and the exit code with which the program ends.

Every message says what happened and, where it is not obvious, what to do.
"""
from __future__ import annotations

import os
import sys

from kamuee import plain

EXIT_OK = 0
EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 3
EXIT_INTERRUPTED = 130


class KamueeError(Exception):
    """An error to print as 'error: …' on one or several lines."""

    code = EXIT_ERROR


class DaemonError(KamueeError):
    """kamueed refused, or its answer does not match its schema."""

    def __init__(self, messages: list[str], tag: str = "") -> None:
        super().__init__("\n".join(messages))
        self.messages = messages
        self.tag = tag


class NotFound(DaemonError):
    """The requested object does not exist."""


class UsageError(KamueeError):
    """There is no such command."""

    code = EXIT_USAGE


class Unreachable(KamueeError):
    """There is no answer at the socket."""

    code = EXIT_UNREACHABLE


class Leave(Exception):
    """`exit` was typed."""


def reason(error: Exception) -> str:
    """The reason why a file could not be read or written, without its name and the error number."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def complain(error: KamueeError) -> None:
    """Prints the error. For a terminal, breaks a line of expected words between them; a line with a command to copy
    stays whole."""
    import textwrap
    sys.stdout.flush()
    room = None
    if sys.stderr.isatty():
        room = max(os.get_terminal_size(sys.stderr.fileno()).columns - len("error: "), 20)
    for n, line in enumerate(map(plain.line, str(error).split("\n"))):
        parts = [line]
        if room and "expected" in line:
            parts = textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False)
        for part in parts:
            print(("       " if n else "error: ") + part, file=sys.stderr)
            n = 1
