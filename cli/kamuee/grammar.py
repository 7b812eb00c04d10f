# SPDX-License-Identifier: BSD-3-Clause
"""Patterns of commands, compiled to a graph that matches, explains and completes.

A command is written as people read it in a manual:

    show ipv4 route [PREFIX|longer-prefixes PREFIX] [vr VR]

lower case = a keyword, upper case = an argument, [] = may be left out, | = either, () = grouping,
a trailing … = all the rest of the line, or that the group before it may come again. The graph has
no loops but those of …; walking it word by
word keeps the set of places where the line may be, so that matching, '?' and TAB are one walk:

    exact keyword   before   unique beginning of a keyword   before   argument

A command marked `exact` must be typed in full.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kamuee import foreign
from kamuee.errors import UsageError

LISTED = 30
TOKEN = re.compile(r"\s*([\[\]()|]|[^\s\[\]()|]+)")


class Command(NamedTuple):
    """One line of the manual. `run` is 'module:function', imported when needed."""

    pattern: str
    help: str
    run: str
    exact: bool = False
    json: str = ""  # name of the shape in shapes.py, "" = no JSON
    mode: str = ""  # "edit": only while editing, "run": only while not


class Edge(NamedTuple):
    word: str  # keyword, or NAME of the argument
    target: Place
    is_argument: bool
    is_rest: bool
    exact: bool


class Place:
    """Between two words of a pattern."""

    __slots__ = ("edges", "command")

    def __init__(self, edges: list[Edge], command: Command | None) -> None:
        self.edges, self.command = edges, command


class Match(NamedTuple):
    command: Command
    args: dict[str, str]  # keyword -> itself, NAME -> the word given, rest -> the words joined
    rest: list[str]

    @property
    def family(self) -> str:
        """The address family of a command that names one."""
        return "ipv4" if "ipv4" in self.args else "ipv6"


Accepts = Callable[[str, str], bool]  # (NAME, word)


class Grammar:
    """All commands in one graph. `accepts` says whether a word can be an argument of this NAME, `meaning` explains a NAME."""

    def __init__(self, commands: Iterable[Command], accepts: Accepts, meaning: Callable[[str], str] = str) -> None:
        self.commands = tuple(commands)
        self.accepts, self.meaning = accepts, meaning
        self.start = [compile_pattern(command) for command in self.commands]

    def match(self, words: Sequence[str]) -> Match:
        """The command of these words; UsageError names the place and the expected words."""
        places, args, rest = self.start, {}, []
        for n, word in enumerate(words):
            if n == 0 and word in foreign.ALWAYS:
                raise self.unknown(words, n, places)
            try:
                edges = self.step(places, word)
            except UsageError as error:
                said = foreign.hint(words, n, ())
                raise UsageError(f"{' '.join(words[:n + 1])}: {said}" if said else str(error)) from None
            if not edges:
                raise self.unknown(words, n, places)
            for edge in edges:
                args[edge.word] = word if edge.is_argument else edge.word
            if edges[0].is_rest:
                rest.append(word)
            places = [edge.target for edge in edges]
        for place in places:
            if place.command:
                return Match(place.command, args, rest)
        said = foreign.known(words, len(words))
        raise UsageError("\n".join([f"the command is not complete: {' '.join(words) or '(nothing)'}",
                                    *[said] * bool(said),
                                    *self.expected(places)]))

    def step(self, places: Iterable[Place], word: str) -> list[Edge]:
        """The edges that match the word, or none. Ambiguity is a UsageError."""
        edges = [edge for place in places for edge in place.edges]
        if found := [edge for edge in edges if not edge.is_argument and edge.word == word]:
            return found
        begun = [edge for edge in edges
                 if not edge.is_argument and not edge.exact and word and edge.word.startswith(word)]
        names = sorted({edge.word for edge in begun})
        if len(names) == 1:
            return begun
        taken = [edge for edge in edges if edge.is_argument and self.accepts(edge.word, word)]
        if names and not taken:
            raise UsageError(f"'{word}' is ambiguous: {', '.join(names)}")
        return taken

    def walk(self, words: Iterable[str]) -> list[Place]:
        """Places that the line may have reached after these words; none if no command matches."""
        places = self.start
        for word in words:
            try:
                places = [edge.target for edge in self.step(places, word)]
            except UsageError:
                return []
        return places

    def expected(self, places: Iterable[Place]) -> list[str]:
        """The line that lists the possible words; a list too long to read is left to 'help'."""
        edges = {edge.word: edge for place in places for edge in place.edges}
        words = sorted(edges)
        if len(words) == 1 and edges[words[0]].is_argument:
            return [f"expected: {self.meaning(words[0])}"]
        if len(words) > LISTED:
            return ["'help' lists all commands, '?' shows what can follow"]
        return [f"expected: {' '.join(words) if words else 'the end of the line'}"]

    def unknown(self, words: Sequence[str], wrong: int, places: Sequence[Place]) -> UsageError:
        where = " ".join(words[:wrong])
        said = foreign.hint(words, wrong, {edge.word for place in places for edge in place.edges})
        return UsageError("\n".join([f"{where}: " * bool(where) + f"'{words[wrong]}' is not expected here",
                                     *[said] * bool(said),
                                     *self.expected(places)]))


def compile_pattern(command: Command) -> Place:
    tokens = TOKEN.findall(command.pattern)
    place, at = alternatives(tokens, 0, Place([], command), command)
    if at != len(tokens):
        raise ValueError(f"{command.pattern}: '{tokens[at]}' without an opening bracket")
    return place


def alternatives(tokens: list[str], at: int, after: Place, command: Command) -> tuple[Place, int]:
    """sequence | sequence …, all leading to `after`."""
    edges: list[Edge] = []
    final = None
    while True:
        items, at = sequence(tokens, at)
        place = chain(items, after, command)
        edges += place.edges
        final = final or place.command
        if at == len(tokens) or tokens[at] != "|":
            return Place(edges, final), at
        at += 1


def sequence(tokens: list[str], at: int) -> tuple[list[tuple[str, list[str]]], int]:
    """Items up to | or a closing bracket: ('word', [w]) or (opening bracket, tokens inside); '(…' repeats."""
    items = []
    while at < len(tokens) and tokens[at] not in "|])":
        if tokens[at] in "[(":
            end = closing(tokens, at)
            again = "…" if tokens[end + 1:end + 2] == ["…"] else ""
            items.append((tokens[at] + again, tokens[at + 1:end]))
            at = end + len(again)
        else:
            items.append(("word", [tokens[at]]))
        at += 1
    return items, at


def closing(tokens: list[str], at: int) -> int:
    depth = 0
    for n in range(at, len(tokens)):
        depth += (tokens[n] in "[(") - (tokens[n] in "])")
        if depth == 0:
            return n
    raise ValueError(f"{' '.join(tokens)}: a bracket is not closed")


def chain(items: list[tuple[str, list[str]]], after: Place, command: Command) -> Place:
    """The items in sequence, built from the last one backwards."""
    place = after
    for kind, inner in reversed(items):
        if kind == "word":
            place = word_place(inner[0], place, command)
        else:
            inside, after = group(inner, place, command) if kind.endswith("…") else (
                alternatives(inner, 0, place, command)[0], place)
            place = (after if kind == "[…" else
                     Place(inside.edges + place.edges, place.command) if kind == "[" else inside)
    return place


def group(inner: list[str], after: Place, command: Command) -> tuple[Place, Place]:
    """The group, followed by another turn of it or by the rest."""
    loop = Place([], after.command)
    inside, _ = alternatives(inner, 0, loop, command)
    loop.edges += inside.edges + after.edges
    return inside, loop


def word_place(word: str, after: Place, command: Command) -> Place:
    name = word.rstrip("…")
    is_argument = name.isupper()
    if name == word:
        return Place([Edge(name, after, is_argument, False, command.exact)], None)
    loop = Place([], after.command)
    edge = Edge(name, loop, True, True, False)
    loop.edges.append(edge)
    return Place([edge], None)
