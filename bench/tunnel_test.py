# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench tunnel`: its rows and goals, without a build."""
from commands import tunnel
from measure import tunnels
from measure.cases import added_rows

RESULTS = [{"kind": "plain", "direction": "-", "values": [100.0, 110.0, 90.0]},
           {"kind": "gre", "direction": "encap", "values": [140.0, 155.0, 125.0]},
           {"kind": "vxlan", "direction": "decap", "values": [200.0, 200.0, 200.0]}]

# Cycles less the ports' 20: 100 and 160 of the whole path in most rounds.
ROUTER = {"harness_cycles": 20.0,
          "results": [{"what": "forward 64 B, IPv4 full table", "values": [80.0, 80.0, 180.0]},
                      {"what": "forward 64 B, IPv4 full table, into one VXLAN tunnel", "values": [140.0, 140.0, 300.0]}]}


def test_a_row_is_what_was_added_in_the_same_round():
    rows = added_rows(RESULTS, ("kind", "direction"), tunnel.PLAIN)
    assert [(row["kind"], row["direction"], row["cycles"]) for row in rows] == [("gre", "encap", 40.0), ("vxlan", "decap", 100.0)]
    assert rows[0]["ratio"] == round(100 / 140, 3) and rows[0]["spread"] > 0


def test_the_whole_path_has_its_ports_in_it_and_is_compared_round_by_round():
    assert tunnel.router_of(ROUTER) == [{"case": "plain", "cycles": 100.0, "ratio": 1.0},
                                        {"case": "into one VXLAN tunnel", "cycles": 160.0, "ratio": 0.625}]


def test_goals_are_judged_by_the_rows_and_what_has_no_row_is_not_measured():
    found = {"rows": added_rows(RESULTS, ("kind", "direction"), tunnel.PLAIN),
             "router": tunnel.router_of(ROUTER), "many": [{"case": "set-up", "value": 6.0, "unit": "s"}]}
    verdicts = {goal.name: goal.verdict(goal.value(found)) for goal in tunnel.ALL_GOALS}
    assert verdicts["gre, encap: added to a packet"] == "must"
    assert verdicts["vxlan, decap: added to a packet"] == "missed"
    assert verdicts["ipip, decap: added to a packet"] == "not measured"
    assert verdicts["many tunnels: set-up"] == "must"
    assert verdicts["whole path, full table, into one VXLAN tunnel: throughput against plain"] == "must"
    assert verdicts["whole path, full table, out of 4 VXLAN tunnels: throughput against plain"] == "not measured"
    assert verdicts["many tunnels: memory of each, besides its interface"] == "not measured"


def test_tunnels_of_a_commit_are_distinct():
    lines = tunnels.lines(10_000)
    assert len({line.partition(" remote ")[2] for line in lines}) == 10_000
    assert lines[0].startswith("set tunnel t0 kind gre ") and lines[9999].endswith("remote 198.18.39.15")
