# SPDX-License-Identifier: BSD-3-Clause
"""The program in a pseudo-terminal: type, and read until something appears."""
import fcntl
import os
import re
import select
import subprocess
import termios
import time

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kamuee")


class Terminal:
    """The program in a pseudo-terminal of 24 lines and 80 columns."""

    def __init__(self, argv, **environment):
        self.ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (24, 80))
        env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "PAGER", "LESS")}
        self.process = subprocess.Popen([PROGRAM, *argv], stdin=theirs, stdout=theirs, stderr=theirs,
                                        env={**env, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environment},
                                        start_new_session=True, preexec_fn=control_terminal)
        os.close(theirs)
        self.text, self.raw = "", b""   # raw: with all escape sequences

    def type(self, text):
        os.write(self.ours, text.encode())

    def until(self, pattern, seconds=60):
        """Read until the text since the last match matches; give the text up to the match's end."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < end, f"{pattern!r} did not come: {self.text[-2000:]!r}"
            assert self._read() or re.search(pattern, self.text), f"it ended before {pattern!r}: {self.text[-2000:]!r}"
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return before

    def wait(self, seconds=60):
        """Read on until the program ends; its exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it did not end: {self.text[-2000:]!r}"
            self._read()
        return self.process.returncode

    def _read(self):
        """Take the available output; False: the program has closed its terminal."""
        if select.select([self.ours], [], [], 0.1)[0]:
            try:
                read = os.read(self.ours, 65536)
                self.raw += read
                self.text += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r", "", read.decode(errors="replace"))
            except OSError:
                return False
        return True

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.ours)


def control_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
