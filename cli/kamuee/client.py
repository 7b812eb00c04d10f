# SPDX-License-Identifier: BSD-3-Clause
"""What the tools say to kamueed: RESTCONF (RFC 8040), JSON as of RFC 7951.

    client.state("port=p0")                      the value under /restconf/data/kamuee:state/
    client.rows("routes=default,ipv4", "route")  one long list, row by row
    client.call("lookup", address=["192.0.2.1"]) an operation; its output

Names lose their module on the way in and 64-bit numbers become numbers again (RFC 7951 sends
them as strings).
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from kamuee import http, stream
from kamuee.errors import DaemonError, NotFound
from kamuee.wide import WIDE

DEFAULT_SOCKET = "/run/kamuee/kamuee.sock"
MODULE = "kamuee"
STATE_TIMEOUT_S = 30
OPERATION_TIMEOUT_S = 300


def socket_path(option: str | None = None) -> str:
    """The socket: --socket, else KAMUEE_SOCKET, else the usual one."""
    return option or os.environ.get("KAMUEE_SOCKET") or DEFAULT_SOCKET


def key(*values: str) -> str:
    """The keys of a list entry in a path."""
    return ",".join(quote(value, safe="") for value in values)


class Client:
    """Talks to the daemon behind one socket; holds nothing but the socket's path."""

    def __init__(self, path: str) -> None:
        self.path = path

    def state(self, path: str) -> Any:
        """One container or list of the state. A list with a key gives a list of one."""
        answer = self._ask("GET", f"/restconf/data/{MODULE}:state/{path}", None, STATE_TIMEOUT_S)
        return plain(only(self._json(answer)))

    def entries(self, path: str) -> list[dict]:
        """Every entry of a list of the state; an empty list when it has none."""
        try:
            found = self.state(path)
        except NotFound:
            return []
        return found if isinstance(found, list) else found.get(path.rpartition("/")[2], [])

    def one_or_all(self, path: str, name: str | None, called: str) -> list[dict]:
        """All entries of a list of the state, or only the named one, in a list."""
        if name is None:
            return self.entries(path)
        try:
            return self.state(f"{path}={key(name)}")
        except NotFound:
            raise DaemonError([f"there is no {called} {name}; 'show {path}' lists them"]) from None

    def rows(self, path: str, member: str, query: dict[str, str | None] | None = None,
             raw: bool = False) -> Iterator[Any]:
        """The rows of one long list of the state as they arrive; with `raw` as JSON text."""
        asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in (query or {}).items() if value)
        target = f"/restconf/data/{MODULE}:state/{path}" + (f"?{asked}" if asked else "")
        answer = self._ask("GET", target, None, STATE_TIMEOUT_S)
        try:
            yield from stream.rows(answer.body, member, raw)
        except stream.Broken as broken:
            raise DaemonError([f"kamueed sent a malformed answer: {broken}"]) from None
        finally:
            answer.close()

    def call(self, operation: str, /, **given: Any) -> dict:
        """Run one operation of the schema. None among the arguments means not given."""
        return plain(only(self._json(self._post(operation, given))) or {})

    def stream(self, operation: str, /, **given: Any) -> http.Answer:
        """Run an operation whose output is not JSON; the body is the caller's to read and close."""
        return self._post(operation, given)

    def events(self, wanted: str) -> http.Answer:
        """The stream of events (of those the filter names); the body is the caller's to read and close."""
        query = f"?filter={quote(wanted, safe='')}" if wanted else ""
        return self._ask("GET", f"/restconf/streams/events{query}", None, STATE_TIMEOUT_S)

    def _post(self, operation: str, given: dict[str, Any]) -> http.Answer:
        kept = {word.replace("_", "-"): value for word, value in given.items() if value is not None}
        body = json.dumps({f"{MODULE}:input": kept}).encode() if kept else None
        return self._ask("POST", f"/restconf/operations/{MODULE}:{operation}", body or b"", OPERATION_TIMEOUT_S)

    def _ask(self, method: str, target: str, body: bytes | None, timeout_s: float) -> http.Answer:
        answer = http.request(self.path, method, target, body, timeout_s)
        if 200 <= answer.status < 300:
            return answer
        raise refusal(answer.status, answer.read())

    def _json(self, answer: http.Answer) -> Any:
        text = answer.read()
        if not text.strip():
            return {}
        try:
            return json.loads(text)
        except ValueError as error:
            raise DaemonError([f"kamueed's answer is not JSON: {error}"]) from None


def only(body: Any) -> Any:
    """The value of the only member of an answer."""
    if isinstance(body, dict) and len(body) == 1:
        return next(iter(body.values()))
    return body


def plain(value: Any) -> Any:
    """The value with 64-bit numbers as numbers and member names without a module."""
    if isinstance(value, dict):
        return {(short := name.rpartition(":")[2]): number(inner)
                if short in WIDE and isinstance(inner, str) else plain(inner)
                for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value


def number(text: str) -> int | str:
    """The number in the text, or the text."""
    return int(text) if text.lstrip("-").isdecimal() else text


def refusal(status: int, body: bytes) -> DaemonError:
    """The error in an answer with this status (RFC 8040, 7.1)."""
    try:
        errors = json.loads(body)["ietf-restconf:errors"]["error"]
        messages = [sentence(error) for error in errors]
        tag = errors[0].get("error-tag", "")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        messages, tag = [f"kamueed answered with HTTP status {status} and no message"], ""
    return (NotFound if status == 404 else DaemonError)(messages, tag)


def sentence(error: dict) -> str:
    message = error.get("error-message") or error.get("error-tag", "refused without a message")
    path = error.get("error-path")
    return f"{path}: {message}" if path and not error.get("error-message") else message
