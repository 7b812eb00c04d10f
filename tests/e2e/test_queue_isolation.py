# SPDX-License-Identifier: BSD-3-Clause
"""Eight virtual routers leave by one shaped port: nobody's guarantee suffers from what the others do.

    a1 ... a7 -- swa (a bridge) -- p0 r p1 -- swb (a bridge) -- b1 ... b8
                              a8 -- p2

    SECONDS=30                 how long the flood of small frames lasts (default: 8)
    RECONFIGURATIONS=1000      how often the queue is configured under load (default: 100)
"""
import dataclasses
import os
import random
import selectors
import socket
import struct
import subprocess
import sys
import time
from multiprocessing import get_context
from pathlib import Path

import pytest

from kamuee.lab import measure
from kamuee.lab.frr import Frr
from kamuee.lab.netns import in_namespace

from bulk import rtts, rtts_beside_bulk
from stream import opened_receiver
from support import PATIENCE_S, assert_reaches, bridge, eventually
from test_flood import STALL_S, Witness

pytestmark = [pytest.mark.storm, pytest.mark.alone]

FLOOD = Path(__file__).with_name("flood.py")
SECONDS = float(os.environ.get("SECONDS", "8"))
RECONFIGURATIONS = int(os.environ.get("RECONFIGURATIONS", "100"))
N = 8
VRS = [f"v{i}" for i in range(1, N + 1)]
BRIDGES = {"swa": N, "swb": N + 1}  # number of links


def lab_text() -> str:
    lines = ["nodes:"]
    for name, n in BRIDGES.items():
        lines += [f"  {name}:", "    kind: host", "    interfaces: {" + ", ".join(f"e{i}: []" for i in range(n)) + "}"]
    for i in range(1, N + 1):
        for name, net in ((f"a{i}", 1), (f"b{i}", 2)):
            lines += [f"  {name}:", "    kind: host", *([f"    vlan: {i}"] if name != "a8" else []),
                      f"    interfaces: {{eth0: [10.{net}.0.2/24]}}", f"    routes: [default via 10.{net}.0.1]"]
    lines += ["  r:", "    kind: kamuee", "    vrs: {" + ", ".join(f"v{i}: {{}}" for i in range(1, N + 1)) + "}",
              "    interfaces:", "      p0: []", "      p1: []", "      p2: {vr: v8, addresses: [10.1.0.1/24]}"]
    for i in range(1, N + 1):
        lines += [f"      i{i}: {{vlan: {i}, port: p0, vr: v{i}, addresses: [10.1.0.1/24]}}"] if i < N else []
        lines += [f"      o{i}: {{vlan: {i}, port: p1, vr: v{i}, addresses: [10.2.0.1/24]}}"]
    lines += ["links:", "  - [r:p0, swa:e0]", "  - [r:p1, swb:e0]", "  - [r:p2, a8:eth0]"]
    lines += [f"  - [a{i}:eth0, swa:e{i}]" for i in range(1, N)] + [f"  - [b{i}:eth0, swb:e{i}]" for i in range(1, N + 1)]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(lab_text())
    for name, n in BRIDGES.items():
        bridge(lab[name], *(f"e{i}" for i in range(n)))
    for i in range(1, N + 1):
        assert_reaches(lab[f"a{i}"], "10.2.0.2")
    return lab


# --- streams of numbered packets, all in one process --------------------------------------------

FORK = get_context("fork")
PAYLOAD = 1000
WIRE_BITS = 8 * (PAYLOAD + 8 + 20 + 14 + 4 + 24)  # UDP, IPv4, Ethernet, VLAN tag, and the overhead that rates count
LATE_S = 0.02                                     # a sender that the machine did not run does not make up for more

QUIET_S = 1.5                                     # after which what is missing is lost


@dataclasses.dataclass
class Got:
    sent: int
    received: int
    again: int                                    # received before, or after a higher number
    longest_s: float                              # between two packets

    @property
    def lost(self) -> int:
        return self.sent - self.received


