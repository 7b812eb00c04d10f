# SPDX-License-Identifier: BSD-3-Clause
"""BGP, OSPF and BFD stay up, and pings to us are answered, under floods of everything that costs a control plane work.

The flood comes by p0, the sessions run over p1 (FRR) and p2 (BIRD). Its rate (FLOOD_PPS frames a second, all kinds together)
is far above what the lowered limits below let through, so that policers and queues work all the time; a line-rate flood differs
only in what the forwarder drops. BFD at 300 ms x 3 also fails when a machine does not run its processes for that long: a witness
measures that. What the router owes the sessions in any case is that it drops none of their packets.

    DURATION=300       seconds of each kind of flood, one after the other, and of all at once (make flood)
    CONTROL=silence    the same without a frame of flood: what the machine does to the sessions by itself
    CONTROL=linux      the same with the Linux kernel as the router
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

pytestmark = [pytest.mark.storm, pytest.mark.alone]

FLOOD = Path(__file__).with_name("flood.py")
FLOOD_PPS = int(os.environ.get("FLOOD_PPS", "15000"))
DURATION = os.environ.get("DURATION")
CONTROL = os.environ.get("CONTROL", "")
STALL_S = 0.3

SESSIONS = """
nodes:
  bad:
    kind: host
    interfaces: {eth0: [10.1.0.2/16]}
    routes: [default via 10.1.0.1]
  r:
    kind: $ROUTER
    daemon: frr
    interfaces:
      p0: [10.1.0.1/16]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: [10.4.0.1/24]
    asn: 65001
    daemons: [staticd, bgpd, bfdd, ospfd, ospf6d]
    ospf: [p1, p2]
    neighbors:
      - {address: 10.2.0.2, asn: 65002, options: [bfd, timers 3 9]}
      - {address: 10.4.0.2, asn: 65003, options: [bfd, timers 3 9]}
$LIMITS
  peer:
    kind: router
    daemon: frr
    interfaces: {p1: [10.2.0.2/24, "fd00:2::2/64"], lo: [10.3.0.2/32]}
    asn: 65002
    daemons: [staticd, bgpd, bfdd, ospfd, ospf6d]
    ospf: [p1]
    neighbors: [{address: 10.2.0.1, asn: 65001, options: [bfd, timers 3 9]}]
    networks: [10.3.0.2/32]
  birdr:
    kind: router
    daemon: bird
    interfaces: {p2: [10.4.0.2/24]}
    config: |
      router id 10.4.0.2;
      protocol device {}
      protocol kernel { ipv4 { export where source !~ [RTS_STATIC]; }; }
      protocol static { ipv4; route 10.5.0.0/24 blackhole; }
      protocol bfd { interface "p2" { min rx interval 300 ms; min tx interval 300 ms; multiplier 3; }; }
      protocol ospf v2 { ipv4; area 0 { interface "p2" { hello 1; dead 4; }; }; }
      protocol bgp { local as 65003; neighbor 10.4.0.1 as 65001; hold time 9; bfd on;
                     connect delay time 1; connect retry time 1; error wait time 1, 2;
                     ipv4 { import all; export where source = RTS_STATIC; next hop self; }; }
links:
  - [bad:eth0, r:p0]
  - [r:p1, peer:p1]
  - [r:p2, birdr:p2]
"""
LIMITS = """
    set:
      - set punt neighbor rate 500 burst 100
      - set punt other rate 1000 burst 200
      - set icmp rate 100 burst 10
