# SPDX-License-Identifier: BSD-3-Clause
"""Reader of MRT routing table dumps (RFC 6396, TABLE_DUMP_V2; RFC 8050 for additional paths).

Such dumps are published by route collectors every few hours. Only the unicast RIB records are read; of the
entries of a prefix (one for each peer of the collector) the first one with an AS path is taken, and of its
attributes the AS path alone, already in the 4-byte form that our speaker sends.
"""
import struct
from collections.abc import Iterator
from typing import IO

from kamuee.feed import prefix

TABLE_DUMP_V2 = 13
RIB_IPV4_UNICAST, RIB_IPV6_UNICAST = 2, 4
RIB_IPV4_UNICAST_ADDPATH, RIB_IPV6_UNICAST_ADDPATH = 8, 10
V4_SUBTYPES = (RIB_IPV4_UNICAST, RIB_IPV4_UNICAST_ADDPATH)
V6_SUBTYPES = (RIB_IPV6_UNICAST, RIB_IPV6_UNICAST_ADDPATH)
ADDPATH_SUBTYPES = (RIB_IPV4_UNICAST_ADDPATH, RIB_IPV6_UNICAST_ADDPATH)

ATTR_EXTENDED_LENGTH = 0x10
ATTR_AS_PATH = 2


def as_path_of(attributes: bytes) -> bytes | None:
    """The value of the AS_PATH attribute, or None."""
    at = 0
    while at + 3 <= len(attributes):
        flags, kind = attributes[at], attributes[at + 1]
        if flags & ATTR_EXTENDED_LENGTH:
            (length,) = struct.unpack_from("!H", attributes, at + 2)
            at += 4
        else:
            length = attributes[at + 2]
            at += 3
        if kind == ATTR_AS_PATH:
            return attributes[at:at + length]
        at += length
    return None


def parse_rib(body: bytes, addpath: bool, width: int) -> tuple[bytes, bytes]:
    """One RIB record as (NLRI, AS path value); ValueError if it is cut short or out of range."""
    length = body[4]
    n_bytes = (length + 7) // 8
    if length > width or len(body) < 5 + n_bytes + 2:
        raise ValueError(f"a RIB record with prefix length {length}")
    nlri = body[4:5 + n_bytes]
    at = 5 + n_bytes
    (n_entries,) = struct.unpack_from("!H", body, at)
    at += 2
    for _ in range(n_entries):
        at += 6 + (4 if addpath else 0)
        (n_attributes,) = struct.unpack_from("!H", body, at)
        path = as_path_of(body[at + 2:at + 2 + n_attributes])
        if path:
            return nlri, path
        at += 2 + n_attributes
    return nlri, b""


def records(stream: IO[bytes], name: str) -> Iterator[tuple[int, int, bytes]]:
    """(type, subtype, body) of each record; ValueError if the file ends inside one."""
    while header := stream.read(12):
        if len(header) < 12:
            raise ValueError(f"{name}: the file ends inside an MRT header")
        _, kind, subtype, length = struct.unpack("!IHHI", header)
        body = stream.read(length)
        if len(body) < length:
            raise ValueError(f"{name}: the file ends inside an MRT record")
        yield kind, subtype, body


def read_file(path: str) -> tuple[list[bytes], list[bytes], dict[bytes, bytes], dict[bytes, bytes]]:
    """Read a RIB dump (may be .gz, .bz2, .xz).

    Returns (v4, v6, path of each v4 NLRI, path of each v6 NLRI). Each prefix appears once.
    """
    paths_v4: dict[bytes, bytes] = {}
    paths_v6: dict[bytes, bytes] = {}
    interned: dict[bytes, bytes] = {}
    with prefix.open_any(path) as stream:
        for kind, subtype, body in records(stream, path):
            if kind != TABLE_DUMP_V2 or subtype not in V4_SUBTYPES + V6_SUBTYPES:
                continue
            v6 = subtype in V6_SUBTYPES
            try:
                nlri, as_path = parse_rib(body, subtype in ADDPATH_SUBTYPES, 128 if v6 else 32)
            except (ValueError, IndexError, struct.error) as error:
                raise ValueError(f"{path}: damaged RIB record: {error}") from None
            if nlri[0] == 0:
                continue                         # a default route is no part of the table
            (paths_v6 if v6 else paths_v4).setdefault(nlri, interned.setdefault(as_path, as_path))
    if not paths_v4 and not paths_v6:
        raise ValueError(f"{path}: no TABLE_DUMP_V2 unicast RIB records; expected a RIB dump "
                         "(rib.*.bz2 or bview.*.gz), not an update file")
    return list(paths_v4), list(paths_v6), paths_v4, paths_v6
