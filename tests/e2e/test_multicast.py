# SPDX-License-Identifier: BSD-3-Clause
"""Multicast: real senders, real receivers that have joined; configured routes, the kernel's routes, FRR's pimd."""
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest


from support import Router, eventually

pytestmark = pytest.mark.kernel_forwards     # of multicast: src/data/forwarder/multicast.c tells what, and why
GROUPS = str(Path(__file__).with_name("groups.py"))
PAIR = """
nodes:
  source: $HOST(1)
  r:
    kind: kamuee
    DAEMON
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: []
      v40: {vlan: 40, port: p2, addresses: [10.40.0.1/24, "fd00:40::1/64"]}
  near: $HOST(2)
  tagged: $VLAN(40)
links:
  - [source:eth0, r:p0]
  - [r:p1, near:eth0]
  - [r:p2, tagged:eth0]
"""
PIM = """daemon: frr
    daemons: [pimd]
    config: |
      frr defaults traditional
      interface p0
       ip pim
      exit
      interface p1
       ip pim
       ip igmp
       ip igmp query-max-response-time 10
       ip igmp query-interval 2
      exit
      ip pim rp 10.1.0.1 224.0.0.0/4
"""
LAB = PAIR.replace("    DAEMON\n", "")
V4, V6 = ("239.1.1.1", "10.1.0.2"), ("ff1e::1:1", "fd00:1::2")


def receiver(node, group, interface="eth0", *source):
    proc = node.popen([sys.executable, GROUPS, "receive", group, interface, *source], stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE)
    assert proc.stdout.readline().strip() == b"ready"
    return proc


def received(proc, wanted):
    return json.loads(proc.communicate(b"%d\n" % wanted, timeout=300)[0])


def know(node, group, *interfaces):
    """Linux makes a neighbor of each group it sends to, in a table that all namespaces share and others' floods fill; not so of
    a permanent one."""
    if ":" not in group:
        octets = [int(octet) for octet in group.split(".")]
        mac = f"01:00:5e:{octets[1] & 127:02x}:{octets[2]:02x}:{octets[3]:02x}"
        for interface in interfaces:
            node.run(f"ip neigh replace {group} lladdr {mac} dev {interface} nud permanent")


def send(node, group, count, per_s=500, ttl=20, size=100, interface="eth0"):
    know(node, group, interface)
    node.run([sys.executable, GROUPS, "send", group, interface, str(count), str(per_s), str(ttl), str(size)],
             timeout_s=300 + count / per_s)


def route(lab, group, source):
    found = [r for r in Router(lab["r"]).state("multicast").get("route", [])
             if (r["group"], r["source"]) == (group, source)]
    return found[0] if found else None


def until_routed(lab, group, source):
    """One packet after another until the routing daemon has made the route of the group, by one of them: the route, and how many packets.
    Those before the router has heard that there is a daemon are dropped: the interfaces' change comes by netlink."""
    for sent in range(1, 11):
        send(lab["source"], group, 1)
        try:
            return eventually(lambda: route(lab, group, source), 3), sent
        except AssertionError:
            continue
    raise AssertionError(f"no packet to {group} made a route")


@pytest.mark.rfc("1812", "5.2.1.3", "SHOULD")
@pytest.mark.parametrize("group, source", [V4, V6])
def test_a_configured_route_brings_each_packet_once_to_each_output(lab, router, group, source):
    router.configure(f"set multicast route default {group} {source} input p0 output p1",
                     f"set multicast route default {group} {source} output v40")
    near, tagged = receiver(lab["near"], group), receiver(lab["tagged"], group)
    send(lab["source"], group, 300)
    for got in (received(near, 300), received(tagged, 300)):
        assert (got["packets"], got["distinct"], got["ttl"]) == (300, 300, {"19": 300})
    found = route(lab, group, source)
    assert (found["packets"], found["wrong-interface"], found["origin"]) == (300, 0, "static")


