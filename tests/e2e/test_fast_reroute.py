# SPDX-License-Identifier: BSD-3-Clause
"""Fast reroute: while a port has no carrier, packets to gateways on it follow the default route.

    c -- p2 r p0 -- isp1 (preferred)
              p1 -- isp2 (floating default)

Both providers have the addresses of the world on their loopbacks.
"""
import pytest

from kamuee.lab import measure
from support import assert_reaches, eventually, reaches

EDGE = """
nodes:
  c: $HOST(3)
  isp1: $HOST(1 20.0.0.1/32 20.1.0.1/32 2001:db8::1/128)
  isp2: $HOST(2 20.0.0.1/32 20.1.0.1/32 2001:db8::1/128)
  r:
    kind: kamuee
    set: [set interface p0 fast-reroute true]
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: [10.3.0.1/24, "fd00:3::1/64"]
    routes: [20.0.0.0/16 via 10.1.0.2, "2001:db8::/32 via fd00:1::2", default via 10.2.0.2 metric 4000,
             "default via fd00:2::2 metric 4000"]
links: [[c:eth0, r:p2], [r:p0, isp1:eth0], [r:p1, isp2:eth0]]
"""
WORLD = ("20.0.0.1", "20.1.0.1", "2001:db8::1")


@pytest.fixture(scope="module")
def lab(labs):
    lab = labs(EDGE, "kamuee")
    lab["r"].ip("nexthop add id 1 via 10.1.0.2 dev p0")
    lab["r"].ip("route add 20.1.0.0/16 nhid 1")         # as FRR does: Linux deletes it when the carrier is lost
    assert_reaches(lab["c"], *WORLD)
    return lab


def test_prefixes_of_a_lost_link_follow_the_default_route_until_it_is_back(lab):
    lab["isp1"].ip("link set eth0 down")
    assert_reaches(lab["c"], *WORLD)
    eventually(lambda: "linkdown" in lab["r"].ip("route show 20.0.0.0/16"), 10, "Linux still has the route by the lost link")
    lab["isp1"].ip("link set eth0 up")
    lab["isp1"].ip("route replace default via 10.1.0.1")
    lab["isp2"].ip("link set eth0 down")
    eventually(lambda: reaches(lab["c"], "20.0.0.1"), 10)           # by isp1 again
    lab["isp2"].ip("link set eth0 up")
    lab["isp2"].ip("route replace default via 10.2.0.1")


def test_it_is_off_unless_configured(lab):
    client = measure.client(lab["r"])
    client.call("configure", line=["set interface p0 fast-reroute false"])
    lab["isp1"].ip("link set eth0 down")
    eventually(lambda: not reaches(lab["c"], "20.0.0.1"), 10)
    client.call("configure", line=["set interface p0 fast-reroute true"])
    assert_reaches(lab["c"], "20.0.0.1")                            # while the carrier is away
    lab["isp1"].ip("link set eth0 up")
