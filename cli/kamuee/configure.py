# SPDX-License-Identifier: BSD-3-Clause
"""Changing the configuration: at once, or in a candidate that is committed as a whole.

A line goes to kamueed as typed: the daemon has the schema, reports errors and completes (see `candidates`). In
configure mode every change goes into this session's candidate, which the daemon also holds; outside it takes effect at
once.
"""
from __future__ import annotations

import re
import sys
import time
from collections.abc import Sequence
from typing import Any

from kamuee import flows, foreign
from kamuee.context import Context, Waiting
from kamuee.errors import DaemonError, KamueeError, NotFound, Unreachable, UsageError
from kamuee.grammar import Match
from kamuee.render import duration

CONFIRMED_MINUTES = 10  # as Junos has it
NEW = r"^((?:\S+:\d+: |line \d+: )?)(port|vport) (\S+): .* is required"  # said of one that lacks what a new one needs


def apply(context: Context, match: Match) -> None:
    """set LINE…, delete LINE…"""
    send(context, [line(match)])


def line(match: Match) -> str:
    verb = match.command.pattern.split()[0]
    return " ".join([verb, *map(quoted, match.rest)])


def quoted(word: str) -> str:
    """Quotes the word as kamuee.conf(5) says, if the shell removed the quotes of a value with blanks."""
    if not any(blank in word for blank in " \t\r\n"):
        return word
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def send(context: Context, lines: Sequence[str]) -> None:
    """Apply lines: all or none. With --check, only ask for their changes."""
    try:
        change(context, line=list(lines))
    except DaemonError as error:
        about_words = re.search(r"unknown word|expected", str(error))       # otherwise the line is fine
        said = foreign.known(lines[0].split(), 2) if len(lines) == 1 and about_words else ""
        if not said:
            raise
        wrong = re.sub(r",? expected one of .*", "", str(error))  # the hint is what helps
        raise DaemonError([wrong, said], error.tag) from None
    words = lines[0].split()
    if context.editing.session is not None and len(lines) == 1 and words[0] == "set" and len(words) == 3:
        context.editing.changed = bool(call(context, "compare").get("change"))  # a name alone may have changed nothing


def unknown_first(context: Context, error: DaemonError) -> DaemonError:
    """Reports a new port or vport first: if it lacks a required setting, its name may be mistyped."""
    if not re.search(NEW, str(error), re.M):
        return error
    try:
        known = {"port": [entry["name"] for entry in context.client.entries("port")],
                 "vport": [entry["name"] for entry in context.client.entries("interface") if entry["kind"] == "vport"]}
    except KamueeError:
        return error

    def said(found: re.Match[str]) -> str:
        names = known[found[2]]
        listed = ", ".join(names[:8]) + " …" * (len(names) > 8)
        if found[3] in names or not names:
            return found[0]
        return f"{found[1]}there is no {found[2]} {found[3]} (there is {listed}); {found[0]}"
    return DaemonError([re.sub(NEW, said, message, flags=re.M) for message in error.messages], error.tag)


def change(context: Context, /, **edit: Any) -> None:
    """Changes the candidate in configure mode; else commits, with --check, --confirmed and --comment."""
    wanted = context.options
    if context.editing.session is not None and not wanted.check:
        answer = call(context, "edit", **edit)
        context.editing.changed = True
        context.lines(f"note: {text}" for text in answer.get("note", []))
        return
    commit_now(context, wanted.check, wanted.confirmed, wanted.comment, **edit)


def replace_all(context: Context, /, **edit: Any) -> None:
    """As change(), for everything at once; outside configure mode, shows the changes on a terminal and asks."""
    wanted = context.options
    if context.editing.session is not None or wanted.check or wanted.yes or not sys.stdin.isatty():
        change(context, **edit)
        return
    answer = context.call("configure", check=True, **edit)
    told = answer.get("change", []) + [f"note: {text}" for text in answer.get("note", [])]
    if not context.options.json:
        context.lines(told or ["no changes"])
        context.sink.end()
    if not answer.get("change"):
        return
    if not context.agrees("Apply these changes now?"):
        raise UsageError("nothing was changed")
    commit_now(context, False, wanted.confirmed, wanted.comment, told=True, **edit)


