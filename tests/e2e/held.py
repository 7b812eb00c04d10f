# SPDX-License-Identifier: BSD-3-Clause
"""Holds one thread of a process, while its other threads go on: a manager that is busy for as long as the test likes."""
import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def ptrace(request: int, thread: int) -> None:
    if LIBC.ptrace(request, thread, None, None) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace of thread {thread}")


@contextmanager
def held(thread: int) -> Iterator[None]:
    """The thread with this id stands still; a process's id is that of its first, which is kamueed's control."""
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        ptrace(PTRACE_DETACH, thread)
