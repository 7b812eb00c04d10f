# SPDX-License-Identifier: BSD-3-Clause
"""Ports: what a port could not take is told."""
import pytest

from kamuee.lab import measure
from support import assert_reaches, eventually, send

LINE = """
nodes:
  h1:
    kind: host
    interfaces: {eth0: [10.1.0.2/24]}
    routes: [default via 10.1.0.1]
  r:
    kind: kamuee
    interfaces: {p0: [10.1.0.1/24], p1: [10.2.0.1/24]}
  h2:
    kind: host
    interfaces: {eth0: [10.2.0.2/24]}
    routes: [default via 10.2.0.1]
links:
  - [h1:eth0, r:p0]
  - [r:p1, h2:eth0]
"""


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    return labs(LINE)


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
