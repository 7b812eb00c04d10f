# SPDX-License-Identifier: BSD-3-Clause
"""The journal: the route at an earlier time, with its legs, in both families and in a virtual router; changes and their causes."""
import subprocess
import sys
import time

import pytest

from kamuee.errors import DaemonError
from kamuee.lab import measure

from support import assert_reaches, eventually, two_hosts
from conftest import ROOT

LAB = two_hosts(interfaces=["v40: {vlan: 40, port: p0, addresses: [10.40.0.1/24], vr: red}"], settings=["vrs: {red: {}}"])
TARGETS = ("10.2.0.2", "fd00:2::2")


@pytest.fixture(scope="module")
def lab(lab):
    assert_reaches(lab["r"], "10.2.0.2")
    return lab


PAUSE_S = 0.3         # a busy machine may take that long for a request


def pause() -> float:
    """A moment between two changes: now."""
    time.sleep(PAUSE_S)
    now = time.monotonic()
    time.sleep(PAUSE_S)
    return now


def told(lab, then: float, operation: str, **asked) -> dict:
    """The router counts back from the moment at which it reads the question: an answer that took as long as a pause may be of a later time."""
    def answer() -> dict | bool:
        begun = time.monotonic()
        found = measure.client(lab["r"]).call(operation, ago=str(round((begun - then) * 1000)), **asked)
        return time.monotonic() - begun < PAUSE_S and found
    return eventually(answer, what=f"an answer to {operation} in time")


def was(lab, then: float, **asked) -> dict:
    return told(lab, then, "route-at", **asked)


def legs(route: dict) -> set[tuple[str, str]]:
    return {(hop.get("interface", ""), hop.get("gateway", "")) for hop in route.get("hop", [])}


def in_fib(lab, prefix: str, there: bool = True, vr: str = "default") -> None:
    eventually(lambda: any(row.get("active") for row in measure.client(lab["r"]).rows(
        f"routes={vr},{'ipv6' if ':' in prefix else 'ipv4'}", "route", {"prefix": prefix, "match": "exact"})) == there)


def test_the_route_of_an_address_as_it_was_then(lab):
    before = pause()
    lab["r"].ip("route add 198.51.0.0/16 via 10.2.0.2 proto bgp")
    in_fib(lab, "198.51.0.0/16")
    first = pause()
    lab["r"].ip("route add 198.51.100.0/24 via 10.1.0.2 proto ospf")
    in_fib(lab, "198.51.100.0/24")
    second = pause()
    lab["r"].ip("route del 198.51.0.0/16")
    lab["r"].ip("route del 198.51.100.0/24")
    in_fib(lab, "198.51.100.0/24", False)
    third = pause()
    found = was(lab, first, address="198.51.100.77")
    assert (found["prefix"], found["protocol"], found["kind"]) == ("198.51.0.0/16", "bgp", "adjacency")
    assert legs(found) == {("p1", "10.2.0.2")}
    found = was(lab, second, address="198.51.100.77")
    assert (found["prefix"], found["protocol"], legs(found)) == ("198.51.100.0/24", "ospf", {("p0", "10.1.0.2")})
    assert was(lab, second, prefix="198.51.0.0/16")["prefix"] == "198.51.0.0/16"
    for then in (before, third):
        found = was(lab, then, address="198.51.100.77")
        assert found["known"] and "prefix" not in found
    changes = measure.client(lab["r"]).call("route-changes", prefix="198.51.0.0/16", longer=True)["change"]
    assert [(change["prefix"], "from" in change, "to" in change, change["cause"]) for change in reversed(changes)] == [
        ("198.51.0.0/16", False, True, "kernel"), ("198.51.100.0/24", False, True, "kernel"),
        ("198.51.0.0/16", True, False, "kernel"), ("198.51.100.0/24", True, False, "kernel")]


