# SPDX-License-Identifier: BSD-3-Clause
"""Another kamueed replaces the running one under traffic: nobody notices, and a new one that fails leaves the old one as it was."""
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kamuee.errors import DaemonError, Unreachable
from kamuee.lab import flows, measure
from kamuee.lab.kamueenode import find_kamueed
from kamuee.lab.netns import is_running

from daemon import Daemon
from support import Router, assert_reaches, eventually, reaches
from test_restart import FAR, LAB as RESTART_LAB, Listener, audit, established, is_up, keeper_pid, name_of, taps

pytestmark = pytest.mark.kill

LAB = RESTART_LAB.replace("bfd 10 1000 1000", "bfd 3 1000 1000")      # a busy machine may hold up a process for a second
CLI = Path(__file__).resolve().parents[2] / "kamuee"
PER_S, SECONDS = 2000, 8.0


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    eventually(lambda: is_up(lab) and measure.fib_counts(lab["r"])["fib"] > 2000, 120, lambda: lab["r"].vtysh("show bgp summary"), 0.2)
    assert_reaches(lab["h1"], FAR)
    return lab


def kamuee(router, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(CLI), "--socket", str(router.socket), *words], capture_output=True, text=True, timeout=120)


def upgrade(router, *words: str) -> dict:
    done = kamuee(router, "upgrade", "-j", *words)
    assert done.returncode == 0, done.stdout + done.stderr + router.log.read_text()[-3000:]
    return json.loads(done.stdout)


def kamueeds(router) -> list[int]:
    """kamueed processes of the router; kamuee-starter starts programs and does not count."""
    return [pid for pid in router.namespace.pids() if name_of(pid) == "kamueed"]


def left_behind(router) -> dict:
    """Files and processes of which there must be as many after an upgrade as before."""
    dpdk = [path.name for path in router.run_dir.glob("dpdk/*")]
    names = sorted(name_of(pid) for pid in router.namespace.pids() if name_of(pid).startswith("kamuee"))
    return {"files": sorted(path.name for path in router.run_dir.iterdir()), "dpdk": len(dpdk), "processes": names}


def script(folder: Path, *lines: str) -> str:
    """A program for --binary: root's, writable by nobody else."""
    path = folder / "kamueed-new"
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)
    folder.chmod(0o755)
    return str(path)


def assert_as_before(lab, pid: int) -> None:
    router = lab["r"]
    assert router.kamueed_pid() == pid
    eventually(lambda: kamueeds(router) == [pid], what=lambda: f"the new one ends: {kamueeds(router)}")
    assert_reaches(lab["h1"], FAR)
    audit(lab)


def test_upgraded_under_traffic_nobody_notices(lab, tmp_path):
    router = lab["r"]
    before, sessions, listener, left, old = taps(lab), established(lab), Listener(lab, tmp_path), left_behind(router), router.kamueed_pid()
    packets = Router(router).state("interface=p0")[0]["statistics"]["rx-packets"]
    traffic = flows.Traffic(lab["h1"].namespace, lab["r2"].namespace, [FAR], 4, PER_S, SECONDS)
    eventually(lambda: Router(router).state("interface=p0")[0]["statistics"]["rx-packets"] > packets + PER_S / 2, what="traffic")
    found = upgrade(router)
    flow = traffic.result()
    assert found["phase"] == "done" and found["lookups"] == 100_000 and found["audited"] > 3000, found
    blocked = {port["name"]: port for port in found["port"]}
    assert set(blocked) >= {"p0", "p1", "b0"} and all("blocked" in port for port in blocked.values()), found
    lost = sum(len(one["lost"]) for one in flow.values())
    assert lost <= sum(port["discarded"] for port in found["port"]), (lost, found)
    assert lost < PER_S, "less than a second's"
    assert not is_running(old) and router.kamueed_pid() not in (None, old)
    audit(lab)
    assert taps(lab) == before and listener.stop(lab) == []
    assert is_up(lab) and established(lab) == sessions
    assert left_behind(router) == left
    counted = Router(router).state("interface=p0")[0]["statistics"]["rx-packets"]
    sent = sum(one["received"] + len(one["lost"]) for one in flow.values())
    assert counted >= packets + sent - lost, "the counters went on"
    assert not measure.fib_differences(router) and not measure.fib_differences(router, "blue")


def preloaded(fault: str) -> list[str]:
    """A new kamueed that says or hears something wrong (handover.c)."""
    return ["LIBRARY", f"KAMUEE_HANDOVER={fault} LD_PRELOAD=$library exec {find_kamueed()} \"$@\""]


