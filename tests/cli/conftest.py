# SPDX-License-Identifier: BSD-3-Clause
"""A daemon to talk to, and ways to run the command line against it: inside this process, and as a program."""
import io
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "cli"), str(Path(__file__).parent), str(ROOT / "tools"), str(ROOT / "tests")]

from by_qemu import mark as pytest_collection_modifyitems  # noqa: E402, F401
from kamuee import cli  # noqa: E402
from server import Daemon  # noqa: E402
from state import state  # noqa: E402
from terminal import Terminal  # noqa: E402

# A shell starts what runs in the background with it ignored, and our programs would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """What the command line keeps goes to a folder of the test; nothing of the caller's is seen."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.delenv("KAMUEE_SOCKET", raising=False)


@pytest.fixture
def daemon(tmp_path):
    found = Daemon(tmp_path / "kamuee.sock", state())
    yield found
    found.stop()


@pytest.fixture
def kamuee(daemon):
    """Runs the command line in this process: kamuee("show", "port") -> Result."""
    def run(*argv):
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.main(["--socket", daemon.path, *argv])
        return Result(code, out.getvalue(), err.getvalue())
    return run


def assert_golden(result: Result, name: str, wide: bool = False) -> None:
    """What was printed is tests/cli/golden/NAME.txt, which UPDATE=1 writes anew; it fits 80 columns unless it is `wide`."""
    path = Path(__file__).parent / "golden" / (re.sub(r"\W+", "_", name) + ".txt")
    assert (result.code, result.err) == (0, "")
    if os.environ.get("UPDATE"):
        path.write_text(result.out, encoding="utf-8")
    assert result.out == path.read_text(encoding="utf-8")
    assert wide or max(map(len, result.out.splitlines())) <= 80


@pytest.fixture
def program(daemon):
    """Starts the program itself: program(["show", "port"], stdin=…) -> Popen."""
    started = []

    def start(argv, **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen([str(ROOT / "kamuee"), *argv], stdout=how.pop("stdout", subprocess.PIPE),
                                   stderr=how.pop("stderr", subprocess.PIPE),
                                   env={**os.environ, "KAMUEE_SOCKET": daemon.path}, **how)
        started.append(process)
        return process
    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def terminal(daemon):
    """Starts the program in a terminal of its own: terminal("monitor") -> Terminal."""
    opened = []

    def start(*argv, **environment):
        found = Terminal(["--socket", daemon.path, *argv], **environment)
        opened.append(found)
        return found
    yield start
    for found in opened:
        found.close()
