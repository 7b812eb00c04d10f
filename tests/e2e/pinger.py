# SPDX-License-Identifier: BSD-3-Clause
"""Echo requests at a steady pace, each with an outcome; runs inside a host's namespace.

    pinger.py ADDRESS INTERVAL     until its input closes; then it waits a second for what is under way
                                   and prints {"sent", "received", "lost": [[number, seconds since start], ...]}

`ping -i`, stopped by a signal, counts the request that is under way as lost. This one sends no more and waits.
"""
import json
import os
import select
import socket
import struct
import sys
import time

PATIENCE_S = 1.0
ECHO = {socket.AF_INET: (8, 0, socket.IPPROTO_ICMP), socket.AF_INET6: (128, 129, socket.IPPROTO_ICMPV6)}


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


class Pinger:
    def __init__(self, target: str):
        self.family = socket.AF_INET6 if ":" in target else socket.AF_INET
        self.request, self.reply, protocol = ECHO[self.family]
        self.sock = socket.socket(self.family, socket.SOCK_RAW, protocol)
        self.sock.connect((target, 0))               # only answers of the target itself
        self.ident = os.getpid() & 0xffff
        self.begun = time.monotonic()
        self.sent_at: list[float] = []
        self.answered: set[int] = set()

    def send(self) -> None:
        number = len(self.sent_at)
        self.sent_at.append(time.monotonic() - self.begun)
        body = struct.pack("!HHI", self.ident, number & 0xffff, number) + bytes(48)
        head = struct.pack("!BBH", self.request, 0, 0)
        if self.family == socket.AF_INET:            # of ICMPv6 the kernel fills in the checksum
            head = struct.pack("!BBH", self.request, 0, checksum(head + body))
        try:
            self.sock.send(head + body)
        except OSError:
            pass                                     # no route at this moment: it counts as lost

    def receive(self) -> None:
        data = self.sock.recv(2048)
        if self.family == socket.AF_INET:
            data = data[(data[0] & 0xf) * 4:]
        if len(data) >= 12 and data[0] == self.reply and struct.unpack_from("!H", data, 4)[0] == self.ident:
            self.answered.add(struct.unpack_from("!I", data, 8)[0])

    def result(self) -> dict:
        lost = [[n, round(at, 3)] for n, at in enumerate(self.sent_at) if n not in self.answered]
        return {"sent": len(self.sent_at), "received": len(self.answered), "lost": lost}


def main(target: str, interval_s: float) -> None:
    pinger = Pinger(target)
    print("ready", flush=True)
    due = time.monotonic()
    until = None                                     # set once the input is closed
    while until is None or (time.monotonic() < until and len(pinger.answered) < len(pinger.sent_at)):
        if until is None and time.monotonic() >= due:
            pinger.send()
            due = max(due + interval_s, time.monotonic())
        wait_s = max(0.0, (due if until is None else until) - time.monotonic())
        ready = select.select([pinger.sock] + ([sys.stdin] if until is None else []), [], [], wait_s)[0]
        if pinger.sock in ready:
            try:
                pinger.receive()
            except OSError:
                pass                                 # an ICMP error for one of ours
        if sys.stdin in ready:
            until = time.monotonic() + PATIENCE_S
    print(json.dumps(pinger.result()))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
