# SPDX-License-Identifier: BSD-3-Clause
"""Routers without an address of the family: IPv4 by IPv6 next hops, IPv6 on link-local addresses; hosts are told all the same, as by Linux."""
import pytest

from support import assert_reaches, eventually, ping

LAB = """
nodes:
  h1:
    kind: host
    interfaces: {eth0: []}
  r:
    kind: $ROUTER
    interfaces: {p0: [], p1: []}
  h2:
    kind: host
    interfaces: {eth0: []}
links:
  - [h1:eth0, r:p0]
  - [r:p1, h2:eth0]
"""
V4, V6 = {"h1": "10.1.0.2", "h2": "10.2.0.2"}, {"h1": "2001:db8:1::2", "h2": "2001:db8:2::2"}


def link_local(node, dev: str) -> str:
    return eventually(lambda: next(address["local"] for address in node.ip_json(f"-6 address show dev {dev}")[0]["addr_info"]
                                   if address["scope"] == "link" and not address.get("tentative")), 20)


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(LAB, kind)
    for host, port in (("h1", "p0"), ("h2", "p1")):
        router, own = link_local(lab["r"], port), link_local(lab[host], "eth0")
        lab[host].ip(f"address add {V4[host]}/32 dev eth0")
        lab[host].ip(f"address add {V6[host]}/128 dev eth0 nodad")
        lab[host].ip(f"-4 route add default via inet6 {router} dev eth0 onlink")
        lab[host].ip(f"-6 route add default via {router} dev eth0")
        lab["r"].ip(f"-4 route add {V4[host]}/32 via inet6 {own} dev {port}")
        lab["r"].ip(f"-6 route add {V6[host]}/128 via {own} dev {port}")
    assert_reaches(lab["h1"], V4["h2"], V6["h2"])
    lab["r"].ip(f"-4 route replace {V4['h2']}/32 via inet6 {link_local(lab['h2'], 'eth0')} dev p1 mtu 1300")
    lab["r"].ip(f"-6 route replace {V6['h2']}/128 via {link_local(lab['h2'], 'eth0')} dev p1 mtu 1300")
    return lab


def told(lab, target: str, how: str, *words: str) -> str:
    """The error about a ping, once it has come with these words."""
    return eventually(lambda: (text := ping(lab["h1"], target, 1, extra=how).said) and all(word in text for word in words) and text, 20,
                      lambda: ping(lab["h1"], target, 1, extra=how).said)


@pytest.mark.rfc("7600", "4.8", "MUST")
def test_ipv4_errors_come_from_the_dummy_address(lab):
    told(lab, V4["h2"], "-t 1", "From 192.0.0.8", "exceeded")
    told(lab, V4["h2"], "-M do -s 1400", "From 192.0.0.8", "1300")


def test_ipv6_errors_come_from_the_link_local_address(lab):
    own = link_local(lab["r"], "p0")
    told(lab, V6["h2"], "-t 1", f"From {own}", "xceeded")
    told(lab, V6["h2"], "-M do -s 1400", f"From {own}", "1300")
