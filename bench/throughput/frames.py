# SPDX-License-Identifier: BSD-3-Clause
"""Test frames: frame sizes, shares of IPv4 and IPv6, destinations. Sizes count the frame check sequence."""
from __future__ import annotations

import ipaddress
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

RFC2544 = (64, 128, 256, 512, 1024, 1280, 1518)      # RFC 2544, 9.1, Ethernet
MIN, MIN6, MAX = 64, 84, 9618                         # bench/throughput/frame.h
GENOME = {"a": 64, "b": 128, "c": 256, "d": 512, "e": 1024, "f": 1280, "g": 1518, "h": 2112, "i": 9000}   # RFC 6985, 3
IMIX = (64,) * 7 + (594,) * 4 + (1518,)               # "simple IMIX", 7 : 4 : 1
WIRE_OVERHEAD = 20                                    # preamble and gap between frames, bytes
ADDRESSES = 65536                                     # destinations of each port and family, at most


class BadFrames(Exception):
    """An impossible size, mix or prefix; the text says what is expected."""


@dataclass(frozen=True)
class Frames:
    """The sizes of the frames, in turn."""
    name: str
    sizes: tuple[int, ...]

    def mean(self, percent6: int = 0) -> float:
        """Bytes of a frame on average; an IPv6 frame has at least MIN6."""
        share6 = percent6 / 100
        return sum((1 - share6) * size + share6 * max(size, MIN6) for size in self.sizes) / len(self.sizes)


def checked(size: int) -> int:
    if not MIN <= size <= MAX:
        raise BadFrames(f"frame size {size}: expected {MIN} to {MAX} bytes")
    return size


def of_word(word: str) -> Frames:
    """"64", "imix", an IMIX genome such as "aaaaaaaddddg" or "7a4d1g", or a file with one of these a line."""
    if word.isdecimal():
        return Frames(word, (checked(int(word)),))
    if word == "imix":
        return Frames(word, IMIX)
    if re.fullmatch(r"(\d*[a-i])+", word):
        return Frames(word, tuple(GENOME[letter] for n, letter in re.findall(r"(\d*)([a-i])", word)
                                  for _ in range(int(n or 1))))
    if Path(word).is_file():
        lines = [line.split("#")[0].strip() for line in Path(word).read_text().splitlines()]
        sizes = tuple(size for line in lines if line for size in of_word(line).sizes)
        if sizes:
            return Frames(Path(word).name, sizes)
    raise BadFrames(f"'{word}': expected a size in bytes, imix, an IMIX genome (RFC 6985; letters "
                    f"{', '.join(f'{letter}={size}' for letter, size in GENOME.items())}) or a file with one of them "
                    "per line")


def of_list(text: str) -> list[Frames]:
    return [of_word(word) for word in text.split(",") if word]


def percent6(text: str) -> int:
    """The share of IPv6 in "4:60,6:40" (of frames; the shares make 100)."""
    shares = dict.fromkeys("46", 0)
    for part in text.split(","):
        family, _, share = part.partition(":")
        if family not in shares or not share.isdecimal():
            raise BadFrames(f"--mix {text}: expected shares in percent such as 4:100 or 4:60,6:40")
        shares[family] = int(share)
    if sum(shares.values()) != 100:
        raise BadFrames(f"--mix {text}: the shares add up to {sum(shares.values())} %, expected 100 %")
    return shares["6"]


# --- destinations ---

def split(prefixes: Iterable[str], hops: int) -> list[list[ipaddress._BaseNetwork]]:
    """Prefixes by the next hop they lead to, as route_install deals them out: prefix i of a family to hop i modulo
    `hops`."""
    groups: list[list] = [[] for _ in range(hops)]
    seen = {4: 0, 6: 0}
    for text in prefixes:
        net = ipaddress.ip_network(text.strip(), strict=False)
        groups[seen[net.version] % hops].append(net)
        seen[net.version] += 1
    return groups


def addresses(groups: Sequence[Sequence], which: int, seed: int = 1) -> list[str]:
    """One address in each of a sample of the prefixes of group `which`, for which no longer prefix of another group
    exists."""
    choose = random.Random(seed)
    group_of = {(net.version, net.prefixlen, int(net.network_address)): number for number, nets in enumerate(groups)
                for net in nets}
    found = []
    for version, bits in ((4, 32), (6, 128)):
        lengths = sorted({length for family, length, _ in group_of if family == version}, reverse=True)
        nets = [net for net in groups[which] if net.version == version]
        for net in choose.sample(nets, min(len(nets), ADDRESSES)):
            value = int(net.network_address) + choose.randrange(1, max(2, min(1 << 32, net.num_addresses)
                                                                       - 1)) % net.num_addresses
            covering = (group_of.get((version, length, value >> (bits - length) << (bits - length)))
                        for length in lengths)
            if next((group for group in covering if group is not None), None) == which:
                found.append(str((ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address)(value)))
    return found
