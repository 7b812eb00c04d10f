# SPDX-License-Identifier: BSD-3-Clause
"""Eight virtual routers leave by one shaped port: nobody's guarantee suffers from what the others do.

    a1 ... a7 -- swa (a bridge) -- p0 r p1 -- swb (a bridge) -- b1 ... b8
                              a8 -- p2

    SECONDS=30                 how long the flood of small frames lasts (default: 8)
    RECONFIGURATIONS=1000      how often the queue is configured under load (default: 100)
"""
import dataclasses
import json
import os
import random
import selectors
import signal
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

from stream import opened_receiver
from support import PATIENCE_S, Router, assert_reaches, eventually
from test_flood import STALL_S, Witness

pytestmark = pytest.mark.alone

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
        lab[name].ip("link add br0 type bridge")
        for i in range(n):
            lab[name].ip(f"link set dev e{i} master br0")
        lab[name].ip("link set dev br0 up")
    for i in range(1, N + 1):
        assert_reaches(lab[f"a{i}"], "10.2.0.2")
    return lab


# --- streams of numbered packets, all in one process --------------------------------------------

FORK = get_context("fork")
PAYLOAD = 1000
WIRE_BITS = 8 * (PAYLOAD + 8 + 20 + 14 + 4 + 24)  # UDP, IPv4, Ethernet, VLAN tag, and the overhead that rates count
LATE_S = 0.02                                     # a sender that the machine did not run does not make up for more


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
        if wanted is not None and (now - quiet > 2 or [len(s) for s in seen] == wanted):
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
        for process in self.processes:
            process.join()
        for sock in self.receiving + self.sending:
            sock.close()
        return {i: Got(n, *one) for i, n, one in zip(self.of, sent, got)}


class Flood:
    """Frames of 64 bytes from host a1 to host b1."""

    def __init__(self, lab, per_s: int):
        mac = lab["r"].ip_json("link show dev p0")[0]["address"]
        self.sink = in_namespace(lab["b1"].namespace.name, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.sink.bind(("", 9))                   # so that the host does not answer
        self.proc = lab["a1"].popen([sys.executable, str(FLOOD), "eth0", mac, str(per_s), "transit"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.proc.stdout.readline() == b"ready\n"

    def end(self) -> int:
        n = int(self.proc.communicate(b"\n", timeout=PATIENCE_S)[0])
        self.sink.close()
        return n


# --- what the queue says ---

def queue_of(router) -> dict:
    return next(q for q in router.entries("queue") if q["port"] == "p1")


def dropped(router) -> dict[str, int]:
    """Packets by virtual router."""
    return {vr["name"]: sum(int(n) for k in vr["class"] for n in k["dropped"].values()) for vr in queue_of(router)["vr"]}


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
    router.configure("set port p1 queue rate 40M", *vr_lines(guarantee="4M"))
    for _ in range(3):
        eventually(lambda: all_up(sessions), 60, lambda: sessions[0][0].vtysh("show bfd peers", "show bgp summary"), 0.2)
        before, missed, drops = flaps(sessions), rx_missed(router), dropped(router)
        with Witness() as witness:
            flood = Flood(lab, 60_000)            # 42 Mb/s where 4 are guaranteed
            streams = Streams(lab, {i: 4e6 for i in range(2, N + 1)})
            time.sleep(SECONDS)                   # what is tested is that nothing happens in it
            got = streams.end()
            n_flood = flood.end()
        now, missed, stall_s = flaps(sessions), rx_missed(router) - missed, witness.longest_s
        print(f"flood: {n_flood} frames in {SECONDS:.0f} s, {dropped(router)['v1'] - drops['v1']} dropped; rx missed {missed}; the others: "
              + ", ".join(f"{100 * g.received / g.sent:.2f} % of {g.sent}" for g in got.values())
              + f"; the machine's longest stall {stall_s:.3f} s")
        print(measure.drops(lab["r"]), [(v["name"], v["rate"], v["guaranteed-bytes"], [(k["class"], k["dropped"], k["sent-packets"], k.get("delay-max")) for k in v["class"] if k["sent-packets"]]) for v in queue_of(router)["vr"]])
        print({t["core"]: {k: v for k, v in t.items() if k != "queue"} for t in router.state("thread") if t["role"] == "forwarder"})
        # What the machine does: kamueed or a daemon did not run for so long.
        if now == before and not missed or stall_s < STALL_S and not missed:
            break
    assert dropped(router)["v1"] - drops["v1"] > n_flood / 10
    assert all(g.received >= 0.99 * g.sent and g.sent > 0.9 * SECONDS * 4e6 / WIRE_BITS for g in got.values()), got
    assert now == before and all_up(sessions)


# --- TCP ----------------------------------------------------------------------------------------

def fluid(rate: float, guarantee: dict, maximum: dict, weight: dict) -> dict[int, float]:
    """min(M, G + W / sum of W * what no guarantee uses) of virtual routers that always have something to send."""
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
    "weights-fq-codel": ("fq-codel", {}, {}, {i: i for i in range(1, N + 1)}),
    "weights-codel": ("codel", {}, {}, {i: i for i in range(1, N + 1)}),
    "guarantees": ("fq-codel", {1: 10e6, 2: 5e6}, {8: 6e6}, {i: 1 + i % 4 for i in range(1, N + 1)}),
}


@pytest.fixture(scope="module")
def iperf(lab):
    """Servers in all hosts b."""
    for i in range(1, N + 1):
        lab[f"b{i}"].popen(["iperf3", "-s"])


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
        time.sleep(4)                             # slow start
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
    wanted = fluid(total * 8 / took_s, guarantee, maximum, weight)
    errors = {i: got[i] * 8 / took_s / wanted[i] - 1 for i in got}
    print(f"{discipline}: {total * 8 / took_s / 1e6:.2f} Mb/s; errors of the shares in percent: "
          + ", ".join(f"{100 * e:+.2f}" for e in errors.values()))
    assert all(abs(e) < 0.03 for e in errors.values()), errors
