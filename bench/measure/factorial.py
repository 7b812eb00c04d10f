# SPDX-License-Identifier: BSD-3-Clause
"""2^k r factorial experiments: the effect of each factor, and of each combination of factors, on the result.

Each of k factors has two levels, -1 and +1; all 2^k combinations are measured r times. The sign table method
(R. Jain, The Art of Computer Systems Performance Analysis, chapters 17 and 18) gives the linear model

    y = q0 + sum of q_S x_S + error,      x_S = product of the levels of the factors in S

and divides the variation of all results among the effects and the error.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from statistics import NormalDist, fmean

Levels = tuple[int, ...]


@dataclass
class Effect:
    """Of one factor, or of several together: half of the change of the result between -1 and +1."""
    factors: tuple[str, ...]
    value: float
    percent: float                  # of the variation of all results
    low: float | None = None        # 90 % confidence; None without replications
    high: float | None = None

    @property
    def name(self) -> str:
        return " × ".join(self.factors)

    @property
    def significant(self) -> bool | None:
        return None if self.low is None else self.low > 0 or self.high < 0


@dataclass
class Analysis:
    mean: float
    effects: list[Effect]           # single factors first, then pairs, …
    error_percent: float            # of the variation: what no factor explains
    deviation: float | None         # standard deviation of the error

    def effect(self, *factors: str) -> Effect:
        return next(e for e in self.effects if e.factors == factors)


def analyze(factors: Sequence[str], results: Mapping[Levels, Sequence[float]]) -> Analysis:
    """`results`: for each combination of levels, one level a factor in their order, as many results as replications."""
    runs = list(product((-1, 1), repeat=len(factors)))
    counts = {len(results.get(run, ())) for run in runs}
    if set(results) != set(runs) or len(counts) != 1 or 0 in counts:
        raise ValueError(f"all {len(runs)} combinations of {len(factors)} factors are needed, equally often")
    repeats, = counts
    means = {run: fmean(results[run]) for run in runs}
    error = sum((y - means[run]) ** 2 for run in runs for y in results[run])
    mean = fmean(means.values())
    subsets = [s for size in range(1, len(factors) + 1) for s in combinations(range(len(factors)), size)]
    value = {s: fmean(math.prod(run[i] for i in s) * means[run] for run in runs) for s in subsets}
    square = {s: len(runs) * repeats * q * q for s, q in value.items()}
    total = sum(square.values()) + error or 1.0     # all results alike: nothing varies
    freedom = len(runs) * (repeats - 1)
    deviation = math.sqrt(error / freedom) if freedom else None
    margin = t_quantile(0.95, freedom) * deviation / math.sqrt(len(runs) * repeats) if freedom else None
    return Analysis(mean, [Effect(tuple(factors[i] for i in s), q, 100 * square[s] / total,
                                  None if margin is None else q - margin, None if margin is None else q + margin)
                           for s, q in value.items()], 100 * error / total, deviation)


def t_quantile(probability: float, freedom: int) -> float:
    """Of Student's t distribution, by the expansion of Abramowitz and Stegun 26.7.5: three digits from 4 degrees of
    freedom on."""
    x = NormalDist().inv_cdf(probability)
    terms = ((x ** 3 + x) / 4,
             (5 * x ** 5 + 16 * x ** 3 + 3 * x) / 96,
             (3 * x ** 7 + 19 * x ** 5 + 17 * x ** 3 - 15 * x) / 384,
             (79 * x ** 9 + 776 * x ** 7 + 1482 * x ** 5 - 1920 * x ** 3 - 945 * x) / 92160)
    return x + sum(term / freedom ** power for power, term in enumerate(terms, 1))
