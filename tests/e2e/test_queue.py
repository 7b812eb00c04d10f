# SPDX-License-Identifier: BSD-3-Clause
"""A port with a queue: two virtual routers send by its sub-interfaces, and each gets its guarantee."""
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kamuee.lab.netns import in_namespace

from support import Router, eventually
from wire import packet_socket, receive

LAB = """
nodes:
  a: $HOST4(1)
  b: $HOST4(2)
  r:
    kind: kamuee
    vrs: {red: {}, blue: {}}
    interfaces:
      pa: {vr: red, addresses: [10.1.0.1/24]}
      pb: {vr: blue, addresses: [10.2.0.1/24]}
      p1: []
      v1: {vlan: 1, port: p1, vr: red, addresses: [10.91.0.1/24]}
      v2: {vlan: 2, port: p1, vr: blue, addresses: [10.92.0.1/24]}
  far:
    kind: host
    interfaces: {eth0: [10.9.0.2/24]}
links:
  - [a:eth0, r:pa]
  - [b:eth0, r:pb]
  - [r:p1, far:eth0]
"""
PROGRAM = Path(__file__).resolve().parents[2] / "kamuee"
RATE = "20M"
PAYLOAD = 1000
WIRE_BITS = 8 * (PAYLOAD + 8 + 20 + 14 + 4 + 24)  # UDP, IPv4, Ethernet, VLAN tag, and the overhead that rates count
ACROSS = {"a": "10.91.0.2", "b": "10.92.0.2"}
EF, DF = 46 << 2, 0
# Where other processes take a forwarder's core for a while, packets wait: a class that drops for its limit alone.
PATIENT = "set queue-profile q class 6 discipline tail-drop limit 2M"


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    mac = lab["far"].ip_json("link show dev eth0")[0]["address"]
    for vr, interface, address in (("red", "v1", "10.91.0.2"), ("blue", "v2", "10.92.0.2")):
        lab["r"].vrs[vr].ip(f"neigh replace {address} lladdr {mac} dev {interface} nud permanent")
    return lab


class Arrivals(threading.Thread):
    """Packets that reach the far host from its start on: [(when, VLAN, DSCP field, number of the packet)]."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self.sock = in_namespace(node.namespace.name, lambda: packet_socket("eth0"))
        self.sock.settimeout(0.2)
        self.frames: list[tuple[float, int, int, int]] = []
        self.over = False
        self.start()

    def run(self) -> None:
        while not self.over:
            try:
                frame, ours = receive(self.sock)
            except TimeoutError:
                continue
            if not ours and frame[12:14] == b"\x81\x00" and frame[16:18] == b"\x08\x00" and frame[27] == 17:
                self.frames.append((time.monotonic(), int.from_bytes(frame[14:16], "big") & 0xFFF, frame[19],
                                    int.from_bytes(frame[46:54], "big")))

    def of(self, vlan: int, since: float = 0.0, until: float = 1e18) -> list[tuple[float, int, int, int]]:
        return [frame for frame in self.frames if frame[1] == vlan and since <= frame[0] <= until]

    def stop(self) -> None:
        self.over = True
        self.join()
        self.sock.close()


@pytest.fixture
def arrivals(lab):
    found = Arrivals(lab["far"])
    yield found
    found.stop()


class Load:
    """Numbered packets from a host until the end of the block."""

    def __init__(self, node, target: str, per_s: int, tos: int = DF, size: int = PAYLOAD):
        code = f"""
import socket, struct, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, {tos})
sock.connect(({target!r}, 7000))
begun, number = time.monotonic(), 0
while True:
    pause = begun + number / {per_s} - time.monotonic()
    if pause > 0.001:
        time.sleep(pause)
    try:
        sock.send(struct.pack("!Q", number) + bytes({size} - 8))
    except OSError:
        pass
    number += 1
