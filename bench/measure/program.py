# SPDX-License-Identifier: BSD-3-Clause
"""Programs: where they are, what they print, how long to wait for them, how they end."""
from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIE_WITH_US = ("setpriv", "--pdeathsig", "KILL")     # even when the runner is killed


class Unavailable(Exception):
    """Something cannot be measured here; the text has the reason and a remedy."""


def daemon() -> Path:
    """The daemon that KAMUEED names, or this checkout's, or the installed one beside which we are installed."""
    own = ROOT / "build/kamueed" if (ROOT / "meson.build").exists() else ROOT.parents[1] / "sbin/kamueed"
    return Path(os.environ.get("KAMUEED") or own).resolve()


def must_be_built(*paths: Path) -> None:
    for path in paths:
        if not os.access(path, os.X_OK):
            raise Unavailable(f"no {path}: build it (make build), or set KAMUEED to the daemon of another build")


def bench_program(name: str, build: Path | None = None) -> Path:
    """Of this build directory, or beside the daemon, or the installed one."""
    built = (build or daemon().parent) / "bench"
    path = (built if built.is_dir() else ROOT.parents[1] / "libexec/kamuee/bench") / name
    must_be_built(path)
    return path


def answer_of(name: str, *argv: str) -> dict:
    """The output of a benchmark program with --json; its messages go where ours do."""
    done = subprocess.run([str(bench_program(name)), "--json", *argv], stdout=subprocess.PIPE)
    if done.returncode:
        raise Unavailable(f"{name} exited with code {done.returncode}; see its messages above")
    return json.loads(done.stdout)


def write_table(path: Path, prefixes: Path | str | None = None, routes: int | str | None = None) -> Path:
    """The full table as text, one prefix a line: of this file, or the one the feed finds or makes."""
    source = ["--prefixes", str(prefixes)] if prefixes else []
    limit = ["--routes", str(routes)] if routes else []
    done = subprocess.run([sys.executable, "-m", "kamuee.feed", "write", str(path), *source, *limit],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "cli")})
    if done.returncode:
        raise Unavailable(f"no full table: {done.stderr.strip()}")
    return path


def wait_until(condition: Callable[[], bool], what: str | Callable[[], str], timeout_s: float,
               error: type[Exception] = RuntimeError, proc: subprocess.Popen | None = None, pause_s: float = 0.02,
               log_end: Callable[[], str] = str) -> None:
    """Waits for the condition; an `error` about `what` after the time, or when the process has ended."""
    end = time.monotonic() + timeout_s
    while not condition():
        text = what if isinstance(what, str) else what()
        if proc and proc.poll() is not None:
            raise error(f"{text}: it ended with status {proc.returncode}{log_of(log_end)}")
        if time.monotonic() > end:
            raise error(f"{text}, {timeout_s:.0f} s later{log_of(log_end)}")
        time.sleep(pause_s)


def log_of(log_end: Callable[[], str]) -> str:
    return f":\n{text}" if (text := log_end()) else ""


def last_lines(log: Path, n: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-n:]) if log.exists() else ""


def end(proc: subprocess.Popen | None, number: int | None = None, patience_s: float = 10) -> bool:
    """Ends a process by SIGTERM or this signal; returns whether it obeyed in time, otherwise it is killed."""
    if not proc or proc.poll() is not None:
        return True
    proc.terminate() if number is None else proc.send_signal(number)
    try:
        proc.wait(patience_s)
        return True
    except subprocess.TimeoutExpired:
        proc.kill()
        proc.wait()
        return False


def run_command(name: str, run: Callable[[], int], *errors: type[Exception]) -> int:
    """The exit code of `kamuee bench NAME`; an obstacle becomes a message."""
    try:
        return run()
    except (Unavailable, *errors) as error:
        print(f"kamuee bench {name}: {error}", file=sys.stderr)
        return 1
