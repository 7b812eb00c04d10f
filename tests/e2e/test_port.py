# SPDX-License-Identifier: BSD-3-Clause
"""Ports: what a port could not take is told."""

from kamuee.lab import measure
from support import LINE, Router, assert_reaches, eventually, send

LAB = LINE


def missed(lab) -> int:
    port = measure.client(lab["r"]).state("port=p0")
    port = port[0] if isinstance(port, list) else port
    return int(port["statistics"]["rx-missed"])


def test_frames_that_the_receive_ring_has_no_room_for_are_counted(lab):
    assert_reaches(lab["h1"], "10.2.0.2")
    before = missed(lab)
    measure.client(lab["r"]).call("port-stop", name="p0")      # nobody empties the ring of 4,096 frames now
    lab["h1"].ip("neigh replace 10.1.0.1 dev eth0 nud permanent lladdr "
                 + lab["r"].ip_json("link show dev p0")[0]["address"])
    send(lab["h1"], ["10.2.0.2"], 6000, per_s=20000)
    eventually(lambda: missed(lab) - before >= 6000 - 4096, 30, lambda: f"missed {missed(lab) - before} of 6000")
    assert missed(lab) - before <= 6000
    measure.client(lab["r"]).call("port-start", name="p0")
    assert_reaches(lab["h1"], "10.2.0.2")


def received_by_linux(lab) -> int:
    """IPv4 packets, in the namespace of the ports' kernel interfaces."""
    names, values = (line.split() for line in lab["r"].wire.run("cat /proc/net/snmp").splitlines() if line.startswith("Ip:"))
    return int(values[names.index("InReceives")])


def test_linux_receives_nothing_on_the_interfaces_of_ports(lab):
    assert_reaches(lab["h1"], "10.2.0.2")
    before = received_by_linux(lab)
    send(lab["h1"], ["10.2.0.2"], 500)
    assert received_by_linux(lab) == before
    tables = lab["r"].wire.run("nft list tables").splitlines()
    assert sorted(table.rpartition("-")[2] for table in tables) == ["wp0", "wp1"], tables


def test_it_receives_again_when_the_port_is_gone(lab):
    Router(lab["r"]).configure("delete port p0")
    [table] = lab["r"].wire.run("nft list tables").splitlines()
    assert table.endswith("-wp1")
