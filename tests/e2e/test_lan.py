# SPDX-License-Identifier: BSD-3-Clause
"""What a router does for the hosts of a LAN beside routing: redirects, directed broadcast, answering for others.

    h1 --+
         sw (a bridge) -- p0 r p1 -- h2
    gw --+
"""
import pytest

from support import Router, assert_reaches, bridge, eventually, ping, reaches

LAN = """
nodes:
  sw:
    kind: host
    interfaces: {eth0: [], eth1: [], eth2: []}
  h1: $HOST(1)
  gw:
    kind: router
    interfaces: {eth0: [10.1.0.3/24, "fd00:1::3/64"], lo: [10.9.0.1/32, "fd00:9::1/128"]}
  r:
    kind: $ROUTER
    interfaces: {p0: [10.1.0.1/24, "fd00:1::1/64"], p1: [10.2.0.1/24, "fd00:2::1/64"]}
    routes: [10.9.0.0/24 via 10.1.0.3, 10.1.0.50/32 via 10.2.0.2, "fd00:1::50/128 via fd00:2::2"]
  h2:
    kind: host
    interfaces: {eth0: [10.2.0.2/24, "fd00:2::2/64"], lo: [10.1.0.50/32, "fd00:1::50/128"]}
    routes: [default via 10.2.0.1, "default via fd00:2::1"]
    sysctl: {net.ipv4.icmp_echo_ignore_broadcasts: "0"}
links:
  - [h1:eth0, sw:eth0]
  - [gw:eth0, sw:eth1]
  - [r:p0, sw:eth2]
  - [r:p1, h2:eth0]
"""


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(LAN, kind)
    bridge(lab["sw"], "eth0", "eth1", "eth2")
    assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::2", "10.1.0.3")
    return lab


def configure(lab, kind: str, *lines: str) -> None:
    if kind == "kamuee":
        Router(lab["r"]).call("configure", line=list(lines))


def link_local(node, interface: str) -> str:
    return next(address["local"] for address in node.ip_json(f"-6 address show dev {interface}")[0]["addr_info"]
                if address["local"].startswith("fe80"))


def way(lab, target: str) -> str:
    """The gateway h1 uses now: redirects have been taken in."""
    family = "-6" if ":" in target else "-4"
    return lab["h1"].ip_json(f"{family} route get {target}")[0].get("gateway", "")


@pytest.mark.rfc("1812", "5.2.7.2", "MUST")
def test_an_ipv4_host_learns_of_the_better_router(lab, kind):
    assert_reaches(lab["h1"], "10.9.0.1")
    if kind == "kamuee":
        assert way(lab, "10.9.0.1") == "10.1.0.1"          # off unless configured
    configure(lab, kind, "set interface p0 redirect true")
    eventually(lambda: reaches(lab["h1"], "10.9.0.1") and way(lab, "10.9.0.1") == "10.1.0.3", 20, "h1 takes the redirect")
    assert_reaches(lab["h1"], "10.9.0.1")
    configure(lab, kind, "set interface p0 redirect false")


@pytest.mark.rfc("4861", "8.2", "SHOULD")
def test_an_ipv6_host_learns_of_the_better_router_by_its_link_local_address(lab, kind):
    better = link_local(lab["gw"], "eth0")
    lab["r"].ip(f"-6 route add fd00:9::/64 via {better} dev p0")
    lab["h1"].ip(f"-6 route replace default via {link_local(lab['r'], 'p0')} dev eth0")   # a redirect comes from there
    assert_reaches(lab["h1"], "fd00:9::1")
    configure(lab, kind, "set interface p0 redirect true")
    eventually(lambda: reaches(lab["h1"], "fd00:9::1") and way(lab, "fd00:9::1") == better, 20, "h1 takes the redirect")
    assert_reaches(lab["h1"], "fd00:9::1")
    configure(lab, kind, "set interface p0 redirect false")
    lab["r"].ip("-6 route del fd00:9::/64")


@pytest.mark.rfc("2644", "3", "MUST")
def test_directed_broadcast_ends_here_unless_it_is_allowed(lab, kind):
    def answered() -> bool:
        return "from 10.2.0.2" in ping(lab["h1"], "10.2.0.255", 1, extra="-b").said

    assert_reaches(lab["h1"], "10.2.0.2")
    assert not answered()
    if kind == "kamuee":
        assert Router(lab["r"]).dropped("directed_broadcast") > 0
    else:
        lab["r"].namespace.sysctl({"net.ipv4.conf.all.bc_forwarding": "1", "net.ipv4.conf.p0.bc_forwarding": "1"})
    configure(lab, kind, "set interface p1 directed-broadcast true")
    eventually(answered, 20, "h2 answers what was sent to everybody on its link")
    configure(lab, kind, "set interface p1 directed-broadcast false")
    if kind == "kamuee":
        assert not answered()
    else:
        lab["r"].namespace.sysctl({"net.ipv4.conf.all.bc_forwarding": "0", "net.ipv4.conf.p0.bc_forwarding": "0"})


def test_a_broadcast_on_the_link_itself_reaches_the_router(lab, kind):
    lab["r"].namespace.sysctl({"net.ipv4.icmp_echo_ignore_broadcasts": "0"})  # Linux, and h2, do not answer unless asked to
    eventually(lambda: "from 10.1.0.1" in ping(lab["h1"], "10.1.0.255", 2, extra="-b").said, 20, "the router answers")


# The kernel answers for others; it wants forwarding on for the interface, which is the TAP: kamueed has seen to that. It never
# forwards transit packets by it: they do not come that way.

def test_arp_is_answered_for_a_host_that_is_elsewhere(lab, kind):
    assert not reaches(lab["h1"], "10.1.0.50")
    lab["r"].ip("neigh add proxy 10.1.0.50 dev p0")
    eventually(lambda: reaches(lab["h1"], "10.1.0.50"), 20, "an entry for one address")
    lab["r"].ip("neigh del proxy 10.1.0.50 dev p0")
    lab["h1"].run("ip neigh flush dev eth0")
    eventually(lambda: not reaches(lab["h1"], "10.1.0.50"), 20, "nobody answers any more")
    lab["r"].namespace.sysctl({"net.ipv4.conf.p0.proxy_arp": "1"})
    lab["h1"].run("ip neigh flush dev eth0")
    eventually(lambda: reaches(lab["h1"], "10.1.0.50"), 20, "sysctl proxy_arp")
    lab["h1"].run("ip neigh flush dev eth0")
    assert_reaches(lab["h1"], "10.1.0.3")                  # who is there answers himself
    mac = lab["gw"].ip_json("link show dev eth0")[0]["address"]
    assert lab["h1"].ip_json("neigh show 10.1.0.3")[0]["lladdr"] == mac


def test_neighbor_solicitations_are_answered_for_a_host_that_is_elsewhere(lab, kind):
    assert not reaches(lab["h1"], "fd00:1::50")
    lab["r"].namespace.sysctl({"net.ipv6.conf.p0.proxy_ndp": "1"})
    lab["r"].ip("-6 neigh add proxy fd00:1::50 dev p0")
    eventually(lambda: reaches(lab["h1"], "fd00:1::50"), 20, "an entry for one address")
    lab["r"].ip("-6 neigh del proxy fd00:1::50 dev p0")
    lab["h1"].run("ip -6 neigh flush dev eth0")
    eventually(lambda: not reaches(lab["h1"], "fd00:1::50"), 20, "nobody answers any more")
