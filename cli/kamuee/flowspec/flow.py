# SPDX-License-Identifier: BSD-3-Clause
"""A flow specification: which packets, in which order, and as text.

The components are those of RFC 8955 (IPv4) and RFC 8956 (IPv6). A prefix is a Prefix; any other component is a list of
(operator, value), whose operator has the bits of the RFC without 'end of list' and the length.
"""
from __future__ import annotations

import socket
from collections.abc import Iterable
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

(DESTINATION, SOURCE, PROTOCOL, PORT, TO_PORT, FROM_PORT, ICMP_TYPE, ICMP_CODE, TCP_FLAGS, LENGTH, DSCP, FRAGMENT,
 LABEL) = range(1, 14)
NAMES = {DESTINATION: "destination", SOURCE: "source", PROTOCOL: "protocol", PORT: "port", TO_PORT: "destination-port",
         FROM_PORT: "source-port", ICMP_TYPE: "icmp-type", ICMP_CODE: "icmp-code", TCP_FLAGS: "tcp-flags",
         LENGTH: "packet-length", DSCP: "dscp", FRAGMENT: "fragment", LABEL: "flow-label"}
TOP = {PROTOCOL: 255, PORT: 65535, TO_PORT: 65535, FROM_PORT: 65535, ICMP_TYPE: 255, ICMP_CODE: 255, LENGTH: 65535,
       DSCP: 63, LABEL: 0xfffff}
BITS = {TCP_FLAGS: ("fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"),
        FRAGMENT: ("dont-fragment", "is-fragment", "first-fragment", "last-fragment")}

FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
MEMORY = 1024       # results that a function remembers: values repeat from flow to flow
AND, LESS, GREATER, EQUAL = 0x40, 4, 2, 1
NOT, MATCH = 2, 1
SIGNS = {0: "false", EQUAL: "=", GREATER: ">", GREATER | EQUAL: ">=", LESS: "<", LESS | EQUAL: "<=",
         LESS | GREATER: "!=", LESS | GREATER | EQUAL: "true"}
BIT_SIGNS = {0: "", MATCH: "=", NOT: "!", NOT | MATCH: "!="}

Ops = tuple[tuple[int, int], ...]
Ranges = list[tuple[int, int]]


class Invalid(Exception):
    """The route cannot become rules; the text says why."""


class Prefix(NamedTuple):
    value: int          # of the whole address
    length: int
    offset: int = 0     # IPv6: the first bit that is compared


class Flow(NamedTuple):
    family: int         # 4 or 6
    parts: tuple[tuple[int, Prefix | Ops], ...]     # (component, its value), in ascending order

    def get(self, component: int) -> Prefix | Ops | None:
        for kind, value in self.parts:
            if kind == component:
                return value
        return None

    def __str__(self) -> str:
        return " ".join(f"{NAMES[kind]} {text(self.family, kind, value)}" for kind, value in self.parts) or "everything"


def flow(family: int, parts: Iterable[tuple[int, Prefix | Ops]]) -> Flow:
    """Checks the components: each once, with values in their range."""
    return in_order(family, [part(family, kind, value) for kind, value in parts])


def part(family: int, kind: int, value: Prefix | Ops) -> tuple[int, Prefix | Ops]:
    if kind not in NAMES or (kind == LABEL and family == 4):
        raise Invalid(f"unknown component {kind}")
    if not isinstance(value, Prefix):
        top = TOP.get(kind, 0xffff)
        for _, number in value:
            if not 0 <= number <= top:
                raise Invalid(f"a value of {NAMES[kind]} is out of range")
    return kind, value


def in_order(family: int, parts: list[tuple[int, Prefix | Ops]]) -> Flow:
    """Of checked parts."""
    parts.sort(key=itemgetter(0))
    if len({kind for kind, _ in parts}) != len(parts):
        raise Invalid("a component appears twice")
    return Flow(family, tuple(parts))


def prefix(family: int, written: str, offset: int = 0) -> Prefix:
    """192.0.2.0/24, 2001:db8::/32, or 2001:db8::/32/OFFSET."""
    address, _, rest = written.partition("/")
    length, _, given = rest.partition("/")
    try:
        found = Prefix(int.from_bytes(socket.inet_pton(FAMILY[family], address), "big"), int(length), int(given or offset))
    except (OSError, ValueError):
        raise Invalid(f"invalid prefix '{written}'") from None
    if not 0 <= found.offset <= found.length <= width(family):
        raise Invalid(f"invalid prefix '{written}'")
    return found._replace(value=found.value & mask(family, found))


def mask(family: int, of: Prefix) -> int:
    """The bits that are compared."""
    return ((1 << of.length - of.offset) - 1) << width(family) - of.length


def width(family: int) -> int:
    return 32 if family == 4 else 128


# --- order -----------------------------------------------------------------------------------------------------------

AFTER_ALL = "\u0100"        # behind every octet, so that of two values that begin alike the longer one is first


