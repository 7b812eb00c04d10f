# SPDX-License-Identifier: BSD-3-Clause
"""Sub-interfaces with two VLAN tags: kernel hosts behind 802.1ad and 802.1Q outer tags, frames made by hand, MTU."""
import select
import socket
import struct
import time

import pytest

from kamuee.lab import measure

from support import assert_no_loss, assert_reaches, eventually, received, receiver, send
from wire import Wire, receive

LAB = """
nodes:
  inner:
    kind: host
    vlan: 10
    outer_vlan: 100
    interfaces: {eth0: [10.10.0.2/24, "fd00:10::2/64"]}
    routes: [default via 10.10.0.1 mtu 1500, "default via fd00:10::1 mtu 1500"]
  other:
    kind: host
    vlan: 10
    outer_vlan: 200
    tpid: "0x8100"
    interfaces: {eth0: [10.20.0.2/24, "fd00:20::2/64"]}
    routes: [default via 10.20.0.1 mtu 1500, "default via fd00:20::1 mtu 1500"]
  r:
    kind: kamuee
    interfaces:
      p0: []
      p1: []
      p2: [10.2.0.1/24, "fd00:2::1/64"]
      s100c10: {port: p0, outer_vlan: 100, vlan: 10, addresses: [10.10.0.1/24, "fd00:10::1/64"]}
      q200c10: {port: p1, outer_vlan: 200, tpid: "0x8100", vlan: 10, addresses: [10.20.0.1/24, "fd00:20::1/64"]}
      p3: [10.30.0.1/24]
      one: {port: p3, vlan: 100, addresses: [10.31.0.1/24]}
      two: {port: p3, outer_vlan: 100, vlan: 10, addresses: [10.32.0.1/24]}
    set: [set vport s100c10 mtu 1500, set vport q200c10 mtu 1500]
  bare:
    kind: host
  plain: $HOST(2)
links:
  - {ends: [inner:eth0, r:p0], mtu: 1504}
  - {ends: [other:eth0, r:p1], mtu: 1504}
  - [r:p2, plain:eth0]
  - {ends: [r:p3, bare:eth0], mtu: 1504}
"""
PAIRS = [("inner", "10.10.0.1"), ("inner", "fd00:10::1"), ("inner", "10.2.0.2"), ("inner", "fd00:2::2"),
         ("plain", "10.10.0.2"), ("plain", "fd00:20::2"), ("inner", "10.20.0.2"), ("other", "fd00:10::2")]


@pytest.mark.parametrize("source, target", PAIRS)
def test_hosts_behind_two_tags_reach_all_others(lab, source, target):
    assert_reaches(lab[source], target)
    assert_no_loss(lab[source], target, 100)


@pytest.mark.parametrize("size", [64, 1472])
def test_full_packets_pass_with_both_tags_on_top(lab, size):
    assert_reaches(lab["inner"], "10.20.0.2")
    counting = receiver(lab["other"])
    send(lab["inner"], ["10.20.0.2"], 200, size=size)
    assert received(counting, 200)["distinct"] == 200


def test_the_interface_shows_both_vlans_and_counts(lab):
    client = measure.client(lab["r"])
    before = client.state("interface=s100c10")[0]
    assert (before["outer-vlan"], before["vlan"], before["tpid"]) == (100, 10, "0x88a8")
    assert_no_loss(lab["inner"], "10.2.0.2", 50)
    after = client.state("interface=s100c10")[0]["statistics"]
    assert int(after["rx-packets"]) - int(before["statistics"]["rx-packets"]) >= 50
    assert int(after["tx-packets"]) - int(before["statistics"]["tx-packets"]) >= 50


# --- frames made by hand ---

MAC = bytes.fromhex("020000000077")


class TaggedWire(Wire):
    """Gives received frames with all their tags."""

    def take_for_us(self, until: float) -> bytes | None:
        while (wait_s := until - time.monotonic()) > 0:
            if not select.select([self.sock], [], [], wait_s)[0]:
                return None
            data, _ = receive(self.sock)
            if data[:6] == MAC:
                return data
        return None


