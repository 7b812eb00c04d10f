# SPDX-License-Identifier: BSD-3-Clause
"""Reads what ExaBGP writes to a process of its API: JSON of ExaBGP 4, one object per line.

The array of a component loses which values belong together (ExaBGP 4.2: '=syn+ack' becomes '=syn', '=ack'), so this
reads the text of the route, "string", which does not.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache

from kamuee.flowspec.event import Announce, Attributes, Complete, Event, Session, Unreadable, Withdraw, action
from kamuee.flowspec.flow import (AND, BITS, DESTINATION, DSCP, EQUAL, FRAGMENT, FROM_PORT, GREATER, ICMP_CODE, ICMP_TYPE, LABEL,
                                  LENGTH, LESS, MATCH, MEMORY, NOT, PORT, PROTOCOL, SOURCE, TCP_FLAGS, TO_PORT, Flow, Invalid, Ops, Prefix,
                                  in_order, part, prefix)

COMPONENTS = {"destination-ipv4": DESTINATION, "destination-ipv6": DESTINATION, "source-ipv4": SOURCE, "source-ipv6": SOURCE,
              "protocol": PROTOCOL, "next-header": PROTOCOL, "port": PORT, "destination-port": TO_PORT, "source-port": FROM_PORT,
              "icmp-type": ICMP_TYPE, "icmp-code": ICMP_CODE, "tcp-flags": TCP_FLAGS, "packet-length": LENGTH, "dscp": DSCP,
              "traffic-class": DSCP, "fragment": FRAGMENT, "flow-label": LABEL}
PROTOCOLS = {"icmp": 1, "igmp": 2, "tcp": 6, "egp": 8, "udp": 17, "rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "ospf": 89, "ipip": 94,
             "pim": 103, "sctp": 132}
ICMP_TYPES = {"echo-reply": 0, "unreachable": 3, "source-quench": 4, "redirect": 5, "echo-request": 8, "router-advertisement": 9,
              "router-solicit": 10, "time-exceeded": 11, "parameter-problem": 12, "timestamp": 13, "timestamp-reply": 14,
              "info-request": 15, "info-reply": 16, "mask-request": 17, "mask-reply": 18, "traceroute": 30,
              "experimental-mobility": 41, "extended-echo-request": 42, "extended-echo-reply": 43}
WORDS = {PROTOCOL: PROTOCOLS, ICMP_TYPE: ICMP_TYPES,
         TCP_FLAGS: {name: 1 << i for i, name in enumerate(BITS[TCP_FLAGS])} | {"push": 8, "ns": 0x100},
         FRAGMENT: {name: 1 << i for i, name in enumerate(BITS[FRAGMENT])} | {"not-a-fragment": 0}}
SIGNS = {"=": EQUAL, ">": GREATER, ">=": GREATER | EQUAL, "<": LESS, "<=": LESS | EQUAL, "!=": LESS | GREATER}
FAMILIES = ((4, "ipv4 flow"), (6, "ipv6 flow"))
BIT_SIGNS = {"": 0, "=": MATCH, "!": NOT, "!=": NOT | MATCH}
NAMELESS = re.compile(r"unknown [a-z ]+ type (\d+)")
COMPONENT = re.compile(r" +(\S+) +(?:\[ ([^]]*)\]|(\S+))")
VALUE = re.compile(r"([<>!=]*)([A-Za-z0-9+-]*)")


def events(line: str) -> Iterator[Event]:
    """The events of a line; none for what does not concern flow specifications."""
    try:
        told = json.loads(line)
        neighbor = told["neighbor"]
        peer = neighbor["address"]["peer"]
    except (ValueError, KeyError, TypeError):
        return
    if told.get("type") == "update" or (told.get("type") == "state" and neighbor.get("state") in ("up", "down")):
        number = neighbor.get("asn", {})        # an update says, too, that the session is up
        yield Session(peer, neighbor.get("state") != "down", neighbor["address"].get("local", ""),
                      number.get("local", 0), number.get("peer", 0))
    if told.get("type") != "update":
        return
    message = neighbor.get("message", {})
    if message.get("eor", {}).get("safi") == "flow":
        yield Complete(peer, 4 if message["eor"].get("afi") == "ipv4" else 6)
    update = message.get("update", {})
    given = update.get("attribute", {})
    announced, withdrawn = update.get("announce", {}), update.get("withdraw", {})
    for family, name in FAMILIES:
        for nexthop, routes in announced.get(name, {}).items():
            has = attributes(tuple([one["value"] for one in given.get("extended-community", ())]), nexthop, tuple(numbers(given.get("as-path", ()))))
            for found in read_all(peer, family, routes):
                yield Announce(peer, found, has) if isinstance(found, Flow) else found
        for found in read_all(peer, family, withdrawn.get(name, ())):
            if isinstance(found, Flow):
                yield Withdraw(peer, found)


@lru_cache(MEMORY)
def attributes(communities: tuple[int, ...], nexthop: str, path: tuple[int, ...]) -> Attributes:
    actions = tuple(found for one in communities if (found := action(one)))
    return Attributes(actions, "" if nexthop == "no-nexthop" else nexthop, path)


def numbers(path: object) -> Iterator[int]:
    """The AS path, whose sets are lists of their own."""
    for one in path if isinstance(path, list) else ():
        if isinstance(one, int):
            yield one


def read_all(peer: str, family: int, routes: list[dict]) -> Iterator[Flow | Unreadable]:
    for route in routes:
        try:
            yield read(family, route["string"])
        except (Invalid, ValueError, KeyError) as error:
            yield Unreadable(peer, str(route.get("string", route)), str(error))


def read(family: int, written: str) -> Flow:
    """flow destination-ipv4 192.0.2.0/24 port [ =80 >=8000&<=9000 ]"""
    if "unknown" in written:
        written = NAMELESS.sub(r"\1", written)
    parts, at = [], len("flow")
    for found in COMPONENT.finditer(written, at):
        if found.start() != at:
            break
        at = found.end()
        parts.append(read_part(family, found[1], found[2] if found[3] is None else found[3]))
    if written[at:].strip():
        raise Invalid(f"expected a component at '{written[at:].strip()}'")
    return in_order(family, parts)


@lru_cache(MEMORY)
def read_part(family: int, name: str, written: str) -> tuple[int, Prefix | Ops]:
    if name not in COMPONENTS:
        raise Invalid(f"unknown component '{name}'")
    kind = COMPONENTS[name]
    return part(family, kind, prefix(family, written) if kind in (DESTINATION, SOURCE) else operators(kind, written.split()))


def operators(kind: int, values: list[str]) -> Ops:
    found = []
    for value in values:
        for i, one in enumerate(value.split("&")):
            match = VALUE.fullmatch(one)
            signs = BIT_SIGNS if kind in BITS else SIGNS
            if not match or match[1] not in signs:
                raise Invalid(f"unknown operator in '{value}'")
            if one:                 # '&' in front of the first value of a group joins nothing
                found.append((signs[match[1]] | (AND if i and found else 0), number(kind, match[2])))
    return tuple(found)


def number(kind: int, written: str) -> int:
    if written.isdecimal():
        return int(written)
    total = 0
    for word in written.split("+") if written else ():
        if word not in WORDS.get(kind, {}):
            raise Invalid(f"unknown value '{written}'")
        total |= WORDS[kind][word]
    return total