@pytest.mark.parametrize("group, source", [V4, V6])
def test_without_a_route_nothing_comes_and_the_drop_has_a_name(lab, group, source):
    name = "ip6_multicast" if ":" in group else "ip4_multicast"
    before, near = Router(lab["r"]).dropped(name), receiver(lab["near"], group)
    send(lab["source"], group, 20)
    assert received(near, 1)["packets"] == 0
    assert Router(lab["r"]).dropped(name) >= before + 20


@pytest.mark.parametrize("group, source", [V4, V6])
def test_any_source_and_thresholds(lab, router, group, source):
    router.configure(f"set multicast route default {group} any input p0 output p1",
                     f"set multicast route default {group} any output v40 ttl 8")
    near, tagged = receiver(lab["near"], group), receiver(lab["tagged"], group)
    send(lab["source"], group, 50, ttl=8)
    send(lab["source"], group, 50, ttl=9)
    assert received(near, 100)["ttl"] == {"7": 50, "8": 50}
    assert received(tagged, 50)["ttl"] == {"8": 50}
    before = Router(lab["r"]).dropped("multicast_ttl")
    send(lab["source"], group, 10, ttl=1)
    eventually(lambda: Router(lab["r"]).dropped("multicast_ttl") == before + 10)


@pytest.mark.rfc("7761", "4.2", "MUST")
@pytest.mark.parametrize("group, source", [V4, V6])
def test_packets_by_the_wrong_interface_are_dropped_and_counted(lab, router, group, source):
    router.configure(f"set multicast route default {group} any input p0 output v40")
    tagged = receiver(lab["tagged"], group)
    send(lab["near"], group, 30)
    assert received(tagged, 1)["packets"] == 0
    found = route(lab, group, "any")
    assert (found["packets"], found["wrong-interface"]) == (0, 30)


def test_a_route_changes_while_packets_pass(lab, router):
    group = V4[0]
    router.configure(f"set multicast route default {group} any input p0 output p1")
    near, tagged = receiver(lab["near"], group), receiver(lab["tagged"], group)
    know(lab["source"], group, "eth0")
    sending = lab["source"].popen([sys.executable, GROUPS, "send", group, "eth0", "1500", "500", "20", "100"])
    eventually(lambda: route(lab, group, "any")["packets"] > 0, what="packets pass")
    for _ in range(10):
        router.configure(f"set multicast route default {group} any output v40")
        time.sleep(0.1)
        router.configure(f"delete multicast route default {group} any output v40")
        time.sleep(0.1)
    assert sending.wait(300) == 0
    assert received(near, 1500)["packets"] == 1500          # its output was there all the time
    assert 0 < received(tagged, 1)["packets"] < 1500


def test_large_packets_are_cut_where_they_may_be(lab, router):
    group = V4[0]
    router.configure("set vport v40 mtu 1000")
    router.configure(f"set multicast route default {group} any input p0 output p1", f"set multicast route default {group} any output v40")
    near, tagged = receiver(lab["near"], group), receiver(lab["tagged"], group)
    send(lab["source"], group, 40, size=1400)
    for proc in (near, tagged):
        got = received(proc, 40)
        assert (got["distinct"], got["sizes"]) == (40, [1400])


@pytest.mark.parametrize("group, source", [V4, V6])
def test_a_program_on_the_router_that_has_joined_gets_its_copy(lab, router, group, source):
    joined, near = receiver(lab["r"], group, "p0"), receiver(lab["near"], group)
    eventually(lambda: [j for j in Router(lab["r"]).state("multicast")["join"] if (j["group"], j["interface"]) == (group, "p0")])
    send(lab["source"], group, 30, ttl=30)
    router.configure(f"set multicast route default {group} any input p0 output p1")     # some may still be in the port: the route is for them, too
    send(lab["source"], group, 50)
    assert received(joined, 80)["ttl"] == {"30": 30, "20": 50}      # as they came
    assert received(near, 80)["ttl"].get("19") == 50
    eventually(lambda: {j["group"] for j in Router(lab["r"]).state("multicast")["join"]} == {"ff05::2"}, what="all routers of the site stay")


