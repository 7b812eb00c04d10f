# SPDX-License-Identifier: BSD-3-Clause
"""ha check, ha push: the part of the configuration that several routers share, sent to all of them or to none.

The file /etc/kamuee/ha.conf (KAMUEE_HA) says what is shared and with whom:

    share acl address-set policer
    peer k2 https://192.0.2.2:8443 token /etc/kamuee/ha.token ca /etc/kamuee/ca.pem
    peer k3 unix:/run/k3/kamuee.sock

A push has three rounds: each peer checks its new configuration; each commits it, to be rolled back unless it is
confirmed; each confirms. Whatever fails in a round, all peers have their old configuration afterwards: those that can
be reached at once, the others by the commit that nobody confirms.
"""
from __future__ import annotations

import http.client
import json
import os
import platform
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kamuee.client import Client, refusal
from kamuee.context import Context
from kamuee.errors import DaemonError, KamueeError, Unreachable, reason
from kamuee.grammar import Match

FILE = "/etc/kamuee/ha.conf"
CONFIRM_S = 60
EXAMPLE = "peer NAME https://ADDRESS:PORT token FILE [ca FILE]"


@dataclass
class Told:
    """An answer, in the form of Client's own connection."""

    status: int
    text: bytes

    def read(self) -> bytes:
        return self.text


class Remote(Client):
    """A kamueed behind TLS that knows us by a token."""

    def __init__(self, url: str, token: str, ca: str | None) -> None:
        super().__init__(url)
        self.url, self.token, self.ca = urlsplit(url), token, ca

    def _ask(self, method: str, target: str, body: bytes | None, timeout_s: float) -> Any:
        try:
            trusted = ssl.create_default_context(cafile=self.ca)
            connection = http.client.HTTPSConnection(self.url.hostname or "", self.url.port or 443, timeout=timeout_s,
                                                     context=trusted)
            connection.request(method, target, body, {"Authorization": f"Bearer {self.token}",
                                                      "Content-Type": "application/yang-data+json"})
            answer = connection.getresponse()
            told = Told(answer.status, answer.read())
            connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"cannot reach kamueed at {self.url.geturl()}: {reason(error)}") from None
        if 200 <= told.status < 300:
            return told
        raise refusal(told.status, told.text)


def configuration_of(client: Client) -> str:
    """As JSON, so that no value can be mistaken for a line."""
    return client.call("configuration", format="json")["text"]


@dataclass
class Peer:
    name: str
    client: Client
    old: str = ""
    new: str = ""

    def read(self) -> None:
        self.old = configuration_of(self.client)

    def commit(self, **how: Any) -> list[str]:
        """The changes of the commit, made or only planned."""
        return self.client.call("configure", text=self.new, format="json", replace=True, **how).get("change", [])

    def confirm(self) -> None:
        self.client.call("confirm")

    def go_back(self) -> None:
        """Restores the old configuration, even if another one is confirmed by now."""
        self.client.call("configure", text=self.old, format="json", replace=True, confirm=True, comment="ha push: not on all peers")


@dataclass
class Setup:
    share: list[str]
    peers: list[Peer]


def words_after(words: list[str], name: str, where: str) -> dict[str, str]:
    if len(words) % 2 or not set(words[::2]) <= {"token", "ca"}:
        raise KamueeError(f"{where}: peer {name}: expected '{EXAMPLE}'")
    return dict(zip(words[::2], words[1::2]))


def secret(path: str) -> str:
    try:
        if os.stat(path).st_mode & 0o077:
            raise KamueeError(f"{path}: others can read it: chmod 600 {path}")
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise KamueeError(f"{path}: {reason(error)}") from None


def peer_of(words: list[str], where: str) -> Peer:
    if len(words) < 2:
        raise KamueeError(f"{where}: expected '{EXAMPLE}'")
    name, url, given = words[0], words[1], words_after(words[2:], words[0], where)
    if url.startswith("unix:"):
        return Peer(name, Client(url.removeprefix("unix:")))
    if not url.startswith("https://") or "token" not in given:
        raise KamueeError(f"{where}: peer {name}: expected '{EXAMPLE}'; without TLS a token would be readable")
    return Peer(name, Remote(url, secret(given["token"]), given.get("ca")))


def setup() -> Setup:
    """The file; comments begin with '#'."""
    path = os.environ.get("KAMUEE_HA", FILE)
    found = Setup([], [])
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise KamueeError(f"{path}: {reason(error)}: it says what is shared with whom, such as 'share acl policer' and "
                          f"'{EXAMPLE}'") from None
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if words[0] == "share":
            found.share += words[1:]
        elif words[0] == "peer":
            found.peers.append(peer_of(words[1:], f"{path}:{number}"))
        else:
            raise KamueeError(f"{path}:{number}: unknown word '{words[0]}', expected share or peer")
    if not found.share or not found.peers:
        raise KamueeError(f"{path}: expected a line 'share WORD…' and a line '{EXAMPLE}'")
    return found


def merged(ours: str, theirs: str, share: list[str]) -> str:
    """The peer's configuration, as JSON, with our values of the shared parts."""
    def is_shared(name: str) -> bool:
        return name.rpartition(":")[2] in share

    kept = {name: value for name, value in json.loads(theirs).items() if not is_shared(name)}
    return json.dumps(kept | {name: value for name, value in json.loads(ours).items() if is_shared(name)})


def prepare(context: Context) -> Setup:
    """The planned configuration of each peer; changes nothing."""
    found = setup()
    ours = configuration_of(context.client)
    for peer in found.peers:
        with_name(peer, peer.read)
        peer.new = merged(ours, peer.old, found.share)
    return found


def with_name(peer: Peer, run: Any, **how: Any) -> Any:
    """Adds the peer's name to an error."""
    try:
        return run(**how)
    except DaemonError as error:
        raise DaemonError([f"{peer.name}: {message}" for message in error.messages], error.tag) from None
    except KamueeError as error:
        raise type(error)(f"{peer.name}: {error}") from None


def counted(changes: list[str]) -> str:
    return f"{len(changes)} change{'s' * (len(changes) > 1)}" if changes else "no change"


def check(context: Context, match: Match) -> None:
    for peer in prepare(context).peers:
        changes = with_name(peer, peer.commit, check=True)
        context.line(f"{peer.name}: {counted(changes)}")
        for change in changes:
            context.line(f"  {change}")


def take_back(context: Context, peers: list[Peer]) -> None:
    for peer in peers:
        try:
            peer.go_back()
            context.line(f"{peer.name}: has its old configuration again")
        except KamueeError as error:
            context.line(f"{peer.name}: rolls back by itself within {CONFIRM_S} s, unless it was confirmed already: "
                         f"{error}")


def push(context: Context, match: Match) -> None:
    found = prepare(context)
    changes = {peer.name: with_name(peer, peer.commit, check=True) for peer in found.peers}
    peers = [peer for peer in found.peers if changes[peer.name]]
    begun: list[Peer] = []
    try:
        for peer in peers:
            begun.append(peer)
            with_name(peer, peer.commit, confirm_within=CONFIRM_S, comment=f"ha push from {platform.node()}")
        for peer in peers:
            with_name(peer, peer.confirm)
    except KamueeError:
        take_back(context, begun)
        raise
    for peer in found.peers:
        context.line(f"{peer.name}: {counted(changes[peer.name])}")
