# SPDX-License-Identifier: BSD-3-Clause
"""A gre-udp tunnel through a NAT that forwards its UDP port: Linux' own NAT, with its connection tracking."""
import subprocess

import pytest

from support import Router, assert_no_loss, assert_reaches, eventually, ping

INSIDE, OUTSIDE, FAR = "10.9.0.1", "203.0.113.1", "203.0.113.2"
LAB = f"""
nodes:
  left: $HOST(1)
  right: $HOST(2)
  a:
    kind: kamuee
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [{INSIDE}/24]
    routes: [203.0.113.0/24 via 10.9.0.254]
    set: [set tunnel tun1 kind gre-udp key 5 local {INSIDE} remote {FAR}]
  nat:
    kind: router
    interfaces: {{in: [10.9.0.254/24], out: [{OUTSIDE}/24]}}
  b:
    kind: kamuee
    interfaces:
      p0: [10.2.0.1/24, "fd00:2::1/64"]
      p1: [{FAR}/24]
    set: [set tunnel tun1 kind gre-udp key 5 local {FAR} remote {OUTSIDE}]
links:
  - [left:eth0, a:p0]
  - [a:p1, nat:in]
  - [nat:out, b:p1]
  - [b:p0, right:eth0]
"""
RULES = f"""
table ip nat {{
  chain out {{
    type nat hook postrouting priority srcnat;
    oifname "out" masquerade
  }}
  chain in {{
    type nat hook prerouting priority dstnat;
    iifname "out" udp dport 4754 dnat to {INSIDE}
  }}
}}
"""
TARGETS = ("10.2.0.2", "fd00:2::2")


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    nft = lab["nat"].popen(["nft", "-f", "-"], stdin=subprocess.PIPE)
    nft.communicate(RULES.encode())
    assert nft.returncode == 0
    for here, end, far in (("a", 1, 2), ("b", 2, 1)):
        inside = lab[here].namespace
        for words in (f"addr add 10.100.0.{end}/24 dev tun1", f"addr add fd00:100::{end}/64 dev tun1 nodad", "link set tun1 up",
                      f"route add 10.{far}.0.0/24 via 10.100.0.{far}", f"-6 route add fd00:{far}::/64 via fd00:100::{far}"):
            inside.ip(words)
    return lab


def foreign(lab) -> list[int]:
    """Packets from an outer source that is no peer: the tunnel's own ND may have crossed the NAT before its rules were loaded."""
    return [row["packets"] for here in "ab" for row in Router(lab[here]).entries("drop") if row["name"] == "tunnel_source"]


def test_both_ways_are_open_without_a_packet_of_the_other_side(lab):
    before = foreign(lab)
    assert_reaches(lab["right"], "10.1.0.2")          # the side that is reached through the forwarded port begins
    for target in TARGETS:
        assert_reaches(lab["left"], target)
        assert_no_loss(lab["left"], target, 50)
    for here in "ab":
        Router(lab[here]).assert_ledger()
    assert len(before) == 2 and foreign(lab) == before


def test_each_flow_is_a_connection_of_the_nat_and_all_pass(lab):
    """Entropy: their source ports differ."""
    for port in range(30):
        said = lab["left"].run(f"ping -c 1 -W 10 -e {1000 + port} {TARGETS[0]}", check=False)
        assert "1 received" in said, said
    before = connections(lab)
    senders = [lab["left"].popen(["bash", "-c", f"exec 3<>/dev/udp/10.2.0.2/{9000 + n}; echo x >&3"]) for n in range(40)]
    for sender in senders:
        sender.wait(60)
    eventually(lambda: connections(lab) >= before + 30, 10, lambda: f"{before} -> {connections(lab)} connections")


def connections(lab) -> int:
    return int(lab["nat"].run("cat /proc/sys/net/netfilter/nf_conntrack_count"))


def test_what_the_underlay_behind_the_nat_takes_is_learned(lab):
    """Its ICMP error quotes the packet as it was outside: the NAT writes the inside address back."""
    router = Router(lab["a"])
    inner = 1500 - 20 - 8 - 8                          # IPv4, UDP, GRE with its key
    assert router.entries("tunnel")[0]["mtu"] == inner
    lab["nat"].ip("route replace 203.0.113.0/24 dev out mtu 1400")
    try:
        for _ in range(3):
            ping(lab["left"], TARGETS[0], 1, extra="-s 1430 -M dont")
        eventually(lambda: router.entries("tunnel")[0]["mtu"] == inner - 100, 20, lambda: f"{router.entries('tunnel')[0]}")
        eventually(lambda: ping(lab["left"], TARGETS[0], 3, extra="-s 1430 -M dont").received, 20, "the inner packet is cut now")
    finally:
        lab["nat"].ip("route replace 203.0.113.0/24 dev out")
