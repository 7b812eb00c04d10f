# SPDX-License-Identifier: BSD-3-Clause
"""Access lists of Cisco IOS: extended ones, named or numbered, of IPv4 and IPv6.

Understood: permit and deny, protocols, any, host, wildcards that are prefixes, eq, gt, lt and range, established, TCP
flags, fragments, ICMP types, dscp, log, remark. Everything else is refused with its line. A list of IPv4 leaves IPv6
alone in IOS and the other way round, and one of IPv6 permits neighbor discovery: rules at the end say so.
"""
from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from kamuee.acl_text import List, Refused, Unknown, name_of

PROTOCOLS = {"ahp": "ah", "ipinip": "ipip", "icmp": "icmp", "igmp": "igmp", "tcp": "tcp", "udp": "udp", "gre": "gre",
             "esp": "esp", "ospf": "ospf", "eigrp": "eigrp", "pim": "pim", "sctp": "sctp"}
PORTS = {"www": "http", "domain": "domain", "bootps": "bootps", "bootpc": "bootpc", "ntp": "ntp", "snmp": "snmp",
         "snmptrap": "snmptrap", "syslog": "syslog", "tftp": "tftp", "ftp": "ftp", "ftp-data": "ftp-data", "ssh": "ssh",
         "22": "ssh", "telnet": "telnet", "smtp": "smtp", "pop3": "pop3", "bgp": "bgp", "isakmp": "isakmp",
         "non500-isakmp": "ipsec-nat-t", "tacacs": "tacacs", "sunrpc": "sunrpc", "netbios-ns": "netbios-ns",
         "netbios-dgm": "netbios-dgm", "netbios-ss": "netbios-ssn", "irc": "irc", "ident": "ident"}
ICMP = {"echo": "8", "echo-reply": "0", "unreachable": "3", "net-unreachable": "3/0", "host-unreachable": "3/1",
        "protocol-unreachable": "3/2", "port-unreachable": "3/3", "packet-too-big": "3/4",
        "administratively-prohibited": "3/13", "source-quench": "4", "redirect": "5", "router-advertisement": "9",
        "router-solicitation": "10", "time-exceeded": "11", "ttl-exceeded": "11/0", "parameter-problem": "12",
        "timestamp-request": "13", "timestamp-reply": "14", "traceroute": "30"}
ICMP6 = {"unreachable": "1", "no-route": "1/0", "no-admin": "1/1", "port-unreachable": "1/4", "packet-too-big": "2",
         "time-exceeded": "3", "hop-limit": "3/0", "parameter-problem": "4", "echo-request": "128", "echo-reply": "129",
         "router-solicitation": "133", "router-advertisement": "134", "nd-ns": "135", "nd-na": "136", "redirect": "137"}
FLAGS = {"ack": "ack", "fin": "fin", "psh": "psh", "rst": "rst", "syn": "syn", "urg": "urg"}


def read(text: str) -> list[List]:
    """The lists of a configuration; Refused names each line that is not understood."""
    lists: dict[str, tuple[List, bool]] = {}
    inside: tuple[List, bool] | None = None
    wrong: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words or words[0].startswith("!"):
            continue
        try:
            if found := heading(words):
                inside = lists.setdefault(found[0], (List(name_of(found[0])), found[1]))
            elif words[0] == "access-list" and len(words) > 2:
                if words[1].isdecimal() and int(words[1]) < 100:
                    raise Unknown("this is a standard list; expected an extended one")
                rule(lists.setdefault(words[1], (List(name_of(words[1])), False)), words[2:])
                inside = None
            elif inside and (line[0].isspace() or words[0] in ("permit", "deny", "remark") or words[0].isdecimal()):
                rule(inside, words)
            else:
                inside = None  # another part of the configuration
        except Unknown as why:
            wrong.append(f"line {number}: {line.strip()}: {why}")
    if wrong:
        raise Refused(wrong)
    return [ended(*entry) for entry in lists.values()]


def heading(words: list[str]) -> tuple[str, bool] | None:
    """(name, whether it is IPv6) of a line that begins a list."""
    if words[:2] == ["ip", "access-list"] and len(words) == 4:
        if words[2] != "extended":
            raise Unknown(f"'{words[2]}' lists are not supported; expected 'extended'")
        return words[3], False
    if words[:2] == ["ipv6", "access-list"] and len(words) == 3:
        return words[2], True
    return None


