# SPDX-License-Identifier: BSD-3-Clause
"""Access lists and address sets: output, changes, and conversion of other routers' rules."""
import json

import pytest

import acls
from conftest import assert_golden

from kamuee import acl_csv, acl_ios, acl_nft
from kamuee.acl_text import Refused

SHOWN = ("show acl", "show acl -w", "show acl edge", "show acl edge cost", "show acl edge lint", "show acl-redirect", "show address-set",
         "show address-set bad contains 192.0.2.1")


@pytest.fixture(autouse=True)
def operations(daemon):
    daemon.operations = dict(acls.OPERATIONS)


@pytest.mark.parametrize("command", SHOWN)
def test_what_is_shown(kamuee, command):
    assert_golden(kamuee(*command.split()), command, "-w" in command)


def test_a_list_that_does_not_exist_is_named(kamuee):
    result = kamuee("show", "acl", "egde", "cost")
    assert (result.code, result.err) == (1, "error: there is no access list 'egde'; 'show acl' lists them\n")


@pytest.mark.parametrize("command, asked", [
    ("clear counters", ("clear-counters", {})),
    ("clear counters interface", ("clear-counters", {"of": "interface"})),
    ("clear counters interface v40", ("clear-counters", {"of": "interface", "name": "v40"})),
    ("clear counters port p0", ("clear-counters", {"of": "port", "name": "p0"})),
    ("clear alarm session-down", ("clear-alarm", {"name": "session-down"})),
    ("clear alarm session-down red", ("clear-alarm", {"name": "session-down", "subject": "red"})),
    ("clear acl edge counters", ("clear-acl", {"name": "edge"})),
    ("clear acl counters", ("clear-acl", {})),
    ("clear acl edge temporary", ("acl-change", {"name": "edge", "replace": True})),
    ("reload acl edge", ("reload", {"acl": "edge"})),
    ("reload address-set bad", ("reload", {"address-set": "bad"})),
    ("address-set bad add 192.0.2.1 2001:db8::/32", ("address-set-change", {"name": "bad", "add": ["192.0.2.1", "2001:db8::/32"]})),
    ("address-set bad delete 192.0.2.1", ("address-set-change", {"name": "bad", "delete": ["192.0.2.1"]})),
])
def test_what_is_asked_of_the_daemon(kamuee, daemon, command, asked):
    seen = []
    daemon.operations[asked[0]] = lambda given: seen.append(given) or {}
    assert kamuee(*command.split()).code == 0
    assert seen == [asked[1]]


# --- rules of other routers ---

IOS_GOOD = """\
hostname edge
!
ip access-list extended CUSTOMERS
 remark what customers may do
 10 permit tcp 10.0.0.0 0.255.255.255 any eq www
 20 permit tcp any host 192.0.2.1 range 1000 2000 established log
 permit icmp any any echo
 deny udp any gt 1023 192.0.2.0 0.0.0.255 lt 1024 dscp ef
 permit tcp any any syn
 deny ip any any fragments
!
access-list 101 permit ospf any any
ipv6 access-list SIX
 sequence 10 permit tcp 2001:DB8::/32 any eq 443
 permit icmp any any nd-ns
interface GigabitEthernet0/0
 ip access-group CUSTOMERS in
"""

