# SPDX-License-Identifier: BSD-3-Clause
"""One BGP session of a feed: the socket, its two directions, the timers; no routes.

Everything runs in the single thread of `speaker.py`'s loop. The session writes no more than the socket takes and reads
in every turn: if it stopped reading a peer that sends its own table back, both sides would block.
"""
import socket
import struct
import time
from collections import deque

from kamuee.feed import message

RETRY_S = 0.3
BGP_PORT = 179


class Session:
    """Life: connect() -> handshake -> established -> closed; then connect() again."""

    def __init__(self, local: str, peer: str, asn: int, hold_s: int):
        self.local, self.peer, self.asn, self.hold_s = local, peer, asn, hold_s
        self.sock: socket.socket | None = None
        self.established = False
        self.n_updates_received = 0
        self.last_error = ""
        self._out: deque[memoryview] = deque()
        self._in = bytearray()
        self._keepalive_at = self._heard_at = self.retry_at = 0.0

    # --- life ---

    def connect(self) -> None:
        """Try to connect; on failure, retry_at says when to try again."""
        self.retry_at = time.monotonic() + RETRY_S
        sock = socket.socket(socket.AF_INET6 if ":" in self.peer else socket.AF_INET)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.bind((self.local, 0))
            sock.settimeout(1)
            sock.connect((self.peer, BGP_PORT))
        except OSError as error:
            sock.close()
            self.last_error = f"connecting to {self.peer}: {error.strerror or error}"
            return
        sock.setblocking(False)
        self.sock = sock
        self._in.clear()
        self._out.clear()
        now = time.monotonic()
        self._heard_at, self._keepalive_at = now, now + self.hold_s / 3
        # An IPv6 session has no IPv4 address of ours to be known by; any distinct number will do.
        router_id = self.local if ":" not in self.local else socket.inet_ntoa(
            struct.pack("!I", 0x0A000000 | self.asn & 0xFFFFFF))
        self.send(message.open_message(self.asn, self.hold_s, router_id))

    def close(self, why: str, notify: bool = False, hard: bool = False) -> None:
        """Close; `notify` says goodbye first, `hard` sends a TCP reset as a peer that dies does."""
        if self.sock is None:
            return
        self.last_error = why
        try:
            if hard:
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif notify and not self._out:     # not in the middle of another message
                self.sock.send(message.cease())
        except OSError:
            pass                                     # the peer was faster
        self.sock.close()
        self.sock = None
        self.established = False
        self._out.clear()
        self.retry_at = time.monotonic() + RETRY_S

    # --- sending ---

    def send(self, data: bytes) -> None:
        """Queue bytes; write() puts them on the wire as the peer takes them."""
        if self.sock is not None and data:
            self._out.append(memoryview(data))

    def n_queued_bytes(self) -> int:
        return sum(len(view) for view in self._out)

    def has_output(self) -> bool:
        return bool(self._out)

    def write(self) -> None:
        try:
            while self._out:
                n_sent = self.sock.send(self._out[0][:1 << 18])
                if n_sent == len(self._out[0]):
                    self._out.popleft()
                else:
                    self._out[0] = self._out[0][n_sent:]
        except BlockingIOError:
            return
        except OSError as error:
            self.close(f"sending: {error.strerror}")

    # --- receiving ---

    def read(self) -> None:
        try:
            data = self.sock.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError as error:
            return self.close(f"receiving: {error.strerror}")
        if not data:
            return self.close("closed by the peer")
        self._in += data
        self._heard_at = time.monotonic()
        at = 0
        while self.sock is not None and len(self._in) - at >= message.HEADER_BYTES:
            length, kind = struct.unpack_from("!HB", self._in, at + 16)
            if not message.HEADER_BYTES <= length <= 65535 or self._in[at:at + 16] != message.MARKER:
                return self.close("the peer sent something that is not BGP")
            if len(self._in) - at < length:
                break
            self._take(kind, bytes(self._in[at + message.HEADER_BYTES:at + min(length, 64)]))
            at += length
        del self._in[:at]

    def _take(self, kind: int, body: bytes) -> None:
        if kind == message.OPEN:
            self.send(message.message(message.KEEPALIVE))
        elif kind == message.KEEPALIVE:
            self.established = True
        elif kind == message.UPDATE:
            self.n_updates_received += 1
        elif kind == message.NOTIFICATION:
            name = message.NOTIFICATION_NAMES.get(body[0], "unknown") if body else "unknown"
            self.close(f"NOTIFICATION from the peer: {name}, code {tuple(body[:2])}")

    def tick(self, now: float) -> None:
        """Keepalive and hold timers."""
        if self.sock is None:
            return
        if now - self._heard_at > self.hold_s:
            self.close("hold timer expired", notify=True)
        elif now >= self._keepalive_at:
            self._keepalive_at = now + self.hold_s / 3
            if self.established:
                self.send(message.message(message.KEEPALIVE))
