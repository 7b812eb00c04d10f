# SPDX-License-Identifier: BSD-3-Clause
"""The file /etc/kamuee/flowspec.conf: the speaker, the peers, and the access lists that get their rules.

    speaker exabgp
    list default edge rules 1000000-1999999
    peer 192.0.2.1 vr default limit 5000 validate routes
    redirect 64500:100 to 198.51.100.9
    protect tcp 192.0.2.254 22
"""
from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from kamuee.errors import KamueeError, reason

FILE = "/etc/kamuee/flowspec.conf"
STATE = "/run/kamuee-flowspec/state"
ACTIONS = ("drop", "rate", "redirect", "mark", "sample")
PROTOCOLS = {"tcp": 6, "udp": 17, "icmp": 1, "icmp6": 58}
POLICERS = 4000         # of the 4095 that all access lists share


class Target(NamedTuple):
    """An access list, and the numbers of its rules that are ours."""

    acl: str
    first: int
    last: int


@dataclass
class Peer:
    address: str
    vr: str = "default"
    limit: int = 10000
    validate: bool = True
    nexthops: tuple[str, ...] = ()
    expire_s: int = 0
    actions: tuple[str, ...] = ACTIONS
    local: str = ""             # our address of the session, if the speaker does not tell it


class Protected(NamedTuple):
    """Packets for this router that no rule may touch. None: any."""

    protocol: int
    local: str | None
    port: int | None        # of either side
    remote: str | None = None
    why: str = ""


@dataclass
class Setup:
    path: str = FILE
    speaker: str = "exabgp"
    host: str = "127.0.0.1"
    port: int = 50051
    hold_s: int = 300
    restart_s: int = 120
    revalidate_s: int = 10
    sample_every: int = 1000
    rules_each: int = 600       # that one route may become
    policers: int = POLICERS
    state: str = STATE
    metrics: str = ""
    targets: dict[str, list[Target]] = field(default_factory=dict)    # by virtual router
    peers: dict[str, Peer] = field(default_factory=dict)
    redirects: dict[str, dict[int, str]] = field(default_factory=dict)  # by route target, then by family
    protected: list[Protected] = field(default_factory=list)


class Wrong(Exception):
    """What is wrong with a line."""


def address(word: str) -> str:
    try:
        return str(ipaddress.ip_address(word))
    except ValueError:
        raise Wrong(f"'{word}' is no address") from None


def whole(low: int, high: int) -> Callable[[str], int]:
    def read(word: str) -> int:
        if not word.isdecimal() or not low <= int(word) <= high:
            raise Wrong(f"'{word}', expected a number from {low} to {high}")
        return int(word)
    return read


def several(word: str) -> tuple[str, ...]:
    found = tuple(word.split(","))
    if not set(found) <= set(ACTIONS):
        raise Wrong(f"'{word}', expected some of {','.join(ACTIONS)}")
    return found


def one_of(**values: Any) -> Callable[[str], Any]:
    def read(word: str) -> Any:
        if word not in values:
            raise Wrong(f"'{word}', expected {' or '.join(values)}")
        return values[word]
    return read


SECONDS = whole(1, 604800)
PEER = {"vr": ("vr", str), "limit": ("limit", whole(1, 4000000)), "validate": ("validate", one_of(routes=True, off=False)),
        "next-hop": ("nexthops", lambda word: tuple(map(address, word.split(",")))), "expire": ("expire_s", SECONDS),
        "actions": ("actions", several), "local": ("local", address)}
VALUES = {"speaker": ("speaker", one_of(exabgp="exabgp", gobgp="gobgp")), "hold": ("hold_s", SECONDS), "restart-time": ("restart_s", SECONDS),
          "revalidate": ("revalidate_s", SECONDS), "sample-every": ("sample_every", whole(1, 65535)),
          "rules-per-route": ("rules_each", whole(1, 100000)), "policers": ("policers", whole(0, 4095)), "state": ("state", str),
          "metrics": ("metrics", str)}


