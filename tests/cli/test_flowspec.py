# SPDX-License-Identifier: BSD-3-Clause
"""Flow specifications: what ExaBGP and GoBGP write, order, ranges, lines of lists, numbers, and protection of our own sessions."""
import functools
import itertools
import json
import random
from pathlib import Path

import pytest

from kamuee.errors import DaemonError, KamueeError
from kamuee.flowspec import adapter, exabgp, gobgp, guard, setup, state
from kamuee.flowspec.event import Announce, Attributes, Complete, Session, Withdraw, action as community
from kamuee.flowspec.flow import (AND, DESTINATION, DSCP, EQUAL, FRAGMENT, FROM_PORT, GREATER, ICMP_TYPE, LESS, MATCH, NOT, PORT, PROTOCOL, SOURCE,
                                  TCP_FLAGS, TO_PORT, Flow, Invalid, Prefix, cubes, flow, has_bits, octets, order, prefix, ranges)
from kamuee.flowspec.install import Installer
from kamuee.flowspec.lines import action, lines
from kamuee.flowspec.rules import Full, Rules

RECORDED = Path(__file__).parent / "flowspec"     # written by ExaBGP 4.2.21 and GoBGP 3.10


def announced(found) -> dict[str, Attributes]:
    return {str(event.flow): event.attributes for event in found if isinstance(event, Announce)}


def of_exabgp() -> list:
    return [event for line in (RECORDED / "exabgp.jsonl").read_text().split("\n") for event in exabgp.events(line)]


def of_gobgp() -> list:
    return [event for family in (4, 6) for line in (RECORDED / "gobgp.jsonl").read_text().split("\n") for event in gobgp.events(line, family)]


# --- what speakers write ---------------------------------------------------------------------------------------------

def test_exabgp_tells_sessions_routes_and_withdrawals():
    events = of_exabgp()
    assert [event.up for event in events if isinstance(event, Session)][:2] == [True, True]
    assert any(isinstance(event, Withdraw) and str(event.flow) == "destination 10.0.1.0/24 protocol =17 source-port =53 =123" for event in events)
    found = announced(events)
    assert found["destination 10.0.0.0/24 source 20.0.0.0/24 protocol =6 =17 port =80 >=8000&<=9000 destination-port =443 "
                 "tcp-flags =syn+ack =fin packet-length >=500 dscp =46 fragment is-fragment first-fragment"].actions == (("rate", 0.0),)
    assert found["destination 10.0.2.0/24 protocol =1 icmp-type =8 icmp-code =0"].actions == (("redirect", "64500:100"),)
    assert found["destination 10.0.3.0/24 protocol !=6"].actions == (("mark", 46.0), ("traffic-action", 2.0))
    assert found["destination 10.0.4.0/24"].actions == (("redirect", "10.9.9.9:100"),)
    assert found["destination 10.0.1.0/24 protocol =17 source-port =53 =123"] == Attributes((("rate", 100000.0),), "", (65001,))
    assert found["destination 2001:db8::/32 protocol =6 destination-port =443 flow-label =7"].path == (65001,)


def test_gobgp_tells_the_same_of_what_exabgp_sent():
    found = announced(of_gobgp())
    assert found["destination 10.0.9.0/24 source 1.2.3.4/32 protocol =17 =17 port =53 >1024&<2000 packet-length >200&<300"] == Attributes(
        (("rate", 9600.0),), "", (65000,))
    assert found["destination 10.0.10.0/24 protocol =6 tcp-flags syn&!ack rst+ack fragment !is-fragment"].actions == (("rate", 0.0),)
    assert found["destination 10.0.11.0/24 protocol =1 icmp-type =8 =3 icmp-code =3 dscp >8&<16"].actions == (("redirect", "65000:12"),)
    assert found["destination 10.0.13.0/24"].actions == (("nexthop", 0.0),)
    assert found["destination 10.0.14.0/24"].actions == (("mark", 10.0), ("traffic-action", 3.0))
    assert found["destination ::/64 offset 16 source 2001:db8::/32 protocol =6 dscp =10 flow-label >5"].path == (65000,)


def test_a_monitor_of_gobgp_tells_its_own_family_only():
    lines_of = (RECORDED / "gobgp.jsonl").read_text().split("\n")
    told = {family: [event.flow.family for line in lines_of for event in gobgp.events(line, family)] for family in (4, 6)}
    assert set(told[4]) == {4} and set(told[6]) == {6}
    withdrawn = '[{"nlri":{"value":[{"type":3,"value":[{"op":129,"value":6}]}]},"attrs":[],"withdrawal":true,"neighbor-ip":"192.0.2.9"}]'
    assert [type(event) for family in (4, 6) for event in gobgp.events(withdrawn, family)] == [Withdraw, Withdraw]


