# SPDX-License-Identifier: BSD-3-Clause
"""A virtual router as an object: its namespace comes and goes with it, whatever happens in between; its name; stop and start."""
import os
import signal
import subprocess
from pathlib import Path

import pytest

from kamuee.errors import DaemonError, KamueeError
from kamuee.lab.netns import NETNS_DIR, is_running, stop_processes

from conftest import ROOT
from daemon import Daemon
from support import Router, assert_no_loss, assert_reaches, eventually, reaches, two_hosts

PORTS = "set memory 128\nset port p0 kernel-interface a0\nset port p1 kernel-interface a1\n"
BLUE = PORTS + "set vr blue\nset interface p1 vr blue\n"


@pytest.fixture
def daemon(kamueed):
    made = Daemon(kamueed, "vro")
    yield made
    made.end()
    for left in NETNS_DIR.glob("*"):
        subprocess.run(["ip", "netns", "del", left.name])


def ip(netns: str, *words: str) -> str:
    return subprocess.run(["ip", "-n", netns, *words], capture_output=True, text=True, check=True).stdout


def inode(netns: str) -> int:
    return os.stat(NETNS_DIR / netns).st_ino


def marks(daemon: Daemon) -> set[str]:
    return {path.name for path in (daemon.dir / "netns").glob("*")}


def killed(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGKILL)
    daemon.process.wait()
    daemon.process = None


