# SPDX-License-Identifier: BSD-3-Clause
"""The table that a feed announces, and where it comes from.

Source, first that applies: an MRT dump, a file of prefixes, a size to generate, $KAMUEE_PREFIXES, the real
table lying in `shared/data/` beside the checkout, a generated table of full size.
"""
import os
import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from kamuee.feed import generate, mrt, prefix

BESIDE_CHECKOUT = Path("shared/data/bgp-full-table.prefixes.txt.gz")


@dataclass
class Table:
    """Prefixes as NLRI; AS paths (values of the attribute) only where the source has them."""
    v4: list[bytes]
    v6: list[bytes]
    origin: str
    paths_v4: dict[bytes, bytes] = field(default_factory=dict)
    paths_v6: dict[bytes, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.v4) + len(self.v6)

    def shortened(self, n_routes: int, seed: int) -> "Table":
        """A sample of `n_routes` routes, both families in proportion, in the order of the table."""
        if n_routes >= len(self):
            return self
        n_v6 = n_routes * len(self.v6) // len(self)
        rnd = random.Random(seed)
        v4 = sorted(rnd.sample(range(len(self.v4)), n_routes - n_v6))
        v6 = sorted(rnd.sample(range(len(self.v6)), n_v6))
        return Table([self.v4[i] for i in v4], [self.v6[i] for i in v6], self.origin, self.paths_v4,
                     self.paths_v6)

    def write(self, path: str) -> None:
        """Write the prefixes as text, one a line."""
        with open(path, "w", encoding="ascii") as out:
            for nlris, v6 in ((self.v4, False), (self.v6, True)):
                out.writelines(prefix.decode(nlri, v6) + "\n" for nlri in nlris)


def default_file() -> str | None:
    """The default prefixes file, or None."""
    named = os.environ.get("KAMUEE_PREFIXES")
    if named:
        return named
    checkout = Path(__file__).resolve().parents[3]
    beside = checkout.parent / BESIDE_CHECKOUT
    return str(beside) if beside.exists() else None


def load(prefixes: str | None = None, mrt_file: str | None = None, n_routes: int | None = None,
         seed: int = 1, generated: bool = False, families: tuple[str, ...] = ("ipv4", "ipv6")) -> Table:
    """Load the table of these families; `n_routes` shortens it. ValueError or OSError describe an error in a file."""
    if mrt_file:
        table = Table(*_from_mrt(mrt_file))
    else:
        path = None if generated else prefixes or default_file()
        if path:
            v4, v6 = prefix.read_file(path)
            table = Table(v4, v6, path)
            if not len(table):
                raise ValueError(f"{path}: holds no prefixes")
        else:
            v4, v6 = generate.generate(n_routes if len(families) == 2 else None, seed)
            table = Table(v4, v6, f"a generator (seed {seed})")
    if "ipv6" not in families:
        table.v6, table.paths_v6 = [], {}
    return table if n_routes is None else table.shortened(n_routes, seed)


def _from_mrt(path: str):
    v4, v6, paths_v4, paths_v6 = mrt.read_file(path)
    return v4, v6, path, paths_v4, paths_v6


def grouped(nlris: list[bytes], paths: dict[bytes, bytes], n_paths: int,
            rnd: random.Random) -> list[tuple[bytes | None, list[bytes]]]:
    """Group prefixes that share an AS path: [(path or None for a made-up one, prefixes)].

    Without known paths the group sizes are drawn geometrically, so that about `n_paths` groups arise:
    a real full table has about one distinct path for every eight prefixes.
    """
    if paths:
        by_path: dict[bytes, list[bytes]] = defaultdict(list)
        for nlri in nlris:
            by_path[paths[nlri]].append(nlri)
        return list(by_path.items())
    mean = max(1, len(nlris) // max(1, n_paths))
    groups = []
    at = 0
    while at < len(nlris):
        size = 1 if mean == 1 else min(2000, int(rnd.expovariate(1 / mean)) + 1)
        groups.append((None, nlris[at:at + size]))
        at += size
    return groups
