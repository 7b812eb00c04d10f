# SPDX-License-Identifier: BSD-3-Clause
"""The highest rate without loss: RFC 2544's throughput, by bisection.

A trial sends for some seconds at a rate and counts. The search starts from what comes through when as much
is sent as the generator can make, and ends when the interval is narrower than 2 %; the rate it found is then
confirmed by a trial of three times the length. On cores that are shared with everything else a single packet lost in a
million may be the scheduler's doing, so the rate with at most 0.1 % loss is searched as well.
"""
from collections.abc import Callable

Trial = Callable[[float, float], dict]     # (packets/s or 0 for flood, seconds) -> counts
NARROW = 0.02
FLOOR = 0.01          # of what the search starts from: below it the answer is 0
TOLERANCE = 0.001


def loss(trial: dict) -> float:
    return trial["lost"] / max(1, trial["sent"])


def passes(trial: dict, rate: float, tolerance: float) -> bool:
    """No more loss than tolerated, and the generator kept up with the rate."""
    return loss(trial) <= tolerance and trial["offered_pps"] >= 0.95 * rate


def bisect(run: Trial, high: float, tolerance: float, seconds: float) -> float:
    low, floor = 0.0, FLOOR * high
    while high - low > NARROW * high and high > floor:
        rate = (low + high) / 2
        if passes(run(rate, seconds), rate, tolerance):
            low = rate
        else:
            high = rate
    while low > 0 and not passes(run(low, 3 * seconds), low, tolerance):
        low *= 0.95
        if low < floor:
            return 0.0
    return low


def throughput(run: Trial, seconds: float) -> dict:
    """Packets/s: without loss, with at most 0.1 % loss, and received when flooded."""
    flood = run(0, seconds)
    top = max(flood["offered_pps"] if loss(flood) == 0 else flood["received_pps"] * 1.1, 1000.0)
    tolerant = bisect(run, top, TOLERANCE, seconds)
    strict = bisect(run, max(tolerant * 1.03, 1000.0), 0.0, seconds)
    return {"strict": strict, "tolerant": max(tolerant, strict), "flood": flood["received_pps"],
            "flood-offered": flood["offered_pps"]}