def built(folder: Path, how: list[str]) -> list[str]:
    """The lines of the script, with its library."""
    if how[0] != "LIBRARY":
        return how
    library, here = folder / "handover.so", Path(__file__)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-I", here.parents[2] / "src", "-o", library, here.with_name("handover.c")], check=True)
    return [f"library={library}", *how[1:]]


REFUSED = {
    "not there": (None, "No such file"),
    "not executable": ("mode", "Permission denied"),
    "writable by others": ("others", "nobody else may write"),
    "no program": ("text", "cannot be started"),
    "dies at once": (["exit 7"], "ended with status 7"),
    "is killed": (["kill -9 $$"], "ended by signal 9"),
    "does not know upgrades": (["exit 2"], "does not know --upgrade"),
    "says nonsense": (["printf nonsense >&3; sleep 5"], "sent an unknown message"),
    "protocol that does not fit": (preloaded("says-99"), "by protocol 99"),
    "old one whose protocol does not fit": (preloaded("hears-99"), "hands over by protocol 99, this one by 1: restart instead"),
    "dies when the old one has halted": (preloaded("dies"), "did not begin to forward within 3 s: ended with status 9"),
    "dies when it gives up after the old one has halted": (preloaded("gives-up"), "it has no heart for it"),
    "closes its connection, lives on and hears no SIGTERM": (["trap '' TERM", "exec 3>&-", "while :; do sleep 1; done"], "but not ended"),
    "dies only if killed, with all that it was given": (preloaded("leaves"), "but not ended"),
    "tables that differ": (preloaded("lookups"), "lookups differ"),
    "a machine that lacks something": ([f"ulimit -n 40", f"exec {find_kamueed()} \"$@\""], "the limit of open files is 40"),
    "no schema": ([f"KAMUEE_YANG_DIR=/nowhere exec {find_kamueed()} \"$@\""], "/nowhere"),
    "a port that has no memory": ([f"exec {find_kamueed()} \"$@\" --memory 64"], "packet buffers"),
    "a socket that cannot be": ([f"exec {find_kamueed()} \"$@\" --run-dir /nowhere"], "/nowhere/kamuee.sock"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_take_over_leaves_the_old_one_as_it_was(lab, tmp_path, case):
    router = lab["r"]
    how, why = REFUSED[case]
    if "memory" in case:
        Router(router).configure("set port b0 rx-descriptors 8192")
    before, sessions, left, pid, listener = taps(lab), established(lab), left_behind(router), router.kamueed_pid(), Listener(lab, tmp_path)
    binary = script(tmp_path, *(built(tmp_path, how) if isinstance(how, list) else ["exit 0"]))
    if how is None:
        os.unlink(binary)
    elif how == "mode":
        os.chmod(binary, 0o644)
    elif how == "others":
        os.chmod(binary, 0o777)
    elif how == "text":
        Path(binary).write_text("#!/nonsense\n")
    done = kamuee(router, "upgrade", "--binary", binary)
    assert done.returncode != 0 and why in done.stderr, done.stdout + done.stderr
    assert Router(router).state("upgrade")["phase"] == "failed"
    assert_as_before(lab, pid)
    assert taps(lab) == before and listener.stop(lab) == []
    assert is_up(lab) and established(lab) == sessions
    dpdk = left.pop("dpdk") + case.startswith("dies")

    def left_as_before() -> bool:
        now = left_behind(router)
        return now.pop("dpdk") <= dpdk and now == left
    eventually(left_as_before, what=lambda: f"{left_behind(router)}: whoever is killed leaves DPDK's directory, which the next one takes")
    if "memory" in case:
        Router(router).configure("delete port b0 rx-descriptors")
        assert_reaches(lab["h3"], "10.7.0.1")


def test_a_new_one_that_is_late_is_killed_and_does_not_stop_in_order(lab, tmp_path):
    """Else the old one would go on without socket and TAPs. Nothing is received for three seconds: BFD may fall."""
    router = lab["r"]
    pid = router.kamueed_pid()
    done = kamuee(router, "upgrade", "--binary", script(tmp_path, *built(tmp_path, preloaded("late"))))
    assert done.returncode != 0 and "did not begin to forward within 3 s" in done.stderr, done.stdout + done.stderr
    eventually(lambda: is_up(lab) and measure.fib_counts(router)["fib"] > 2000, 60)
    assert_as_before(lab, pid)
    assert all(carrier for _, carrier, _, _ in taps(lab).values())
    upgrade(router)
    eventually(lambda: is_up(lab), 60)


def test_a_new_one_that_chatters_is_waited_for_no_longer(lab, tmp_path):
    router = lab["r"]
    pid = router.kamueed_pid()
    done = kamuee(router, "upgrade", "--binary", script(tmp_path, *built(tmp_path, preloaded("chatters"))))
    assert done.returncode != 0 and "did not begin to forward within 3 s" in done.stderr, done.stdout + done.stderr
    eventually(lambda: is_up(lab) and measure.fib_counts(router)["fib"] > 2000, 60)
    assert_as_before(lab, pid)


def test_after_one_that_hears_no_sigterm_the_next_upgrade_can_be_made(lab, tmp_path):
    router = lab["r"]
    Router(router).call("upgrade", binary=script(tmp_path, "printf nonsense >&3", "trap '' TERM", "while :; do sleep 1; done"))
    eventually(lambda: Router(router).state("upgrade")["phase"] == "failed", what="its nonsense is refused")
    eventually(lambda: kamuee(router, "upgrade").returncode == 0, 60, "the next one")
    eventually(lambda: is_up(lab), 60)


def test_the_old_one_is_killed_while_a_new_one_stands_still_and_the_next_start_works(lab, tmp_path):
    """It has the lock and the TAPs, and neither hears SIGTERM nor notices that the old one has ended."""
    router = lab["r"]
    before = taps(lab)
    Router(router).call("upgrade", binary=script(tmp_path, *built(tmp_path, preloaded("stands"))))
    old = router.kamueed_pid()
    new = eventually(lambda: [pid for pid in kamueeds(router) if pid != old and blocks_sigterm(pid)], what="it stands still")
    router.kill_kamueed()
    assert is_running(new[0])
    router.start_kamueed()
    eventually(lambda: not is_running(new[0]), what="it was ended")
    assert "a process that an upgrade left behind has the lock and is ended" in router.log.read_text()
    assert taps(lab) == before
    eventually(lambda: is_up(lab) and measure.fib_counts(router)["fib"] > 2000, 60)
    assert_reaches(lab["h1"], FAR)


def test_an_old_one_that_does_not_end_is_killed_by_the_new_one(lab, tmp_path):
    """It is stopped at the instant of the switch, and would go on later with TAPs and ports that are the new one's."""
    router, file = lab["r"], tmp_path / "halted"
    old = router.kamueed_pid()
    tmp_path.chmod(0o777)
    Router(router).call("upgrade", binary=script(tmp_path, *built(tmp_path, preloaded(f"waits-{file}"))))
    eventually(file.exists, 60, "the old one has halted")
    os.kill(old, signal.SIGSTOP)
    file.unlink()
    eventually(lambda: phase(router) == "done", 60, lambda: phase(router))
    assert kamueeds(router) == [router.kamueed_pid()] != [old]
    assert "not done in time, it is ended: name=\"old kamueed\"" in router.log.read_text()
    eventually(lambda: reaches(lab["h1"], FAR), 60, "it forwards")
    audit(lab)


@pytest.mark.parametrize("seed", range(1, 1 + int(os.environ.get("UPGRADES", "6"))))
def test_whatever_a_new_one_does_there_is_one_router_afterwards(lab, tmp_path, seed):
    """UPGRADES=200 for a long run. By chance it takes over in spite of all."""
    router = lab["r"]
    Router(router).call("upgrade", binary=script(tmp_path, *built(tmp_path, preloaded(f"random-{seed}"))))
    eventually(lambda: phase(router) in ("done", "failed"), 60, lambda: phase(router))
    eventually(lambda: len(kamueeds(router)) == 1, 20, lambda: f"one stays: {kamueeds(router)}")
    assert not [process for process in left_behind(router)["processes"] if process == "kamueed-new"]
    eventually(lambda: reaches(lab["h1"], FAR), 60, "it forwards")
    audit(lab)
    eventually(lambda: not [alarm for alarm in Router(router).entries("alarm") if alarm["name"] == "process"], what="no alarm")
    eventually(lambda: kamuee(router, "upgrade").returncode == 0, 60, "a proper one can follow")


def phase(router) -> str:
    try:
        return Router(router).state("upgrade")["phase"]
    except Unreachable:
        return ""


def blocks_sigterm(pid: int) -> bool:
    """Ignores it, as one of handover.c does that stands still."""
    ignored = next(line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored, 16) >> (signal.SIGTERM - 1) & 1)


@pytest.fixture
def child(lab):
    """A kamueed that is our own child, so that its status can be read; a new one takes its place at the end."""
    router = lab["r"]
    router.kill_kamueed()
    router.start_kamueed()
    assert router.proc.pid == router.kamueed_pid()
    yield router
    router.start_kamueed()
    eventually(lambda: is_up(lab) and measure.fib_counts(router)["fib"] > 2000, 60)
    assert_reaches(lab["h1"], FAR)


def test_the_old_one_fails_with_a_new_one_that_ends_after_it_has_begun(child, tmp_path):
    """Else systemd (Restart=on-failure) would start nothing."""
    Router(child).call("upgrade", binary=script(tmp_path, *built(tmp_path, preloaded("begins"))))
    assert child.proc.wait(60) == 1
    assert "the new kamueed has ended after it began to forward" in child.log.read_text()


def test_the_old_one_fails_with_a_new_one_that_ends_while_systemd_hears_of_it(child):
    """systemd refuses a main process that has ended. The old one stands still meanwhile, so that it is not too fast."""
    old = child.proc.pid

    def end_it(line: str) -> None:
        word, _, pid = line.partition("=")
        if word == "MAINPID":
            os.kill(old, signal.SIGSTOP)
            os.kill(int(pid), signal.SIGKILL)
            eventually(lambda: not is_running(int(pid)), 60, "it has ended", 0.01)
            os.kill(old, signal.SIGCONT)

    notified = Notified(child.run_dir, end_it)
    Router(child).call("upgrade")
    assert child.proc.wait(60) == 1
    assert "ended while it became the main process" in child.log.read_text()
    assert [said for said in notified.stop() if said[1].startswith("MAINPID=")]


def test_two_upgrades_at_once_are_refused_and_a_new_one_that_hangs_is_let_go_by_a_stop(lab, tmp_path):
    router = lab["r"]
    pid = router.kamueed_pid()
    Router(router).call("upgrade", binary=script(tmp_path, "exec sleep 30"))
    with pytest.raises(DaemonError, match="an upgrade is running"):
        Router(router).call("upgrade")
    [hangs] = eventually(lambda: [p for p in router.namespace.pids() if name_of(p) == "sleep"], what="the new one is there")
    os.kill(hangs, 15)
    eventually(lambda: Router(router).state("upgrade")["phase"] == "failed", what="it is noticed")
    assert_as_before(lab, pid)


def test_a_configuration_that_changes_meanwhile_is_not_lost(lab, tmp_path):
    router, ends = lab["r"], []
    pid = router.kamueed_pid()
    wait = tmp_path / "go"
    binary = script(tmp_path, f"while [ ! -e {wait} ]; do sleep 0.05; done", f"exec {find_kamueed()} \"$@\"")
    asked = threading.Thread(target=lambda: ends.append(kamuee(router, "upgrade", "--binary", binary)))
    asked.start()
    eventually(lambda: Router(router).state("upgrade")["phase"] == "starting", what="it has begun")
    Router(router).configure("set drain time 7")
    wait.touch()
    asked.join()
    assert ends[0].returncode == 0, "what it is given is what runs at its hello: " + ends[0].stderr
    assert "set drain time 7" in kamuee(router, "show", "configuration").stdout
    Router(router).configure("delete drain")
    assert router.kamueed_pid() != pid
    assert_reaches(lab["h1"], FAR)


def test_upgraded_twice_and_killed_the_keeper_still_has_the_taps(lab, tmp_path):
    router = lab["r"]
    for _ in range(2):
        upgrade(router)
    before = taps(lab)
    assert keeper_pid(lab)
    router.kill_kamueed()
    assert taps(lab) == before, "the keeper's copies hold the carrier"
    router.start_kamueed()
    assert taps(lab) == before
    eventually(lambda: is_up(lab) and measure.fib_counts(router)["fib"] > 2000, 30)
    audit(lab)
    assert_reaches(lab["h1"], FAR)


def test_with_open_clients_and_listeners(lab):
    """Both sockets stay open: no connection is refused."""
    router = lab["r"]
    Router(router).configure("set api proxy root")
    curl = f"curl -s --unix-socket {router.run_dir}/proxy.sock -H Kamuee-Via:metrics -H Kamuee-Client:127.0.0.1 -o /dev/null http://k/metrics -w"
    refused, stop = [], threading.Event()

    def ask() -> None:
        while not stop.is_set():
            if router.namespace.run(f"{curl} %{{exitcode}}", check=False).strip() == "7":
                refused.append("proxy")
            try:
                Router(router).state("ledger")
            except Unreachable as error:
                if "refused" in str(error) or "not running" in str(error):
                    refused.append(str(error))
    asking = threading.Thread(target=ask)
    asking.start()
    try:
        upgrade(router)
    finally:
        stop.set()
        asking.join()
    assert not refused
    assert router.namespace.run(f"{curl} %{{http_code}}").strip() == "200"
    Router(router).configure("delete api")


class Notified:
    """systemd's notifications from a service, with the pid of the sender. A barrier ends when all before it is heard."""

    def __init__(self, folder: Path, hear: Callable[[str], None] = lambda line: None):
        self.hear = hear
        path = folder / "notify.sock"
        path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.socket.bind(str(path))
        path.chmod(0o777)
        self.heard: list[tuple[int, str]] = []
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self) -> None:
        room = socket.CMSG_SPACE(12) + socket.CMSG_SPACE(4)
        while True:
            data, ancillary, _, _ = self.socket.recvmsg(4096, room)
            pid = 0
            for _, kind, value in ancillary:
                if kind == socket.SCM_CREDENTIALS:
                    pid = struct.unpack("iii", value)[0]
                else:
                    os.close(struct.unpack("i", value[:4])[0])              # a barrier: all before it is read
            for line in data.decode().splitlines():
                self.heard.append((pid, line))
                self.hear(line)
            if data == b"end":
                return

    def stop(self) -> list[tuple[int, str]]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto(b"end", self.socket.getsockname())
        self.thread.join()
        self.socket.close()
        return self.heard


