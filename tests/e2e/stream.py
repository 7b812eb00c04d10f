# SPDX-License-Identifier: BSD-3-Clause
"""Numbered UDP packets, for the end-to-end tests; runs inside a host's namespace.

    stream.py send PORT COUNT FLOWS PER_SECOND SIZE ADDRESS...     one number per packet, flow = source port
    stream.py receive PORT                                         until a number is on its input and as many have come

The receiver prints what came as JSON, by source and by the interface it came in by. Once it has been given the
number it also ends when nothing has come for PATIENCE_S; and it stays REST_S longer, for what is too much.
"""
import json
import select
import socket
import struct
import sys
import time

PATIENCE_S, REST_S = 3.0, 0.2
SO_RCVBUFFORCE, RECEIVE_BYTES = 33, 32 << 20         # Python starved for a moment must not look like a lost packet


def send(port: int, count: int, flows: int, per_s: int, size: int, targets: list[str]) -> None:
    def opened(target: str) -> socket.socket:
        sock = socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect((target, port))
        return sock

    senders = [opened(target) for target in targets for _ in range(flows)]
    begun = time.monotonic()
    filling = bytes(max(0, size - 8))
    for number in range(count):
        due = begun + number / per_s
        pause = due - time.monotonic()
        if pause > 0.001:
            time.sleep(pause)
        try:
            senders[number % len(senders)].send(struct.pack("!Q", number) + filling)
        except OSError:
            pass                                     # an ICMP error of an earlier packet; this one counts as lost


def opened_receiver(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
    sock.bind(("::", port))
    return sock


class Received:
    def __init__(self) -> None:
        self.packets = 0
        self.numbers: set[int] = set()
        self.sources: dict[str, int] = {}
        self.interfaces: dict[str, int] = {}

    def take(self, sock: socket.socket) -> None:
        data, ancillary, _, source = sock.recvmsg(2048, 64)
        self.packets += 1
        self.numbers.add(struct.unpack_from("!Q", data)[0])
        address = source[0].removeprefix("::ffff:")
        self.sources[address] = self.sources.get(address, 0) + 1
        for level, kind, info in ancillary:
            if (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO):
                name = socket.if_indextoname(struct.unpack_from("@I", info, 16)[0])
                self.interfaces[name] = self.interfaces.get(name, 0) + 1


def receive(port: int) -> None:
    sock, got, wanted = opened_receiver(port), Received(), None
    print("ready", flush=True)
    while True:
        patience_s = None if wanted is None else REST_S if len(got.numbers) >= wanted else PATIENCE_S
        ready = select.select([sock] + ([sys.stdin] if wanted is None else []), [], [], patience_s)[0]
        if sock in ready:
            got.take(sock)
        elif sys.stdin in ready:
            wanted = int(sys.stdin.readline())
        else:
            break
    print(json.dumps({"packets": got.packets, "distinct": len(got.numbers), "sources": got.sources,
                      "interfaces": got.interfaces}))


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*map(int, sys.argv[2:7]), sys.argv[7:])
    else:
        receive(int(sys.argv[2]))
