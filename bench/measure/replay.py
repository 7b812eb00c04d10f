# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding rates without NICs and without a generator's core: DPDK programs on replay ports, in turns.

A replay port (bench/replay/net_replay.c) is a DPDK device whose receive side hands out packets as fast as the
program takes them and whose transmit side counts, verifies and frees them. So packets per second on one core are
the program's whole cost plus the driver's own, which is small (peer `testpmd io`).

    with Bench(build, kamueed=build / "kamueed", work=Path(tmp)) as bench:
        for rate in bench.compare([kamueed(), l3fwd("lpm")], CASES["ipv4-full"], seconds=4):
            print(rate.program, rate.mpps, rate.ratio, rate.bad)

or, where one program is to be put through several things,

    with bench.start(kamueed("set fib-engine lpm"), case) as run:      # configured, table complete, frozen
        samples = run.measure(2.0)                                     # Mpps of each 100 ms, flooded
        load = run.offer(5e6, 1.0)                                     # 5 Mpps offered in all: what was lost?
        verdict = run.verify(0.5)                                      # every frame looked at

All programs stay loaded and one runs: the others are stopped (SIGSTOP). `compare` gives the core to each in turns for a
slice of a few milliseconds and divides the rates of neighboring slices, so a machine that is slow for a while slows
both sides of a ratio. Root is needed (namespaces, huge pages). Error: Unavailable (what is missing, and the remedy).
"""
from __future__ import annotations

import math
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from measure.program import Unavailable, write_table
from measure.topology import own_namespaces
from replay import build as builder
from replay import table
from replay.page import FAULTS
from replay.program import Command, L3fwd, Live, Program, Site, Testpmd
from replay.router import VLAN, RouterProgram

INTERVAL_S = 0.1
STEADY, STEADY_OF, STEADY_S = 0.03, 3, 2.0    # the last three intervals differ by at most 3 %; waited for at most 2 s
WARM_S = 0.2                                  # before the first slice
# of a slice: the caches and the TLB are the previous program's at first
REFILL_S, SLICE_S = 0.002, 0.005
BUSY_SHARE = 0.5                              # of an interval that a forwarding thread must at least want its core
DEVARGS_MAX = 255                             # characters
# of a route in the kernel, the RIB and the FIB together: measured, rounded up
ROUTE_BYTES = 800
MEMORY_SHARE = 0.7
START_TRIES, NO_MEMORY = 3, "Cannot init memory"
SCHEDSTAT = Path("/proc/self/schedstat")      # not in every kernel
HUGE = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")


@dataclass(frozen=True)
class Case:
    """The traffic, and its table. Variants: dataclasses.replace(CASES["ipv4-full"], ring=True)."""
    name: str
    idea: str
    families: tuple[int, ...] = (4,)   # of the packets; (4, 6): each one of them at random
    table: str = "full"                # full: the prefixes of the Bench; default4: four routes, 0/2 64/2 128/2 192/2
    # prefix: uniform over prefixes, random host; uniform: over addresses; flow: one 5-tuple
    pattern: str = "prefix"
    size: int = 64                     # bytes of a frame with FCS
    vlan: bool = False                 # in and out by tagged sub-interfaces (VLAN 100)
    # virtual routers, each with its own table and VLAN; each packet for one at random
    vrs: int = 1
    hops: int = 64                     # next hops of the table, hop i behind port i mod ports
    ports: int = 4
    cores: int = 1                     # cores that forward, each with one queue of every port
    # packets cycle through 1,024 descriptors as in a NIC; False: the same few, hot in L1
    ring: bool = False
    seed: int = 1


CASES: dict[str, Case] = {case.name: case for case in (
    Case("ipv4-full", "full table, random hosts of its IPv4 prefixes"),
    Case("ipv4-default4", "four IPv4 routes, random addresses", table="default4", pattern="uniform", hops=4),
    Case("ipv4-flow", "full table, one IPv4 flow", pattern="flow"),
    Case("ipv6-full", "full table, random hosts of its IPv6 prefixes", families=(6,)),
    Case("mix", "full table, each packet IPv4 or IPv6 at random", families=(4, 6)),
    Case("vlan", "ipv4-full by VLAN sub-interfaces in and out", vlan=True),
    Case("vr16", "16 virtual routers with a full table each, each packet for one of them at random", vlan=True, vrs=16),
)}


@dataclass
class Rate:
    """The rate that a program reached in a case."""
    program: str
    case: Case
    samples: list[float] = field(default_factory=list)   # Mpps of each slice
    tsc_mhz: float = 0.0
    bad: int | None = None                               # wrong or lost frames; None: not verified
    faults: dict[str, int] = field(default_factory=dict)   # kind -> frames, only those that occurred
    verified: int = 0                                    # frames looked at
    routes: dict[int, int] = field(default_factory=dict)   # of the table, by family
    # Of the first program's rate to this one's, slice by slice: median, and the ends of its 95 % interval.
    ratio: tuple[float, float, float] | None = None

    @property
    def mpps(self) -> float:
        return statistics.median(self.samples) if self.samples else 0.0

    @property
    def cycles(self) -> float:
        """TSC cycles a packet, the driver's own included; for several cores, of all of them together."""
        return self.tsc_mhz * self.case.cores / self.mpps if self.mpps else 0.0


