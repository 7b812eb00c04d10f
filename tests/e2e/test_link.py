# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces that go down and up, neighbors that change their MAC address, hosts that move."""
import pytest

from support import Pinging, assert_no_loss, assert_reaches, eventually, link_up, reaches, two_hosts

LAB = two_hosts("$ROUTER", lo=["198.51.100.1/32", "2001:db8:100::1/128"])
TARGETS = ("10.2.0.2", "fd00:2::2", "198.51.100.1", "2001:db8:100::1")


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(LAB, kind)
    add_routes(lab)
    return lab


def add_routes(lab) -> None:
    """After a link came up the kernel refuses them until the connected prefixes are back."""
    for route in ("198.51.100.0/24 via 10.2.0.2", "2001:db8:100::/48 via fd00:2::2"):
        eventually(lambda: lab["r"].ip(f"route replace {route}") == "", what=f"the kernel takes {route}")


def assert_all_reached(lab) -> None:
    assert_reaches(lab["h1"], *TARGETS)


def test_an_interface_set_down_stops_carrying_and_carries_again(lab):
    assert_all_reached(lab)
    lab["r"].ip("link set dev p1 down")
    for target in TARGETS:
        eventually(lambda: not reaches(lab["h1"], target), 30, f"{target} is not reached through a port set down")
    link_up(lab["r"], "p1")
    add_routes(lab)                                  # the kernel has deleted them with the link
    assert_all_reached(lab)


def test_without_its_ipv6_address_an_interface_that_is_up_again_forwards_ipv4_alone(lab, kind):
    if kind == "router":
        pytest.skip("the lab has Linux keep IPv6 addresses")
    assert_all_reached(lab)
    lab["r"].ip("link set dev p1 down")
    lab["r"].ip("link set dev p1 up")
    assert_reaches(lab["h1"], "10.2.0.2")            # IPv4 addresses stay
    assert not lab["r"].ip_json("-6 addr show dev p1 scope global")
    eventually(lambda: not reaches(lab["h1"], "fd00:2::2") and not reaches(lab["h1"], "2001:db8:100::1"), 30, "kamueed follows the kernel")
    link_up(lab["r"], "p1")
    add_routes(lab)
    assert_all_reached(lab)


def test_a_cable_pulled_and_put_back(lab):
    assert_all_reached(lab)
    lab["h2"].ip("link set dev eth0 down")
    for target in TARGETS:
        eventually(lambda: not reaches(lab["h1"], target), 30, f"{target} is not reached over a pulled cable")
    eventually(lambda: "NO-CARRIER" in lab["r"].ip_json("link show dev p1")[0]["flags"], 5,
               "the router's interface shows the loss of carrier")
    lab["h2"].ip("link set dev eth0 up")
    for route in ("default via 10.2.0.1", "-6 default via fd00:2::1"):
        family, words = ("-6", route[3:]) if route.startswith("-6") else ("-4", route)
        eventually(lambda: lab["h2"].ip(f"{family} route replace {words}") == "", what=f"the host takes {route}")
    add_routes(lab)
    assert_all_reached(lab)


def test_a_neighbor_that_changes_its_mac_address_and_says_so_is_followed(lab):
    assert_all_reached(lab)
    # Announce the new address as a host does that takes one over (RFC 5227, RFC 4861 section 7.2.6).
    lab["h2"].namespace.sysctl({"net.ipv4.conf.eth0.arp_notify": "1", "net.ipv6.conf.eth0.ndisc_notify": "1"})
    lab["h2"].ip("link set dev eth0 address 02:aa:bb:cc:dd:02")
    assert_all_reached(lab)
    for target in TARGETS:
        assert_no_loss(lab["h1"], target, 50)


def test_an_address_that_moves_to_another_mac_without_a_word_is_found_again(lab):
    assert_all_reached(lab)
    # Let the router doubt its neighbors after 2 s instead of half a minute.
    for family in ("ipv4", "ipv6"):
        lab["r"].namespace.sysctl({f"net.{family}.neigh.p1.base_reachable_time_ms": "2000",
                                   f"net.{family}.neigh.p1.delay_first_probe_time": "1"})
    lab["h2"].namespace.sysctl({"net.ipv4.conf.eth0.arp_notify": "0", "net.ipv6.conf.eth0.ndisc_notify": "0"})
    lab["h2"].ip("link set dev eth0 address 02:aa:bb:cc:dd:03")
    assert_reaches(lab["h1"], *TARGETS, timeout_s=30)


def test_other_ports_do_not_notice_an_interface_that_flaps(lab):
    assert_all_reached(lab)
    pinging = Pinging(lab["h1"], "10.1.0.1")
    for _ in range(5):
        lab["r"].ip("link set dev p1 down")
        link_up(lab["r"], "p1")
    add_routes(lab)
    result = pinging.stop()
    assert result.lost <= 1, result.said
    assert_all_reached(lab)