def _send(socks, periods, ended, pipe) -> None:
    os.nice(-15)                                  # a sender that is late sends a burst, which waits for its own rate
    numbers, due = [0] * len(socks), [time.monotonic()] * len(socks)
    pipe.send(None)
    while not ended.is_set():
        now = time.monotonic()
        for i, sock in enumerate(socks):
            due[i] = max(due[i], now - LATE_S)
            while due[i] <= now:
                try:
                    sock.send(struct.pack("!Q", numbers[i]) + bytes(PAYLOAD - 8))
                except OSError:
                    pass                          # counts as lost
                numbers[i] += 1
                due[i] += periods[i]
        time.sleep(0.001)
    pipe.send(numbers)


def _receive(socks, pipe) -> None:
    selector = selectors.DefaultSelector()
    for i, sock in enumerate(socks):
        sock.setblocking(False)
        selector.register(sock, selectors.EVENT_READ, i)
    seen = [set() for _ in socks]
    again, last, longest, highest = [0] * len(socks), [0.0] * len(socks), [0.0] * len(socks), [-1] * len(socks)
    wanted, quiet = None, 0.0
    pipe.send(None)
    while True:
        ready = selector.select(0.05)
        now = time.monotonic()
        for key, _ in ready:
            i = key.data
            for _ in range(64):
                try:
                    number, = struct.unpack_from("!Q", key.fileobj.recv(2048))
                except BlockingIOError:
                    break
                again[i] += number <= highest[i]
                highest[i] = max(highest[i], number)
                seen[i].add(number)
            longest[i], last[i] = max(longest[i], now - last[i] if last[i] else 0), now
        if wanted is None and pipe.poll():
            wanted, quiet = pipe.recv(), now
        quiet = now if ready else quiet
        if wanted is not None and (now - quiet > QUIET_S or [len(s) for s in seen] == wanted):
            break
    pipe.send([(len(s), a, l) for s, a, l in zip(seen, again, longest)])


