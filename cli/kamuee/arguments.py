# SPDX-License-Identifier: BSD-3-Clause
"""The arguments that patterns name: their form, their meaning, and where TAB finds values."""
from __future__ import annotations

import re
import socket
from collections.abc import Callable
from typing import NamedTuple

from kamuee.moment import is_duration, is_moment

NAME = re.compile(r"[A-Za-z0-9_.-]{1,15}")
OBJECT_NAME = re.compile(r"(?=.{1,31}$)([A-Za-z0-9_.-]+:)?[A-Za-z0-9_.-]+")


class Argument(NamedTuple):
    help: str
    accepts: Callable[[str], bool]
    source: str = ""  # of live values, see live.py
    values: tuple[str, ...] = ()


def family_of(address: str) -> str | None:
    """'ipv4' or 'ipv6' for an address; None for other text."""
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


def no_address(word: str) -> str:
    """The error in a word that should be an address or a prefix."""
    address, slash, length = word.partition("/")
    family = family_of(address)
    if family and slash:
        most = 32 if family == "ipv4" else 128
        return f"'{word}': the length of an {family.replace('ip', 'IP')} prefix is a number from 0 to {most}"
    if ":" in address:
        return f"'{address}' is not an IPv6 address"
    if re.fullmatch(r"[0-9.]+", address):
        return f"'{address}' is not an IPv4 address: expected four numbers from 0 to 255, such as 192.0.2.1"
    return f"'{word}' is not an address"


def is_name(word: str) -> bool:
    return NAME.fullmatch(word) is not None


def is_object_name(word: str) -> bool:
    return OBJECT_NAME.fullmatch(word) is not None


def is_word(word: str) -> bool:
    return bool(word) and word.isprintable()


PROTOCOLS = ("kernel", "static", "frr-static", "bgp", "ospf", "rip", "ripng", "isis", "babel", "bird", "zebra", "ra",
             "dhcp", "boot")
TYPES = ("unicast", "local", "broadcast", "connected", "blackhole", "unreachable", "prohibit", "multicast", "throw")

IP_PROTOCOLS = ("tcp", "udp", "icmp", "igmp", "ospf", "pim", "vrrp", "sctp", "gre", "esp", "ah", "rsvp", "eigrp")


def number(low: int, high: int) -> Callable[[str], bool]:
    """Accepts whole numbers, also 0x…."""
    def accepts_number(word: str) -> bool:
        try:
            return low <= int(word, 0) <= high
        except ValueError:
            return False
    return accepts_number


def is_hex(word: str) -> bool:
    return len(word) % 2 == 0 and re.fullmatch(r"[0-9A-Fa-f]+", word) is not None


def is_mac(word: str) -> bool:
    return re.fullmatch(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}", word) is not None


def is_ip_protocol(word: str) -> bool:
    return word in IP_PROTOCOLS or number(0, 255)(word)


