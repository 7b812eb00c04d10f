# SPDX-License-Identifier: BSD-3-Clause
"""Floods that aim at a router's control plane; runs inside a host's namespace.

    flood.py INTERFACE ROUTER_MAC FRAMES_PER_S KIND...    until its input closes; then prints how many it sent

Kinds: local, ttl, glean, arp, martian, fragment, option, icmp, transit (to 10.2.0.2). They take turns, frame by
frame. The addresses are those of tests/e2e/test_flood.py: we are 10.1.0.2/16, the router is 10.1.0.1 and 10.2.0.1.
"""
import random
import select
import socket
import struct
import sys
import time

OUR_MAC = bytes.fromhex("02f100d00001")
SLICE_S = 0.002


def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def ipv4(source: str, target: str, proto: int, payload: bytes, ttl: int = 64, fragment: int = 0, options: bytes = b"") -> bytes:
    header = struct.pack("!BBHHHBBH4s4s", 0x45 + len(options) // 4, 0, 20 + len(options) + len(payload), 7, fragment, ttl, proto,
                         0, socket.inet_aton(source), socket.inet_aton(target)) + options
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:] + payload


def udp(rnd: random.Random, port: int = 9) -> bytes:
    return struct.pack("!HHHH", rnd.randrange(1024, 65536), port, 26, 0) + bytes(18)


def somebody(rnd: random.Random) -> str:
    return f"10.1.{rnd.randrange(256)}.{rnd.randrange(1, 255)}"


def local(rnd):
    return 0x0800, ipv4(somebody(rnd), rnd.choice(("10.1.0.1", "10.2.0.1")), 17, udp(rnd))


def ttl(rnd):
    return 0x0800, ipv4(somebody(rnd), "10.3.0.2", 17, udp(rnd), ttl=1)


def glean(rnd):
    return 0x0800, ipv4("10.1.0.2", somebody(rnd), 17, udp(rnd))


def arp(rnd):
    return 0x0806, struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + OUR_MAC + socket.inet_aton(somebody(rnd)) + bytes(6) \
        + socket.inet_aton("10.1.0.1")


def martian(rnd):
    source, target = rnd.choice((("127.0.0.1", "10.1.0.1"), ("10.1.0.2", "127.0.0.1"), ("240.0.0.1", "10.2.0.1"),
                                 ("0.1.2.3", "10.1.0.1"), ("10.1.0.2", "0.1.2.3")))
    return 0x0800, ipv4(source, target, 17, udp(rnd, 3784), ttl=255)


def fragment(rnd):
    return 0x0800, ipv4(somebody(rnd), "10.1.0.1", 17, udp(rnd), fragment=rnd.choice((0x2000, 0x2003, 0x0005)))


def option(rnd):
    return 0x0800, ipv4(somebody(rnd), rnd.choice(("10.1.0.1", "10.3.0.2")), 17, udp(rnd),
                        options=rnd.choice((b"\x07\x07\x04" + bytes(5), b"\x94\x04\0\0", b"\x83\x07\x04" + bytes(5), b"\x01" * 4)))


def icmp(rnd):
    body = struct.pack("!BBHHH", 8, 0, 0, rnd.randrange(65536), 1)
    return 0x0800, ipv4(somebody(rnd), "10.1.0.1", 1, body[:2] + struct.pack("!H", checksum(body)) + body[4:])


def transit(rnd):
    return 0x0800, ipv4("10.1.0.2", "10.2.0.2", 17, udp(rnd))


def main() -> None:
    interface, router, per_s = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", "")), int(sys.argv[3])
    kinds = [globals()[name] for name in sys.argv[4:]]
    rnd = random.Random(1)
    # Made beforehand: making costs more than sending.
    frames = []
    for kind in kinds:
        for _ in range(2000):
            ethertype, body = kind(rnd)
            frames.append(router + OUR_MAC + struct.pack("!H", ethertype) + body)
    rnd.shuffle(frames)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    print("ready", flush=True)
    n_sent, n_due, begun = 0, 0, time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        n_due = int((time.monotonic() - begun) * per_s)
        while n_sent < n_due:
            try:
                sock.send(frames[n_sent % len(frames)])
            except OSError:                          # the queue of the device is full
                time.sleep(SLICE_S)
            n_sent += 1
        time.sleep(SLICE_S)
    print(n_sent)


if __name__ == "__main__":
    main()
