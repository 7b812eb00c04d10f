# SPDX-License-Identifier: BSD-3-Clause
"""Options: of the program (--socket, -c, -f) and of one line (-j, -w, --check, …)."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kamuee.context import Options
from kamuee.errors import UsageError


class Option(NamedTuple):
    short: str
    long: str
    value: str  # name of its value, "" = a flag
    help: str
    program: bool  # of the program, else of any line


OPTIONS = (
    Option("-j", "--json", "", "print JSON: numbers as numbers, one structure per command", False),
    Option("-w", "--wide", "", "print all columns, without fitting them to the terminal", False),
    Option("", "--check", "", "changes: only validate, and show their effects", False),
    Option("", "--confirmed", "MINUTES", "changes: roll back unless 'confirm' follows within this many minutes", False),
    Option("", "--comment", "TEXT", "changes: comment for the list of revisions", False),
    Option("", "--yes", "", "do not ask before rollback, load replace, confirm", False),
    Option("", "--once", "", "monitor: print one sample and exit", False),
    Option("-i", "--interval", "SECONDS", "monitor, rates: seconds between samples (default 1)", False),
    Option("", "--binary", "FILE", "upgrade: the new kamueed (default: the file that the running one was started from)", False),
    Option("-c", "--command", "COMMAND", "run this command; may be given several times", True),
    Option("-f", "--file", "FILE", "run the commands in a file; '-' is standard input", True),
    Option("", "--socket", "PATH", "socket of kamueed (KAMUEE_SOCKET, /run/kamuee/kamuee.sock)", True),
    Option("", "--complete", "LINE", "print completions for a line, for shells", True),
    Option("-h", "--help", "", "show this help", True),
    Option("-V", "--version", "", "show the version of this program", True),
)

VERBATIM = ("lab", "demo", "bench", "doctor", "device", "flowspec", "setup", "ping", "traceroute")  # whose words are all their own
BUILDER = ("build", "check", "test", "sign", "verify")  # program …, of which kamuee-program reads the rest



def is_verbatim(words: Sequence[str]) -> bool:
    """Whether the rest after these words is for another program."""
    return bool(words) and (words[0] in VERBATIM or list(words[:2]) == ["vr", "enter"] and len(words) > 2
                            or words[0] == "program" and len(words) > 1 and words[1] in BUILDER)


@dataclass
class CommandLine:
    words: list[str] = field(default_factory=list)
    line: Options = field(default_factory=Options)
    scripts: list[tuple[str, str]] = field(default_factory=list)  # ("-c", text) or ("-f", path), in order
    socket: str | None = None
    complete: str | None = None
    help: bool = False
    version: bool = False


def parse(argv: Sequence[str], program: bool = True) -> CommandLine:
    """Words and options, which may stand anywhere; '--' ends the options."""
    found = CommandLine()
    at = 0
    while at < len(argv):
        if is_verbatim(found.words):
            found.words += argv[at:]
            break
        word = argv[at]
        at += 1
        if word == "--":
            found.words += argv[at:]
            break
        if not word.startswith("-") or word == "-" or word[1:2].isdigit():
            found.words.append(word)
            continue
        name, equals, value = word.partition("=")
        option = by_name(name, program)
        if option.value and not equals:
            if at == len(argv):
                raise UsageError(f"{name} needs a value: {option.value}")
            value = argv[at]
            at += 1
        elif equals and not option.value:
            raise UsageError(f"{name} takes no value")
        put(found, option, value)
    return found


def by_name(name: str, program: bool) -> Option:
    for option in OPTIONS:
        if name in (option.short, option.long) and (program or not option.program):
            return option
    known = " ".join(o.long for o in OPTIONS if program or not o.program)
    raise UsageError(f"unknown option {name}\nexpected: {known}")


def put(found: CommandLine, option: Option, value: str) -> None:
    name = option.long[2:]
    if name == "interval":
        found.line.interval = seconds(value)
    elif name == "confirmed":
        found.line.confirmed = minutes(value)
    elif not option.program and option.value:
        setattr(found.line, name, value)
    elif not option.program:
        setattr(found.line, name, True)
    elif name in ("command", "file"):
        found.scripts.append((option.short, value))
    elif option.value:
        setattr(found, name, value)
    else:
        setattr(found, name, True)


def minutes(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10080:
        raise UsageError(f"--confirmed: '{text}' is not valid, expected 1 to 10080 minutes")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 3600:
        raise UsageError(f"--interval: '{text}' is not valid, expected 0.1 to 3600 seconds")
    return value
