# SPDX-License-Identifier: BSD-3-Clause
"""Commands that other programs do, and help."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module

from kamuee import options, render
from kamuee.commands import COMMANDS
from kamuee.context import Context
from kamuee.errors import EXIT_OK, Leave, UsageError
from kamuee.grammar import Command, Match

PROGRAMS = {"lab": "lab.command", "demo": "lab.demo", "doctor": "doctor.command", "device": "device", "flowspec": "flowspec.command",
            "setup": "setup", "bench": "bench"}


def program(context: Context, match: Match) -> int:
    """Runs a program. If it leaves by SystemExit, as argparse does, an interactive session or a script continues."""
    name = match.command.pattern.split()[0]
    main = import_module(f"kamuee.{PROGRAMS[name]}").main
    try:
        return main(match.rest, context.client) if name == "doctor" else main(match.rest)
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else EXIT_OK


def completion(context: Context, match: Match) -> None:
    from kamuee.completion import SCRIPTS
    context.lines(SCRIPTS["zsh" if "zsh" in match.args else "bash"].rstrip("\n").split("\n"))


def help_(context: Context, match: Match) -> None:
    found = [command for command in COMMANDS if begins(command.pattern, match.rest)]
    if not found:
        raise UsageError(f"no command starts with '{' '.join(match.rest)}'; 'help' lists all")
    context.lines(command_list(context.width, found))


def begins(pattern: str, words: Sequence[str]) -> bool:
    """Whether the words, which may be abbreviated, are the first of the pattern."""
    names = pattern.split()
    return len(words) <= len(names) and all(
        name.strip("[()]").startswith(word) for name, word in zip(names, words, strict=False))


def leave(context: Context, match: Match) -> None:
    raise Leave


def usage() -> Iterator[str]:
    """The output of --help."""
    yield "usage: kamuee [OPTION]... [COMMAND]"
    yield "       kamuee              start the interactive CLI"
    yield "       kamuee < FILE       run the commands in a file"
    yield ""
    for option in options.OPTIONS:
        names = ", ".join(name for name in (option.short, option.long) if name)
        yield f"  {f'{names} {option.value}'.rstrip():27}  {option.help}"
    yield ""
    yield from command_list(80, COMMANDS)
    yield ""
    yield "Exit code: 0 success, 1 refused by kamueed, 2 usage error, 3 kamueed cannot be reached."
    yield "See kamuee(1), kamueed(8), kamuee.conf(5)."


def command_list(width: int, listed: Iterable[Command]) -> Iterator[str]:
    """The commands, each with its meaning on the next line; words may be abbreviated."""
    for command in listed:
        yield from render.wrapped(command.pattern, width, 2, 6)
        yield f"      {command.help}"
