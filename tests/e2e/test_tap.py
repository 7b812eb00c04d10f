# SPDX-License-Identifier: BSD-3-Clause
"""Sockets through TAPs: the self-test reports working parts, and finds broken ones."""
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kamuee.lab import measure

from support import Router, assert_reaches, eventually
from wire import Wire

ECHO = str(Path(__file__).with_name("echo.py"))
N_BYTES = 4 << 20
MADE_UP, MADE_UP_MAC = "192.0.0.8", b"\x02kamue"
LAB = """
nodes:
  h1:
    kind: host
    interfaces: {eth0: [10.1.0.2/24, "fd00:1::2/64"]}
  r:
    kind: kamuee
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      v40: {vlan: 40, port: p0, addresses: [10.40.0.1/24], vr: red}
    vrs: {red: {}}
links:
  - [h1:eth0, r:p0]
"""


def sockets_of(lab, **options) -> dict[tuple[str, str, str], str]:
    """(interface, family, socket) -> why it failed, '' when it works."""
    results = measure.client(lab["r"]).call("test-tap", **options)["result"]
    assert all(entry["passed"] == (not entry["reason"]) for entry in results), results
    return {(entry["interface"], entry["family"], entry["socket"]): entry["reason"] for entry in results}


def test_every_kind_of_socket_works_through_every_tap_in_its_namespace(lab):
    wanted = {(interface, family, kind): "" for interface in ("p0", "v40")
              for family in ("ipv4", "ipv6") for kind in ("udp", "tcp", "raw")}
    eventually(lambda: sockets_of(lab) == wanted, 20, "duplicate address detection leaves the link-local addresses")


def test_nothing_of_a_test_is_seen_outside(lab):
    wire = Wire(lab["h1"])
    try:
        assert set(sockets_of(lab, interface="p0").values()) == {""}
        assert_reaches(lab["h1"], "10.1.0.1")          # what was sent before this has arrived
        frames = list(iter(lambda: wire.take(0), None))
    finally:
        wire.close()
    assert frames
    assert not [frame for frame in frames if MADE_UP_MAC in frame or socket.inet_aton(MADE_UP) in frame]


def test_what_the_kernel_eats_is_found(lab):
    lab["r"].namespace.sysctl({"net.ipv4.conf.all.rp_filter": "1", "net.ipv4.conf.p0.rp_filter": "1"})
    try:
        found = sockets_of(lab, interface="p0")
    finally:
        lab["r"].namespace.sysctl({"net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.p0.rp_filter": "0"})
    assert all(found["p0", "ipv4", kind] for kind in ("udp", "tcp", "raw")), found
    # a strict one on p0 is restored to loose, which is the least while "all" has one (docs/features/tap.md)
    assert "rp_filter is loose, and the source has no route; sysctl -w net.ipv4.conf.all.rp_filter=0" in found["p0", "ipv4", "udp"], found
    assert not any(found["p0", "ipv6", kind] for kind in ("udp", "tcp", "raw")), found


def test_the_remedy_that_is_named_helps(lab):
    lab["r"].namespace.sysctl({"net.ipv4.conf.all.rp_filter": "1", "net.ipv4.conf.p0.rp_filter": "1"})
    try:
        reason = sockets_of(lab, interface="p0")["p0", "ipv4", "udp"]
        lab["r"].namespace.run(reason.partition("; ")[2])
        assert not any(sockets_of(lab, interface="p0").values())
    finally:
        lab["r"].namespace.sysctl({"net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.p0.rp_filter": "0"})


def broken_segments(node) -> int:
    """TCP segments with a wrong checksum or header that a kernel has seen so far."""
    said = node.run("nstat -asz TcpInCsumErrors TcpInErrs")
    return sum(int(number) for number in re.findall(r"^TcpIn\w+ +(\d+)", said, re.M))


@pytest.mark.parametrize("address", ["10.1.0.1", "fd00:1::1"])
@pytest.mark.parametrize("switched", ["on", "off"])
def test_tcp_of_the_router_itself_whatever_offloads_are_asked_of_its_tap(lab, address, switched):
    """GSO and GRO are the kernel's own; checksums and TSO it may not leave to a TAP, whoever switches them on."""
    router, host = lab["r"], lab["h1"]
    for offload in ("sg", "tx", "tso", "gso", "gro"):
        router.run(f"ethtool -K p0 {offload} {switched}", check=False)
    features = router.run("ethtool -k p0")
    assert "tcp-segmentation-offload: off" in features and "tx-checksum-ip-generic: off" in features, features
    before = broken_segments(router) + broken_segments(host)
    server = router.popen([sys.executable, ECHO, "serve", "7300"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdout.readline().strip() == b"ready"
    assert int(host.run([sys.executable, ECHO, "send", address, "7300", str(N_BYTES)], timeout_s=120)) == N_BYTES
    assert server.wait(10) == 0
    assert broken_segments(router) + broken_segments(host) == before


# --- an MTU below IPv6's least ---

def kernel_interface(lab):
    """Linux's IPv6 state of the interface below the port: its switch, its addresses."""
    wire = lab["r"].wire
    return (wire.run("cat /proc/sys/net/ipv6/conf/wp0/disable_ipv6", check=False).strip(),
            wire.run("ip -6 -o addr show dev wp0").strip())


@pytest.fixture
def narrow(lab):
    router = Router(lab["r"])
    lab["h1"].ip("link set eth0 mtu 1200")
    router.configure("set port p0 mtu 1200")
    yield router
    router.configure("delete port p0 mtu")
    for line in ("link set eth0 mtu 1500", "addr add fd00:1::2/64 dev eth0 nodad"):
        lab["h1"].ip(line)


def test_a_port_with_less_than_1280_keeps_what_ipv6_has(lab, narrow):
    namespace = lab["r"].namespace
    assert "fd00:1::1/64" in namespace.ip("-6 addr show dev p0") and "mtu 1280" in namespace.ip("link show p0")
    eventually(lambda: re.search("mtu ?= ?1200", namespace.run("ping -c 2 -i 0.2 -W 2 -M do -s 1173 10.1.0.2", check=False)), 20, "the kernel learns it")
    eventually(lambda: namespace.run("ping -c 1 -W 1 -s 1252 10.1.0.2", check=False).count(" 0% packet loss"), 20, "in pieces")
    narrow.configure("set port p0 mtu 1400")
    assert "fd00:1::1/64" in namespace.ip("-6 addr show dev p0") and "mtu 1400" in namespace.ip("link show p0")
    assert kernel_interface(lab) == ("1", "")
    eventually(lambda: "tentative" not in namespace.ip("-6 addr show dev p0"), 20, "its link-local address is no duplicate")


@pytest.mark.parametrize("how", ["ip link set wp0 mtu 1200; ip link set wp0 mtu 1500", "sysctl -qw net.ipv6.conf.all.disable_ipv6=0",
                                 "sysctl -qw net.ipv6.conf.wp0.disable_ipv6=0"])
def test_ipv6_of_the_kernel_interface_stays_off(lab, how):
    lab["r"].wire.run(["sh", "-c", how])
    eventually(lambda: kernel_interface(lab) == ("1", ""), 20, lambda: f"{kernel_interface(lab)}")
    assert lab["r"].wire.run("cat /proc/sys/net/ipv4/conf/wp0/arp_ignore").strip() == "8"
