#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many routes by one group, into the kernel of the namespace it runs in: batches of netlink messages, made here.

    group_routes.py N4 N6 nhid ID4 ID6                     by next-hop objects
    group_routes.py N4 N6 legs GATEWAY%INTERFACE…          multipath: the IPv4 legs, then as many of IPv6

The first prefixes are 198.51.100.0/24 and 2001:db8:100::/48; the rest follows from 16.0.0.0/24 and 2400::/48 on. Routes
that exist are replaced. Prints how many seconds it took.
"""
import ipaddress
import socket
import struct
import sys
import time

RTM_NEWROUTE, NLMSG_ERROR, NETLINK_ROUTE = 24, 2, 0
REQUEST, ACK, REPLACE_CREATE = 1, 4, 0x500
RTA_DST, RTA_GATEWAY, RTA_MULTIPATH, RTA_NH_ID = 1, 5, 9, 30
TABLE_MAIN, PROTOCOL_BGP, UNICAST = 254, 186, 1
BATCH = 256


def attribute(kind: int, data: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def multipath(legs: list[str]) -> bytes:
    hops = b""
    for leg in legs:
        gateway, _, interface = leg.partition("%")
        via = attribute(RTA_GATEWAY, ipaddress.ip_address(gateway).packed)
        hops += struct.pack("=HBBi", 8 + len(via), 0, 0, socket.if_nametoindex(interface)) + via
    return attribute(RTA_MULTIPATH, hops)


def messages(n: int, six: bool, way: bytes):
    """One RTM_NEWROUTE for each prefix; the sender fills in flags and sequence."""
    if not n:
        return
    size, length, shift = (16, 48, 80) if six else (4, 24, 8)
    own = ipaddress.ip_address("2001:db8:100::" if six else "198.51.100.0").packed
    base = int(ipaddress.ip_address("2400::" if six else "16.0.0.0"))
    body = struct.pack("=BBBBBBBBI", socket.AF_INET6 if six else socket.AF_INET, length, 0, 0, TABLE_MAIN, PROTOCOL_BGP,
                       0, UNICAST, 0)
    head = body + struct.pack("=HH", 4 + size, RTA_DST)
    yield head + own + way
    for i in range(n - 1):
        yield head + (base + (i << shift)).to_bytes(size, "big") + way


def install(sock: socket.socket, n: int, six: bool, way: bytes) -> None:
    batch: list[bytes] = []

    def flush() -> None:
        last = len(batch) - 1
        sock.send(b"".join(struct.pack("=IHHII", 16 + len(m), RTM_NEWROUTE, REQUEST | REPLACE_CREATE
                                       | (ACK if i == last else 0), i, 0) + m
                           for i, m in enumerate(batch)))
        # errors of the others arrive before the last one's acknowledgement
        while True:
            _, kind, _, sequence, _, error = struct.unpack_from("=IHHIIi", sock.recv(65536))
            if kind == NLMSG_ERROR and error:
                raise OSError(-error, f"the kernel refuses a route for {'IPv6' if six else 'IPv4'}")
            if kind == NLMSG_ERROR and sequence == last:
                break
        batch.clear()

    for message in messages(n, six, way):
        batch.append(message)
        if len(batch) == BATCH:
            flush()
    if batch:
        flush()


def main(n4: str, n6: str, kind: str, *more: str) -> None:
    if kind == "nhid":
        ways = [attribute(RTA_NH_ID, struct.pack("=I", int(number))) for number in more]
    else:
        half = len(more) // 2
        ways = [multipath(more[:half]), multipath(more[half:])]
    begun = time.monotonic()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_ROUTE) as sock:
        sock.bind((0, 0))
        install(sock, int(n4), False, ways[0])
        install(sock, int(n6), True, ways[1])
    print(f"{time.monotonic() - begun:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
