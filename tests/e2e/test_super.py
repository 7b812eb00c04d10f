# SPDX-License-Identifier: BSD-3-Clause
"""Super-packets: hosts that leave segmentation and checksums to a card, which a veth does not have."""
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pcapng
from kamuee.lab import measure

from support import Router, assert_reaches, eventually, two_hosts

LAB = two_hosts(interfaces=["p2: []", "v40: {vlan: 40, port: p2, addresses: [10.40.0.1/24]}"], nodes="  tagged: $VLAN(40)",
                links=["tagged:eth0, r:p2"])
GUEST = """
nodes:
  h1: $HOST4(1)
  r1:
    kind: kamuee
    interfaces: {p0: [10.1.0.1/24]}
  r2:
    kind: kamuee
    interfaces: {p0: [10.2.0.1/24]}
  h2: $HOST4(2)
links:
  - [h1:eth0, r1:p0]
  - [r2:p0, h2:eth0]
"""
KAMUEE = str(Path(__file__).resolve().parents[2] / "kamuee")
SERVER = """import hashlib, json, socket, sys
s = socket.create_server((sys.argv[1], 7001), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
print("listens", flush=True)
c, _ = s.accept()
seen, n = hashlib.sha256(), 0
while data := c.recv(1 << 20):
    seen.update(data)
    n += len(data)
print(json.dumps([n, seen.hexdigest()]), flush=True)
"""
CLIENT = """import socket, sys
c = socket.create_connection((sys.argv[1], 7001))
for k in range(int(sys.argv[2])):
    c.sendall(bytes([k % 251]) * 1000003)
c.close()
"""
# Frames with a virtio header (linux/virtio_net.h) of any type, lengths and offsets. Linux takes those that it understands.
ODD_HEADERS = """import random, socket, struct, sys
from scapy.all import Ether, IP, IPv6, TCP, UDP, Raw, raw
mac, n, dice = sys.argv[1], int(sys.argv[2]), random.Random(int(sys.argv[3]))
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(("eth0", 0))
s.setsockopt(263, 15, 1)    # SOL_PACKET, PACKET_VNET_HDR
frames = [bytearray(raw(Ether(dst=mac) / ip / l4 / Raw(bytes(size))))
          for ip in (IP(src="10.1.0.2", dst="10.2.0.2", ttl=9), IPv6(src="fd00:1::2", dst="fd00:2::2"))
          for l4 in (TCP(sport=7003, dport=7004, flags="A"), UDP(sport=7003, dport=7004))
          for size in (9, 3000, 20000)]
taken = 0
for k in range(n):
    frame = bytearray(dice.choice(frames))
    for _ in range(dice.choice((0, 0, 1, 3))):
        frame[dice.randrange(12, 74 if len(frame) > 74 else len(frame))] = dice.randrange(256)
    six = frame[12] == 0x86
    l4, udp = 54 if six else 34, frame[20 if six else 23] == 17
    fields = [1, 5 if udp else 4 if six else 1, l4 + (8 if udp else 20), 1448, l4, 6 if udp else 16]
    for _ in range(dice.choice((0, 1, 1, 2))):
        at = dice.randrange(6)
        odd = ((0, 2, 5), (0, 1, 3, 4, 5, 0x81, 0x84), (0, 20), (0, 1, 3, 48), (0, 14, 40), (0, 5, 7))[at]
        fields[at] = dice.choice((*odd, dice.randrange(256 if at < 2 else 65536)))
    header = struct.pack("<BBHHHH", *fields)
    try:
        s.send(header + frame)
        taken += 1
    except OSError:
        pass
print(taken)
"""
HEADERS = int(os.environ.get("SUPER_HEADERS", "20000"))
MEGABYTES = 40
DATA = hashlib.sha256(b"".join(bytes([k % 251]) * 1000003 for k in range(MEGABYTES))).hexdigest()


@pytest.fixture(scope="module")
def hosts(lab):
    assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::2", "10.40.0.2")
    return lab


@pytest.fixture
def router(hosts):
    return Router(hosts["r"])


