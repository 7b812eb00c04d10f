# SPDX-License-Identifier: BSD-3-Clause
"""What a router tells senders: time exceeded, packet too big, and what it carries unharmed."""
import re
import subprocess
import sys

import pytest

from support import assert_no_loss, assert_reaches, eventually, ping, pings, received, receiver, send

CHAIN = """
nodes:
  h1:
    kind: host
    interfaces: {eth0: [10.1.0.2/24, "fd00:1::2/64"]}
    routes: [default via 10.1.0.1, "default via fd00:1::1"]
  r:
    kind: $ROUTER
    interfaces: {p0: [10.1.0.1/24, "fd00:1::1/64"], p1: [10.2.0.1/24, "fd00:2::1/64"]}
    routes: [10.3.0.0/24 via 10.2.0.2, "fd00:3::/64 via fd00:2::2"]
  r2:
    kind: router
    interfaces: {p0: [10.2.0.2/24, "fd00:2::2/64"], p1: [10.3.0.1/24, "fd00:3::1/64"]}
    routes: [default via 10.2.0.1, "default via fd00:2::1"]
  h2:
    kind: host
    interfaces: {eth0: [10.3.0.2/24, "fd00:3::2/64"]}
    routes: [default via 10.3.0.1, "default via fd00:3::1"]
links:
  - [h1:eth0, r:p0]
  - {ends: [r:p1, r2:p0], mtu: 1400}
  - [r2:p1, h2:eth0]
"""


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(CHAIN, kind)
    assert_reaches(lab["h1"], "10.3.0.2")
    assert_reaches(lab["h1"], "fd00:3::2")
    return lab


def hops(lab, family: str, target: str, extra: str = "") -> list[str]:
    said = lab["h1"].run(f"traceroute {family} -n -q 1 -w 1 -m 6 {extra} {target}")
    return [line.split()[1] for line in said.splitlines()[1:]]


@pytest.mark.parametrize("extra", ["", "-I"])
def test_traceroute_shows_every_hop(lab, extra):
    eventually(lambda: hops(lab, "-4", "10.3.0.2", extra) == ["10.1.0.1", "10.2.0.2", "10.3.0.2"], 10,
               lambda: f"IPv4 hops: {hops(lab, '-4', '10.3.0.2', extra)}")
    eventually(lambda: hops(lab, "-6", "fd00:3::2", extra) == ["fd00:1::1", "fd00:2::2", "fd00:3::2"], 10,
               lambda: f"IPv6 hops: {hops(lab, '-6', 'fd00:3::2', extra)}")


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


def test_tcp_carries_a_file(lab):
    """20 MB, and every byte is compared by its digest."""
    take = ("import socket,hashlib;s=socket.create_server(('10.3.0.2',5201));print('ready',flush=True);c=s.accept()[0];"
            "h=hashlib.sha256();[h.update(d) for d in iter(lambda:c.recv(65536),b'')];print(h.hexdigest())")
    give = ("import socket,hashlib,random;d=random.Random(1).randbytes(20_000_000);"
            "c=socket.create_connection(('10.3.0.2',5201),10);c.sendall(d);c.close();print(hashlib.sha256(d).hexdigest())")
    server = lab["h2"].popen([sys.executable, "-c", take], stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"ready\n"
    sent = lab["h1"].run([sys.executable, "-c", give], timeout_s=60)
    assert server.communicate(timeout=120)[0].decode() == sent


@pytest.mark.parametrize("target", ["10.3.0.2", "fd00:3::2", "10.1.0.1", "fd00:1::1"])
def test_fragments_of_the_sender_pass(lab, target):
    """Through the router, and to the router itself."""
    lab["h1"].ip("route flush cache")
    pings(lab["h1"], target, 2, 0.02, "--size", "3000")   # both ends learn the path's MTU for IPv6
    assert_no_loss(lab["h1"], target, 5, "--size", "3000")