def test_ipv6_and_a_virtual_router(lab):
    lab["r"].ip("-6 route add 2001:db8:7::/48 via fd00:2::2")
    lab["r"].vrs["red"].ip("route add blackhole 198.18.0.0/15")
    in_fib(lab, "2001:db8:7::/48")
    in_fib(lab, "198.18.0.0/15", vr="red")
    then = pause()
    lab["r"].ip("-6 route del 2001:db8:7::/48")
    lab["r"].vrs["red"].ip("route del blackhole 198.18.0.0/15")
    in_fib(lab, "2001:db8:7::/48", False)
    in_fib(lab, "198.18.0.0/15", False, "red")
    assert legs(was(lab, then, address="2001:db8:7::1")) == {("p1", "fd00:2::2")}
    assert was(lab, then, address="198.18.9.9", vr="red")["kind"] == "blackhole"
    assert "prefix" not in was(lab, then, address="198.18.9.9")
    changes = measure.client(lab["r"]).call("route-changes", prefix="198.18.0.0/15", vr="red")["change"]
    assert [change["vr"] for change in changes] == ["red", "red"]


def test_legs_that_a_link_took_with_it(lab):
    lab["r"].ip("route add 203.0.113.0/24 nexthop via 10.1.0.2 dev p0 nexthop via 10.2.0.2 dev p1")
    in_fib(lab, "203.0.113.0/24")
    both = pause()
    lab["h2"].ip("link set eth0 down")
    eventually(lambda: legs(was(lab, time.monotonic(), address="203.0.113.9")) == {("p0", "10.1.0.2")})
    one = pause()
    assert legs(was(lab, both, address="203.0.113.9")) == {("p0", "10.1.0.2"), ("p1", "10.2.0.2")}
    changes = told(lab, both, "route-changes")["change"]
    assert any("prefix" not in change and change["cause"] == "link" for change in changes), changes
    lab["h2"].ip("link set eth0 up")
    lab["h2"].ip("-6 addr replace fd00:2::2/64 dev eth0")
    lab["h2"].ip("-6 route replace default via fd00:2::1")
    lab["h2"].ip("route replace default via 10.2.0.1")
    eventually(lambda: len(legs(was(lab, time.monotonic(), address="203.0.113.9"))) == 2)
    assert legs(was(lab, one, address="203.0.113.9")) == {("p0", "10.1.0.2")}
    lab["r"].ip("route del 203.0.113.0/24")
    in_fib(lab, "203.0.113.0/24", False)


def kamuee(lab, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), *words],
                          capture_output=True, text=True, timeout=60)


def test_the_command_line_tells_it_and_says_how_far_back_it_knows(lab):
    said = kamuee(lab, "show", "route", "changes", "last", "10m", "prefix", "198.51.0.0/16", "longer").stdout
    assert " 198.51.0.0/16 added by kernel: bgp via 10.2.0.2, p1\n" in said, said
    # A second ago the link may still have been as the test before left it: down.
    eventually(lambda: kamuee(lab, "show", "ipv4", "route", "10.2.0.2", "at", "-1s").stdout.startswith("Route 10.2.0."), 10)
    said = kamuee(lab, "show", "ipv4", "route", "10.2.0.2", "at", "-1d")
    assert said.returncode == 1 and "the journal does not go back" in said.stderr, said
    assert "MiB, room for" in kamuee(lab, "show", "journal").stdout


def test_the_journal_can_be_switched_off_and_on(lab):
    client = measure.client(lab["r"])
    client.call("configure", line=["set journal size 0"])
    with pytest.raises(DaemonError, match="set journal size 64"):
        client.call("route-changes")
    client.call("configure", line=["delete journal size"])
    assert client.call("route-changes")["complete"] is False
    assert client.state("journal")["size"] == 64


def test_a_young_virtual_router_does_not_cut_what_the_others_remember(lab):
    """Of several the oldest counts: before the young one was there, nothing of it changed."""
    client = measure.client(lab["r"])
    begun = pause()
    lab["r"].ip("route add 198.51.103.0/24 via 10.2.0.2 proto bgp")
    in_fib(lab, "198.51.103.0/24")
    client.call("configure", line=["set vr young table 77"])
    try:
        eventually(lambda: client.state("vr=young"), what="the young one is there")
        found = told(lab, begun, "route-changes")
        assert found["complete"] and not found.get("cut")
        assert "198.51.103.0/24" in {change.get("prefix") for change in found["change"]}
        assert not client.call("route-changes", vr="young", ago="3600000")["complete"]
    finally:
        client.call("configure", line=["delete vr young"])
        lab["r"].ip("route del 198.51.103.0/24")