def listening(lab, host: str, *program: str) -> subprocess.Popen:
    """A Python program with its arguments, which has said that it listens."""
    server = subprocess.Popen(lab[host].namespace.argv(["python3", "-c", *program]), stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "listens\n"
    return server


def transfer(lab, source: str, sink: str, target: str) -> None:
    """Arrives unchanged: the receiver has verified each checksum."""
    server = listening(lab, sink, SERVER, target)
    lab[source].run(["python3", "-c", CLIENT, target, str(MEGABYTES)], timeout_s=60)
    assert json.loads(server.stdout.readline()) == [MEGABYTES * 1000003, DATA]
    server.wait(10)


def interface(router: Router, name: str) -> dict:
    return router.named("interface", name)["statistics"]


def counted(lab, host: str, direction: str) -> tuple[int, int]:
    """Packets and bytes as the host's device counts them: a super-packet is one."""
    link = json.loads(lab[host].run("ip -s -j link show eth0"))[0]["stats64"][direction]
    return link["packets"], link["bytes"]


def sent(lab, host: str) -> tuple[int, int]:
    return counted(lab, host, "tx")


def received(lab, host: str) -> tuple[int, int]:
    return counted(lab, host, "rx")


def retransmitted(lab, host: str) -> int:
    said = lab[host].run("nstat -asz TcpRetransSegs")
    return int(re.search(r"TcpRetransSegs\s+(\d+)", said)[1])


@pytest.mark.parametrize("source, sink, target", [("h1", "h2", "10.2.0.2"), ("h1", "h2", "fd00:2::2"), ("h2", "h1", "10.1.0.2"),
                                                  ("h1", "tagged", "10.40.0.2"), ("tagged", "h2", "10.2.0.2")])
def test_tcp_arrives_unchanged_in_few_packets(hosts, router, source, sink, target):
    before, bursts = sent(hosts, source), interface(router, "p1")["tx-packets"]
    transfer(hosts, source, sink, target)
    packets, octets = (now - then for now, then in zip(sent(hosts, source), before))
    assert octets / packets > 4000, "they are super-packets"
    assert router.dropped("offload_cut") == 0 and bursts <= interface(router, "p1")["tx-packets"]
    router.assert_ledger()


def test_interfaces_count_segments(hosts, router):
    before = interface(router, "p0")["rx-packets"], interface(router, "p1")["tx-packets"]
    transfer(hosts, "h1", "h2", "10.2.0.2")
    least = MEGABYTES * 1000003 // 1448
    came, left = interface(router, "p0")["rx-packets"] - before[0], interface(router, "p1")["tx-packets"] - before[1]
    assert came >= least and left >= least, (came, left, least)
    assert came < 1.5 * least + retransmitted(hosts, "h1"), (came, least)


def test_a_capture_shows_segments(hosts, router, tmp_path):
    file = tmp_path / "seen.pcapng"
    capturing = subprocess.Popen([sys.executable, KAMUEE, "--socket", str(hosts["r"].socket), "capture", "port", "p0", "count", "500", "write",
                                  str(file)], stderr=subprocess.PIPE)
    eventually(lambda: router.entries("capture"), what="it captures")
    transfer(hosts, "h1", "h2", "10.2.0.2")
    assert not capturing.wait(30)
    lengths = [len(frame.data) for frame in pcapng.read(file)]
    assert max(lengths) == 1514, lengths
    router.assert_ledger()


@pytest.mark.parametrize("line, undo", [("set interface p0 urpf ipv4 loose", "delete interface p0 urpf"),
                                        ("set port p1 queue rate 1G", "delete port p1 queue")])
def test_what_looks_at_packets_sees_segments(hosts, router, line, undo):
    router.configure(line)
    try:
        transfer(hosts, "h1", "h2", "10.2.0.2")
        router.assert_ledger()
    finally:
        router.configure(undo)


def test_several_receive_queues_divide_the_flows(hosts, router):
    router.configure("set port p0 rx-queues 2")
    try:
        assert_reaches(hosts["h1"], "10.2.0.2")
        before = interface(router, "p0")["rx-packets"]
        for _ in range(3):
            transfer(hosts, "h1", "h2", "10.2.0.2")
        assert interface(router, "p0")["rx-packets"] > before
        router.assert_ledger()
    finally:
        router.configure("delete port p0 rx-queues")


@pytest.mark.parametrize("target", ["10.2.0.2", "fd00:2::2"])
def test_segments_of_a_host_without_offloads_are_joined(hosts, router, target):
    hosts["h1"].run("ethtool -K eth0 tx off tso off gso off")
    try:
        before = received(hosts, "h2")
        transfer(hosts, "h1", "h2", target)
        packets, octets = (now - then for now, then in zip(received(hosts, "h2"), before))
        assert octets / packets > 2000, "some segments came together"
        router.assert_ledger()
    finally:
        hosts["h1"].run("ethtool -K eth0 tx on tso on gso on")


def test_path_mtu_is_discovered_through_super_packets(hosts, router):
    router.configure("set port p1 mtu 1400")
    try:
        before = router.dropped("ip4_too_big")
        transfer(hosts, "h1", "h2", "10.2.0.2")
        assert router.dropped("ip4_too_big") > before
        transfer(hosts, "h1", "h2", "fd00:2::2")
        router.assert_ledger()
    finally:
        router.configure("set port p1 mtu 1500")
        hosts["h1"].run("ip route flush cache")
        hosts["h1"].run("ip -6 route flush cache")


def test_udp_segments_of_one_call_arrive(hosts, router):
    sender = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(17, 103, 1000); "
              "[s.sendto(bytes(40 * 1000), ('10.2.0.2', 7002)) for _ in range(20)]")
    receiver = ("import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(1, 33, 8 << 20); s.bind(('', 7002)); "
                "print('listens', flush=True); s.settimeout(10); print(sum(len(s.recv(2000)) == 1000 for _ in range(800)), flush=True)")
    server = listening(hosts, "h2", receiver)
    hosts["h1"].run(["python3", "-c", sender])
    assert int(server.stdout.readline()) == 800
    server.wait(10)
    router.assert_ledger()


