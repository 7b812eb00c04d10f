# SPDX-License-Identifier: BSD-3-Clause
"""A made-up full table with the shape of the real one.

The same seed and size always give the same table. Lengths follow the measured histogram exactly (scaled to
the size asked for); the place of a prefix is drawn either inside a shorter prefix of the table, with the
measured share of such nesting, or freely under a leading part of the address space with its measured
weight. Private and documentation space stays empty, so that a lab can use it for its own links.

Cost: about 8 s and 100 MB for the full size.
"""
import random
from itertools import accumulate

from kamuee.feed import histogram, prefix

# Space that a generated table never enters: (value, length) of the leading bits.
RESERVED_V4 = ((0x6440, 10, 0xFFC0), (0xA9FE, 16, 0xFFFF), (0xAC10, 12, 0xFFF0), (0xC0A8, 16, 0xFFFF),
               (0xC612, 15, 0xFFFE))
DOCUMENTATION_V4 = (0xC00002, 0xC63364, 0xCB0071)      # 192.0.2, 198.51.100, 203.0.113
DOCUMENTATION_V6 = 0x20010DB8

N_V4 = sum(histogram.LENGTHS_V4.values())
N_V6 = sum(histogram.LENGTHS_V6.values())


def scale(counts: dict[int, int], total: int) -> dict[int, int]:
    """Scale a histogram to `total` entries by largest remainders."""
    whole = sum(counts.values())
    exact = {key: n * total / whole for key, n in counts.items()}
    scaled = {key: int(x) for key, x in exact.items()}
    by_remainder = sorted(exact, key=lambda key: scaled[key] - exact[key])
    for key in by_remainder[:total - sum(scaled.values())]:
        scaled[key] += 1
    return scaled


def is_reserved_v4(value: int, length: int) -> bool:
    top16 = value >> (length - 16) if length >= 16 else value << (16 - length)
    if any(length >= n and top16 & mask == want for want, n, mask in RESERVED_V4):
        return True
    return length >= 24 and value >> (length - 24) in DOCUMENTATION_V4


def is_reserved_v6(value: int, length: int) -> bool:
    return length >= 32 and value >> (length - 32) == DOCUMENTATION_V6


def is_covered(value: int, length: int, shorter: list[tuple[int, set[int]]]) -> bool:
    """Whether a prefix of the `shorter` ones covers this one."""
    return any(value >> (length - n) in values for n, values in shorter)


def draw(rnd: random.Random, lengths: dict[int, int], first: dict[int, int], first_bits: int,
         covered: float, is_reserved) -> list[tuple[int, int]]:
    """Draw distinct (leading bits, length) pairs; short prefixes first, so that longer ones can nest."""
    blocks = list(first)
    weights = list(accumulate(first.values()))
    table: list[tuple[int, int]] = []
    shorter: list[tuple[int, set[int]]] = []
    for length in sorted(lengths):
        n_shorter = len(table)
        seen: set[int] = set()
        budget = 1000 + 50 * lengths[length]
        nested, n_refused = n_shorter > 0 and rnd.random() < covered, 0
        while len(seen) < lengths[length]:
            if nested:
                base, base_length = table[int(rnd.random() * n_shorter)]
            else:
                base, base_length = rnd.choices(blocks, cum_weights=weights)[0], first_bits
            more = length - base_length
            value = base << more | rnd.getrandbits(more) if more > 0 else base >> -more
            budget -= 1
            if value in seen or is_reserved(value, length):
                if budget < -1_000_000:
                    raise ValueError(f"no room for {lengths[length]} prefixes of length {length}: "
                                     "ask for fewer routes")
                n_refused += 1
                nested = nested and n_refused < 20      # covering prefixes may be full: look elsewhere
                continue
            # Where the space is so full that nothing free is left, nest after all.
            if not nested and budget > 0 and is_covered(value, length, shorter):
                continue
            seen.add(value)
            table.append((value, length))
            nested, n_refused = n_shorter > 0 and rnd.random() < covered, 0
        shorter.append((length, seen))
    rnd.shuffle(table)
    return table


def generate(n_routes: int | None = None, seed: int = 1) -> tuple[list[bytes], list[bytes]]:
    """A table of `n_routes` routes (default: the full size), IPv4 and IPv6 in the real proportion.

    Returns (v4, v6) as NLRI.
    """
    total = N_V4 + N_V6 if n_routes is None else n_routes
    if not 1 <= total <= 4 * (N_V4 + N_V6):
        raise ValueError(f"{total} routes: expected 1 to {4 * (N_V4 + N_V6)}")
    n_v6 = total * N_V6 // (N_V4 + N_V6)
    rnd = random.Random(seed)
    v4 = draw(rnd, scale(histogram.LENGTHS_V4, total - n_v6), histogram.FIRST_V4, 8,
              histogram.COVERED_V4, is_reserved_v4)
    v6 = draw(rnd, scale(histogram.LENGTHS_V6, n_v6), histogram.FIRST_V6, 16,
              histogram.COVERED_V6, is_reserved_v6)
    return ([prefix.from_int(value, length, 32) for value, length in v4],
            [prefix.from_int(value, length, 128) for value, length in v6])
