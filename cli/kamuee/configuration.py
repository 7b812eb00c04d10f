# SPDX-License-Identifier: BSD-3-Clause
"""Showing, comparing, loading and saving configurations: running, candidate, revisions, the file."""
from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from kamuee import plain, render
from kamuee.configure import change, lines_of, replace_all, waits_to_be_confirmed
from kamuee.context import Context
from kamuee.errors import UsageError, reason
from kamuee.grammar import Match
from kamuee.moment import told
from kamuee.render import Column, duration, right

REVISIONS = (right("back"), Column("committed"), Column("by"), right("lines"),
             Column("first line  # comment", wrap=True))
SESSIONS = (right("session"), Column("by"), right("open for"), right("idle for"), right("not committed"))


def text_of(context: Context, **which: object) -> str:
    return context.call("configuration", **which).get("text", "")


def print_text(context: Context, text: str) -> None:
    if context.options.json:
        context.json({"line": plain.lines(text)})
    else:
        context.lines(plain.lines(text) or ["# nothing is configured"])


def running(context: Context, match: Match) -> None:
    """show running-config"""
    print_text(context, text_of(context))


def show(context: Context, match: Match) -> None:
    """show, show configuration: the candidate while editing"""
    print_text(context, text_of(context, session=context.editing.session))


def revision(context: Context, match: Match) -> None:
    """show configuration revisions BACK"""
    print_text(context, text_of(context, revision=int(match.args["BACK"])))


def revisions(context: Context, match: Match) -> None:
    """show configuration revisions"""
    state = context.client.state("configuration")
    if context.options.json:
        context.json(state.get("revision", []))
        return
    rows = [[str(entry["back"]) if "back" in entry else None, told(entry["time"])[:19], by(entry["by"], context.wide),
             str(entry["changes"]), what(entry)]
            for entry in state.get("revision", [])]
    context.lines(render.table(REVISIONS, rows, context.room, context.wide))
    if waiting := state.get("unconfirmed"):
        context.line(waits_to_be_confirmed(waiting))
    if state.get("file-changed"):
        context.lines(render.wrapped(f"{state['file']} was changed since the last commit; kamueed will use it at the "
                                     f"next start ('compare file')",
                                     context.room, 0, 0))


def by(who: str, wide: bool) -> str:
    """A person, or the file of kamueed's start, without its folder to leave room for the change."""
    return who if wide or not who.startswith("/") else who.rpartition("/")[2]


def what(entry: dict) -> str:
    """The first changed line of a revision, its comment, and whether it waits for confirmation or was rolled back."""
    parts = [entry.get("first-change", ""), f"# {entry['comment']}" if entry["comment"] else ""]
    if not entry["confirmed"]:
        parts.append("(waiting for confirmation)" if "back" in entry else "(rolled back: not confirmed)")
    return "  ".join(part for part in parts if part)


def sessions(context: Context, match: Match) -> None:
    """show configuration sessions, show users"""
    state = context.client.state("configuration")
    found = state.get("session", [])
    if context.options.json:
        context.json(found)
        return
    rows = [[str(entry["id"]), entry["by"], duration(entry["age"]), duration(entry["idle"]), lines_of(entry)]
            for entry in found]
    context.lines(render.table(SESSIONS, rows, context.room, context.wide, "no open sessions"))
    if waiting := state.get("unconfirmed"):
        context.line(waits_to_be_confirmed(waiting))


def compare(context: Context, match: Match) -> None:
    """compare [file|BACK]"""
    back = match.args.get("BACK")
    found = context.call("compare", session=context.editing.session, file=True if "file" in match.args else None,
                                revision=int(back) if back else None)
    change = found.get("change", [])
    if context.options.json:
        context.json({"change": change, "note": []})
    else:
        context.lines((old_and_new(change, found["back"]) if "back" in found else change) or ["no difference"])


def old_and_new(change: list[str], back: list[str]) -> list[str]:
    """'- set …' of the old lines and '+ set …' of the new ones, grouped by interface, rule or other entry."""
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for line in [line for line in change if line.startswith("set ")]:
        groups.setdefault(subject(line), ([], []))[1].append(f"+ {line}")
    for line in [line for line in back if line.startswith("set ")]:
        groups.setdefault(subject(line), ([], []))[0].append(f"- {line}")
    return [line for before, after in (groups[name] for name in dict.fromkeys([*map(subject, change), *groups]) if name in groups)
            for line in (*before, *after)]


def subject(line: str) -> str:
    words = line.split()
    return " ".join(words[1:2] if words[0] == "set" and len(words) == 3 else words[1:3])


# --- files ------------------------------------------------------------------------------------

def save(context: Context, match: Match) -> None:
    """save [FILENAME], write file"""
    name = match.args.get("FILENAME")
    if name:
        write(context, name, text_of(context, session=context.editing.session))
    else:
        context.line(f"written to {context.client.call('save-configuration')['file']}")


def load(context: Context, match: Match) -> None:
    """load (merge|replace) FILENAME"""
    text = read(match.args["FILENAME"])
    if kind := other_kind(text):
        how = "replace" if "replace" in match.args else ""
        raise UsageError(f"{match.args['FILENAME']} is {kind}, not 'set' and 'delete' lines\n"
                         f"try: import {kind.lower()} {match.args['FILENAME']} {how}".rstrip())
    put(context, match, text=text)
    if "replace" in match.args and context.editing.session is not None:
        context.line("note: the file replaced the whole candidate (see 'compare')")


def other_kind(text: str) -> str:
    """JSON or YAML, when a file of lines is asked for and this is one; else ''."""
    first = next((line.strip() for line in plain.lines(text) if line.strip() and not line.lstrip().startswith("#")), "")
    if first.startswith("{"):
        return "JSON"
    return "YAML" if first == "---" or re.fullmatch(r"[\w:-]+:(\s.*)?", first) else ""


def put(context: Context, match: Match, **edit: object) -> None:
    """Added to the configuration, or replacing it."""
    if "replace" in match.args:
        replace_all(context, replace=True, **edit)
    else:
        change(context, **edit)


def export(context: Context, match: Match) -> None:
    """export (json|yaml) [FILENAME]"""
    text = text_of(context, session=context.editing.session, format="json")
    if "yaml" in match.args:
        import yaml
        text = yaml.safe_dump(json.loads(text), sort_keys=False, allow_unicode=True)
    write(context, match.args.get("FILENAME", "-"), text.rstrip("\n") + "\n")


def import_(context: Context, match: Match) -> None:
    """import (json|yaml) FILENAME [replace]"""
    text = read(match.args["FILENAME"])
    if "yaml" in match.args:
        import yaml
        try:
            text = json.dumps(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise UsageError(f"{match.args['FILENAME']} is not YAML: {error}") from None
    put(context, match, text=text, format="json")


def read(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_bytes().decode()  # a '\r' ends no line
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {name}: {reason(error)}") from None


def write(context: Context, name: str, text: str) -> None:
    """To a file, completely or not at all; '-' is the terminal."""
    if name == "-":
        context.lines(plain.lines(text))
        return
    try:
        new = Path(name + ".new")
        new.write_text(text, encoding="utf-8")
        new.replace(name)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {reason(error)}") from None
    context.line(f"written to {name}")
