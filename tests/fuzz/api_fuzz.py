# SPDX-License-Identifier: BSD-3-Clause
"""Requests made at random from the schema, to a living kamueed: none may end in a status of 5xx, none may end kamueed.

    make fuzz-api SECONDS=3600 [SEED=1]        root

Paths, bodies, queries and headers follow yang/kamuee.yang, and are then spoilt now and then: values out of range, other types,
deep nesting, broken JSON, bytes that are no HTTP at all. Allowed beside 2xx and 4xx: 503 (rib_manager is busy) and 501 (a method
that does not exist).
"""
import json
import random
import socket
import string
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tools"), str(ROOT / "cli"), str(ROOT / "tests" / "e2e")]

import schema                                                                   # noqa: E402

MODULE = schema.module()
CONFIG = ("port", "vport", "vr", "interface", "forwarding", "punt", "icmp", "multicast", "journal", "alarm", "log-level", "fib-engine", "api")
SKIPPED = {"shutdown", "capture", "trace", "test-tap"}        # they end kamueed, or answer for minutes
WORDS = ["p0", "p1", "v7", "red", "default", "ipv4", "ipv6", "10.0.0.1", "2001:db8::1", "239.1.1.1", "net_null7", "true", "false", "0", "1",
         "1500", "68", "-1", "99999999999999999999", "", " ", "%", "ü", "a" * 300, "../../x", "set port p0 mtu 1400", "delete port p1",
         "set vr red table 7", "[]", "0x10", "1.5", "NaN", "\u0000", "rx", "both", "adjacency", "any", "loose", "02:00:00:00:00:09"]
QUERIES = ["content=config", "content=nonconfig", "content=x", "depth=1", "depth=2", "depth=0", "fields=name", "fields=a(b;c)", "fields=((",
           "fields=*", "limit=1", "limit=0", "offset=2", "with-defaults=report-all", "with-defaults=trim", "prefix=10.0.0.0/8",
           "match=longer", "protocol=bgp", "filter=%5B", "x=y", "%", "&&=", "start-time=0"]
HEADERS = ["If-Match: *", "If-Match: \"x\"", "If-None-Match: *", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "If-Match: \"",
           "Accept: text/html", "Accept: */*", "Expect: 100-continue", "Authorization: Basic ???", "Content-Type: text/plain"]
STANDARD = ["ietf-interfaces:interfaces", "ietf-interfaces:interfaces/interface=p0", "ietf-interfaces:interfaces/interface=p0/statistics",
            "ietf-routing:routing", "ietf-routing:routing/ribs/rib=default-ipv4", "ietf-routing:routing/ribs/rib=default-ipv4/routes",
            "ietf-yang-library:yang-library", "ietf-restconf-monitoring:restconf-state"]