IOS_LINES = """\
set acl CUSTOMERS default deny
set acl CUSTOMERS rule 10 permit tcp from 10.0.0.0/8 to 0.0.0.0/0 port http
set acl CUSTOMERS rule 20 permit tcp from 0.0.0.0/0 to 192.0.2.1 port 1000-2000 established log
set acl CUSTOMERS rule 30 permit icmp from 0.0.0.0/0 to 0.0.0.0/0 icmp-type 8
set acl CUSTOMERS rule 40 deny udp from 0.0.0.0/0 port 1024-65535 to 192.0.2.0/24 port 0-1023 dscp ef
set acl CUSTOMERS rule 50 permit tcp from 0.0.0.0/0 to 0.0.0.0/0 tcp-flags syn
set acl CUSTOMERS rule 60 deny ipv4 from 0.0.0.0/0 to 0.0.0.0/0 fragments
set acl CUSTOMERS rule 70 permit ipv6 from any to any description "an IOS list of IPv4 leaves it alone"
set acl 101 default deny
set acl 101 rule 10 permit ospf from 0.0.0.0/0 to 0.0.0.0/0
set acl 101 rule 20 permit ipv6 from any to any description "an IOS list of IPv4 leaves it alone"
set acl SIX default deny
set acl SIX rule 10 permit tcp from 2001:db8::/32 to ::/0 port 443
set acl SIX rule 20 permit icmp6 from ::/0 to ::/0 icmp-type 135
set acl SIX rule 30 permit icmp6 from any to any icmp-type neighbor-advertisement
set acl SIX rule 40 permit icmp6 from any to any icmp-type neighbor-solicitation
set acl SIX rule 50 permit ipv4 from any to any description "an IOS list of IPv6 leaves it alone"
""".splitlines()


def test_ios_lists_become_set_lines():
    assert [line for entry in acl_ios.read(IOS_GOOD) for line in entry.lines()] == IOS_LINES


@pytest.mark.parametrize("line, why", [
    ("permit tcp any any eq 80 443", "several ports"),
    ("permit tcp any neq 80 any", "'neq' is not supported"),
    ("permit ip 10.0.0.0 0.255.0.255 any", "not a prefix"),
    ("permit ip object-group X any", "'object-group' is not an address"),
    ("permit tcp any any time-range NIGHT", "'time-range' is not supported"),
    ("permit tcp any", "line is incomplete"),
    ("evaluate MIRROR", "'evaluate' is not supported"),
    ("permit nonsense any any", "protocol 'nonsense'"),
    ("permit ip host 10.0.0.300 any", "is not an address"),
])
def test_what_ios_has_and_we_have_not_is_refused_by_line(line, why):
    with pytest.raises(Refused, match=why) as error:
        acl_ios.read(f"ip access-list extended X\n permit ip any any\n {line}\n")
    assert str(error.value).startswith("line 3: ")


def nft(*rules, chain=None, more=()):
    table = {"family": "inet", "table": "filter"}
    return json.dumps({"nftables": [
        {"metainfo": {"version": "1.0.6"}}, {"table": {"family": "inet", "name": "filter"}},
        {"chain": {**table, "name": "forward", "type": "filter", "hook": "forward", "prio": 0, "policy": "drop", **(chain or {})}}, *more,
        *({"rule": {**table, "chain": "forward", "handle": 5 + i, "expr": list(expr)}} for i, expr in enumerate(rules))]})


def match(left, right, op="=="):
    return {"match": {"op": op, "left": left, "right": right}}


def payload(protocol, field):
    return {"payload": {"protocol": protocol, "field": field}}


def test_nftables_rules_become_set_lines():
    text = nft(
        [match(payload("ip", "saddr"), {"prefix": {"addr": "10.0.0.0", "len": 8}}), match(payload("tcp", "dport"), {"set": [80, {"range": [8000, 8080]}]}),
         {"counter": {"packets": 1, "bytes": 2}}, {"accept": None}],
        [match(payload("ip6", "daddr"), "@servers"), match({"meta": {"key": "l4proto"}}, "udp"), {"drop": None}],
        [match(payload("icmpv6", "type"), "nd-neighbor-solicit"), {"accept": None}],
        [match(payload("ip", "daddr"), {"set": ["192.0.2.1", "192.0.2.2"]}), {"log": {"prefix": "x"}}, {"reject": {"type": "icmpx"}}],
        more=[{"set": {"family": "inet", "table": "filter", "name": "servers", "type": "ipv6_addr",
                       "elem": ["2001:db8::1", {"prefix": {"addr": "2001:db8:1::", "len": 48}}]}}])
    (found,) = acl_nft.read(text)
    assert found.lines() == """\
set address-set servers prefix 2001:db8::1
set address-set servers prefix 2001:db8:1::/48
set address-set forward-2 prefix 192.0.2.1
set address-set forward-2 prefix 192.0.2.2
set acl forward default deny
set acl forward rule 10 permit tcp from 10.0.0.0/8 to any port 80
set acl forward rule 20 permit tcp from 10.0.0.0/8 to any port 8000-8080
set acl forward rule 30 deny udp from ::/0 to set servers
set acl forward rule 40 permit icmp6 from any to any icmp-type neighbor-solicitation
set acl forward rule 50 reject ipv4 from any to set forward-2 log""".splitlines()