@dataclass
class Load:
    """The fate of an offered load."""
    offered: int      # packets the ports had for the program
    missed: int       # of these, found no free descriptor: the program was too slow
    forwarded: int    # with the few that a router's kernel sends by itself (IPv6 group reports)
    seconds: float

    @property
    def lost(self) -> int:
        return max(0, self.offered - self.forwarded)


@dataclass
class Verdict:
    """The result of verifying every frame."""
    frames: int
    faults: dict[str, int]   # kind -> frames: of page.FAULTS, or lost

    @property
    def bad(self) -> int:
        return sum(self.faults.values())


def kamueed(*lines: str, name: str = "kamueed", binary: Path | None = None) -> Program:
    """The router of the build under test, or of another one. lines: further configuration, e.g. "set fib-engine
    dir24_8"."""
    return RouterProgram(lines, name, binary)


def testpmd(mode: str = "io") -> Program:
    """DPDK's testpmd: io (nothing but the driver), mac, macswap."""
    return Testpmd(mode)


def l3fwd(lookup: str = "lpm") -> Program:
    """DPDK's example router, lookup lpm or fib, with its limits raised to the table. It checks and counts nothing."""
    return L3fwd(lookup)


def command(text: str) -> Program:
    """Any DPDK program. In its command line {eal} stands for DPDK's options (cores, memory, ports) and must be there,
    or {eal-main} where the main lcore forwards, too; {ports} for the number of ports, {cores} for those that forward,
    {routes} for a file of 'PREFIX HOP' lines, {rules4} and {rules6} for l3fwd's rule files, {hops} for the number of
    next hops. The driver is preloaded."""
    return Command(text)


def traffic(case: Case, program: Program, prefixes: Path) -> str:
    """The devargs of a port of the case, without its own part (index, page). Where to does not matter to a program that
    does not look: it gets as many packets of the same form, made in no time."""
    given = {"family": "".join(map(str, case.families)), "size": case.size, "seed": case.seed, "ports": case.ports,
             "ring": int(case.ring), "held": 1}
    if program.looks:
        given |= {"dst": case.pattern, "routes": prefixes, "hops": case.hops, "verify": 2 if program.routes else 0}
    if case.vlan:
        given["vlan"] = f"{VLAN}-{VLAN + case.vrs - 1}"
    return ",".join(f"{name}={value}" for name, value in given.items())


