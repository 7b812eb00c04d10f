# SPDX-License-Identifier: BSD-3-Clause
"""What a router tells senders: time exceeded, packet too big, and what it carries unharmed."""
import re
import subprocess
import sys

import pytest

from support import assert_no_loss, assert_reaches, eventually, hops, ping, pings, received, receiver, send

CHAIN = """
nodes:
  h1: $HOST(1)
  r:
    kind: $ROUTER
    interfaces: {p0: [10.1.0.1/24, "fd00:1::1/64"], p1: [10.2.0.1/24, "fd00:2::1/64"]}
    routes: [10.3.0.0/24 via 10.2.0.2, "fd00:3::/64 via fd00:2::2"]
  r2:
    kind: router
    interfaces: {p0: [10.2.0.2/24, "fd00:2::2/64"], p1: [10.3.0.1/24, "fd00:3::1/64"]}
    routes: [default via 10.2.0.1, "default via fd00:2::1"]
  h2: $HOST(3)
links:
  - [h1:eth0, r:p0]
  - {ends: [r:p1, r2:p0], mtu: 1400}
  - [r2:p1, h2:eth0]
"""


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(CHAIN, kind)
    assert_reaches(lab["h1"], "10.3.0.2", "fd00:3::2")
    return lab


@pytest.mark.parametrize("extra", ["", "-I"])
def test_traceroute_shows_every_hop(lab, extra):
    for way in (["10.1.0.1", "10.2.0.2", "10.3.0.2"], ["fd00:1::1", "fd00:2::2", "fd00:3::2"]):
        eventually(lambda: hops(lab["h1"], way[-1], extra) == way, 10, lambda: f"hops: {hops(lab['h1'], way[-1], extra)}")


def test_the_ttl_falls_by_one(lab):
    said = eventually(lambda: (answer := ping(lab["h1"], "10.3.0.2", 1)).received and answer.said)
    assert "ttl=62" in said, said


def test_ttl_1_to_the_router_itself_is_delivered(lab):
    assert_no_loss(lab["h1"], "10.1.0.1", 2, "--ttl", "1")
    assert_no_loss(lab["h1"], "fd00:1::1", 2, "--ttl", "1")


def test_a_packet_too_big_is_reported_with_the_mtu(lab):
    lab["h1"].ip("route flush cache")
    for target, size in (("10.3.0.2", 1472), ("fd00:3::2", 1452)):
        eventually(lambda: re.search(r"mtu ?[ =] ?1400", ping(lab["h1"], target, 2, extra=f"-M do -s {size}").said),
                   what=lambda: f"the sender to {target} is told 1400: {ping(lab['h1'], target, 2, extra=f'-M do -s {size}').said}")


def test_ipv4_without_df_is_fragmented_and_arrives(lab):
    lab["h1"].ip("route flush cache")
    assert_no_loss(lab["h1"], "10.3.0.2", 5, "--size", "1472", "--may-fragment")


@pytest.mark.parametrize("size", [64, 65, 512, 1300])
def test_packets_of_every_size_arrive_whole(lab, size):
    counting = receiver(lab["h2"])
    send(lab["h1"], ["10.3.0.2", "fd00:3::2"], 200, per_s=2000, size=size)
    assert received(counting, 200)["distinct"] == 200


TAKE = ("import socket,hashlib,sys;f=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET;"
        "s=socket.create_server((sys.argv[1],5201),family=f);print('ready',flush=True);c=s.accept()[0];"
        "h=hashlib.sha256();[h.update(d) for d in iter(lambda:c.recv(65536),b'')];print(h.hexdigest())")
GIVE = ("import socket,hashlib,random,sys;d=random.Random(1).randbytes(int(sys.argv[2]));"
        "c=socket.create_connection((sys.argv[1],5201),120);c.sendall(d);c.close();print(hashlib.sha256(d).hexdigest())")


def assert_tcp_carries(lab, target: str, n_bytes: int) -> None:
    """Every byte is compared, by its digest."""
    server = lab["h2"].popen([sys.executable, "-c", TAKE, target], stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"ready\n"
    sent = lab["h1"].run([sys.executable, "-c", GIVE, target, str(n_bytes)], timeout_s=150)      # sendall has one time-out for all its bytes
    assert server.communicate(timeout=120)[0].decode() == sent


def mtu_to(lab, target: str) -> int:
    """What h1's kernel believes of the way."""
    metrics = lab["h1"].ip_json(f"route get {target}")[0].get("metrics", [{}])
    return metrics[0].get("mtu", 1500)


@pytest.mark.parametrize("target", [pytest.param("10.3.0.2", marks=pytest.mark.rfc("1191", "4", "MUST")),
                                    pytest.param("fd00:3::2", marks=pytest.mark.rfc("4443", "3.2", "MUST"))])
def test_tcp_carries_a_file_over_a_smaller_mtu_that_it_has_to_find(lab, target):
    """h1's wire takes 1500 bytes, the link in the middle 1400."""
    lab["h1"].ip("route flush cache")
    lab["h1"].ip("-6 route flush cache")
    assert_tcp_carries(lab, target, 20_000_000)
    assert mtu_to(lab, target) == 1400


# Every kernel in our tests has vxlan tunnels; the test is about a packet in a packet, of any kind.
TUNNELS = {"vx4": ("10.1.0.2", "10.3.0.2", "df set"), "vx4cut": ("10.1.0.2", "10.3.0.2", "df unset"), "vx6": ("fd00:1::2", "fd00:3::2", "")}


@pytest.fixture(scope="module")
def tunnels(lab):
    """Between h1 and h2, over IPv4 with and without DF and over IPv6: 10.44.N.0/24 and fd00:44:N::/64."""
    for number, (name, (one, other, df)) in enumerate(TUNNELS.items()):
        for node, end, ours, theirs in ((lab["h1"], 1, one, other), (lab["h2"], 2, other, one)):
            node.ip(f"link add {name} type vxlan id {number + 1} local {ours} remote {theirs} dstport {4789 + number} {df}")
            node.ip(f"address add 10.44.{number}.{end}/24 dev {name}")
            node.ip(f"address add fd00:44:{number}::{end}/64 dev {name} nodad")
            node.ip(f"link set {name} up")
    return lab


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("tunnel", TUNNELS)
def test_tcp_in_a_tunnel_crosses_the_smaller_mtu(tunnels, tunnel, family):
    """The outer packets are too big for the link: the tunnel's end is told, or the router cuts them."""
    number = list(TUNNELS).index(tunnel)
    target = f"10.44.{number}.2" if family == "ipv4" else f"fd00:44:{number}::2"
    tunnels["h1"].ip("route flush cache")
    assert_reaches(tunnels["h1"], target)
    assert_tcp_carries(tunnels, target, 2_000_000)


@pytest.mark.parametrize("target", ["10.3.0.2", "fd00:3::2", "10.1.0.1", "fd00:1::1"])
def test_fragments_of_the_sender_pass(lab, target):
    """Through the router, and to the router itself."""
    lab["h1"].ip("route flush cache")
    pings(lab["h1"], target, 2, 0.02, "--size", "3000")   # both ends learn the path's MTU for IPv6
    assert_no_loss(lab["h1"], target, 5, "--size", "3000")
