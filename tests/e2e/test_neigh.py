# SPDX-License-Identifier: BSD-3-Clause
"""Neighbors that change: gratuitous ARP, unsolicited NA, moves, duplicate address detection, aging, an address scan.

Hosts made by hand: the test answers ARP and ND itself, with the MAC it likes. Linux is the oracle: each test runs on it, too.
"""
import random
import socket
import struct
import time

import pytest

from kamuee.lab import measure
from kamuee.lab.nodes import BaseNode

from support import Pinging, assert_reaches, eventually
from wire import Wire

LAB = """
nodes:
  left: {kind: host}
  right: {kind: host}
  source: $HOST(3)
  target: $HOST(4)
  r:
    kind: $ROUTER
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/16, "fd00:2::1/64"]
      p2: [10.3.0.1/24, "fd00:3::1/64"]
      p3: [10.4.0.1/24, "fd00:4::1/64"]
links:
  - [left:eth0, r:p0]
  - [right:eth0, r:p1]
  - [source:eth0, r:p2]
  - [target:eth0, r:p3]
"""
MAC_A, MAC_B, MAC_C = (bytes.fromhex(f"0200000000{last}") for last in ("aa", "bb", "cc"))
BROADCAST, ALL_NODES = b"\xff" * 6, bytes.fromhex("333300000001")


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(LAB, kind)
    for host in ("left", "right"):
        lab[host].namespace.sysctl({"net.ipv6.conf.all.disable_ipv6": "1"})      # the test is the host
    return lab


@pytest.fixture
def wires(lab):
    wires = {name: Wire(lab[name]) for name in ("left", "right", "source")}
    yield wires
    for wire in wires.values():
        wire.close()


# --- frames ---

def is_v6(address: str) -> bool:
    return ":" in address


def packed(address: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if is_v6(address) else socket.AF_INET, address)


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def ipv6(source: str, target: str, proto: int, payload: bytes, hop_limit: int = 64) -> bytes:
    return struct.pack("!IHBB", 6 << 28, len(payload), proto, hop_limit) + packed(source) + packed(target) + payload


def icmp6(source: str, target: str, body: bytes) -> bytes:
    pseudo = packed(source) + packed(target) + struct.pack("!II", len(body), 58)
    return ipv6(source, target, 58, body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:], 255)


def datagram(router_mac: bytes, source: str, target: str) -> bytes:
    udp = struct.pack("!HHHH", 4000, 9, 16, 0) + bytes(8)
    if is_v6(target):
        pseudo = packed(source) + packed(target) + struct.pack("!II", len(udp), 17)
        udp = udp[:6] + struct.pack("!H", checksum(pseudo + udp)) + udp[8:]
        return router_mac + MAC_C + b"\x86\xdd" + ipv6(source, target, 17, udp)
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, packed(source), packed(target))
    return router_mac + MAC_C + b"\x08\x00" + header[:10] + struct.pack("!H", checksum(header)) + header[12:] + udp


def arp(op: int, mac: bytes, address: str, target: str, to: bytes = BROADCAST) -> bytes:
    return (to + mac + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, op) + mac + packed(address)
            + (mac if op == 2 else bytes(6)) + packed(target))


def advertisement(mac: bytes, address: str, to_mac: bytes = ALL_NODES, to: str = "ff02::1", flags: int = 0x20) -> bytes:
    body = struct.pack("!BBHI", 136, 0, 0, flags << 24) + packed(address) + b"\x02\x01" + mac
    return to_mac + mac + b"\x86\xdd" + icmp6(address, to, body)


def solicitation(mac: bytes, target: str, source: str = "::") -> bytes:
    """Duplicate address detection, as long as there is no source."""
    low = packed(target)[13:]
    group = socket.inet_ntop(socket.AF_INET6, bytes.fromhex("ff0200000000000000000001ff") + low)
    body = struct.pack("!BBHI", 135, 0, 0, 0) + packed(target) + (b"" if source == "::" else b"\x01\x01" + mac)
    return b"\x33\x33\xff" + low + mac + b"\x86\xdd" + icmp6(source, group, body)


def asked_for(frame: bytes) -> str | None:
    """The address that an ARP request or a neighbor solicitation asks for."""
    if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\x00\x01":
        return socket.inet_ntoa(frame[38:42])
    if frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == 135:
        return socket.inet_ntop(socket.AF_INET6, frame[62:78])
    return None


def answer(frame: bytes, mac: bytes, address: str) -> bytes:
    if is_v6(address):
        return advertisement(mac, address, frame[6:12], socket.inet_ntop(socket.AF_INET6, frame[22:38]), 0x60)
    return arp(2, mac, address, socket.inet_ntoa(frame[28:32]), frame[6:12])


# --- the router's view ---

def router_mac(lab, interface: str) -> bytes:
    return bytes.fromhex(lab["r"].ip_json(f"link show dev {interface}")[0]["address"].replace(":", ""))


def source_of(target: str) -> str:
    return "fd00:3::2" if is_v6(target) else "10.3.0.2"


