# SPDX-License-Identifier: BSD-3-Clause
"""Routes by `ip route`, without any routing daemon."""
import pytest

from support import assert_no_loss, assert_reaches, eventually, ping, reaches, two_hosts

LAB = two_hosts("$ROUTER", h2=["10.2.0.3/24", "fd00:2::3/64"],
                lo=["198.51.100.1/32", "198.51.100.129/32", "2001:db8:100::1/128"])
V4, V6 = "198.51.100.1", "2001:db8:100::1"


@pytest.fixture(scope="module")
def lab(labs, kind):
    return labs(LAB, kind)


@pytest.fixture
def routes(lab):
    """Adds routes to the router and removes them afterwards: routes('198.51.100.0/24 via 10.2.0.2')."""
    added = []

    def add(route: str) -> None:
        family = "-6" if ":" in route else "-4"
        lab["r"].ip(f"{family} route add {route}")
        added.append(f"{family} route del {route}")

    yield add
    for command in added:
        lab["r"].namespace.run(f"ip {command}", check=False)


def test_connected_hosts_reach_each_other(lab):
    assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::2")
    assert_no_loss(lab["h1"], "10.2.0.2", 100)
    assert_reaches(lab["h2"], "fd00:1::2")      # by another source address, which the router does not know yet
    assert_no_loss(lab["h2"], "fd00:1::2", 100)


def test_the_router_itself_answers_on_every_address(lab):
    assert_reaches(lab["h1"], "10.1.0.1", "10.2.0.1", "fd00:1::1", "fd00:2::1")


def test_without_a_route_the_sender_is_told(lab):
    for target, message in ((V4, "Destination Net Unreachable"), (V6, "unreachable: No route")):
        eventually(lambda: message in ping(lab["h1"], target, 1).said, 30, f"'{message}' for {target}")


@pytest.mark.parametrize("route, target", [("198.51.100.0/24 via 10.2.0.2", V4),
                                           ("2001:db8:100::/48 via fd00:2::2", V6)])
def test_a_static_route_carries_traffic_until_it_is_deleted(lab, route, target):
    assert not reaches(lab["h1"], target)
    lab["r"].ip(f"route add {route}")
    assert_reaches(lab["h1"], target)
    lab["r"].ip(f"route del {route}")
    eventually(lambda: not reaches(lab["h1"], target), 30, "the deleted route stops carrying")


def test_the_longest_prefix_wins_and_gives_way_when_it_goes(lab, routes):
    routes("198.51.100.0/24 via 10.2.0.2")
    lab["r"].ip("route add blackhole 198.51.100.128/25")
    assert_reaches(lab["h1"], "198.51.100.1")
    eventually(lambda: not reaches(lab["h1"], "198.51.100.129"), 30, "the longer blackhole wins")
    lab["r"].ip("route del blackhole 198.51.100.128/25")
    assert_reaches(lab["h1"], "198.51.100.129")


def test_the_lowest_metric_wins(lab, routes):
    routes("198.51.100.0/24 via 10.2.0.2 metric 10")
    lab["r"].ip("route add blackhole 198.51.100.0/24 metric 5")
    eventually(lambda: not reaches(lab["h1"], V4), 30, "the blackhole with the lower metric wins")
    lab["r"].ip("route del blackhole 198.51.100.0/24 metric 5")
    assert_reaches(lab["h1"], V4)


@pytest.mark.parametrize("kind_of_route, message", [
    ("unreachable", "Destination Host Unreachable"), ("prohibit", "Packet filtered")])
def test_a_refusing_route_says_so(lab, kind_of_route, message):
    lab["r"].ip(f"route add {kind_of_route} 198.51.100.0/24")
    try:
        eventually(lambda: message in ping(lab["h1"], V4, 1).said, 30, f"'{message}' from {kind_of_route}")
    finally:
        lab["r"].ip(f"route del {kind_of_route} 198.51.100.0/24")


def test_a_replaced_route_moves_at_once(lab, routes):
    routes("198.51.100.0/24 via 10.2.0.2")
    assert_reaches(lab["h1"], V4)
    lab["r"].ip("route replace 198.51.100.0/24 via 10.2.0.3")
    assert_reaches(lab["h1"], V4)
    lab["r"].ip("route replace 198.51.100.0/24 via 10.2.0.2")
    assert_reaches(lab["h1"], V4)


def test_a_nexthop_object_carries_traffic_and_takes_its_routes_along(lab):
    router = lab["r"]
    router.ip("nexthop add id 10 via 10.2.0.2 dev p1")
    router.ip("route add 198.51.100.0/24 nhid 10")
    assert_reaches(lab["h1"], V4)
    router.ip("nexthop replace id 10 via 10.2.0.3 dev p1")
    assert_reaches(lab["h1"], V4)
    router.ip("nexthop del id 10")          # the kernel deletes its IPv4 routes without a word
    eventually(lambda: not reaches(lab["h1"], V4), 30, "routes of a deleted next hop stop carrying")


def test_ipv4_via_an_ipv6_next_hop(lab, routes):
    lab["r"].ip("route add 198.51.100.0/24 via inet6 fd00:2::2 dev p1")
    try:
        assert_reaches(lab["h1"], V4)
    finally:
        lab["r"].ip("route del 198.51.100.0/24 via inet6 fd00:2::2 dev p1")


def test_an_onlink_next_hop_needs_no_connected_prefix(lab, routes):
    lab["h2"].ip("addr add 172.16.9.9/32 dev eth0")
    routes("198.51.100.0/24 via 172.16.9.9 dev p1 onlink")
    assert_reaches(lab["h1"], V4)


def test_a_host_that_is_not_there_is_reported_unreachable(lab):
    """Already about the packet that waited for the neighbor, not only about later ones."""
    assert "Destination Host Unreachable" in ping(lab["h1"], "10.2.0.77", 1, extra="-W 20").said