class Maker:
    """Requests at random."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def value(self, leaf) -> object:
        kind = leaf.one("type")
        if self.chance(10):
            return self.random.choice([None, [], {}, [[None]], 1, -1, 1.5, True, 2**64, "x", {"a": {"b": []}}, [None]])
        words = [e.argument for e in kind.all("enum")]
        if words and self.chance(80):
            return self.random.choice(words)
        if limits := kind.one("range"):
            low = limits.argument.split("..")[0]
            return int(low) + self.random.choice([0, 0, 1, 5, 100, -1]) if low.isdigit() else 7
        if kind.argument == "boolean":
            return self.chance(50)
        if "int" in kind.argument:
            return self.random.choice([0, 1, 7, 100, 1500, 254, 65535, -1, 2**32])
        if self.chance(5):
            return "".join(self.random.choice(string.printable) for _ in range(self.random.randrange(60)))
        return self.random.choice(WORDS)

    def body(self, node, depth: int = 0) -> object:
        if node.keyword == "leaf":
            return self.value(node)
        if node.keyword == "leaf-list":
            return [self.value(node) for _ in range(self.random.randrange(3))]
        inner = {child.argument: self.body(child, depth + 1) for child in node.all("container", "list", "leaf", "leaf-list")
                 if child.keyword == "leaf" and self.is_key(node, child) or self.chance(35)}
        return [inner] if node.keyword == "list" and not self.chance(5) else inner

    @staticmethod
    def is_key(node, child) -> bool:
        key = node.one("key")
        return key is not None and child.argument in key.argument.split()

    def segment(self, node) -> str:
        key = node.one("key")
        if node.keyword == "leaf-list" or (key and self.chance(90)):
            n = len(key.argument.split()) if key and not self.chance(3) else 1
            return node.argument + "=" + ",".join(self.encoded(self.random.choice(WORDS)) for _ in range(n))
        return node.argument

    def encoded(self, text: str) -> str:
        return "".join(c if c.isalnum() else f"%{b:02X}" for c in text for b in c.encode()[:1])

    def path(self):
        """(path below /restconf/data/, the schema node it ends at, or None)."""
        if self.chance(8):
            return self.random.choice(STANDARD), None
        name = "state" if self.chance(35) else self.random.choice(CONFIG)
        node = next(s for s in MODULE.all(*schema.NODES) if s.argument == name)
        path = "kamuee:" + self.segment(node)
        while children := node.all("container", "list", "leaf", "leaf-list"):
            if self.chance(30):
                break
            node = self.random.choice(children)
            path += "/" + self.segment(node)
        if self.chance(4):
            path += self.random.choice(["/", "//", "=", "/x", "%00", "/" * 40, "%", "?"])
        return path, node

    def request(self) -> bytes:
        if self.chance(4):
            return bytes(self.random.randrange(256) for _ in range(self.random.randrange(1, 200)))
        method, body = self.random.choice(["GET"] * 4 + ["PUT", "PATCH", "POST", "DELETE", "HEAD", "OPTIONS"]), b""
        if self.chance(25):
            rpc = self.random.choice([r for r in MODULE.all("rpc") if r.argument not in SKIPPED])
            target, method = f"/restconf/operations/kamuee:{rpc.argument}", "POST"
            given = self.body(rpc.one("input")) if rpc.one("input") else {}
            body = json.dumps({"kamuee:input": given}).encode()
        else:
            path, node = self.path()
            target = f"/restconf/data/{path}"
            if method in ("PUT", "PATCH", "POST") and node:
                body = json.dumps({f"kamuee:{node.argument}": self.body(node)}).encode()
        if self.chance(30):
            target += "?" + "&".join(self.random.choice(QUERIES) for _ in range(self.random.randrange(1, 4)))
        if body and self.chance(8):
            at = self.random.randrange(len(body))
            body = body[:at] + self.random.choice([b"", b"\x00", b"}", b"{", b'"', b"\xff\xfe", b"[" * 3000]) + body[at + self.random.randrange(5):]
        headers = [self.random.choice(HEADERS)] if self.chance(12) else []
        lines = [f"{method} {target} HTTP/1.1", "Host: k", "Connection: close", f"Content-Length: {len(body)}", *headers]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def send(path: str, request: bytes, timeout_s: float) -> bytes:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        connection.connect(path)
        try:
            connection.sendall(request)
            return connection.recv(65536)
        except (TimeoutError, ConnectionError):
            return b""


def status_of(answer: bytes) -> int:
    """0: no answer."""
    word = answer.split(b" ", 2)
    return int(word[1]) if answer.startswith(b"HTTP/1.") and len(word) > 1 and word[1].isdigit() else 0


def run(daemon, seconds: float, seed: int) -> dict[int, int]:
    """How many requests ended in which status. Raises when one should not have."""
    maker, end, seen = Maker(seed), time.monotonic() + seconds, {}
    while time.monotonic() < end:
        request = maker.request()
        whole = b" HTTP/1.1\r\n" in request
        status = status_of(send(str(daemon.socket), request, 60 if whole else 0.05))
        seen[status] = seen.get(status, 0) + 1
        assert status < 500 or status in (501, 503), f"status {status}: {request!r}"
        assert daemon.process.poll() is None, f"kamueed has ended (seed {seed}): {request!r}"
    assert daemon.client.state("system")["pid"] > 0
    return dict(sorted(seen.items()))


CONFIGURATION = ("set port p0 devargs net_null0\nset port p1 devargs net_null1 enabled false\nset vport v7 port p0 vlan 7\n"
                 "set vr red table 77\nset interface v7 vr red\n")


def main() -> None:
    from daemon import Daemon
    binary, seconds, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    daemon = Daemon(binary, "api-fuzz")
    try:
        daemon.start(CONFIGURATION)
        print(f"fuzz-api: seed {seed}, {seconds:g} s: requests by status: {run(daemon, seconds, seed)}")
    finally:
        daemon.end()


if __name__ == "__main__":
    main()
