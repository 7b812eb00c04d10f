# SPDX-License-Identifier: BSD-3-Clause
"""Requests at random from yang/kamuee.yang: paths, bodies, set lines, queries and headers that follow it, spoilt now and then."""
import json
import random
import string
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

import schema                                                                   # noqa: E402

MODULE = schema.module()
METHODS = ["GET", "PUT", "PATCH", "POST", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"]
TOP = MODULE.all("container", "list", "leaf", "leaf-list")
STATE = next(node for node in TOP if node.argument == "state")
CONFIG = [node for node in TOP if node is not STATE]
# Requests that would end kamueed. Endless answers are read up to a bound (BOUNDED) or left at once (LEFT).
SKIPPED = {"shutdown"}
LEFT = {"capture", "trace", "test-tap"}
WORDS = ["p0", "p1", "v7", "red", "default", "ipv4", "ipv6", "10.0.0.1", "2001:db8::1", "239.1.1.1", "net_null7", "true", "false", "0", "1",
         "1500", "68", "-1", "99999999999999999999", "", " ", "%", "ü", "a" * 300, "../../x", "set port p0 mtu 1400", "delete port p1",
         "set vr red table 7", "[]", "0x10", "1.5", "NaN", "\u0000", "rx", "both", "adjacency", "any", "loose", "02:00:00:00:00:09",
         "web", "bad", "10.0.0.0/8", "2001:db8::/32", "tcp", "443", "1024-65535", "127.0.0.1", "/etc/hostname", "/nowhere/x", "permit"]
# A value that is right more often than not, by the name of its type.
RIGHT = {"port-ref": ["p0", "p1"], "acl-ref": ["web"], "address-set-ref": ["bad"], "object-name": ["web", "bad", "other"],
         "name": ["p0", "p1", "v7", "red"], "member": ["192.0.2.0/24", "2001:db8::7", "10.0.0.1"], "inet:ip-prefix": ["192.0.2.0/24", "2001:db8::/32"],
         "inet:ip-address": ["192.0.2.1", "2001:db8::1"], "inet:ip-address-no-zone": ["192.0.2.1", "127.0.0.1", "::1"],
         "inet:port-number": [443, 18443, 6343], "mac": ["02:00:00:00:00:09"], "yang:mac-address": ["02:00:00:00:00:09"], "octets": ["00:11:22:33"]}
QUERIES = ["content=config", "content=nonconfig", "content=x", "depth=1", "depth=2", "depth=0", "fields=name", "fields=a(b;c)", "fields=((",
           "fields=*", "fields=route/prefix", "fields=name;statistics(rx-packets;tx-packets)", "fields=route(prefix;next-hop)", "fields=" + "(" * 50,
           "limit=1", "limit=0", "limit=3&offset=2", "limit=4294967295&offset=4294967295", "offset=2", "offset=-1", "with-defaults=report-all",
           "with-defaults=trim", "prefix=10.0.0.0/8", "prefix=10.9.0.1/32&match=longest", "prefix=10.9.0.0/16&match=longer", "match=longer",
           "protocol=bgp", "protocol=static", "type=unicast", "filter=%5B", "x=y", "%", "&&=", "start-time=0"]
HEADERS = ["If-Match: *", "If-Match: \"x\"", "If-None-Match: *", "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "If-Match: \"",
           "If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT", "Accept: text/html", "Accept: */*", "Accept: text/event-stream",
           "Expect: 100-continue", "Authorization: Basic ???", "Authorization: Bearer x", "Content-Type: text/plain", "Content-Type: application/yang-data+xml"]
STANDARD = ["ietf-interfaces:interfaces", "ietf-interfaces:interfaces/interface", "ietf-interfaces:interfaces/interface=p0",
            "ietf-interfaces:interfaces/interface=p0/statistics", "ietf-interfaces:interfaces/interface=nowhere", "ietf-interfaces:x",
            "ietf-routing:routing", "ietf-routing:routing/ribs", "ietf-routing:routing/ribs/rib", "ietf-routing:routing/ribs/rib=default-ipv4",
            "ietf-routing:routing/ribs/rib=default-ipv6/routes", "ietf-routing:routing/ribs/rib=default-ipv4/routes",
            "ietf-routing:routing/ribs/rib=red-ipv4/routes", "ietf-routing:routing/ribs/rib=x/routes", "ietf-yang-library:yang-library",
            "ietf-restconf-monitoring:restconf-state"]
TABLES = ["kamuee:state/routes=default,ipv4", "kamuee:state/routes=default,ipv6", "kamuee:state/routes=red,ipv4", "kamuee:state/nexthop",
          "kamuee:state/neighbor", "kamuee:state/interface", "kamuee:state/acl", "kamuee:state/configuration/revision"]
FILTERS = ["/kamuee:link-change", "/kamuee:configuration-change[by='root']", "/kamuee:link-change[port='p0'] | /kamuee:alarm-change", "//*", "[", "/x:y",
           "count(/*)", "1 div 0", "/kamuee:route-change[contains(prefix,'10')]"]
PLAIN = ["/metrics", "/restconf", "/.well-known/host-meta", "/restconf/yang-library-version", "/restconf/operations", "/restconf/data", "/", "/x",
         "/restconf/streams", "//restconf/data", "/restconf/data/", "/restconf/data/kamuee:state", "*", "http://k/restconf"]


def word(value: object) -> str:
    """A value as in a line or a path."""
    return str(value).lower() if isinstance(value, bool) else "" if value == [None] else str(value)


class Request(NamedTuple):
    """`whole`: HTTP that must be answered. `left`: the client goes without waiting for the end. `operation`: what it runs, or ''."""
    data: bytes
    whole: bool = True
    left: bool = False
    operation: str = ""


def children(node) -> list:
    """Nodes of data below, through choices and cases."""
    inner = []
    for child in node.all("container", "list", "leaf", "leaf-list", "choice", "case"):
        inner += children(child) if child.keyword in ("choice", "case") else [child]
    return inner


def is_key(node, child) -> bool:
    key = node.one("key")
    return key is not None and child.argument in key.argument.split()


def types() -> dict:
    return {typedef.argument: typedef.one("type") for typedef in MODULE.all("typedef")}


TYPES = types()


class Maker:
    """Requests at random. `session`: numbers of sessions, which the caller fills from answers."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.session: list[int] = []

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    # --- values ----------------------------------------------------------------------------------

    def value(self, leaf) -> object:
        if self.chance(8):
            return self.random.choice([None, [], {}, [[None]], 1, -1, 1.5, True, 2**64, "x", {"a": {"b": []}}, [None]])
        return self.proper(leaf)

    def proper(self, leaf) -> object:
        """What its type allows, as a rule."""
        kind = leaf.one("type")
        if leaf.argument == "session" and self.session and self.chance(90):
            return self.random.choice(self.session)
        while True:
            if kind.argument in RIGHT and self.chance(85):
                return self.random.choice(RIGHT[kind.argument])
            if kind.argument == "union":
                kind = self.random.choice(kind.all("type"))
            elif kind.argument in TYPES and not kind.all("enum"):
                kind = TYPES[kind.argument]
            else:
                break
        if (words := [e.argument for e in kind.all("enum")]) and self.chance(85):
            return self.random.choice(words)
        if limits := kind.one("range"):
            low = limits.argument.split("..")[0]
            return int(low) + self.random.choice([0, 0, 1, 5, 100, -1]) if low.isdigit() else 7
        if kind.argument == "boolean":
            return self.chance(50)
        if kind.argument == "empty":
            return [None]
        if "int" in kind.argument:
            return self.random.choice([0, 1, 7, 100, 1500, 254, 65535, -1, 2**32])
        if self.chance(5):
            return "".join(self.random.choice(string.printable) for _ in range(self.random.randrange(60)))
        return self.random.choice(WORDS)

    # --- paths, bodies, lines --------------------------------------------------------------------

    def body(self, node) -> object:
        if node.keyword == "leaf":
            return self.value(node)
        if node.keyword == "leaf-list":
            return [self.value(node) for _ in range(self.random.randrange(3))]
        inner = {child.argument: self.body(child) for child in children(node)
                 if is_key(node, child) or self.chance(80 if child.one("mandatory") else 30)}
        return [inner] if node.keyword == "list" and not self.chance(5) else inner

    def key(self, node) -> list[str]:
        names = node.one("key").argument.split()
        leaves = {child.argument: child for child in children(node)}
        return [word(self.proper(leaves[name])) for name in names] if self.chance(80) else [self.random.choice(WORDS) for _ in names]

    def segment(self, node) -> str:
        if node.keyword == "leaf-list":
            return node.argument + "=" + self.encoded(word(self.proper(node)))
        if node.one("key") and self.chance(90):
            keys = self.key(node)
            return node.argument + "=" + ",".join(map(self.encoded, keys if self.chance(97) else keys[:1] + ["x"]))
        return node.argument

    def encoded(self, text: str) -> str:
        return "".join(c if c.isalnum() else f"%{b:02X}" for c in text for b in c.encode()[:1])

    def path(self):
        """(path below /restconf/data/, the schema node it ends at, or None)."""
        if self.chance(8):
            return self.random.choice(STANDARD), None
        if self.chance(6):
            return self.random.choice(TABLES), None
        node = STATE if self.chance(30) else self.random.choice(CONFIG)
        path = "kamuee:" + self.segment(node)
        while below := children(node):
            if self.chance(30):
                break
            node = self.random.choice(below)
            path += "/" + self.segment(node)
        if self.chance(4):
            path += self.random.choice(["/", "//", "=", "/x", "%00", "/" * 40, "%", "?"])
        return path, node

    def line(self) -> str:
        """'set …' or 'delete …', walked over the schema as an operator would."""
        words = [self.random.choice(["set", "set", "set", "delete"])]
        node = self.random.choice(CONFIG)
        while True:
            words.append(node.argument)
            if node.keyword == "list":
                words += self.key(node)
            if node.keyword in ("leaf", "leaf-list"):
                if words[0] == "set" or self.chance(20):
                    words += [word(self.proper(node))] if node.one("type").argument != "empty" else []
                break
            if node.argument == "rule" and words[0] == "set":
                words += ["permit", self.random.choice(["tcp", "ip", "udp"]), *self.random.choice([[], ["from", "set", "bad"], ["to", "any", "port", "443"]])]
            if words[0] == "delete" and self.chance(40):
                break
            below = [child for child in children(node) if not is_key(node, child)]
            if not below:                                                # an entry that is its key alone
                break
            node = self.random.choice(below)
        if self.chance(5):
            words.insert(self.random.randrange(len(words)), self.random.choice(WORDS))
        return " ".join(w if w and " " not in w else f'"{w}"' for w in words)

    # --- requests --------------------------------------------------------------------------------

    def operation(self) -> tuple[str, bytes]:
        rpc = self.random.choice([r for r in MODULE.all("rpc") if r.argument not in SKIPPED])
        if self.chance(35):         # sessions and commits are what there is most to
            name = self.random.choice(["configure", "confirm", "session-open", "edit", "edit", "compare", "configuration", "session-close"])
            rpc = MODULE.one("rpc", name)
        given = self.body(rpc.one("input")) if rpc.one("input") else {}
        if rpc.argument in ("configure", "edit") and isinstance(given, dict) and self.chance(85):
            given = {name: value for name, value in given.items() if name not in ("text", "format", "revision", "file", "replace") or self.chance(10)}
            given["line"] = [self.line() for _ in range(self.random.choice([1, 1, 1, 2, 5]))]
            if given.pop("confirm-within", None):
                given["confirm-within"] = self.random.choice([1, 2, 3])
        if rpc.argument == "trace" and isinstance(given, dict):
            given["seconds"] = 1
        return rpc.argument, json.dumps({"kamuee:input": given}).encode()

    def request(self) -> Request:
        if self.chance(3):
            return Request(bytes(self.random.randrange(256) for _ in range(self.random.randrange(1, 200))), whole=False)
        method, body, operation, left = self.random.choice(["GET"] * 4 + METHODS[1:7]), b"", "", False
        if self.chance(1):
            method = self.random.choice(["TRACE", "CONNECT", "BREW"])
        if self.chance(35):
            operation, body = self.operation()
            target, method, left = f"/restconf/operations/kamuee:{operation}", "POST", operation in LEFT
        elif self.chance(3):
            target, left = "/restconf/streams/events", method == "GET"
            if self.chance(60):
                target += "?filter=" + "".join(f"%{b:02X}" for b in self.random.choice(FILTERS).encode())
        elif self.chance(3):
            target = self.random.choice(PLAIN)
        else:
            path, node = self.path()
            target = f"/restconf/data/{path}"
            if method in ("PUT", "PATCH", "POST") and node:
                body = json.dumps({f"kamuee:{node.argument}": self.body(node)}).encode()
        if self.chance(25) and "?" not in target:
            target += "?" + "&".join(self.random.choice(QUERIES) for _ in range(self.random.randrange(1, 4)))
        if body and self.chance(6):
            at = self.random.randrange(len(body))
            body = body[:at] + self.random.choice([b"", b"\x00", b"}", b"{", b'"', b"\xff\xfe", b"[" * 3000]) + body[at + self.random.randrange(5):]
        return Request(self.message(method, target, body), left=left or self.chance(2), operation=operation)

    def message(self, method: str, target: str, body: bytes) -> bytes:
        headers = [self.random.choice(HEADERS)] if self.chance(12) else []
        length = f"Content-Length: {len(body)}"
        if body and self.chance(4):
            cut = self.random.randrange(len(body))
            body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:cut], body[cut:]) if part) + b"0\r\n\r\n"
            length = "Transfer-Encoding: chunked"
        return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: k", "Connection: close", length, *headers]).encode() + b"\r\n\r\n" + body
