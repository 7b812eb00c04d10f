# SPDX-License-Identifier: BSD-3-Clause
"""The BGP speaker of a feed: announces a table, keeps the session, churns on request.

All UPDATEs of the table are encoded before the session comes up, so that announcing it is a matter of
writing one buffer: a full table is on the wire in a second or two, and the receiver is the one who is
measured. One thread, one select loop: the session, a control socket (one JSON line for each command
line), and the pacing of churn in slots of 10 ms.

The order of a session is always: OPEN, the whole table, End-of-RIB of both families, then changes. After
a loss the speaker connects again and announces the table again.
"""
import json
import os
import random
import selectors
import socket
import time
from collections.abc import Callable

from kamuee.feed import message, table
from kamuee.feed.session import Session

SLOT_S = 0.01
CHURN_MODES = ("withdraw", "path")


class Routes:
    """The table as encoded UPDATEs, with methods to withdraw and announce single routes."""

    def __init__(self, source: table.Table, asn: int, next_hop_v4: str, next_hop_v6: str | None,
                 seed: int, n_paths: int):
        self.asn = asn
        self.rnd = random.Random(seed)
        self.next_hop_v4 = socket.inet_aton(next_hop_v4)
        self.next_hop_v6 = socket.inet_pton(socket.AF_INET6, next_hop_v6) if next_hop_v6 else None
        self.v4 = source.v4
        self.v6 = source.v6 if next_hop_v6 else []
        parts: list[bytes] = []
        for path, nlris in table.grouped(self.v4, source.paths_v4, n_paths, self.rnd):
            parts += message.announce_v4(self._attributes(path), self.next_hop_v4, nlris)
        for path, nlris in table.grouped(self.v6, source.paths_v6, n_paths // 6, self.rnd):
            parts += message.announce_v6(self._attributes(path), self.next_hop_v6, nlris)
        self.n_updates = len(parts)
        self.wire = b"".join(parts) + message.end_of_rib()

    def _attributes(self, path: bytes | None) -> tuple[bytes, bytes]:
        if path is not None:
            return message.attributes(message.prepended(self.asn, path))
        community = None
        if self.rnd.random() < 0.5:
            community = (self.asn & 0xFFFF) << 16 | self.rnd.randint(1, 999)
        return message.attributes(message.random_path(self.asn, self.rnd), community)

    def announce(self, index: int) -> bytes:
        """One route with a new made-up path; indexes run through v4, then v6."""
        attrs = self._attributes(None)
        if index < len(self.v4):
            return b"".join(message.announce_v4(attrs, self.next_hop_v4, [self.v4[index]]))
        return b"".join(message.announce_v6(attrs, self.next_hop_v6, [self.v6[index - len(self.v4)]]))

    def withdraw(self, index: int) -> bytes:
        if index < len(self.v4):
            return b"".join(message.withdraw_v4([self.v4[index]]))
        return b"".join(message.withdraw_v6([self.v6[index - len(self.v4)]]))

    def withdraw_all(self) -> bytes:
        return b"".join(message.withdraw_v4(self.v4) + message.withdraw_v6(self.v6))

    def __len__(self) -> int:
        return len(self.v4) + len(self.v6)


class Churn:
    """Random route changes at a rate; at the end, withdrawn routes are announced again."""

    def __init__(self, routes: Routes, per_s: float, seconds: float, mode: str):
        self.routes, self.per_s, self.seconds, self.mode = routes, per_s, seconds, mode
        self.begun = time.monotonic()
        self.n_sent = 0
        self.down: set[int] = set()

    def step(self, now: float) -> bytes:
        """The UPDATEs that are due by `now`, one prefix in each as real churn has it."""
        elapsed = min(now - self.begun, self.seconds)
        n_due = int(elapsed * self.per_s) - self.n_sent
        self.n_sent += n_due
        return b"".join(self._change() for _ in range(n_due))

    def _change(self) -> bytes:
        index = self.routes.rnd.randrange(len(self.routes))
        if self.mode == "withdraw" and index not in self.down:
            self.down.add(index)
            return self.routes.withdraw(index)
        self.down.discard(index)
        return self.routes.announce(index)

    def is_over(self, now: float) -> bool:
        return now - self.begun >= self.seconds

    def restore(self) -> bytes:
        restored = b"".join(self.routes.announce(index) for index in sorted(self.down))
        self.down.clear()
        return restored


class Speaker:
    def __init__(self, session: Session, routes: Routes, control: str | None,
                 log: Callable[..., None]):
        self.session, self.routes, self.log = session, routes, log
        self.churn: Churn | None = None
        self.n_changes = 0
        self.n_established = 0
        self.announcing = True
        self.running = True
        self._sent_at: float | None = None
        self._was_established = False
        self._registered: socket.socket | None = None
        self.selector = selectors.DefaultSelector()
        self.control = control
        if control:
            self._listen(control)

    # --- the loop ---

    def run(self) -> None:
        while self.running:
            now = time.monotonic()
            if self.session.sock is None and now >= self.session.retry_at:
                self.session.connect()
            self._register()
            for key, events in self.selector.select(self._wait_s()):
                key.data(key.fileobj, events)
            now = time.monotonic()
            self.session.tick(now)
            self._follow_session(now)
            self._follow_churn(now)
        self.session.close("stopped", notify=True)
        if self.control:
            os.unlink(self.control)

    def _wait_s(self) -> float:
        if self.session.has_output():
            return SLOT_S
        return SLOT_S if self.churn else 0.1

    def _register(self) -> None:
        """Keep the selector in step with the session's socket and its pending output."""
        sock = self.session.sock
        if self._registered is not None and self._registered is not sock:
            try:
                self.selector.unregister(self._registered)
            except (KeyError, ValueError):
                pass                                 # closed: the kernel has dropped it already
            self._registered = None
        if sock is None:
            return
        wanted = selectors.EVENT_READ
        if self.session.has_output():
            wanted |= selectors.EVENT_WRITE
        if self._registered is None:
            self.selector.register(sock, wanted, self._serve_session)
            self._registered = sock
        else:
            self.selector.modify(sock, wanted, self._serve_session)

    def _serve_session(self, _sock, events: int) -> None:
        if events & selectors.EVENT_READ:
            self.session.read()
        if events & selectors.EVENT_WRITE and self.session.sock is not None:
            self.session.write()

    def _follow_session(self, now: float) -> None:
        if self.session.established and not self._was_established:
            self.n_established += 1
            self.log("established", peer=self.session.peer)
            if self.announcing:
                self.session.send(self.routes.wire)
                self._sent_at = now
        elif not self.session.established and self._was_established:
            self.log("lost", why=self.session.last_error)
            self.churn = None
        self._was_established = self.session.established
        if self._sent_at is not None and self.session.established and not self.session.has_output():
            self.log("announced", routes=len(self.routes), seconds=round(now - self._sent_at, 2))
            self._sent_at = None

    def _follow_churn(self, now: float) -> None:
        if self.churn is None:
            return
        data = self.churn.step(now)
        over = self.churn.is_over(now)
        if over:
            data += self.churn.restore()
        self.session.send(data)
        if over:
            self.n_changes += self.churn.n_sent
            self.log("churned", changes=self.churn.n_sent, mode=self.churn.mode)
            self.churn = None

    # --- the control socket ---

    def _listen(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen(8)
        self.selector.register(server, selectors.EVENT_READ, self._accept)

    def _accept(self, server, _events: int) -> None:
        client, _ = server.accept()
        with client:
            client.settimeout(1)
            try:
                reply = self.command(client.recv(4096).decode().split())
                client.sendall(json.dumps(reply).encode() + b"\n")
            except (OSError, UnicodeDecodeError) as error:
                self.log("control", error=str(error))

    def status(self) -> dict:
        return {"established": self.session.established, "times-established": self.n_established,
                "routes-v4": len(self.routes.v4), "routes-v6": len(self.routes.v6),
                "announced": self._sent_at is None and self.session.established and self.announcing,
                "queued-bytes": self.session.n_queued_bytes(),
                "updates-received": self.session.n_updates_received,
                "churning": self.churn is not None, "changes": self.n_changes,
                "last-error": self.session.last_error}

    def command(self, words: list[str]) -> dict:
        """Carry out one command; returns the reply, with 'error' in it if it was refused."""
        try:
            match words:
                case ["status"]:
                    return self.status()
                case ["announce"]:
                    self.announcing = True
                    self.session.send(self.routes.wire)
                    self._sent_at = time.monotonic()
                case ["withdraw"]:
                    self.announcing = False
                    self.session.send(self.routes.withdraw_all())
                case ["churn", per_s, seconds, *mode]:
                    return self._begin_churn(float(per_s), float(seconds), *mode)
                case ["flap", *hard]:
                    self.session.close("flapped on request", notify=True, hard=hard == ["hard"])
                case ["stop"]:
                    self.running = False
                case _:
                    return {"error": f"unknown command '{' '.join(words)}': expected status, announce, "
                                     "withdraw, churn PER_SECOND SECONDS [withdraw|path], flap [hard], "
                                     "stop"}
        except (TypeError, ValueError) as error:
            return {"error": str(error)}
        return {"ok": True}

    def _begin_churn(self, per_s: float, seconds: float, mode: str = "withdraw") -> dict:
        if mode not in CHURN_MODES:
            return {"error": f"unknown churn mode '{mode}': expected one of {', '.join(CHURN_MODES)}"}
        if not self.session.established:
            return {"error": f"no session to churn on ({self.session.last_error or 'connecting'})"}
        self.churn = Churn(self.routes, per_s, seconds, mode)
        return {"ok": True}