def test_systemd_is_told_of_its_new_main_process_by_the_old_one(lab):
    router = lab["r"]
    old = router.kamueed_pid()
    notified = Notified(router.run_dir)
    upgrade(router)
    new = router.kamueed_pid()
    heard = notified.stop()
    main = heard.index((old, f"MAINPID={new}"))
    ready = heard.index((new, "READY=1"))
    assert main < ready
    assert {said.partition("=")[0] for pid, said in heard[:main] if pid == new} <= {"STATUS", "EXTEND_TIMEOUT_USEC", "WATCHDOG"}
    assert not [said for said in heard[main + 1:] if said[0] == old and said[1] != "BARRIER=1"]


@pytest.fixture
def ends(kamueed):
    """Two kamueeds, for the two ends of a memif."""
    both = [Daemon(kamueed, "upgrade-a"), Daemon(kamueed, "upgrade-b")]
    yield both
    for end in both:
        pid = int((end.dir / "kamueed.lock").read_text())
        if end.process and end.process.poll() is not None and is_running(pid):
            os.kill(pid, signal.SIGTERM)                                      # the upgraded one: not our child
            eventually(lambda: not is_running(pid), 20, "it stops")
        end.end()


def status(end: Daemon) -> str:
    return end.client.state("port=p0")[0]["status"]


