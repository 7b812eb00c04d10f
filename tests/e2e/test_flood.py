# SPDX-License-Identifier: BSD-3-Clause
"""BGP and BFD stay up, and pings to us are answered, under floods of everything that costs a control plane work.

The flood comes by p0, the sessions run over p1. Its rate (FLOOD_PPS frames a second, all kinds together) is far above what the
lowered limits below let through, so that policers and queues work all the time; a line-rate flood differs only
in what the forwarder drops. BFD at 300 ms x 3 also fails when a machine does not run its processes for that long: a witness
measures that, and the test is repeated when it is the machine's fault.
"""
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kamuee.lab import measure

from support import PATIENCE_S, Pinging, assert_reaches, eventually, ping

FLOOD = Path(__file__).with_name("flood.py")
FLOOD_PPS = int(os.environ.get("FLOOD_PPS", "15000"))
FLOOD_S = float(os.environ.get("FLOOD_S", "20"))
STALL_S = 0.3
TRIES = 3

SESSIONS = """
nodes:
  bad:
    kind: host
    interfaces: {eth0: [10.1.0.2/16]}
    routes: [default via 10.1.0.1]
  r:
    kind: kamuee
    daemon: frr
    interfaces:
      p0: [10.1.0.1/16]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
    asn: 65001
    daemons: [staticd, bgpd, bfdd]
    neighbors: [{address: 10.2.0.2, asn: 65002, options: [bfd, timers 3 9]}]
    set:
      - set punt neighbor rate 500 burst 100
      - set punt other rate 1000 burst 200
      - set icmp rate 100 burst 10
  peer:
    kind: router
    daemon: frr
    interfaces: {p1: [10.2.0.2/24, "fd00:2::2/64"], lo: [10.3.0.2/32]}
    asn: 65002
    daemons: [staticd, bgpd, bfdd]
    neighbors: [{address: 10.2.0.1, asn: 65001, options: [bfd, timers 3 9]}]
    networks: [10.3.0.2/32]
links:
  - [bad:eth0, r:p0]
  - [r:p1, peer:p1]
"""
ALL = ["local", "ttl", "glean", "arp", "martian", "fragment", "option", "icmp"]


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(SESSIONS)
    assert_reaches(lab["peer"], "10.2.0.1")
    # All namespaces share one neighbour table, which the flood fills: the peer is not what is tested.
    mac = lab["r"].ip_json("link show dev p1")[0]["address"]
    lab["peer"].ip(f"neigh replace 10.2.0.1 lladdr {mac} dev p1 nud permanent")
    eventually(lambda: sessions_are_up(lab), 60, lambda: lab["r"].vtysh("show bfd peers", "show bgp summary"), 0.2)
    return lab


def bfd_peer(node, of: str) -> dict:
    return next(peer for peer in node.frr.json("show bfd peers") if peer["peer"] == of)


def sessions_are_up(lab) -> bool:
    return (bfd_peer(lab["r"], "10.2.0.2")["status"] == "up" and bfd_peer(lab["peer"], "10.2.0.1")["status"] == "up"
            and lab["r"].frr.json("show bgp neighbors 10.2.0.2")["10.2.0.2"]["bgpState"] == "Established")


def flaps(lab) -> dict[str, int]:
    """How often each session went down so far, by both ends."""
    found = {}
    for node, of in ((lab["r"], "10.2.0.2"), (lab["peer"], "10.2.0.1")):
        counters = next(peer for peer in node.frr.json("show bfd peers counters") if peer["peer"] == of)
        found[f"bfd {node.name}"] = counters["session-down"]
        found[f"bgp {node.name}"] = node.frr.json(f"show bgp neighbors {of}")[of]["connectionsDropped"]
    return found


class Witness:
    """The longest time for which the machine did not run a process that wanted to run."""

    def __enter__(self):
        self.longest_s, self.ended = 0.0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        last = time.monotonic()
        while not self.ended.wait(0.01):
            now = time.monotonic()
            self.longest_s, last = max(self.longest_s, now - last), now

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()


def punt(lab) -> dict[str, dict]:
    return {entry["class"]: entry for entry in measure.client(lab["r"]).entries("punt")}


def flood(lab, kinds: list[str], seconds: float) -> tuple[int, float]:
    """Seconds of it, with pings to us meanwhile: frames sent, and the longest stall of the machine."""
    mac = lab["r"].ip_json("link show dev p0")[0]["address"]
    sender = lab["bad"].popen([sys.executable, str(FLOOD), "eth0", mac, str(FLOOD_PPS), *kinds],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert sender.stdout.readline() == b"ready\n"
    with Witness() as witness:
        pinging = Pinging(lab["peer"], "10.2.0.1", 0.05)
        time.sleep(seconds)                            # what is tested is that nothing happens in it
        n_sent = int(sender.communicate(b"\n", timeout=PATIENCE_S)[0])
        answered = pinging.stop()
    assert answered.received > 0, answered.said
    return n_sent, witness.longest_s


@pytest.mark.rfc("6192", "3", "MAY")
@pytest.mark.parametrize("kinds, seconds", [(["local"], 5), (["ttl"], 5), (["arp"], 5), (["martian"], 5), (ALL, FLOOD_S)],
                         ids=["local", "ttl", "arp", "martian", "all"])
def test_sessions_stay_up_under_a_flood(lab, kinds, seconds):
    for _ in range(TRIES):
        eventually(lambda: sessions_are_up(lab), 60, lambda: lab["r"].vtysh("show bfd peers"), 0.2)
        before, was = flaps(lab), punt(lab)
        n_sent, stall_s = flood(lab, kinds, seconds)
        now = punt(lab)
        for name in ("bfd", "routing"):
            assert (now[name]["policed"], now[name]["queue-full"]) == (was[name]["policed"], was[name]["queue-full"]), name
            assert now[name]["passed"] > was[name]["passed"], name
        assert n_sent > 0
        if flaps(lab) == before or stall_s < STALL_S:
            break
    assert flaps(lab) == before, f"the longest stall of the machine was {stall_s:.2f} s"
    assert sessions_are_up(lab)
    assert ping(lab["bad"], "10.1.0.1", 3, 0.2).received > 0


def test_what_was_too_much_was_counted(lab):
    """After the floods above."""
    found, drops = punt(lab), measure.drops(lab["r"])
    assert found["other"]["policed"] + found["other"]["queue-full"] > 0, found
    assert found["neighbor"]["policed"] + found["neighbor"]["queue-full"] > 0, found
    for reason in ("punt_policed", "ip4_ttl", "ip4_martian_src", "ip4_martian_dst"):
        assert drops.get(reason), drops
    assert measure.client(lab["r"]).state("icmp")["limited"] > 0
