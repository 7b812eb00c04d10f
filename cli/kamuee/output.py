# SPDX-License-Identifier: BSD-3-Clause
"""Where the lines of a command go: the terminal, a pager, or filters after a '|'.

A sink takes line by line, so a table of any length passes through. A filter, as in `show ipv4 route | include bgp |
count`, is a sink in front of another.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Protocol, TextIO

from kamuee import foreign, plain
from kamuee.errors import UsageError

FILTERS = {
    "include": "lines that match a regular expression",
    "exclude": "lines that do not match",
    "begin": "lines from the first match on",
    "count": "number of lines",
    "json": "same as -j",
    "no-more": "turn the pager off",
}


class Sink(Protocol):
    def line(self, text: str) -> None: ...

    def end(self) -> None: ...


class Writer:
    """Lines to a text stream."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout

    def line(self, text: str) -> None:
        self.stream.write(plain.line(text) + "\n")

    def end(self) -> None:
        self.stream.flush()


class Only:
    """Passes lines for which `keep` is true."""

    def __init__(self, keep: Callable[[str], bool], after: Sink) -> None:
        self._keep, self._after = keep, after

    def line(self, text: str) -> None:
        if self._keep(text):
            self._after.line(text)

    def end(self) -> None:
        self._after.end()


class Begin(Only):
    """Lines from the first match on."""

    def __init__(self, matches: Callable[[str], bool], after: Sink) -> None:
        super().__init__(self._seen_from_here, after)
        self._matches, self._seen = matches, False

    def _seen_from_here(self, text: str) -> bool:
        self._seen = self._seen or self._matches(text)
        return self._seen


class Count:
    def __init__(self, after: Sink) -> None:
        self._n, self._after = 0, after

    def line(self, text: str) -> None:
        self._n += 1

    def end(self) -> None:
        self._after.line(str(self._n))
        self._after.end()


def piped(line: str) -> str:
    """The line with blanks around the first unquoted '|'; further ones may belong to an expression."""
    quote = ""
    for n, letter in enumerate(line):
        if letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif not quote and letter == "|":
            return f"{line[:n]} | {line[n + 1:]}"
    return line


def split_pipe(words: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """The command, and the stages after each '|'."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts[0], [expanded(stage) for stage in parts[1:] if stage != ["display", "set"]]   # as the configuration is printed


def expanded(stage: list[str]) -> list[str]:
    """A stage with its full name and checked arguments."""
    if len(stage) > 1 and not stage[1].startswith("-"):
        stage = [foreign.SAME_FILTER.get(stage[0], stage[0]), *stage[1:]]
    names = [name for name in FILTERS if stage and name.startswith(stage[0])]
    if len(names) != 1:
        what = f"'{stage[0]}' is not a filter" if stage else "nothing after '|'"
        said = foreign.FILTERS.get(stage[0], "") if stage else ""
        raise UsageError(f"{what}\n" + f"{said}\n" * bool(said) + f"expected: {' '.join(FILTERS)}")
    name = names[0]
    if (len(stage) != 1) != (name in ("include", "exclude", "begin")):
        want = "a regular expression" if len(stage) == 1 else "the end of the line or '|'"
        raise UsageError(f"| {name}: expected {want}")
    return [name, " ".join(stage[1:])] if len(stage) > 1 else [name]


def through(stages: Sequence[Sequence[str]], sink: Sink) -> Sink:
    """The sink in front of which the stages are put, first stage first."""
    for name, *argument in reversed(stages):
        if name == "count":
            sink = Count(sink)
        elif argument:
            matches = searcher(argument[0])
            if name == "include":
                sink = Only(matches, sink)
            elif name == "exclude":
                sink = Only(lambda text, matches=matches: not matches(text), sink)
            else:
                sink = Begin(matches, sink)
    return sink


def searcher(text: str) -> Callable[[str], bool]:
    try:
        search = re.compile(text).search
    except re.error as error:
        raise UsageError(f"'{text}' is not a regular expression: {error}") from None
    return lambda line: search(line) is not None
