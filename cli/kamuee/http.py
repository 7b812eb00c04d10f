# SPDX-License-Identifier: BSD-3-Clause
"""HTTP/1.1 over a UNIX socket, as little of it as RESTCONF needs.

http.client would cost a third of the start-up time of a one-shot command. One connection
carries one request; the answer's body is an iterator of byte blocks, so that a table of any
length passes through without being held. The write side is never shut down before the answer
has been read: the server would take that for a client that has gone.
"""
from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from kamuee.errors import DaemonError, Unreachable

BLOCK = 65536


class Answer:
    """Status and body of one answer. `body` may be read once."""

    def __init__(self, stream: BinaryIO, sock: socket.socket, path: str) -> None:
        self._stream, self._sock, self._path = stream, sock, path
        self.status = self._status()
        self.headers = self._headers()
        self.body = self._body()

    def wait_forever(self) -> None:
        """The rest of the body may take long to arrive."""
        self._sock.settimeout(None)

    def interrupt(self) -> None:
        """Ends the body for a thread that waits for it."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._stream.close()
        self._sock.close()

    def read(self) -> bytes:
        """The whole body; closes the connection."""
        try:
            return b"".join(self.body)
        finally:
            self.close()

    def _line(self) -> bytes:
        with told(self._path):
            line = self._stream.readline(BLOCK)
        if not line.endswith(b"\n"):
            raise cut(self._path)
        return line.rstrip(b"\r\n")

    def _status(self) -> int:
        words = self._line().split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise DaemonError([f"{self._path} does not speak HTTP; is it kamueed's socket?"])
        return int(words[1])

    def _headers(self) -> dict[str, str]:
        headers = {}
        while line := self._line():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        return headers

    def _body(self) -> Iterator[bytes]:
        if self.status == 204:
            return iter(())
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self._chunks()
        length = self.headers.get("content-length")
        return self._until_end() if length is None else self._exactly(int(length))

    def _exactly(self, n_bytes: int) -> Iterator[bytes]:
        while n_bytes:
            with told(self._path):
                block = self._stream.read1(min(n_bytes, BLOCK))
            if not block:
                raise cut(self._path)
            n_bytes -= len(block)
            yield block

    def _chunks(self) -> Iterator[bytes]:
        while True:
            try:
                size = int(self._line().split(b";")[0], 16)
            except ValueError:
                raise cut(self._path) from None
            if size == 0:
                while self._line():
                    pass
                return
            yield from self._exactly(size)
            self._line()

    def _until_end(self) -> Iterator[bytes]:
        while True:
            with told(self._path):
                block = self._stream.read1(BLOCK)
            if not block:
                return
            yield block


def request(path: str, method: str, target: str, body: bytes | None, timeout_s: float) -> Answer:
    """Send one request to the socket at `path`; the answer's head has been read on return."""
    sock = connect(path, timeout_s)
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" \
        "Accept: application/yang-data+json\r\n"
    if person := os.environ.get("SUDO_USER") or os.environ.get("DOAS_USER"):
        head += f"Kamuee-Sudo-User: {quote(person)}\r\n"  # believed of root; a name that needed quoting is not one
    if body is not None:
        head += f"Content-Type: application/yang-data+json\r\nContent-Length: {len(body)}\r\n"
    try:
        with told(path):
            sock.sendall(head.encode("ascii") + b"\r\n" + (body or b""))
        return Answer(sock.makefile("rb", BLOCK), sock, path)
    except BaseException:
        sock.close()
        raise


def connect(path: str, timeout_s: float) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    # Blocking, or a queue that is full for a moment (many connect at once) would be an error at once; the kernel keeps
    # the time.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                    struct.pack("@ll", int(timeout_s), int(timeout_s % 1 * 1_000_000)))
    try:
        sock.connect(path)
    except OSError as error:
        sock.close()
        raise Unreachable(f"cannot reach kamueed at {path}: {reason(error)}; {remedy(error, path)}") from None
    sock.settimeout(timeout_s)
    return sock


def reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:]


def log_of(path: str, unit: str) -> str:
    """The log of the kamueed at a socket: that of a lab beside it, else what `unit` says of systemd's."""
    of_a_lab = os.path.join(os.path.dirname(path), "kamueed.log")
    return of_a_lab if os.path.exists(of_a_lab) else unit


def remedy(error: OSError, path: str) -> str:
    """A remedy for the person at the keyboard if a socket cannot be reached."""
    look = log_of(path, "systemctl status kamueed")
    if isinstance(error, PermissionError):
        return "run as root or join the group kamuee: sudo adduser $USER kamuee"
    if isinstance(error, FileNotFoundError):
        return f"is it running? {look} (for another socket: --socket or KAMUEE_SOCKET)"
    if isinstance(error, ConnectionRefusedError):
        return f"is it running? {look}"
    return "is it kamueed's socket? for another: --socket or KAMUEE_SOCKET"


class told:
    """Turns a socket error in the middle of a request into a message."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, TimeoutError):
            raise Unreachable(f"kamueed at {self._path} does not answer; see "
                              f"{log_of(self._path, 'journalctl -u kamueed')}") from None
        if isinstance(error, OSError):
            raise cut(self._path, reason(error)) from None
        return False


def cut(path: str, why: str = "closed") -> Unreachable:
    return Unreachable(f"the connection to kamueed at {path} was lost in the middle of an answer ({why}); "
                       f"see {log_of(path, 'systemctl status kamueed')}")
