# SPDX-License-Identifier: BSD-3-Clause
"""Metalinks: virtual routers joined inside the forwarder, with real neighbors, routing daemons, and everything an interface has."""
import re

import pytest

from kamuee.errors import DaemonError
from kamuee.lab.frr import Frr, remove_directories

from support import Router, assert_no_loss, assert_reaches, eventually, hops, ping, pings, reaches, received, receiver, send

ROW = """
nodes:
  reda: $HOST(1)
  blueb: $HOST(2)
  r:
    kind: kamuee
    vrs:
      red: {}
      blue: {}
    set: [set metalink up a red b default, set metalink down a default b blue]
    interfaces:
      p0: {vr: red, addresses: [10.1.0.1/24, "fd00:1::1/64"]}
      p1: {vr: blue, addresses: [10.2.0.1/24, "fd00:2::1/64"]}
links:
  - [reda:eth0, r:p0]
  - [blueb:eth0, r:p1]
"""
ENDS = [("red", "up-a", "10.12.0.1/24", "fd00:12::1/64"), (None, "up-b", "10.12.0.2/24", "fd00:12::2/64"),
        (None, "down-a", "10.23.0.1/24", "fd00:23::1/64"), ("blue", "down-b", "10.23.0.2/24", "fd00:23::2/64")]
TARGETS = ("10.2.0.2", "fd00:2::2")


def where(lab, vr):
    return lab["r"].vrs[vr] if vr else lab["r"].namespace


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(ROW)
    for vr, end, four, six in ENDS:
        where(lab, vr).ip(f"addr add {four} dev {end}")
        where(lab, vr).ip(f"addr add {six} dev {end} nodad")
        where(lab, vr).ip(f"link set {end} up")
    for vr, route in (("red", "default via 10.12.0.2"), ("red", "-6 default via fd00:12::2"),
                      (None, "10.1.0.0/24 via 10.12.0.1"), (None, "-6 fd00:1::/64 via fd00:12::1"),
                      (None, "10.2.0.0/24 via 10.23.0.2"), (None, "-6 fd00:2::/64 via fd00:23::2"),
                      ("blue", "default via 10.23.0.1"), ("blue", "-6 default via fd00:23::1")):
        six, words = ("-6 ", route[3:]) if route.startswith("-6 ") else ("", route)
        where(lab, vr).ip(f"{six}route add {words}")
    return lab


@pytest.fixture
def router(lab):
    return Router(lab["r"])


@pytest.mark.parametrize("target", TARGETS)
def test_traffic_passes_three_virtual_routers(lab, target):
    assert_reaches(lab["reda"], target)
    assert_no_loss(lab["reda"], target, 100)


@pytest.mark.parametrize("way", [["10.1.0.1", "10.12.0.2", "10.23.0.2", "10.2.0.2"],
                                 ["fd00:1::1", "fd00:12::2", "fd00:23::2", "fd00:2::2"]])
def test_each_virtual_router_is_a_hop(lab, way):
    assert_reaches(lab["reda"], way[-1])
    eventually(lambda: hops(lab["reda"], way[-1]) == way, 20, lambda: f"hops: {hops(lab['reda'], way[-1])}", 0.5)


def test_forwarding_is_the_forwarders(lab, router):
    assert_reaches(lab["reda"], TARGETS[0])
    before = router.named("interface", "up-a")["statistics"]["tx-packets"]
    counting = receiver(lab["blueb"])
    send(lab["reda"], [TARGETS[0]], 300, size=1472)
    assert received(counting, 300)["distinct"] == 300
    up_a, up_b = router.named("interface", "up-a"), router.named("interface", "up-b")
    assert up_a["statistics"]["tx-packets"] - before >= 300
    assert (up_a["kind"], up_a["peer"], up_a["peer-vr"], up_b["vr"]) == ("metalink", "up-b", "default", "default")
    assert "port" not in up_a
    router.assert_ledger()


def test_neighbors_are_resolved_by_the_kernels_themselves(lab, router):
    assert_reaches(lab["reda"], TARGETS[0])
    row = next(row for row in router.entries("neighbor") if row["interface"] == "up-a" and row["address"] == "10.12.0.2")
    assert row["mac"] == router.named("interface", "up-b")["mac"] != router.named("interface", "up-a")["mac"]
    assert pings(where(lab, "red"), "10.12.0.2", 3).received == 3
    assert pings(where(lab, "blue"), "fd00:23::1", 3).received == 3