ARGUMENTS = {
    "PORT": Argument("a port", is_name, "port"),
    "INTERFACE": Argument("an interface: a port or a vport", is_name, "interface"),
    "CLASS": Argument("a class of a queue: 0 to 7", number(0, 7), values=tuple("01234567")),
    "VR": Argument("a virtual router; default 'default'", is_name, "vr"),
    "DAEMON": Argument("a routing daemon: frr, bird or none", is_word, values=("frr", "bird", "none")),
    "VALUE": Argument("a value of the template: port=p1", is_word),
    "NEWVR": Argument("a new name of 1 to 15 letters, digits, '_', '.', '-'", is_word),
    "NAME": Argument("a new name of 1 to 15 letters, digits, '_', '.', '-'", is_name),
    "DEVARGS": Argument("a DPDK device: 0000:3b:00.0, net_af_packet0,iface=eth1, …", is_word),
    "NS": Argument("a network namespace (ip netns)", is_word, "netns"),
    "PREFIX": Argument("a prefix: 192.0.2.0/24 or 2001:db8::/32", is_prefix),
    "ALARM": Argument("an alarm listed by 'show alarm'", is_word, "alarm"),
    "SUBJECT": Argument("subject of the alarm, as in 'show alarm'; quote it if it contains blanks", is_word),
    "ADDRESS": Argument("an address: 192.0.2.1 or 2001:db8::1", is_address),
    "ID": Argument("the ID of a next hop, as in 'show ipv4 route PREFIX'", str.isdecimal),
    "MPLSLABEL": Argument("an MPLS label: 16 to 1048575", number(16, 1048575)),
    "PROTOCOL": Argument("routing protocol: a name or a number", is_word, values=PROTOCOLS),
    "TYPE": Argument("kind of route", is_word, values=TYPES),
    "SOURCE": Argument("source address", is_address),
    "DESTINATION": Argument("destination address", is_address),
    "IPPROTO": Argument("tcp, udp, icmp, … or a number up to 255", is_ip_protocol, values=IP_PROTOCOLS),
    "SPORT": Argument("source port: 0 to 65535", number(0, 65535)),
    "DPORT": Argument("destination port: 0 to 65535", number(0, 65535)),
    "ICMPTYPE": Argument("ICMP type: 0 to 255", number(0, 255)),
    "VLAN": Argument("a VLAN ID: 1 to 4094", number(1, 4094)),
    "TRACED": Argument("number of packets: 1 to 1000", number(1, 1000)),
    "SECONDS": Argument("1 to 3600 seconds", number(1, 3600)),
    "OUTERVLAN": Argument("a VLAN ID: 1 to 4094", number(1, 4094)),
    "TTL": Argument("TTL or hop limit: 0 to 255", number(0, 255)),
    "SIZE": Argument("bytes of the IP packet: 1 to 16000", number(1, 16000)),
    "TOS": Argument("type of service, traffic class: 0 to 255", number(0, 255)),
    "OFFSET": Argument("bytes: a multiple of 8, up to 65528", number(0, 65528)),
    "LABEL": Argument("flow label: 0 to 1048575", number(0, 0xfffff)),
    "TOMAC": Argument("a MAC address: 02:00:00:00:00:01", is_mac),
    "FROMMAC": Argument("a MAC address: 02:00:00:00:00:01", is_mac),
    "HEX": Argument("the frame from its destination MAC on", is_hex),
    "FILE": Argument("a pcap or pcapng file; '-': standard output", is_word),
    "FRAME": Argument("number of the frame, from 1", number(1, 1 << 31)),
    "EXPRESSION": Argument("a tcpdump expression, quoted: 'udp port 53'", is_word),
    "COUNT": Argument("number of frames", is_word),
    "BYTES": Argument("64 to 9728 bytes", is_word),
    "TIME": Argument("-5m, -1h30m, 22:05:10 or 2026-11-21T22:05:10", is_moment),
    "DURATION": Argument("a duration: 30s, 10m, 2h, 1d", is_duration),
    "ACL": Argument("an access list", is_object_name, "acl"),
    "NEWACL": Argument("a name of 1 to 31 letters, digits, '_', '.', '-'", is_object_name),
    "GPU": Argument("a GPU of the configuration", is_object_name, "gpu"),
    "PROGRAM": Argument("a packet program", is_object_name, "program"),
    "NEWPROGRAM": Argument("a new name, of a virtual router's own 'VR:NAME'", is_object_name),
    "OBJECT": Argument("a built program on the router: an absolute path", is_word),
    "HOOK": Argument("where it sees packets: ether, input, output, or an EtherType: 0x88b5", is_word, values=("ether", "input", "output")),
    "TABLE": Argument("a table that the program declares", is_word),
    "KEY": Argument("a key: a number, 0x… too", number(0, (1 << 64) - 1)),
    "NUMBER": Argument("a value: a number, 0x… too", number(0, (1 << 64) - 1)),
    "SET": Argument("an address set", is_object_name, "address-set"),
    "MEMBER": Argument("a prefix or an address", lambda word: is_prefix(word) or is_address(word)),
    "WORD": Argument("the first words of commands", bool),
    "SESSION": Argument("a session listed by 'show configuration sessions'", str.isdecimal),
    "FLOWS": Argument("a number of flows", number(0, 1000000)),
    "MINUTES": Argument("1 to 10080 minutes", number(1, 10080)),
    "TEXT": Argument("a few words", is_word),
    "BACK": Argument("a revision from 'show configuration revisions'; 1 is the previous one", str.isdecimal),
    "FILENAME": Argument("a file; '-': standard input or output", is_word),
    "LINE": Argument("a line of configuration", is_word),
    "ARGS": Argument("arguments of the program: see --help", lambda word: True),
}


def accepts(name: str, word: str) -> bool:
    return ARGUMENTS[name].accepts(word)


def described(name: str) -> str:
    return f"{name}, {ARGUMENTS[name].help}"
