# SPDX-License-Identifier: BSD-3-Clause
"""A kamueed of a lab that is slow, silent or gone: how long it is waited for, and what the person at the keyboard is told."""
import os
import re
import signal
import socket
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from kamuee import http
from kamuee.errors import Unreachable
from kamuee.lab import demo, demorun, kamueenode
from kamuee.lab.errors import LabError

PATIENCE_S = 0.5


@pytest.fixture
def node(tmp_path, monkeypatch):
    """Of a lab, with a process in kamueed's place."""
    monkeypatch.setattr(kamueenode, "READY_TIMEOUT_S", PATIENCE_S)
    node = object.__new__(kamueenode.KamueeNode)
    node.node = SimpleNamespace(where=SimpleNamespace(error=LabError))
    node.run_dir = tmp_path
    node.log, node.config_file, node.pid_file = tmp_path / "kamueed.log", tmp_path / "kamuee.conf", tmp_path / "kamueed.pid"
    node.log.write_text("12:00:00 error port p0: no such device\n")
    node.proc = subprocess.Popen(["sleep", "1000"])
    node.pid_file.write_text(str(node.proc.pid))
    yield node
    node.proc.kill()
    node.proc.wait()


def wait_ready(node: kamueenode.KamueeNode, *said: tuple[float, str]) -> None:
    """While it says this, each after so many seconds."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    here.settimeout(0.1)

    def speak() -> None:
        for after_s, text in said:
            time.sleep(after_s)
            there.send(text.encode())
    speaker = threading.Thread(target=speak)
    speaker.start()
    try:
        node._wait_ready(here)
    finally:
        speaker.join()
        here.close()
        there.close()


def test_a_start_that_makes_progress_is_waited_for(node):
    wait_ready(node, (0.1, "STATUS=ports\nEXTEND_TIMEOUT_USEC=60000000\nWATCHDOG=1"), (3 * PATIENCE_S, "READY=1\nSTATUS=ready"))


def test_a_start_without_progress_tells_its_state_and_what_its_threads_do(node):
    with pytest.raises(LabError, match=r"not ready after \d+ s: ports; threads: sleep (runs|sleeps).*\n.*no such device"):
        wait_ready(node, (0.1, "STATUS=ports"))


def test_a_start_that_fails_shows_the_error_and_no_list_of_options(node):
    """DPDK prints its options where it does not start; the error stands before them."""
    node.log.write_text("12:00:00 error eal: no /sys\nUsage: kamueed [options]\n" + 40 * "  -l CORELIST         List of cores to run on\n")
    node.proc.kill()
    node.proc.wait()
    with pytest.raises(LabError, match="exited during startup with status -9(?s:.*)error eal: no /sys$"):
        wait_ready(node)


def test_a_silent_kamueed_is_told_with_its_threads(node):
    os.kill(node.proc.pid, signal.SIGSTOP)
    os.waitpid(node.proc.pid, os.WUNTRACED)
    assert re.fullmatch(r"load [\d.]+; threads: sleep is stopped.*", node.why_silent())


def test_a_demo_that_gets_no_answer_says_why_and_how_to_end_it(node, monkeypatch):
    def run(self) -> None:
        self.lab = {"edge": node}
        raise Unreachable("kamueed does not answer")
    monkeypatch.setattr(demorun.Demo, "run", run)
    monkeypatch.setattr(demo, "check_machine", lambda options: None)
    with pytest.raises(LabError, match="does not answer; load .*; threads: sleep (runs|sleeps).*kamuee demo stop --name some"):
        demo.start(demo.parser().parse_args(["start", "--name", "some"]))
    node.proc.kill()
    node.proc.wait()
    with pytest.raises(LabError, match="does not answer; kamueed has ended"):
        demo.start(demo.parser().parse_args(["start", "--name", "some"]))


def test_a_lab_without_answers_leads_to_its_own_log(tmp_path):
    (tmp_path / "kamueed.log").touch()
    for error in (FileNotFoundError(2, "No such file"), ConnectionRefusedError(111, "Connection refused")):
        assert http.remedy(error, str(tmp_path / "kamuee.sock")).startswith(f"is it running? {tmp_path}/kamueed.log")
    assert str(http.cut(str(tmp_path / "kamuee.sock"))).endswith(f"see {tmp_path}/kamueed.log")
