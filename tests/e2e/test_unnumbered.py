# SPDX-License-Identifier: BSD-3-Clause
"""IPv4 over IPv6 next hops (RFC 8950), by hand and by BGP on interfaces without IPv4 addresses, and unequal shares by link bandwidth."""
import json
import re
import subprocess
import sys

import pytest

from kamuee.lab import flows as program

from support import assert_no_loss, assert_reaches, eventually

# FRR numbers the next hops it installs from 1 upwards, the kernel has one space of numbers for all: far from those.
NHID = 770000

EDGE = """
  {name}:
    kind: router
    daemon: frr
    interfaces: {{p0: [], lo: [198.51.100.1/32, "2001:db8:100::1/128", {own}/32]}}
    config: |
      frr defaults traditional
      hostname {name}
      router bgp {asn}
       bgp router-id {own}
       no bgp ebgp-requires-policy
       no bgp network import-check
       neighbor p0 interface remote-as external
       neighbor p0 timers connect 1
       neighbor p0 advertisement-interval 0
       address-family ipv4 unicast
        network 198.51.100.0/24
        network {own}/32
       exit-address-family
       address-family ipv6 unicast
        network 2001:db8:100::/48
        neighbor p0 activate
       exit-address-family
      exit
      route-map SHARE permit 10
       set extcommunity bandwidth 1000
      exit"""
LAB = """
nodes:
  h1:
    kind: host
    interfaces: {eth0: [10.1.0.2/24, "2001:db8:1::2/64"]}
    routes: [default via 10.1.0.1, "default via 2001:db8:1::1"]
  r:
    kind: $ROUTER
    daemon: frr
    interfaces: {p0: [10.1.0.1/24, "2001:db8:1::1/64"], p1: [], p2: []}
    config: |
      frr defaults traditional
      hostname r
      router bgp 65001
       bgp router-id 10.1.0.1
       no bgp ebgp-requires-policy
       bgp bestpath as-path multipath-relax
       neighbor p1 interface remote-as external
       neighbor p1 timers connect 1
       neighbor p1 advertisement-interval 0
       neighbor p2 interface remote-as external
       neighbor p2 timers connect 1
       neighbor p2 advertisement-interval 0
       address-family ipv4 unicast
        network 10.1.0.0/24
       exit-address-family
       address-family ipv6 unicast
        network 2001:db8:1::/64
        neighbor p1 activate
        neighbor p2 activate
       exit-address-family
      exit""" + EDGE.format(name="a", own="192.0.2.1", asn=65002) + EDGE.format(name="b", own="192.0.2.2", asn=65003) + """
links:
  - [h1:eth0, r:p0]
  - [r:p1, a:p0]
  - [r:p2, b:p0]
"""
ANYCAST = {"ipv4": "198.51.100.1", "ipv6": "2001:db8:100::1"}
PREFIX = {"ipv4": "198.51.100.0/24", "ipv6": "2001:db8:100::/48"}
FLOWS, PER_S, SECONDS = 3200, 4000, 1      # of 800 flows, chance missed the bounds of a share once in a thousand times


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(LAB, kind)
    assert_reaches(lab["h1"], "192.0.2.1", "192.0.2.2", *ANYCAST.values(), timeout_s=60)
    return lab


def legs(lab, family: str) -> list[tuple[str, str, int]]:
    """(interface, gateway, weight) of the legs, as the kernel has them."""
    number = "-6" if family == "ipv6" else "-4"
    found = []
    for route in json.loads(lab["r"].run(f"ip -j {number} route show {PREFIX[family]}")):
        for hop in route.get("nexthops", [route]):
            gateway = hop.get("via", {}).get("host") or hop.get("gateway", "")
            found.append((hop["dev"], gateway, hop.get("weight", 1)))
    return sorted(found)


def wait_weights(lab, family: str, *weights: int) -> None:
    eventually(lambda: [leg[2] for leg in legs(lab, family)] == list(weights), 30, lambda: f"{legs(lab, family)}")


@pytest.mark.rfc("8950", "4", "MAY")
def test_bgp_on_interfaces_without_ipv4_carries_ipv4(lab):
    wait_weights(lab, "ipv4", 1, 1)
    assert all(gateway.startswith("fe80::") for _, gateway, _ in legs(lab, "ipv4")), legs(lab, "ipv4")
    for target in ("192.0.2.1", "192.0.2.2", *ANYCAST.values()):
        assert_no_loss(lab["h1"], target, 50)


