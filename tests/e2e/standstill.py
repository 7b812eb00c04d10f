# SPDX-License-Identifier: BSD-3-Clause
"""Tells when the whole machine stood still: a virtual machine that its host pauses for ten seconds loses every routing session in it.

A process of the highest real-time priority wakes up ten times a second. No load keeps it from a processor for a second; only a pause of the
machine does. A test that fails across such a pause has tested the host: it is void and runs again, and the end of the run says so
(conftest.py, tests/run). A test that fails without one has failed.

    standstill.py FILE      writes a line "END SECONDS" for each pause, by time.monotonic(), until its parent ends
"""
import atexit
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAUSE_S = 1.0
AFTER_S = 60        # so long a pause has consequences: sessions come up again, neighbors are resolved
PR_SET_PDEATHSIG = 1


class Watch:
    def __init__(self) -> None:
        handle, name = tempfile.mkstemp(prefix="standstill-")
        os.close(handle)
        self.file = Path(name)
        watcher = subprocess.Popen([sys.executable, __file__, name])
        atexit.register(self.file.unlink, missing_ok=True)
        atexit.register(watcher.kill)

    def seconds_since(self, begun: float) -> float:
        """How long the machine stood still since then, or so shortly before that tests still feel it."""
        pauses = (map(float, line.split()) for line in self.file.read_text().splitlines())
        return sum(seconds for end, seconds in pauses if end > begun - AFTER_S)


def watch(file: str) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(os.sched_get_priority_max(os.SCHED_FIFO)))
    last = time.monotonic()
    while True:
        time.sleep(0.1)
        now = time.monotonic()
        if now - last > PAUSE_S:
            with open(file, "a") as out:
                out.write(f"{now} {now - last}\n")
        last = now


if __name__ == "__main__":
    watch(sys.argv[1])
