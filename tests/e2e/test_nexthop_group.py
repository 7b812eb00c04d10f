# SPDX-License-Identifier: BSD-3-Clause
"""Routes that change with their next hops: FRR with its settings for next-hop groups, BIRD, and `ip nexthop` by raw netlink."""
import errno
import os
import struct
import sys

import pytest

from kamuee.lab import measure
from kamuee.lab.errors import LabError

from support import assert_reaches, eventually, link_up

PEER = """
  {name}:
    kind: router
    daemon: frr
    interfaces: {{p0: [10.12.{n}.2/24, "fd00:1{n}::2/64"], lo: [198.51.100.1/32, "2001:db8:100::1/128"]}}
    asn: 6500{n}
    neighbors: [{{address: 10.12.{n}.1, asn: 65000}}, {{address: "fd00:1{n}::1", asn: 65000}}]
    networks: [198.51.100.0/24, "2001:db8:100::/48", 203.0.{n}.0/24, "2001:db8:20{n}::/48"]"""
LAB = """
nodes:
  h1: $HOST(1)
  r:
    kind: kamuee
    daemon: DAEMON
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.12.1.1/24, "fd00:11::1/64"]
      p2: [10.12.2.1/24, "fd00:12::1/64"]
    asn: 65000
    neighbors:
      - {address: 10.12.1.2, asn: 65001}
      - {address: "fd00:11::2", asn: 65001}
      - {address: 10.12.2.2, asn: 65002}
      - {address: "fd00:12::2", asn: 65002}
    networks: [10.1.0.0/24, "fd00:1::/64"]""" + PEER.format(name="a", n=1) + PEER.format(name="b", n=2) + """
links:
  - [h1:eth0, r:p0]
  - [r:p1, a:p0]
  - [r:p2, b:p0]
"""
BOTH = {"198.51.100.0/24": "ipv4", "2001:db8:100::/48": "ipv6"}
OF_A, OF_B = ("203.0.1.0/24", "2001:db8:201::/48"), ("203.0.2.0/24", "2001:db8:202::/48")


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    """The router has FRR."""
    return labs(LAB.replace("DAEMON", "frr"))


@pytest.fixture(scope="module")
def bird(labs, kamueed):
    return labs(LAB.replace("DAEMON", "bird"))


def legs(lab, prefix: str) -> int:
    """Gateways of the prefix in the kernel."""
    routes = lab["r"].namespace.ip_json(f"{'-6' if ':' in prefix else '-4'} route show exact {prefix}")
    return sum(len(route.get("nexthops", [route])) for route in routes)


def nhids(lab) -> dict[str, int]:
    """Numbers of the next-hop objects of BGP's routes, 0: none."""
    routes = [route for family in ("-4", "-6") for route in lab["r"].namespace.ip_json(f"{family} route show proto bgp")]
    return {route["dst"]: route.get("nhid", 0) for route in routes}


def wait_legs(lab, n: int, *prefixes: str) -> None:
    """Until the kernel has so many, and the FIB is the same."""
    for prefix in prefixes or BOTH:
        eventually(lambda: legs(lab, prefix) == n, 30, lambda: f"{n} legs: {lab['r'].ip(f'route show exact {prefix}')}")
    eventually(lambda: not measure.fib_differences(lab["r"]), 5, lambda: "; ".join(measure.fib_differences(lab["r"])))


def announce(lab, peer: str, on: bool) -> None:
    lines = [line for prefix, family in BOTH.items()
             for line in (f"address-family {family} unicast", f"{'' if on else 'no '}network {prefix}", "exit-address-family")]
    lab[peer].frr.vtysh("configure terminal", f"router bgp {lab[peer].node.asn}", *lines)


def churn(lab) -> None:
    """One peer leaves the group and comes back; then both go; then one comes before the other."""
    wait_legs(lab, 2)
    wait_legs(lab, 1, *OF_A)
    for peer, on, left in (("b", False, 1), ("b", True, 2), ("a", False, 1), ("b", False, 0), ("b", True, 1), ("a", True, 2)):
        announce(lab, peer, on)
        wait_legs(lab, left)
    assert_reaches(lab["h1"], "198.51.100.1", "2001:db8:100::1")
    assert measure.client(lab["r"]).call("audit")["diverged"] == 0


def restart(lab, *lines: str) -> None:
    """FRR of the router, with more lines of configuration."""
    frr = lab["r"].frr
    for line in lines:
        try:
            frr.vtysh("configure terminal", line)
        except LabError as refused:
            pytest.skip(f"this FRR has no '{line}': {refused}")
    frr.stop()
    eventually(lambda: not nhids(lab), 10, "zebra takes its routes along")
    frr.config = "\n".join([*(line for line in frr.config.splitlines() if not line.startswith("zebra ")), *lines, ""])
    frr.start()


