# SPDX-License-Identifier: BSD-3-Clause
"""A lab with a node of kind vm, from start to stop: each command of docs/quickstart/vm.md as printed. What has been started is gone afterwards."""
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from kamuee.lab.netns import is_running
from page import ROOT, commands, run_as_printed
from support import eventually
from vm import BUILD

BOOT_PATIENCE_S = 300
NODES = ("cards-h1", "cards-r", "cards-isp")


def lab(*words: str, text: str | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, ROOT / "kamuee", "lab", *words], input=text, capture_output=True, text=True, timeout=120)


def node() -> dict:
    return json.loads(lab("show", "-j", "cards").stdout)["nodes"]["r"]


def ledger() -> dict:
    return json.loads(lab("exec", "cards", "r", "kamuee", "-j", "show", "ledger").stdout)


@pytest.fixture(scope="module")
def page():
    """The commands of the page but for the start, which is over, and the stop."""
    found = commands("docs/quickstart/vm.md")
    assert len(found) > 12 and found[-1][0] == "./kamuee lab stop cards"
    folder = tempfile.mkdtemp(prefix="vmlab-")      # short: a socket's path has 107 letters
    os.environ |= {"KAMUEE_LAB_DIR": folder, "KAMUEED": str(BUILD / "kamueed"), "KAMUEE_LAB_KVM": "no"}
    log = BUILD / "vm" / "log"
    log.mkdir(parents=True, exist_ok=True)
    try:
        with open(log / "lab.start", "w+") as said:
            start = subprocess.Popen(found[0][0], shell=True, cwd=ROOT, stdout=said, stderr=said)
            eventually(lambda: node()["state"] == "booting", 60, lambda: (log / "lab.start").read_text())
            early = lab("exec", "cards", "r", "true")
            status = start.wait(BOOT_PATIENCE_S)
            said.seek(0)
            yield {"commands": found[1:-1], "stop": found[-1], "early": early, "status": status, "said": said.read()}
    finally:
        if (console := Path(folder, "cards", "r", "console")).exists():
            shutil.copy(console, log / "lab.console")
        lab("stop", "--all")
        shutil.rmtree(folder)


def test_start_says_how_far_it_is_and_nothing_runs_in_it_before(page):
    assert page["status"] == 0, page["said"]
    for said in ("r: booting with emulation", "r: cards under vfio", "r: kamueed", "r: FRR", "r: ready"):
        assert said in page["said"]
    assert page["early"].returncode == 1 and "lab cards is starting: wait for it (kamuee lab show cards), or stop it" in page["early"].stderr


def test_every_command_of_the_quick_start_does_what_it_says(page):
    for command, said in page["commands"]:
        run_as_printed(command, said)
    eventually(lambda: ledger()["imbalance"] == 0, 20, lambda: str(ledger()))


def test_cards_are_those_of_the_lab_file(page):
    assert node()["state"] == "ready" and node()["by"] == "emulation"
    assert {port: card["pci"] for port, card in node()["cards"].items()} == {"p0": "0000:01:00.0", "p1": "0000:02:00.0"}


def test_a_command_in_the_machine_has_the_callers_input_output_and_status(page):
    text = "a line\n" * 50_000
    done = lab("exec", "cards", "r", "cat", text=text)
    assert done.returncode == 0 and done.stdout == text
    done = lab("exec", "cards", "r", "sh", "-c", "echo wrong >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "wrong\n")
    done = lab("exec", "cards", "r", "no-such-command")
    assert done.returncode == 127 and "no-such-command: No such file" in done.stderr
    assert lab("exec", "cards", "r", "sh", "-c", "kill -KILL $$").returncode == 137


def test_a_command_ends_with_its_caller(page):
    caller = subprocess.Popen([sys.executable, ROOT / "kamuee", "lab", "exec", "cards", "r", "sleep", "1000"], stdin=subprocess.DEVNULL)
    eventually(lambda: lab("exec", "cards", "r", "pgrep", "-f", "^sleep 1000").returncode == 0, 30, "the command runs")
    caller.kill()
    caller.wait()
    eventually(lambda: lab("exec", "cards", "r", "pgrep", "-f", "^sleep 1000").returncode == 1, 30, "the command has ended")


def test_a_command_ends_with_the_agent_that_ran_it(page):
    done = lab("exec", "cards", "r", "sh", "-c", "systemctl restart --no-block agent; sleep 900")
    assert done.returncode == 1 and "the agent in the machine was restarted" in done.stderr
    assert lab("exec", "cards", "r", "pkill", "-f", "^sleep 900").returncode == 0


def test_without_a_command_there_is_a_shell_with_a_terminal(page):
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [sys.executable, str(ROOT / "kamuee"), "lab", "exec", "cards", "r"])
    seen = b""

    def type_and_see(typed: bytes, wanted: bytes) -> None:
        nonlocal seen
        os.write(fd, typed)
        end = time.monotonic() + 30
        while wanted not in seen and time.monotonic() < end:
            if select.select([fd], [], [], 1)[0]:
                seen += os.read(fd, 1 << 16)
        assert wanted in seen, seen
        seen = seen.partition(wanted)[2]

    type_and_see(b"", b"root@r:")
    type_and_see(b"sleep 600\n", b"sleep 600")
    time.sleep(1)
    type_and_see(b"\x03", b"root@r:")
    type_and_see(b"echo $((6 * 7)); tty; exit 5\n", b"/dev/pts/")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    os.close(fd)


def test_a_machine_that_ended_is_told_and_its_cables_are_dark(page):
    qemu = node()["processes"]["qemu"]
    os.kill(qemu, 9)
    eventually(lambda: node()["state"] == "ended", 10, "show says so")
    said = lab("exec", "cards", "r", "true")
    assert said.returncode == 1 and "the machine of r has stopped" in said.stderr and "stop and start the lab" in said.stderr
    assert "NO-CARRIER" in lab("exec", "cards", "h1", "ip", "link", "show", "eth0").stdout


def test_a_stopped_lab_leaves_nothing_behind(page):
    pids = [pid for one in json.loads(lab("show", "-j", "cards").stdout)["nodes"].values() for pid in one["processes"].values()]
    assert len(pids) >= 3
    run_as_printed(*page["stop"])
    assert not any(is_running(pid) for pid in pids)
    assert not any(Path("/run/netns", name).exists() for name in NODES) and not Path(os.environ["KAMUEE_LAB_DIR"], "cards").exists()
    assert not Path("/var/run/frr/cards-isp").exists() and lab("list").stdout == "no labs\n"
