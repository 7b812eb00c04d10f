# SPDX-License-Identifier: BSD-3-Clause
"""Runs lines of commands, one by one or as a script.

Consecutive set and delete lines of a script go to the daemon together: all of them or none.
"""
from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib import import_module

from kamuee import commands, configure, foreign, options
from kamuee.context import Context, Options
from kamuee.errors import EXIT_OK, DaemonError, KamueeError, Leave, Unreachable, UsageError
from kamuee.grammar import Grammar, Match
from kamuee.output import piped, split_pipe, through

CHANGES = ("set", "delete")
WORD = re.compile(r"[^ \t\r\n]+")  # as kamueed has it; str.split() also splits at blanks of other scripts


class Session:
    """A grammar and a context: runs the lines of a person or a script."""

    def __init__(self, grammar: Grammar, context: Context) -> None:
        self._running, self.context = grammar, context
        self._editing: Grammar | None = None

    @property
    def grammar(self) -> Grammar:
        """The present commands: others while editing."""
        if self.context.editing.session is None:
            return self._running
        self._editing = self._editing or commands.grammar(editing=True)
        return self._editing

    def split(self, line: str) -> list[str]:
        """The words of a typed line. Lines of configuration keep their quotes for the daemon."""
        words = WORD.findall(line)
        if not words or words[0].startswith("#"):
            return []
        if self.is_change(words):
            return words
        line = piped(line)
        lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""  # an expression keeps its \\
        try:
            return list(lexer)
        except ValueError as error:
            raise UsageError(f"{line}: {str(error).lower()}") from None

    def is_change(self, words: Sequence[str]) -> bool:
        try:
            return bool(words) and self.grammar.step(self.grammar.start, words[0])[0].word in CHANGES
        except (UsageError, IndexError):
            return False

    def run(self, words: Sequence[str]) -> int:
        """One line of words, with options and filters. Returns the exit code."""
        if words[-1:] == ["?"]:
            from kamuee.suggest import explained, suggest  # few lines ask
            self.context.lines(explained(suggest(self, " ".join([*words[:-1], ""])), self.context.width))
            return EXIT_OK
        command, stages = split_pipe(foreign.compared(words))
        parsed = options.parse(command, program=False)
        return self.do(parsed.words, merged(self.context.options, parsed.line), stages)

    def do(self, words: Sequence[str], wanted: Options, stages: Sequence[Sequence[str]] = ()) -> int:
        """One command with its options and filters."""
        match = of_router(self.matched(words), os.environ.get("KAMUEE_VR"))
        asked_json = wanted.json or ["json"] in stages
        if asked_json and not match.command.json:
            raise UsageError(f"'{' '.join(words)}' has no JSON output")
        context = replace(self.context, options=replace(wanted, json=asked_json),
                          sink=through(stages, self.context.sink))
        code = function(match)(context, match)
        context.sink.end()
        return EXIT_OK if code is None else code

    def matched(self, words: Sequence[str]) -> Match:
        """The command, or a show command of another router; only the daemon knows what may follow 'set' or 'delete'."""
        if len(words) == 1 and self.is_change(words):
            verb = self.grammar.step(self.grammar.start, words[0])[0].word
            with contextlib.suppress(DaemonError, Unreachable):
                names = " ".join(name for name, _ in configure.candidates(self.context, f"{verb} ")[0])
                raise UsageError(f"the command is not complete: {words[0]}\nexpected: {names}\n'{verb} ?' lists them")
        ours = foreign.looked(words, self.context.editing.session is not None)
        try:
            match = self.grammar.match(words)
            if ours and foreign.is_brief(match.args.get("INTERFACE", "")):
                return self.grammar.match(ours)
            return match
        except UsageError as error:
            with contextlib.suppress(UsageError):
                if ours:
                    return self.grammar.match(ours)
            raise error

    def script(self, lines: Iterable[str], name: str = "") -> int:
        """Lines up to the first that fails; a message is prefixed with its place in the file `name`."""
        try:
            for block in self.blocks(lines, name):
                try:
                    code = self.block([words for _, words in block])
                except KamueeError as error:
                    raise placed(error, name, [number for number, _ in block]) from None
                if code != EXIT_OK:
                    return code
        except Leave:
            pass
        return EXIT_OK

    def blocks(self, lines: Iterable[str], name: str) -> Iterator[list[tuple[int, list[str]]]]:
        """Commands as (line number, words), with consecutive changes together."""
        changes: list[tuple[int, list[str]]] = []
        for number, line in enumerate(lines, 1):
            try:
                words = self.split(line.strip())
            except KamueeError as error:
                raise placed(error, name, [number]) from None
            if not words:
                continue
            if self.is_change(words):
                changes.append((number, words))
                continue
            if changes:
                yield changes
                changes = []
            yield [(number, words)]
        if changes:
            yield changes

    def block(self, typed: Sequence[Sequence[str]]) -> int:
        """One command, or several set and delete lines as one change."""
        if not self.is_change(typed[0]):
            return self.run(typed[0])
        wanted, lines = self.context.options, []
        for words in typed:
            parsed = options.parse(words, program=False)
            wanted = merged(wanted, parsed.line)
            lines.append(configure.line(self.matched(parsed.words)))
        configure.send(replace(self.context, options=wanted), lines)
        return EXIT_OK


def of_router(match: Match, router: str | None) -> Match:
    """Inside a virtual router (kamuee vr enter), commands that may concern one virtual router concern this one."""
    if not router or "VR" in match.args or not re.search(r"[[|]vr VR]|show vr \[VR]", match.command.pattern):
        return match
    return match._replace(args={**match.args, "VR": router})


def placed(error: KamueeError, name: str, numbers: Sequence[int]) -> KamueeError:
    """The error with its place in the script. The daemon counts the lines of a change from 1."""
    if not name:
        return error

    def place(found: re.Match[str]) -> str:
        return f"{name}:{numbers[min(int(found[1]), len(numbers)) - 1]}: "

    text = re.sub(r"^line (\d+): ", place, str(error), flags=re.M)
    error.args = (text if text != str(error) else f"{name}:{numbers[0]}: {error}",)
    return error


def merged(given: Options, line: Options) -> Options:
    """The program's options and a line's: a flag in either counts."""
    interval = line.interval if line.interval != Options.interval else given.interval
    return Options(json=given.json or line.json, wide=given.wide or line.wide,
                   check=given.check or line.check, once=given.once or line.once, interval=interval,
                   confirmed=line.confirmed or given.confirmed, comment=line.comment or given.comment,
                   yes=given.yes or line.yes, binary=line.binary or given.binary)


def function(match: Match) -> Callable[[Context, Match], int | None]:
    """The function of the command; its module is imported only now."""
    module, _, name = match.command.run.partition(":")
    return getattr(import_module(f"kamuee.{module}"), name)
