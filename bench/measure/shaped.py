# SPDX-License-Identifier: BSD-3-Clause
"""A shaped link with eight classes, on veth pairs: Linux HTB in the middle of the star, and kamueed with the same
classes and the same traffic.

    share    weights 1:2:…:8, each class sends 120 % of its share: the error of the rate, and of the shares
    delay    equal classes; the first sends half of what it is guaranteed, one packet at a time, the others flood
    packets  a rate that is never reached, a flood of the smallest frames: packets/s that come through

HTB's leaves are fq_codel where the kernel has it, else pfifo, and the rows say which. Both count the bytes of frames
without the check sequence: kamueed is told so (overhead 0).
"""
from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from kamuee.lab.errors import LabError
from measure import machine
from measure.topology import Star, star

CLASSES = 8
DSCP = tuple(8 * k for k in range(CLASSES))            # CS0 to CS7
RATE_BPS = 40_000_000
UNLIMITED_BPS = 9_000_000_000                           # below the speed that a veth claims to have
FRAME = 256                                             # bytes, check sequence included
LOAD = 1.2
OVERLOAD = 1.05                                         # of its share, at least, or the trial says nothing
WINDOW_MS = 100
SETTLE = 3                                              # windows that do not count, at either end of a trial
FCS = 4
SHARES = tuple(range(1, CLASSES + 1))
EQUAL = (1,) * CLASSES
PORT = "p1"                                             # behind which host a receives


@dataclass
class Shaper:
    """The shaper, and its configuration."""
    name: str
    kind: str               # of star

    def shape(self, s: Star, rate_bps: int, weights: Sequence[int]) -> str:
        """Sets the port's classes; returns their columns of the rows."""
        raise NotImplementedError


class Htb(Shaper):
    def __init__(self) -> None:
        super().__init__("linux htb", "linux")

    def shape(self, s: Star, rate_bps: int, weights: Sequence[int]) -> str:
        def tc(command: str, check: bool = True) -> str:
            return s.router.run(f"tc {command}", check=check)
        tc(f"qdisc del dev {PORT} root", check=False)
        tc(f"qdisc add dev {PORT} root handle 1: htb default 10")
        tc(f"class add dev {PORT} parent 1: classid 1:1 htb rate {rate_bps} ceil {rate_bps}")
        leaf = ""
        for k, weight in enumerate(weights):
            rate = rate_bps * weight // sum(weights)
            tc(f"class add dev {PORT} parent 1:1 classid 1:1{k} htb rate {rate} ceil {rate_bps} "
               f"quantum {1514 * weight if sum(weights) > CLASSES else 1514}")
            leaf = self.leaf(s, k)
            tc(f"filter add dev {PORT} parent 1: protocol ip prio 1 u32 match ip dsfield {4 * DSCP[k]:#x} 0xfc "
               f"flowid 1:1{k}")
        return leaf

    def leaf(self, s: Star, k: int) -> str:
        for kind in ("fq_codel", "pfifo limit 1000"):
            try:
                s.router.run(f"tc qdisc add dev {PORT} parent 1:1{k} handle 1{k}: {kind}")
                return kind.split()[0]
            except LabError:
                if kind.startswith("pfifo"):
                    raise
        return ""


class KamueeQueue(Shaper):
    def __init__(self) -> None:
        super().__init__("kamuee", "kamueed")

    def shape(self, s: Star, rate_bps: int, weights: Sequence[int]) -> str:
        lines = [f"set class-map bench dscp {dscp} class {k}" for k, dscp in enumerate(DSCP)]
        for k, weight in enumerate(weights):
            lines += [f"set queue-profile bench class {k} weight {weight}",
                      f"set queue-profile bench class {k} discipline fq-codel"]
        queue = f"set port {PORT} queue"
        s.kamueed.client.call("configure", line=[*lines, f"{queue} rate {rate_bps}", f"{queue} overhead 0",
                                                 f"{queue} profile bench", f"{queue} class-map bench"])
        return "fq_codel"


