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

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measure import machine
from measure.program import Unavailable, write_table
from measure.topology import own_namespaces
from replay import build as builder
from replay import table
from replay.page import FAULTS
from replay.program import Command, L3fwd, Live, Program, Site, Testpmd
from replay.router import VLAN, RouterProgram

INTERVAL_S = 0.1
STEADY, STEADY_OF, STEADY_S = 0.03, 3, 2.0    # the last three intervals differ by at most 3 %; waited for at most 2 s
FLOOR_S = 0.5
SETTLE_S = 5.0
FLOOR_DRIFT = 0.10                            # largest difference of the floor's measurements, of their median
BUSY_SHARE = 0.5                              # of an interval that a forwarding thread must at least want its core
WAITED = 0.05                                 # share of an interval that a pinned thread may wait for its core
DEVARGS_MAX = 255                             # characters
# of a route in the kernel, the RIB and the FIB together: measured, rounded up
ROUTE_BYTES = 800
MEMORY_SHARE = 0.7
START_TRIES, NO_MEMORY = 3, "Cannot init memory"
SCHEDSTAT = Path("/proc/self/schedstat")      # not in every kernel
HUGE = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")


class Disturbed(Exception):
    """The machine did something else meanwhile; the text has the details."""


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
    """The rate that a program reached in a case, and the floor measured around it."""
    program: str
    case: Case
    samples: list[float] = field(default_factory=list)   # Mpps of each interval, all rounds
    tsc_mhz: float = 0.0
    floor_mpps: float | None = None                      # testpmd io on the same ports, around these samples
    bad: int | None = None                               # wrong or lost frames; None: not verified
    faults: dict[str, int] = field(default_factory=dict)   # kind -> frames, only those that occurred
    verified: int = 0                                    # frames looked at
    waited: float = 0.0                                  # largest share of an interval that the core worked for others
    routes: dict[int, int] = field(default_factory=dict)   # of the table, by family
    # the first program's rate to this one's: median of the rounds' ratios.
    ratio: float | None = None
                                                         # Of the first program itself: to the second's

    @property
    def mpps(self) -> float:
        return statistics.median(self.samples) if self.samples else 0.0

    @property
    def cycles(self) -> float:
        """TSC cycles a packet, the driver's own included; for several cores, of all of them together."""
        return self.tsc_mhz * self.case.cores / self.mpps if self.mpps else 0.0

    @property
    def cycles_net(self) -> float | None:
        """Cycles less those of the floor."""
        return self.cycles - self.tsc_mhz * self.case.cores / self.floor_mpps if self.floor_mpps else None


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


def kamueed(*lines: str, name: str = "kamueed") -> Program:
    """The router of the build under test. lines: further configuration, e.g. "set fib-engine dir24_8"."""
    return RouterProgram(lines, name)


def testpmd(mode: str = "io") -> Program:
    """DPDK's testpmd: io (the floor), mac, macswap."""
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
        pages, of = self.live.pages, (self.live.proc.pid, self.live.site.cores)
        times, before, since = core_times(*of), pages.counters()["tx"], time.monotonic()
        time.sleep(INTERVAL_S)
        sent, passed = pages.counters()["tx"] - before, time.monotonic() - since
        self.live.alive()
        busy, waited = shares(times, core_times(*of), passed)
        self.busy, self.waited = max(self.busy, busy), max(self.waited, waited)
        return sent / passed / 1e6

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


def core_times(pid: int, cores: Sequence[int]) -> dict[str, tuple[int, int]]:
    """Of the threads pinned to these cores, ns: how long each ran, and how long it was ready and somebody else had the
    core."""
    found = {}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            if os.sched_getaffinity(int(task.name)) <= set(cores):
                ran, waited = (task / "schedstat").read_text().split()[:2]
                found[task.name] = int(ran), int(waited)
        except OSError:
            continue          # it ended
    return found


