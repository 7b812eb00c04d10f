# SPDX-License-Identifier: BSD-3-Clause
"""Audits: routes that kamueed missed are found by prefix and repaired; churn is no divergence and costs no packet."""
import random
import subprocess

import pytest

from kamuee.lab import measure

from deaf import deaf
from support import Pinging, assert_reaches, eventually, two_hosts

LAB = two_hosts(lo=["198.51.100.1/32", "2001:db8:100::1/128"])
V4, V6 = "198.51.100.1", "2001:db8:100::1"


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    lab["r"].ip("route add 198.51.100.0/24 via 10.2.0.2")
    lab["r"].ip("-6 route add 2001:db8:100::/48 via fd00:2::2")
    assert_reaches(lab["h1"], V4, V6)
    # Linux adds the routes of a link-local address when it is no duplicate: a moment later, kamueed is deaf.
    eventually(lambda: "tentative" not in lab["r"].ip("-6 addr show"), what="all addresses are in use")
    return lab


@pytest.fixture
def interval(lab):
    """Sets the pause between periodic audits: interval(1)."""
    client = measure.client(lab["r"])
    yield lambda seconds: client.call("configure", line=[f"set fib-audit interval {seconds}"])
    client.call("configure", line=["delete fib-audit interval"])


def divergence(lab) -> int:
    return measure.client(lab["r"]).state("system")["fib-divergence"]


def audits(lab) -> int:
    return measure.client(lab["r"]).state("system")["audits"]


def unheard(lab, *commands: str) -> None:
    with deaf(lab["r"].kamueed_pid()):
        for command in commands:
            lab["r"].ip(command)


def test_an_audit_of_a_router_that_heard_everything_finds_nothing(lab):
    found = measure.client(lab["r"]).call("audit")
    assert found["diverged"] == 0 and found.get("finding", []) == []
    assert found["checked"] > 0 and found["prefixes"] > 0 and found["lookups"] > found["prefixes"]


def test_changes_that_were_never_announced_are_found_named_and_repaired(lab):
    before = divergence(lab)
    unheard(lab, "route add blackhole 203.0.113.0/24", "route del 198.51.100.0/24",
            "-6 route replace blackhole 2001:db8:100::/48 metric 5")
    assert measure.fib_differences(lab["r"]), "the announcements came through"
    found = measure.client(lab["r"]).call("audit")
    assert found["diverged"] == 3 and divergence(lab) == before + 3, found
    assert {(entry["prefix"], entry["what"]) for entry in found["finding"]} == {
        ("203.0.113.0/24", "in the kernel but not in the RIB"), ("198.51.100.0/24", "no longer in the kernel"),
        ("2001:db8:100::/48", "in the kernel but not in the RIB")}
    assert not measure.fib_differences(lab["r"])
    shown = measure.client(lab["r"]).state("audit=default")[0]
    assert shown["diverged"] == 3 and shown["fib-divergence"] >= 3 and shown["finding"] == found["finding"]
    unheard(lab, "route del blackhole 203.0.113.0/24", "route add 198.51.100.0/24 via 10.2.0.2",
            "-6 route del blackhole 2001:db8:100::/48 metric 5")
    found = measure.client(lab["r"]).call("audit")
    assert found["diverged"] == 3, found
    assert_reaches(lab["h1"], V4, V6)
    assert measure.client(lab["r"]).call("audit")["diverged"] == 0


def test_a_periodic_audit_heals_without_being_asked(lab, interval):
    unheard(lab, "route add blackhole 203.0.113.0/24")
    before = divergence(lab)
    interval(1)
    eventually(lambda: divergence(lab) == before + 1, 30, "the divergence is counted")
    eventually(lambda: not measure.fib_differences(lab["r"]), 10, lambda: str(measure.fib_differences(lab["r"])))
    lab["r"].ip("route del blackhole 203.0.113.0/24")


def churn(lab, seed: int) -> None:
    chance = random.Random(seed)
    lines = []
    for _ in range(3000):
        n, m = chance.randrange(2000), chance.choice(("via 10.2.0.2", "via 10.1.0.2", "metric 7 via 10.2.0.2"))
        six = chance.choice(("via fd00:2::2", "via fd00:1::2"))
        lines += [f"route {chance.choice(('replace', 'append'))} 172.{16 + n // 256}.{n % 256}.0/24 {m}",
                  f"route del 172.{16 + chance.randrange(8)}.{chance.randrange(256)}.0/24",
                  f"-6 route replace 2001:db8:{0x4000 + chance.randrange(1500):x}::/48 {six}",
                  f"-6 route del 2001:db8:{0x4000 + chance.randrange(1500):x}::/48"]
    for family in ("-4", "-6"):
        batch = "".join(line.removeprefix("-6 ") + "\n" for line in lines if line.startswith("-6") == (family == "-6"))
        proc = lab["r"].popen(["ip", family, "-force", "-batch", "-"], stdin=subprocess.PIPE)
        proc.communicate(batch.encode(), timeout=120)


def test_churn_is_no_divergence_and_audits_cost_no_packet(lab, interval):
    before, runs = divergence(lab), audits(lab)
    interval(1)
    pinging = Pinging(lab["h1"], V4)
    for seed in range(6):
        churn(lab, seed)
    eventually(lambda: audits(lab) >= runs + 4, 60, "audits come")
    result = pinging.stop(at_least=400)
    assert divergence(lab) == before, measure.client(lab["r"]).state("audit")
    assert result.lost == 0, result.said
    for family in ("-4", "-6"):
        lab["r"].namespace.run(f"ip {family} route flush root {'172.16.0.0/12' if family == '-4' else '2001:db8:4000::/34'} proto boot",
                               check=False)
    assert_reaches(lab["h1"], V4)
