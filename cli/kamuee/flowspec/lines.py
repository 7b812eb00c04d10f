# SPDX-License-Identifier: BSD-3-Clause
"""The lines of an access list that say what a flow specification and its actions say (kamuee.conf(5), `acl`)."""
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from kamuee.flowspec import flow as flows
from kamuee.flowspec.event import Attributes
from kamuee.flowspec.flow import (BITS, DESTINATION, DSCP, FRAGMENT, FROM_PORT, ICMP_CODE, ICMP_TYPE, LABEL, LENGTH, PORT, PROTOCOL,
                                  SOURCE, TCP_FLAGS, TO_PORT, Flow, Invalid, Ops, Prefix, common, ranges)
from kamuee.flowspec.setup import Setup

TCP, UDP, ICMP, ICMP6 = 6, 17, 1, 58
TERMINAL, SAMPLE = 1, 2
KBPS_MAX, PPS_MAX = 400_000_000, 1_000_000_000
FULL_PORTS = 0, 65535
NO_PORTS = "", ""
SIDES, PORTS = (DESTINATION, SOURCE), (PORT, TO_PORT, FROM_PORT)
Parts = dict[int, Ops]     # of a flow without its prefixes, by their component

# The part of a datagram in a packet, and what the fragment component may see in such a packet: bits that a list does not
# tell apart are all there.
DF, IS, FIRST, LAST = 1, 2, 4, 8
PARTS = {" unfragmented": (0, DF), " first-fragment": (FIRST, FIRST | DF), " fragments": (IS, IS | LAST)}


# --- actions ---------------------------------------------------------------------------------------------------------

@dataclass
class Action:
    kinds: set[str]         # some of setup.ACTIONS
    verb: str = "permit"
    options: str = ""
    police: str = ""         # the rate of all its rules together


def action(of: Attributes, family: int, setup: Setup) -> Action:
    """The action of a rule; Invalid with the reason, if a list cannot do it."""
    given: dict[str, float | str] = {}
    for name, value in of.actions:
        if name == "unknown":
            raise Invalid(f"unknown action {value}")
        if name in given and given[name] != value:
            raise Invalid(f"two actions '{name}' that differ")
        given[name] = value
    bits = int(float(given.get("traffic-action", 0)))
    found = Action(set())
    words = []
    if bits & SAMPLE:
        found.kinds.add("sample")
        words.append(f"log every {setup.sample_every}")
    if is_drop(given):
        found.kinds.add("drop")
        found.verb = "deny"
    else:
        if bits & TERMINAL:
            raise Invalid("the action bit 'go on with the next flow specification': the first match of a list decides")
        words += permit_words(found, given, of.nexthop, family, setup)
    found.options = "".join(f" {word}" for word in words)
    return found


def is_drop(given: dict[str, float | str]) -> bool:
    for name in ("rate", "packets"):
        rate = float(given.get(name, 1))
        if math.isnan(rate) or rate < 0:
            raise Invalid(f"a rate of {rate}")
        if rate == 0:
            return True
    return False


def permit_words(found: Action, given: dict[str, float | str], nexthop: str, family: int, setup: Setup) -> Iterator[str]:
    if "rate" in given and "packets" in given:
        raise Invalid("a rate in bytes together with one in packets: a rule has one policer")
    if "rate" in given and float(given["rate"]) * 8 / 1000 <= KBPS_MAX:
        found.police = f"police {max(1, math.ceil(float(given['rate']) * 8 / 1000))}"
    if "packets" in given and float(given["packets"]) <= PPS_MAX:
        found.police = f"police packets {max(1, math.ceil(float(given['packets'])))}"
    found.kinds |= {"rate"} & ({"rate"} if {"rate", "packets"} & given.keys() else set())
    if to := target(given, nexthop, family, setup):
        found.kinds.add("redirect")
        yield f"redirect to {to}"
    if "mark" in given:
        found.kinds.add("mark")
        yield f"remark-dscp {int(float(given['mark']))}"


def target(given: dict[str, float | str], nexthop: str, family: int, setup: Setup) -> str | None:
    asked = given.keys() & {"redirect", "nexthop", "address"}
    if len(asked) > 1:
        raise Invalid("several redirects")
    if "redirect" in given:
        ways = setup.redirects.get(str(given["redirect"]), {})
        if family not in ways:
            raise Invalid(f"redirect to route target {given['redirect']}: expected a line 'redirect {given['redirect']} to ADDRESS' "
                          f"with an IPv{family} address in {setup.path}")
        return ways[family]
    if given.get("nexthop"):
        raise Invalid("a copy to the next hop: expected a redirect without the copy bit")
    found = str(given["address"]) if "address" in given else nexthop if asked else None
    if asked and (not found or (":" in found) != (family == 6)):
        raise Invalid(f"redirect to a next hop: the route has no IPv{family} next hop")
    return found


# --- matches ---------------------------------------------------------------------------------------------------------

def lines(of: Flow, does: Action, limit: int) -> list[str]:
    """The rules without their numbers; Invalid with the reason, if the list cannot tell the packets apart. The first
    one's policer is that of all: '{}' is for its number."""
    rest = of.parts[sum(kind in SIDES for kind, _ in of.parts[:2]):]      # the prefixes are first
    other = tuple([part for part in rest if part[0] not in PORTS])
    pairs = ports(dict(rest)) if len(other) < len(rest) else [NO_PORTS]
    headers = layers(of.family, other, len(other) < len(rest), limit)
    count = len(pairs) * sum([len(words) for _, words in headers])
    if not count:
        raise Invalid("no packet matches")
    if count > limit:
        raise Invalid(f"it would become {count} rules, more than {limit}")
    to, source = side(of, DESTINATION), side(of, SOURCE)
    found: list[str] = []
    for protocol, words in headers:
        for (from_port, to_port), more in itertools.product(pairs, words):
            police = does.police and (" police with {}" if found else f" {does.police}")
            found.append(f"{does.verb} {protocol} from {source}{from_port} to {to}{to_port}{more}{does.options}{police}")
    return found


