# SPDX-License-Identifier: BSD-3-Clause
"""Changes of the kernel that kamueed is never told of: a socket filter on its netlink sockets drops every announcement.

The filter is set from outside on a copy of the descriptor (pidfd_getfd), so that kamueed itself is the one under test. The
kernel counts no overrun for what a filter drops: nothing tells kamueed that it has missed something.
"""
import ctypes
import errno
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

PIDFD_GETFD = 438
SO_ATTACH_FILTER, SO_DETACH_FILTER, SO_DOMAIN = 26, 27, 39
BPF_RET_0 = struct.pack("HBBI", 6, 0, 0, 0)
LIBC = ctypes.CDLL(None, use_errno=True)


def copies(pid: int) -> Iterator[socket.socket]:
    """Copies of the process's netlink sockets."""
    pidfd = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                what = os.readlink(f"/proc/{pid}/fd/{name}")
            except FileNotFoundError:  # closed meanwhile: none of the sockets that stay open
                continue
            if not what.startswith("socket:"):
                continue
            fd = LIBC.syscall(PIDFD_GETFD, pidfd, int(name), 0)
            if fd < 0 and ctypes.get_errno() == errno.EBADF:    # the same
                continue
            if fd < 0:
                raise OSError(ctypes.get_errno(), "pidfd_getfd")
            one = socket.socket(fileno=fd)
            if one.family == socket.AF_NETLINK:
                yield one
            else:
                one.close()
    finally:
        os.close(pidfd)


@contextmanager
def deaf(pid: int) -> Iterator[None]:
    """Inside, the process hears nothing of the kernel."""
    sockets = list(copies(pid))
    assert sockets, "kamueed has no netlink socket"
    program = ctypes.create_string_buffer(BPF_RET_0)
    for one in sockets:
        one.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HxxxxxxP", 1, ctypes.addressof(program)))
    try:
        yield
    finally:
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
            one.close()
