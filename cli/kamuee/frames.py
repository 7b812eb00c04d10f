# SPDX-License-Identifier: BSD-3-Clause
"""A frame in a few words: MACs, VLAN, addresses, protocol, ports."""
from __future__ import annotations

import ipaddress
from collections.abc import Iterator

PROTOCOLS = {1: "icmp", 2: "igmp", 6: "tcp", 17: "udp", 47: "gre", 50: "esp", 51: "ah", 58: "icmp", 88: "eigrp",
             89: "ospf", 103: "pim", 112: "vrrp", 132: "sctp"}
EXTENSIONS = (0, 43, 60)
FRAGMENT = 44
ETHER_TYPES = {0x0806: "ARP", 0x88cc: "LLDP", 0x8809: "slow protocol", 0x888e: "802.1X", 0x8870: "IS-IS"}
TAGS = (0x8100, 0x88a8)
ICMP4 = {(0, 0): "echo reply", (3, 0): "net unreachable", (3, 1): "host unreachable", (3, 2): "protocol unreachable",
         (3, 3): "port unreachable", (3, 4): "fragmentation needed", (3, 13): "administratively prohibited",
         (5, 0): "redirect", (5, 1): "redirect", (8, 0): "echo request", (11, 0): "time exceeded",
         (12, 0): "parameter problem"}
ICMP6 = {(1, 0): "no route", (1, 1): "administratively prohibited", (1, 3): "address unreachable",
         (1, 4): "port unreachable", (2, 0): "packet too big", (3, 0): "time exceeded", (4, 0): "parameter problem",
         (4, 1): "parameter problem", (128, 0): "echo request", (129, 0): "echo reply",
         (133, 0): "router solicitation", (134, 0): "router advertisement", (135, 0): "neighbor solicitation",
         (136, 0): "neighbor advertisement", (137, 0): "redirect"}


def icmp(family: str, type_: int, code: int) -> str:
    name = (ICMP4 if family == "ipv4" else ICMP6).get((type_, code))
    return f"{name} ({type_}/{code})" if name else f"type {type_} code {code}"


def number(data: bytes) -> int:
    return int.from_bytes(data, "big")


def mac(data: bytes) -> str:
    return data.hex(":")


def described(data: bytes) -> list[str]:
    """Parts of a sentence, outermost header first."""
    if len(data) < 14:
        return [f"{len(data)} bytes only"]
    parts, at, kind = [f"{mac(data[6:12])} > {mac(data[:6])}"], 14, number(data[12:14])
    while kind in TAGS and len(data) >= at + 4:
        parts.append(f"VLAN {number(data[at:at + 2]) & 0xfff}")
        kind, at = number(data[at + 2:at + 4]), at + 4
    payload = data[at:]
    if kind == 0x0800 and len(payload) >= 20:
        parts += ip4(payload)
    elif kind == 0x86dd and len(payload) >= 40:
        parts += ip6(payload)
    else:
        parts.append(ETHER_TYPES.get(kind, f"EtherType 0x{kind:04x}" if kind > 1500 else "802.3"))
    return parts


def ip4(data: bytes) -> Iterator[str]:
    offset, flags = (number(data[6:8]) & 0x1fff) * 8, data[6] >> 5
    yield f"{ipaddress.ip_address(data[12:16])} > {ipaddress.ip_address(data[16:20])}"
    yield from behind(data[9], data[(data[0] & 15) * 4:], "ipv4", bool(offset))
    yield f"TTL {data[8]}"
    if flags & 2:
        yield "DF"
    yield from fragment(offset, bool(flags & 1))


def ip6(data: bytes) -> Iterator[str]:
    proto, rest, offset, more = data[6], data[40:], 0, False
    while (proto in EXTENSIONS or proto == FRAGMENT) and len(rest) >= 8 and not offset:
        if proto == FRAGMENT:
            offset, more = number(rest[2:4]) & 0xfff8, bool(rest[3] & 1)
            proto, rest = rest[0], rest[8:]
        else:
            proto, rest = rest[0], rest[8 * (rest[1] + 1):]
    yield f"{ipaddress.ip_address(data[8:24])} > {ipaddress.ip_address(data[24:40])}"
    yield from behind(proto, rest, "ipv6", bool(offset))
    yield f"hop limit {data[7]}"
    yield from fragment(offset, more)


def behind(proto: int, data: bytes, family: str, later: bool) -> Iterator[str]:
    name = PROTOCOLS.get(proto, f"protocol {proto}")
    if not later and proto in (6, 17, 132) and len(data) >= 4:
        name += f" {number(data[:2])} > {number(data[2:4])}"
    elif not later and proto in (1, 58) and len(data) >= 2:
        name += f" {icmp(family, data[0], data[1])}"
    yield name


def fragment(offset: int, more: bool) -> Iterator[str]:
    if offset or more:
        yield f"fragment at {offset}" + ", more follow" * more