"""
PEERS = {"peer": "10.2.0.2", "birdr": "10.4.0.2"}
ALL = ["local", "ttl", "glean", "arp", "martian", "fragment", "option", "icmp"]
FLOODS = [([kind], float(DURATION)) for kind in ALL] + [(ALL, float(DURATION))] if DURATION else \
    [([kind], 3.0) for kind in ("local", "ttl", "arp", "martian")] + [(ALL, 15.0)]


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    linux = CONTROL == "linux"
    lab = labs(SESSIONS.replace("$LIMITS", "" if linux else LIMITS), "router" if linux else "kamuee")
    for port, (name, address) in zip(("p1", "p2"), PEERS.items()):
        ours = address[:-1] + "1"
        assert_reaches(lab[name], ours)
        # All namespaces share one neighbor table, which the flood fills: this test is not about the peers.
        mac = lab["r"].ip_json(f"link show dev {port}")[0]["address"]
        for address, to in ((ours, mac), ("224.0.0.5", "01:00:5e:00:00:05"), ("224.0.0.6", "01:00:5e:00:00:06")):
            lab[name].ip(f"neigh replace {address} lladdr {to} dev {port} nud permanent")
    eventually(lambda: sessions_are_up(lab), 120, lambda: lab["r"].vtysh("show bfd peers", "show bgp summary",
                                                                        "show ip ospf neighbor"), 0.2)
    return lab


def bfd_of(node) -> dict[str, dict]:
    return {peer["peer"]: peer for peer in node.frr.json("show bfd peers")}


def bgp_of(node, of: str) -> dict:
    return node.frr.json(f"show bgp neighbors {of}")[of]


def ospf_of(node) -> dict[str, dict]:
    """By address of the neighbor."""
    found = [one for more in node.frr.json("show ip ospf neighbor detail")["neighbors"].values() for one in more]
    return {one["ifaceAddress"]: one for one in found}


def sessions_are_up(lab) -> bool:
    bfd, ospf = bfd_of(lab["r"]), ospf_of(lab["r"])
    return (bfd_of(lab["peer"])["10.2.0.1"]["status"] == "up"
            and all(bfd[of]["status"] == "up" and ospf[of]["nbrState"].startswith("Full")
                    and bgp_of(lab["r"], of)["bgpState"] == "Established" for of in PEERS.values()))


def flaps(lab) -> dict[str, int]:
    """How often each session went down so far, by both ends where they are FRR."""
    found = {}
    ospf = ospf_of(lab["r"])
    for node, peers in ((lab["r"], PEERS.values()), (lab["peer"], ["10.2.0.1"])):
        counters = {peer["peer"]: peer for peer in node.frr.json("show bfd peers counters")}
        for of in peers:
            found[f"bfd {node.name} {of}"] = counters[of]["session-down"]
            found[f"bgp {node.name} {of}"] = bgp_of(node, of)["connectionsDropped"]
    for of in PEERS.values():
        found[f"ospf r {of}"] = ospf[of]["stateChangeCounter"]
    return found


def neighbors(lab) -> str:
    return "\n".join(lab["r"].ip(f"-s neigh show dev {port}") for port in ("p1", "p2"))


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
    rate = 0 if CONTROL == "silence" else FLOOD_PPS
    sender = lab["bad"].popen([sys.executable, str(FLOOD), "eth0", mac, str(rate), *kinds],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert sender.stdout.readline() == b"ready\n"
    with Witness() as witness:
        pinging = Pinging(lab["peer"], "10.2.0.1", 0.05)
        time.sleep(seconds)                            # what is tested is that nothing happens in it
        n_sent = int(sender.communicate(b"\n", timeout=PATIENCE_S)[0])
        answered = pinging.stop()
    assert answered.received > 0, answered.said
    print(f"{'+'.join(kinds)}: {n_sent} frames in {seconds:.0f} s; pings to us: {answered.sent} sent, {answered.received} answered; "
          f"the machine's longest stall {witness.longest_s:.3f} s")
    return n_sent, witness.longest_s


@pytest.mark.skipif(CONTROL == "linux", reason="a control run")
def test_groups_of_routing_protocols_stay_in_the_kernels_table(lab):
    """A flood that fills the neighbor table would take them out, and OSPF would have no address to send a hello to."""
    for port in ("p1", "p2"):
        for group in ("224.0.0.5", "ff02::5"):
            eventually(lambda: "extern_learn" in lab["r"].ip(f"neigh show {group} dev {port} nud noarp"), what=f"{group} on {port}")


def assert_sessions_were_spared(before: dict, now: dict) -> None:
    for name in ("bfd", "routing"):
        assert (now[name]["policed"], now[name]["queue-full"]) == (before[name]["policed"], before[name]["queue-full"]), name
        assert now[name]["passed"] > before[name]["passed"], name


@pytest.mark.rfc("6192", "3", "MAY")
@pytest.mark.parametrize("kinds, seconds", FLOODS, ids=[kinds[0] if len(kinds) == 1 else "all" for kinds, _ in FLOODS])
def test_sessions_stay_up_under_a_flood(lab, kinds, seconds):
    eventually(lambda: sessions_are_up(lab), 60, lambda: lab["r"].vtysh("show bfd peers"), 0.2)
    before, was = flaps(lab), CONTROL != "linux" and punt(lab)
    n_sent, stall_s = flood(lab, kinds, seconds)
    if was:
        assert_sessions_were_spared(was, punt(lab))
    assert n_sent > 0 or CONTROL == "silence"
    now = flaps(lab)
    assert now == before or stall_s >= STALL_S, f"{before} -> {now}; the longest stall of the machine was {stall_s:.2f} s;\n{neighbors(lab)}"
    eventually(lambda: sessions_are_up(lab), 60)
    assert ping(lab["bad"], "10.1.0.1", 3, 0.2).received > 0


@pytest.mark.skipif(bool(CONTROL), reason="a control run")
def test_what_was_too_much_was_counted(lab):
    """After the floods above."""
    found, drops = punt(lab), measure.drops(lab["r"])
    assert found["other"]["policed"] + found["other"]["queue-full"] > 0, found
    assert found["neighbor"]["policed"] + found["neighbor"]["queue-full"] > 0, found
    for reason in ("punt_policed", "ip4_ttl", "ip4_martian_src", "ip4_martian_dst"):
        assert drops.get(reason), drops
    assert measure.client(lab["r"]).state("icmp")["limited"] > 0