def next_to(lab, wires, target: str, at: str, mac: bytes, within_s: float = 10, answers: bool = True) -> float:
    """Sends to `target` until a datagram leaves by `at` for `mac`; how long that took. Answers for it, when asked to."""
    begun = time.monotonic()
    packet = datagram(router_mac(lab, "p2"), source_of(target), target)
    seen = set()
    while time.monotonic() < begun + within_s:
        wires["source"].send(packet)
        while frame := wires[at].take(time.monotonic() + 0.005):
            if asked_for(frame) == target and answers:
                wires[at].send(answer(frame, mac, target))
            if is_datagram(frame, target):
                seen.add(frame[:6].hex())
                if frame[:6] == mac:
                    return time.monotonic() - begun
    raise AssertionError(f"no datagram for {target} left for {mac.hex()} within {within_s} s, but for {seen or 'nobody'}")


def is_datagram(frame: bytes, target: str) -> bool:
    if is_v6(target):
        return frame[12:14] == b"\x86\xdd" and frame[20] == 17 and frame[38:54] == packed(target)
    return frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[30:34] == packed(target)


ANNOUNCED = {
    "ARP request": ("10.1.0.50", lambda mac: arp(1, mac, "10.1.0.50", "10.1.0.50")),
    "ARP reply": ("10.1.0.51", lambda mac: arp(2, mac, "10.1.0.51", "10.1.0.51")),
    "NA": ("fd00:1::50", lambda mac: advertisement(mac, "fd00:1::50")),
}


@pytest.mark.parametrize("form", [pytest.param(form, marks=pytest.mark.rfc(*("4861", "7.2.5", "MUST") if form == "NA" else ("5227", "3", "SHOULD")))
                                  for form in ANNOUNCED])
def test_an_announcement_moves_a_known_host_at_once(lab, wires, form):
    address, announcement = ANNOUNCED[form]
    next_to(lab, wires, address, "left", MAC_A)
    for mac in (MAC_B, MAC_A):
        wires["left"].send(announcement(mac))
        next_to(lab, wires, address, "left", mac, answers=False)             # nobody else tells the router of this MAC


@pytest.mark.parametrize("form", ANNOUNCED)
def test_an_announcement_of_an_unknown_host_makes_no_entry(lab, wires, form):
    address, announcement = ANNOUNCED[form]
    unknown = address.replace("5", "6")
    wires["left"].send(announcement(MAC_B).replace(packed(address), packed(unknown)) if not is_v6(address)
                       else advertisement(MAC_B, unknown))
    wires["left"].send(arp(1, MAC_C, "10.1.0.99", "10.1.0.1"))               # answered after what came before it
    eventually(lambda: (frame := wires["left"].take(time.monotonic() + 1)) and frame[:6] == MAC_C, 5, "the router answers")
    assert not lab["r"].namespace.ip_json(f"neigh show {unknown}")


@pytest.mark.parametrize("at_first", ["permanent", "reachable", ""])
@pytest.mark.parametrize("gateway, target, network", [("10.1.0.57", "198.51.100.9", "198.51.100.0/24"),
                                                      ("fd00:1::57", "2001:db8:57::9", "2001:db8:57::/48")])
def test_a_permanent_gateway_keeps_its_mac_whoever_announces_it(lab, wires, gateway, target, network, at_first):
    """Made before the first route by it, while it is in use, or while Linux looks for it."""
    def entry(state: str) -> None:
        lab["r"].namespace.ip(f"neigh replace {gateway} lladdr {MAC_A.hex(':')} dev p0 nud {state}")

    if at_first:
        entry(at_first)
    lab["r"].namespace.ip(f"route add {network} via {gateway}")
    try:
        if at_first:
            next_to(lab, wires, target, "left", MAC_A, answers=False)
        else:
            wires["source"].send(datagram(router_mac(lab, "p2"), source_of(target), target))
            eventually(lambda: (frame := wires["left"].take(time.monotonic() + 1)) and asked_for(frame) == gateway, 10, "Linux looks for it")
        entry("permanent")
        for announcement in [advertisement(MAC_B, gateway)] if is_v6(gateway) else [arp(1, MAC_B, gateway, gateway), arp(2, MAC_B, gateway, gateway)]:
            wires["left"].send(announcement)
        wires["left"].send(arp(1, MAC_C, "10.1.0.99", "10.1.0.1"))           # answered after what came before it
        eventually(lambda: (frame := wires["left"].take(time.monotonic() + 1)) and frame[:6] == MAC_C, 5, "the router answers")
        [kept] = lab["r"].namespace.ip_json(f"neigh show {gateway} dev p0")
        assert (kept["lladdr"], kept["state"]) == (MAC_A.hex(":"), ["PERMANENT"])
        assert all(row.get("mac", MAC_A.hex(":")) == MAC_A.hex(":") for row in neighbors(lab, gateway))
        next_to(lab, wires, target, "left", MAC_A, answers=False)
    finally:
        lab["r"].namespace.ip(f"route del {network}")
        lab["r"].namespace.ip(f"neigh del {gateway} dev p0")


