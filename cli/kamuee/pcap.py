# SPDX-License-Identifier: BSD-3-Clause
"""Reads frames of pcap and pcapng files; only Ethernet."""
from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from kamuee.errors import UsageError

ETHERNET = 1
PCAP = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
SECTION, INTERFACE, SIMPLE, ENHANCED = 0x0A0D0D0A, 1, 3, 6
LARGEST = 1 << 20


def frame(path: str, wanted: int) -> bytes:
    """Frame number `wanted`, from 1, of the file."""
    found = 0
    try:
        with Path(path).open("rb") as file:
            for found, data in enumerate(frames(file, path), 1):
                if found == wanted:
                    return data
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    raise UsageError(f"{path} has {found} frame{'s' * (found != 1)}, not {wanted}")


def frames(file: BinaryIO, path: str) -> Iterator[bytes]:
    magic = file.read(4)
    if magic in PCAP:
        return classic(file, PCAP[magic], path)
    if magic == struct.pack("<I", SECTION):
        file.seek(0)
        return blocks(file, path)
    raise UsageError(f"{path} is neither a pcap nor a pcapng file")


def classic(file: BinaryIO, order: str, path: str) -> Iterator[bytes]:
    head = file.read(20)
    if len(head) < 20:
        raise UsageError(f"{path} ends within its header")
    check(struct.unpack(order + "I", head[16:20])[0] & 0xffff, path)
    while len(record := file.read(16)) == 16:
        length = struct.unpack(order + "4I", record)[2]
        yield whole(file, length, path)


def blocks(file: BinaryIO, path: str) -> Iterator[bytes]:
    """pcapng: blocks of type, length, body, length."""
    order, links = "<", []
    while len(head := file.read(8)) == 8:
        kind = struct.unpack(order + "I", head[:4])[0]
        if kind == SECTION:
            order = "<" if file.read(4) == b"\x4d\x3c\x2b\x1a" else ">"
            file.seek(-4, 1)
            links = []
        size = struct.unpack(order + "I", head[4:])[0]
        body = whole(file, max(size - 12, 0), path)
        file.read(4)
        if kind == INTERFACE:
            links.append(struct.unpack(order + "H", body[:2])[0])
        elif kind == ENHANCED and len(body) >= 20:
            number, _, _, kept = struct.unpack(order + "4I", body[:16])
            check(links[number] if number < len(links) else -1, path)
            yield body[20:20 + kept]
        elif kind == SIMPLE and len(body) >= 4:
            check(links[0] if links else -1, path)
            yield body[4:4 + struct.unpack(order + "I", body[:4])[0]]


def whole(file: BinaryIO, size: int, path: str) -> bytes:
    data = file.read(size) if size <= LARGEST else b""
    if len(data) < size:
        raise UsageError(f"{path} is truncated or corrupt")
    return data


def check(link: int, path: str) -> None:
    if link != ETHERNET:
        raise UsageError(f"{path} has no Ethernet frames (link type {link})")