@pytest.fixture
def wire(lab):
    wire = TaggedWire(lab["bare"])
    yield wire
    wire.close()


def arp_request(tags: bytes, source: str, target: str) -> bytes:
    return (b"\xff" * 6 + MAC + tags + struct.pack("!HHHBBH", 0x0806, 1, 0x0800, 6, 4, 1) + MAC
            + socket.inet_aton(source) + bytes(6) + socket.inet_aton(target))


def tag(vlan: int, tpid: int = 0x8100, priority: int = 0) -> bytes:
    return struct.pack("!HH", tpid, priority << 13 | vlan)


PAIR = tag(100, 0x88a8) + tag(10)
ANSWERED = {        # the tags of the question: who is asked, the tags of the answer
    "untagged": (b"", "10.30.0.1", b""),
    "priority": (tag(0, priority=5), "10.30.0.1", b""),
    "priority S-tag": (tag(0, 0x88a8, 7), "10.30.0.1", b""),
    "one tag with priority": (tag(100, priority=3), "10.31.0.1", tag(100)),
    "priority tag in front": (tag(0, priority=6) + tag(100), "10.31.0.1", tag(100)),
    "priority tag behind": (tag(100) + tag(0, priority=6), "10.31.0.1", tag(100)),
    "two tags": (PAIR, "10.32.0.1", PAIR),
    "two tags with priorities": (tag(100, 0x88a8, 7) + tag(10, priority=1), "10.32.0.1", PAIR),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_arp_is_answered_by_the_interface_of_the_tags_with_priority_0(wire, name):
    tags, target, expected = ANSWERED[name]

    def answer() -> bytes | None:
        wire.send(arp_request(tags, target[:-1] + "77", target))
        return wire.take_for_us(time.monotonic() + 0.5)

    frame = eventually(answer, 10, f"{target} answers")
    assert frame[12:12 + len(expected)] == expected
    assert frame[12 + len(expected):][:2] == b"\x08\x06"
    assert socket.inet_aton(target) in frame


UNKNOWN = [
    ("vlan_unknown", tag(101, 0x88a8) + tag(10)),
    ("vlan_unknown", tag(7)),
    ("vlan_inner_unknown", tag(100, 0x88a8) + tag(11)),
    ("vlan_inner_unknown", PAIR + tag(1)),
    ("vlan_reserved", tag(0xfff)),
    ("vlan_reserved", tag(100, 0x88a8) + tag(0xfff)),
]


@pytest.mark.parametrize("reason, tags", UNKNOWN)
def test_vlans_nobody_has_are_dropped_by_name(lab, wire, reason, tags):
    client = measure.client(lab["r"])

    def dropped() -> int:
        return sum(int(drop["packets"]) for drop in client.entries("drop") if drop["name"] == reason)

    before = dropped()
    for _ in range(5):
        wire.send(arp_request(tags, "10.32.0.77", "10.32.0.1"))
    eventually(lambda: dropped() == before + 5, 10, f"five frames are dropped as {reason}")


def test_a_pair_of_vlans_can_be_removed_and_added_while_its_outer_vlan_carries_traffic(lab):
    client = measure.client(lab["r"])
    client.call("configure", line=["set vport extra port p1 outer-vlan 200 vlan 11 tpid 0x8100", "delete vport s100c10"])
    eventually(lambda: not lab["r"].namespace.has_link("s100c10"), 30, "the TAP goes with its sub-interface")
    assert_no_loss(lab["other"], "10.2.0.2", 50)
    client.call("configure", line=["delete vport extra", "set vport s100c10 port p0 outer-vlan 100 vlan 10 mtu 1500"])
    lab["r"].set_up_interfaces()
    assert_no_loss(lab["other"], "10.2.0.2", 50)
