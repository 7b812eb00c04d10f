#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Flow specifications while packets flow: how long many take to be in force, how soon one decides, and what is lost.

    sudo KAMUEED=build/kamueed bench/flowspec.py [--rules 100000] [--rounds 9] [--json]

A lab of h1 - r - h2, and a peer with GoBGP; ExaBGP is r's speaker. h1 sends a packet every half millisecond, and each
packet that does not come to h2 has its time. The UPDATE's time is when the peer's interface sends it.
"""
import argparse
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "cli")]
from kamuee.client import Client  # noqa: E402
from kamuee.lab import schema  # noqa: E402
from kamuee.lab.lab import Lab  # noqa: E402
from kamuee.lab.netns import in_namespace  # noqa: E402

LAB = """
nodes:
  h1: {kind: host, interfaces: {eth0: [10.1.0.2/24]}, routes: [default via 10.1.0.1]}
  h2: {kind: host, interfaces: {eth0: [10.2.0.2/24]}, routes: [default via 10.2.0.1]}
  peer: {kind: host, interfaces: {eth0: [10.3.0.9/24]}}
  r: {kind: kamuee, interfaces: {p0: [10.1.0.1/24], p1: [10.2.0.1/24], p2: [10.3.0.1/24]}}
links: [[h1:eth0, r:p0], [r:p1, h2:eth0], [r:p2, peer:eth0]]
"""
GAP_S = 0.0005
PORT = 7000
FLOW = ["match", "destination", "10.2.0.2/32", "protocol", "udp", "destination-port", f"=={PORT}", "then", "discard"]
CONF = """speaker exabgp
list default edge rules 1-3999999999
peer 10.3.0.9 limit 2000000 validate off
state {state}
"""
EXABGP = """process flowspec {{ run {run}; encoder json; }}
neighbor 10.3.0.9 {{ router-id 10.3.0.1; local-address 10.3.0.1; local-as 65001; peer-as 65002;
  family {{ ipv4 flow; }} capability {{ route-refresh; }} api {{ processes [ flowspec ]; neighbor-changes; receive {{ parsed; update; }} }} }}
"""
GOBGPD = """[global.config]
  as = 65002
  router-id = "10.3.0.9"
[[neighbors]]
  [neighbors.config]
    peer-as = 65001
    neighbor-address = "10.3.0.1"
  [neighbors.transport.config]
    passive-mode = true
  [[neighbors.afi-safis]]
    [neighbors.afi-safis.config]
      afi-safi-name = "ipv4-flowspec"
"""
BGP_UPDATE = b"\xff" * 16
SO_TIMESTAMPNS = 35


class Stream:
    """Numbered packets from h1 to h2, and the times of the peer's UPDATEs."""

    def __init__(self, lab: Lab) -> None:
        def udp() -> socket.socket:
            return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.out = in_namespace(lab["h1"].namespace.name, udp)
        self.into = in_namespace(lab["h2"].namespace.name, udp)
        self.into.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.into.bind(("10.2.0.2", PORT))
        self.wire = in_namespace(lab["peer"].namespace.name, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)))
        self.wire.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        for one in (self.into, self.wire):
            one.setblocking(False)
        self.sent: list[float] = []
        self.came: set[int] = set()
        self.updates: list[float] = []
        self.stop = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        due = time.monotonic()
        while not self.stop:
            now = time.monotonic()
            if now >= due:
                self.out.sendto(len(self.sent).to_bytes(8, "big"), ("10.2.0.2", PORT))
                self.sent.append(now)
                due = max(due + GAP_S, now - 0.01)
            self.look()
            time.sleep(GAP_S / 8)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            self.look()

    def look(self) -> None:
        try:
            while True:
                self.came.add(int.from_bytes(self.into.recv(64), "big"))
        except BlockingIOError:
            pass
        try:
            while True:
                frame, more, _, _ = self.wire.recvmsg(65536, 64)
                at = frame.find(BGP_UPDATE)
                if at >= 0 and frame[at + 18:at + 19] == b"\x02" and frame[26:30] == bytes((10, 3, 0, 9)):
                    seconds, nanoseconds = struct.unpack("qq", more[0][2])
                    self.updates.append(seconds + nanoseconds / 1e9 - time.time() + time.monotonic())
        except BlockingIOError:
            pass

    def end(self) -> None:
        self.stop = True
        self.thread.join()
        for one in (self.out, self.into, self.wire):
            one.close()

    def lost(self) -> list[float]:
        return [at for number, at in enumerate(self.sent) if number not in self.came]


def lines(n: int) -> list[str]:
    return [f"{1000 + 10 * i} deny udp from 11.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}/32 to 10.99.{i & 255}.0/24 port {1 + i % 60000}" for i in range(n)]


def bulk(lab: Lab, client: Client, n: int) -> dict:
    """The operation alone: all rules in one request, then the same ones again, then none."""
    text = "\n".join(lines(n))
    stream = Stream(lab)
    time.sleep(0.5)
    took = []
    for add, replace in ((text, None), (text, True), (None, True)):
        began = time.monotonic()
        client.call("acl-change", name="edge", add=add, replace=replace)
        took.append(time.monotonic() - began)
    stream.end()
    return {"install_s": took[0], "same_again_s": took[1], "delete_s": took[2], "sent": len(stream.sent), "lost": len(stream.lost())}