def test_a_host_s_own_tunnel_is_cut(hosts, router):
    """Linux puts the inner segments of VXLAN into one super-packet, too."""
    for host, own, far, inner in (("h1", "10.1.0.2", "10.2.0.2", "10.77.0.1/24"), ("h2", "10.2.0.2", "10.1.0.2", "10.77.0.2/24")):
        hosts[host].run(f"ip link add vx0 type vxlan id 7 dstport 4789 local {own} remote {far}")
        hosts[host].run(f"ip addr add {inner} dev vx0")
        hosts[host].run("ip link set vx0 up")
    try:
        assert_reaches(hosts["h1"], "10.77.0.2")
        transfer(hosts, "h1", "h2", "10.77.0.2")
        assert router.dropped("offload_cut") == 0
        router.assert_ledger()
    finally:
        for host in ("h1", "h2"):
            hosts[host].run("ip link del vx0")


def test_any_virtio_header_ends_in_a_packet_or_a_counted_loss(hosts, router):
    mac = json.loads(hosts["r"].run("ip -j link show dev p0"))[0]["address"]
    before = interface(router, "p0")["rx-packets"]
    sender = [sys.executable, "-c", ODD_HEADERS, mac, str(HEADERS), str(random.randrange(1 << 30))]
    taken = int(hosts["h1"].run(sender, timeout_s=60 + HEADERS / 2000).split()[-1])
    print(f"{taken} of {HEADERS} headers were taken by Linux")
    assert taken > HEADERS / 10
    eventually(lambda: interface(router, "p0")["rx-packets"] - before > taken / 2)
    router.assert_ledger()
    transfer(hosts, "h1", "h2", "10.2.0.2")


def test_ledger_at_the_end(hosts, router):
    eventually(lambda: measure.client(hosts["r"]).state("ledger")["imbalance"] == 0)


@pytest.fixture(scope="module")
def guest(labs, kamueed):
    """Router r2 in a virtual machine, as far as its card can tell; r1 is on its host."""
    return labs(GUEST)


@pytest.mark.parametrize("tso", [True, False])
def test_super_packets_reach_a_guest_and_leave_it_if_its_host_takes_them(guest, tmp_path, tso):
    r1, r2, path = guest["r1"], guest["r2"], tmp_path / "vhost"
    Router(r1).configure(f"set port v0 devargs net_vhost0,iface={path},tso={int(tso)}")
    Router(r2).configure(f"set port v0 devargs net_virtio_user0,path={path},queues=1")
    try:
        r1.ip("addr add 10.9.0.1/24 dev v0")
        r2.ip("addr add 10.9.0.2/24 dev v0")
        r1.ip("route add 10.2.0.0/24 via 10.9.0.2")
        r2.ip("route add 10.1.0.0/24 via 10.9.0.1")
        assert_reaches(guest["h1"], "10.2.0.2")
        for source, sink, target, router in (("h1", "h2", "10.2.0.2", r2), ("h2", "h1", "10.1.0.2", r1)):
            before = device(router)["rx-packets"], interface(Router(router), "v0")["rx-packets"]
            transfer(guest, source, sink, target)
            frames, segments = device(router)["rx-packets"] - before[0], interface(Router(router), "v0")["rx-packets"] - before[1]
            assert segments >= MEGABYTES * 1000003 // 1448
            assert segments > 3 * frames if tso or router is r2 else segments == frames, (segments, frames)
        for router in (r1, r2):
            assert Router(router).dropped("offload_cut") == 0
            Router(router).assert_ledger()
    finally:
        Router(r2).configure("delete port v0")
        Router(r1).configure("delete port v0")


def device(router) -> dict:
    """Counters of the card, which count super-packets."""
    return Router(router).named("port", "v0")["statistics"]