def shares(before: dict[str, tuple[int, int]], after: dict[str, tuple[int, int]],
           seconds: float) -> tuple[float, float]:
    """The largest shares of the time that a thread wanted the core, and that it waited for it."""
    waits = [after[thread][1] - was[1] for thread, was in before.items() if thread in after]
    wants = [sum(after[thread]) - sum(was) for thread, was in before.items() if thread in after]
    return max(wants, default=0) / 1e9 / seconds, max(waits, default=0) / 1e9 / seconds


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
                 routes: int | None = None, huge: bool = True, force: bool = False, say: Callable[[str], None] = print):
        """build: build directory (programs of bench/). work: a directory on tmpfs, made when there is none. prefixes:
        the full table's file, default: the one the feed finds or makes; routes: at most so many of each family. huge:
        take huge pages for the time of the Bench. force: never Disturbed."""
        self.build, self.kamueed = build.resolve(), kamueed.resolve()
        self.force, self.say, self.limit = force, say, routes
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
        if not shutil.which("dpdk-testpmd"):
            raise Unavailable("dpdk-testpmd is not installed (it measures the driver's share): apt-get install "
                              "dpdk-dev")
        machine.must_be_quiet(self.force)

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

    def run(self, program: Program, case: Case, seconds: float = 2.0, verify_s: float = 0.0) -> Rate:
        """One program alone between two measurements of the floor. Disturbed when these differ by more than 10 %."""
        return self.compare([program], case, seconds, 1, verify_s)[0]

    def compare(self, programs: Sequence[Program], case: Case, seconds: float = 2.0, rounds: int = 3,
                verify_s: float = 0.0) -> list[Rate]:
        """Programs in turns, `rounds` times, the floor before and after each round; a Rate for each, in their order.
        Ratios are those of the first program to each other, round by round. Afterwards every frame is looked at for
        verify_s seconds."""
        runs: list[Run] = []
        try:
            for program in [testpmd("io"), *programs]:
                runs.append(self.start(program, case))
            if not self.force:
                # the kernel frees the tables of the case before in the background
                machine.settle(patience_s=SETTLE_S)
            rates, floors, waited = in_turns(runs[0], runs[1:], programs, case, seconds, rounds)
            self.check_quiet(case, floors, max(waited, max(rate.waited for rate in rates)))
            for run, program, rate in zip(runs[1:], programs, rates):
                rate.routes = run.live.site.routes
                if verify_s and program.routes:
                    note_verdict(rate, run.verify(verify_s))
            return rates
        finally:
            for run in reversed(runs):
                run.stop()

    def check_quiet(self, case: Case, floors: Sequence[float], waited: float) -> None:
        text = disturbance(floors, waited)
        if text and not self.force:
            raise Disturbed(f"{case.name}: {text}")
        if text:
            self.say(f"warning: {case.name}: {text}")


def in_turns(floor: Run, runs: Sequence[Run], programs: Sequence[Program], case: Case, seconds: float,
             rounds: int) -> tuple[list[Rate], list[float], float]:
    """The rates, the floor before, between and after the rounds, and what its core lost meanwhile."""
    rates = [Rate(program.name, case, tsc_mhz=floor.tsc_mhz) for program in programs]
    medians: list[list[float]] = [[] for _ in programs]
    floors = [statistics.median(floor.measure(FLOOR_S))]
    for _ in range(rounds):
        for run, rate, median in zip(runs, rates, medians):
            samples = run.measure(seconds)
            rate.samples += samples
            rate.waited = max(rate.waited, run.waited)
            median.append(statistics.median(samples))
        floors.append(statistics.median(floor.measure(FLOOR_S)))
    for rate, median in zip(rates, medians):
        rate.floor_mpps = statistics.median(floors)
        if rate is not rates[0]:
            rate.ratio = ratio(medians[0], median)
    if len(rates) > 1:
        rates[0].ratio = rates[1].ratio
    return rates, floors, floor.waited


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Median of the rounds' own ratios: a disturbance in a round affects both."""
    each = [our / their for our, their in zip(ours, theirs) if their]
    return statistics.median(each) if each else None


def disturbance(floors: Sequence[float], waited: float) -> str:
    """A reason against the measurement; "" if there is none."""
    middle = statistics.median(floors)
    if not middle or max(floors) - min(floors) > FLOOR_DRIFT * middle:
        return f"the floor was between {min(floors):.1f} and {max(floors):.1f} Mpps: something else used the machine"
    if waited > WAITED:
        return f"the forwarding core worked for others {100 * waited:.0f} % of an interval"
    return ""


def note_verdict(rate: Rate, verdict: Verdict) -> None:
    rate.verified, rate.faults, rate.bad = verdict.frames, verdict.faults, verdict.bad
