# SPDX-License-Identifier: BSD-3-Clause
"""Rules of access lists, between another router's language and set lines."""
from __future__ import annotations

from dataclasses import dataclass, field

from kamuee import plain
from kamuee.errors import KamueeError


class Refused(KamueeError):
    """Lines without an equivalent here; nothing of the file was taken."""

    def __init__(self, wrong: list[str]) -> None:
        super().__init__("\n".join(wrong[:20] + [f"… and {len(wrong) - 20} more"] * (len(wrong) > 20)))


class Unknown(Exception):
    """One line, or one word of it, that is not supported here."""


@dataclass
class List:
    """One access list: its default action, and the rules as words by their numbers."""

    name: str
    default: str = "deny"
    rules: list[tuple[int, str]] = field(default_factory=list)
    sets: dict[str, list[str]] = field(default_factory=dict)

    def add(self, words: str, number: int | None = None) -> None:
        if not plain.is_plain(words):
            raise KamueeError(f"a rule of {self.name} has a control character: {plain.shown(words)}")
        last = self.rules[-1][0] if self.rules else 0
        self.rules.append((number if number is not None else last // 10 * 10 + 10, words))

    def lines(self) -> list[str]:
        found = [f"set address-set {name} prefix {member}" for name, members in self.sets.items() for member in members]
        found.append(f"set acl {self.name} default {self.default}")
        return found + [f"set acl {self.name} rule {number} {words}" for number, words in self.rules]


def name_of(text: str) -> str:
    """The text as a valid name here."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in text)[:31] or "imported"
