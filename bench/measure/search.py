# SPDX-License-Identifier: BSD-3-Clause
"""The highest rate without loss: RFC 2544's throughput, by bisection.

`throughput` serves the experiments. A trial sends for some seconds at a rate and counts. The search starts from what
comes through when as much is sent as the generator can make, and ends when the interval is narrower than 2 %; the rate
it found is then confirmed by a trial of three times the length. On cores that are shared with everything else a single
packet lost in a million may be the scheduler's doing, so the rate with at most 0.1 % loss is searched as well.

`ndr` serves `kamuee bench throughput`: the non-drop rate for a stated loss ratio (RFC 2544, 26.1), where no single
trial decides. A rate that loses a little is out only when it has failed three times; the rate found is confirmed by
more trials at full length, and a trial during which somebody else had the cores is repeated (as the drafts on multiple
loss ratio search, MLRsearch, ask for). Every trial is explained in a sentence.
"""
from collections.abc import Callable
from dataclasses import dataclass, field

Trial = Callable[[float, float], dict]     # (packets/s or 0 for flood, seconds) -> counts
NARROW = 0.02
FLOOR = 0.01          # of what the search starts from: below it the answer is 0
TOLERANCE = 0.001


def loss(trial: dict) -> float:
    return trial["lost"] / max(1, trial["sent"])


def passes(trial: dict, rate: float, tolerance: float) -> bool:
    """Losses are within the tolerance, and the generator kept up with the rate."""
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


# --- the non-drop rate ---

@dataclass
class Outcome:
    """The result of one trial, as the search needs it."""
    offered_pps: float          # of each direction
    attempted: int              # packets
    lost: int
    ratio: float                # lost / attempted, of the worse direction
    disturbed: str = ""         # what else happened to the cores meanwhile


@dataclass
class Goal:
    ratio: float = 0.0          # loss ratio that still passes
    seconds: float = 1.0        # of a trial
    precision: float = 0.01     # relative width at which the search ends
    confirmations: int = 2      # further trials that the found rate has to pass
    keeps_up: float = 0.95      # share of the intended load that must have been offered


@dataclass
class Found:
    rate: float = 0.0           # packets/s of each direction, intended; 0: none above FLOOR of the top
    offered: float = 0.0        # what of it was really offered, in the trial that offered least
    limit: str = "device"       # what ends it: "device", "tester", or "disturbance": nothing could be decided
    precision: float = 0.0      # relative; wider than asked when confirmations failed
    trials: int = 0
    confirmed: int = 0
    disturbed: int = 0          # trials that did not count
    unsettled: int = 0          # decisions that had to be made on a disturbed trial
    lines: list[str] = field(default_factory=list)


FAILURES = 3                    # a rate is out when it has failed so often …
HEAVY = 0.01                    # … or once with so much loss
REPEATS = 3                     # of a disturbed trial, then it counts
FIRST_STEP = 0.03               # from the guess, doubled until the answer is between two rates
WIDEST_STEP = 0.5


class Search:
    """`run(rate, seconds)` makes a trial; `say(sentence)` gets the explanation of each."""

    def __init__(self, run: Callable[[float, float], Outcome], goal: Goal,
                 say: Callable[[str], None] = lambda text: None):
        self.run, self.goal, self.say = run, goal, say
        self.found = Found(precision=goal.precision)
        self.offered: dict[float, float] = {}       # by rate that passed

    def ndr(self, top: float, guess: float) -> Found:
        """`top`: packets/s beyond which nothing is tried (what the tester can make); `guess`: where the answer may
        be."""
        found, low, high, step, failed_above = self.found, 0.0, top, FIRST_STEP, False
        rate = min(guess, top)
        while high > FLOOR * top:
            passed = self._passes(rate, "")
            if passed:
                low = passed
            else:
                high, failed_above = rate, True
            if low and (found.limit == "tester" or high - low <= found.precision * high):
                if self._confirms(low):
                    found.rate, found.limit = low, found.limit if failed_above else "tester"
                    found.offered = self.offered.get(low, low)
                    return found
                high, low, failed_above = low, 0.0, True
                found.limit, found.precision = "device", min(WIDEST_STEP, max(FIRST_STEP, 2 * found.precision))
                step = found.precision
            if low and failed_above:
                rate = (low + high) / 2
            else:
                rate = min(top, low * (1 + step)) if low else high * (1 - step)
                step = min(WIDEST_STEP, 2 * step)
        found.rate, found.limit = 0.0, "disturbance" if found.unsettled else "device"
        return found

    def _confirms(self, rate: float) -> bool:
        self.found.confirmed = 0
        for number in range(self.goal.confirmations):
            if self._passes(rate,
                            f"confirmation {number + 1} of {self.goal.confirmations}: ") < self.goal.keeps_up * rate:
                self.found.confirmed = 0
                return False
            self.found.confirmed += 1
        return True

    def _passes(self, rate: float, why: str) -> float:
        """The rate that passed: the one asked for, or as much as the tester offered of it; 0 = none."""
        for failures in range(1, FAILURES + 1):
            trial = self._undisturbed(rate, why)
            if trial.ratio <= self.goal.ratio:
                return self._passed(trial, rate, why)
            if failures == FAILURES or trial.ratio > max(HEAVY, 10 * self.goal.ratio):
                break
            self._explain(trial, rate, why, "too many: once more, one trial does not decide")
        self._explain(trial, rate, why, "too many: the answer is below")
        return 0.0

    def _passed(self, trial: Outcome, rate: float, why: str) -> float:
        if trial.offered_pps >= self.goal.keeps_up * rate:
            self.offered[rate] = min(trial.offered_pps, self.offered.get(rate, trial.offered_pps))
            self._explain(trial, rate, why, "passes")
            return rate
        self.found.limit = "tester"
        self._explain(trial, rate, why, f"passes, but the tester offered only {trial.offered_pps / 1e6:.4g} Mpps: it "
                      "is the limit")
        return trial.offered_pps

    def _undisturbed(self, rate: float, why: str) -> Outcome:
        """A trial without disturbance, or the last of a few that were all disturbed."""
        for repeat in range(REPEATS + 1):
            trial = self.run(rate, self.goal.seconds)
            self.found.trials += 1
            fails = trial.ratio > self.goal.ratio or trial.offered_pps < self.goal.keeps_up * rate
            if not trial.disturbed or not fails:
                break
            if repeat == REPEATS:
                self.found.unsettled += 1
                break
            self.found.disturbed += 1
            self._explain(trial, rate, why, f"disturbed ({trial.disturbed}): does not count")
        return trial

    def _explain(self, trial: Outcome, rate: float, why: str, verdict: str) -> None:
        sentence = (f"{why}{rate / 1e6:.4g} Mpps for {self.goal.seconds:g} s: {trial.lost:,} of {trial.attempted:,} "
                    f"lost{f' ({trial.ratio:.2g})' if trial.lost else ''}: {verdict}")
        self.found.lines.append(sentence)
        self.say(sentence)
