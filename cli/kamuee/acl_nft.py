# SPDX-License-Identifier: BSD-3-Clause
"""Chains of nftables, as `nft -j list ruleset` prints them.

Understood: chains with rules of addresses, prefixes and sets of them, TCP, UDP and SCTP ports, ranges and sets of them,
layer-4 protocols, ICMP types by number or name, counter, log, comment, accept, drop and reject; named sets of
addresses. What is kept by connection (ct), jumps, marks, NAT, limits and everything else is refused with the rule's
handle.
"""
from __future__ import annotations

import json
from typing import Any

from kamuee.acl_text import List, Refused, Unknown, name_of

VERDICTS = {"accept": "permit", "drop": "deny", "reject": "reject"}
FAMILIES = {"ip": "ipv4", "ip6": "ipv6"}
L4 = {"ipv6-icmp": "icmp6", "icmpv6": "icmp6", "icmp": "icmp", "tcp": "tcp", "udp": "udp", "sctp": "sctp",
      "udplite": "udplite", "gre": "gre", "esp": "esp", "ah": "ah", "ospf": "ospf", "igmp": "igmp", "pim": "pim",
      "vrrp": "vrrp"}
ICMP = {"echo-request", "echo-reply", "redirect", "time-exceeded", "parameter-problem"}
ICMP_ALIASES = {"destination-unreachable": "unreachable", "nd-neighbor-solicit": "neighbor-solicitation",
                "packet-too-big": "packet-too-big", "nd-neighbor-advert": "neighbor-advertisement",
                "nd-router-solicit": "router-solicitation", "nd-router-advert": "router-advertisement",
                "nd-redirect": "redirect"}


def read(text: str) -> list[List]:
    try:
        items = json.loads(text)["nftables"]
    except (ValueError, KeyError, TypeError):
        raise Refused(["expected the output of 'nft -j list ruleset'"]) from None
    lists: dict[tuple, List] = {}
    sets: dict[tuple, list[str]] = {}
    wrong: list[str] = []
    for item in items:
        kind, value = next(iter(item.items()))
        place = (value.get("family"), value.get("table"))
        try:
            if kind == "chain":
                lists[*place, value["name"]] = List(name_of(value["name"]), VERDICTS[value.get("policy", "accept")])
            elif kind == "set":
                sets[*place, value["name"]] = members(value)
            elif kind == "rule":
                found = lists[*place, value["chain"]]
                for words in Rule(value, found, sets).lines():
                    found.add(words)
            elif kind not in ("metainfo", "table"):
                raise Unknown(f"'{kind}' is not supported")
        except Unknown as why:
            wrong.append(f"{kind} {value.get('name') or 'handle ' + str(value.get('handle'))}: {why}")
    if wrong:
        raise Refused(wrong)
    return [found for found in lists.values() if found.rules]


def members(value: dict) -> list[str]:
    if value.get("type") not in ("ipv4_addr", "ipv6_addr"):
        raise Unknown(f"sets of '{value.get('type')}' are not supported, only sets of addresses")
    return [address(element) for element in value.get("elem", ())]


