# SPDX-License-Identifier: BSD-3-Clause
"""Counted prefixes: real packets, counted exactly, whatever happens to the route; JSON, metrics and CLI say the same."""
import json
import subprocess
import sys
import urllib.parse

import pytest

from kamuee.errors import DaemonError
from kamuee.lab import measure

from conftest import ROOT
from support import assert_reaches, eventually, pings, received, receiver, send, ways

LINE = ways(2, ["198.51.100.1/32", "203.0.113.1/32", "2001:db8:100::1/128"])
V4, V6 = "198.51.100.0/24", "2001:db8:100::/48"
ECHO4, ECHO6 = 20 + 8 + 16, 40 + 8 + 16             # bytes of an IP packet with --size 16


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LINE)
    assert_reaches(lab["h1"], "10.12.1.2", "10.12.2.2", "fd00:12::2", "fd00:13::2")
    for route in (f"{V4} via 10.12.1.2", "203.0.113.0/24 via 10.12.1.2", f"{V6} via fd00:12::2"):
        lab["r"].ip(f"route add {route}")
    assert_reaches(lab["h1"], "198.51.100.1", "203.0.113.1", "2001:db8:100::1")
    return lab


@pytest.fixture
def counted(router):
    """The router, which counts V4 and V6."""
    router.configure(f"set counters prefix default {V4}", f"set counters prefix default {V6}")
    return router


def entry(lab, prefix: str) -> dict:
    return measure.client(lab["r"]).state(f"counted-prefix=default,{urllib.parse.quote(prefix, safe='')}")[0]


def count(lab, prefix: str) -> tuple[int, int]:
    found = entry(lab, prefix)
    return int(found["packets"]), int(found["bytes"])


def echo(lab, target: str, n: int) -> None:
    assert pings(lab["h1"], target, n, 0.005, "--size", "16").lost == 0


def in_fib(lab, active: bool) -> None:
    eventually(lambda: entry(lab, V4)["active"] == active, what=lambda: str(entry(lab, V4)))


def test_packets_of_a_prefix_are_counted_exactly_and_its_neighbors_are_not(lab, counted):
    assert (count(lab, V4), count(lab, V6)) == ((0, 0), (0, 0))
    echo(lab, "198.51.100.1", 200)
    echo(lab, "2001:db8:100::1", 100)
    echo(lab, "203.0.113.1", 50)                     # by the same next hop
    assert count(lab, V4) == (200, 200 * ECHO4)
    assert count(lab, V6) == (100, 100 * ECHO6)


def test_it_goes_on_over_another_next_hop_ecmp_and_a_route_that_goes(lab, counted):
    lab["r"].ip(f"route replace {V4} via 10.12.2.2")
    eventually(lambda: measure.client(lab["r"]).call("lookup", address=["198.51.100.1"])["result"][0]["gateway"] == "10.12.2.2")
    echo(lab, "198.51.100.1", 30)
    lab["r"].ip(f"route replace {V4} nexthop via 10.12.1.2 nexthop via 10.12.2.2")
    eventually(lambda: measure.client(lab["r"]).call("lookup", address=["198.51.100.1"])["result"][0]["kind"] == "group")
    counting = receiver(lab["far"])
    send(lab["h1"], ["198.51.100.1"], 1000, flows=100, per_s=2000)
    said = received(counting, 1000)
    assert said["packets"] == 1000 and min(said["interfaces"].get(port, 0) for port in ("p1", "p2")) > 100
    assert count(lab, V4)[0] == 1030
    lab["r"].ip(f"route del {V4}")
    in_fib(lab, False)
    assert "nexthop" not in entry(lab, V4)
    assert pings(lab["h1"], "198.51.100.1", 5, 0.005).received == 0
    assert count(lab, V4)[0] == 1030
    lab["r"].ip(f"route add {V4} via 10.12.1.2")
    in_fib(lab, True)
    echo(lab, "198.51.100.1", 7)
    lab["r"].ip(f"route replace blackhole {V4}")     # what is dropped is counted too
    eventually(lambda: measure.client(lab["r"]).call("lookup", address=["198.51.100.1"])["result"][0]["kind"] == "blackhole")
    assert pings(lab["h1"], "198.51.100.1", 3, 0.005).received == 0
    assert count(lab, V4)[0] == 1040
    lab["r"].ip(f"route del blackhole {V4}")
    lab["r"].ip(f"route add {V4} via 10.12.1.2")
    in_fib(lab, True)
    assert measure.client(lab["r"]).call("audit")["diverged"] == 0


def test_metrics_json_and_cli_say_the_same(lab, counted):
    echo(lab, "198.51.100.1", 1234)
    packets, size = count(lab, V4)
    assert packets == 1234
    said = subprocess.run(["curl", "-s", "--unix-socket", counted.path, "http://k/metrics"], check=True, capture_output=True,
                          text=True).stdout
    assert f'kamuee_prefix_packets_total{{vr="default",prefix="{V4}"}} {packets}\n' in said
    assert f'kamuee_prefix_bytes_total{{vr="default",prefix="{V4}"}} {size}\n' in said
    kamuee = [sys.executable, str(ROOT / "kamuee"), "--socket", counted.path]
    rows = json.loads(subprocess.run([*kamuee, "-j", "show", "route", "counters"], check=True, capture_output=True, text=True).stdout)
    assert [(row["prefix"], row["packets"]) for row in rows if row["prefix"] == V4] == [(V4, packets)]
    shown = subprocess.run([*kamuee, "show", "route", "counters"], check=True, capture_output=True, text=True).stdout
    assert any(line.split()[:3] == [V4, "default", f"{packets:,}"] for line in shown.splitlines()), shown


def test_what_is_configured_anew_begins_at_0(lab, counted):
    echo(lab, "198.51.100.1", 3)
    counted.configure(f"delete counters prefix default {V4}")
    assert [row["prefix"] for row in counted.entries("counted-prefix")] == [V6]
    echo(lab, "198.51.100.1", 5)
    counted.configure(f"set counters prefix default {V4}")
    assert count(lab, V4) == (0, 0)
    echo(lab, "198.51.100.1", 11)
    assert count(lab, V4) == (11, 11 * ECHO4)


def test_no_more_than_1024(lab, counted):
    some = [f"set counters prefix default 10.{100 + i // 250}.{i % 250}.0/24" for i in range(1023)]
    echo(lab, "198.51.100.1", 11)
    with pytest.raises(DaemonError, match="1025 'prefix' are configured, expected at most 1024"):
        counted.configure(*some)                     # with the two that are there
    assert len(counted.entries("counted-prefix")) == 2
    counted.configure(*some[:1022])
    assert len(counted.entries("counted-prefix")) == 1024
    echo(lab, "198.51.100.1", 9)
    assert count(lab, V4)[0] == 20
    counted.configure("delete counters")
    assert counted.entries("counted-prefix") == []
    echo(lab, "198.51.100.1", 9)