def octets(ops: Ops) -> bytes:
    """The component as on the wire, with the shortest encoding of each value."""
    found = bytearray()
    for i, (op, value) in enumerate(ops):
        power = 0 if value < 0x100 else 1 if value < 0x10000 else 2
        found.append((0x80 if i == len(ops) - 1 else 0) | op | power << 4)
        found += value.to_bytes(1 << power, "big")
    return bytes(found)


def order(of: Flow) -> str:
    """Sorts flows by their precedence (RFC 8955 5.1, RFC 8956 4): the first flow that matches decides."""
    key = "".join([part_order(of.family, kind, value) for kind, value in of.parts])
    return chr(of.family) + key + AFTER_ALL         # a flow with a further component is first


@lru_cache(MEMORY)
def part_order(family: int, kind: int, value: Prefix | Ops) -> str:
    if isinstance(value, Prefix):
        bits = format(value.value, f"0{width(family)}b")[value.offset:value.length]
        return chr(kind) + chr(value.offset) + bits + AFTER_ALL
    return chr(kind) + "\0" + octets(value).decode("latin-1") + AFTER_ALL


# --- values ----------------------------------------------------------------------------------------------------------

def one_range(op: int, value: int, top: int) -> Ranges:
    found = []
    if op & LESS and value:
        found.append((0, value - 1))
    if op & EQUAL:
        found.append((value, value))
    if op & GREATER and value < top:
        found.append((value + 1, top))
    return union(found)


def union(of: Iterable[tuple[int, int]]) -> Ranges:
    """The same values as ranges in ascending order that do not touch."""
    found: Ranges = []
    for low, high in sorted(of):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def common(a: Ranges, b: Ranges) -> Ranges:
    return union((max(x[0], y[0]), min(x[1], y[1])) for x in a for y in b if x[0] <= y[1] and y[0] <= x[1])


def groups(ops: Ops) -> list[list[tuple[int, int]]]:
    """The terms that are joined by 'or', each a list of terms that are joined by 'and'."""
    found: list[list[tuple[int, int]]] = []
    for op, value in ops:
        if op & AND and found:
            found[-1].append((op, value))
        else:
            found.append([(op, value)])
    return found


def ranges(of: Flow | dict[int, Ops], component: int) -> Ranges:
    """The values that the component accepts; all, if the flow does not have it."""
    ops = of.get(component)
    return [(0, TOP[component])] if ops is None else accepted_ranges(ops, TOP[component])


@lru_cache(MEMORY)
def accepted_ranges(ops: Ops, top: int) -> Ranges:
    if len(ops) == 1 and ops[0][0] & (LESS | GREATER | EQUAL) == EQUAL:
        return [(ops[0][1], ops[0][1])]
    found: Ranges = []
    for group in groups(ops):
        accepted: Ranges = [(0, top)]
        for op, value in group:
            accepted = common(accepted, one_range(op, value, top))
        found += accepted
    return union(found)


def has_bits(ops: Ops, bits: int) -> bool:
    """Does a component of bits (TCP flags, fragment) accept them?"""
    def accepts(op: int, mask: int) -> bool:
        hit = bits & mask == mask if op & MATCH else bits & mask != 0
        return hit != bool(op & NOT)
    return any(all(accepts(op, mask) for op, mask in group) for group in groups(ops))


def cubes(ops: Ops) -> list[tuple[int, int]]:
    """(mask, value) for TCP flags: one of them has flags & mask == value if, and only if, the component accepts them."""
    found: list[tuple[int, int]] = []
    for group in groups(ops):
        terms = [(0, 0)]
        for op, bits in group:
            each = [1 << i for i in range(16) if bits >> i & 1]
            if bool(op & MATCH) != bool(op & NOT):          # all set, or none set
                choices = [(bits, bits if op & MATCH else 0)]
            else:                                           # one of them set, or one not set
                choices = [(bit, 0 if op & NOT else bit) for bit in each]
            if not bits and op & NOT:
                choices = [] if op & MATCH else [(0, 0)]
            terms = [(mask | more, value | set_) for mask, value in terms for more, set_ in choices
                     if not (value ^ set_) & mask & more]
        found += terms
    return list(dict.fromkeys(found))


# --- text ------------------------------------------------------------------------------------------------------------

def text(family: int, kind: int, value: Prefix | Ops) -> str:
    if isinstance(value, Prefix):
        address = socket.inet_ntop(FAMILY[family], value.value.to_bytes(width(family) // 8, "big"))
        return f"{address}/{value.length}" + (f" offset {value.offset}" if value.offset else "")
    return " ".join("&".join(one_text(kind, op, number) for op, number in group) for group in groups(value))


def one_text(kind: int, op: int, number: int) -> str:
    if kind not in BITS:
        sign = SIGNS[op & 7]
        return sign if sign in ("true", "false") else f"{sign}{number}"
    names = [name for i, name in enumerate(BITS[kind]) if number >> i & 1]
    return BIT_SIGNS[op & 3] + ("+".join(names) if names and number < 1 << len(BITS[kind]) else str(number))
