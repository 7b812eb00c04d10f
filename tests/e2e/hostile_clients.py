# SPDX-License-Identifier: BSD-3-Clause
"""Hostile clients of the API, all in one process, until its input closes; prints how many answers there were.

    hostile_clients.py SOCKET KIND N [KIND N]…

KIND is one of KINDS, N the number of its connections. A connection that ends is made again.
"""
import errno
import json
import os
import selectors
import socket
import sys

HEAD_MAX = 60_000
UNREAD = "unread", "unread-state", "header"      # kinds that read no answer


def get(target: str, more: str = "") -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: k\r\n{more}\r\n".encode()


def post(name: str, **given: object) -> bytes:
    body = json.dumps({"kamuee:input": given})
    return (f"POST /restconf/operations/kamuee:{name} HTTP/1.1\r\nHost: k\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


KINDS = {
    "unread": get("/restconf/data"),
    "unread-state": get("/restconf/data/kamuee:state"),
    "read": get("/restconf/data"),
    "fields": get("/restconf/data?fields=kamuee:acl(name;rule(number))"),
    "depth": get("/restconf/data?depth=3"),
    "state-depth": get("/restconf/data/kamuee:state?depth=2"),
    "routes": get("/restconf/data/kamuee:state/route"),
    "changes": post("route-changes", limit=1_000_000, ago="86400000"),
    "complete": post("complete", line="set acl big rule "),
    "lines": post("configuration"),
    "metrics": get("/metrics"),
    "small": get("/restconf/data/kamuee:state/system"),
    "header": get("/restconf/data/kamuee:memory", f"X: {'x' * HEAD_MAX}\r\n"),
    "commit": post("configure", line=["set address-set games:hostile prefix 192.0.2.1/32", "set acl games:hostile rule 1 permit ip"]),
    "uncommit": post("configure", line=["delete address-set games:hostile", "delete acl games:hostile"]),
}


class Hostile:
    def __init__(self, path: str, kind: str):
        self.path, self.kind, self.answers = path, kind, 0
        self.request = KINDS[kind] * (1 if kind in ("commit", "uncommit", "changes", "lines") else 8)
        self.connect()

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.setblocking(False)
        self.left = b""
        self.waits = False
        try:
            self.sock.connect(self.path)
        except OSError:
            pass

    def act(self, readable: bool, writable: bool) -> bool:
        """False: the connection has ended."""
        try:
            if readable and self.kind not in UNREAD:
                data = self.sock.recv(1 << 18)
                if not data:
                    return False
                self.answers += data.count(b"HTTP/1.1 ")
            if writable:
                self.left = self.left or self.request
                self.left = self.left[self.sock.send(self.left):]
        except OSError as e:
            return e.errno in (errno.EAGAIN, errno.EINTR)
        return True


def main(path: str, *wanted: str) -> int:
    chosen = selectors.DefaultSelector()
    chosen.register(0, selectors.EVENT_READ)
    both = selectors.EVENT_READ | selectors.EVENT_WRITE
    all_of_them = [Hostile(path, kind) for kind, n in zip(wanted[::2], wanted[1::2], strict=True) for _ in range(int(n))]
    for h in all_of_them:
        chosen.register(h.sock, selectors.EVENT_WRITE if h.kind in UNREAD else both, h)
    print("begun", flush=True)
    while True:
        for key, events in chosen.select():
            h = key.data
            if h is None:
                if not os.read(0, 1):
                    print(sum(h.answers for h in all_of_them))
                    return 0
                continue
            if h.act(bool(events & selectors.EVENT_READ), bool(events & selectors.EVENT_WRITE)):
                continue
            chosen.unregister(h.sock)
            h.sock.close()
            h.connect()
            chosen.register(h.sock, selectors.EVENT_WRITE if h.kind in UNREAD else both, h)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