def test_a_flow_of_exabgp_equals_that_of_gobgp():
    told = exabgp.read(4, "flow destination-ipv4 10.0.10.0/24 protocol =tcp tcp-flags [ syn&!ack rst+ack ] fragment !is-fragment")
    (same,) = [event.flow for event in of_gobgp() if isinstance(event, Announce) and event.flow.get(DESTINATION) == prefix(4, "10.0.10.0/24")]
    assert told == same


@pytest.mark.parametrize("line", ["", "{", "[]", "done", '{"neighbor": 1}', '{"neighbor": {"address": {"peer": "a"}}, "type": "update"}', "null"])
def test_what_is_no_event_is_none(line):
    assert [event for event in exabgp.events(line) if not isinstance(event, Session)] == []
    assert list(gobgp.events(line, 4)) == []


def test_end_of_rib():
    line = json.dumps({"type": "update", "neighbor": {"address": {"local": "10.0.0.1", "peer": "10.0.0.2"}, "asn": {"local": 1, "peer": 2},
                                                      "message": {"eor": {"afi": "ipv4", "safi": "flow"}}}})
    assert Complete("10.0.0.2", 4) in list(exabgp.events(line))


@pytest.mark.parametrize("value, found", [
    (0x8006000000000000, ("rate", 0.0)), (0x800c000047c35000, ("packets", 100000.0)), (0x8007000000000001, ("traffic-action", 1.0)),
    (0x8008fbf400000064, ("redirect", "64500:100")), (0x82080001000a0064, ("redirect", "65546:100")), (0x8009000000000030, ("mark", 48.0)),
    (0x0800000000000000, ("nexthop", 0.0)), (0x010cc00002090000, ("address", "192.0.2.9")), (0x80ff000000000000, ("unknown", "0x80ff000000000000")),
    (0x0002000100000002, None)])
def test_extended_communities(value, found):
    assert community(value) == found


@pytest.mark.parametrize("told, found", [
    ({"type": 128, "subtype": 12, "value": "DAAAR8NQAA=="}, ("packets", 100000.0)), ({"type": 8, "subtype": 0, "value": "AAAAAAAAAA=="}, ("nexthop", 0.0)),
    ({"type": 128, "subtype": 6, "as": 0, "rate": 9600}, ("rate", 9600.0)), ({"type": 128, "subtype": 99, "value": "x"}, ("unknown", "type 128, subtype 99")),
    ({"type": 0, "subtype": 2, "value": "65000:1"}, None)])
def test_extended_communities_of_gobgp(told, found):
    assert gobgp.action(told) == found


# --- order (RFC 8955 5.1) --------------------------------------------------------------------------------------------

def of(*parts, family=4) -> Flow:
    return flow(family, parts)


def is_(kind, *values):
    return kind, tuple((EQUAL, value) for value in values)


def net(kind, written, family=4):
    return kind, prefix(family, written)


def first(a: Flow, b: Flow) -> int:
    """The comparison as the RFC words it, component by component: -1 if a has precedence."""
    for one, other in itertools.zip_longest(a.parts, b.parts):
        if one is None or other is None:
            return 1 if one is None else -1
        (kind, value), (another, theirs) = one, other
        if kind != another:
            return -1 if kind < another else 1
        if isinstance(value, Prefix):
            if value.offset != theirs.offset:
                return -1 if value.offset < theirs.offset else 1
            bits = 32 if a.family == 4 else 128
            shared = min(value.length, theirs.length)
            x, y = value.value >> bits - shared, theirs.value >> bits - shared
            if x != y:
                return -1 if x < y else 1
            if value.length != theirs.length:
                return -1 if value.length > theirs.length else 1
        else:
            x, y = octets(value), octets(theirs)
            shared = min(len(x), len(y))
            if x[:shared] != y[:shared]:
                return -1 if x[:shared] < y[:shared] else 1
            if len(x) != len(y):
                return -1 if len(x) > len(y) else 1
    return 0


@pytest.mark.parametrize("before, after", [
    (of(net(DESTINATION, "192.0.2.0/25")), of(net(DESTINATION, "192.0.2.0/24"))),           # more specific
    (of(net(DESTINATION, "10.0.0.0/8")), of(net(DESTINATION, "192.0.2.0/24"))),             # lower address
    (of(net(DESTINATION, "192.0.2.0/24")), of(net(SOURCE, "10.0.0.0/8"))),                  # lower component
    (of(net(DESTINATION, "192.0.2.0/24"), is_(PROTOCOL, 6)), of(net(DESTINATION, "192.0.2.0/24"))),     # a further component
    (of(is_(PROTOCOL, 6)), of(is_(PROTOCOL, 17))),                                          # lower octets
    (of(is_(PORT, 80, 443)), of(is_(PORT, 80))),        # 01 of 'not the end' is below 81
    (of(net(DESTINATION, "2001:db8::/32/0", 6), family=6), of(net(DESTINATION, "2001:db8::/48/16", 6), family=6)),  # lower offset
])
def test_precedence(before, after):
    assert order(before) < order(after) and first(before, after) == -1 and first(after, before) == 1