@pytest.mark.parametrize("left, right", [("10.1.0.52", "10.2.0.52"), ("fd00:1::52", "fd00:2::52")])
def test_one_mac_behind_two_interfaces_is_two_neighbors(lab, wires, left, right):
    next_to(lab, wires, left, "left", MAC_A)
    next_to(lab, wires, right, "right", MAC_A)
    next_to(lab, wires, left, "left", MAC_A, answers=False)


@pytest.mark.parametrize("address", ["10.1.0.53", "fd00:1::53"])
def test_a_host_that_moves_to_another_interface_is_found_there(lab, wires, address):
    next_to(lab, wires, address, "left", MAC_A)
    lab["r"].namespace.ip(f"route add {address} dev p1")
    try:
        next_to(lab, wires, address, "right", MAC_A)
        next_to(lab, wires, address, "right", MAC_A, answers=False)
    finally:
        lab["r"].namespace.ip(f"route del {address} dev p1")
    next_to(lab, wires, address, "left", MAC_A)


@pytest.mark.parametrize("others, ours", [pytest.param("fd00:1::54", "fd00:1::1", marks=pytest.mark.rfc("4862", "5.4.3", "MUST")),
                                          ("10.1.0.54", "10.1.0.1")])
def test_duplicate_address_detection_is_answered_for_our_addresses_only(lab, wires, others, ours):
    wire = wires["left"]
    next_to(lab, wires, others, "left", MAC_A)

    def probe(address: str) -> bytes:
        return solicitation(MAC_B, address) if is_v6(address) else arp(1, MAC_B, "0.0.0.0", address)

    def defended(frame: bytes, address: str) -> bool:
        if is_v6(address):
            return frame[12:14] == b"\x86\xdd" and frame[54] == 136 and frame[62:78] == packed(address)
        return frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x02" and frame[28:32] == packed(address)

    def answers(address: str) -> int:
        n, until = 0, time.monotonic() + 1
        wire.send(probe(address))
        while frame := wire.take(until):
            n += defended(frame, address)
        return n

    assert answers(others) == 0
    eventually(lambda: answers(ours) >= 1, 10, "our own address is defended")
    next_to(lab, wires, others, "left", MAC_A, answers=False)          # nor has the probe moved the host


def neighbors(lab, address: str) -> list[dict]:
    if not hasattr(lab["r"], "socket"):
        return lab["r"].namespace.ip_json(f"neigh show {address}")
    return [row for row in measure.client(lab["r"]).entries("neighbor") if row["address"] == address]


@pytest.mark.parametrize("address", ["10.4.0.2", "fd00:4::2"])
def test_an_entry_in_use_is_refreshed_without_loss(lab, address):
    """A reachable time of a second: five or more rounds of reachable, stale, probe."""
    family = "ipv6" if is_v6(address) else "ipv4"
    lab["r"].namespace.sysctl({f"net.{family}.neigh.p3.base_reachable_time_ms": "1000",
                               f"net.{family}.neigh.p3.delay_first_probe_time": "1"})
    lab["r"].namespace.ip("neigh flush dev p3")
    assert_reaches(lab["source"], address)
    pinging = Pinging(lab["source"], address, 0.01)
    time.sleep(8)                                                        # it is time that is under test
    result = pinging.stop(500)
    assert result.lost == 0, result.said


@pytest.mark.parametrize("address", ["10.4.0.2", "fd00:4::2"])
def test_an_entry_that_the_kernel_forgets_goes_and_comes_back_with_the_next_packet(lab, address):
    assert_reaches(lab["source"], address)
    assert neighbors(lab, address)
    lab["r"].namespace.ip(f"neigh del {address} dev p3")
    eventually(lambda: not any(row.get("mac") for row in neighbors(lab, address)), 10, "it is forgotten")
    assert_reaches(lab["source"], address)


def resident_kib(node: BaseNode) -> int:
    pid = node.kamueed_pid()
    return int(next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS")).split()[1])


@pytest.mark.alone                                                       # it fills the kernel's table, which all namespaces share
def test_a_scan_of_a_slash_16_costs_known_hosts_nothing(lab, wires):
    assert_reaches(lab["source"], "10.4.0.2")
    before = resident_kib(lab["r"]) if hasattr(lab["r"], "kamueed_pid") else 0
    mac, rnd = router_mac(lab, "p1"), random.Random(6583)
    pinging = Pinging(lab["source"], "10.4.0.2", 0.01)
    begun = time.monotonic()
    sent = 0
    while time.monotonic() < begun + 6 or sent <= 10000:
        for _ in range(100):
            # from the far side of the scanned net, so that errors about undelivered packets reach no other host
            wires["right"].send(datagram(mac, "10.2.0.77", f"10.2.{rnd.randrange(1, 256)}.{rnd.randrange(256)}"))
        sent += 100
        time.sleep(0.01)
    result = pinging.stop(300)
    if before:                 # Linux loses some here when its table is full
        assert result.lost == 0, result.said
        assert resident_kib(lab["r"]) - before < 32 << 10
        assert {row["name"] for row in measure.client(lab["r"]).entries("drop") if int(row["packets"])} & {"hold_limit", "neigh_failed"}