def told(i: int) -> str:
    """A route as ExaBGP tells it."""
    flow = (f"flow destination-ipv4 10.99.{i & 255}.0/24 source-ipv4 11.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}/32 "
            f"protocol =udp destination-port ={1 + i % 60000}")
    return json.dumps({"type": "update", "neighbor": {
        "address": {"local": "10.3.0.1", "peer": "10.3.0.9"}, "asn": {"local": 65001, "peer": 65002}, "message": {"update": {
            "attribute": {"as-path": [65002], "extended-community": [{"value": 0x8006000000000000}]},
            "announce": {"ipv4 flow": {"no-nexthop": [{"string": flow}]}}}}}})


def adapter(lab: Lab, client: Client, run: list[str], n: int) -> dict:
    """The process alone, from the lines of a speaker to rules in force."""
    text = "".join(told(i) + "\n" for i in range(n)).encode()
    stream = Stream(lab)
    process = subprocess.Popen(lab["r"].namespace.argv([*run, "run"]), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    process.stdin.write(text)
    process.stdin.flush()
    while client.state("acl=edge")[0]["temporary-rules"] < n:
        time.sleep(0.02)
    took = time.monotonic() - began
    stream.end()
    process.terminate()
    process.wait()
    return {"speaker_to_rules_s": took, "sent": len(stream.sent), "lost": len(stream.lost())}


def one(lab: Lab, rounds: int) -> dict:
    """A single route beside the others: from its UPDATE to the first packet that it decides, and back."""
    came, went = [], []
    for _ in range(rounds):
        stream = Stream(lab)
        time.sleep(0.4)
        for verb in ("add", "del"):
            lab["peer"].run(["gobgp", "global", "rib", verb, "-a", "ipv4-flowspec", *FLOW])
            time.sleep(0.8)
        stream.end()
        lost = stream.lost()
        if lost and len(stream.updates) >= 2:
            came.append(1000 * (lost[0] - stream.updates[0]))
            went.append(1000 * (lost[-1] + GAP_S - stream.updates[1]))
    return {"decided_ms": came, "withdrawn_ms": went}


def wait_for(true, timeout_s: float = 60) -> None:
    end = time.monotonic() + timeout_s
    while not true():
        if time.monotonic() > end:
            raise SystemExit("bench/flowspec.py: the session with the peer did not come up")
        time.sleep(0.2)


def measure(lab: Lab, folder: Path, options: argparse.Namespace) -> dict:
    client = Client(str(lab["r"].socket))
    client.call("configure", line=["set acl edge default permit", "set forwarding acl in edge"])
    (folder / "conf").write_text(CONF.format(state=folder / "state"))
    run = [str(ROOT / "kamuee"), "flowspec", "--config", str(folder / "conf"), "--socket", client.path]
    found = {"rules": options.rules, "operation": [bulk(lab, client, options.rules) for _ in range(3)]}
    found["process"] = adapter(lab, client, run, options.rules)
    (folder / "state").unlink(missing_ok=True)
    client.call("acl-change", name="edge", replace=True)
    (folder / "others").write_text("\n".join(f"{4_000_000_000 + i} {line.partition(' ')[2]}" for i, line in enumerate(lines(options.rules))))
    client.call("configure", line=[f"set acl edge file {folder / 'others'}"])
    (folder / "exabgp").write_text(EXABGP.format(run=" ".join([*run, "run"])))
    (folder / "gobgpd").write_text(GOBGPD)
    lab["peer"].popen(["gobgpd", "-f", str(folder / "gobgpd")])
    lab["r"].popen(["env", "exabgp.daemon.user=root", "exabgp.api.ack=false", "exabgp", str(folder / "exabgp")])
    wait_for(lambda: (folder / "state").exists() and '"up": true' in (folder / "state").read_text())
    found["single"] = one(lab, options.rounds)
    found["ledger"] = client.state("ledger")["imbalance"]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rules", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if os.geteuid() or not all(map(shutil.which, ("exabgp", "gobgpd", "gobgp"))):
        raise SystemExit("bench/flowspec.py: needs root, exabgp and gobgpd")
    with tempfile.TemporaryDirectory(prefix="flowspec-") as folder:
        os.chmod(folder, 0o755)
        lab = Lab.start(schema.load_text(LAB, "flowspec-bench.yaml", "flowspec-bench"))
        try:
            found = measure(lab, Path(folder), options)
        finally:
            lab.stop()
    if options.json:
        print(json.dumps(found))
        return 0
    for name in ("install_s", "same_again_s", "delete_s"):
        each = [row[name] for row in found["operation"]]
        print(f"{options.rules} rules, {name:14} median {statistics.median(each):.3f} ({min(each):.3f}-{max(each):.3f}) s")
    print(f"packets lost meanwhile: {[row['lost'] for row in found['operation']]} of {[row['sent'] for row in found['operation']]}")
    print(f"from the speaker's lines to all rules: {found['process']['speaker_to_rules_s']:.2f} s, lost {found['process']['lost']}")
    for name, each in found["single"].items():
        if each:
            print(f"{name:14} median {statistics.median(each):.1f} ({min(each):.1f}-{max(each):.1f}) ms of {len(each)}")
    print(f"ledger: {found['ledger']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
