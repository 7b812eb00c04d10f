# SPDX-License-Identifier: BSD-3-Clause
"""A RESTCONF server on a UNIX socket that says what tests want to hear.

It answers from a tree of state as kamueed would: 64-bit numbers as strings, lists by key, routes
streamed in chunks, errors as of RFC 8040. What it was asked lies in `asked`.
"""
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote, urlsplit

STATE = "/restconf/data/kamuee:state/"
OPERATIONS = "/restconf/operations/kamuee:"
LIST_KEYS = {"port-history": ("name",), "port": ["name"], "interface": ["name"], "thread": ["name"], "drop": ["name"], "vr": ["name"],
             "neighbor": ["vr", "interface", "address"], "label": ["vr", "label"],
             "nexthop": ["id"], "audit": ["vr"], "queue": ["port"], "acl": ["name"], "address-set": ["name"],
             "capture": ["id"]}


class Refused(Exception):
    def __init__(self, status, *messages, tag="invalid-value"):
        super().__init__(messages)
        self.status, self.messages, self.tag = status, messages, tag


class Stopped(Exception):
    """The daemon ends in the middle of an answer."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "test"

    def log_message(self, *_):
        pass

    def do_GET(self):
        daemon = self.server.daemon_of_test
        url = urlsplit(self.path)
        daemon.asked.append(("GET", unquote(url.path), {k: v[0] for k, v in parse_qs(url.query).items()}))
        try:
            if url.path == "/restconf/streams/events":
                self.events()
                return
            assert url.path.startswith(STATE), url.path
            path = url.path[len(STATE):]
            if path.startswith("routes="):
                self.stream(daemon, [unquote(part) for part in path[len("routes="):].split(",")])
            else:
                name, value = daemon.read(path)
                self.answer(200, {f"kamuee:{name}": value})
        except Refused as refused:
            self.refuse(refused)

    def do_POST(self):
        daemon = self.server.daemon_of_test
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        given = json.loads(body)["kamuee:input"] if body else {}
        name = self.path[len(OPERATIONS):]
        daemon.asked.append(("POST", name, given))
        try:
            output = daemon.operations[name](given)
        except Refused as refused:
            return self.refuse(refused)
        if isinstance(output, bytes):
            self.pass_on(output[at:at + 5000] for at in range(0, len(output), 5000))
        elif isinstance(output, Iterator):
            self.pass_on(output)
        elif output is None:
            self.send_response(204)
            self.end_headers()
        else:
            self.answer(200, {"kamuee:output": output})

    def pass_on(self, pieces):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            for piece in pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

    def refuse(self, refused):
        self.answer(refused.status, {"ietf-restconf:errors": {"error": [
            {"error-type": "application", "error-tag": refused.tag, "error-message": text}
            for text in refused.messages]}})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/yang-data+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self):
        notification = {"eventTime": "2026-11-22T08:00:00.123Z", "kamuee:link-change": {"port": "p0", "status": "up"}}
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk("data: " + json.dumps({"ietf-restconf:notification": notification}) + "\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def stream(self, daemon, keys):
        vr, family = keys
        if vr not in {entry["name"] for entry in daemon.state["vr"]}:
            raise Refused(404, f"there is no vr {vr}", tag="data-missing")
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk(f'{{"kamuee:routes":[{{"vr":"{vr}","family":"{family}","route":[')
        try:
            block, separator = [], ""
            for row in daemon.routes(family):
                block.append(separator + (row if isinstance(row, str) else json.dumps(row)))
                separator = ","
                if len(block) == 700:
                    self.chunk("".join(block))
                    block = []
            self.chunk("".join(block) + "]}]}")
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            daemon.left.set()
        except Stopped:
            self.close_connection = True

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


class Daemon:
    """What the tests talk to in kamueed's place. `state` is a tree without a module's name."""

    def __init__(self, path, state):
        self.path, self.state = str(path), state
        self.asked = []
        self.left = threading.Event()  # a client went away in the middle of a table
        self.operations = {}
        self.routes = lambda family: state["routes"][family]
        self._server = Server(self.path, Handler)
        self._server.daemon_of_test = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def read(self, path):
        """(member, value) of one container, list or list entry."""
        name, equals, keys = path.partition("=")
        if name not in self.state:
            raise Refused(404, f"there is no {name}", tag="data-missing")
        value = self.state[name]
        if equals:
            wanted = [unquote(part) for part in keys.split(",")]
            value = [entry for entry in value if [str(entry[k]) for k in LIST_KEYS[name]] == wanted]
            if not value:
                raise Refused(404, f"there is no {path}", tag="data-missing")
        return name, value