class Run:
    """A program that is ready: configured, its table complete. Frozen except inside these calls. A context manager."""

    def __init__(self, live: Live, case: Case):
        self.live, self.case = live, case
        self.threads = pinned_threads(live.proc.pid, live.site.cores)
        self.busy = self.waited = 0.0     # largest shares of an interval: wanted the core, and did not get it
        self.tsc_mhz = live.pages.pages[0].tsc_hz / 1e6
        live.pages.order(verify=False)
        live.freeze()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    # --- measuring ---

    def measure(self, seconds: float, steady: bool = True) -> list[float]:
        """Flood it; Mpps of each interval of 100 ms, once the rate is steady unless many short windows are to be
        compared."""
        wanted = max(1, round(seconds / INTERVAL_S))
        with Thawed(self.live):
            self.live.pages.order(rate=0, held=False)
            samples = [self.interval()]
            end = time.monotonic() + STEADY_S
            while steady and not is_steady(samples) and time.monotonic() < end:
                samples.append(self.interval())
            self.waited = self.busy = 0.0
            samples = [self.interval() for _ in range(wanted)]
        if steady:
            self.must_be_there()
        return samples

    def must_be_there(self) -> None:
        """The program must run on the measured core."""
        if self.busy < BUSY_SHARE and SCHEDSTAT.exists():
            core = self.live.site.cores[0]
            raise Unavailable(f"{self.live.name}: no thread of it is pinned to core {core}, where it is measured, and "
                              "polls; a program that forwards on its main lcore takes {eal-main} instead of {eal}")

    def interval(self) -> float:
        passed, busy, waited, sent = self.passage(INTERVAL_S)
        self.live.alive()
        self.busy, self.waited = max(self.busy, busy / passed), max(self.waited, waited / passed)
        return sent / passed / 1e6

    def slice(self) -> float:
        """Mpps while the core is the program's own. Ask for a flood before the first one."""
        self.live.thaw()
        time.sleep(REFILL_S)
        passed, _, waited, sent = self.passage(SLICE_S)
        self.live.freeze()
        return sent / (passed - waited) / 1e6 if passed > waited else 0.0

    def passage(self, seconds: float) -> tuple[float, float, float, int]:
        """Seconds that passed, in which the threads wanted their cores, and in which they waited for them; packets."""
        before = (time.monotonic(), *core_times(self.threads), self.live.pages.counters()["tx"])
        time.sleep(seconds)
        after = (time.monotonic(), *core_times(self.threads), self.live.pages.counters()["tx"])
        passed, wanted, waited, sent = (now - then for now, then in zip(after, before))
        return passed, wanted / self.case.cores, waited / self.case.cores, sent

    def offer(self, packets_per_s: float, seconds: float) -> Load:
        """Offer a load, evenly over ports and queues and evenly in time; full queues (1,024) lose packets as a NIC's
        do."""
        pages = self.live.pages
        queues = self.case.ports * self.case.cores
        with Thawed(self.live):
            before = pages.drain()
            pages.order(rate=max(1, round(packets_per_s / queues)), held=False)
            since = time.monotonic()
            time.sleep(seconds)
            passed = time.monotonic() - since
            after = pages.drain()
            pages.order(rate=0)
        gone = {name: after[name] - before[name] for name in ("rx", "tx", "missed")}
        return Load(gone["rx"] + gone["missed"], gone["missed"], gone["tx"], passed)

    def verify(self, seconds: float) -> Verdict:
        """Flood it with every frame looked at: TTL, checksums, MACs, next hop against the driver's own trie, VLAN,
        payload."""
        pages = self.live.pages
        with Thawed(self.live):
            before = pages.drain()
            pages.order(verify=True, rate=0, held=False)
            time.sleep(seconds)
            after = pages.drain()
            pages.order(verify=False)
        gone = {name: after[name] - before[name] for name in after}
        faults = {name: gone[name] for name in FAULTS} | {"lost": max(0, gone["rx"] - gone["tx"] + gone["foreign"])}
        return Verdict(gone["verified"], {name: n for name, n in faults.items() if n})

    def stop(self) -> None:
        """End the program and remove what it needed."""
        self.live.stop()


class Thawed:
    """The program runs inside, and is held and frozen afterwards."""

    def __init__(self, live: Live):
        self.live = live

    def __enter__(self) -> None:
        self.live.thaw()

    def __exit__(self, *_) -> None:
        self.live.pages.drain()
        self.live.freeze()


def is_steady(samples: Sequence[float]) -> bool:
    last = samples[-STEADY_OF:]
    return len(last) == STEADY_OF and min(last) > 0 and max(last) - min(last) <= STEADY * max(last)


