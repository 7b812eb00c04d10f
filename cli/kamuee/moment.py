# SPDX-License-Identifier: BSD-3-Clause
"""Times as people type and read them: -5m, 10m, 22:05:10, 2026-11-21T22:05:10."""
from __future__ import annotations

import re
from datetime import datetime, timedelta

from kamuee.errors import UsageError

DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")


def duration(word: str) -> timedelta | None:
    """30s, 10m, 2h, 1d or a mixture such as 1h30m; None for other text."""
    found = DURATION.fullmatch(word)
    if not word or not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    try:
        return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return None


def moment(word: str, now: datetime | None = None) -> datetime | None:
    """The time that `-5m`, `22:05[:10]` (the last time the clock said so) or an ISO 8601 time means; None when it is
    none."""
    now = now or datetime.now().astimezone()
    if word.startswith("-"):
        back = duration(word[1:])
        try:
            return None if back is None else now - back
        except OverflowError:
            return None
    if clock := CLOCK.fullmatch(word):
        hour, minute, second = (int(part or 0) for part in clock.groups())
        at = now.replace(hour=hour, minute=minute, second=second, microsecond=0)
        return at if at <= now else at - timedelta(days=1)
    try:
        return datetime.fromisoformat(word.replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError):
        return None


def ago(word: str, then: datetime) -> str:
    """Milliseconds from now back to the moment that the word meant at time `then`, for the daemon."""
    at = moment(word, then)
    if at is None or at > then:
        raise UsageError(f"{word} is in the future; expected a time such as -5m, 22:05:10 or 2026-11-21T22:05:10")
    return str((datetime.now().astimezone() - at) // timedelta(milliseconds=1))


def is_moment(word: str) -> bool:
    at = moment(word)
    return at is not None and at.timestamp() > 0


def is_duration(word: str) -> bool:
    return bool(duration(word))


def told(rfc3339: str) -> str:
    """A time of the daemon's as local time: 2026-11-21 22:05:10.123."""
    return datetime.fromisoformat(rfc3339.replace("Z", "+00:00")).astimezone().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