def test_explain_follows_the_packet(router):
    told = router.call("explain", interface="p0", source="10.1.0.2", destination="10.2.0.2")
    lookups = [step["vr"] for step in told["step"] if "lookup" in step]
    assert lookups == ["red", "default", "blue"]
    assert told["step"][-1]["frame"][0]["interface"] == "p1"


def test_explain_begins_at_an_end(router):
    told = router.call("explain", interface="down-b", source="10.1.0.2", destination="10.2.0.2")
    assert [step["vr"] for step in told["step"] if "lookup" in step] == ["blue"]


def test_a_loop_ends_with_the_named_drop(lab, router):
    before = router.dropped("metalink_hops")
    where(lab, None).ip("route add 203.0.113.0/24 via 10.12.0.1")       # red's default leads back
    try:
        eventually(lambda: "203.0.113.0/24" in str(list(router.rows("routes=default,ipv4", "route"))), 20, "the route is known")
        ping(lab["reda"], "203.0.113.1", 3)
        eventually(lambda: router.dropped("metalink_hops") > before, 20, "it is dropped by name")
    finally:
        where(lab, None).ip("route del 203.0.113.0/24")


def test_mtu(lab, router):
    router.configure("set metalink up mtu 1300")
    try:
        assert "mtu 1300" in where(lab, "red").ip("link show up-a") and "mtu 1300" in where(lab, None).ip("link show up-b")
        eventually(lambda: re.search("mtu ?= ?1300", lab["reda"].run("ping -c 1 -W 2 -M do -s 1400 10.2.0.2", check=False)), 20, "the sender is told")
        assert pings(lab["reda"], "10.2.0.2", 2, 0.005, "--size", "1400", "--may-fragment").received == 2  # in pieces
    finally:
        router.configure("delete metalink up mtu")
        lab["reda"].run("ip route flush cache")
    assert "mtu 1500" in where(lab, "red").ip("link show up-a")


def test_an_access_list_of_an_end(lab, router):
    router.configure("set acl none rule 10 deny ipv4", "set acl none default permit",
                     "set interface up-b acl in none")
    try:
        eventually(lambda: not reaches(lab["reda"], "10.2.0.2"), 20, "it is denied")
        assert_reaches(lab["reda"], "fd00:2::2")
    finally:
        router.configure("delete interface up-b", "delete acl none")
    assert_reaches(lab["reda"], "10.2.0.2")


def test_an_end_that_is_down_takes_the_carrier_of_the_other(lab, router):
    assert_reaches(lab["reda"], "10.2.0.2")
    where(lab, None).ip("link set up-b down")
    try:
        eventually(lambda: "NO-CARRIER" in where(lab, "red").ip("link show up-a"), 20, "no carrier")
        eventually(lambda: router.named("interface", "up-a")["status"] == "down" and router.named("interface", "up-b")["status"] == "admin-down", 10,
                   lambda: f"{router.named('interface', 'up-a')} {router.named('interface', 'up-b')}")
        eventually(lambda: not reaches(lab["reda"], "10.2.0.2"), 10, "nothing passes")
    finally:
        where(lab, None).ip("link set up-b up")
        where(lab, None).ip("route replace 10.1.0.0/24 via 10.12.0.1")
        where(lab, None).ip("addr replace fd00:12::2/64 dev up-b nodad")
        where(lab, None).ip("-6 route replace fd00:1::/64 via fd00:12::1")
    assert_reaches(lab["reda"], *TARGETS)


BGP = """
hostname {vr}
router bgp {asn}
 bgp router-id {own}
 no bgp ebgp-requires-policy
 neighbor {peer} remote-as {other}
 neighbor {peer} timers connect 1
 neighbor {peer} advertisement-interval 0
 address-family ipv4 unicast
  network {network}
 exit-address-family
exit
"""
PEERS = {"red": dict(asn=65001, own="10.99.0.1", peer="10.99.0.2", other=65002, network="10.1.0.0/24"),
         "blue": dict(asn=65002, own="10.99.0.2", peer="10.99.0.1", other=65001, network="10.2.0.0/24")}