@pytest.mark.parametrize("group, source", [V4, V6])
def test_a_daemon_of_the_kernel_makes_the_routes_of_what_comes(lab, group, source):
    daemon = lab["r"].popen([sys.executable, GROUPS, "daemon", "p0", "p1", "v40"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE)
    assert daemon.stdout.readline().strip() == b"ready"
    try:
        near, tagged = receiver(lab["near"], group), receiver(lab["tagged"], group)
        know(lab["r"], group, "p1", "v40")
        found, first = until_routed(lab, group, source)     # the kernel keeps the packet, asks the daemon, and forwards it
        assert (found["origin"], found["input"]) == ("kernel", "p0")
        assert sorted(out["interface"] for out in found["output"]) == ["p1", "v40"]
        send(lab["source"], group, 300)
        for proc in (near, tagged):
            got = received(proc, 300)
            assert 301 <= got["packets"] <= 300 + first and (got["distinct"], got["ttl"]) == (300, {"19": got["packets"]}), (got, first)
        assert 300 <= route(lab, group, source)["packets"] < 300 + first
    finally:
        daemon.communicate()
    eventually(lambda: not route(lab, group, source))       # with the daemon, its routes went


def test_the_kernel_sees_that_a_source_is_alive(lab):
    """Routing daemons ask the kernel's counters, by which Kamuee forwards nothing: a packet in ten seconds goes that way."""
    group, source = V4
    daemon = lab["r"].popen([sys.executable, GROUPS, "daemon", "p0", "p1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert daemon.stdout.readline().strip() == b"ready"
    try:
        near = receiver(lab["near"], group)
        know(lab["r"], group, "p1")
        _, first = until_routed(lab, group, source)
        send(lab["source"], group, 115, per_s=10)
        assert 116 <= received(near, 115)["packets"] <= 115 + first          # whichever way, once each
        said = lab["r"].run("ip -s mroute show")
        assert re.search(r"\(10.1.0.2,239.1.1.1\).*\n\s*2 packets", said), said
    finally:
        daemon.communicate()


@pytest.fixture(scope="module")
def pim(labs, kamueed):
    return labs(PAIR.replace("DAEMON", PIM))


def test_pimd_source_specific(pim):
    near = receiver(pim["near"], "232.1.1.1", "eth0", "10.1.0.2")
    eventually(lambda: route(pim, "232.1.1.1", "10.1.0.2"), 60, "pimd makes the route of the join")
    eventually(lambda: [o["interface"] for o in route(pim, "232.1.1.1", "10.1.0.2")["output"]] == ["p1"], 30)
    send(pim["source"], "232.1.1.1", 300)
    got = received(near, 300)
    assert (got["packets"], got["distinct"]) == (300, 300)
    eventually(lambda: not (route(pim, "232.1.1.1", "10.1.0.2") or {"output": []})["output"], 60, "the leave takes the output away")


def test_pimd_any_source(pim):
    near = receiver(pim["near"], "239.7.7.7")
    eventually(lambda: "239.7.7.7" in pim["r"].vtysh("show ip pim state"), 60, "pimd knows of the receiver")
    know(pim["r"], "239.7.7.7", "p1")
    send(pim["source"], "239.7.7.7", 3, per_s=5)             # unknown: up to pimd, which makes a route; Linux keeps up to four packets for it
    eventually(lambda: route(pim, "239.7.7.7", "10.1.0.2"), 30, "pimd makes the route of the source")
    eventually(lambda: "p1" in [o["interface"] for o in route(pim, "239.7.7.7", "10.1.0.2")["output"]], 30)
    send(pim["source"], "239.7.7.7", 300)
    got = received(near, 300)
    assert (got["distinct"], got["packets"]) == (300, 303), (got, route(pim, "239.7.7.7", "10.1.0.2"))
