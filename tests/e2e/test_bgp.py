# SPDX-License-Identifier: BSD-3-Clause
"""eBGP for IPv4 and IPv6 with FRR and with BIRD as neighbors, over the router's interfaces."""
import pytest

from support import assert_no_loss, assert_reaches, eventually, kernel_has, ping, reaches

TRIPLE = """
nodes:
  h1:
    kind: host
    interfaces: {eth0: [10.1.0.2/24, "2001:db8:1::2/64"]}
    routes: [default via 10.1.0.1, "default via 2001:db8:1::1"]
  r:
    kind: $ROUTER
    daemon: frr
    interfaces:
      p0: [10.1.0.1/24, "2001:db8:1::1/64"]
      p1: [10.12.0.1/24, "fd00:12::1/64"]
      p2: [10.13.0.1/24, "fd00:13::1/64"]
    asn: 65001
    neighbors:
      - {address: 10.12.0.2, asn: 65002}
      - {address: "fd00:12::2", asn: 65002}
      - {address: 10.13.0.2, asn: 65003}
      - {address: "fd00:13::2", asn: 65003}
    networks: [10.1.0.0/24, "2001:db8:1::/64"]
  withfrr:
    kind: router
    daemon: frr
    interfaces: {p1: [10.12.0.2/24, "fd00:12::2/64"], lo: [198.51.100.1/32, "2001:db8:100::1/128"]}
    asn: 65002
    neighbors: [{address: 10.12.0.1, asn: 65001}, {address: "fd00:12::1", asn: 65001}]
    networks: [198.51.100.0/24, "2001:db8:100::/48"]
  withbird:
    kind: router
    daemon: bird
    interfaces: {p2: [10.13.0.2/24, "fd00:13::2/64"], lo: [203.0.113.1/32, "2001:db8:200::1/128"]}
    asn: 65003
    neighbors:                                # its death is noticed in 30 s at the latest, whether or not it says goodbye
      - {address: 10.13.0.1, asn: 65001, options: [hold time 30]}
      - {address: "fd00:13::1", asn: 65001, options: [hold time 30]}
    networks: [203.0.113.0/24, "2001:db8:200::/48"]
links:
  - [h1:eth0, r:p0]
  - [r:p1, withfrr:p1]
  - [r:p2, withbird:p2]
"""
PEERS = ("10.12.0.2", "fd00:12::2", "10.13.0.2", "fd00:13::2")
BEHIND_FRR = ("198.51.100.1", "2001:db8:100::1")
BEHIND_BIRD = ("203.0.113.1", "2001:db8:200::1")


@pytest.fixture(scope="module")
def lab(labs, kind):
    return labs(TRIPLE, kind)


def established(lab) -> bool:
    sessions = lab["r"].frr.sessions()
    return all(sessions.get(peer) for peer in PEERS)


def test_sessions_of_both_families_come_up_with_frr_and_with_bird(lab):
    eventually(lambda: established(lab), 60, lambda: f"all sessions: {lab['r'].frr.sessions()}", 0.2)


@pytest.mark.parametrize("target", BEHIND_FRR + BEHIND_BIRD)
def test_learned_prefixes_carry_traffic(lab, target):
    assert_reaches(lab["h1"], target, timeout_s=60)
    assert_no_loss(lab["h1"], target, 100)


def test_routes_from_one_neighbor_reach_the_other(lab):
    bird = lab["withbird"].bird
    eventually(lambda: "65001" in bird.birdc("show route all for 198.51.100.1"), 60,
               lambda: f"BIRD has the route by AS 65001: {bird.birdc('show route all for 198.51.100.1')}")
    for target in BEHIND_FRR:
        source = BEHIND_BIRD[":" in target]
        eventually(lambda: ping(lab["withbird"], target, 1, extra=f"-I {source}").received == 1, 10,
                   f"{source} behind BIRD reaches {target} behind FRR through the router")


def test_a_withdrawn_prefix_stops_carrying_and_comes_back(lab):
    frr = lab["withfrr"].frr
    change = ["configure terminal", "router bgp 65002", "address-family ipv4 unicast"]
    frr.vtysh(*change, "no network 198.51.100.0/24")
    eventually(lambda: not kernel_has(lab["r"], "198.51.100.0/24"), 60, "the withdrawal reaches the kernel")
    eventually(lambda: not reaches(lab["h1"], "198.51.100.1"), 60, "a withdrawn prefix stops carrying")
    frr.vtysh(*change, "network 198.51.100.0/24")
    assert_reaches(lab["h1"], "198.51.100.1", timeout_s=60)


def test_frr_killed_and_restarted_brings_all_routes_back(lab):
    router = lab["r"]
    router.frr.kill()
    assert router.frr.pids() == {}
    router.frr.start()
    eventually(lambda: established(lab), 40, lambda: f"all sessions: {router.frr.sessions()}", 0.2)
    assert_reaches(lab["h1"], *BEHIND_FRR + BEHIND_BIRD, timeout_s=60)


def test_a_neighbor_that_dies_takes_its_routes_along(lab):
    lab["withbird"].bird.stop()
    for prefix in ("203.0.113.0/24", "2001:db8:200::/48"):
        eventually(lambda: not kernel_has(lab["r"], prefix), 60,
                   lambda: f"{prefix} leaves the kernel; sessions: {lab['r'].frr.sessions()}, BIRD: {lab['withbird'].bird.pids()}, "
                           + lab["r"].ip(f"{'-6' if ':' in prefix else '-4'} route show exact {prefix}"))
    for target in BEHIND_BIRD:
        eventually(lambda: not reaches(lab["h1"], target), 60, f"{target} is not carried any more")
    lab["withbird"].bird.start()
    assert_reaches(lab["h1"], *BEHIND_BIRD, timeout_s=60)