@pytest.fixture
def daemons(lab, router):
    """FRR in red and in blue, each in its namespace, over a metalink of their own."""
    started = {}
    router.configure("set metalink bgp a red b blue")
    for (vr, words), end in zip(PEERS.items(), ("bgp-a", "bgp-b")):
        where(lab, vr).ip(f"addr add {words['own']}/24 dev {end}")
        where(lab, vr).ip(f"link set {end} up")
        started[vr] = frr = Frr(lab["r"].node, lab["r"].vrs[vr])
        frr.config, frr.daemons = BGP.format(vr=vr, **words), ["bgpd"]
        frr.start()
    yield started
    for frr in started.values():
        frr.stop()
        remove_directories(frr.pathspace)
    router.configure("delete metalink bgp")


def test_frr_of_two_virtual_routers_peers_over_a_metalink(lab, router, daemons):
    eventually(lambda: all(frr.sessions().get(PEERS[vr]["peer"]) for vr, frr in daemons.items()), 60,
               lambda: f"sessions: {[frr.sessions() for frr in daemons.values()]}", 0.5)
    eventually(lambda: "10.2.0.0/24" in where(lab, "red").ip("route show proto bgp"), 60, "red learns blue's network")

    def way():
        told = router.call("explain", interface="p0", source="10.1.0.2", destination="10.2.0.2")
        return [step["vr"] for step in told["step"] if "lookup" in step]
    eventually(lambda: way() == ["red", "blue"], 20, lambda: f"{way()}: by the shorter way", 0.2)
    assert_no_loss(lab["reda"], "10.2.0.2", 50)
    daemons["blue"].kill()
    router.configure("delete metalink bgp")
    eventually(lambda: way() == ["red", "default", "blue"], 60, lambda: f"{way()}: by the long way again", 0.2)
    assert_reaches(lab["reda"], "10.2.0.2")
    router.configure("set metalink bgp a red b blue")


REFUSED = [("set metalink abcdefghijklmn a red b blue", "1 to 13 letters"),
           ("set metalink same a red b red", "both ends are in virtual router 'red'"),
           ("set metalink new a red b green", "green"),
           ("set metalink new a red", "b"),
           ("set metalink 'a b' a red b blue", "letters"),
           ("set metalink über a red b blue", "letters"),
           ("set interface up-a vr blue", "metalink up a VR"),
           ("delete vr red", "red")]


@pytest.mark.parametrize("line, says", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(lab, router, line, says):
    before = sorted(row["name"] for row in router.entries("interface"))
    with pytest.raises(DaemonError) as refused:
        router.configure(line)
    assert says in str(refused.value)
    assert sorted(row["name"] for row in router.entries("interface")) == before
    assert_reaches(lab["reda"], "10.2.0.2")


def test_a_metalink_comes_moves_and_goes_under_traffic(lab, router):
    for _ in range(3):
        router.configure("set metalink extra a red b blue")
        assert router.named("interface", "extra-a")["vr"] == "red" and router.named("interface", "extra-b")["vr"] == "blue"
        router.configure("set metalink extra b default")
        assert "extra-b" in where(lab, None).ip("link show")
        assert "extra-b" not in where(lab, "blue").ip("link show")
        assert_no_loss(lab["reda"], "10.2.0.2", 20)
        router.configure("delete metalink extra")
        assert router.named("interface", "extra-a") is None
        assert "extra-" not in where(lab, "red").ip("link show") + where(lab, None).ip("link show")


def test_deletion_while_in_use_ends_the_traffic_and_nothing_else(lab, router):
    router.configure("delete metalink down")
    assert not reaches(lab["reda"], "10.2.0.2")
    assert pings(where(lab, "red"), "10.12.0.2", 2).received == 2
    router.configure("set metalink down a default b blue")
    for vr, end, four, six in ENDS[2:]:
        where(lab, vr).ip(f"addr add {four} dev {end}")
        where(lab, vr).ip(f"link set {end} up")
    where(lab, None).ip("route replace 10.2.0.0/24 via 10.23.0.2")
    where(lab, "blue").ip("route replace default via 10.23.0.1")
    assert_reaches(lab["reda"], "10.2.0.2")
    router.assert_ledger()
