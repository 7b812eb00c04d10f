# SPDX-License-Identifier: BSD-3-Clause
"""Keeps the rules of a virtual router in its access lists, by kamueed's operation `acl-change`."""
from __future__ import annotations

from collections.abc import Callable, Iterator

from kamuee.client import Client
from kamuee.errors import DaemonError, KamueeError
from kamuee.flowspec.rules import Rules
from kamuee.flowspec.setup import Target

TOGETHER = 10_000_000       # octets of one request; kamueed takes 16 MB
PAGE = 10000                # rules


class Installer:
    def __init__(self, client: Client, target: Target, rules: Rules, hold_s: int, peers: Callable[[], list[dict]]) -> None:
        self.client, self.target, self.rules, self.hold_s = client, target, rules, hold_s
        self.peers = peers          # the use of their limits, for kamueed's alarm
        self.in_step = False        # is what kamueed has what we sent?
        self.error = ""

    def change(self, fresh: dict[int, str], gone: set[int]) -> None:
        if self.in_step:
            self.attempt(fresh, gone)
        if not self.in_step:
            self.restore()

    def renew(self) -> None:
        """Extends the lease; kamueed may have been started again, or somebody else may have deleted the rules."""
        try:
            if self.send([], []) != self.rules.count:
                self.in_step = False
        except KamueeError as error:
            self.fail(error)
        if not self.in_step:
            self.restore()

    def restore(self) -> None:
        """Compares all rules with those in force, which keep their counters if they stay."""
        try:
            present = set(self.present()) if self.send([], []) else set()
        except KamueeError as error:
            self.fail(error)
            return
        wanted = self.rules.every()
        self.attempt(wanted, {number - self.target.first for number in present} - wanted.keys())

    # --- inside ---

    def attempt(self, fresh: dict[int, str], gone: set[int]) -> None:
        try:
            for part in self.parts(fresh):
                self.send(part, [])
            for_sure = self.send([], [number + self.target.first for number in gone])
            self.in_step, self.error = for_sure == self.rules.count, ""
        except KamueeError as error:
            self.fail(error)

    def parts(self, fresh: dict[int, str]) -> Iterator[list[str]]:
        part: list[str] = []
        size = 0
        for number in sorted(fresh):
            line = f"{number + self.target.first} {self.line(number, fresh[number])}"
            # rules that share a policer follow it, in the same request
            if size > TOGETHER and not fresh[number].endswith("{}"):
                yield part
                part, size = [], 0
            part.append(line)
            size += len(line) + 2
        if part:
            yield part

    def line(self, number: int, line: str) -> str:
        return line.format(self.head(number)) if line.endswith("{}") else line

    def head(self, number: int) -> int:
        return self.target.first + self.rules.head(number)

    def send(self, add: list[str], delete: list[int]) -> int:
        """The number of temporary rules that the list has then."""
        answer = self.client.call("acl-change", name=self.target.acl, lease=self.hold_s, add="\n".join(add) or None,
                                  delete=delete or None, peer=self.peers() or None)
        return answer["temporary-rules"]

    def present(self) -> Iterator[int]:
        at: int | None = self.target.first
        while at is not None and at <= self.target.last:
            page = self.client.call("acl-rules", name=self.target.acl, limit=PAGE, **{"from": at})
            yield from (row["number"] for row in page.get("rule", ()) if row["number"] <= self.target.last)
            at = page.get("next")

    def fail(self, error: KamueeError) -> None:
        self.in_step = False
        self.error = error.messages[0] if isinstance(error, DaemonError) and error.messages else str(error)