def rows(ctx, shapers: Sequence[Shaper]) -> list[dict]:
    """The rows of all shapers, measured in turns."""
    found = []
    for shaper in shapers:
        with star(shaper.kind, ctx) as s, ctx.step(shaper.name):
            found += measured(ctx, s, shaper)
    return found


def measured(ctx, s: Star, shaper: Shaper) -> list[dict]:
    seconds = 2 if ctx.quick else 5
    leaf = shaper.shape(s, RATE_BPS, SHARES)
    offered = [LOAD * RATE_BPS * weight / sum(SHARES) for weight in SHARES]
    share = overloaded(ctx, shaper, trial(ctx, s, offered, seconds), [rate / LOAD for rate in offered], seconds)
    shaper.shape(s, RATE_BPS, EQUAL)
    each = RATE_BPS / CLASSES
    offered = [0.5 * each, *[(LOAD * CLASSES - 0.5) / (CLASSES - 1) * each] * (CLASSES - 1)]
    delay = overloaded(ctx, shaper, trial(ctx, s, offered, seconds), [0, *[each] * (CLASSES - 1)], seconds)
    shaper.shape(s, UNLIMITED_BPS, EQUAL)
    packets = load(ctx, s, [f"{dscp}:64:0" for dscp in DSCP], seconds)
    about = {"links": "veth", "engine": shaper.name, "vrs": None, "leaf": leaf}
    return [{"case": "rate", **about, "error": rate_error(share) if share else None},
            {"case": "share", **about, "error": share_error(share) if share else None},
            {"case": "delay", **about, "p50_us": delay[0]["p50_us"] if delay else None,
             "p99_us": delay[0]["p99_us"] if delay else None},
            {"case": "packets", **about, "mpps": round(sum(flow["received"] for flow in packets) / seconds / 1e6, 4)}]


def overloaded(ctx, shaper: Shaper, flows: list[dict], shares_bps: Sequence[float], seconds: float) -> list[dict]:
    """These flows, if each one's load was above its share; none if this machine could not send enough."""
    size = 8 * (FRAME - FCS)
    if all(flow["sent"] * size / seconds >= OVERLOAD * share for flow, share in zip(flows, shares_bps)):
        return flows
    ctx.note(f"{shaper.name}: the load was not reached on this machine")
    return []


def trial(ctx, s: Star, rates_bps: Sequence[float], seconds: float) -> list[dict]:
    size = 8 * (FRAME - FCS)
    return load(ctx, s, [f"{dscp}:{FRAME}:{rate / size:.3f}" for dscp, rate in zip(DSCP, rates_bps)], seconds)


def load(ctx, s: Star, flows: Sequence[str], seconds: float) -> list[dict]:
    """queue_load's results for each flow."""
    argv = [ctx.program("queue_load"), "--send", f"{s.hosts['src'].name}%e0", "--receive", f"{s.hosts['a'].name}%e0",
            "--to", s.router_mac("p0"), "--source", "10.90.0.2", "--destination", "10.90.1.2", "--cpu",
            str(s.load_core if s.is_kamueed else machine.last_core()), "--seconds", f"{seconds:g}", "--window-ms",
            str(WINDOW_MS), *flows]
    return ctx.run_json(argv)["flows"]


# --- errors ---

def windows(flow: dict) -> list[float]:
    return flow["bytes"][SETTLE:len(flow["bytes"]) - 1]


def rate_error(flows: Sequence[dict]) -> float:
    """Of the total against the rate."""
    total = sum(map(sum, map(windows, flows)))
    return round(total * 8 / (len(windows(flows[0])) * WINDOW_MS / 1e3) / RATE_BPS - 1, 5)


def share_error(flows: Sequence[dict]) -> float:
    """Root mean square over the windows, of the class that has the largest."""
    by_window = list(zip(*map(windows, flows)))

    def rms(k: int) -> float:
        wanted = SHARES[k] / sum(SHARES)
        return math.sqrt(statistics.fmean((got[k] / max(1, sum(got)) / wanted - 1) ** 2 for got in by_window))
    return round(max(map(rms, range(CLASSES))), 5)
