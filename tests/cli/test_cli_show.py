# SPDX-License-Identifier: BSD-3-Clause
"""What the operator sees: every show command at 80 columns, compared with tests/cli/golden/.

UPDATE=1 writes what the program prints now; read the difference before you keep it.
"""

import pytest

from conftest import assert_golden
from kamuee import commands, leaf, show_interface

COMMANDS = (
    "show port", "show port -w", "show port p0", "show port p0 statistics", "show port statistics",
    "show interface", "show interface -w", "show interface v40", "show interface statistics",
    "show ipv4 route", "show ipv6 route", "show ipv4 route summary", "show ipv6 route summary vr red",
    "show route counters", "show route counters vr red", "show ipv4 mroute", "show ipv6 mroute", "show ipv6 mroute vr red",
    "show mpls table", "show mpls table label 101", "show mpls table vr red",
    "show neighbor", "show neighbor -w", "show neighbor vr red", "show nexthop", "show nexthop -w",
    "show nexthop 7", "show nexthop-group", "show nexthop-group 9", "show thread", "show thread statistics",
    "show thread stages", "show thread stages -w", "show thread queues",
    "show drops", "show drops all", "show drops all -w", "show punt", "show punt -w", "show icmp", "show capture", "show capture -w",
    "show queue", "show queue -w", "show queue p0", "show queue p0 vr red", "show queue p0 vport v40 class 6 -w",
    "show policer", "show policer -w", "show program", "show program -w", "show program red:guard",
    "show tunnel", "show tunnel -w", "show linux-tunnel", "show mirror", "show mirror-session", "show gpu", "show sflow", "show ipfix",
    "show port-history", "show port-history p1", "show ledger", "show ledger vr red", "show fib", "show fib vr red -w",
    "show vr", "show vr red", "show memory", "show version", "show system",
    "show audit", "show audit vr red", "show journal", "show alarm history", "show crash", "show upgrade", "show latency",
    "show configuration revisions", "show configuration sessions",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_output_is_the_golden_one_and_fits_80_columns(kamuee, command, monkeypatch):
    monkeypatch.setattr("kamuee.show_system.__version__", "0.1.0")      # a release changes no golden file
    assert_golden(kamuee(*command.split()), command, "-w" in command)


def test_help_is_each_command_and_its_sentence_and_fits_80_columns(kamuee):
    result = kamuee("help")
    assert (result.code, result.err) == (0, "")
    assert result.out.split() == [word for one in commands.COMMANDS for word in f"{one.pattern} {one.help}".split()]
    lines = result.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line[:2].isspace() and not line[2].isspace() for line in lines) == len(commands.COMMANDS)
    assert {len(line) - len(line.lstrip()) for line in lines} == {2, 6}


def test_alarms_are_shown_as_long_as_there_are_any(kamuee, daemon):
    result = kamuee("show", "alarm")
    assert result.out == """\
Since                Severity  Alarm          Subject  Count  Message
2026-11-21 21:05:10  critical  ledger         -            1  3 packets: packets
                                                              appeared
2026-11-21 21:05:12  major     link-flapping  p1           4  5 changes in a
                                                              minute: the port's
                                                              link is flapping
"""
    daemon.state["alarm"] = []
    result = kamuee("show", "alarm")
    assert (result.code, result.out) == (0, "no alarms\n")


def test_an_interface_with_two_tags_shows_both_vlans():
    assert show_interface.vlan({"vlan": 10}) == "10"
    assert show_interface.vlan({"outer-vlan": 100, "vlan": 10, "tpid": "0x88a8"}) == "100.10"
    shown = dict(leaf.pairs(show_interface.INTERFACE, {"port": "p0", "outer-vlan": 100, "vlan": 10, "tpid": "0x88a8"}))
    assert (shown["port"], shown["outer tag"]) == ("p0, VLAN 100.10", "0x88a8")


def test_frames_of_unknown_vlans_are_shown_if_there_are_any():
    shown = {n: dict(leaf.pairs(show_interface.INTERFACE, {"statistics": {"vlan-unknown-packets": n}})) for n in (0, 3)}
    assert (shown[3]["unknown VLAN"], shown[0]["unknown VLAN"]) == ("3", None)


def test_abbreviated_words_mean_the_whole_ones(kamuee):
    assert kamuee("sh", "int").out == kamuee("show", "interface").out


def test_ipv4_route_of_an_address_asks_for_the_longest_match(kamuee, daemon):
    daemon.routes = lambda family: daemon.state["routes"]["ipv4"][4:5]
    result = kamuee("show", "ipv4", "route", "198.51.100.77")
    assert daemon.asked[-1] == ("GET", "/restconf/data/kamuee:state/routes=default,ipv4",
                                {"prefix": "198.51.100.77/32", "match": "longest"})
    assert result.out == """\
Route 198.51.100.0/24
  type        unicast
  protocol    bgp
  metric      20
  in the FIB  yes
  next hop    7, group
    via 192.0.2.2, p0, weight 2 (resolved, usable)
    via 198.51.100.9, v40 (not resolved, usable)
    via 203.0.113.1, p1 (resolved, not usable)
"""


