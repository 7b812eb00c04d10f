# SPDX-License-Identifier: BSD-3-Clause
"""Virtual routers: the same prefixes in two of them, and nothing passes from one to the other."""
import subprocess

import pytest

from kamuee.client import Client

from conftest import ROOT
from test_capture import Capture
from support import assert_no_loss, assert_reaches, eventually, reaches, received, receiver, send

OVERLAP = """
nodes:
  reda: &a $HOST(1)
  redb: &b $HOST(2 198.51.100.1/32)
  bluea: *a
  blueb: *b
  alone: $HOST4(9)
  r:
    kind: $ROUTER
    vrs:
      red: {routes: [198.51.100.0/24 via 10.2.0.2]}
      blue: {}
    interfaces:
      p0: {vr: red, addresses: &p0 [10.1.0.1/24, "fd00:1::1/64"]}
      p1: {vr: red, addresses: &p1 [10.2.0.1/24, "fd00:2::1/64"]}
      p2: {vr: blue, addresses: *p0}
      p3: {vr: blue, addresses: *p1}
      p4: [10.9.0.1/24]
links:
  - [reda:eth0, r:p0]
  - [redb:eth0, r:p1]
  - [bluea:eth0, r:p2]
  - [blueb:eth0, r:p3]
  - [alone:eth0, r:p4]
"""


@pytest.fixture(scope="module")
def lab(labs, kind):
    return labs(OVERLAP, kind)


@pytest.mark.parametrize("color", ["red", "blue"])
@pytest.mark.parametrize("target", ["10.2.0.2", "fd00:2::2"])
def test_each_virtual_router_carries_its_own_traffic(lab, color, target):
    assert_reaches(lab[f"{color}a"], target)
    assert_no_loss(lab[f"{color}a"], target, 100)


def test_overlapping_addresses_are_not_confused(lab):
    red, blue = receiver(lab["redb"]), receiver(lab["blueb"])
    send(lab["reda"], ["10.2.0.2"], 300)
    send(lab["bluea"], ["10.2.0.2"], 200)
    red, blue = received(red, 300), received(blue, 200)
    assert (red["distinct"], red["packets"], blue["distinct"], blue["packets"]) == (300, 300, 200, 200)


def test_a_route_of_one_virtual_router_is_unknown_in_the_others(lab):
    assert_reaches(lab["reda"], "198.51.100.1")
    assert not reaches(lab["bluea"], "198.51.100.1")
    assert not reaches(lab["alone"], "10.1.0.2")
    lab["r"].vrs["blue"].ip("route add 198.51.100.0/24 via 10.2.0.2")
    assert_reaches(lab["bluea"], "198.51.100.1")
    lab["r"].vrs["red"].ip("route del 198.51.100.0/24")
    eventually(lambda: not reaches(lab["reda"], "198.51.100.1"), 30, "the route is gone from red")
    assert_no_loss(lab["bluea"], "198.51.100.1", 10)


def test_the_default_virtual_router_is_untouched_by_the_others(lab):
    assert_reaches(lab["alone"], "10.9.0.1")
    assert not reaches(lab["alone"], "10.2.0.2")


def test_a_capture_of_one_virtual_router_has_no_frame_of_another(lab, kind, tmp_path):
    if kind != "kamuee":
        pytest.skip("of kamueed's command line")
    for host in ("reda", "bluea"):
        assert_reaches(lab[host], "10.2.0.2")
    capture = Capture(lab, ["rx", "tx", "vr", "red", "filter", "udp port 7000"], tmp_path / "red.pcapng")
    red, blue = receiver(lab["redb"]), receiver(lab["blueb"])
    send(lab["bluea"], ["10.2.0.2"], 200)
    send(lab["reda"], ["10.2.0.2"], 100)
    assert received(blue, 200)["packets"] == 200 and received(red, 100)["packets"] == 100
    capture.holds(200)
    assert "200 frames" in capture.stop() and len(capture.frames()) == 200
    refused = subprocess.run([str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), "capture", "vr", "green"], capture_output=True, text=True)
    assert refused.returncode and "there is no virtual router green" in refused.stderr


def test_ping_and_clear_neighbor_of_a_virtual_router(lab, kind):
    if kind != "kamuee":
        pytest.skip("of kamueed's command line")

    def kamuee(*words):
        return subprocess.run([str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), *words], capture_output=True, text=True)
    for vr, inside, outside in (("red", "10.1.0.2", "10.9.0.2"), (None, "10.9.0.2", "10.1.0.2")):
        where = ["vr", vr] if vr else []
        found = kamuee("ping", inside, *where, "count", "1")
        assert found.returncode == 0 and "1 received" in found.stdout, found
        assert kamuee("ping", outside, *where, "-c", "1", "-W", "1").returncode != 0
    assert "there is no virtual router green" in kamuee("ping", "10.1.0.2", "vr", "green").stderr

    def known(vr):
        return {row["address"] for row in Client(str(lab["r"].socket)).entries("neighbor") if row["vr"] == vr and row.get("mac")}
    assert_reaches(lab["bluea"], "10.2.0.2")
    eventually(lambda: "10.1.0.2" in known("red") and "10.1.0.2" in known("blue"), 10, "both know their neighbor")
    told = kamuee("clear", "neighbor", "interface", "p2")
    assert told.returncode == 0 and "will be resolved again" in told.stdout, told
    eventually(lambda: "10.1.0.2" not in known("blue"), 20, "it is forgotten")
    assert "10.1.0.2" in known("red")
    assert_reaches(lab["bluea"], "10.2.0.2")
    assert "there is no interface 'p9'" in kamuee("clear", "neighbor", "interface", "p9").stderr
