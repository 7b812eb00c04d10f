# SPDX-License-Identifier: BSD-3-Clause
"""Long output in the interactive command line: prints what fits the screen, and gives more to a pager.

The pager is $PAGER, less or more. It gets line by line: leaving it stops the command.
"""
from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys

from kamuee import plain


class Pager:
    """A sink that starts a pager when a screen is full."""

    def __init__(self, height: int) -> None:
        self._room = max(height - 2, 1)
        self._held: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._direct = False

    def line(self, text: str) -> None:
        text = plain.line(text)
        if self._process:
            self._process.stdin.write(text + "\n")
        elif self._direct:
            sys.stdout.write(text + "\n")
        else:
            self._held.append(text)
            if len(self._held) > self._room:
                self._begin()

    def end(self) -> None:
        """All lines have been written."""
        if not self._process:
            sys.stdout.writelines(text + "\n" for text in self._held)
            self._held = []
            sys.stdout.flush()

    def close(self) -> None:
        """Wait until the reader has left the pager, however the command ended."""
        self.end()
        if not self._process:
            return
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        while True:
            try:
                self._process.wait()
                return
            except KeyboardInterrupt:
                continue

    def _begin(self) -> None:
        program = command()
        if program:
            self._process = subprocess.Popen(program, stdin=subprocess.PIPE, text=True, encoding="utf-8")
        else:
            self._direct = True
        held, self._held = self._held, []
        for text in held:
            self.line(text)
        if self._process:
            self._process.stdin.flush()


def command() -> list[str] | None:
    """The user's pager, or None."""
    if wanted := os.environ.get("PAGER"):
        words = shlex.split(wanted)
        return words if words and shutil.which(words[0]) else None
    if shutil.which("less"):
        return ["less", "-RX"]
    return ["more"] if shutil.which("more") else None
