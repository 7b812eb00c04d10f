# SPDX-License-Identifier: BSD-3-Clause
"""The alarm `routing-daemon`: bgpd dies, all of FRR dies, zebra hangs; raised for the right subject, and cleared when they return."""
import os
import signal

import pytest

from kamuee.lab import measure

from support import eventually

PAIR = """
nodes:
  r:
    kind: kamuee
    daemon: frr
    interfaces: {p0: [10.12.0.1/24]}
    asn: 65001
    neighbors: [{address: 10.12.0.2, asn: 65002}]
  peer:
    kind: router
    daemon: frr
    interfaces: {p0: [10.12.0.2/24], lo: [198.51.100.1/32]}
    asn: 65002
    neighbors: [{address: 10.12.0.1, asn: 65001}]
    networks: [198.51.100.1/32]
links:
  - [r:p0, peer:p0]
"""


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(PAIR)
    eventually(lambda: routes(lab) == 1, 60, "BGP's route is there")
    measure.client(lab["r"]).call("configure", line=["set routing-daemon default bgp minimum-routes 1", "set alarm routing-daemon raise 3"])
    return lab


def routes(lab) -> int:
    return sum(row["protocol"] == "bgp" for row in measure.client(lab["r"]).rows("routes=default,ipv4", "route"))


def subjects(lab) -> set[str]:
    return {alarm["subject"] for alarm in measure.client(lab["r"]).entries("alarm") if alarm["name"] == "routing-daemon"}


def becomes(lab, *wanted: str) -> None:
    eventually(lambda: subjects(lab) == set(wanted), 60, lambda: f"{subjects(lab)}, expected {wanted}", 0.2)


def test_while_frr_is_well_there_is_no_alarm(lab):
    ago = measure.client(lab["r"]).state("system")["uptime"]
    eventually(lambda: int(measure.client(lab["r"]).state("system")["uptime"]) > int(ago) + 8, 30, "eight seconds pass", 0.5)
    assert subjects(lab) == set()


def test_bgpd_that_dies_takes_its_routes_along(lab):
    os.kill(lab["r"].frr.pids()["bgpd"], signal.SIGKILL)
    eventually(lambda: routes(lab) == 0, 60, "zebra deletes them")
    becomes(lab, "default bgp")
    lab["r"].frr.kill()
    lab["r"].frr.start()
    eventually(lambda: routes(lab) == 1, 90, "they are back")
    becomes(lab)


def test_frr_that_dies_leaves_its_routes_and_is_told_all_the_same(lab):
    lab["r"].frr.kill()
    becomes(lab, "default netlink")
    assert routes(lab) == 1
    lab["r"].frr.start()
    becomes(lab)


def test_a_zebra_that_hangs_is_told_and_goes_on(lab):
    eventually(lambda: routes(lab) == 1, 90, "BGP's route is there")
    zebra = lab["r"].frr.pids()["zebra"]
    os.kill(zebra, signal.SIGSTOP)
    try:
        lab["r"].ip("route add 203.0.113.0/24 via 10.12.0.2")     # it is told, and does not read
        becomes(lab, "default netlink")
    finally:
        os.kill(zebra, signal.SIGCONT)
    becomes(lab)
    past = [alarm for alarm in measure.client(lab["r"]).entries("alarm-history") if alarm["name"] == "routing-daemon"]
    assert {(alarm["subject"], alarm["severity"]) for alarm in past} == {("default bgp", "major"), ("default netlink", "major")}


def test_a_neighbor_that_was_up_and_is_gone_is_told(lab):
    client = measure.client(lab["r"])
    down = lambda: {alarm["subject"] for alarm in client.entries("alarm") if alarm["name"] == "session-down"}  # noqa: E731
    eventually(lambda: routes(lab) == 1, 90, "BGP's route is there")
    ago = int(client.state("system")["uptime"])
    eventually(lambda: int(client.state("system")["uptime"]) > ago + 25, 60, "it lasts", 0.5)
    lab["peer"].frr.kill()
    eventually(lambda: {"default bgp 10.12.0.2", "default bgp"} <= down(), 90, lambda: str(down()), 0.5)
    lab["peer"].frr.start()
    eventually(lambda: not down(), 90, lambda: str(down()), 0.5)
