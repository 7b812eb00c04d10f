# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding rates without NICs and without a generator's core: DPDK programs on replay ports, in turns.

A replay port (bench/replay/net_replay.c) is a DPDK device whose receive side hands out packets as fast as the
program takes them and whose transmit side counts, verifies and frees them. So packets per second on one core are
the program's whole cost plus the driver's own, small and constant: the floor, measured with `testpmd io`.

    with Bench(build, kamueed=build / "kamueed", work=Path(tmp)) as bench:
        for rate in bench.compare([kamueed(), l3fwd("lpm")], CASES["ipv4-full"], seconds=2, rounds=5):
            print(rate.program, rate.mpps, rate.cycles_net, rate.bad)

or, where one program is to be put through several things,

    with bench.start(kamueed("set fib-engine lpm"), case) as run:      # configured, table complete, frozen
        samples = run.measure(2.0)                                     # Mpps of each 100 ms, flooded
        load = run.offer(5e6, 1.0)                                     # 5 Mpps offered in all: what was lost?
        verdict = run.verify(0.5)                                      # every frame looked at

Programs that are not measured at the moment are stopped (SIGSTOP): several stay loaded, one runs.
Root is needed (namespaces, huge pages). Errors are Unavailable (what is missing, and the remedy), Disturbed.
"""
from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path


class Disturbed(Exception):
    """The machine did something else meanwhile; its text says what was seen."""


@dataclass(frozen=True)
class Case:
    """What traffic, through which table. Variants: dataclasses.replace(CASES["ipv4-full"], ring=True)."""
    name: str
    idea: str
    families: tuple[int, ...] = (4,)   # of the packets; (4, 6): in turns
    table: str = "full"                # full: the prefixes of the Bench; default4: four routes, 0/2 64/2 128/2 192/2
    pattern: str = "prefix"            # prefix: uniform over prefixes, random host; uniform: over addresses; flow: one 5-tuple
    size: int = 64                     # bytes of a frame with FCS
    vlan: bool = False                 # in and out by tagged sub-interfaces (VLAN 100)
    vrs: int = 1                       # virtual routers, each with its own table and VLAN; packets go to them in turn
    hops: int = 64                     # next hops of the table, hop i behind port i mod ports
    ports: int = 4
    cores: int = 1                     # cores that forward, each with one queue of every port
    ring: bool = False                 # packets cycle through 1,024 descriptors as in a NIC; False: the same few, hot in L1
    seed: int = 1


CASES: dict[str, Case] = {case.name: case for case in (
    Case("ipv4-full", "full table, random hosts of its IPv4 prefixes"),
    Case("ipv4-default4", "four IPv4 routes, random addresses", table="default4", pattern="uniform", hops=4),
    Case("ipv4-flow", "full table, one IPv4 flow", pattern="flow"),
    Case("ipv6-full", "full table, random hosts of its IPv6 prefixes", families=(6,)),
    Case("mix", "full table, IPv4 and IPv6 in turns", families=(4, 6)),
    Case("vlan", "ipv4-full by VLAN sub-interfaces in and out", vlan=True),
    Case("vr16", "ipv4-full in 16 virtual routers in turn", vlan=True, vrs=16),
)}


@dataclass
class Rate:
    """What a program reached in a case, and the floor measured around it."""
    program: str
    case: Case
    samples: list[float] = field(default_factory=list)   # Mpps of each interval, all rounds
    tsc_mhz: float = 0.0
    floor_mpps: float | None = None                      # testpmd io on the same ports, around these samples
    bad: int | None = None                               # wrong or lost frames; None: not verified
    faults: dict[str, int] = field(default_factory=dict)   # kind -> frames, only those that occurred
    verified: int = 0                                    # frames looked at
    waited: float = 0.0                                  # largest share of an interval that the core worked for others
    ratio: float | None = None                           # kamueed's rate to this program's: median of the rounds' ratios

    @property
    def mpps(self) -> float:
        return statistics.median(self.samples) if self.samples else 0.0

    @property
    def cycles(self) -> float:
        """TSC cycles a packet, the driver's own included; for several cores, of all of them together."""
        return self.tsc_mhz * self.case.cores / self.mpps if self.mpps else 0.0

    @property
    def cycles_net(self) -> float | None:
        """Less those of the floor."""
        return self.cycles - self.tsc_mhz * self.case.cores / self.floor_mpps if self.floor_mpps else None


