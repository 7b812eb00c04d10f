# SPDX-License-Identifier: BSD-3-Clause
"""Tells when the machine, or one of its processors, stood still: a virtual machine that its host pauses for ten seconds loses every routing
session in it, and so do the routers on a virtual processor that is paused alone.

A thread of the highest real-time priority on each processor wakes up ten times a second. No load keeps it from running for a second; only
a pause does. A test that fails across such a pause has tested the host: it is void and runs again, and the end of the run says so
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
import threading
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
        """The longest pause since then, or so shortly before that tests still feel it; 0: none."""
        pauses = (map(float, line.split()) for line in self.file.read_text().splitlines())
        return max((seconds for end, seconds in pauses if end > begun - AFTER_S), default=0)


def watch(file: str, processor: int) -> None:
    os.sched_setaffinity(0, {processor})        # of this thread, as is its priority
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
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for processor in os.sched_getaffinity(0):
        threading.Thread(target=watch, args=(sys.argv[1], processor)).start()
