# SPDX-License-Identifier: BSD-3-Clause
"""Frames that no router should trust, for the end-to-end tests; runs inside a host's namespace.

    garbage.py INTERFACE ROUTER_MAC SEED

Takes well-formed IPv4, IPv6, ARP, ND and VLAN frames and damages them: wrong versions and lengths, bad
checksums, options, addresses that must not be on a wire, fragments that overlap, frames cut anywhere, bytes
turned at random. The same seed sends the same frames. Each line on the input is a number of frames to
send now; how many went out is printed. So the other end can keep what is under way below a ring's size.
"""
import random
import socket
import struct
import sys

BROADCAST = b"\xff" * 6
OUR_MAC = bytes.fromhex("02deadbeef01")
ETHERTYPES = (0x0800, 0x86DD, 0x0806, 0x8100, 0x88A8, 0x8847, 0x8863, 0x0000, 0xFFFF, 0x05DC)
MARTIANS = ("127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.5", "240.0.0.1", "169.254.1.1", "10.1.0.1",
            "10.1.0.255", "10.2.0.2")
MARTIANS6 = ("::", "::1", "ff02::1", "ff0e::9", "fe80::1", "::ffff:10.0.0.1", "fd00:1::1", "fd00:2::2")


def checksum(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(rnd: random.Random) -> bytes:
    options = rnd.randbytes(4 * rnd.choice((0, 0, 0, 1, 3, 10)))
    payload = rnd.randbytes(rnd.choice((0, 1, 8, 64, 600, 1400)))
    version_ihl = (rnd.choice((4, 4, 4, 4, 5, 6, 0, 15)) << 4) | rnd.choice((5 + len(options) // 4,) * 6 + (0, 4, 15))
    length = rnd.choice((20 + len(options) + len(payload),) * 6 + (0, 19, 20, 65535))
    fragment = rnd.choice((0, 0, 0, 0x4000, 0x2000, 0x2001, 0x1FFF, 0x3FFF, 0xFFFF))
    source = rnd.choice(("10.1.0.2",) * 4 + MARTIANS)
    target = rnd.choice(("10.2.0.2",) * 4 + MARTIANS)
    header = struct.pack("!BBHHHBBH4s4s", version_ihl, rnd.randrange(256), length, rnd.randrange(65536), fragment,
                         rnd.choice((64, 64, 1, 0, 255)), rnd.choice((1, 6, 17, 0, 255, 4, 41, 2)), 0,
                         socket.inet_aton(source), socket.inet_aton(target)) + options
    right = checksum(header)
    header = header[:10] + struct.pack("!H", rnd.choice((right,) * 4 + (0, 0xFFFF, right ^ 1))) + header[12:]
    return header + payload


def ipv6(rnd: random.Random) -> bytes:
    payload = rnd.randbytes(rnd.choice((0, 1, 8, 64, 600, 1400)))
    if rnd.random() < 0.4:                           # a chain of extension headers
        chain = b""
        for _ in range(rnd.randrange(1, 12)):
            chain += bytes((rnd.choice((0, 43, 44, 51, 60, 59, 17)), rnd.choice((0, 0, 1, 255)))) + rnd.randbytes(6)
        payload = chain + payload
    first = rnd.choice((6, 6, 6, 6, 4, 0, 15)) << 28 | rnd.getrandbits(28)
    source = rnd.choice(("fd00:1::2",) * 4 + MARTIANS6)
    target = rnd.choice(("fd00:2::2",) * 4 + MARTIANS6)
    length = rnd.choice((len(payload),) * 6 + (0, 65535, 1))
    return struct.pack("!IHBB", first, length, rnd.choice((0, 6, 17, 43, 44, 58, 59, 60, 255)),
                       rnd.choice((64, 64, 1, 0))) + socket.inet_pton(socket.AF_INET6, source) \
        + socket.inet_pton(socket.AF_INET6, target) + payload


def arp(rnd: random.Random) -> bytes:
    return struct.pack("!HHBBH", rnd.choice((1, 1, 6)), rnd.choice((0x0800, 0x86DD)), rnd.choice((6, 6, 255)),
                       rnd.choice((4, 4, 0)), rnd.choice((1, 2, 9))) + OUR_MAC + rnd.randbytes(4) + rnd.randbytes(10)


def frame(rnd: random.Random, router: bytes) -> bytes:
    kind = rnd.random()
    if kind < 0.45:
        ethertype, body = 0x0800, ipv4(rnd)
    elif kind < 0.85:
        ethertype, body = 0x86DD, ipv6(rnd)
    elif kind < 0.9:
        ethertype, body = 0x0806, arp(rnd)
    else:
        ethertype, body = rnd.choice(ETHERTYPES), rnd.randbytes(rnd.randrange(0, 200))
    target = rnd.choice((router,) * 8 + (BROADCAST, bytes.fromhex("01005e000005"), bytes.fromhex("333300000001"),
                                         rnd.randbytes(6)))
    tag = b""
    if rnd.random() < 0.1:
        tag = struct.pack("!HH", rnd.choice((0x8100, 0x88A8)), rnd.randrange(65536)) * rnd.choice((1, 1, 2, 5))
    source = rnd.choice((OUR_MAC,) * 8 + (router, BROADCAST, bytes(6)))
    data = bytearray(target + source + tag + struct.pack("!H", ethertype) + body)
    if rnd.random() < 0.2:
        del data[rnd.randrange(14, len(data) + 1):]  # cut anywhere
    if rnd.random() < 0.3:
        for _ in range(rnd.randrange(1, 8)):
            data[rnd.randrange(12, len(data))] = rnd.randrange(256)
    return bytes(data[:1514])


def main() -> None:
    interface, router, seed = sys.argv[1], bytes.fromhex(sys.argv[2].replace(":", "")), int(sys.argv[3])
    rnd = random.Random(seed)
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((interface, 0))
    for line in sys.stdin:
        n_sent = 0
        for _ in range(int(line)):
            try:
                sock.send(frame(rnd, router))
                n_sent += 1
            except OSError:
                pass                                 # the kernel refuses some lengths itself
        print(n_sent, flush=True)


if __name__ == "__main__":
    main()