@lru_cache(flows.MEMORY // 4)      # each may be long
def layers(family: int, other: tuple[tuple[int, Ops], ...], has_ports: bool, limit: int) -> list[tuple[str, list[str]]]:
    """Of a flow without prefixes and ports: each protocol, and the other words of its rules."""
    of = dict(other)
    for kind in (LENGTH, LABEL):
        if kind in of and ranges(of, kind) != [(0, flows.TOP[kind])]:
            raise Invalid(f"{flows.NAMES[kind]}: access lists do not match it")
    if not within(of, limit):
        raise Invalid(f"it would become more than {limit} rules")
    return [(protocol, [f"{more}{part}{dscp}" for more in words for part in parts(of, has_ports or more != "") for dscp in dscps(of)])
            for protocol, words in layer4(family, of, has_ports)]


def within(of: Parts, limit: int) -> bool:
    """Whether the product of its values is small enough to be written down at all."""
    total = 1
    for kind in (ICMP_TYPE, ICMP_CODE, DSCP):
        if kind in of and (accepted := ranges(of, kind)) != [(0, flows.TOP[kind])]:
            total *= sum(high - low + 1 for low, high in accepted)
    return total <= 8 * limit


def side(of: Flow, component: int) -> str:
    found = of.get(component)
    if not isinstance(found, Prefix):
        found = Prefix(0, 0)
    if found.offset and found.length > found.offset:
        raise Invalid(f"{flows.NAMES[component]} with an offset: access lists match prefixes from the first bit on")
    return flows.text(of.family, component, Prefix(found.value, found.length if not found.offset else 0))


def values(of: Parts, component: int) -> list[int] | None:
    """The values one by one; None: all."""
    accepted = ranges(of, component)
    if accepted == [(0, flows.TOP[component])]:
        return None
    return [value for low, high in accepted for value in range(low, high + 1)]


def protocols(family: int, of: Parts, has_ports: bool) -> list[int] | None:
    """None: all. Only TCP and UDP have ports (RFC 8955 4.2.2.4), only TCP has flags, only ICMP a type."""
    allowed = values(of, PROTOCOL)
    for needed, having in ((has_ports, (TCP, UDP)), (TCP_FLAGS in of, (TCP,)),
                           (ICMP_TYPE in of or ICMP_CODE in of, (ICMP if family == 4 else ICMP6,))):
        if needed:
            allowed = [one for one in having if allowed is None or one in allowed]
    return allowed if allowed is None else [one for one in allowed if one]    # 0 is no upper layer


def layer4(family: int, of: Parts, has_ports: bool) -> Iterator[tuple[str, list[str]]]:
    """Each protocol with what rules say about its header, except its ports."""
    allowed = protocols(family, of, has_ports)
    if allowed is None:
        yield f"ipv{family}", [""]
        return
    for protocol in allowed:
        if protocol in (ICMP, ICMP6) and (ICMP_TYPE in of or ICMP_CODE in of):
            yield str(protocol), list(icmp(of))
        else:
            yield str(protocol), flags(of) if protocol == TCP else [""]


def ports(of: Parts) -> list[tuple[str, str]]:
    either, to, from_ = (ranges(of, kind) for kind in (PORT, TO_PORT, FROM_PORT))
    pairs = [(common(from_, either), to), (from_, common(to, either))] if PORT in of else [(from_, to)]
    found = [(port(a), port(b)) for sources, destinations in pairs for a in sources for b in destinations]
    return list(dict.fromkeys(found))


def port(of: tuple[int, int]) -> str:
    if of == FULL_PORTS:
        return ""
    return f" port {of[0]}" if of[0] == of[1] else f" port {of[0]}-{of[1]}"


def icmp(of: Parts) -> Iterator[str]:
    types, codes = values(of, ICMP_TYPE), values(of, ICMP_CODE)
    if types is None and codes is None:
        yield ""
    for one in types if types is not None else range(256) if codes is not None else ():
        yield from (f" icmp-type {one}/{code}" for code in codes) if codes is not None else (f" icmp-type {one}",)


def flags(of: Parts) -> list[str]:
    ops = of.get(TCP_FLAGS)
    if ops is None:
        return [""]
    found = []
    for mask, value in flows.cubes(ops):
        if mask >> len(BITS[TCP_FLAGS]):
            raise Invalid("tcp-flags: access lists match the eight flags from fin to cwr")
        words = [("" if value >> i & 1 else "!") + name for i, name in enumerate(BITS[TCP_FLAGS]) if mask >> i & 1]
        found.append(f" tcp-flags {','.join(words)}" if words else "")
    return [""] if "" in found else found


def parts(of: Parts, has_l4: bool) -> list[str]:
    """Words for the parts of datagrams. Later fragments have no ports, flags or types."""
    ops = of.get(FRAGMENT)
    if ops is None:
        return [""]
    found = []
    for word, seen in PARTS.items():
        accepted = {flows.has_bits(ops, bits) for bits in seen}
        if len(accepted) == 2:
            raise Invalid("fragment: access lists do not see 'do not fragment', nor which fragment is the last one")
        if True in accepted and not (word == " fragments" and has_l4):
            found.append(word)
    whole = len(found) == (2 if has_l4 else 3)
    return [""] if whole else [" any-fragment"] if found == [" first-fragment", " fragments"] else found


def dscps(of: Parts) -> list[str]:
    accepted = values(of, DSCP)
    return [""] if accepted is None else [f" dscp {one}" for one in accepted]
