# SPDX-License-Identifier: BSD-3-Clause
"""Rates from two samples of counters."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kamuee.context import Context


def two_looks(context: Context, look: Callable[[], Any]) -> tuple[Any, Any, float]:
    """The result of `look` now and an interval later, and the seconds in between."""
    before, t0 = look(), context.clock()
    context.sleep(context.options.interval)
    after, t1 = look(), context.clock()
    return before, after, max(t1 - t0, 1e-6)


def rate(before: int | None, after: int | None, seconds: float) -> float | None:
    """Per second; None for a counter that went back: its owner was restarted."""
    if before is None or after is None or after < before or seconds <= 0:
        return None
    return round((after - before) / seconds, 3)


def named(entries: Iterable[dict]) -> dict[str, dict]:
    return {entry["name"]: entry for entry in entries}