@pytest.mark.parametrize("expr, why", [
    ([match({"ct": {"key": "state"}}, "established", "in"), {"accept": None}], "'ct' is not supported"),
    ([{"jump": {"target": "x"}}], "'jump' is not supported"),
    ([match({"meta": {"key": "iifname"}}, "eth0"), {"accept": None}], "'meta iifname' is not supported"),
    ([match(payload("tcp", "dport"), 80, "!="), {"accept": None}], "'!=' is not supported"),
    ([match(payload("ip", "saddr"), {"range": ["10.0.0.1", "10.0.0.9"]}), {"accept": None}], "address ranges"),
    ([match(payload("ip", "saddr"), "10.0.0.1")], "no verdict"),
    ([{"masquerade": None}], "'masquerade' is not supported"),
])
def test_what_nftables_has_and_we_have_not_is_refused_by_handle(expr, why):
    with pytest.raises(Refused, match=why) as error:
        acl_nft.read(nft([{"accept": None}], expr))
    assert str(error.value).startswith("rule handle 6: ")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"nftables": 5}'[:-1], "null"])
def test_what_is_no_nftables_is_refused(text):
    with pytest.raises(Refused, match="nft -j list ruleset"):
        acl_nft.read(text)


def test_columns_become_set_lines_and_rules_columns():
    text = 'number,action,protocol,from,from-port,to,to-port,options\n# c\n10,permit,tcp,set customers,,any,443,log every 100\n20,deny,ip,,,,,\n'
    (found,) = acl_csv.read(text, "edge")
    assert found.lines() == ["set acl edge default deny", "set acl edge rule 10 permit tcp from set customers to any port 443 log every 100",
                             "set acl edge rule 20 deny ip from any to any"]
    assert acl_csv.write(found.rules).splitlines()[1:] == ["10,permit,tcp,set customers,,any,443,log every 100", "20,deny,ip,any,,any,,"]


@pytest.mark.parametrize("text, why", [("nummer,action,protocol\n", "column 'nummer'"), ("number,action\n", "column 'protocol'"),
                                       ("number,action,protocol\nx,permit,ip\n", "line 2: expected a number"),
                                       ("number,action,protocol\n1,permit,ip,any\n", "line 2: expected a number and at most 3")])
def test_wrong_columns_are_refused(text, why):
    with pytest.raises(Refused, match=why):
        acl_csv.read(text, "x")


def test_import_prints_or_configures(kamuee, daemon, tmp_path):
    (tmp_path / "ios").write_text(IOS_GOOD)
    assert kamuee("acl", "import", "ios", str(tmp_path / "ios")).out.splitlines() == IOS_LINES
    seen = []
    daemon.operations["configure"] = lambda given: seen.append(given["line"]) or {"change": given["line"]}
    assert kamuee("acl", "import", "ios", str(tmp_path / "ios"), "load").code == 0
    assert seen == [IOS_LINES]
    (tmp_path / "csv").write_text("number,action,protocol\n10,permit,ip\n")
    assert kamuee("acl", "import", "csv", str(tmp_path / "csv"), "name", "edge", "load").code == 0
    assert seen[1][0] == "delete acl edge"


def test_export_is_a_file_of_rules(kamuee):
    assert kamuee("acl", "export", "native", "edge").out.splitlines()[0] == "10 permit tcp from any to any established"
    assert kamuee("acl", "export", "csv", "edge").out.splitlines()[2] == "100,permit,tcp,set customers,,any,443,log every 100"