@pytest.mark.parametrize("words, query", [
    ("show ipv4 route 10.0.0.0/8", {"prefix": "10.0.0.0/8", "match": "exact"}),
    ("show ipv4 route longer-prefixes 10.0.0.0/8", {"prefix": "10.0.0.0/8", "match": "longer"}),
    ("show ipv4 route protocol bgp", {"protocol": "bgp"}),
    ("show ipv4 route type blackhole", {"type": "blackhole"}),
    ("show ipv6 route 2001:db8::1", {"prefix": "2001:db8::1/128", "match": "longest"}),
])
def test_route_filters_are_left_to_the_daemon(kamuee, daemon, words, query):
    assert kamuee(*words.split()).code == 0
    assert daemon.asked[-1][2] == query


def test_route_of_another_virtual_router(kamuee, daemon):
    assert kamuee("show", "ipv4", "route", "vr", "red").code == 0
    assert daemon.asked[-1][1] == "/restconf/data/kamuee:state/routes=red,ipv4"


def test_selection_without_routes_says_so(kamuee, daemon):
    daemon.routes = lambda family: []
    assert kamuee("show", "ipv4", "route", "protocol", "rip").out == "no routes\n"


def test_no_route_for_an_address_is_an_error(kamuee, daemon):
    daemon.routes = lambda family: []
    result = kamuee("show", "ipv4", "route", "203.0.113.9")
    assert (result.code, result.err) == (1, "error: there is no route for 203.0.113.9\n")


def test_prefix_of_the_other_family_is_answered_with_the_right_command(kamuee):
    result = kamuee("show", "ipv4", "route", "2001:db8::/32")
    assert result.code == 2
    assert "try: show ipv6 route 2001:db8::/32" in result.err


@pytest.mark.parametrize("words, message", [
    ("show port p9", "there is no port p9; 'show port' lists them"),
    ("show interface x9", "there is no interface x9; 'show interface' lists them"),
    ("show fib vr blue", "there is no virtual router blue; 'show vr' lists them"),
    ("show ipv6 route vr blue", "there is no virtual router blue; 'show vr' lists them"),
])
def test_missing_thing_is_an_error_that_says_where_to_look(kamuee, words, message):
    result = kamuee(*words.split())
    assert (result.code, result.out, result.err) == (1, "", f"error: {message}\n")


def test_nothing_dropped_says_so(kamuee, daemon):
    for entry in daemon.state["drop"]:
        entry["packets"] = "0"
    assert "no packets dropped" in kamuee("show", "drops").out


def test_drops_show_the_rate_since_the_last_look(kamuee, daemon):
    assert kamuee("show", "drops").out.splitlines()[1].split()[:3] == ["ip4_ttl", "1,234,567", "-"]
    daemon.state["drop"][0]["packets"] = str(1234567 + 10**9)
    _, _, rate = kamuee("show", "drops").out.splitlines()[1].split()[:3]
    assert rate[-1] in "MG", "a thousand million packets in less than a minute"


def test_drops_of_a_restarted_daemon_have_no_rate(kamuee, daemon):
    kamuee("show", "drops")
    daemon.state["system"]["pid"] += 1
    assert kamuee("show", "drops").out.splitlines()[1].split()[2] == "-"


def test_unknown_ledger_side_says_what_it_may_mean(kamuee, daemon):
    daemon.state["ledger"]["imbalance"] = "-2"
    assert "the two sides differ" in kamuee("show", "ledger").out


def test_port_rates_are_those_between_two_looks(kamuee, daemon):
    counters = daemon.state["port"][0]["statistics"]
    reads = iter(range(10))
    original = daemon.read

    def counting(path):
        if path == "port":
            n = next(reads)
            counters.update({"rx-packets": str(1000 * n), "rx-bytes": str(10**6 * n)})
        return original(path)
    daemon.read = counting
    result = kamuee("show", "port", "statistics", "pps", "-j", "-i", "0.2")
    import json
    port = json.loads(result.out)[0]
    assert port["rx-pps"] == pytest.approx(1000 / port["seconds"], rel=0.01)
    assert port["rx-bps"] == pytest.approx(8e6 / port["seconds"], rel=0.01)
    assert port["tx-pps"] == 0
    assert port["seconds"] >= 0.2


def test_counter_that_went_back_has_no_rate():
    from kamuee.rates import rate
    assert (rate(10, 5, 1), rate(1, 3, 2), rate(None, 4, 2)) == (None, 1.0, None)
