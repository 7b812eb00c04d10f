# SPDX-License-Identifier: BSD-3-Clause
"""Multicast, for the end-to-end tests; runs inside a namespace.

    groups.py send GROUP INTERFACE COUNT PER_SECOND TTL SIZE     numbered UDP packets to port 7000
    groups.py receive GROUP INTERFACE [SOURCE]                   joins, counts until a number is on its input and as many have come,
                                                                 not counting repetitions of a number with the same TTL
    groups.py daemon INTERFACE...                                a multicast routing daemon of the kernel, until its input ends: what
                                                                 comes by one interface goes out by all others

The receiver prints JSON: {"packets": n, "distinct": n, "ttl": {ttl: n}, "sizes": [n, ...]}.
"""
import json
import select
import socket
import struct
import sys
import time

PORT, PATIENCE_S, REST_S = 7000, 3.0, 0.3
MRT_INIT, MRT_ADD_VIF, MRT_ADD_MFC, VIFF_USE_IFINDEX, NOCACHE = 200, 202, 204, 8, 1
IP_RECVTTL, MCAST_JOIN_SOURCE_GROUP = 12, 46
SO_RCVBUFFORCE, RECEIVE_BYTES = 33, 32 << 20         # Python starved for a moment must not look like a lost packet


def family_of(group: str) -> int:
    return socket.AF_INET6 if ":" in group else socket.AF_INET


def send(group: str, interface: str, count: int, per_s: float, ttl: int, size: int) -> None:
    sock = socket.socket(family_of(group), socket.SOCK_DGRAM)
    index = socket.if_nametoindex(interface)
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, ttl)
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("4s4si", bytes(4), bytes(4), index))
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
        sock.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER: without DF
    begun = time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, begun + number / per_s - time.monotonic()))
        sock.sendto(struct.pack("!Q", number) + bytes(max(0, size - 8)), (group, PORT))


def joined(group: str, interface: str, source: str | None) -> socket.socket:
    sock = socket.socket(family_of(group), socket.SOCK_DGRAM)
    index = socket.if_nametoindex(interface)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
    sock.bind((group, PORT))
    if sock.family == socket.AF_INET6:
        address = socket.inet_pton(socket.AF_INET6, group)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, address + struct.pack("I", index))
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVHOPLIMIT, 1)
        return sock
    address = socket.inet_aton(group)
    if source:
        def storage(text: str) -> bytes:
            return struct.pack("=HH4s120x", socket.AF_INET, 0, socket.inet_aton(text))
        sock.setsockopt(socket.IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP,
                        struct.pack("I4x", index) + storage(group) + storage(source))
    else:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack("4s4si", address, bytes(4), index))
    sock.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
    return sock


def receive(group: str, interface: str, source: str | None = None) -> None:
    sock, wanted = joined(group, interface, source), None
    packets, numbers, ttls, sizes = 0, set(), {}, set()
    print("ready", flush=True)
    while True:
        patience_s = None if wanted is None else REST_S if len(numbers) >= wanted else PATIENCE_S
        ready = select.select([sock] + ([sys.stdin] if wanted is None else []), [], [], patience_s)[0]
        if sock in ready:
            data, ancillary, _, _ = sock.recvmsg(10000, 64)
            packets += 1
            ttl = struct.unpack("i", ancillary[0][2])[0]
            numbers.add((ttl, struct.unpack_from("!Q", data)[0]))
            sizes.add(len(data))
            ttls[ttl] = ttls.get(ttl, 0) + 1
        elif sys.stdin in ready:
            wanted = int(sys.stdin.readline())
        else:
            break
    print(json.dumps({"packets": packets, "distinct": len(numbers), "ttl": ttls, "sizes": sorted(sizes)}))


def daemon(interfaces: list[str]) -> None:
    v4 = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IGMP)
    v6 = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
    v4.setsockopt(socket.IPPROTO_IP, MRT_INIT, 1)
    v6.setsockopt(socket.IPPROTO_IPV6, MRT_INIT, 1)
    for number, name in enumerate(interfaces):
        index = socket.if_nametoindex(name)
        v4.setsockopt(socket.IPPROTO_IP, MRT_ADD_VIF, struct.pack("=HBBIi4x", number, VIFF_USE_IFINDEX, 1, 0, index))
        v6.setsockopt(socket.IPPROTO_IPV6, MRT_ADD_VIF, struct.pack("=HBBHxxI", number, 0, 1, index, 0))
    print("ready", flush=True)
    while True:
        ready = select.select([v4, v6, sys.stdin], [], [])[0]
        if sys.stdin in ready:
            return
        if v4 in ready:
            told4(v4, len(interfaces))
        if v6 in ready:
            told6(v6, len(interfaces))


def told4(sock: socket.socket, n: int) -> None:
    said = sock.recv(2000)
    if len(said) < 20 or said[9] != 0 or said[8] != NOCACHE:  # an IGMP packet, or another upcall
        return
    came = said[10]
    ttls = bytes(1 if vif < n and vif != came else 0 for vif in range(32))
    sock.setsockopt(socket.IPPROTO_IP, MRT_ADD_MFC, said[12:20] + struct.pack("=H", came) + ttls + bytes(18))


def told6(sock: socket.socket, n: int) -> None:
    said = sock.recv(2000)
    if len(said) < 40 or said[0] != 0 or said[1] != NOCACHE:
        return
    came = struct.unpack_from("=H", said, 2)[0]
    outputs = sum(1 << mif for mif in range(n) if mif != came)

    def address(b: bytes) -> bytes:
        return struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, b, 0)
    sock.setsockopt(socket.IPPROTO_IPV6, MRT_ADD_MFC,
                    address(said[8:24]) + address(said[24:40]) + struct.pack("=HxxI", came, outputs) + bytes(28))


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*sys.argv[2:4], int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6]), int(sys.argv[7]))
    elif sys.argv[1] == "receive":
        receive(*sys.argv[2:])
    else:
        daemon(sys.argv[2:])
