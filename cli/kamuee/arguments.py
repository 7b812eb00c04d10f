# SPDX-License-Identifier: BSD-3-Clause
"""The arguments that patterns name: what they look like, what they mean, where TAB finds values."""
from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import NamedTuple

NAME = re.compile(r"[A-Za-z0-9_.-]{1,15}")


class Argument(NamedTuple):
    help: str
    accepts: Callable[[str], bool]
    source: str = ""  # of live values, see live.py
    values: tuple[str, ...] = ()


def family_of(address: str) -> str | None:
    """'ipv4' or 'ipv6' of an address; None when it is none."""
    for name, number in (("ipv4", socket.AF_INET), ("ipv6", socket.AF_INET6)):
        try:
            socket.inet_pton(number, address)
            return name
        except (OSError, UnicodeEncodeError, ValueError):
            continue
    return None


def is_address(word: str) -> bool:
    return family_of(word) is not None


def is_prefix(word: str) -> bool:
    address, slash, length = word.partition("/")
    family = family_of(address)
    bits = {"ipv4": 32, "ipv6": 128}.get(family or "", -1)
    return bool(slash) and length.isascii() and length.isdigit() and int(length) <= bits


def is_name(word: str) -> bool:
    return NAME.fullmatch(word) is not None


def is_word(word: str) -> bool:
    return bool(word) and word.isprintable()


PROTOCOLS = ("kernel", "static", "frr-static", "bgp", "ospf", "rip", "ripng", "isis", "babel", "bird", "zebra", "ra",
             "dhcp", "boot")
TYPES = ("unicast", "local", "broadcast", "connected", "blackhole", "unreachable", "prohibit", "multicast")

ARGUMENTS = {
    "PORT": Argument("a port", is_name, "port"),
    "INTERFACE": Argument("an interface: a port or a vport", is_name, "interface"),
    "VR": Argument("a virtual router; 'default' when left out", is_name, "vr"),
    "NAME": Argument("a new name of 1 to 15 letters, digits, '_', '.', '-'", is_name),
    "DEVARGS": Argument("a DPDK device: 0000:3b:00.0, net_af_packet0,iface=eth1, …", is_word),
    "NS": Argument("a network namespace (ip netns)", is_word, "netns"),
    "PREFIX": Argument("a prefix: 192.0.2.0/24 or 2001:db8::/32", is_prefix),
    "ADDRESS": Argument("an address: 192.0.2.1 or 2001:db8::1", is_address),
    "PROTOCOL": Argument("who made the route: a name or a number", is_word, values=PROTOCOLS),
    "TYPE": Argument("kind of route", is_word, values=TYPES),
    "LINE": Argument("a line of configuration", is_word),
    "ARGS": Argument("see 'lab --help', 'demo --help' and 'bench --help'", lambda word: True),
}


def accepts(name: str, word: str) -> bool:
    return ARGUMENTS[name].accepts(word)
