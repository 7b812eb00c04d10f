# SPDX-License-Identifier: BSD-3-Clause
"""BGP-4 messages, as bytes (RFC 4271; multiprotocol RFC 4760; 4-byte AS numbers RFC 6793).

Only what a feed needs: it sends OPEN, KEEPALIVE, NOTIFICATION and UPDATE, and reads just the type and the
first bytes of what it receives. IPv6 travels in MP_REACH_NLRI over the same session.
"""
import random
import socket
import struct

OPEN, UPDATE, NOTIFICATION, KEEPALIVE = 1, 2, 3, 4
MAX_BYTES = 4096
HEADER_BYTES = 19
MARKER = b"\xff" * 16
AS_TRANS = 23456

OPTIONAL, TRANSITIVE, EXTENDED = 0x80, 0x40, 0x10
ORIGIN, AS_PATH, NEXT_HOP, COMMUNITIES, MP_REACH, MP_UNREACH = 1, 2, 3, 8, 14, 15
AFI_V4, AFI_V6, SAFI_UNICAST = 1, 2, 1
CAP_MP, CAP_REFRESH, CAP_AS4 = 1, 2, 65
AS_SEQUENCE = 2

NOTIFICATION_NAMES = {1: "message header error", 2: "OPEN error", 3: "UPDATE error", 4: "hold timer expired",
                      5: "state machine error", 6: "cease"}


def message(kind: int, body: bytes = b"") -> bytes:
    return MARKER + struct.pack("!HB", HEADER_BYTES + len(body), kind) + body


def attribute(flags: int, kind: int, value: bytes) -> bytes:
    if len(value) > 255:
        return struct.pack("!BBH", flags | EXTENDED, kind, len(value)) + value
    return struct.pack("!BBB", flags, kind, len(value)) + value


def open_message(asn: int, hold_s: int, router_id: str) -> bytes:
    capabilities = ((CAP_MP, struct.pack("!HBB", AFI_V4, 0, SAFI_UNICAST)),
                    (CAP_MP, struct.pack("!HBB", AFI_V6, 0, SAFI_UNICAST)),
                    (CAP_REFRESH, b""), (CAP_AS4, struct.pack("!I", asn)))
    encoded = b"".join(bytes((kind, len(value))) + value for kind, value in capabilities)
    body = struct.pack("!BHH4sB", 4, asn if asn < 65536 else AS_TRANS, hold_s,
                       socket.inet_aton(router_id), len(encoded) + 2)
    return message(OPEN, body + bytes((2, len(encoded))) + encoded)


def sequence(asns: list[int]) -> bytes:
    """The value of an AS_PATH attribute holding one AS_SEQUENCE."""
    return struct.pack("!BB", AS_SEQUENCE, len(asns)) + struct.pack(f"!{len(asns)}I", *asns)


def random_path(asn: int, rnd: random.Random) -> bytes:
    """A made-up AS path of our AS and 1 to 6 others.

    The others are 4-byte numbers that nobody has in a lab: a router drops a path that holds its own AS.
    """
    return sequence([asn] + [rnd.randint(131_072, 401_308) for _ in range(rnd.randint(1, 6))])


def prepended(asn: int, path: bytes) -> bytes:
    """`path` with our AS prepended."""
    if len(path) >= 2 and path[0] == AS_SEQUENCE and path[1] < 255:
        return bytes((AS_SEQUENCE, path[1] + 1)) + struct.pack("!I", asn) + path[2:]
    return sequence([asn]) + path


def attributes(path: bytes, community: int | None = None) -> tuple[bytes, bytes]:
    """The attributes before and after NEXT_HOP, in the order of their types."""
    before = attribute(TRANSITIVE, ORIGIN, b"\0") + attribute(TRANSITIVE, AS_PATH, path)
    after = b""
    if community is not None:
        after = attribute(OPTIONAL | TRANSITIVE, COMMUNITIES, struct.pack("!I", community))
    return before, after


def packed(nlris: list[bytes], room: int) -> list[bytes]:
    """Join NLRIs into chunks of at most `room` bytes."""
    chunks = []
    chunk: list[bytes] = []
    used = 0
    for nlri in nlris:
        if used + len(nlri) > room:
            chunks.append(b"".join(chunk))
            chunk, used = [], 0
        chunk.append(nlri)
        used += len(nlri)
    if chunk:
        chunks.append(b"".join(chunk))
    return chunks


def announce_v4(attrs: tuple[bytes, bytes], next_hop: bytes, nlris: list[bytes]) -> list[bytes]:
    block = attrs[0] + attribute(TRANSITIVE, NEXT_HOP, next_hop) + attrs[1]
    head = struct.pack("!HH", 0, len(block)) + block
    return [message(UPDATE, head + chunk)
            for chunk in packed(nlris, MAX_BYTES - HEADER_BYTES - len(head))]


def announce_v6(attrs: tuple[bytes, bytes], next_hop: bytes, nlris: list[bytes]) -> list[bytes]:
    room = MAX_BYTES - HEADER_BYTES - 4 - len(attrs[0]) - len(attrs[1]) - 4 - 5 - len(next_hop)
    updates = []
    for chunk in packed(nlris, room):
        reach = struct.pack("!HBB", AFI_V6, SAFI_UNICAST, len(next_hop)) + next_hop + b"\0" + chunk
        block = attrs[0] + attrs[1] + attribute(OPTIONAL, MP_REACH, reach)
        updates.append(message(UPDATE, struct.pack("!HH", 0, len(block)) + block))
    return updates


def withdraw_v4(nlris: list[bytes]) -> list[bytes]:
    return [message(UPDATE, struct.pack("!H", len(chunk)) + chunk + b"\0\0")
            for chunk in packed(nlris, MAX_BYTES - HEADER_BYTES - 4)]


def withdraw_v6(nlris: list[bytes]) -> list[bytes]:
    updates = []
    for chunk in packed(nlris, MAX_BYTES - HEADER_BYTES - 4 - 7):
        block = attribute(OPTIONAL, MP_UNREACH, struct.pack("!HB", AFI_V6, SAFI_UNICAST) + chunk)
        updates.append(message(UPDATE, struct.pack("!HH", 0, len(block)) + block))
    return updates


def end_of_rib() -> bytes:
    """End-of-RIB of both families (RFC 4724)."""
    v6 = attribute(OPTIONAL, MP_UNREACH, struct.pack("!HB", AFI_V6, SAFI_UNICAST))
    return message(UPDATE, b"\0\0\0\0") + message(UPDATE, struct.pack("!HH", 0, len(v6)) + v6)


def cease() -> bytes:
    """NOTIFICATION: cease, administrative reset."""
    return message(NOTIFICATION, b"\x06\x04")
