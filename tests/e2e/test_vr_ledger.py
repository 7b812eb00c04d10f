# SPDX-License-Identifier: BSD-3-Clause
"""Each virtual router's own drops and ledger: two of them drop for different reasons, one sends by the other's interface."""
import json
import subprocess
import sys

from support import Router, assert_no_loss, assert_reaches, eventually, ping, received, receiver, send
from test_capture import KAMUEE

LAB = """
nodes:
  h1: {kind: host, interfaces: {eth0: [10.1.0.2/24, "fd00:1::2/64"]}, routes: [default via 10.1.0.1, "default via fd00:1::1"]}
  h2: {kind: host, interfaces: {eth0: [10.2.0.2/24, "fd00:2::2/64"]}, routes: [default via 10.2.0.1, "default via fd00:2::1"]}
  h3: {kind: host, interfaces: {eth0: [10.3.0.2/24, "fd00:3::2/64"]}, routes: [default via 10.3.0.1, "default via fd00:3::1"]}
  h4: {kind: host, interfaces: {eth0: [10.4.0.2/24, "fd00:4::2/64"]}, routes: [default via 10.4.0.1, "default via fd00:4::1"]}
  r:
    kind: kamuee
    vrs: {red: {}, blue: {}}
    interfaces:
      p0: {vr: red, addresses: [10.1.0.1/24, "fd00:1::1/64"]}
      p1: {vr: red, addresses: [10.2.0.1/24, "fd00:2::1/64"]}
      p2: {vr: blue, addresses: [10.3.0.1/24, "fd00:3::1/64"]}
      p3: {vr: blue, addresses: [10.4.0.1/24, "fd00:4::1/64"]}
links: [[h1:eth0, r:p0], [h2:eth0, r:p1], [h3:eth0, r:p2], [h4:eth0, r:p3]]
"""


def vrs(router: Router) -> dict[str, dict]:
    return {vr["name"]: vr for vr in router.entries("vr")}


def reasons(vr: dict) -> dict[str, int]:
    return {drop["name"]: drop["packets"] for drop in vr.get("drop", ())}


def assert_sound(router: Router) -> dict[str, dict]:
    """Every ledger balances with its reasons, and the reasons of all add up to the router's."""
    def sound() -> dict | None:
        found, every = vrs(router), {drop["name"]: drop["packets"] for drop in router.entries("drop") if drop["packets"]}
        total: dict[str, int] = {}
        for vr in found.values():
            assert vr["ledger"]["imbalance"] == 0 and vr["ledger"]["drops"] == sum(reasons(vr).values()), vr["ledger"]
            for name, packets in reasons(vr).items():
                total[name] = total.get(name, 0) + packets
        assert total == every, (total, every)
        return found
    return eventually(sound, 10, lambda: json.dumps({name: [vr["ledger"], reasons(vr)] for name, vr in vrs(router).items()}))


def test_each_sees_its_own_reasons(lab, router):
    router.configure("set acl quiet rule 10 deny icmp", "set acl quiet default permit", "set interface p2 acl in quiet",
                     "set policer slow cir 8k cbs 11000 ebs 0", "set interface p2 police in slow")
    assert_reaches(lab["h1"], "10.2.0.2")
    before = {name: reasons(vr) for name, vr in vrs(router).items()}
    send(lab["h1"], ["203.0.113.1"], 40)
    ping(lab["h1"], "10.2.0.2", count=5, extra="-t 1")
    ping(lab["h3"], "10.4.0.2", count=3)
    sink = receiver(lab["h4"])              # or h4 answers "port unreachable", and h3's socket refuses a packet for each answer
    send(lab["h3"], ["10.4.0.2"], 60, size=1000)

    def more() -> dict[str, dict[str, int]]:
        found = {name: {reason: n - before[name].get(reason, 0) for reason, n in reasons(vr).items()} for name, vr in vrs(router).items()}
        return {name: {reason: n for reason, n in of.items()
                       if n and reason in ("ip4_no_route", "ip4_ttl", "acl_denied", "policed_in")} for name, of in found.items()}
    eventually(lambda: more()["red"] == {"ip4_no_route": 40, "ip4_ttl": 5} and not more()["default"], 10, lambda: str(more()))
    eventually(lambda: set(more()["blue"]) == {"acl_denied", "policed_in"} and sum(more()["blue"].values()) >= 45, 10, lambda: str(more()))
    received(sink, 0)
    found = assert_sound(router)
    assert found["red"]["ledger"]["rx"] >= 45 and found["blue"]["ledger"]["rx"] >= 63
    said = subprocess.run([sys.executable, KAMUEE, "--socket", str(lab["r"].socket), "show", "ledger", "vr", "red", "-j"],
                          stdout=subprocess.PIPE, check=True).stdout
    assert json.loads(said)["drops"] >= 45
    assert 'kamuee_vr_ledger_packets_total{vr="red",side="drops"}' in router.metrics()
    eventually(lambda: 'kamuee_vr_ledger_imbalance_packets{vr="blue"} 0' in router.metrics(), 10, "the ledger balances")


def test_by_an_import_a_packet_leaves_one_and_enters_the_other(lab, router):
    before = vrs(router)
    router.configure("set vr red import blue prefix 10.4.0.0/24", "set vr blue import red prefix 10.1.0.0/24")
    assert_reaches(lab["h1"], "10.4.0.2")                      # waits for its neighbor first
    assert_no_loss(lab["h1"], "10.4.0.2", 50)
    after = assert_sound(router)
    for one, other in (("red", "blue"), ("blue", "red")):
        left = after[one]["ledger"]["left"] - before[one]["ledger"]["left"]
        assert 50 < left == after[other]["ledger"]["entered"] - before[other]["ledger"]["entered"]
    assert after["red"]["ledger"]["held"] == 0


def test_an_interface_that_moves_leaves_what_it_has_counted(lab, router):
    was = assert_sound(router)
    router.configure("set interface p1 vr blue")
    moved = assert_sound(router)
    assert moved["red"]["ledger"]["rx"] >= was["red"]["ledger"]["rx"]
    assert moved["blue"]["ledger"]["rx"] < was["blue"]["ledger"]["rx"] + was["red"]["ledger"]["rx"]
    router.configure("set interface p1 vr red")
    assert_sound(router)


def test_a_new_one_begins_at_0(lab, router):
    router.configure("set vr brief", "set vport v7 port p0", "set vport v7 vlan 7", "set interface v7 vr brief")
    eventually(lambda: vrs(router)["brief"]["ledger"]["inject"] > 0, 20, "the kernel's neighbor discovery is sent by it")
    router.configure("delete interface v7", "delete vport v7", "delete vr brief")
    assert "brief" not in vrs(router)
    router.configure("set vr brief")
    assert set(vrs(router)["brief"]["ledger"].values()) == {0} and not vrs(router)["brief"].get("drop")
    router.configure("delete vr brief")