def commit_now(context: Context, check: bool, minutes: int | None, comment: str | None, /, done: str = "",
               told: bool = False, brief: bool = False, **given: Any) -> None:
    """Commit, print what changed and what that did, unless they were `told` it before, and that it is `done`.

    `brief`: what was changed goes without saying."""
    operation = call if context.editing.session is not None else lambda context, name, **all: context.call(name, **all)
    try:
        answer = operation(context, "configure", check=True if check else None,
                           confirm_within=60 * minutes if minutes and not check else None,
                           comment=comment or None, **given)
    except DaemonError as error:
        raise unknown_first(context, error) from None
    changes, notes, tried = answer.get("change", []), answer.get("note", []), answer.get("flows")
    if context.options.json:
        context.json({"change": changes, "note": notes} | ({"flows": tried} if tried else {}))
        return
    if check:
        context.line("valid; would change:" if changes else "valid; no changes")
    elif not changes:
        context.line("no changes")
    if not told:
        context.lines(changes if check or not brief else [])
        context.lines(f"note: {text}" for text in notes)
    if tried:
        context.lines(flows.told(tried))
    if minutes and changes and not check:
        context.line(f"{done}{'; ' * bool(done)}will be rolled back in {minutes} min unless you 'confirm'")
        if context.interactive and (waiting := context.client.state("configuration").get("unconfirmed")):
            context.editing.waits = Waiting(waiting["id"], time.monotonic() + waiting["seconds"])
    elif done and changes:
        context.line(done)


def ended_waiting(context: Context) -> str:
    """A sentence, once, after our commit expired or another client confirmed it; otherwise ''."""
    waits = context.editing.waits
    if waits is None:
        return ""
    try:
        state = context.client.state("configuration")
    except KamueeError:
        return ""
    if state.get("unconfirmed", {}).get("id") == waits.revision:
        return ""
    context.editing.waits = None
    ours = next((seen for seen in state.get("revision", []) if seen["id"] == waits.revision), {})
    if ours.get("confirmed", True):
        return "your pending commit was confirmed in another session"
    return "your commit was not confirmed in time and was rolled back to the previous configuration"


def call(context: Context, operation: str, /, **given: Any) -> dict:
    """An operation on the session's candidate."""
    try:
        return context.call(operation, session=context.editing.session, **given)
    except NotFound as error:
        if "there is no session" in str(error):
            context.editing.session, context.editing.changed = None, False
        raise


# --- configure … exit -------------------------------------------------------------------------

def begin(context: Context, match: Match) -> None:
    """configure [terminal|SESSION]"""
    if wanted := match.args.get("SESSION"):
        context.client.call("edit", session=int(wanted))
        context.editing.session, context.editing.changed = int(wanted), True
        return
    answer = context.client.call("session-open")
    context.editing.session, context.editing.changed = answer["session"], False
    context.lines(f"also editing: {other['by']}, for {duration(other['age'])}, {lines_of(other)} not committed "
                  f"(session {other['id']})" for other in answer.get("other", []))
    if waiting := context.client.state("configuration").get("unconfirmed"):
        context.line(waits_to_be_confirmed(waiting))


def waits_to_be_confirmed(waiting: dict) -> str:
    where = f" in session {waiting['session']}" if "session" in waiting else ""
    return f"a commit by {waiting['by']}{where} will be rolled back in {waiting['seconds']} s unless it is confirmed"


def lines_of(session: dict) -> str:
    return f"{session['changes']} line{'' if session['changes'] == 1 else 's'}"


