# SPDX-License-Identifier: BSD-3-Clause
"""Storms of random changes of every kind: half a second after each, an audit finds nothing. STORM=1000000 for a long run, in ten rounds."""
import os
import random
import subprocess
import time

import pytest

from kamuee.lab import measure

from support import LINE, assert_reaches

pytestmark = pytest.mark.storm

CHANGES = int(os.environ.get("STORM", "30000"))
ROUNDS = 10 if "STORM" in os.environ else 3
SEED = int(os.environ.get("SEED", "1"))
PREFIXES = 6000
QUIET_S = 0.5


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LINE)
    for n in (1, 2):
        lab["r"].ip(f"-6 addr add fd00:{n}::1/64 dev p{n - 1} nodad")
    assert_reaches(lab["h1"], "10.2.0.2")
    return lab


def route4(chance: random.Random) -> str:
    n = chance.randrange(PREFIXES)
    prefix = chance.choice((f"20.{n >> 8}.{n & 255}.0/24", f"20.{n >> 8}.{n & 240}.0/20", f"20.{n >> 8}.0.0/16"))
    verb = chance.choice(("add", "append", "prepend", "replace", "replace", "change", "del", "del", "del"))
    way = chance.choice(("via 10.1.0.2", "via 10.2.0.2", "via 10.1.0.3", "dev p0", "nhid 10", "nhid 12",
                         "nexthop via 10.1.0.2 weight 2 nexthop via 10.2.0.2"))
    kind = chance.choice(("", "", "", "", "", "blackhole ", "unreachable "))
    return f"route {verb} {kind}{prefix} {chance.choice(('', '', 'metric 5', 'metric 9 proto bgp'))} {'' if kind else way}"


def route6(chance: random.Random) -> str:
    n = chance.randrange(PREFIXES)
    prefix = chance.choice((f"2001:db8:{n:x}::/48", f"2001:db8:{n:x}:{n % 3}::/64"))
    verb = chance.choice(("add", "append", "append", "replace", "replace", "del", "del", "del"))
    way = chance.choice(("via fd00:1::2", "via fd00:2::2", "via fd00:1::3", "via fd00:2::3", "nhid 14",
                         "nexthop via fd00:1::2 nexthop via fd00:2::2"))
    return f"-6 route {verb} {prefix} {chance.choice(('', '', 'metric 5'))} {way}"


def other(chance: random.Random) -> list[str]:
    return chance.choice((
        ["nexthop replace id 10 via 10.1.0.2 dev p0"], ["nexthop replace id 10 via 10.2.0.3 dev p1"], ["nexthop del id 10"],
        ["nexthop replace id 11 via 10.2.0.2 dev p1"], ["nexthop del id 11"], ["nexthop replace id 12 group 10/11"],
        ["nexthop replace id 12 group 11"], ["-6 nexthop replace id 14 via fd00:1::2 dev p0"], ["nexthop del id 14"],
        ["addr add 10.3.0.1/24 dev p1"], ["addr del 10.3.0.1/24 dev p1"], ["neigh replace 10.1.0.77 lladdr 2:0:0:0:0:7 dev p0"],
        ["neigh replace 10.1.0.77 lladdr 2:0:0:0:0:9 dev p0"]))


def flap(chance: random.Random) -> list[str]:
    return chance.choice((["addr del 10.2.0.1/24 dev p1", "addr add 10.2.0.1/24 dev p1"],
                          ["link set p1 down", "link set p1 up", "addr add fd00:2::1/64 dev p1 nodad"],
                          ["-6 addr del fd00:2::1/64 dev p1", "-6 addr add fd00:2::1/64 dev p1 nodad"]))


def storm(lab, chance: random.Random, n: int, flaps: int) -> None:
    """Two processes at a time, one for each family."""
    lines = {"": [], "-6": []}
    every = n // flaps if flaps else n + 1
    for i in range(n):
        more = flap(chance) if i % every == every - 1 else other(chance) if chance.random() < 0.01 else \
            [(route4 if chance.random() < 0.6 else route6)(chance)]
        for line in more:
            # `ip -batch` ends at a failing `neigh del`, whatever -force says: there is none
            lines["-6" if line.startswith("-6 ") else ""].append(line.removeprefix("-6 "))
    procs = [lab["r"].popen(["ip", *family.split(), "-force", "-batch", "-"], stdin=subprocess.PIPE) for family in lines]
    for proc, family in zip(procs, lines):
        proc.stdin.write("\n".join(lines[family]).encode() + b"\n")
        proc.stdin.flush()
    for proc in procs:
        proc.communicate(timeout=600)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_after_a_storm_the_tables_are_equal(lab, number):
    chance = random.Random(SEED * 100 + number)
    flaps = (0, 4, 30)[number % 3]                         # links and addresses
    before = measure.client(lab["r"]).state("vr=default")
    storm(lab, chance, CHANGES // ROUNDS, flaps)
    time.sleep(QUIET_S)
    found = measure.client(lab["r"]).call("audit")
    print(before, measure.client(lab["r"]).state("vr=default"))
    assert found["diverged"] == 0, found
    assert not measure.fib_differences(lab["r"])