@dataclass
class Load:
    """What became of an offered load."""
    offered: int      # packets the ports had for the program
    missed: int       # of these, found no free descriptor: the program was too slow
    forwarded: int
    seconds: float

    @property
    def lost(self) -> int:
        return self.offered - self.forwarded


@dataclass
class Verdict:
    """What verification of every frame found."""
    frames: int
    faults: dict[str, int]   # kind -> frames: ttl, checksum, length, mac, next-hop, port, vlan, payload, lost

    @property
    def bad(self) -> int:
        return sum(self.faults.values())


class Program:
    """Something that forwards between replay ports; made by kamueed(), testpmd(), l3fwd(), command()."""
    name: str
    routes = False      # whether it forwards by the table, to the next hop's MAC: whether verifying makes sense


def kamueed(*lines: str, name: str = "kamueed") -> Program:
    """The router of the build under test. lines: further configuration, e.g. "set fib-engine dir24_8"."""
    raise NotImplementedError


def testpmd(mode: str = "io") -> Program:
    """DPDK's testpmd: io (the floor), mac, macswap."""
    raise NotImplementedError


def l3fwd(lookup: str = "lpm") -> Program:
    """DPDK's example router, lookup lpm or fib, with its limits raised to the table. It checks and counts nothing."""
    raise NotImplementedError


def command(text: str) -> Program:
    """Any DPDK program: a command line with {eal} (cores, memory, ports), {plugin}, {ports} (number), {routes} (rule file)."""
    raise NotImplementedError


class Run:
    """A program that is ready: configured, its table complete. Frozen except inside these calls. A context manager."""

    def measure(self, seconds: float) -> list[float]:
        """Flood it; Mpps of each interval of 100 ms once the rate is steady."""
        raise NotImplementedError

    def offer(self, packets_per_s: float, seconds: float) -> Load:
        """Offer a load, evenly over ports and queues and evenly in time; full queues (1,024) lose packets as a NIC's do."""
        raise NotImplementedError

    def verify(self, seconds: float) -> Verdict:
        """Flood it with every frame looked at: TTL, checksums, MACs, next hop against the driver's own trie, VLAN, payload."""
        raise NotImplementedError

    def stop(self) -> None:
        """End the program and remove what it needed."""
        raise NotImplementedError


class Bench:
    """The plugin, the tables and a private place for namespaces. A context manager: all is gone afterwards."""

    def __init__(self, build: Path, kamueed: Path, work: Path, prefixes: Path | str | None = None, routes: int | None = None,
                 huge: bool = True, force: bool = False, say: Callable[[str], None] = print):
        """build: build directory (programs of bench/). prefixes: the full table's file, default: the one the feed finds or
        makes; routes: at most so many of it. huge: take huge pages for the time of the Bench. force: never Disturbed."""
        raise NotImplementedError

    def start(self, program: Program, case: Case) -> Run:
        """Returns when it is ready to forward; for kamueed, when its FIB holds the whole table."""
        raise NotImplementedError

    def run(self, program: Program, case: Case, seconds: float = 2.0, verify: bool = False) -> Rate:
        """One program alone between two measurements of the floor. Disturbed when these differ by more than 10 %."""
        return self.compare([program], case, seconds, 1, verify)[0]

    def compare(self, programs: Sequence[Program], case: Case, seconds: float = 2.0, rounds: int = 3, verify: bool = False) -> list[Rate]:
        """Programs in turns, `rounds` times, the floor before and after each round; a Rate for each, in their order.
        Ratios are those of the first program to each other, round by round."""
        raise NotImplementedError