def address(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "prefix" in value:
        return f"{value['prefix']['addr']}/{value['prefix']['len']}"
    if isinstance(value, dict) and "elem" in value:
        return address(value["elem"]["val"])
    raise Unknown("address ranges are not supported; expected addresses and prefixes")


class Rule:
    """One rule under conversion: it becomes one line per value of its ports."""

    def __init__(self, value: dict, chain: List, sets: dict[tuple, list[str]]) -> None:
        self.value, self.chain, self.sets = value, chain, sets
        self.family = FAMILIES.get(value["family"])
        self.protocol = ""
        self.end = {"from": "", "to": ""}
        self.ports: dict[str, list[str]] = {"from": [""], "to": [""]}
        self.rest: list[str] = []
        self.verdict = ""

    def lines(self) -> list[str]:
        for expression in self.value.get("expr", ()):
            kind, value = next(iter(expression.items()))
            if kind == "match":
                self.match(value)
            elif kind in VERDICTS:
                self.verdict = VERDICTS[kind]
            elif kind == "log":
                self.rest.append("log")
            elif kind != "counter":
                raise Unknown(f"'{kind}' is not supported")
        if not self.verdict:
            raise Unknown("no verdict: expected accept, drop or reject")
        if not self.protocol and self.family:
            self.protocol = self.family
        elif self.family and self.protocol not in ("icmp", "icmp6"):
            self.end["from"] = self.end["from"] or {"ipv4": "0.0.0.0/0", "ipv6": "::/0"}[self.family]
        return [" ".join([self.verdict, self.protocol or "ip", "from", self.end["from"] or "any", *port(a),
                          "to", self.end["to"] or "any", *port(b), *self.rest])
                for a in self.ports["from"] for b in self.ports["to"]]

    def match(self, value: dict) -> None:
        if value["op"] not in ("==", "in"):
            raise Unknown(f"'{value['op']}' is not supported")
        left, right = value["left"], value["right"]
        if "meta" in left:
            self.meta(left["meta"]["key"], right)
        elif "payload" in left and "protocol" in left["payload"]:
            self.payload(left["payload"]["protocol"], left["payload"]["field"], right)
        else:
            raise Unknown(f"'{next(iter(left))}' is not supported")

    def meta(self, key: str, right: Any) -> None:
        if key == "l4proto":
            self.of_protocol(right)
        elif key in ("nfproto", "protocol") and right in ("ipv4", "ipv6", "ip", "ip6"):
            self.of_family(FAMILIES.get(right, right))
        else:
            raise Unknown(f"'meta {key}' is not supported")

    def payload(self, protocol: str, field: str, right: Any) -> None:
        side = {"saddr": "from", "daddr": "to", "sport": "from", "dport": "to"}.get(field)
        if protocol in FAMILIES and field in ("saddr", "daddr"):
            self.of_family(FAMILIES[protocol])
            self.end[side] = self.addresses(right)
        elif protocol in FAMILIES and field in ("protocol", "nexthdr"):
            self.of_family(FAMILIES[protocol])
            self.of_protocol(right)
        elif protocol in ("tcp", "udp", "sctp", "udplite") and side:
            self.of_protocol(protocol)
            self.ports[side] = [number(value) for value in each(right)]
        elif protocol in ("icmp", "icmpv6") and field == "type":
            self.of_protocol(protocol)
            self.rest += ["icmp-type", icmp_type(right)]
        else:
            raise Unknown(f"'{protocol} {field}' is not supported")

    def of_family(self, family: str) -> None:
        if self.family not in (None, family):
            raise Unknown("it matches both IPv4 and IPv6")
        self.family = family

    def of_protocol(self, value: Any) -> None:
        name = L4.get(str(value)) or (str(value) if str(value).isdecimal() else "")
        if not name or self.protocol not in ("", name):
            raise Unknown(f"protocol '{value}' is not supported here")
        self.protocol = name

    def addresses(self, right: Any) -> str:
        if isinstance(right, str) and right.startswith("@"):
            name = right[1:]
            known = self.sets.get((self.value["family"], self.value["table"], name))
            if known is None:
                raise Unknown(f"there is not an address set '{name}'")
            self.chain.sets[name_of(name)] = known
            return f"set {name_of(name)}"
        if isinstance(right, dict) and "set" in right:
            name = name_of(f"{self.chain.name}-{len(self.chain.sets) + 1}")
            self.chain.sets[name] = [address(element) for element in right["set"]]
            return f"set {name}"
        return address(right)


def each(right: Any) -> list:
    return right["set"] if isinstance(right, dict) and "set" in right else [right]


def number(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict) and "range" in value:
        return "{}-{}".format(*value["range"])
    raise Unknown(f"port '{value}' is not supported; print numbers with nft -jn list ruleset")


def icmp_type(value: Any) -> str:
    if isinstance(value, int) or value in ICMP:
        return str(value)
    if isinstance(value, str) and value in ICMP_ALIASES:
        return ICMP_ALIASES[value]
    raise Unknown(f"ICMP type '{value}' is not supported")


def port(value: str) -> list[str]:
    return ["port", value] if value else []
