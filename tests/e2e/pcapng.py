# SPDX-License-Identifier: BSD-3-Clause
"""Reads pcapng files as far as the tests need it, independently of the code that writes them."""
import struct
from dataclasses import dataclass, field


@dataclass
class Packet:
    interface: str
    time_ns: int
    data: bytes
    length: int
    direction: int = 0          # 1 in, 2 out
    comment: str = ""
    missed: int = 0
    filter: str = field(default="", repr=False)


def read(path) -> list[Packet]:
    data = path.read_bytes()
    interfaces, packets, at = [], [], 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and length >= 12, f"block of {length} bytes at {at}"
        if at + length > len(data):
            break                                       # cut off in the middle of a block
        assert struct.unpack_from("<I", data, at + length - 4) == (length,), f"lengths of the block at {at} differ"
        body = data[at + 8:at + length - 4]
        if kind == 0x0a0d0d0a:
            assert body[:8] == struct.pack("<IHH", 0x1a2b3c4d, 1, 0)
        elif kind == 1:
            found = options(body[8:])
            assert struct.unpack_from("<H", body) == (1,) and found[9] == b"\x09"
            interfaces.append((found[2].decode(), found.get(11, b"\0")[1:].decode()))
        elif kind == 6:
            packets.append(packet(body, interfaces))
        at += length
    return packets


def packet(body: bytes, interfaces: list[tuple[str, str]]) -> Packet:
    number, high, low, kept, length = struct.unpack_from("<IIIII", body)
    found = options(body[20 + (kept + 3) // 4 * 4:])
    return Packet(interfaces[number][0], high << 32 | low, body[20:20 + kept], length,
                  struct.unpack("<I", found.get(2, bytes(4)))[0] & 3, found.get(1, b"").decode(),
                  struct.unpack("<Q", found.get(4, bytes(8)))[0], interfaces[number][1])


def options(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + 4 <= len(data):
        code, n = struct.unpack_from("<HH", data, at)
        if code == 0:
            break
        found[code] = data[at + 4:at + 4 + n]
        at += 4 + (n + 3) // 4 * 4
    return found