def test_frr_routes_move_with_their_groups(lab):
    churn(lab)
    assert set(nhids(lab)) >= {*BOTH, *OF_A} and all(nhids(lab).values()), nhids(lab)


def test_frr_keeps_a_group_without_routes(lab):
    """The routes come back by the objects that were kept."""
    restart(lab, "zebra nexthop-group keep 3600")
    wait_legs(lab, 2)
    before = nhids(lab)
    for on, left in ((False, 0), (True, 2)):
        for peer in "ab":
            announce(lab, peer, on)
        wait_legs(lab, left)
    assert {prefix: nhids(lab)[prefix] for prefix in BOTH} == {prefix: before[prefix] for prefix in BOTH}
    churn(lab)


def test_frr_without_objects_for_its_routes(lab):
    restart(lab, "zebra nexthop proto only")
    churn(lab)
    assert not any(nhids(lab).values()), nhids(lab)


def test_routes_that_go_with_their_objects_without_an_event(lab):
    """Linux announces IPv6 routes that go with their next-hop object only with this setting, without which it shows no gateways, either."""
    restart(lab)
    wait_legs(lab, 2)
    wait_legs(lab, 1, *OF_B)
    mode = "sysctl -qw net.ipv4.nexthop_compat_mode="
    lab["r"].namespace.run(f"{mode}0")
    lab["r"].ip("link set p2 down")
    lab["r"].namespace.run(f"{mode}1")
    wait_legs(lab, 1)
    wait_legs(lab, 0, *OF_B)
    link_up(lab["r"], "p2")
    restart(lab)        # FRR 8.4 leaves the member out of its groups
    wait_legs(lab, 2)
    wait_legs(lab, 1, *OF_B)
    assert measure.client(lab["r"]).call("audit")["diverged"] == 0


def test_bird_routes_move(bird):
    churn(bird)
    assert not any(nhids(bird).values())


# --- weights of 16 bits (Linux 6.12), which many versions of iproute2 cannot set ---

def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def group_by_netlink(lab, number: int, weights: dict[int, int], kind: int = 0) -> int:
    """Make or replace a next-hop group {object: weight}; Linux's error number, 0 if none."""
    members = b"".join(struct.pack("IBBH", member, weight - 1 & 255, weight - 1 >> 8, 0) for member, weight in weights.items())
    body = struct.pack("BBBBI", 0, 0, 0, 0, 0) + attribute(1, struct.pack("I", number)) + attribute(2, members)
    if kind:
        body += attribute(3, struct.pack("H", kind)) + attribute(12 | 0x8000, attribute(1, struct.pack("H", 64)))
    replace_create_ack = 0x100 | 0x400 | 4
    message = struct.pack("IHHII", 16 + len(body), 104, 1 | replace_create_ack, 1, 0) + body
    script = ("import socket, struct, sys; s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); s.send(bytes.fromhex(sys.argv[1])); "
              "print(-struct.unpack_from('i', s.recv(4096), 16)[0])")
    return int(lab["r"].namespace.run([sys.executable, "-c", script, message.hex()]))


@pytest.fixture
def objects(bird):
    """Objects 771001 at p1 and 771002 at p2; what a test makes of them goes with them."""
    router = bird["r"]
    for n in (1, 2):
        router.ip(f"nexthop add id 77100{n} via 10.12.{n}.2 dev p{n}")
    yield (771001, 771002)
    for n in (1, 2):
        router.ip(f"nexthop del id 77100{n}")


def shares(lab, number: int) -> list[tuple[int, int]]:
    """(weight, buckets) of the group's members."""
    groups = [row for row in measure.client(lab["r"]).entries("nexthop") if row.get("kernel-id") == number]
    return [(member["weight"], member["buckets"]) for group in groups for member in group["member"]]


@pytest.mark.parametrize("kind", [0, 1], ids=["mpath", "resilient"])
def test_weights_of_16_bits_are_followed(bird, objects, kind):
    number = 771020 + kind
    for weights in ((1000, 3000), (257, 1), (1, 1)):
        if error := group_by_netlink(bird, number, dict(zip(objects, weights)), kind):
            assert error in (errno.EINVAL, errno.EOPNOTSUPP), os.strerror(error)
            pytest.skip(f"this kernel has no such group: {os.strerror(error)}")
        bird["r"].ip(f"route replace 192.0.2.0/24 nhid {number}")
        eventually(lambda: [weight for weight, _ in shares(bird, number)] == list(weights), 10, lambda: f"{shares(bird, number)}")
        buckets = [n for _, n in shares(bird, number)]
        for weight, n in zip(weights, buckets):
            assert 0.9 < n / sum(buckets) / (weight / sum(weights)) < 1.1, f"weights {weights}, buckets {buckets}"
    bird["r"].ip("route del 192.0.2.0/24")
