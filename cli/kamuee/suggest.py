# SPDX-License-Identifier: BSD-3-Clause
"""What can come next in a line, for TAB, '?' and the shells.

The line up to the cursor is words and the beginning of one, which may be empty. Commands come from the grammar, names
from the daemon's state, the rest of 'set' and 'delete' from the daemon's schema.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from kamuee import configure, live, options, render
from kamuee.arguments import ARGUMENTS
from kamuee.client import Client
from kamuee.commands import meaning
from kamuee.context import Context
from kamuee.errors import UsageError
from kamuee.grammar import Grammar, Place
from kamuee.output import FILTERS, piped


class Typed(Protocol):
    """The session of the lines."""

    grammar: Grammar
    context: Context

    def is_change(self, words: Sequence[str]) -> bool: ...


class Suggestion(NamedTuple):
    begun: str                          # the beginning of a word before the cursor
    words: list[tuple[str, str]]        # (word, what it means) that begin so
    values: list[tuple[str, str]] = []  # (<what>, what it looks like) that a person must fill in
    enter: bool = False                 # the line is a command as it stands


def suggest(session: Typed, line: str, program: bool = False) -> Suggestion:
    """Possible words at the end of the line. With `program`, the program's own options may be in it."""
    before, begun = cut(line)
    if "|" in before:
        return filters(before[before.index("|") + 1:], begun)
    words = without_options(before, program)
    if words is None:
        return Suggestion(begun, [])
    if begun.startswith("-") and not options.is_verbatim(words):
        return Suggestion(begun, [(option.long, option.help) for option in options.OPTIONS
                                  if option.long.startswith(begun) and (program or not option.program)])
    if session.is_change(words):
        return change(session, words, begun)
    return command(session, words, begun)


def cut(line: str) -> tuple[list[str], str]:
    """Whole words, and the beginning of one at the end."""
    words = piped(line).split()
    if not words or line[-1].isspace() or line.endswith("|"):
        return words, ""
    return words[:-1], words[-1]


def without_options(words: Sequence[str], program: bool) -> list[str] | None:
    """The words without options; None if an option's value is next."""
    try:
        return options.parse(words, program).words
    except UsageError:
        return None


def filters(behind: Sequence[str], begun: str) -> Suggestion:
    stage = list(behind)
    while "|" in stage:
        stage = stage[stage.index("|") + 1:]
    if not stage:
        return Suggestion(begun, [item for item in FILTERS.items() if item[0].startswith(begun)])
    takes = [name for name in ("include", "exclude", "begin") if name.startswith(stage[0])]
    return Suggestion(begun, [], [("<expression>", "a regular expression")] if takes else [], not takes)


def change(session: Typed, words: Sequence[str], begun: str) -> Suggestion:
    """Asks the daemon for the words that may follow in a set or delete line."""
    verb = session.grammar.step(session.grammar.start, words[0])[0].word
    found, expect = configure.candidates(session.context, " ".join([verb, *words[1:], begun]))
    complete = len(words) > 1 and bool(found) and not (begun or expect)  # a wrong line is offered nothing
    return Suggestion(begun, [entry for entry in found if entry[0].startswith(begun)],
                      [("<value>", expect)] if expect else [], complete)


def command(session: Typed, words: Sequence[str], begun: str) -> Suggestion:
    places = session.grammar.walk(words)
    last = words[-1] if words else ""
    found = {edge.word: meaning(edge.word, last) for place in places for edge in place.edges
             if not edge.is_argument and edge.word.startswith(begun)}
    values, live_words = arguments(session.context.client, places, begun)
    enter = not begun and any(place.command for place in places)
    return Suggestion(begun, sorted(found.items()) + live_words, values, enter)


def arguments(client: Client, places: Sequence[Place], begun: str) -> tuple[list, list]:
    """The form of arguments, and their present values."""
    names = dict.fromkeys(edge.word for place in places for edge in place.edges if edge.is_argument)
    looks = [(f"<{name.lower()}>", ARGUMENTS[name].help) for name in names]
    values = {word: "" for name in names for word in live.values(client, ARGUMENTS[name]) if word.startswith(begun)}
    return looks, sorted(values.items())


def explained(found: Suggestion, width: int = 80) -> list[str]:
    """The output of '?'."""
    entries = [*found.words, *(found.values if not found.words or not found.begun else [])]
    if found.enter:
        entries.append(("<enter>", "run the command"))
    if not entries:
        return ["  nothing can follow here" if not found.begun else f"  nothing here starts with '{found.begun}'"]
    return list(render.fields(entries, width))
