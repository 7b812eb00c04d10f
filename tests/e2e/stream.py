# SPDX-License-Identifier: BSD-3-Clause
"""Numbered UDP packets, for the end-to-end tests; runs inside a host's namespace.

    stream.py send PORT COUNT FLOWS PER_SECOND SIZE ADDRESS...     one number per packet, flow = source port
    stream.py receive PORT                                         until SIGTERM; prints what came as JSON
"""
import json
import signal
import socket
import struct
import sys
import time


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


def receive(port: int) -> None:
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    sock.bind(("::", port))
    numbers: set[int] = set()
    sources: dict[str, int] = {}
    n_packets = 0

    def finish(_signal, _frame) -> None:
        print(json.dumps({"packets": n_packets, "distinct": len(numbers), "sources": sources}), flush=True)
        sys.exit(0)

    signal.signal(signal.SIGTERM, finish)
    print("ready", flush=True)
    while True:
        data, source = sock.recvfrom(2048)
        n_packets += 1
        numbers.add(struct.unpack_from("!Q", data)[0])
        address = source[0].removeprefix("::ffff:")
        sources[address] = sources.get(address, 0) + 1


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*map(int, sys.argv[2:7]), sys.argv[7:])
    else:
        receive(int(sys.argv[2]))
