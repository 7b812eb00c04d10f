# SPDX-License-Identifier: BSD-3-Clause
"""Ports: what a port could not take is told."""

from kamuee.lab import measure
from support import LINE, assert_reaches, eventually, send

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