def random_prefix(rng, family):
    bits = 32 if family == 4 else 128
    length = rng.choice((0, 1, 7, 8, 9, 24, 25, 31, 32) if family == 4 else (0, 16, 17, 48, 64, 127, 128))
    offset = rng.choice((0, 0, 0, min(8, length))) if family == 6 else 0
    value = rng.choice((0, 0x0a << bits - 8, 0x0b << bits - 8, rng.getrandbits(bits)))
    whole = ((1 << length - offset) - 1) << bits - length
    return Prefix(value & whole, length, offset)


def random_ops(rng, top=255, signs=range(8)):
    return tuple((rng.choice(signs) | (AND if i and rng.random() < 0.4 else 0), rng.choice((0, 1, 6, top // 2, top, rng.randint(0, top))))
                 for i in range(rng.randint(1, 3)))


def random_flow(rng, family=None):
    family = family or rng.choice((4, 6))
    parts = []
    for kind in (DESTINATION, SOURCE):
        if rng.random() < 0.5:
            parts.append((kind, random_prefix(rng, family)))
    for kind, top in ((PROTOCOL, 255), (PORT, 65535), (TO_PORT, 65535), (FROM_PORT, 65535), (DSCP, 63)):
        if rng.random() < 0.3:
            parts.append((kind, random_ops(rng, top)))
    if rng.random() < 0.2:
        parts.append((TCP_FLAGS, random_ops(rng, 255, range(4))))
    return flow(family, parts)


def test_order_is_the_comparison_of_the_rfc_and_total():
    rng = random.Random(8955)
    for _ in range(10_000):
        a, b, c = (random_flow(rng, family) for family in [rng.choice((4, 6))] * 3)
        assert (order(a) > order(b)) - (order(a) < order(b)) == first(a, b) == -first(b, a), (a, b)
        x, y, z = sorted((a, b, c), key=functools.cmp_to_key(first))
        assert first(x, y) <= 0 and first(y, z) <= 0 and first(x, z) <= 0 and first(a, a) == 0


# --- values ----------------------------------------------------------------------------------------------------------

def accepts(ops, value) -> bool:
    """The meaning of numeric operators (RFC 8955 4.2.1.1)."""
    result = None
    for op, number in ops:
        hit = bool(op & LESS and value < number or op & GREATER and value > number or op & EQUAL and value == number)
        if result is None:
            result, groups = hit, []
        elif op & AND:
            result = result and hit
        else:
            groups.append(result)
            result = hit
    return result or any(groups)


def test_ranges_are_the_values_that_operators_accept():
    rng = random.Random(1)
    for _ in range(2000):
        ops = random_ops(rng)
        found = ranges(of((PROTOCOL, ops)), PROTOCOL)
        assert found == sorted(found) and all(a[1] + 1 < b[0] for a, b in zip(found, found[1:]))
        assert [value for low, high in found for value in range(low, high + 1)] == [value for value in range(256) if accepts(ops, value)], ops


def test_cubes_are_the_flags_that_operators_accept():
    rng = random.Random(2)
    for _ in range(500):
        ops = random_ops(rng, 255, range(4))
        found = cubes(ops)
        for bits in range(256):
            assert any(bits & mask == value for mask, value in found) == has_bits(ops, bits), (ops, bits)


# --- lines of lists --------------------------------------------------------------------------------------------------

SETUP = setup.Setup(redirects={"64500:100": {4: "198.51.100.9", 6: "2001:db8::9"}})


def said(written: str, family=4, *actions, nexthop="") -> list[str]:
    found = exabgp.read(family, "flow " + written)
    return lines(found, action(Attributes(actions or (("rate", 0.0),), nexthop), family, SETUP), 600)


@pytest.mark.parametrize("written, found", [
    ("destination-ipv4 192.0.2.0/24", ["deny ipv4 from 0.0.0.0/0 to 192.0.2.0/24"]),
    ("source-ipv4 192.0.2.1/32 protocol [ =udp ]", ["deny 17 from 192.0.2.1/32 to 0.0.0.0/0"]),
    ("protocol =tcp destination-port [ =22 >=8000&<=8003 ]",
     ["deny 6 from 0.0.0.0/0 to 0.0.0.0/0 port 22", "deny 6 from 0.0.0.0/0 to 0.0.0.0/0 port 8000-8003"]),
    ("protocol =udp port =53", ["deny 17 from 0.0.0.0/0 port 53 to 0.0.0.0/0", "deny 17 from 0.0.0.0/0 to 0.0.0.0/0 port 53"]),
    ("source-port =123", ["deny 6 from 0.0.0.0/0 port 123 to 0.0.0.0/0", "deny 17 from 0.0.0.0/0 port 123 to 0.0.0.0/0"]),
    ("protocol =icmp icmp-type =echo-request", ["deny 1 from 0.0.0.0/0 to 0.0.0.0/0 icmp-type 8"]),
    ("icmp-type =unreachable icmp-code [ =1 =3 ]", ["deny 1 from 0.0.0.0/0 to 0.0.0.0/0 icmp-type 3/1", "deny 1 from 0.0.0.0/0 to 0.0.0.0/0 icmp-type 3/3"]),
    ("tcp-flags =syn", ["deny 6 from 0.0.0.0/0 to 0.0.0.0/0 tcp-flags syn"]),
    ("tcp-flags [ =syn&!ack ]", ["deny 6 from 0.0.0.0/0 to 0.0.0.0/0 tcp-flags syn,!ack"]),
    ("tcp-flags [ syn+ack ]", ["deny 6 from 0.0.0.0/0 to 0.0.0.0/0 tcp-flags syn", "deny 6 from 0.0.0.0/0 to 0.0.0.0/0 tcp-flags ack"]),
    ("fragment [ is-fragment first-fragment ]", ["deny ipv4 from 0.0.0.0/0 to 0.0.0.0/0 any-fragment"]),
    ("fragment is-fragment protocol =udp", ["deny 17 from 0.0.0.0/0 to 0.0.0.0/0 fragments"]),
    ("fragment !is-fragment protocol =udp destination-port =53", ["deny 17 from 0.0.0.0/0 to 0.0.0.0/0 port 53"]),
    ("port >=0 fragment [ is-fragment first-fragment ]",
     ["deny 6 from 0.0.0.0/0 to 0.0.0.0/0 first-fragment", "deny 17 from 0.0.0.0/0 to 0.0.0.0/0 first-fragment"]),
    ("dscp [ >=46&<48 ]", ["deny ipv4 from 0.0.0.0/0 to 0.0.0.0/0 dscp 46", "deny ipv4 from 0.0.0.0/0 to 0.0.0.0/0 dscp 47"]),
    ("packet-length >=0", ["deny ipv4 from 0.0.0.0/0 to 0.0.0.0/0"]),
])
def test_lines(written, found):
    assert said(written) == found


def test_lines_of_ipv6():
    assert said("destination-ipv6 2001:db8::/32/0 next-header =tcp", 6) == ["deny 6 from ::/0 to 2001:db8::/32"]
    assert said("icmp-type =unknown icmp type type 128", 6) == ["deny 58 from ::/0 to ::/0 icmp-type 128"]


@pytest.mark.parametrize("written, family, why", [
    ("packet-length >=500", 4, "packet-length"), ("flow-label =7", 6, "flow-label"), ("destination-ipv6 ::1:0:0:0/96/16", 6, "offset"),
    ("fragment dont-fragment", 4, "do not fragment"), ("fragment last-fragment", 4, "last one"), ("tcp-flags ns", 4, "eight flags"),
    ("protocol >255", 4, "no packet matches"), ("protocol =udp tcp-flags syn", 4, "no packet matches"), ("icmp-code =1 dscp >2", 4, "more than"),
    ("protocol =nonsense", 4, "unknown value"), ("port true", 4, "unknown"), ("frobnicate =1", 4, "unknown component"),
    ("port [ =80", 4, "unknown operator"), ("protocol", 4, "expected a component"), ("port =80 =81", 4, "expected a component"),
    ("destination-ipv4 192.0.2.0/33", 4, "invalid prefix"), ("destination-ipv4 2001:db8::/32", 4, "invalid prefix"), ("dscp =64", 4, "out of range")])
def test_what_a_list_cannot_do_is_refused_with_the_reason(written, family, why):
    with pytest.raises(Invalid, match=why):
        said(written, family)


@pytest.mark.parametrize("actions, found", [
    ((("rate", 125000.0),), ["permit 17 from 0.0.0.0/0 port 53 to 0.0.0.0/0 police 1000", "permit 17 from 0.0.0.0/0 to 0.0.0.0/0 port 53 police with {}"]),
    ((("packets", 500.0),), ["permit 17 from 0.0.0.0/0 port 53 to 0.0.0.0/0 police packets 500",
                             "permit 17 from 0.0.0.0/0 to 0.0.0.0/0 port 53 police with {}"]),
    ((("packets", 0.0),), ["deny 17 from 0.0.0.0/0 port 53 to 0.0.0.0/0", "deny 17 from 0.0.0.0/0 to 0.0.0.0/0 port 53"])])
def test_one_rate_is_for_all_rules_of_a_flow(actions, found):
    assert said("protocol =udp port =53", 4, *actions) == found


@pytest.mark.parametrize("actions, nexthop, found", [
    ((("redirect", "64500:100"),), "", "permit ipv4 from 0.0.0.0/0 to 0.0.0.0/0 redirect to 198.51.100.9"),
    ((("nexthop", 0.0),), "192.0.2.7", "permit ipv4 from 0.0.0.0/0 to 0.0.0.0/0 redirect to 192.0.2.7"),
    ((("address", "192.0.2.8"), ("mark", 46.0)), "", "permit ipv4 from 0.0.0.0/0 to 0.0.0.0/0 redirect to 192.0.2.8 remark-dscp 46"),
    ((("traffic-action", 2.0),), "", "permit ipv4 from 0.0.0.0/0 to 0.0.0.0/0 log every 1000"),
    ((("traffic-action", 2.0), ("rate", 0.0)), "", "deny ipv4 from 0.0.0.0/0 to 0.0.0.0/0 log every 1000"),
    ((("rate", 1e15),), "", "permit ipv4 from 0.0.0.0/0 to 0.0.0.0/0")])
def test_actions(actions, nexthop, found):
    assert said("", 4, *actions, nexthop=nexthop) == [found]


@pytest.mark.parametrize("actions, why", [
    ((("traffic-action", 1.0),), "go on"), ((("redirect", "1:1"),), "expected a line 'redirect 1:1"), ((("nexthop", 0.0),), "no IPv4 next hop"),
    ((("nexthop", 1.0),), "copy"), ((("redirect", "64500:100"), ("address", "192.0.2.8")), "several"), ((("rate", 1.0), ("packets", 1.0)), "one policer"),
    ((("rate", float("nan")),), "a rate of nan"), ((("rate", -1.0),), "a rate of -1"), ((("unknown", "x"),), "unknown action"),
    ((("rate", 1.0), ("rate", 2.0)), "differ")])
def test_refused_actions(actions, why):
    with pytest.raises(Invalid, match=why):
        said("", 4, *actions)


# --- our own sessions ------------------------------------------------------------------------------------------------

BGP = setup.Protected(6, "192.0.2.254", 179, "192.0.2.1", "BGP")
SSH = setup.Protected(6, "192.0.2.254", 22, None, "SSH")


@pytest.mark.parametrize("written, touched", [
    ("", True), ("protocol =tcp", True), ("protocol =udp", False), ("destination-ipv4 192.0.2.0/24", True), ("destination-ipv4 192.0.3.0/24", False),
    ("source-ipv4 192.0.2.1/32 destination-port =179", True), ("source-ipv4 192.0.2.1/32 source-port =179", True),
    ("source-ipv4 192.0.2.2/32", True), ("source-ipv4 192.0.2.2/32 port =179 protocol =udp", False), ("port =22", True),
    ("destination-port =80 source-port =80", False),
    ("destination-port >179", True), ("destination-port >179 source-port =1", False), ("tcp-flags =syn packet-length =40", True),
    ("icmp-type =8", True), ("protocol =icmp", False)])
def test_rules_do_not_touch_our_sessions(written, touched):
    found = exabgp.read(4, "flow " + written)
    assert bool(guard.touched(found, [BGP, SSH])) == touched


def matches(of_flow: Flow, packet: tuple[int, int, int, int, int]) -> bool:
    source, destination, protocol, sport, dport = packet

    def inside(kind, address):
        found = of_flow.get(kind)
        bits = 32
        return found is None or (found.value ^ address) >> bits - found.length == 0

    def has(kind, *values):
        ops = of_flow.get(kind)
        return ops is None or any(accepts(ops, value) for value in values)
    return (inside(SOURCE, source) and inside(DESTINATION, destination) and has(PROTOCOL, protocol) and has(PORT, sport, dport)
            and has(TO_PORT, dport) and has(FROM_PORT, sport))


def test_no_packet_of_a_session_is_matched_by_an_accepted_rule():
    """Random rules; whenever one of many packets of the session matches, the proof has refused the rule."""
    rng = random.Random(3)
    us, peer = 0xc00002fe, 0xc0000201
    packets = [(peer, us, 6, *ports) for n in (0, 1, 6, 22, 179, 32767, 65535) for ports in ((n, 179), (179, n))]
    refused = 0
    for _ in range(20_000):
        rule = random_flow(rng, 4)
        rule = flow(4, [part for part in rule.parts if part[0] not in (DSCP, TCP_FLAGS)])
        hit = any(matches(rule, packet) for packet in packets)
        touched = guard.touches(rule, BGP)
        assert touched or not hit, rule
        refused += touched
    assert 100 < refused < 19_000


# --- numbers ---------------------------------------------------------------------------------------------------------

def check_numbers(rules: Rules) -> None:
    numbers = [number for key, entry in rules.sorted for number, _ in rules.numbered(entry)]
    assert numbers == sorted(set(numbers)) and (not numbers or 0 <= numbers[0] and numbers[-1] < rules.size)
    in_order = sorted((order(found), entry) for found, entry in rules.entries.items())
    assert [(key, id(entry)) for key, entry in rules.sorted] == [(key, id(entry)) for key, entry in in_order] and rules.count == len(numbers)


@pytest.mark.parametrize("size", [3000, 1_000_000])
def test_numbers_follow_the_order_whatever_changes(size):
    rng = random.Random(size)
    rules, installed = Rules(size), {}
    for _ in range(200):
        wanted = {}
        for _ in range(rng.choice((1, 1, 5, 100))):
            if rules.entries and rng.random() < 0.45:
                wanted[rng.choice(list(rules.entries))] = None
            else:
                wanted[of(net(DESTINATION, f"10.0.{rng.randint(0, 20)}.{rng.randint(0, 255)}/32"))] = [f"rule {rng.random()}"] * rng.randint(1, 3)
        rules.change(wanted)
        fresh, gone = rules.take()
        assert not gone & fresh.keys() and gone <= installed.keys()
        installed = {number: line for number, line in (installed | fresh).items() if number not in gone}
        assert installed == rules.every()
        check_numbers(rules)


def test_ascending_routes_move_few_neighbors():
    rules, moved = Rules(1_000_000), 0
    for i in range(5000):
        rules.change({of(net(DESTINATION, f"10.0.{i >> 8}.{i & 255}/32")): ["deny"]})
        moved += len(rules.take()[0])
    check_numbers(rules)
    assert moved < 5000 * 10


def test_a_full_range_takes_nothing_more():
    rules = Rules(10)
    rules.change({of(net(DESTINATION, f"10.0.0.{i}/32")): ["deny"] for i in range(10)})
    with pytest.raises(Full):
        rules.change({of(net(DESTINATION, "10.0.0.10/32")): ["deny"]})
    check_numbers(rules)


def test_known_numbers_stay_unless_the_order_is_another():
    flows = [of(net(DESTINATION, f"10.0.0.{i}/32")) for i in range(4)]
    rules = Rules(1000)
    rules.restore({flows[2]: (["c"], 300), flows[0]: (["a"], 100), flows[1]: (["b"], 90), flows[3]: (["d", "d"], 400)})
    assert [rules.entries[flows[i]].first for i in (0, 2, 3)] == [100, 300, 400] and 100 < rules.entries[flows[1]].first < 300
    check_numbers(rules)
    assert rules.head(401) == rules.head(400) == 400 and rules.head(100) == 100


# --- the process -----------------------------------------------------------------------------------------------------

class Kamueed:
    """One list with temporary rules, and routes by their destination."""

    def __init__(self):
        self.rules, self.down, self.lookups, self.peers = {}, False, [], None

    def call(self, operation, /, **given):
        if self.down:
            raise DaemonError(["no"])
        if operation == "lookup":
            self.lookups.append(given["address"])
            return {"result": [{"address": address, "prefix": "0.0.0.0/0", "hop": [{"gateway": "192.0.2.1"}]} for address in given["address"]]}
        if operation == "acl-rules":
            return {"rule": [{"number": number} for number in sorted(self.rules) if number >= given["from"]]}
        self.peers = given["peer"]
        for number in given["delete"] or ():
            self.rules.pop(number, None)
        self.rules |= {int(line.partition(" ")[0]): line.partition(" ")[2] for line in (given["add"] or "").split("\n") if line}
        return {"temporary-rules": len(self.rules)}


@pytest.fixture
def process(tmp_path):
    peers = {address: setup.Peer(address, limit=5, validate=address == "192.0.2.1") for address in ("192.0.2.1", "192.0.2.2")}
    found = adapter.Adapter(setup.Setup(targets={"default": [setup.Target("edge", 1000, 9999)]}, peers=peers, state=str(tmp_path / "state")), Kamueed())
    for address in peers:
        found.take(Session(address, True, "192.0.2.254", 65001, 65002))
    return found


DROP, RATE = Attributes((("rate", 0.0),), "", (65002,)), Attributes((("rate", 1000.0),), "", (65002,))


def to(host: str) -> Flow:
    return of(net(DESTINATION, f"{host}/32"))


def test_the_first_peer_decides_and_a_mistake_of_one_touches_no_other(process):
    process.take(Announce("192.0.2.2", to("10.0.0.1"), RATE))
    process.flush()
    assert list(process.client.rules.values()) == ["permit ipv4 from 0.0.0.0/0 to 10.0.0.1/32 police 8"]
    process.take(Announce("192.0.2.1", to("10.0.0.1"), DROP))
    process.flush()
    assert list(process.client.rules.values()) == ["deny ipv4 from 0.0.0.0/0 to 10.0.0.1/32"] and process.client.lookups == [["10.0.0.1"]]
    process.take(Announce("192.0.2.1", to("10.0.0.1"), Attributes((("traffic-action", 1.0),), "", (65002,))))   # a list cannot do it
    process.flush()
    assert list(process.client.rules.values()) == ["permit ipv4 from 0.0.0.0/0 to 10.0.0.1/32 police 8"]
    process.take(Withdraw("192.0.2.2", to("10.0.0.1")))
    process.flush()
    assert process.client.rules == {} and process.refused == {("192.0.2.1", "unsupported"): 1}


def test_limits_paths_and_our_sessions(process):
    for i in range(7):
        process.take(Announce("192.0.2.2", to(f"10.0.0.{i}"), DROP))
    process.take(Announce("192.0.2.1", to("10.0.1.1"), DROP._replace(path=(65009, 65002))))
    process.take(Announce("192.0.2.1", to("192.0.2.254"), DROP))
    process.take(Announce("192.0.2.9", to("10.0.1.2"), DROP))
    process.flush()
    assert len(process.client.rules) == 5
    assert process.refused == {("192.0.2.2", "limit"): 2, ("192.0.2.1", "not-valid"): 1, ("192.0.2.1", "own-session"): 1, ("192.0.2.9", "unknown-peer"): 1}


def test_another_address_of_ours_is_protected_at_once(process):
    process.take(Announce("192.0.2.2", to("192.0.2.250"), DROP))
    process.flush()
    assert len(process.client.rules) == 1
    process.take(Session("192.0.2.2", False))
    process.take(Session("192.0.2.2", True, "192.0.2.250", 65001, 65002))
    process.flush()
    assert process.client.rules == {} and process.refused == {("192.0.2.2", "own-session"): 1}


def test_kamueed_knows_how_near_peers_are_to_their_limits(process):
    for i in range(4):
        process.take(Announce("192.0.2.2", to(f"10.0.0.{i}"), DROP))
    process.flush()
    assert process.client.peers == [{"address": "192.0.2.2", "limit-used": 80}]
    process.take(Withdraw("192.0.2.2", to("10.0.0.0")))
    process.flush()
    assert process.client.peers == [{"address": "192.0.2.2", "limit-used": 60}]


def test_routes_that_a_new_session_does_not_bring_again_go(process):
    for host in ("10.0.0.1", "10.0.0.2"):
        process.take(Announce("192.0.2.2", to(host), DROP))
    process.flush()
    process.take(Session("192.0.2.2", False))
    process.tick()
    assert len(process.client.rules) == 2                       # for the hold time
    process.take(Session("192.0.2.2", True))
    process.take(Announce("192.0.2.2", to("10.0.0.2"), DROP))
    process.take(Complete("192.0.2.2", 4))
    process.flush()
    assert list(process.client.rules.values()) == ["deny ipv4 from 0.0.0.0/0 to 10.0.0.2/32"]
    process.take(Session("192.0.2.2", False))
    process.take(Announce("192.0.2.2", to("10.0.0.2"), DROP))   # before the speaker tells that the session is up
    process.peers["192.0.2.2"].deadline = 0.0
    process.tick()
    assert len(process.client.rules) == 1
    process.take(Session("192.0.2.2", False))
    process.peers["192.0.2.2"].deadline = 0.0
    process.tick()
    process.flush()
    assert process.client.rules == {}


def test_a_withdrawal_while_the_speaker_is_asked_again_is_not_missed(process):
    """A route comes before the news of its session; then all routes are told once more, but not what went in between."""
    process.take(Session("192.0.2.2", False))
    for host in ("10.0.0.1", "10.0.0.2"):
        process.take(Announce("192.0.2.2", to(host), DROP))
    process.take(Session("192.0.2.2", True, again=True))
    process.take(Session("192.0.2.2", True))
    process.take(Announce("192.0.2.2", to("10.0.0.2"), DROP))
    process.peers["192.0.2.2"].deadline = 0.0
    process.tick()
    process.flush()
    assert list(process.client.rules.values()) == ["deny ipv4 from 0.0.0.0/0 to 10.0.0.2/32"]


def test_rules_come_back_after_kamueed_and_after_the_process(process):
    for i in range(3):
        process.take(Announce("192.0.2.2", to(f"10.0.0.{i}"), RATE))
    process.client.down = True
    process.flush()
    process.client.down = False
    process.due.clear()
    process.tick()
    before = dict(process.client.rules)
    assert len(before) == 3
    process.client.rules.clear()                                # kamueed has started again
    process.due.clear()
    process.tick()
    assert process.client.rules == before
    process.write_files()
    again = adapter.Adapter(process.setup, process.client)
    again.remember()
    assert again.rules["default"].every() == process.rules["default"].every()
    again.install("default", Installer.restore)
    assert process.client.rules == before


def test_expired_and_policed(process):
    process.setup.peers["192.0.2.2"].expire_s = 10
    process.setup.policers = 1
    for host in ("10.0.0.1", "10.0.0.2"):
        process.take(Announce("192.0.2.2", to(host), RATE))
    process.flush()
    assert len(process.client.rules) == 1 and process.refused["192.0.2.2", "policers"] == 1
    for route in process.peers["192.0.2.2"].routes.values():
        route.since -= 20
    process.expire()
    process.flush()
    assert process.client.rules == {} and process.refused["192.0.2.2", "expired"] == 1


@pytest.mark.parametrize("words, code, err", [
    (("check",), 1, "it names the speaker, the lists and the peers; see kamuee-flowspec(8)"), (("run",), 1, "kamuee-flowspec(8)"),
    (("dance",), 2, "invalid choice")])
def test_exit_codes(kamuee, tmp_path, words, code, err):
    result = kamuee("flowspec", "--config", str(tmp_path / "none"), *words)
    assert result.code == code and err in result.err


# --- what is shown ---------------------------------------------------------------------------------------------------

def test_show_has_the_rules_counters_and_the_reason(kamuee, daemon, tmp_path, monkeypatch):
    drop, long = exabgp.read(4, "flow destination-ipv4 192.0.2.0/24 protocol =udp port =53"), exabgp.read(4, "flow packet-length >=500")
    path = tmp_path / "state"
    head = {"lists": {"default": [["edge", 1000, 9999, ""]]}, "peers": [], "rules": {}}
    state.write(str(path), head, [
        state.dump("192.0.2.9", "default", drop, state.Route(Attributes((("rate", 0.0),)), 1, lines=["a", "b"]), 40),
        state.dump("192.0.2.8", "default", long, state.Route(Attributes((("rate", 0.0),)), 1, why="unsupported", reason="packet-length: no"), None)])
    conf = tmp_path / "conf"
    conf.write_text(FILE + f"state {path}\n")
    monkeypatch.setenv("KAMUEE_FLOWSPEC", str(conf))
    hits = [{"number": 1040, "packets": "7", "bytes": "700"}, {"number": 1041, "packets": "1", "bytes": "60"}]
    daemon.operations = {"acl-rules": lambda given: {"rule": hits}}
    rows = {row["peer"]: row for row in json.loads(kamuee("show", "flowspec", "-j").out)}
    assert {name: rows["192.0.2.9"][name] for name in ("status", "rule", "packets", "bytes", "action")} == {
        "status": "installed", "rule": [40, 41], "packets": 8, "bytes": 760, "action": "drop"}
    assert (rows["192.0.2.8"]["status"], rows["192.0.2.8"]["reason"]) == ("unsupported", "packet-length: no")
    assert json.loads(kamuee("show", "flowspec", "unused", "-j").out) == []
    assert list(json.loads(kamuee("show", "flowspec", "peer", "192.0.2.8", "-j").out)[0]) == ["vr", "peer", "flow", "action", "status", "reason", "rule",
                                                                                            "packets", "bytes", "age"]
    found, attributes = state.parse(json.loads(path.read_text().split("\n")[1]))
    assert found == drop and attributes == Attributes((("rate", 0.0),))


def test_without_a_process_there_is_nothing_to_show(kamuee, tmp_path, monkeypatch):
    monkeypatch.setenv("KAMUEE_FLOWSPEC", str(tmp_path / "none"))
    assert kamuee("show", "flowspec").out == "no flow specifications\n"


# --- the file --------------------------------------------------------------------------------------------------------

FILE = """
speaker gobgp
gobgp 127.0.0.1 50052
list default edge rules 1000000-1999999      # behind the operator's
peer 192.0.2.1 vr default limit 500 validate off actions drop,rate expire 3600
redirect 64500:100 to 198.51.100.9 2001:db8::9
protect tcp 192.0.2.254 22
hold 60
"""


def test_file(tmp_path):
    path = tmp_path / "flowspec.conf"
    path.write_text(FILE)
    found = setup.load(str(path))
    assert (found.speaker, found.port, found.hold_s, found.targets["default"]) == ("gobgp", 50052, 60, [setup.Target("edge", 1000000, 1999999)])
    peer = found.peers["192.0.2.1"]
    assert (peer.limit, peer.validate, peer.actions, peer.expire_s) == (500, False, ("drop", "rate"), 3600)
    assert found.redirects == {"64500:100": {4: "198.51.100.9", 6: "2001:db8::9"}} and found.protected[0].port == 22


@pytest.mark.parametrize("line, why", [
    ("peer", "expected 'peer ADDRESS"), ("peer x", "'x' is no address"), ("peer 192.0.2.1", "appears twice"), ("peer 192.0.2.3 limit 0", "from 1 to"),
    ("peer 192.0.2.3 vr red", "there is no line 'list red"), ("list default edge rules 9-1", "expected 'list"), ("hold soon", "expected a number"),
    ("speaker bird", "expected exabgp or gobgp"), ("redirect 1:1 192.0.2.1", "expected 'redirect"), ("protect gre 192.0.2.1", "expected 'protect"),
    ("frob 1", "unknown word"), ("peer 192.0.2.3 actions shout", "expected some of")])
def test_errors_of_the_file_name_its_line(tmp_path, line, why):
    path = tmp_path / "flowspec.conf"
    path.write_text(FILE + line + "\n")
    with pytest.raises(KamueeError, match=why) as error:
        setup.load(str(path))
    assert str(path) in str(error.value)