class Streams:
    """UDP from host aI to host bI, {I: bits a second on the wire}, until end(); what came of it is by I."""

    def __init__(self, lab, rates: dict[int, float], port: int = 7000):
        self.of = list(rates)
        self.receiving = [in_namespace(lab[f"b{i}"].namespace.name, lambda: opened_receiver(port)) for i in rates]
        self.sending = [in_namespace(lab[f"a{i}"].namespace.name, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for i in rates]
        for sock in self.sending:
            sock.connect(("10.2.0.2", port))
        self.ended = FORK.Event()
        self.to_sender, sender = FORK.Pipe()
        self.to_receiver, receiver = FORK.Pipe()
        self.processes = [FORK.Process(target=_receive, args=(self.receiving, receiver), daemon=True),
                          FORK.Process(target=_send, args=(self.sending, [WIRE_BITS / rate for rate in rates.values()], self.ended, sender),
                                       daemon=True)]
        for process in self.processes:
            process.start()
        self.to_receiver.recv(), self.to_sender.recv()

    def end(self) -> dict[int, Got]:
        self.ended.set()
        sent = self.to_sender.recv()
        self.to_receiver.send(sent)
        got = self.to_receiver.recv()
        return {i: Got(n, *one) for i, n, one in zip(self.of, sent, got)}

    def __enter__(self) -> "Streams":
        return self

    def __exit__(self, *_) -> None:
        for process in self.processes:
            process.kill()
            process.join()
        for sock in self.receiving + self.sending:
            sock.close()


class Flood:
    """Frames of 64 bytes from host a1 to host b1."""

    def __init__(self, lab, per_s: int):
        mac = lab["r"].ip_json("link show dev p0")[0]["address"]
        self.sink = in_namespace(lab["b1"].namespace.name, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.sink.bind(("", 9))                   # so that the host does not answer
        # At low priority: this is a test of the router, not of the scheduler of this machine.
        self.proc = lab["a1"].popen(["nice", "-n", "19", sys.executable, str(FLOOD), "eth0", mac, str(per_s), "transit"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.proc.stdout.readline() == b"ready\n"

    def end(self) -> int:
        n = int(self.proc.communicate(b"\n", timeout=PATIENCE_S)[0])
        self.sink.close()
        return n


# --- the queue's state ---

def queue_of(router) -> dict:
    return next(q for q in router.entries("queue") if q["port"] == "p1")


def waiting(router) -> int:
    return int(queue_of(router)["waiting-packets"])


def dropped(router) -> dict[str, int]:
    """Packets by virtual router."""
    return {vr["name"]: sum(int(n) for k in vr["class"] for n in k["dropped"].values()) for vr in queue_of(router)["vr"]}


def came_in(router, interface: str) -> int:
    return next(int(one["statistics"]["rx-packets"]) for one in router.entries("interface") if one["name"] == interface)


def vr_lines(**values) -> list[str]:
    """The same for each virtual router, or {number: value}."""
    return [f"set port p1 queue vr v{i} {leaf} {value[i] if isinstance(value, dict) else value}"
            for leaf, value in values.items() for i in range(1, N + 1) if not isinstance(value, dict) or i in value]


def rx_missed(router) -> int:
    return sum(int(port["statistics"]["rx-missed"]) for port in router.entries("port"))


# --- one floods, seven stay within their guarantees ---------------------------------------------

SESSIONS_OF = (2, 3)                              # virtual routers with BGP and BFD through the shaped port
FRR = """frr defaults traditional
router bgp {asn}
 bgp router-id 10.2.0.{we}
 no bgp ebgp-requires-policy
 neighbor 10.2.0.{they} remote-as {other}
 neighbor 10.2.0.{they} timers 3 9
 neighbor 10.2.0.{they} timers connect 1
 neighbor 10.2.0.{they} bfd
exit
"""


@pytest.fixture(scope="module")
def sessions(lab):
    """FRR of the virtual routers and of the hosts behind: [(FRR, address of its neighbor)]."""
    found = []
    for i in SESSIONS_OF:
        for node, namespace, we, they in ((lab["r"], lab["r"].vrs[f"v{i}"], 1, 2), (lab[f"b{i}"], lab[f"b{i}"].namespace, 2, 1)):
            text = FRR.format(asn=65000 + we, other=65000 + they, we=we, they=they)
            frr = Frr(dataclasses.replace(node.node, config=text, daemons=["bgpd", "bfdd"]), namespace)
            frr.start()
            found.append((frr, f"10.2.0.{they}"))
    return found


def all_up(sessions) -> bool:
    return all(frr.json("show bfd peers")[0]["status"] == "up" and frr.json(f"show bgp neighbors {of}")[of]["bgpState"] == "Established"
               for frr, of in sessions)


def flaps(sessions) -> list[tuple[int, int]]:
    return [(frr.json("show bfd peers counters")[0]["session-down"], frr.json(f"show bgp neighbors {of}")[of]["connectionsDropped"])
            for frr, of in sessions]


def test_seven_keep_their_guarantees_and_sessions_while_one_floods(lab, router, sessions):
    router.configure("set port p1 queue rate 17M", *vr_lines(guarantee="2M"), "set port p1 queue vr v1 weight 128",
                     # What a sender that the machine did not run sends at once may wait; CoDel would drop of it.
                     "set queue-profile plain class 6 discipline tail-drop", *vr_lines(profile={i: "plain" for i in range(2, N + 1)}))
    eventually(lambda: all_up(sessions), 60, lambda: sessions[0][0].vtysh("show bfd peers", "show bgp summary"), 0.2)
    before, missed, drops = flaps(sessions), rx_missed(router), dropped(router)
    came = came_in(router, "i1")
    flood = Flood(lab, 50_000)                # 35 Mb/s where 2 are guaranteed and 1 is left; 5 on a busy machine
    with Witness() as witness, Streams(lab, {i: 2e6 for i in range(2, N + 1)}) as streams:
        time.sleep(SECONDS)                   # what is tested is that nothing happens in it
        came, lost = came_in(router, "i1") - came, dropped(router)["v1"] - drops["v1"]      # later it has the whole port
        got = streams.end()
        flood.end()
    now, missed, stall_s = flaps(sessions), rx_missed(router) - missed, witness.longest_s
    print(f"flood: {came} frames in {SECONDS:.0f} s, {lost} dropped; rx missed {missed}; the others: "
          + ", ".join(f"{100 * g.received / g.sent:.2f} % of {g.sent}" for g in got.values())
          + f"; the machine's longest stall {stall_s:.3f} s")
    assert lost > came / 10
    assert all(g.received + missed >= 0.99 * g.sent and g.sent > 0.9 * SECONDS * 2e6 / WIRE_BITS for g in got.values()), (missed, got)
    assert now == before or stall_s >= STALL_S, f"a session went down, and the machine ran: {before} -> {now}"


# --- TCP ----------------------------------------------------------------------------------------

def fluid(rate: float, guarantee: dict, maximum: dict, weight: dict) -> dict[int, float]:
    """min(M, G + W / sum of W * bandwidth not used by guarantees) of virtual routers that always have packets to send."""
    got, at_most = {}, {i: maximum.get(i, rate) for i in weight}
    while True:
        rest = rate - sum(got.values()) - sum(guarantee.get(i, 0) for i in weight if i not in got)
        total = sum(w for i, w in weight.items() if i not in got)
        share = {i: guarantee.get(i, 0) + w * rest / total for i, w in weight.items() if i not in got}
        full = {i: at_most[i] for i in share if share[i] > at_most[i]}
        if not full:
            return got | share
        got |= full


TCP = {
    "weights": ("fq-codel", {}, {}, {i: i for i in range(1, N + 1)}),
    "guarantees": ("codel", {1: 10e6, 2: 5e6}, {8: 6e6}, {i: 1 + i % 4 for i in range(1, N + 1)}),
}


def beside(got: float, least: float, most: float) -> float:
    """Fraction by which it is outside the two bounds, which may be in either order."""
    least, most = sorted((least, most))
    return got / least - 1 if got < least else max(0.0, got / most - 1)


@pytest.fixture(scope="module")
def iperf(lab):
    """Servers in all hosts b."""
    for i in range(1, N + 1):
        lab[f"b{i}"].popen(["iperf3", "-s"])
    for i in range(1, N + 1):
        eventually(lambda: ":5201 " in lab[f"b{i}"].run("ss -ltn"), what=f"the iperf3 server of b{i} listens")


def arrived(lab) -> dict[int, int]:
    """Bytes at the hosts b, as rates count them."""
    rx = {i: lab[f"b{i}"].ip_json("-s link show dev eth0")[0]["stats64"]["rx"] for i in range(1, N + 1)}
    return {i: of["bytes"] + 24 * of["packets"] for i, of in rx.items()}


@pytest.mark.parametrize("discipline, guarantee, maximum, weight", TCP.values(), ids=TCP.keys())
def test_tcp_shares_as_the_formula_says(lab, router, iperf, discipline, guarantee, maximum, weight):
    rate = 80e6
    router.configure(f"set queue-profile tcp class 6 discipline {discipline}", "set port p1 queue profile tcp", f"set port p1 queue rate {rate:.0f}",
                     *vr_lines(weight=weight, guarantee={i: f"{g:.0f}" for i, g in guarantee.items()},
                               maximum={i: f"{m:.0f}" for i, m in maximum.items()}))
    clients = [lab[f"a{i}"].popen(["iperf3", "-c", "10.2.0.2", "-t", "60", "-P", "4", "-C", "cubic"]) for i in range(1, N + 1)]
    try:
        time.sleep(3)                             # slow start
        before, begun = arrived(lab), time.monotonic()
        time.sleep(8)                             # shares over that time are what is tested
        after, took_s = arrived(lab), time.monotonic() - begun
        assert all(client.poll() is None for client in clients)
    finally:
        for client in clients:
            client.kill()
            client.wait()
    got = {i: after[i] - before[i] for i in after}
    total = sum(got.values())
    # While the machine does not run kamueed, nothing is sent: a rate that is lower for the rest, or all rates lower alike.
    lower, alike = fluid(total * 8 / took_s, guarantee, maximum, weight), fluid(rate, guarantee, maximum, weight)
    errors = {i: beside(got[i] * 8 / took_s, lower[i], alike[i] * total * 8 / took_s / rate) for i in got}
    print(f"{discipline}: {total * 8 / took_s / 1e6:.2f} Mb/s; errors of the shares in percent: "
          + ", ".join(f"{100 * (got[i] * 8 / took_s / lower[i] - 1):+.2f}" for i in got))
    assert total * 8 / took_s < 1.005 * rate
    assert all(abs(e) < 0.03 for e in errors.values()), errors


# --- reconfiguration ----------------------------------------------------------------------------

PROFILES = ["set queue-profile tail class 6 discipline tail-drop",
            "set queue-profile codel class 6 discipline codel", "set queue-profile codel class 6 ecn true",
            "set queue-profile flows class 6 discipline fq-codel", "set queue-profile flows class 6 flows 64",
            "set queue-profile strict class 6 strict", "set queue-profile strict class 6 rate-percent 50"]
# 500 kb/s each; guarantees, reservations and limits below never take away the needed rate.
QUIET = (2, 3, 8)


def random_lines(rnd: random.Random, cores: list[int]) -> list[str]:
    """One or two values of the queue, within what the quiet ones need."""
    def one() -> str:
        i, loud = rnd.randrange(1, N + 1), rnd.choice([i for i in range(1, N + 1) if i not in QUIET])
        return rnd.choice([
            f"set port p1 queue rate {rnd.randrange(12_000_000, 40_000_000)}",
            f"set port p1 queue vr v{i} weight {rnd.randrange(1, 129)}",
            f"set port p1 queue vr v{loud} guarantee {rnd.randrange(100_000, 1_000_000)}",
            f"set port p1 queue vr v{loud} maximum {rnd.randrange(1_000_000, 20_000_000)}",
            f"set port p1 queue vr v{loud} limit {rnd.randrange(20_000, 500_000)}",
            f"set port p1 queue vr v{loud} reserve {rnd.randrange(100)}",
            f"set port p1 queue vr v{loud} profile {rnd.choice(['tail', 'codel', 'flows', 'strict'])}",
            f"set port p1 queue vr v{i} profile {rnd.choice(['tail', 'flows'])}",
            f"set port p1 queue profile {rnd.choice(['default', 'tail', 'codel', 'flows', 'strict'])}",
            f"set queue-profile codel class 6 target {rnd.randrange(1, 20)}ms",
            f"set queue-profile flows class 6 flows {1 << rnd.randrange(1, 11)}",
            f"set port p1 queue packets {rnd.randrange(2000, 4000)}",
            f"set port p1 queue overhead {rnd.randrange(20, 28)}",
            f"set port p1 queue core {rnd.choice(cores)}"])
    return [one() for _ in range(rnd.randrange(1, 3))]


@pytest.fixture
def two_forwarders(router):
    """Core 0 polls p0, core 1 the others."""
    router.configure("set thread 0 forwarder port p0 rx-queue 0", "set thread 1 forwarder port p1 rx-queue 0",
                     "set thread 1 forwarder port p2 rx-queue 0")
    return [0, 1]


def test_reconfiguration_loses_nothing(lab, router, two_forwarders):
    rnd = random.Random(26)
    router.configure("set port p1 queue rate 20M", *PROFILES, *vr_lines(guarantee={i: "1M" for i in QUIET}, profile={i: "flows" for i in QUIET}))
    missed = rx_missed(router)
    with Streams(lab, {i: 5e5 if i in QUIET else 8e6 for i in range(1, N + 1)}) as streams:
        n_changes, begun = 0, time.monotonic()
        for _ in range(RECONFIGURATIONS):
            n_changes += bool(router.configure(*random_lines(rnd, two_forwarders)))
            time.sleep(0.02)
        took_s = time.monotonic() - begun
        got = streams.end()
    drops, missed = dropped(router), rx_missed(router) - missed
    print(f"{n_changes} changes in {took_s:.1f} s; lost: {({i: g.lost for i, g in got.items()})}; dropped by name: {drops}; rx missed {missed}; "
          f"out of order: {({i: g.again for i, g in got.items() if g.again})}; {measure.drops(lab['r'])}")
    assert n_changes > RECONFIGURATIONS * 0.8
    assert all(got[i].lost == 0 for i in QUIET), got
    assert all(g.received > 0.05 * g.sent and g.again == 0 for g in got.values()), got
    assert sum(g.lost for g in got.values()) <= sum(drops.values()) + missed


# --- two forwarders -----------------------------------------------------------------------------

def test_owner_and_feeder_share_as_the_weights_say(lab, router, two_forwarders):
    """v8's packets arrive where the owner polls; all others, nine tenths of the packets, where the other forwarder polls."""
    router.configure("set port p1 queue rate 20M", "set port p1 queue core 1", *vr_lines(weight={i: i for i in range(1, N + 1)}))
    assert queue_of(router)["core"] == 1
    missed, drops = rx_missed(router), sum(measure.drops(lab["r"]).values())
    with Streams(lab, {i: 6e6 for i in range(1, N + 1)}) as streams:
        time.sleep(1)                                 # until all have something to send
        before = sent_bytes(router)
        time.sleep(5)
        after = sent_bytes(router)
        got = streams.end()
    shares = {i: after[f"v{i}"] - before[f"v{i}"] for i in range(1, N + 1)}
    errors = {i: n / sum(shares.values()) / (i / 36) - 1 for i, n in shares.items()}
    print("errors of the shares in percent: " + ", ".join(f"{100 * e:+.2f}" for e in errors.values()))
    assert all(abs(e) < 0.03 for e in errors.values()), errors
    missed, drops = rx_missed(router) - missed, sum(measure.drops(lab["r"]).values()) - drops
    assert sum(g.lost for g in got.values()) <= drops + missed
    assert all(g.again == 0 for g in got.values()), got


def sent_bytes(router) -> dict[str, int]:
    return {vr["name"]: sum(int(k["sent-bytes"]) for k in vr["class"]) for vr in queue_of(router)["vr"]}


def test_the_owner_moves_without_loss(lab, router, two_forwarders):
    router.configure("set port p1 queue rate 20M", *vr_lines(guarantee={2: "2M", 8: "2M"}, weight={i: 1 for i in range(3, 8)}))
    with Streams(lab, {2: 1e6, 8: 1e6, **{i: 8e6 for i in (3, 4, 5)}}) as streams:
        owners = []
        for n in range(20):
            router.configure(f"set port p1 queue core {n % 2}")
            owners.append(queue_of(router)["core"])
            time.sleep(0.1)
        got = streams.end()
    print(f"owners {owners}; lost {({i: g.lost for i, g in got.items()})}, out of order {({i: g.again for i, g in got.items()})}; "
          f"longest gap {max(got[i].longest_s for i in (2, 8)):.3f} s")
    assert owners == [0, 1] * 10
    assert all(got[i].lost == 0 for i in (2, 8)), got
    assert all(g.again == 0 for g in got.values()), got


# --- RTT beside bulk TCP: Kamuee and Linux's HTB with fq_codel -----------------------------------

def test_rtt_under_load_is_no_worse_than_linux_makes_it(lab, router, iperf):
    """On the same machine; a3 is the source, swb's link to b3 is what Linux shapes."""
    router.configure("set port p1 queue rate 20M")
    ours = rtts_beside_bulk(lab["a3"].run, lab["a3"].popen, "10.2.0.2", lambda: waiting(router))
    router.configure("delete port p1 queue")
    bare = rtts(lab["a3"].run, "10.2.0.2", 50)
    print(f"RTT in ms, p50 and p99: kamuee {ours}; without load and queue, median and longest: {bare[25], bare[-1]}")
    lab["swb"].run("tc qdisc add dev e3 root handle 1: htb default 1 r2q 100")
    try:
        lab["swb"].run("tc class add dev e3 parent 1: classid 1:1 htb rate 20mbit")
        lab["swb"].run("tc qdisc add dev e3 parent 1:1 fq_codel", check=False)
        if "fq_codel" not in lab["swb"].run("tc qdisc show dev e3"):
            # Then by itself: more than the target of CoDel beside others' packets would be no flow queue.
            assert ours[0] < bare[25] + 10, ours
            pytest.skip("this kernel has no fq_codel to compare with: tests/vm/test_newer_kernel.py has")
        linux = rtts_beside_bulk(lab["a3"].run, lab["a3"].popen, "10.2.0.2",
                                 lambda: "backlog 0b" not in lab["swb"].run("tc -s class show dev e3"))
    finally:
        lab["swb"].run("tc qdisc del dev e3 root")
    print(f"RTT in ms, p50 and p99: kamuee {ours}; linux {linux}")
    # The design's goal is 20 % and 1 ms; this must hold on any machine.
    assert ours[0] < 2 * linux[0] + 5 and ours[1] < 2 * linux[1] + 5, (ours, linux)


# --- ports and virtual routers come and go while packets wait -------------------------------------

SLOW = ["set queue-profile tail class 6 discipline tail-drop", "set queue-profile tail class 6 limit 500k",
        "set port p1 queue profile tail", "set port p1 queue rate 200k"]


def fill(lab, router) -> None:
    """Hundreds of packets that will take seconds to leave, of all virtual routers."""
    router.configure(*SLOW)
    with Streams(lab, {i: 1e6 for i in range(1, N + 1)}):
        eventually(lambda: waiting(router) > 300, what="packets wait")


def assert_all_pass(lab, router) -> None:
    router.configure("set port p1 queue rate 20M")
    for i in range(1, N + 1):
        assert_reaches(lab[f"a{i}"], "10.2.0.2")
    eventually(lambda: waiting(router) == 0, what="nothing waits")
    with Streams(lab, {i: 1e6 for i in range(1, N + 1)}) as streams:
        time.sleep(0.5)
        got = streams.end()
    assert all(g.lost == 0 for g in got.values()), got


def test_link_of_a_shaped_port_flaps_under_load(lab, router):
    fill(lab, router)
    with Streams(lab, {i: 1e6 for i in range(1, N + 1)}):
        for _ in range(5):
            lab["r"].wire.ip("link set dev wp1 down")
            time.sleep(0.1)
            lab["r"].wire.ip("link set dev wp1 up")
            time.sleep(0.1)
    assert_all_pass(lab, router)


def test_shaped_port_is_stopped_and_started_under_load(lab, router):
    fill(lab, router)
    with Streams(lab, {i: 1e6 for i in range(1, N + 1)}):
        for _ in range(3):
            router.call("port-stop", name="p1")
            router.call("port-start", name="p1")
    lab["r"].set_up_interfaces()
    assert_all_pass(lab, router)


def without(text: str, *words: str) -> str:
    return "\n".join(line for line in text.splitlines() if not set(words) & set(line.split()))


@pytest.mark.parametrize("words", [("p1", *(f"o{i}" for i in range(1, N + 1))), ("v5", "i5", "o5")], ids=["port", "vr"])
def test_what_packets_wait_for_is_removed_and_comes_back(lab, router, two_forwarders, words):
    router.configure(*vr_lines(weight={i: i for i in range(1, N + 1)}), *SLOW)
    text = router.call("configuration")["text"]
    for _ in range(2):
        fill(lab, router)
        with Streams(lab, {i: 1e6 for i in range(1, N + 1)}):
            router.call("configure", replace=True, text=without(text, *words))
            time.sleep(0.1)
            router.assert_ledger()
            router.call("configure", replace=True, text=text)
        lab["r"].set_up_interfaces()
        eventually(lambda: queue_of(router)["active"], what="the port sends again")
    assert_all_pass(lab, router)


def test_queue_is_removed_while_packets_wait(lab, router):
    """They leave: nothing is lost."""
    router.configure(*SLOW)
    with Streams(lab, {i: 1e5 for i in range(1, N + 1)}) as streams:
        eventually(lambda: waiting(router) > 50, what="packets wait")
        router.configure("delete port p1 queue")
        got = streams.end()
    assert all(g.lost == 0 for g in got.values()), got


def test_kamueed_is_killed_while_packets_wait(lab, router):
    fill(lab, router)
    assert waiting(router) > 0
    lab["r"].proc.kill()
    lab["r"].proc.wait(PATIENCE_S)
    lab["r"].start_kamueed()
    for i in range(1, N + 1):
        assert_reaches(lab[f"a{i}"], "10.2.0.2")
    assert_all_pass(lab, router)


def test_kamueed_stops_in_order_while_packets_wait(lab, router):
    fill(lab, router)
    assert waiting(router) > 0
    lab["r"].stop_kamueed()
    assert lab["r"].proc.wait(PATIENCE_S) == 0, lab["r"].log.read_text()[-2000:]
    lab["r"].start_kamueed()
    for i in range(1, N + 1):
        assert_reaches(lab[f"a{i}"], "10.2.0.2")