def available_bytes() -> int:
    line = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def most_routes(case: Case, limit: int | None) -> int | None:
    """Routes of a family that the kernel's and kamueed's memory has room for, where there are many tables; None: any
    number."""
    if case.vrs == 1:
        return limit
    available = available_bytes()
    room = int(available * MEMORY_SHARE / ROUTE_BYTES / case.vrs / len(case.families))
    return room if limit is None else min(room, limit)


def pinned_threads(pid: int, cores: Sequence[int]) -> list[Path]:
    """The times of the threads that may run only on these cores."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*") if SCHEDSTAT.exists() else ():
        with suppress(OSError):          # it ended
            found += [task / "schedstat"] if os.sched_getaffinity(int(task.name)) <= set(cores) else []
    return found


def core_times(threads: Sequence[Path]) -> tuple[float, float]:
    """Of all threads together, seconds: wanted a core, and was ready while somebody else had it."""
    times = [[int(word) / 1e9 for word in thread.read_text().split()[:2]] for thread in threads if thread.exists()]
    return sum(map(sum, times)), sum(waited for _, waited in times)


class HugePages:
    """Takes huge pages from the kernel as they are needed, and gives them back."""

    def __init__(self, wanted: bool):
        self.usable, self.taken = wanted and HUGE.exists(), 0

    @staticmethod
    def number(name: str) -> int:
        return int((HUGE / name).read_text())

    def kept(self) -> int:
        """The kernel keeps reserved pages; surplus pages disappear with their user."""
        return self.number("nr_hugepages") - self.number("surplus_hugepages")

    def add(self, pages: int) -> None:
        before = self.kept()
        (HUGE / "nr_hugepages").write_text(str(max(0, before + pages)))
        self.taken += self.kept() - before

    def free(self) -> int:
        return self.number("free_hugepages") - self.number("resv_hugepages")    # what is promised counts as free, too

    def reserve(self, mib: int) -> bool:
        """Whether so many are free now."""
        pages = (mib + 1) // 2 + 8
        if self.usable and self.free() < pages:
            self.add(pages - self.free())
        return self.usable and self.free() >= pages

    def restore(self) -> None:
        if self.taken > 0:
            self.add(-self.taken)


class Bench:
    """The plugin, the tables and a private place for namespaces. A context manager: all is gone afterwards."""

    def __init__(self, build: Path, kamueed: Path, work: Path | None = None, prefixes: Path | str | None = None,
                 routes: int | None = None, huge: bool = True, say: Callable[[str], None] = print):
        """build: build directory (programs of bench/). work: a directory on tmpfs, made when there is none. prefixes:
        the full table's file, default: the one the feed finds or makes; routes: at most so many of each family. huge:
        take huge pages for the time of the Bench."""
        self.build, self.kamueed = build.resolve(), kamueed.resolve()
        self.say, self.limit = say, routes
        self.work_given, self.prefixes_given, self.huge_wanted = work, prefixes, huge
        self.tables: dict[tuple, tuple[Path, dict[int, int]]] = {}
        self.serial = 0
        self.full: Path | None = None

    def __enter__(self) -> Bench:
        self.must_be_possible()
        self.plugin = builder.plugin(self.build, self.say)
        own_namespaces()
        self.work = self.work_given or Path(tempfile.mkdtemp(prefix="kr", dir="/dev/shm"))
        self.huge = HugePages(self.huge_wanted)
        return self

    def __exit__(self, *_) -> None:
        self.huge.restore()
        if self.work_given is None:
            shutil.rmtree(self.work, ignore_errors=True)

    def must_be_possible(self) -> None:
        if os.geteuid():
            raise Unavailable("needs root for network namespaces and huge pages: sudo")
        if len(os.sched_getaffinity(0)) < 2:
            raise Unavailable("needs two cores: one forwards, the other does everything else")

    # --- tables ---

    def full_table(self) -> Path:
        if self.full is None:
            self.full = write_table(self.work / "full.txt", self.prefixes_given)
        return self.full

    def prefixes(self, case: Case) -> tuple[Path, dict[int, int]]:
        """The case's routes in a file of their own, and how many of each family."""
        key = (case.table, case.families, case.vrs)
        if key not in self.tables:
            path = self.work / f"t{len(self.tables)}"
            limit = most_routes(case, self.limit)
            full = self.full_table() if case.table == "full" else None
            count = table.write_prefixes(full, path, case.table, case.families, limit)
            if limit != self.limit and limit in count.values():
                self.say(f"{case.name}: only {limit:,} routes in each of {case.vrs} virtual routers: not enough memory "
                         "for more")
            self.tables[key] = path, count
        return self.tables[key]

    # --- programs ---

    def start(self, program: Program, case: Case) -> Run:
        """Returns when it is ready to forward; for kamueed, when its FIB holds the whole table."""
        cores = sorted(os.sched_getaffinity(0))
        if case.cores >= len(cores):
            raise Unavailable(f"{case.name}: needs {case.cores} forwarding cores and one for the rest, but the machine "
                              f"has {len(cores)}")
        begun = time.monotonic()
        for attempt in range(1, START_TRIES + 1):
            try:
                live = program.start(self.site(program, case, cores))
                break
            except Unavailable as error:
                if NO_MEMORY not in str(error) or attempt == START_TRIES:
                    raise           # else somebody took the huge pages first
        self.say(f"{case.name}: {program.name} is ready: {time.monotonic() - begun:.1f} s")
        return Run(live, case)

    def site(self, program: Program, case: Case, cores: Sequence[int]) -> Site:
        self.serial += 1
        work = self.work / str(self.serial)
        work.mkdir()
        prefixes, routes = self.prefixes(case)
        common = traffic(case, program, prefixes)
        pages = [work / f"p{port}" for port in range(case.ports)]
        devargs = [f"net_replay{port},{common},index={port},page={page}" for port, page in enumerate(pages)]
        if max(map(len, devargs)) > DEVARGS_MAX:
            raise Unavailable(f"the path {work} is too long for devargs")
        return Site(case=case, build=self.build, kamueed=self.kamueed, work=work, plugin=self.plugin, devargs=devargs,
                    pages=pages, cores=cores[-case.cores:], main_core=cores[0], prefixes=prefixes, routes=routes,
                    huge=self.huge.reserve, say=self.say)

    def compare(self, programs: Sequence[Program], case: Case, seconds: float = 2.0,
                verify_s: float = 0.0) -> list[Rate]:
        """Programs in turns, until each has been measured for so long; a Rate for each, in their order. Afterwards
        every frame is looked at for verify_s seconds."""
        runs: list[Run] = []
        try:
            for program in programs:
                runs.append(self.start(program, case))
            rates = in_turns(runs, [Rate(program.name, case) for program in programs], seconds)
            for run, program, rate in zip(runs, programs, rates):
                rate.routes = run.live.site.routes
                if verify_s and program.routes:
                    note_verdict(rate, run.verify(verify_s))
            return rates
        finally:
            for run in reversed(runs):
                run.stop()