def read_peer(setup: Setup, words: list[str]) -> None:
    if not words or len(words) % 2 == 0:
        raise Wrong("expected 'peer ADDRESS [vr NAME] [limit N] [validate routes|off] [next-hop A,…] [expire S] [actions A,…] [local ADDRESS]'")
    peer = Peer(address(words[0]))
    for word, value in zip(words[1::2], words[2::2]):
        if word not in PEER:
            raise Wrong(f"unknown word '{word}', expected {', '.join(PEER)}")
        name, read = PEER[word]
        setattr(peer, name, read(value))
    if peer.address in setup.peers:
        raise Wrong(f"peer {peer.address} appears twice")
    setup.peers[peer.address] = peer


def read_list(setup: Setup, words: list[str]) -> None:
    low, _, high = words[3].partition("-") if len(words) == 4 and words[2] == "rules" else ("", "", "")
    if not low.isdecimal() or not high.isdecimal() or not 1 <= int(low) < int(high) < 1 << 32:
        raise Wrong("expected 'list VR ACL rules FIRST-LAST', numbers from 1 to 4294967294")
    setup.targets.setdefault(words[0], []).append(Target(words[1], int(low), min(int(high), 4294967294)))


def read_redirect(setup: Setup, words: list[str]) -> None:
    if len(words) not in (3, 4) or words[1] != "to" or ":" not in words[0]:
        raise Wrong("expected 'redirect ROUTE-TARGET to ADDRESS [ADDRESS]', one of each family")
    ways = setup.redirects.setdefault(words[0], {})
    for word in map(address, words[2:]):
        ways[ipaddress.ip_address(word).version] = word


def read_protect(setup: Setup, words: list[str]) -> None:
    if len(words) not in (2, 3) or words[0] not in PROTOCOLS:
        raise Wrong(f"expected 'protect {'|'.join(PROTOCOLS)} ADDRESS [PORT]'")
    port = whole(0, 65535)(words[2]) if len(words) == 3 else None
    setup.protected.append(Protected(PROTOCOLS[words[0]], address(words[1]), port, None, "protect " + " ".join(words)))


def read_gobgp(setup: Setup, words: list[str]) -> None:
    if len(words) != 2:
        raise Wrong("expected 'gobgp ADDRESS PORT' of its API")
    setup.host, setup.port = address(words[0]), whole(1, 65535)(words[1])


LINES = {"peer": read_peer, "list": read_list, "redirect": read_redirect, "protect": read_protect, "gobgp": read_gobgp}


def read_line(setup: Setup, words: list[str]) -> None:
    if words[0] in LINES:
        LINES[words[0]](setup, words[1:])
    elif words[0] in VALUES and len(words) == 2:
        name, read = VALUES[words[0]]
        setattr(setup, name, read(words[1]))
    else:
        raise Wrong(f"unknown word '{words[0]}' or wrong number of words, expected {', '.join([*LINES, *VALUES])}")


def load(path: str | None = None) -> Setup:
    """The file; '#' begins a comment."""
    path = path or os.environ.get("KAMUEE_FLOWSPEC") or FILE
    setup = Setup(path)
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise KamueeError(f"{path}: {reason(error)}: it names the speaker, the lists and the peers; see kamuee-flowspec(8)") from None
    for number, line in enumerate(lines, 1):
        if words := line.partition("#")[0].split():
            try:
                read_line(setup, words)
            except Wrong as wrong:
                raise KamueeError(f"{path}:{number}: {words[0]}: {wrong}") from None
    if not setup.peers or not setup.targets:
        raise KamueeError(f"{path}: expected a line 'peer ADDRESS vr VR' and a line 'list VR ACL rules FIRST-LAST'")
    for peer in setup.peers.values():
        if peer.vr not in setup.targets:
            raise KamueeError(f"{path}: peer {peer.address}: there is no line 'list {peer.vr} ACL rules FIRST-LAST'")
    return setup
