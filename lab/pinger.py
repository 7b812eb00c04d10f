# SPDX-License-Identifier: BSD-3-Clause
"""Echo requests at a steady pace, each with an outcome; runs as a program inside a host's namespace.

    pinger.py ADDRESS INTERVAL [--count N] [--size BYTES] [--ttl N] [--may-fragment]

Sends until N are sent, or until its input closes (a number on the input: but at least so many). Then it waits
for what is under way, and prints {"sent", "received", "median_ms", "lost": [[number, seconds since start], ...]}.

Why not `ping`: once an answer has come, ping waits for the last one no longer than an interval or two round
trips, whatever -W says; at 5 ms a busy machine "loses" it. And stopped by a signal it counts what is under way.
"""
import argparse
import json
import os
import select
import socket
import statistics
import struct
import sys
import time

PATIENCE_S = 3.0
HEAD_BYTES = 16                                      # ICMP's head and our number
ECHO = {socket.AF_INET: (8, 0, socket.IPPROTO_ICMP), socket.AF_INET6: (128, 129, socket.IPPROTO_ICMPV6)}
IP_MTU_DISCOVER, IP_PMTUDISC_DONT = 10, 0            # linux/in.h
SO_RCVBUFFORCE = 33                                  # asm-generic/socket.h


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


class Pinger:
    def __init__(self, target: str, size: int, ttl: int | None, may_fragment: bool):
        self.family = socket.AF_INET6 if ":" in target else socket.AF_INET
        self.request, self.reply, protocol = ECHO[self.family]
        self.filling = bytes(max(0, size - 8) // 2 * 2)
        self.sock = socket.socket(self.family, socket.SOCK_RAW, protocol)
        self.sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)     # starved for a moment, it must not lose an answer
        if ttl is not None and self.family == socket.AF_INET:
            self.sock.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        elif ttl is not None:
            self.sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS, ttl)
        if may_fragment and self.family == socket.AF_INET:
            self.sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT)
        self.sock.connect((target, 0))               # only answers of the target itself
        self.ident = os.getpid() & 0xffff
        self.begun = time.monotonic()
        self.sent_at: list[float] = []
        self.answered_s: dict[int, float] = {}       # round trip of each number that was answered

    def send(self) -> None:
        number = len(self.sent_at)
        self.sent_at.append(time.monotonic() - self.begun)
        body = struct.pack("!HHQ", self.ident, number & 0xffff, number) + self.filling
        head = struct.pack("!BBH", self.request, 0, 0)
        if self.family == socket.AF_INET:            # of ICMPv6 the kernel fills in the checksum
            head = struct.pack("!BBH", self.request, 0, checksum(head + body))
        try:
            self.sock.send(head + body)
        except OSError:
            pass                                     # no route at this moment: it counts as lost

    def receive(self) -> None:
        data = self.sock.recv(65536)
        if self.family == socket.AF_INET:
            data = data[(data[0] & 0xf) * 4:]
        if len(data) < HEAD_BYTES or data[0] != self.reply or struct.unpack_from("!H", data, 4)[0] != self.ident:
            return
        number = struct.unpack_from("!Q", data, 8)[0]
        if number < len(self.sent_at):
            self.answered_s.setdefault(number, time.monotonic() - self.begun - self.sent_at[number])

    def all_answered(self) -> bool:
        return len(self.answered_s) == len(self.sent_at)

    def result(self) -> dict:
        lost = [[n, round(at, 3)] for n, at in enumerate(self.sent_at) if n not in self.answered_s]
        median_s = statistics.median(self.answered_s.values()) if self.answered_s else 0.0
        return {"sent": len(self.sent_at), "received": len(self.answered_s), "median_ms": round(1000 * median_s, 3),
                "lost": lost}


def run(pinger: Pinger, interval_s: float, count: int | None) -> None:
    """Send `count` requests (None: until the input closes) and wait for the answers."""
    listen = [pinger.sock] + ([sys.stdin] if count is None else [])
    due, until = time.monotonic(), None              # until: set once the last one is sent
    while until is None or (time.monotonic() < until and not pinger.all_answered()):
        now = time.monotonic()
        if until is None and now >= due and (count is None or len(pinger.sent_at) < count):
            pinger.send()
            due = max(due + interval_s, now)
        if until is None and count is not None and len(pinger.sent_at) >= count:
            until = time.monotonic() + PATIENCE_S
        wait_s = max(0.0, (due if until is None else until) - time.monotonic())
        ready = select.select(listen, [], [], wait_s)[0]
        if pinger.sock in ready:
            try:
                pinger.receive()
            except OSError:
                pass                                 # an ICMP error for one of ours
        if sys.stdin in ready:
            listen.remove(sys.stdin)
            count = int(sys.stdin.readline() or 0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("interval_s", type=float)
    parser.add_argument("--count", type=int)
    parser.add_argument("--size", type=int, default=56, help="bytes after ICMP's head")
    parser.add_argument("--ttl", type=int)
    parser.add_argument("--may-fragment", action="store_true", help="IPv4 without DF")
    options = parser.parse_args()
    pinger = Pinger(options.target, options.size, options.ttl, options.may_fragment)
    print("ready", flush=True)
    run(pinger, options.interval_s, options.count)
    print(json.dumps(pinger.result()))


if __name__ == "__main__":
    main()