def in_turns(runs: Sequence[Run], rates: list[Rate], seconds: float) -> list[Rate]:
    """Fills in the rates of the runs. Each turn has the reverse order of the one before: what changes steadily does not
    favor a program."""
    turn = list(zip(runs, rates))
    for run, rate in turn:
        run.measure(WARM_S)
        run.live.pages.order(held=False)
        rate.tsc_mhz = run.tsc_mhz
    with on_other_cores(runs[0].live.site.cores):
        for _ in range(max(1, round(seconds / SLICE_S))):
            for run, rate in turn:
                rate.samples.append(run.slice())
            turn.reverse()
    for rate in rates[1:]:
        rate.ratio = median95([our / their for our, their in zip(rates[0].samples, rate.samples) if their])
    return rates


@contextmanager
def on_other_cores(cores: Sequence[int]) -> Iterator[None]:
    """Keeps this process off these cores."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, allowed - set(cores))
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def median95(values: Sequence[float]) -> tuple[float, float, float] | None:
    """The median, and the ends of its 95 % interval: those of the ranks between which the median of all possible values
    lies with that probability, whatever their distribution."""
    each, n = sorted(values), len(values)
    if not each:
        return None
    low = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)) - 1)
    return statistics.median(each), each[low], each[n - 1 - low]


def note_verdict(rate: Rate, verdict: Verdict) -> None:
    rate.verified, rate.faults, rate.bad = verdict.frames, verdict.faults, verdict.bad
