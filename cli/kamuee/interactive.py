# SPDX-License-Identifier: BSD-3-Clause
"""The interactive command line: '?' explains, TAB completes, the history stays.

prompt_toolkit edits the line; everything it offers comes from suggest.py.
"""
from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle

from kamuee import __version__, configure, plain
from kamuee.context import Context, Editing, terminal_width
from kamuee.errors import EXIT_OK, KamueeError, Leave, complain
from kamuee.output import Writer
from kamuee.pager import Pager
from kamuee.session import Session
from kamuee.suggest import explained, suggest

LITERAL = ("include", "exclude", "begin")  # behind these a '?' is part of the expression


class Words(Completer):
    """TAB."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        try:
            found = suggest(self._session, document.text_before_cursor)
        except KamueeError:
            return
        for word, help_ in found.words:
            yield Completion(word + " ", -len(found.begun), display=word, display_meta=help_)


def keys(session: Session) -> KeyBindings:
    bound = KeyBindings()

    @bound.add("?")
    def explain(event: KeyPressEvent) -> None:
        before = event.current_buffer.document.text_before_cursor
        if is_literal(before):
            event.current_buffer.insert_text("?")
        else:
            run_in_terminal(lambda: paged(explanation(session, before)))

    return bound


def is_literal(before: str) -> bool:
    """Whether a '?' here belongs to a quoted word or an expression."""
    words = before.split()
    stage = words[-words[::-1].index("|"):] if "|" in words else []
    return before.count('"') % 2 == 1 or bool(stage and any(name.startswith(stage[0]) for name in LITERAL))


def paged(told: list[str]) -> None:
    """Output that does not fit the screen goes to the pager."""
    sink = Pager(os.get_terminal_size(sys.stdout.fileno()).lines)
    try:
        for line in told:
            sink.line(line)
    except BrokenPipeError:
        pass
    finally:
        sink.close()


def explanation(session: Session, before: str) -> list[str]:
    try:
        return explained(suggest(session, before), terminal_width())
    except KamueeError as error:
        return [f"  {line}" for line in str(error).split("\n")]


def talk(session: Session) -> int:
    """Read and run lines until the end; the exit code of the program."""
    session = Session(session.grammar, replace(session.context, interactive=True))
    prompt: PromptSession[str] = PromptSession(
        history=history(), completer=Words(session), key_bindings=keys(session), complete_while_typing=False,
        complete_style=CompleteStyle.READLINE_LIKE, enable_history_search=True)
    print(f"Kamuee {__version__}. '?' for help, TAB to complete, 'exit' to leave.")
    for number in (signal.SIGHUP, signal.SIGTERM):  # the terminal is closed: the session must not stay behind
        signal.signal(number, lambda given, _: sys.exit(128 + given))
    try:
        for line in lines(prompt, session.context):
            execute(session, line)
    except Leave:
        pass
    finally:
        if told := configure.leave(session.context, keep=True):
            print(plain.line(told))
    return EXIT_OK


def prompt_of(editing: Editing) -> str:
    """Shows whether a line changes a candidate, whether it has changes, and how long a commit still waits to be
    confirmed."""
    host = os.environ.get("KAMUEE_NAME") or socket.gethostname()  # several routers of a lab are on one host
    if router := os.environ.get("KAMUEE_VR"):
        host = f"{host}(vr {router})"
    left = editing.waits.seconds if editing.waits else -1
    waits = "" if editing.waits is None else f"rollback in {left // 60}:{left % 60:02}" if left >= 0 else "rolled back"
    if editing.session is None:
        return f"{host}[{waits}]> " if waits else f"{host}> "
    return f"{host}[edit{'*' * editing.changed}{', ' * bool(waits)}{waits}]# "


def lines(prompt: PromptSession[str], context: Context) -> Iterable[str]:
    """The typed lines."""
    while True:
        if told := configure.ended_waiting(context):
            print(plain.line(told))
        try:
            yield prompt.prompt(lambda: prompt_of(context.editing),
                                refresh_interval=1.0 if context.editing.waits else 0)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def execute(session: Session, line: str) -> None:
    """One typed line: long output goes to the pager, and an error does not end the session."""
    try:
        words = session.split(line)
        if not words:
            return
        screen = os.get_terminal_size(sys.stdout.fileno()) if sys.stdout.isatty() else None
        sink = Pager(screen.lines) if screen is not None and "no-more" not in words else Writer()
        context = replace(session.context, sink=sink, width=terminal_width())
        try:
            Session(session.grammar, context).run(words)
        except BrokenPipeError:
            pass
        finally:
            if isinstance(sink, Pager):
                sink.close()
    except KamueeError as error:
        complain(error)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)


def history() -> History:
    """This person's earlier input; only of this session if it cannot be kept."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    try:
        os.makedirs(os.path.join(base, "kamuee"), mode=0o700, exist_ok=True)
        path = os.path.join(base, "kamuee", "history")
        with open(path, "a", encoding="utf-8"):
            pass
        return FileHistory(path)
    except OSError:
        return InMemoryHistory()
