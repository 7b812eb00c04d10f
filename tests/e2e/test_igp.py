# SPDX-License-Identifier: BSD-3-Clause
"""OSPFv2, OSPFv3 and RIP: adjacencies by multicast over the router's interfaces, and what they teach."""
import pytest

from support import assert_no_loss, assert_reaches, eventually, reaches

IGP = """
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
    ospf: [p0, p1]
    rip: [p0, p2]
  ospfr:
    kind: router
    daemon: bird
    interfaces: {p1: [10.12.0.2/24, "fd00:12::2/64"], s0: [198.51.100.1/24, "2001:db8:100::1/64"]}
    ospf: [p1, s0]
  ripr:
    kind: router
    daemon: frr
    interfaces: {p2: [10.13.0.2/24, "fd00:13::2/64"], s0: [203.0.113.1/24, "2001:db8:200::1/64"]}
    rip: [p2, s0]
  h2: {kind: host}
  h3: {kind: host}
links:
  - [h1:eth0, r:p0]
  - [r:p1, ospfr:p1]
  - [r:p2, ripr:p2]
  - [ospfr:s0, h2:eth0]
  - [ripr:s0, h3:eth0]
"""


@pytest.fixture(scope="module")
def lab(labs, kind):
    return labs(IGP, kind)


def ospf_is_full(lab) -> bool:
    """OSPFv2 and OSPFv3 with the one neighbor there is."""
    v2 = lab["r"].vtysh("show ip ospf neighbor")
    v3 = lab["r"].vtysh("show ipv6 ospf6 neighbor")
    return "Full" in v2 and "Full" in v3


def test_ospfv2_and_ospfv3_become_full(lab):
    eventually(lambda: ospf_is_full(lab), 60,
               lambda: lab["r"].vtysh("show ip ospf neighbor", "show ipv6 ospf6 neighbor"), 0.2)


@pytest.mark.parametrize("target", ["198.51.100.1", "2001:db8:100::1"])
def test_ospf_routes_carry_traffic(lab, target):
    assert_reaches(lab["h1"], target, timeout_s=60)
    assert_no_loss(lab["h1"], target, 50)


@pytest.mark.parametrize("target", ["203.0.113.1", "2001:db8:200::1"])
def test_rip_routes_carry_traffic(lab, target):
    assert_reaches(lab["h1"], target, timeout_s=60)
    assert_no_loss(lab["h1"], target, 50)


def test_a_lost_ospf_neighbor_is_noticed_and_found_again(lab):
    lab["ospfr"].bird.stop()
    eventually(lambda: not reaches(lab["h1"], "198.51.100.1"), 60, "routes of the lost neighbor go", 0.2)
    lab["ospfr"].bird.start()
    assert_reaches(lab["h1"], "198.51.100.1", "2001:db8:100::1", timeout_s=60)