def share(lab, family: str) -> float:
    """Part of the flows that b gets."""
    python = [sys.executable, program.__file__]
    receivers = [lab[name].popen([*python, "receive", "7200"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for name in "ab"]
    for receiver in receivers:
        assert receiver.stdout.readline().strip() == b"ready"
    lab["h1"].run([*python, "send", "7200", str(FLOWS), str(PER_S), str(SECONDS), ANYCAST[family]])
    for receiver in receivers:                     # both wait together for packets under way
        receiver.stdin.write(b"%d\n" % (PER_S * SECONDS))
        receiver.stdin.flush()
    got = [json.loads(receiver.communicate(timeout=60)[0]) for receiver in receivers]
    flows = [set(result["flow"]) for result in got]
    assert not flows[0] & flows[1], "a flow was split"
    assert len(flows[0] | flows[1]) == FLOWS
    assert sum(flow["received"] for result in got for flow in result["flow"].values()) == PER_S * SECONDS
    return len(flows[1]) / FLOWS


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_equal_shares_without_link_bandwidth(lab, family):
    wait_weights(lab, family, 1, 1)
    assert 0.44 < share(lab, family) < 0.56


def bandwidth(lab, name: str, asn: int, mbytes: int | None) -> None:
    """Let a or b announce with this link bandwidth, or none."""
    frr = lab[name].frr
    if mbytes:
        frr.vtysh("configure terminal", "route-map SHARE permit 10", f"set extcommunity bandwidth {mbytes}")
    for family in ("ipv4", "ipv6"):
        frr.vtysh("configure terminal", f"router bgp {asn}", f"address-family {family} unicast",
                  ("" if mbytes else "no ") + "neighbor p0 route-map SHARE out")
    frr.vtysh("clear bgp * soft out")


@pytest.mark.parametrize("mbytes, low, high", [((1000, 3000), 0.70, 0.80), ((1000, 9000), 0.865, 0.935)])
def test_shares_follow_the_link_bandwidth_of_bgp(lab, mbytes, low, high):
    for name, asn, mine in (("a", 65002, mbytes[0]), ("b", 65003, mbytes[1])):
        bandwidth(lab, name, asn, mine)
    try:
        for family in ("ipv4", "ipv6"):
            eventually(lambda: legs(lab, family)[1:] and round(legs(lab, family)[1][2] / legs(lab, family)[0][2])
                       == mbytes[1] // mbytes[0], 30, lambda: f"{legs(lab, family)}")
            part = eventually(lambda: share(lab, family), 5)
            print(f"{family}: bandwidths {mbytes}: {100 * part:.1f} % of {FLOWS} flows to b")
            assert low < part < high
    finally:
        for name, asn in (("a", 65002), ("b", 65003)):
            bandwidth(lab, name, asn, None)
        for family in ("ipv4", "ipv6"):
            wait_weights(lab, family, 1, 1)


def link_local(lab, name: str) -> str:
    return re.search(r"inet6 (fe80::[0-9a-f:]+)/", lab[name].run("ip -6 addr show dev p0"))[1]


def test_static_ipv4_routes_via_ipv6_neighbors(lab):
    router = lab["r"]
    vias = [f"via inet6 {link_local(lab, name)} dev {dev}" for name, dev in (("a", "p1"), ("b", "p2"))]
    for name in "ab":
        lab[name].ip("addr add 203.0.113.1/32 dev lo")
    try:
        for route in (vias[0], vias[1], f"nexthop {vias[0]} nexthop {vias[1]} weight 3"):
            router.ip(f"route replace 203.0.113.0/24 {route}")
            assert_reaches(lab["h1"], "203.0.113.1")
            assert_no_loss(lab["h1"], "203.0.113.1", 30)
        router.ip("route del 203.0.113.0/24")
        # A next-hop object of IPv6 under a route of IPv4.
        router.ip(f"nexthop add id {NHID} {vias[1].replace('inet6 ', '')}")
        router.ip(f"route add 203.0.113.0/24 nhid {NHID}")
        assert_reaches(lab["h1"], "203.0.113.1")
        assert_no_loss(lab["h1"], "203.0.113.1", 30)
    finally:
        router.run("ip route del 203.0.113.0/24", check=False)
        router.run(f"ip nexthop del id {NHID}", check=False)
        for name in "ab":
            lab[name].ip("addr del 203.0.113.1/32 dev lo")