def ended(found: List, six: bool) -> List:
    if six:
        for kind in ("neighbor-advertisement", "neighbor-solicitation"):
            found.add(f"permit icmp6 from any to any icmp-type {kind}")
    found.add(f"permit {'ipv4' if six else 'ipv6'} from any to any description \"an IOS list of "
              f"{'IPv6' if six else 'IPv4'} leaves it alone\"")
    return found


def rule(where: tuple[List, bool], words: list[str]) -> None:
    found, six = where
    number = None
    if words[0] == "sequence" and len(words) > 2:
        words = words[1:]
    if words[0].isdecimal():
        number, words = int(words[0]), words[1:]
    if not words or words[0] == "remark":
        return
    if words[0] not in ("permit", "deny") or len(words) < 2:
        raise Unknown(f"'{words[0]}' is not supported; expected permit, deny or remark")
    if six and "sequence" in words[-2:]:
        number, words = int(words[-1]), words[:-2]
    found.add(" ".join(translated(iter_words(words), six)), number)


class iter_words:
    """Words that are consumed one by one."""

    def __init__(self, words: Iterable[str]) -> None:
        self.rest = list(words)

    def take(self, what: str) -> str:
        if not self.rest:
            raise Unknown(f"the line is incomplete: expected {what}")
        return self.rest.pop(0)

    def next(self) -> str:
        return self.rest[0] if self.rest else ""


def translated(words: iter_words, six: bool) -> list[str]:
    out = [words.take("permit or deny")]
    said = words.take("a protocol")
    if said in ("ip", "ipv6"):
        protocol = "ipv6" if six else "ipv4"
    elif six and said == "icmp":
        protocol = "icmp6"
    else:
        protocol = PROTOCOLS.get(said, said)
        if protocol == said and said not in PROTOCOLS and not said.isdecimal():
            raise Unknown(f"protocol '{said}' is not supported")
    out.append(protocol)
    for side in ("from", "to"):
        out += [side, address(words, six)]
        out += ports(words)
    while words.rest:
        out += option(words, protocol)
    return out


def address(words: iter_words, six: bool) -> str:
    word = words.take("any, host or an address")
    if word == "any":
        return "::/0" if six else "0.0.0.0/0"
    try:
        if word == "host":
            return str(ipaddress.ip_address(words.take("an address")))
        if six:
            return str(ipaddress.ip_network(word, strict=False))
        wildcard = int(ipaddress.IPv4Address(words.take("a wildcard mask")))
        if wildcard & (wildcard + 1):
            raise Unknown("the wildcard mask is not a prefix")
        return str(ipaddress.ip_network((word, 32 - wildcard.bit_length()), strict=False))
    except ValueError:
        raise Unknown(f"'{word}' is not an address") from None


def port(words: iter_words) -> str:
    word = words.take("a port")
    if word in PORTS or word.isdecimal():
        return PORTS.get(word, word)
    raise Unknown(f"port '{word}' is not supported; use its number")


def ports(words: iter_words) -> list[str]:
    test = words.next()
    if test not in ("eq", "gt", "lt", "range", "neq"):
        return []
    words.take("")
    if test == "neq":
        raise Unknown("'neq' is not supported; write two rules with 'lt' and 'gt'")
    first = port(words)
    if test == "eq":
        if words.next().isdecimal() or words.next() in PORTS:
            raise Unknown("several ports after 'eq' are not supported; write one rule per port")
        return ["port", first]
    if not first.isdecimal():
        raise Unknown(f"'{test} {first}': use the port's number")
    if test == "gt":
        return ["port", f"{int(first) + 1}-65535"]
    if test == "lt":
        return ["port", f"0-{int(first) - 1}"]
    return ["port", f"{first}-{port(words)}"]


def option(words: iter_words, protocol: str) -> list[str]:
    word = words.take("")
    icmp = ICMP6 if protocol == "icmp6" else ICMP
    if word == "established" or word == "fragments":
        return [word]
    if word in ("log", "log-input"):
        return ["log"]
    if word == "dscp":
        value = words.take("a codepoint")
        return ["dscp", "cs0" if value == "default" else value]
    if protocol == "tcp" and word in FLAGS:
        return ["tcp-flags", FLAGS[word]]
    if protocol in ("icmp", "icmp6") and word in icmp:
        return ["icmp-type", icmp[word]]
    if protocol in ("icmp", "icmp6") and word.isdecimal():
        return ["icmp-type", f"{word}/{words.take('')}" if words.next().isdecimal() else word]
    raise Unknown(f"'{word}' is not supported")
