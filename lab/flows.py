# SPDX-License-Identifier: BSD-3-Clause
"""Many UDP flows at a steady rate, each packet accounted for: which were lost, and by which way they came.

    flows.py send PORT FLOWS PER_S SECONDS ADDRESS…   prints the time of the first packet and how many were sent
    flows.py receive PORT                             until as many have come as a line on its input says, or for 3 s none
    flows.py down INTERFACE                           takes the interface down at a line on its input; prints when

Flow i goes to ADDRESS[i % number of addresses] from a port of its own. A packet carries its flow, its number and
when it was sent (CLOCK_MONOTONIC, which all namespaces of a machine share). The receiver prints JSON:

    {"flow": {"0": {"received": n, "first": number, "last": number, "lost": [[number, sent_ns]…], "ways": [[interface,
      number]…]}}, "duplicates": n}

`lost` has the gaps between packets that came, each with the time at which it must have been sent; `ways` has
every change of the interface it came in by, with the number of the first packet there.
"""
import fcntl
import json
import resource
import select
import socket
import struct
import subprocess
import sys
import time
from dataclasses import dataclass

PATIENCE_S, REST_S = 3.0, 0.3                        # of silence: while packets are missing, and when all have come
SO_RCVBUFFORCE, RECEIVE_BYTES = 33, 64 << 20
PACKET = struct.Struct("!IIQ")
TICK_S = 0.001
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}