"""
        self.proc = node.popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.terminate()
        self.proc.wait()


@pytest.fixture
def router(lab):
    """Its queue is gone, and counters balance, after the test."""
    router = Router(lab["r"])
    before = router.call("configuration")["text"]
    yield router
    router.call("configure", replace=True, text=before)
    assert router.entries("queue") == []
    eventually(lambda: router.state("ledger")["imbalance"] == 0, what="the ledger balances")
    eventually(lambda: router.state("ledger")["held"] == 0, what="nothing is held any more")


def client(router, name: str) -> dict:
    return next(one for one in router.entries("queue")[0]["vr"] if one["name"] == name)


def used_class(router, vr: str, number: int) -> dict:
    return client(router, vr)["class"][number]


def test_who_stays_within_its_guarantee_loses_nothing_while_another_floods(lab, router, arrivals):
    router.configure(f"set port p1 queue rate {RATE}", "set port p1 queue vr blue guarantee 2M", PATIENT, "set port p1 queue vr red guarantee 10M profile q")
    with Load(lab["b"], ACROSS["b"], 5000):  # 43 Mb/s
        eventually(lambda: client(router, "blue")["waiting-packets"] > 50, what="blue has a backlog")
        before = used_class(router, "red", 6)["sent-packets"]
        with Load(lab["a"], ACROSS["a"], 300):  # 2.6 Mb/s
            eventually(lambda: len(arrivals.of(1)) >= 1000)
            # Each rate is of one second, and a shaper that the machine held up makes up for a part in the next.
            eventually(lambda: 18e6 <= sum(vr["rate"] for vr in router.entries("queue")[0]["vr"]) <= 20.5e6, what="the port is full, and not overfull")
        red = arrivals.of(1)
        assert [number for *_, number in red] == list(range(red[0][3], red[0][3] + len(red)))  # none is missing, in order
        parts = client(router, "red")["class"]
        assert not any(sum(part["dropped"].values()) for part in parts)
        assert used_class(router, "red", 6)["sent-packets"] - before >= 1000
        assert sum(used_class(router, "blue", 6)["dropped"].values()) > 0
        assert client(router, "red")["guaranteed-bytes"] > 0


def test_what_no_guarantee_uses_is_shared_by_weight(lab, router, arrivals):
    router.configure(f"set port p1 queue rate {RATE}", "set port p1 queue vr red weight 3", "set port p1 queue vr blue weight 1")
    with Load(lab["a"], ACROSS["a"], 4000), Load(lab["b"], ACROSS["b"], 4000):
        eventually(lambda: all(client(router, name)["waiting-packets"] > 20 for name in ("red", "blue")))
        before = {name: used_class(router, name, 6)["sent-bytes"] for name in ("red", "blue")}
        eventually(lambda: used_class(router, "blue", 6)["sent-bytes"] - before["blue"] > 1_500_000)
        sent = {name: used_class(router, name, 6)["sent-bytes"] - before[name] for name in ("red", "blue")}
    assert sent["red"] / sent["blue"] == pytest.approx(3, rel=0.15)


def test_a_maximum_holds_while_the_port_is_idle(lab, router, arrivals):
    router.configure(f"set port p1 queue rate {RATE}", "set port p1 queue vr red maximum 4M")
    with Load(lab["a"], ACROSS["a"], 2000):
        eventually(lambda: client(router, "red")["waiting-packets"] > 20)
        began, first = time.monotonic(), used_class(router, "red", 6)["sent-bytes"]
        eventually(lambda: used_class(router, "red", 6)["sent-bytes"] - first > 1_000_000)
        sent = used_class(router, "red", 6)["sent-bytes"] - first
        took = time.monotonic() - began
    assert sent * 8 <= 4e6 * took * 1.01 + 4 * WIRE_BITS


def test_telephony_overtakes_bulk_of_the_same_virtual_router(lab, router, arrivals):
    router.configure(f"set port p1 queue rate {RATE}")
    with Load(lab["a"], ACROSS["a"], 4000), Load(lab["a"], ACROSS["a"], 50, EF, 100):
        eventually(lambda: used_class(router, "red", 1)["sent-packets"] > 100)

        def measured() -> tuple[dict, dict] | bool:
            """Both classes, in a second in which waits of both were sampled."""
            voice, bulk = used_class(router, "red", 1), used_class(router, "red", 6)
            return "delay-p50" in voice and bulk.get("delay-p50", 0) > 0 and (voice, bulk)
        voice, bulk = eventually(measured)
    assert not any(voice["dropped"].values())
    assert voice["delay-p50"] < bulk["delay-p50"]
    numbers = [number for _, _, tos, number in arrivals.of(1) if tos == EF]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_every_value_changes_under_load_and_nothing_that_waits_is_lost(lab, router, arrivals):
    router.configure(f"set port p1 queue rate {RATE}", "set port p1 queue vr red guarantee 10M", PATIENT, "set port p1 queue profile q")
    with Load(lab["a"], ACROSS["a"], 300):  # 2.6 Mb/s
        eventually(lambda: len(arrivals.of(1)) > 100)
        for n in range(30):
            router.configure(f"set port p1 queue rate {15 + n % 5}M", f"set port p1 queue vr red guarantee {8 + n % 3}M weight {1 + n % 7}",
                             f"set port p1 queue overhead {24 if n % 2 else 20}")
        router.configure("set queue-profile q class 6 discipline fq-codel", "set queue-profile q class 4 limit 2M discipline tail-drop")
        router.configure("set class-map m dscp 0 class 4", "set port p1 queue class-map m")
        eventually(lambda: used_class(router, "red", 4)["sent-packets"] > 100)
        end = len(arrivals.of(1))
        eventually(lambda: len(arrivals.of(1)) > end + 100)
    numbers = [number for *_, number in arrivals.of(1)]
    assert sorted(numbers) == list(range(min(numbers), min(numbers) + len(numbers)))


def test_a_queue_that_is_removed_under_load_sends_what_waits(lab, router, arrivals):
    router.configure(f"set port p1 queue rate {RATE}", PATIENT, "set port p1 queue profile q")
    with Load(lab["a"], ACROSS["a"], 4000):
        eventually(lambda: client(router, "red")["waiting-packets"] > 50)
        router.configure("delete port p1 queue")
        assert router.entries("queue") == []
        had = len(arrivals.of(1))
        eventually(lambda: len(arrivals.of(1)) > had + 200)
    eventually(lambda: router.state("ledger")["held"] == 0)


def test_show_and_metrics_tell_what_was_sent_and_dropped(lab, router, arrivals):
    router.configure(f"set port p1 queue rate {RATE}", "set port p1 queue vr red guarantee 5M maximum 6M")
    with Load(lab["a"], ACROSS["a"], 2000):
        eventually(lambda: sum(used_class(router, "red", 6)["dropped"].values()) > 0)
        eventually(lambda: client(router, "red")["rate"] > 0)
    said = subprocess.run([str(PROGRAM), "--socket", str(lab["r"].socket), "show", "queue", "p1", "vr", "red"],
                          capture_output=True, text=True, check=True).stdout
    assert "Queue of p1\n  rate     20.0M\n" in said and "vr red" in said and "fq-codel ecn" in said and "class 6 dropped" in said
    text = router.metrics()
    for sample in ('kamuee_queue_rate_bytes_per_second{port="p1"} 2500000', 'kamuee_queue_guarantee_bytes_per_second{port="p1",vr="red"} 625000',
                   'kamuee_queue_sent_packets_total{port="p1",vr="red",class="6"} '):
        assert sample in text


def test_a_guarantee_that_is_not_held_raises_an_alarm(lab, router):
    """A router that gets its cores for a fifth of the time catches up a few milliseconds after each stall, not more."""
    router.call("configure", line=["set port p1 queue rate 100M", "set port p1 queue vr red guarantee 40M", "set port p1 queue vr blue guarantee 1M"])
    raised = lambda: {a["subject"] for a in router.entries("alarm") if a["name"] == "queue-guarantee"}  # noqa: E731
    pid = int(lab["r"].pid_file.read_text())
    over = threading.Event()

    def stall() -> None:
        while not over.wait(0.01):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.04)
            os.kill(pid, signal.SIGCONT)

    with Load(lab["a"], ACROSS["a"], 8000):
        eventually(lambda: any(vr["name"] == "red" and vr["rate"] > 40e6 for vr in router.entries("queue")[0]["vr"]) and not raised(), 60,
                   lambda: str(router.entries("queue")))             # others on the machine may take its cores, too, for a while
        thread = threading.Thread(target=stall, daemon=True)
        thread.start()
        try:
            eventually(lambda: raised() == {"p1 red"}, 60, lambda: str(router.entries("queue")))
        finally:
            over.set()
            thread.join()
    eventually(lambda: not raised(), 30, lambda: str(router.entries("alarm")))