def commit(context: Context, match: Match) -> None:
    """commit [check] [flows …] [confirmed [MINUTES]] [comment TEXT…]"""
    minutes = context.options.confirmed
    if "confirmed" in match.args:
        minutes = int(match.args.get("MINUTES", CONFIRMED_MINUTES))
    comment = " ".join(match.rest) if "comment" in match.args else context.options.comment
    check = "check" in match.args or context.options.check
    commit_now(context, check, minutes, comment, confirm=True, done="" if check else "committed",
               flows=flows.wanted(match.args))
    if not check:
        context.editing.changed = False
        if not minutes:
            context.editing.waits = None


def check(context: Context, match: Match) -> None:
    """check"""
    commit_now(context, True, None, None)


def confirm(context: Context, match: Match) -> None:
    """confirm: confirms the commit of this program, session or person; asks before it confirms another one."""
    waits, editing = context.editing.waits, context.editing
    try:
        context.client.call("confirm", session=editing.session, revision=waits and waits.revision)
    except DaemonError as error:
        waiting = context.client.state("configuration").get("unconfirmed") if error.tag == "in-use" else None
        if waiting is None:
            raise
        question = f"{waits_to_be_confirmed(waiting)}\nConfirm it on behalf of {waiting['by']}?"
        if not context.options.yes and not context.agrees(question):
            raise UsageError(f"{error}\nuse 'confirm --yes' to confirm it anyway") from None
        context.client.call("confirm", revision=waiting["id"])
    editing.waits = None
    context.line("confirmed")


def discard(context: Context, match: Match) -> None:
    """discard"""
    call(context, "edit", revision=0)
    call(context, "edit", update=True)
    context.editing.changed = False


def update(context: Context, match: Match) -> None:
    """update"""
    context.lines(f"note: {text}" for text in call(context, "edit", update=True).get("note", []))


def rollback(context: Context, match: Match) -> None:
    """rollback BACK"""
    how = {} if context.editing.session is not None else {"confirm": True}
    replace_all(context, revision=int(match.args["BACK"]), **how)


def end(context: Context, match: Match) -> None:
    """exit [keep|discard], quit: leaves configure mode, and discards no changes silently."""
    editing = context.editing
    try:
        changes = call(context, "compare").get("change", [])
    except NotFound:
        return
    except Unreachable as error:  # without a terminal, exit must succeed
        context.lines(str(error).split("\n"))
        context.line(f"left session {editing.session}; 'configure {editing.session}' resumes it, "
                     "unless kamueed was restarted")
        editing.session, editing.changed = None, False
        return
    if "keep" in match.args:
        context.line(f"session {editing.session} is kept; 'configure {editing.session}' resumes it")
    elif changes and "discard" not in match.args:
        n = len(changes)
        raise UsageError(f"{n} line{' is' if n == 1 else 's are'} not committed\n"
                         "'commit' first, or 'exit discard', or 'exit keep' to go on later")
    else:
        call(context, "session-close")
    editing.session, editing.changed = None, False


def leave(context: Context, keep: bool) -> str:
    """At the end of the program in configure mode: the fate of the session, as a sentence, or ''."""
    session, context.editing.session = context.editing.session, None
    if session is None:
        return ""
    try:
        changes = context.client.call("compare", session=session).get("change", [])
        if changes and keep:
            return f"session {session} keeps the uncommitted changes; 'configure {session}' resumes it"
        context.client.call("session-close", session=session)
    except KamueeError:
        return ""
    if not changes:
        return ""
    return f"{len(changes)} uncommitted line(s) were discarded: a script that uses 'configure' must also use 'commit'"


def candidates(context: Context, text: str) -> tuple[list[tuple[str, str]], str]:
    """[(word, help)] for the word at the end of a set or delete line, and the form of a value."""
    answer = context.client.call("complete", line=text, session=context.editing.session)
    found = [(entry["word"], entry.get("help", "")) for entry in answer.get("candidate", [])]
    return found, answer.get("expect", "")
