# SPDX-License-Identifier: BSD-3-Clause
"""The tests of RFC 2544, section 26, each a function (bench, frames) -> rows for the report.

Rates are of each direction while they are searched, and of all directions together in the rows. A packet is lost when
it was due and did not come back: also when the device's receive ring (memif, vhost) had no room for it, which on a NIC
would be an overrun. What the tester's own NIC or socket refuses was not offered.
"""
from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from measure.search import Goal, Outcome, Search
from throughput.device import Device
from throughput.frames import WIRE_OVERHEAD, Frames
from throughput.tester import Tester

LATENCY_LOADS = (100, 90, 50, 10)       # percent of the throughput found
SLICE_MS = 10                           # in which losses are counted together
# share of slices with losses that is not load; share of a trial that is too much to be away
FEW, MUCH = 0.1, 0.05
LATENCY_PATIENCE = 0.0005               # share of a trial for which a core may be away: less than would show in p99.9
LOSS_STEP = 10                          # percent of the highest rate (RFC 2544, 26.3: steps of at most 10)
OVERLOAD = 1.1                          # RFC 2544, 26.5
RESET_SECONDS = 10.0
BURST_END_S = 600.0                     # a burst ends by its count; this is for a tester that cannot send it
SLOW_TICKS_MS = 1000 // os.sysconf("SC_CLK_TCK")
POINTS = ("min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max")


@dataclass
class Plan:
    """Duration and precision."""
    seconds: float = 2.0
    loss_ratio: float = 0.0
    precision: float = 0.01
    confirmations: int = 2
    bursts: int = 5                     # repetitions of back-to-back
    burst_seconds: float = 2.0          # RFC 2544, 26.4: bursts of at least 2 s are tried
    overload_seconds: float = 60.0      # RFC 2544, 26.5: at least 60
    latency_loads: tuple[int, ...] = LATENCY_LOADS
    wait_ms: int = 200                  # for what is late
    percent6: int = 0
    both: bool = False

    def scaled(self, seconds: float) -> "Plan":
        """The same with trials of this length, and the rest shortened with them where RFC 2544 wants longer ones."""
        return Plan(**{**vars(self), "seconds": seconds, "overload_seconds": min(60.0, max(1.0, 5 * seconds)),
                       "burst_seconds": min(2.0, max(0.2, seconds))})


@dataclass
class Bench:
    """One device, one tester, and the voice."""
    device: Device
    tester: Tester
    plan: Plan
    say: Callable[[str], None]
    threads: dict[str, list[int]] = field(default_factory=dict)     # whose -> thread ids, to see who took their core
    # results of the throughput test, by name of the frames
    throughput: dict[str, dict] = field(default_factory=dict)

    @property
    def directions(self) -> int:
        return 2 if self.plan.both else 1

    def trial(self, frames: Frames, rate: float, seconds: float, patience_ms: float = 0.0, **words) -> dict:
        """One trial; its result with the sums of all directions and, where something else had the cores, `disturbed`
        (disturbance())."""
        before = self.waited()
        result = self.tester.trial(**{"rate": f"{rate:.3f}", "seconds": seconds,
                                      "sizes": ",".join(map(str, frames.sizes)),
                                      "wait_ms": self.plan.wait_ms, "percent6": self.plan.percent6,
                                      "slice_ms": SLICE_MS, "from": "both" if self.plan.both else 0, **words})
        return self.summed(result, before, patience_ms, words.get("slice_ms", SLICE_MS))

    def summed(self, result: dict, before: dict[str, float], patience_ms: float = 0.0, slice_ms: float = 1000) -> dict:
        each = result["directions"]
        for name in ("sent", "received", "refused", "skipped", "unseen", "duplicated", "reordered", "corrupted",
                     "foreign"):
            result[name] = sum(d[name] for d in each)
        for d in each:
            d["turned_away"] = d["refused"] if self.device.refused_is_lost else 0
            d["attempted"] = d["sent"] + d["turned_away"]
        result["lost"] = sum(d["lost"] + d["turned_away"] for d in each)
        result["attempted"] = sum(d["attempted"] for d in each)
        result["ratio"] = max((d["lost"] + d["turned_away"]) / max(1, d["attempted"]) for d in each)
        lossy = max(len([at for at, inside, refused in d["lost_at"]
                         if inside or (refused and self.device.refused_is_lost)]) for d in each)
        result["lossy_share"] = lossy / max(1.0, 1000 * result["seconds"] / slice_ms)
        after = self.waited()
        result["disturbed"] = disturbance(result, {whose: after[whose] - before.get(whose, 0.0) for whose in after},
                                          self.device.setting.holds(), patience_ms)
        return result

    def outcome(self, frames: Frames, rate: float, seconds: float) -> Outcome:
        r = self.trial(frames, rate, seconds)
        offered = min(d["attempted"] / r["seconds"] for d in r["directions"])
        return Outcome(offered, r["attempted"], r["lost"], r["ratio"], r["disturbed"])

    def find_threads(self) -> None:
        """Threads whose waiting counts: the tester's, and those of the device that have its core to themselves."""
        self.threads = {"tester": [self.tester.proc.pid]}
        if self.device.pid():
            self.threads["device"] = spinning_threads(self.device.pid(), self.device.setting.cores[1])

    def waited(self) -> dict[str, float]:
        """Milliseconds for which each side's thread could have run and did not, so far, and for which the hypervisor
        took its core."""
        found = {whose: sum(map(waited_ms, tids)) for whose, tids in self.threads.items()}
        for whose, core in zip(("tester", "device"), self.device.setting.cores):
            found[f"{whose}, by the hypervisor"] = stolen_ms(core)
        return found

    def flood(self, frames: Frames) -> tuple[float, float]:
        """(most that the tester can offer, packets that come back), packets/s per direction."""
        r = self.trial(frames, 0, self.plan.seconds)
        return (min(d["attempted"] / r["seconds"] for d in r["directions"]),
                min(d["received_pps"] for d in r["directions"]))

    def row(self, test: str, sent: Frames, **more) -> dict:
        return {"test": test, "peer": self.device.name, "link": self.device.setting.link, "size": sent.name,
                "mean_bytes": round(sent.mean(self.plan.percent6), 1), "percent6": self.plan.percent6,
                "directions": self.directions, "routes": self.device.n_routes, **more}


