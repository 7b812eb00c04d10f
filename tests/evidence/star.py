# SPDX-License-Identifier: BSD-3-Clause
"""What the suites share that run tools of Debian's beside a router (bench/measure/topology.py)."""
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "cli")]

from debian import installed                                # noqa: E402
from measure.context import Context                         # noqa: E402
from measure.topology import Star, own_namespaces, star     # noqa: E402


class StarSuite:
    PACKAGES: tuple[str, ...] = ()

    def __init__(self, work: Path):
        self.work, self.version = work, ""
        self.fetch()
        own_namespaces()

    def fetch(self) -> None:
        self.version = installed(*self.PACKAGES)


@contextmanager
def router(kamueed: Path | None, out: Path) -> Iterator[Star]:
    """Three hosts around a router; None: Linux."""
    given = kamueed or Path("/nonexistent")
    with star("kamueed" if kamueed else "linux", Context(given.parent, given, 1, True, None, out)) as lab:
        yield lab


def wrong_with(lab: Star) -> list[str]:
    """What kamueed's own checks find afterwards."""
    if not lab.kamueed:
        return []
    if lab.kamueed.proc.poll() is not None:
        return [f"kamueed ended with status {lab.kamueed.proc.returncode}"]
    audit, imbalance = lab.kamueed.client.call("audit"), lab.kamueed.client.state("ledger")["imbalance"]
    return [f"audit: {audit['diverged']} differences"] * bool(audit["diverged"]) + [f"ledger: {imbalance} packets"] * bool(imbalance)
