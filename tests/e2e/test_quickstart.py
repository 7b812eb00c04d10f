# SPDX-License-Identifier: BSD-3-Clause
"""The quick start of the lab does what it says: each of its commands is run as printed, in its order.

A comment behind a command is what it prints ('…' stands for anything). `sudo` and `make` are left out, what needs a terminal
prints one sample, and what an `until` waited for must be so afterwards, too: a loop itself never fails.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "quickstart" / "lab.md"
FAILS = ("Net Unreachable", "100% packet loss")  # said by a ping that is meant to fail


def commands() -> list[tuple[str, str]]:
    """(command, what its comment says) of the page."""
    lines = [line.strip() for line in PAGE.read_text(encoding="utf-8").split("\n") if line.startswith("    ")]
    found = [re.fullmatch(r"(.*?)(?:\s+# (.*))?", line.replace("sudo ", "")).groups(default="") for line in lines]
    return [(command, said) for command, said in found if not command.startswith("make ")]


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("KAMUEE_LAB_DIR", str(tmp_path / "labs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    subprocess.run([sys.executable, ROOT / "kamuee", "lab", "stop", "--all"], env=dict(os.environ), timeout=300)


def shows(output: str, said: str) -> bool:
    """Whether the output has what the comment says; blanks between words count for nothing, and "0%" is not in "100%"."""
    pattern = r"\s+".join(re.escape(word) for word in said.replace("…", " ").split())
    return re.search(rf"(?<![\w.]){pattern}", output) is not None


def run_once(command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=300)


def test_every_command_of_the_quick_start_does_what_it_says(lab):
    run = commands()
    assert len(run) > 20 and run[0][0].startswith("./kamuee lab start")
    for command, said in run:
        if command.endswith("kamuee monitor"):
            command += " --once"
        done = run_once(command)
        if waited_for := re.match(r"until (.*?); do ", command):
            done = run_once(waited_for[1])
        ended_well = (done.returncode == 0) is not any(sign in said for sign in FAILS)
        assert ended_well and shows(done.stdout, said), f"{command}: {done.returncode}, wanted {said!r}\n{done.stdout}{done.stderr}"