# --- who took the cores ---

def waited_ms(tid: int) -> float:
    """Time on a run queue, /proc/PID/schedstat, in ms; 0 where the kernel does not keep it."""
    try:
        return int(Path(f"/proc/{tid}/schedstat").read_text().split()[1]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


def stolen_ms(core: int) -> float:
    for line in Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words[0] == f"cpu{core}":
            return int(words[8]) * SLOW_TICKS_MS if len(words) > 8 else 0.0
    return 0.0


def spinning_threads(pid: int, core: int) -> list[int]:
    """The threads of a process that may run only on this core; if there are none, all threads."""
    tids = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    return [tid for tid in tids if os.sched_getaffinity(tid) == {core}] or tids


def disturbance(result: dict, waited_ms: dict[str, float], ring: int, patience_ms: float = 0.0) -> str:
    """What else had the cores during a trial, in a sentence, when it can have mattered; else nothing.

    Too much load loses packets in every slice of a trial; a device kept from its core loses them in the few slices in
    which its ring runs over. A tester kept from its core loses nothing and offers less. With `patience_ms`, every
    longer absence of the device counts."""
    ms = 1000 * result["seconds"]
    fills_ms = ms * ring / max(1, result["attempted"])
    few = result["lost"] and result["lossy_share"] <= FEW
    short = result["skipped"] > (1 - Goal.keeps_up) * (result["sent"] + result["refused"] + result["skipped"])
    found = []
    for whose, waited in waited_ms.items():
        if whose.startswith("device"):
            matters = waited > fills_ms and (few or (result["lost"] and waited > MUCH
                                                     * ms)) or (patience_ms and waited > patience_ms)
        else:
            matters = short and waited > (1 - Goal.keeps_up) * ms / 2
        if matters:
            found.append(f"the {whose} was off its core for {waited:.1f} ms")
    if few and not found and result["away_us"] / 1000 > fills_ms:
        found.append(f"the tester was off its core for {result['away_us'] / 1000:.1f} ms")
    return "; ".join(found)


# --- the tests ---

def wire_gbps(pps: float, mean_bytes: float) -> float:
    """As it would load a wire: with preamble and gap."""
    return pps * (mean_bytes + WIRE_OVERHEAD) * 8 / 1e9


def throughput(bench: Bench, frames: Frames) -> list[dict]:
    """RFC 2544, 26.1: the highest rate with no more loss than the stated share."""
    plan = bench.plan
    top, back = bench.flood(frames)
    bench.say(f"{frames.name} bytes: the tester sends {top / 1e6:.4g} Mpps per direction and gets {back / 1e6:.4g} "
              "back; searching from there")
    goal = Goal(plan.loss_ratio, plan.seconds, plan.precision, plan.confirmations)
    found = Search(lambda rate, seconds: bench.outcome(frames, rate, seconds), goal, bench.say).ndr(top, max(1.0, back))
    total, mean = found.offered * bench.directions, frames.mean(plan.percent6)
    row = bench.row("throughput", frames, mpps=total / 1e6, gbps=wire_gbps(total, mean),
                    intended_mpps=found.rate * bench.directions / 1e6, loss_ratio=plan.loss_ratio, limit=found.limit,
                    precision=found.precision, seconds=plan.seconds, trials=found.trials, confirmed=found.confirmed,
                    disturbed_trials=found.disturbed, disturbed=f"{found.unsettled} decisions" if found.unsettled
                    else "", tester_mpps=top * bench.directions / 1e6, flood_mpps=back * bench.directions / 1e6)
    bench.throughput[frames.name] = {**row, "rate": found.offered, "top": top}
    bench.say(f"{frames.name} bytes: throughput {total / 1e6:.4g} Mpps, {row['gbps']:.4g} Gb/s, limited by "
              f"{article(found.limit)}")
    return [row]


def article(limit: str) -> str:
    return "disturbance: nothing could be decided" if limit == "disturbance" else f"the {limit}"


def need_throughput(bench: Bench, frames: Frames) -> dict:
    """The other tests depend on it."""
    if frames.name not in bench.throughput:
        throughput(bench, frames)
    return bench.throughput[frames.name]


def nothing(bench: Bench, frames: Frames, test: str) -> list[dict]:
    bench.say(f"{frames.name} bytes: {test} skipped: no rate passed the throughput test")
    return []


def latency(bench: Bench, frames: Frames) -> list[dict]:
    """RFC 2544, 26.2, and jitter (RFC 3393, RFC 8219, 7.3), at shares of the throughput."""
    base = need_throughput(bench, frames)
    if not base["rate"]:
        return nothing(bench, frames, "latency")
    return [latency_at(bench, frames, load, base["rate"] * load / 100) for load in bench.plan.latency_loads]


def latency_at(bench: Bench, frames: Frames, load: int, rate: float) -> dict:
    r = bench.trial(frames, rate, bench.plan.seconds, LATENCY_PATIENCE * 1000 * bench.plan.seconds, histogram=1)
    worst = max(r["directions"], key=lambda d: d["latency_ns"].get("p99.9", 0))
    delay, jitter = worst["latency_ns"], worst["jitter_ns"]
    row = bench.row("latency", frames, load=load, mpps=sum(d["offered_pps"] for d in r["directions"]) / 1e6,
                    lost=r["lost"], ratio=r["ratio"],
                    seen=sum(d["latency_ns"]["n"] for d in r["directions"]), unseen=r["unseen"],
                    seconds=bench.plan.seconds, latency_us=in_us(delay), jitter_us=in_us(jitter),
                    pdv_us=round((delay["p99.9"] - delay["min"]) / 1000, 3) if delay["n"] else None,
                    disturbed=r["disturbed"], steps=thinned(delay.get("steps", [])))
    if delay["n"]:
        bench.say(f"{frames.name} bytes: latency at {load} %: p50 {delay['p50'] / 1000:.4g} µs, p99.9 "
                  f"{delay['p99.9'] / 1000:.4g} µs, jitter p50 {jitter.get('p50', 0) / 1000:.4g} "
                  f"µs{f' ({r_d})' if (r_d := r['disturbed']) else ''}")
    return row


def in_us(histogram: dict) -> dict:
    return {name: round(histogram[name] / 1000, 3) for name in POINTS if name in histogram}


def thinned(steps: list[list[int]], points: int = 200) -> list[list[float]]:
    """[µs, share of packets not above it] at no more than so many points, for the plot."""
    total, seen, found = sum(n for _, n in steps) or 1, 0, []
    for value, n in steps:
        seen += n
        if not found or seen / total - found[-1][1] > 1 / points or 1 - seen / total < 0.5 * (1 - found[-1][1]):
            found.append([round(value / 1000, 3), seen / total])
    return found


def loss(bench: Bench, frames: Frames) -> list[dict]:
    """RFC 2544, 26.3: the share that is lost at each load, from the tester's highest down to two loads without loss."""
    top = need_throughput(bench, frames)["top"]
    rows: list[dict] = []
    for load in range(100, 0, -LOSS_STEP):
        r = bench.trial(frames, top * load / 100, bench.plan.seconds)
        offered = r["attempted"] / r["seconds"]
        rows.append(bench.row("loss", frames, load=load, mpps=offered / 1e6,
                              forwarded_mpps=r["received"] / r["seconds"] / 1e6,
                              ratio=r["lost"] / max(1, r["attempted"]), lost=r["lost"], attempted=r["attempted"],
                              reordered=r["reordered"],
                              duplicated=r["duplicated"], corrupted=r["corrupted"], seconds=bench.plan.seconds,
                              disturbed=r["disturbed"]))
        bench.say(f"{frames.name} bytes: at {load} % ({offered / 1e6:.4g} Mpps) {100 * rows[-1]['ratio']:.4g} % lost")
        if len(rows) > 1 and not any(row["lost"] for row in rows[-2:]):
            break
    return rows


def back_to_back(bench: Bench, frames: Frames) -> list[dict]:
    """RFC 2544, 26.4, RFC 9004: the longest burst at the tester's highest rate that comes through whole, on average.

    While it comes in, some of it already goes out: what had to be buffered is the burst without its share at the
    throughput."""
    base = need_throughput(bench, frames)
    limit = max(1, int(base["top"] * bench.plan.burst_seconds))
    found = [longest_burst(bench, frames, base["top"], limit) for _ in range(bench.plan.bursts)]
    counts = [count for count, _ in found]
    mean, seconds = sum(counts) / len(found), sum(s for _, s in found) / len(found)
    rate = mean / seconds if seconds else 0.0
    buffered = seconds * max(0.0, 1 - base["rate"] / rate) if rate else 0.0
    bench.say(f"{frames.name} bytes: back-to-back {mean:,.0f} frames ({min(counts):,} to {max(counts):,}) at "
              f"{rate / 1e6:.4g} Mpps")
    return [bench.row("back-to-back", frames, frames=round(mean), frames_min=min(counts), frames_max=max(counts),
                      tries=len(found),
                      burst_ms=1000 * seconds, buffer_ms=1000 * buffered, unlimited=min(counts) >= limit,
                      mpps=rate / 1e6)]


def longest_burst(bench: Bench, frames: Frames, rate: float, limit: int) -> tuple[int, float]:
    """(frames, seconds of sending) by bisection, to 1 % or 32 frames; (0, 0) when even the shortest loses."""
    def whole(count: int) -> float:
        for _ in range(2):
            r = bench.trial(frames, rate, BURST_END_S, count=count, burst=64)
            if not r["lost"]:
                return r["seconds"]
            if not r["disturbed"]:
                break
        return 0.0

    seconds = whole(limit)
    if seconds:
        return limit, seconds
    low, high = 0, limit
    while high - low > max(32, high // 100):
        middle = (low + high) // 2 if low else high // 4
        took = whole(middle)
        low, high, seconds = (middle, high, took) if took else (low, middle, seconds)
    return low, seconds


def recovery(bench: Bench, frames: Frames) -> list[dict]:
    """RFC 2544, 26.5: how long after an overload of 110 % of the throughput has become 55 % packets are still lost."""
    base, plan = need_throughput(bench, frames), bench.plan
    if not base["rate"]:
        return nothing(bench, frames, "recovery")
    over = min(base["top"], OVERLOAD * base["rate"])
    r = bench.trial(frames, over, plan.overload_seconds, then_rate=f"{over / 2:.3f}",
                    then_seconds=max(1.0, plan.seconds), slice_ms=1)
    late = [at for d in r["directions"] for at, inside, refused in d["lost_at"]
            if at >= plan.overload_seconds and (inside or (refused and bench.device.refused_is_lost))]
    seconds = max(late) + 0.001 - plan.overload_seconds if late else 0.0
    bench.say(f"{frames.name} bytes: recovery from {over / 1e6:.4g} Mpps: {1000 * seconds:.0f} ms")
    return [bench.row("recovery", frames, overload_mpps=over * bench.directions / 1e6,
                      overload_seconds=plan.overload_seconds,
                      recovery_ms=1000 * seconds, lost=r["lost"], overloaded=r["lost"] > 0, disturbed=r["disturbed"])]


def reset(bench: Bench, frames: Frames) -> list[dict]:
    """RFC 2544, 26.6: the time without packets while the device is killed and restarted, at half its throughput."""
    base = need_throughput(bench, frames)
    if not base["rate"]:
        return nothing(bench, frames, "reset")
    if not hasattr(bench.device, "restart"):
        bench.say(f"{frames.name} bytes: reset skipped: this command cannot restart {bench.device.name}")
        return []
    seconds, before = RESET_SECONDS, bench.waited()
    bench.tester.begin(rate=f"{base['rate'] / 2:.3f}", seconds=seconds, sizes=",".join(map(str, frames.sizes)),
                       percent6=bench.plan.percent6, **{"from": "both" if bench.plan.both else 0})
    time.sleep(1.0)
    bench.device.restart()
    bench.find_threads()
    r = bench.summed(bench.tester.end(), before)
    quiet = max(d["quiet_ms"] for d in r["directions"])
    back = all(d["last_at"] > seconds - 1.0 for d in r["directions"])
    bench.say(f"{frames.name} bytes: reset: no packets for {quiet:,.0f} ms" if back else f"{frames.name} bytes: reset: "
              "the device did not recover")
    return [bench.row("reset", frames, reset_ms=quiet if back else None, mpps=base["rate"] / 2e6, lost=r["lost"])]


TESTS = {"throughput": throughput, "latency": latency, "loss": loss, "back-to-back": back_to_back, "recovery": recovery,
         "reset": reset}
