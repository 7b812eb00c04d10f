# SPDX-License-Identifier: BSD-3-Clause
"""Routes as the driver, the router and its peers read them.

The order of the prefixes is what all agree on: prefix i of a family has next hop i % hops. Next hop i has MAC
02:4b:52:00:I:I, its addresses below, and is behind port i % ports.
"""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

DEFAULT4 = ("0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/2")
FILLER = {4: "198.18.0.0/15", 6: "2001:2::/48"}     # for programs that want both families: where no packet goes
FIRST_HOST = 10


def hop_mac(hop: int) -> str:
    return f"02:4b:52:00:{hop >> 8:02x}:{hop & 255:02x}"


def hop_address(hop: int, ports: int, family: int) -> str:
    host = FIRST_HOST + hop // ports
    return f"198.19.{hop % ports}.{host}" if family == 4 else f"fd4b:{hop % ports:x}::{host:x}"


def port_address(port: int, family: int) -> str:
    return f"198.19.{port}.1/24" if family == 4 else f"fd4b:{port:x}::1/64"


def family_of(prefix: str) -> int:
    return 6 if ":" in prefix else 4


def write_prefixes(full: Path | None, path: Path, name: str, families: Sequence[int],
                   limit: int | None = None) -> dict[int, int]:
    """Writes the prefixes of a table to a file; returns the number per family. `full` is the full table's file."""
    lines = DEFAULT4 if name == "default4" else (line.strip() for line in full.open())
    count = dict.fromkeys(families, 0)
    with path.open("w") as out:
        for line in lines:
            family = family_of(line)
            if not line or line.startswith("#") or family not in count or (limit is not None
                                                                           and count[family] >= limit):
                continue
            out.write(line + "\n")
            count[family] += 1
    return count


def write_hops(prefixes: Path, hops: int) -> Path:
    """'PREFIX HOP' lines, made once beside the file of prefixes."""
    path = prefixes.with_name(f"{prefixes.name}-{hops}-hops")
    if not path.exists():
        count = {4: 0, 6: 0}
        with path.open("w") as out:
            for line in prefixes.open():
                prefix = line.strip()
                family = family_of(prefix)
                out.write(f"{prefix} {count[family] % hops}\n")
                count[family] += 1
    return path


def write_rules(prefixes: Path, hops: int, ports: int) -> tuple[Path, Path]:
    """l3fwd's rule files, IPv4 and IPv6, made once beside the file of prefixes: 'R' prefix port, by length, which is
    the order in which LPM takes them fastest."""
    paths = tuple(prefixes.with_name(f"{prefixes.name}-{hops}-{ports}-rules{family}") for family in (4, 6))
    if all(path.exists() for path in paths):
        return paths
    rules: dict[int, list[tuple[int, str]]] = {4: [], 6: []}
    for line in prefixes.open():
        prefix = line.split()[0]
        mine = rules[family_of(prefix)]
        port = len(mine) % hops % ports
        mine.append((int(prefix.partition("/")[2]), f"R{prefix} {port}\n"))
    for family, path in zip((4, 6), paths):
        found = sorted(rules[family], key=lambda rule: rule[0]) or [(0, f"R{FILLER[family]} 0\n")]
        path.write_text("".join(text for _, text in found))
    return paths
