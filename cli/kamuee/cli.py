# SPDX-License-Identifier: BSD-3-Clause
"""The program `kamuee`: options, then one command, a script, or the interactive command line."""
from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from kamuee import __version__, commands, configure, options
from kamuee.client import Client, socket_path
from kamuee.context import Context, terminal_width
from kamuee.errors import EXIT_INTERRUPTED, EXIT_OK, KamueeError, Leave, UsageError, complain, reason
from kamuee.session import Session


def main(argv: Sequence[str]) -> int:
    """Run the program; the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no '…' gets '?'
    try:
        return run(options.parse(argv))
    except KamueeError as error:
        complain(error)
        return error.code
    except Leave:
        return EXIT_OK
    except BrokenPipeError:
        return reader_left()
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return EXIT_INTERRUPTED
    finally:
        flush()


def run(given: options.CommandLine) -> int:
    if given.help:
        from kamuee.dispatch import usage
        print("\n".join(usage()))
        return EXIT_OK
    if given.version:
        print(f"kamuee {__version__}")
        return EXIT_OK
    context = Context(Client(socket_path(given.socket)), options=given.line, width=terminal_width())
    session = Session(commands.grammar(), context)
    if given.complete is not None:
        from kamuee.completion import candidates
        context.lines(candidates(session, given.complete))
        return EXIT_OK
    try:
        code = work(session, given)
    except BaseException:
        configure.leave(context, keep=False)
        raise
    if told := configure.leave(context, keep=False):
        raise KamueeError(told)
    return code


def work(session: Session, given: options.CommandLine) -> int:
    """Runs the scripts and the command given, else lines from the terminal or from standard input."""
    for kind, text in given.scripts:
        code = session.script([text]) if kind == "-c" else file(session, text)
        if code != EXIT_OK:
            return code
    if options.is_verbatim(given.words):
        return session.do(given.words, given.line)
    if given.words:
        return session.run(given.words)
    if given.scripts:
        return EXIT_OK
    if not sys.stdin.isatty():
        return file(session, "-")
    from kamuee.interactive import talk
    return talk(session)


def file(session: Session, path: str) -> int:
    """The commands of a file; '-' is the standard input."""
    if path == "-":
        return session.script(sys.stdin, "standard input")
    try:
        with open(path, encoding="utf-8", newline="\n") as lines:
            return session.script(lines, path)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {reason(error)}") from None


def flush() -> None:
    """Flushes here, so that the interpreter does not fail at exit because the reader has left."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        reader_left()


def reader_left() -> int:
    """The reader of our output (head, less) has left, which is not an error."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_OK