def kamuee(daemon: Daemon, *words: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess:
    done = subprocess.run([str(ROOT / "kamuee"), "--socket", str(daemon.socket), *words], capture_output=True, text=True, input=text,
                          timeout=120)
    assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def test_the_namespace_comes_and_goes_with_the_virtual_router(daemon):
    daemon.start(PORTS)
    own = os.readlink(f"/proc/{daemon.process.pid}/ns/net")
    daemon.configure("set vr blue", "set interface p1 vr blue")
    assert "p1" in ip("blue", "-br", "link") and "UP" in ip("blue", "link", "show", "lo").partition(">")[0]
    for thread in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        assert os.readlink(thread / "ns/net") == own, "a thread of kamueed stays in another namespace"
    state = daemon.client.state("vr=blue")[0]
    assert state["own-namespace"] and state["namespace"] == "blue" and state["enabled"]
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert not (NETNS_DIR / "blue").exists() and marks(daemon) == set()
    assert "p1" in daemon.links()


def test_a_namespace_of_others_is_neither_taken_nor_deleted(daemon):
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    before = inode("blue")
    daemon.start(PORTS)
    with pytest.raises(DaemonError, match=r"kamueed has not made: use it with 'set vr blue namespace blue'"):
        daemon.configure("set vr blue")
    assert "set vr" not in daemon.running() and inode("blue") == before
    daemon.configure("set vr blue namespace blue")
    assert daemon.client.state("vr=blue")[0]["own-namespace"] is False
    with pytest.raises(DaemonError, match="kamueed has not made"):
        daemon.configure("delete vr blue namespace")
    daemon.configure("delete vr blue")
    assert inode("blue") == before


def test_a_namespace_that_the_configuration_names_from_now_on_is_the_operators(daemon):
    daemon.start(BLUE)
    before = inode("blue")
    daemon.configure("set vr blue namespace blue")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert inode("blue") == before and marks(daemon) == set()


def test_after_a_crash_what_it_made_is_found_again(daemon):
    daemon.start(BLUE)
    ip("blue", "addr", "add", "192.0.2.1/24", "dev", "p1")
    before = inode("blue")
    killed(daemon)
    daemon.start(BLUE)
    assert inode("blue") == before and "192.0.2.1/24" in ip("blue", "addr", "show", "p1")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert not (NETNS_DIR / "blue").exists()


def test_after_a_crash_one_of_others_is_not_adopted(daemon):
    """Made while kamueed did not run; its inode may well be that of the old one."""
    daemon.start(PORTS + "set vr blue\n")
    killed(daemon)
    subprocess.run(["ip", "netns", "del", "blue"], check=True)
    subprocess.run(["ip", "netns", "add", "blue"], check=True)
    code, said = daemon.refused(PORTS + "set vr blue\n")
    assert code == 1 and "network namespace blue that kamueed has not made" in said, (code, said)
    daemon.start(PORTS, "--from-file")
    assert (NETNS_DIR / "blue").exists() and marks(daemon) == set()


@pytest.mark.parametrize("left", ["mark", "mark-and-file"])
def test_a_crash_half_way_leaves_nothing(daemon, left):
    """Between mark and name, and between the name's file and what is bound to it."""
    daemon.start(PORTS + "set vr blue\n")
    killed(daemon)
    subprocess.run(["ip", "netns", "del", "blue"], check=True)
    if left == "mark-and-file":
        (NETNS_DIR / "blue").touch(0o000)
    daemon.start(PORTS + "set vr blue\n")
    assert "LOOPBACK,UP" in ip("blue", "link", "show", "lo")
    daemon.configure("delete vr blue")
    assert not (NETNS_DIR / "blue").exists() and marks(daemon) == set()


def test_one_that_left_the_configuration_meanwhile_goes_at_the_next_start(daemon):
    daemon.start(BLUE)
    killed(daemon)
    daemon.start(PORTS, "--from-file")
    assert not (NETNS_DIR / "blue").exists() and marks(daemon) == set()


def test_a_change_that_fails_leaves_the_namespace_as_it_was(daemon):
    daemon.start(BLUE)
    ip("blue", "addr", "add", "192.0.2.1/24", "dev", "p1")
    before = inode("blue")
    with pytest.raises(DaemonError):
        daemon.configure("delete interface p1 vr", "delete vr blue", "set vr red", "set port p9 devargs net_nonsense0")
    assert inode("blue") == before and not (NETNS_DIR / "red").exists() and marks(daemon) == {"blue"}
    assert "192.0.2.1/24" in ip("blue", "addr", "show", "p1")


def test_a_removed_name_comes_back(daemon):
    daemon.start(BLUE)
    before = inode("blue")
    subprocess.run(["ip", "netns", "del", "blue"], check=True)
    eventually(lambda: (NETNS_DIR / "blue").exists() and inode("blue") == before, 60, "the name of the same namespace")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert not (NETNS_DIR / "blue").exists()


def test_devices_of_others_keep_the_namespace(daemon):
    daemon.start(BLUE)
    ip("blue", "link", "add", "theirs", "type", "veth", "peer", "name", "theirs2")
    ip("blue", "link", "set", "theirs", "up")
    daemon.configure("delete interface p1 vr", "delete vr blue")
    assert "theirs" in ip("blue", "-br", "link") and marks(daemon) == set()
    assert "stays, because it has devices that are up" in daemon.log.read_text()


@pytest.mark.parametrize("name, why", [
    ("..", "begin with"), (".", "begin with"), (".x", "begin with"), ("-x", "begin with"), ("a/b", "1 to 15 letters"), ("/etc", "1 to 15 letters"),
    ("blau grün", "1 to 15 letters"), ("blå", "1 to 15 letters"), ("x" * 64, "1 to 15"), ("default", "always exists"), ("", "1 to 15")])
def test_names_that_are_none(daemon, name, why):
    daemon.start(PORTS)
    with pytest.raises(KamueeError, match=why):
        daemon.configure(f'set vr "{name}"')
    assert {path.name for path in NETNS_DIR.glob("*")} == {"vro"} and "set vr" not in daemon.running()


def test_stopped_it_carries_nothing_and_started_it_does_again(labs, kamueed):
    lab = labs(two_hosts())
    router = Router(lab["r"])
    node = lab["r"]
    router.configure("set vr blue", "set interface p0 vr blue", "set interface p1 vr blue")
    for h in ("h1", "h2"):
        assert_reaches(lab[h], "10.2.0.1" if h == "h1" else "10.1.0.1")
    assert_no_loss(lab["h1"], "10.2.0.2", 20)
    router.configure("set vr blue enabled false")
    assert not reaches(lab["h1"], "10.2.0.2") and router.state("vr=blue")[0]["enabled"] is False
    assert "NO-CARRIER" in ip("blue", "link", "show", "p0")
    router.configure("delete vr blue enabled")
    assert_reaches(lab["h1"], "10.2.0.2")
    assert_reaches(lab["h1"], "fd00:2::2")

    # its new name reaches everything, and the packets notice nothing
    router.configure("set port p0 queue rate 100M", "set port p0 queue vr blue guarantee 10M", "set routing-daemon blue bgp",
                     "set counters prefix blue 10.2.0.0/24")
    before = inode("blue")
    assert_no_loss(lab["h1"], "10.2.0.2", 20)
    from support import Pinging
    pinging = Pinging(lab["h1"], "10.2.0.2")
    router.call("vr-rename", name="blue", new_name="green")
    result = pinging.stop()
    assert result.sent > 0 and result.lost == 0, result.said
    assert inode("green") == before and not (NETNS_DIR / "blue").exists()
    text = router.call("configuration")["text"]
    assert "blue" not in text and {"set port p0 queue vr green guarantee 10M", "set interface p1 vr green",
                                   "set counters prefix green 10.2.0.0/24"} <= set(text.splitlines())
    assert [row["vr"] for row in router.entries("interface") if row["name"] in ("p0", "p1")] == ["green", "green"]
    with pytest.raises(DaemonError, match="there is a vr green already"):
        router.call("vr-rename", name="green", new_name="green")
    router.call("configure", revision=1)
    assert (NETNS_DIR / "blue").exists() and not (NETNS_DIR / "green").exists()
    router.configure("delete interface p0 vr", "delete interface p1 vr", "delete port p0 queue", "delete routing-daemon blue bgp", "delete counters",
                     "delete vr blue")
    assert node.namespace.has_link("p0")
