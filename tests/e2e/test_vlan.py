# SPDX-License-Identifier: BSD-3-Clause
"""802.1Q sub-interfaces: interfaces like any other, with their own addresses, on a port with tagged frames."""
import pytest

from kamuee.lab import measure, state, vlan

from support import assert_no_loss, assert_reaches, eventually, hops, reaches, received, receiver, send

LAB = """
nodes:
  tagged40: $VLAN(40)
  tagged50: $VLAN(50)
  r:
    kind: kamuee
    interfaces:
      p0: []
      p1: []
      p2: [10.2.0.1/24, "fd00:2::1/64"]
      v40: {vlan: 40, port: p0, addresses: [10.40.0.1/24, "fd00:40::1/64"]}
      v50: {vlan: 50, port: p1, addresses: [10.50.0.1/24, "fd00:50::1/64"]}
  plain: $HOST(2)
links:
  - [tagged40:eth0, r:p0]
  - [tagged50:eth0, r:p1]
  - [r:p2, plain:eth0]
"""
PAIRS = [("tagged40", "10.2.0.2"), ("tagged40", "fd00:2::2"), ("plain", "10.40.0.2"), ("plain", "fd00:40::2"),
         ("tagged40", "10.50.0.2"), ("tagged50", "fd00:40::2"), ("tagged40", "10.40.0.1"),
         ("tagged50", "fd00:50::1")]


@pytest.mark.parametrize("source, target", PAIRS)
def test_tagged_and_untagged_hosts_reach_each_other(lab, source, target):
    assert_reaches(lab[source], target)
    assert_no_loss(lab[source], target, 100)


@pytest.mark.parametrize("way", [["10.40.0.1", "10.50.0.2"], ["fd00:40::1", "fd00:50::2"]])
def test_traceroute_shows_the_address_of_the_sub_interface(lab, way):
    eventually(lambda: hops(lab["tagged40"], way[-1]) == way, 10, lambda: f"hops: {hops(lab['tagged40'], way[-1])}", 0.5)


@pytest.mark.parametrize("size", [64, 1472])
def test_full_packets_pass_with_the_tag_on_top(lab, size):
    counting = receiver(lab["tagged50"])
    send(lab["tagged40"], ["10.50.0.2"], 200, size=size)
    assert received(counting, 200)["distinct"] == 200


def test_untagged_frames_do_not_enter_a_sub_interface(lab):
    host = lab["tagged50"]
    assert_reaches(host, "10.50.0.1")
    host.run("tc qdisc del dev eth0 clsact")                        # now it speaks untagged
    try:
        eventually(lambda: not reaches(host, "10.50.0.1"), 30, "the sub-interface does not hear untagged frames")
    finally:
        vlan.put_on_vlan(host.namespace, "eth0", vlan.Tags(50), state.cache_dir())
    assert_reaches(host, "10.50.0.1")


def test_a_sub_interface_goes_on_without_the_ports_own_interface_and_stays_down_when_its_port_comes_up(lab):
    """Linux's own VLAN devices go down with their parent."""
    client, r = measure.client(lab["r"]), lab["r"]
    r.ip("link set p1 down")
    try:
        assert_no_loss(lab["tagged50"], "10.2.0.2", 50)
    finally:
        r.ip("link set p1 up")
    r.ip("link set v50 down")
    client.call("port-stop", name="p1")
    client.call("port-start", name="p1")
    eventually(lambda: client.state("port=p1")[0]["status"] == "up", 20, "the port is up")
    assert client.state("interface=v50")[0]["status"] == "admin-down"
    assert not reaches(lab["tagged50"], "10.50.0.1")
    r.set_up_interfaces()
    assert_reaches(lab["tagged50"], "10.2.0.2")


def test_a_sub_interface_can_be_removed_and_added_while_others_carry_traffic(lab):
    client = measure.client(lab["r"])
    client.call("configure", line=["delete vport v50"])
    eventually(lambda: not lab["r"].namespace.has_link("v50"), 30, "the TAP goes with its sub-interface")
    assert_no_loss(lab["tagged40"], "10.2.0.2", 50)
    assert not reaches(lab["tagged50"], "10.50.0.1")
    client.call("configure", line=["set vport v50 port p1 vlan 50"])
    lab["r"].set_up_interfaces()
    assert_reaches(lab["tagged50"], "10.2.0.2")