def send(port: int, flows: int, per_s: int, seconds: float, addresses: list[str]) -> None:
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if flows + 100 > allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (flows + 100, max(flows + 100, most)))
    sockets = []
    for i in range(flows):
        address = addresses[i % len(addresses)]
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect((address, port))
        sockets.append(sock)
    begun, count, total = time.monotonic(), 0, int(per_s * seconds)
    print(json.dumps({"begun_ns": time.monotonic_ns(), "flows": flows}), flush=True)
    while count < total:
        due = min(total, int((time.monotonic() - begun) * per_s) + 1)
        while count < due:
            flow = count % flows
            try:
                sockets[flow].send(PACKET.pack(flow, count // flows, time.monotonic_ns()))
            except OSError:
                pass                                 # an ICMP error of an earlier packet; this one counts as lost
            count += 1
        time.sleep(TICK_S)
    print(json.dumps({"sent": count}), flush=True)


class Flow:
    def __init__(self, flow: int):
        self.flow = flow
        self.sent: dict[int, int] = {}               # number: when
        self.ways: list[list] = []

    def take(self, number: int, sent_ns: int, interface: str) -> bool:
        if number in self.sent:
            return False
        self.sent[number] = sent_ns
        if not self.ways or self.ways[-1][0] != interface:
            self.ways.append([interface, number])
        return True

    def told(self) -> dict:
        numbers = sorted(self.sent)
        lost = []
        for before, after in zip(numbers, numbers[1:]):
            step = (self.sent[after] - self.sent[before]) / (after - before)
            lost += [[n, int(self.sent[before] + step * (n - before))] for n in range(before + 1, after)]
        return {"received": len(numbers), "first": numbers[0], "last": numbers[-1], "lost": lost, "ways": self.ways}


def receive(port: int) -> None:
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
    sock.bind(("::", port))
    names: dict[int, str] = {}
    flows: dict[int, Flow] = {}
    packets, duplicates, wanted = 0, 0, None
    print("ready", flush=True)
    while True:
        patience_s = None if wanted is None else REST_S if packets >= wanted else PATIENCE_S
        ready = select.select([sock] + ([sys.stdin] if wanted is None else []), [], [], patience_s)[0]
        if sock in ready:
            data, ancillary, _, _ = sock.recvmsg(2048, 64)
            flow, number, sent_ns = PACKET.unpack_from(data)
            index = struct.unpack_from("@I", ancillary[0][2], 16)[0]
            if index not in names:
                names[index] = socket.if_indextoname(index)
            if not flows.setdefault(flow, Flow(flow)).take(number, sent_ns, names[index]):
                duplicates += 1
            packets += 1
        elif sys.stdin in ready:
            wanted = int(sys.stdin.readline())
        else:
            break
    print(json.dumps({"flow": {str(i): flow.told() for i, flow in sorted(flows.items())}, "duplicates": duplicates}))


def down(interface: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        asked = struct.pack("16sH14x", interface.encode(), 0)
        flags = struct.unpack_from("16sH", fcntl.ioctl(sock, SIOCGIFFLAGS, asked))[1]
        print("ready", flush=True)
        sys.stdin.readline()
        begun = time.monotonic_ns()
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH14x", interface.encode(), flags & ~IFF_UP))
    print(json.dumps({"begun_ns": begun, "end_ns": time.monotonic_ns()}), flush=True)


# --- for tests and benchmarks: flows from one node of a lab to another ---

class Traffic:
    """`flows` flows from node `source` to `addresses` of node `target`, running from here on."""

    def __init__(self, source, target, addresses: list[str], flows: int, per_s: int, seconds: float, port: int = 7100):
        self.flows, self.per_s = flows, per_s
        self.receiver = target.popen([sys.executable, __file__, "receive", str(port)], **PIPES)
        must_be_ready(self.receiver)
        self.sender = source.popen([sys.executable, __file__, "send", str(port), str(flows), str(per_s), str(seconds),
                                    *addresses],
                                   stdout=subprocess.PIPE)
        self.sender.stdout.readline()

    def result(self) -> dict[int, dict]:
        """The receiver's report by flow (see above). AssertionError if a flow's first or last packet is missing."""
        sent = json.loads(self.sender.communicate(timeout=120)[0])["sent"]
        told = json.loads(self.receiver.communicate(b"%d\n" % sent, timeout=120)[0])
        assert told["duplicates"] == 0, f"{told['duplicates']} duplicates"
        flow = {int(number): entry for number, entry in told["flow"].items()}
        assert len(flow) == self.flows, f"{len(flow)} of {self.flows} flows arrived"
        for number, entry in flow.items():
            due = (sent - number - 1) // self.flows
            first, last = entry["first"], entry["last"]
            assert (first, last) == (0, due), f"flow {number}: {first} to {last}, not 0 to {due}"
        return flow


@dataclass
class Pulled:
    """The effect of one path's loss of carrier."""
    flows: int              # that went by it
    lost: int               # packets of these
    lost_ms: float          # from the moment before the carrier went to the last of them
    others_lost: int        # packets of all other flows
    others_moved: int       # other flows that changed their way
    stayed: int             # flows that came by it to the end


def pull(traffic: Traffic, node, interface: str, after_s: float = 1) -> Pulled:
    """Take the far end of a path down under traffic."""
    downer = node.popen([sys.executable, __file__, "down", interface], **PIPES)
    must_be_ready(downer)
    time.sleep(after_s)
    begun_ns = json.loads(downer.communicate(b"now\n", timeout=30)[0])["begun_ns"]
    flow = traffic.result().values()
    mine = [entry for entry in flow if entry["ways"][0][0] == interface]
    others = [entry for entry in flow if entry["ways"][0][0] != interface]
    lost = [sent_ns for entry in mine for _, sent_ns in entry["lost"]]
    return Pulled(len(mine), len(lost), max(0, max(lost) - begun_ns) / 1e6 if lost else 0.0,
                  sum(len(entry["lost"]) for entry in others), sum(len(entry["ways"]) > 1 for entry in others),
                  sum(entry["ways"][-1][0] == interface for entry in mine))


def must_be_ready(proc: subprocess.Popen) -> None:
    if proc.stdout.readline().strip() != b"ready":
        raise RuntimeError(f"{' '.join(map(str, proc.args))}: did not start")


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*map(int, sys.argv[2:5]), float(sys.argv[5]), sys.argv[6:])
    elif sys.argv[1] == "down":
        down(sys.argv[2])
    else:
        receive(int(sys.argv[2]))
