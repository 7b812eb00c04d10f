# SPDX-License-Identifier: BSD-3-Clause
"""The result of a check, and how a check is declared."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

# From good to bad. 'absent': the machine has no such thing, or does not report it.
STATUSES = ("good", "absent", "advice", "wrong")


@dataclass(frozen=True)
class Finding:
    check: str            # one word for the condition, the same in JSON and documentation
    status: str           # of STATUSES. advice: it works, slower or less evenly; wrong: it does not work
    subject: str          # the checked thing: 'node 0', 'p0', 'core 3'
    found: str
    wanted: str = ""
    effect: str = ""      # what it costs, as measured in the papers or here
    fix: tuple[str, ...] = ()  # commands, exactly
    safe: bool = False    # --fix may run them: they change nothing that lasts over a boot and break nothing that runs

    def json(self) -> dict:
        return {name: list(value) if isinstance(value, tuple) else value
                for name, value in asdict(self).items() if value not in ("", ())}


@dataclass(frozen=True)
class Check:
    name: str
    run: Callable[[object], Iterable[Finding]]


def good(check: str, subject: str, found: str) -> Finding:
    return Finding(check, "good", subject, found)


def absent(check: str, subject: str, found: str) -> Finding:
    return Finding(check, "absent", subject, found)