@pytest.mark.parametrize("role", ["server", "client"])
def test_a_memif_is_closed_and_opened_and_the_other_end_comes_again(ends, role):
    here, there = ends
    for end, its in ((here, role), (there, {"server": "client", "client": "server"}[role])):
        end.start(f"set port p0 devargs net_memif0,id=3,socket={here.dir}/memif,socket-abstract=no,role={its}\n")
    here.run("ip addr add 10.9.0.1/24 dev p0")
    there.run("ip addr add 10.9.0.2/24 dev p0")
    eventually(lambda: status(here) == status(there) == "up", 20, "the memif is up")
    eventually(lambda: ", 0% packet loss" in here.run("ping -c1 -W1 10.9.0.2", check=False), 20, "an answer")
    link = here.run("ip -o link show p0")
    counted = here.client.state("interface=p0")[0]["statistics"]["rx-packets"]
    for _ in range(2):
        here.client.call("upgrade")
        found = eventually(lambda: ended(here), 60, lambda: here.log.read_text()[-3000:])
        assert found["phase"] == "done" and found["port"][0]["name"] == "p0" and "blocked" in found["port"][0], found
        eventually(lambda: ", 0% packet loss" in here.run("ping -c1 -W1 10.9.0.2", check=False), 20, "an answer")
        assert here.run("ip -o link show p0") == link, "index, carrier, MAC"
    assert here.client.state("interface=p0")[0]["statistics"]["rx-packets"] > counted
    eventually(lambda: here.client.state("ledger")["imbalance"] == 0, 10, lambda: str(here.client.state("ledger")))
    assert len(list(here.dir.glob("dpdk/kamuee-*"))) == 1, "the run-time directory of the last one"


def ended(end: Daemon) -> dict | None:
    try:
        found = end.client.state("upgrade")
    except Unreachable:
        return None
    return found if found["phase"] in ("done", "failed") else None
