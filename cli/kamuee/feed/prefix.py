# SPDX-License-Identifier: BSD-3-Clause
"""Prefixes in the form BGP sends them (NLRI, RFC 4271 section 4.3).

A prefix is a `bytes` object: one byte of length in bits, then just the bytes of the address that the
length covers. The two families are kept in separate lists, because the bytes alone do not tell them
apart. A full table of a million prefixes is a million small objects, about 40 MB, and needs no further
encoding when it is announced.
"""
import bz2
import gzip
import ipaddress
import lzma
import socket
from typing import IO

OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


def open_any(path: str, mode: str = "rb") -> IO:
    """Open a file, unpacking .gz, .bz2 and .xz by the name's end."""
    for end, opener in OPENERS.items():
        if path.endswith(end):
            return opener(path, mode)
    return open(path, mode)


def encode(text: str) -> bytes:
    """'10.1.0.0/16' or '2001:db8::/32' as NLRI; ValueError for anything else or for host bits."""
    address, slash, length_text = text.partition("/")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    width = 128 if family == socket.AF_INET6 else 32
    try:
        raw, length = socket.inet_pton(family, address), int(length_text)
    except (OSError, ValueError):
        raise ValueError(f"'{text}' is not a prefix; expected ADDRESS/LENGTH") from None
    if not slash or not 0 <= length <= width:
        raise ValueError(f"'{text}': the length must be 0 to {width}")
    n_bytes = (length + 7) // 8
    spare = n_bytes * 8 - length
    if any(raw[n_bytes:]) or (spare and raw[n_bytes - 1] & ((1 << spare) - 1)):
        raise ValueError(f"'{text}' has address bits beyond its length")
    return bytes((length,)) + raw[:n_bytes]


def decode(nlri: bytes, v6: bool) -> str:
    """NLRI as text."""
    width = 16 if v6 else 4
    raw = nlri[1:].ljust(width, b"\0")
    return f"{socket.inet_ntop(socket.AF_INET6 if v6 else socket.AF_INET, raw)}/{nlri[0]}"


def from_int(value: int, length: int, width: int) -> bytes:
    """NLRI of the `length` leading bits `value` (an integer of `length` bits) of a `width`-bit address."""
    n_bytes = (length + 7) // 8
    return bytes((length,)) + (value << (n_bytes * 8 - length)).to_bytes(n_bytes, "big")


def first_host(nlri: bytes, v6: bool) -> str:
    """An address inside the prefix: the first one after the network address where there is one."""
    width = 128 if v6 else 32
    value = int.from_bytes(nlri[1:].ljust(width // 8, b"\0"), "big")
    if nlri[0] < width:
        value += 1
    return str(ipaddress.IPv6Address(value) if v6 else ipaddress.IPv4Address(value))


def read_file(path: str) -> tuple[list[bytes], list[bytes]]:
    """Read a file of prefixes, one a line; blank lines and '#' comments are skipped.

    Returns (v4, v6) in the order of the file. ValueError names file and line.
    """
    v4: list[bytes] = []
    v6: list[bytes] = []
    with open_any(path, "rt") as lines:
        for number, line in enumerate(lines, 1):
            text = line.partition("#")[0].strip()
            if not text:
                continue
            try:
                (v6 if ":" in text else v4).append(encode(text))
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
    return v4, v6
