# SPDX-License-Identifier: BSD-3-Clause
"""The page of a replay port: its counters and orders, mapped. page.h has the same layout.

    python3 bench/replay/page.py /dev/shm/p0 /dev/shm/p1      rates of running ports once a second
"""
from __future__ import annotations

import mmap
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path

MAGIC = 0x3150524B
QUEUES = 16
HEADER, RX, TX = 64, 64, 128                   # bytes
HELD, VERIFY, RATE = 24, 28, 32                # offsets of the orders
FAULTS = ("length", "mac", "ttl", "checksum", "payload", "next-hop", "port", "vlan")
RX_FIELDS = ("rx", "rx_bytes", "rx_calls", "rx_empty", "no_buffer", "missed")
TX_FIELDS = ("tx", "tx_bytes", "tx_calls", "verified", "foreign", *FAULTS)


class Page:
    """The page of one port. Raises FileNotFoundError or ValueError until the driver has made it."""

    def __init__(self, path: Path | str):
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), HEADER + QUEUES * (RX + TX))
        if struct.unpack_from("<I", self.map)[0] != MAGIC:
            raise ValueError(f"{path} is no page of a replay port")

    @property
    def queues(self) -> int:
        return struct.unpack_from("<I", self.map, 4)[0]

    @property
    def tsc_hz(self) -> int:
        return struct.unpack_from("<Q", self.map, 8)[0]

    @property
    def prefixes(self) -> tuple[int, int]:
        """IPv4 and IPv6 prefixes that the driver read from its routes file."""
        return struct.unpack_from("<II", self.map, 16)

    def order(self, held: bool | None = None, verify: bool | None = None, rate: int | None = None) -> None:
        """None leaves a value unchanged. rate: packets/s of each queue, 0 = flood."""
        for at, form, value in ((RATE, "<Q", rate), (VERIFY, "<I", verify), (HELD, "<I", held)):
            if value is not None:
                struct.pack_into(form, self.map, at, int(value))

    def counters(self) -> dict[str, int]:
        """Sums over the queues."""
        found = dict.fromkeys(RX_FIELDS + TX_FIELDS, 0)
        for fields, start, size in ((RX_FIELDS, HEADER, RX), (TX_FIELDS, HEADER + QUEUES * RX, TX)):
            for queue in range(min(self.queues, QUEUES)):
                for name, value in zip(fields, struct.unpack_from(f"<{len(fields)}Q", self.map, start + queue * size)):
                    found[name] += value
        return found


class Pages:
    """The pages of all ports of a program."""

    def __init__(self, pages: Sequence[Page]):
        self.pages = list(pages)

    def order(self, **orders) -> None:
        for page in self.pages:
            page.order(**orders)

    def counters(self) -> dict[str, int]:
        each = [page.counters() for page in self.pages]
        return {name: sum(one[name] for one in each) for name in each[0]}

    def drain(self, patience_s: float = 2.0) -> dict[str, int]:
        """Hold the traffic, wait until what is inside has come out, and return the counters.

        Out means: transmit counts no more for 30 ms in which the program has asked for packets."""
        self.order(held=True)
        end = time.monotonic() + patience_s
        now = self.counters()
        while time.monotonic() < end:
            before = now
            time.sleep(0.03)
            now = self.counters()
            if now["tx"] == before["tx"] and now["rx"] == before["rx"] and now["rx_calls"] > before["rx_calls"] + 64:
                break
        return now


def watch(paths: Sequence[str]) -> None:
    pages = Pages([Page(path) for path in paths])
    before, since = pages.counters(), time.monotonic()
    while True:
        time.sleep(1)
        now, at = pages.counters(), time.monotonic()
        rate = {name: (now[name] - before[name]) / (at - since) / 1e6 for name in ("rx", "tx", "missed")}
        bad = {name: now[name] for name in FAULTS if now[name]}
        print(f"rx {rate['rx']:.2f} tx {rate['tx']:.2f} missed {rate['missed']:.2f} Mpps, verified "
              f"{now['verified']:,}, wrong {bad or 0}", flush=True)
        before, since = now, at


if __name__ == "__main__":
    try:
        watch(sys.argv[1:] or sys.exit(__doc__))
    except KeyboardInterrupt:
        pass
    except (OSError, ValueError) as error:
        sys.exit(f"page.py: {error}")
