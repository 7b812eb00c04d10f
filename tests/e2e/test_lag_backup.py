# SPDX-License-Identifier: BSD-3-Clause
"""Active-backup: a LAG whose other end is a switch that knows nothing of it.

    h1 -- p0 r lag0 {p1, p2} ==== sw (a bridge) -- h2
"""
import collections
import json
import struct
import time

import pytest

from kamuee.lab import measure

from support import Pinging, Router, assert_no_loss, assert_reaches, bridge, eventually
from wire import in_namespace, packet_socket

LAB = """
nodes:
  h1: $HOST(1)
  r:
    kind: kamuee
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: []
      p2: []
      lag0: {members: [p1, p2], addresses: [10.2.0.1/24, "fd00:2::1/64"]}
      v7: {vlan: 7, port: lag0, addresses: [10.7.0.1/24]}
    set: [set port lag0 lag mode active-backup, set port lag0 lag primary p1]
  sw: {kind: host, interfaces: {eth0: [], eth1: [], eth2: []}}
  h2: $HOST(2)
links:
  - [h1:eth0, r:p0]
  - [r:p1, sw:eth0]
  - [r:p2, sw:eth1]
  - [sw:eth2, h2:eth0]
"""
TARGETS = ("10.2.0.2", "fd00:2::2")
INTERVAL_S, ALLOWED_S = 0.005, 1.0
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID = 263, 8, 0x10


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    bridge(lab["sw"], "eth0", "eth1", "eth2")
    eventually(lambda: statuses(lab) == {"p1": "active", "p2": "standby"}, 20, lambda: str(lag(lab)))
    assert_reaches(lab["h1"], *TARGETS)
    return lab


def lag(lab) -> dict:
    return measure.client(lab["r"]).state("lag=lag0")[0]


def statuses(lab) -> dict[str, str]:
    return {member["name"]: member["status"] for member in lag(lab)["member"]}


def cable(lab, port: str, status: str) -> None:
    lab["r"].wire.ip(f"link set dev w{port} {status}")


def learned(lab) -> str:
    """The port by which the switch reaches the LAG."""
    mac = lag(lab)["mac"]
    return next((entry["ifname"] for entry in json.loads(lab["sw"].run("bridge -j fdb show br br0")) if entry["mac"] == mac and not entry.get("state")), "")


def test_one_member_is_in_use_and_the_other_stands_by(lab):
    state = lag(lab)
    assert (state["status"], state["mode"], state["active-members"], state["primary"]) == ("up", "active-backup", 1, "p1")
    assert [member.get("reason") for member in state["member"]] == [None, "standby"]
    assert not any("lacp" in member for member in state["member"])
    for target in TARGETS:
        assert_no_loss(lab["h1"], target, 50)


def test_the_other_takes_over_and_says_so_and_the_primary_comes_back(lab):
    for port, sw_port, is_then in (("p1 down", "eth1", {"p1": "inactive", "p2": "active"}), ("p1 up", "eth0", {"p1": "active", "p2": "standby"})):
        switch = in_namespace(lab["sw"].namespace.name, lambda sw_port=sw_port: packet_socket(sw_port))
        switch.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        streams = [Pinging(lab["h1"], target, INTERVAL_S) for target in TARGETS]
        time.sleep(0.3)
        cable(lab, *port.split())
        eventually(lambda is_then=is_then: statuses(lab) == is_then, 5, lambda: str(lag(lab)), 0.01)
        time.sleep(1.5)                                              # a second announcement follows after one
        for result in [stream.stop() for stream in streams]:
            assert result.lost * INTERVAL_S < ALLOWED_S, result.said
        mac, rarps = bytes.fromhex(lag(lab)["mac"].replace(":", "")), collections.Counter()
        # from the LAG's interface and the one of its VLAN; a busy machine may be late with the second
        eventually(lambda: rarps.update(announced(switch)) or rarps == {(mac, 0): 2, (mac, 7): 2}, 10, lambda: str(rarps))  # noqa: B023
        switch.close()
        assert learned(lab) == sw_port
        for target in TARGETS:
            assert_no_loss(lab["h1"], target, 50)


def announced(switch) -> dict[tuple[bytes, int], int]:
    """{(source, VLAN): how many} of the RARP requests that a socket has got."""
    found: dict[tuple[bytes, int], int] = {}
    switch.settimeout(0.1)
    while True:
        try:
            frame, more, _, _ = switch.recvmsg(2048, 64)
        except TimeoutError:
            return found
        if frame[12:14] == b"\x80\x35":
            assert frame[:6] == b"\xff" * 6
            status, vlan = struct.unpack_from("=I12xH", more[0][2])   # Linux has taken the tag off
            key = frame[6:12], vlan if status & VLAN_VALID else 0
            found[key] = found.get(key, 0) + 1


def test_without_a_primary_the_one_in_use_stays(lab):
    Router(lab["r"]).configure("delete port lag0 lag primary")
    cable(lab, "p1", "down")
    eventually(lambda: statuses(lab) == {"p1": "inactive", "p2": "active"}, 5, lambda: str(lag(lab)))
    cable(lab, "p1", "up")
    eventually(lambda: statuses(lab)["p1"] == "standby", 5, lambda: str(lag(lab)))
    assert statuses(lab)["p2"] == "active"
    Router(lab["r"]).configure("set port lag0 lag primary p1")       # live
    eventually(lambda: statuses(lab) == {"p1": "active", "p2": "standby"}, 5, lambda: str(lag(lab)))
    for target in TARGETS:
        assert_no_loss(lab["h1"], target, 50)


def test_without_any_member_it_is_down(lab):
    for port in ("p1", "p2"):
        cable(lab, port, "down")
    eventually(lambda: lag(lab)["status"] == "down", 5, lambda: str(lag(lab)))
    assert set(statuses(lab).values()) == {"inactive"}
    eventually(lambda: "LOWER_UP" not in lab["r"].ip("link show dev lag0"), 5, "Linux sees it, too")
    cable(lab, "p2", "up")
    eventually(lambda: lag(lab)["status"] == "up" and statuses(lab)["p2"] == "active", 5, lambda: str(lag(lab)))
    lab["r"].ip('addr replace fd00:2::1/64 dev lag0 nodad')          # which Linux took away
    assert_reaches(lab["h1"], *TARGETS)
    cable(lab, "p1", "up")
    eventually(lambda: statuses(lab) == {"p1": "active", "p2": "standby"}, 5, lambda: str(lag(lab)))


def test_frames_that_come_by_the_other_are_dropped(lab):
    before = measure.client(lab["r"]).entries("drop")
    backup = in_namespace(lab["sw"].namespace.name, lambda: packet_socket("eth1"))
    mac = bytes.fromhex(lag(lab)["mac"].replace(":", ""))
    for _ in range(5):
        backup.send(mac + bytes.fromhex("020000000099") + b"\x08\0" + bytes(46))
    backup.close()

    def count(drops) -> int:
        return next((int(drop["packets"]) for drop in drops if drop["name"] == "lag_inactive"), 0)
    eventually(lambda: count(measure.client(lab["r"]).entries("drop")) >= count(before) + 5, 10, "they are dropped by their reason")
