# SPDX-License-Identifier: BSD-3-Clause
"""The running configuration: changing it, showing it, keeping it.

A line goes to kamueed as it was typed: the daemon holds the schema, says what is wrong, and
completes (see `candidates`).
"""
from __future__ import annotations

from collections.abc import Sequence

from kamuee.client import Client
from kamuee.context import Context
from kamuee.grammar import Match


def apply(context: Context, match: Match) -> None:
    """set LINE…, delete LINE…"""
    send(context, [line(match)])


def line(match: Match) -> str:
    verb = match.command.pattern.split()[0]
    return " ".join([verb, *map(quoted, match.rest)])


def quoted(word: str) -> str:
    """The word, quoted as kamuee.conf(5) says if the shell took the quotes off a value with blanks."""
    if not any(blank in word for blank in " \t"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def send(context: Context, lines: Sequence[str]) -> None:
    """Apply lines: all or none. With --check, only ask what they would change."""
    check = context.options.check
    answer = context.client.call("configure", line=list(lines), check=True if check else None)
    changes, notes = answer.get("change", []), answer.get("note", [])
    if context.options.json:
        context.json({"change": changes, "note": notes})
        return
    if check:
        context.line("valid; it would change:" if changes else "valid; it would change nothing")
    elif not changes:
        context.line("no change")
    context.lines(changes)
    context.lines(f"note: {text}" for text in notes)


def running(context: Context, match: Match) -> None:
    """show running-config"""
    text = context.client.call("configuration").get("text", "")
    if context.options.json:
        context.json({"line": text.splitlines()})
    else:
        context.lines(text.splitlines())


def save(context: Context, match: Match) -> None:
    """save, write file"""
    context.line(f"written to {context.client.call('save-configuration')['file']}")


def candidates(client: Client, text: str) -> tuple[list[tuple[str, str]], str]:
    """[(word, help)] for the word at the end of a set or delete line, and what a value looks like."""
    answer = client.call("complete", line=text)
    found = [(entry["word"], entry.get("help", "")) for entry in answer.get("candidate", [])]
    return found, answer.get("expect", "")
