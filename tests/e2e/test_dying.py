# SPDX-License-Identifier: BSD-3-Clause
"""How kamueed ends: it drains, and its state returns at the next start; a crash leaves a note that says where."""
import json
import os
import re
import signal
import socket
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from daemon import Daemon
from support import eventually

pytestmark = pytest.mark.kill

CONFIG = "set port p0 devargs net_af_packet0,iface=a0\nset port p1 devargs net_af_packet1,iface=a1\n"
KAMUEE = Path(__file__).resolve().parents[2] / "kamuee"
SENDER = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
frame = bytes.fromhex(sys.argv[2]) + bytes(64)
for _ in range(int(sys.argv[3])):
    s.send(frame)
"""


def state_dir(daemon: Daemon) -> Path:
    return daemon.dir / "state"


def saved(daemon: Daemon) -> Path:
    return state_dir(daemon) / "saved-state"


def notes(daemon: Daemon) -> list[Path]:
    return sorted(state_dir(daemon).glob("crash-*"))


def wait_for_end(daemon: Daemon) -> int:
    code = daemon.process.wait(60)
    daemon.process = None
    return code


def frames(daemon: Daemon, count: int) -> None:
    """To the MAC of p0: for routing, and dropped as there is no route."""
    mac = daemon.client.state("interface=p0")[0]["mac"].replace(":", "")
    header = "4500003c000000004011" + "0000" + "0a090909" + "c6336401"
    words = [int(header[i:i + 4], 16) for i in range(0, len(header), 4)]
    total = sum(words)
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    header = header[:20] + f"{~total & 0xffff:04x}" + header[24:]
    subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", SENDER, "b0", mac + "020000000001" + "0800" + header, str(count)],
                   check=True)


def counted(daemon: Daemon) -> dict:
    """State that must survive a planned restart."""
    state = daemon.client.state
    [interface], [port] = state("interface=p0"), state("port=p0")
    return {"interface": {k: int(v) for k, v in interface["statistics"].items() if k != "since"}, "since": interface["statistics"]["since"],
            "cleared": interface.get("cleared"), "port": {k: int(v) for k, v in port["statistics"].items() if isinstance(v, str)},
            "drop": {d["name"]: int(d["packets"]) for d in state("drop")},
            "vr drop": {d["name"]: int(d["packets"]) for d in state("vr=default")[0].get("drop", ())},
            "vr ledger": {k: int(v) for k, v in state("vr=default")[0]["ledger"].items()},
            "ledger": {k: int(v) for k, v in state("ledger").items() if k != "imbalance"}}


def assert_goes_on(before: dict, after: dict) -> None:
    for part in ("interface", "port", "drop", "vr drop"):
        for name, value in before[part].items():
            assert after[part][name] >= value, (part, name, before[part], after[part])
    assert (after["since"], after["cleared"]) == (before["since"], before["cleared"])
    for part in ("ledger", "vr ledger"):
        for name in ("rx", "tx", "inject", "punt", "drops"):
            assert after[part][name] >= before[part][name], (part, name, before[part], after[part])


# --- saved state ---

def test_counters_go_on_over_a_planned_restart_and_the_ledger_balances(daemon):
    daemon.start(CONFIG)
    daemon.client.call("clear-counters", of="interface", name="p0")
    frames(daemon, 500)
    eventually(lambda: counted(daemon)["drop"]["ip4_no_route"] >= 500, 20, lambda: str(counted(daemon)["drop"]))
    before = eventually(lambda: (now := counted(daemon))["vr drop"] == {name: n for name, n in now["drop"].items() if n} and now, 10,
                        "no packet of the kernel's is dropped between two reads")
    points = len(daemon.client.state("port-history=p0")[0].get("point", ()))
    daemon.stop()
    assert saved(daemon).stat().st_mode & 0o777 == 0o640
    daemon.start(CONFIG)
    assert not saved(daemon).exists()                          # read once: after a crash nothing goes back to it
    assert_goes_on(before, counted(daemon))
    eventually(lambda: counted(daemon)["vr ledger"]["imbalance"] == 0, 10, lambda: str(counted(daemon)))
    assert "saved state: restored" in daemon.log.read_text()
    assert len(daemon.client.state("port-history=p0")[0].get("point", ())) >= points
    frames(daemon, 100)
    eventually(lambda: counted(daemon)["drop"]["ip4_no_route"] >= before["drop"]["ip4_no_route"] + 100, 20, "it counts on")
    eventually(lambda: daemon.client.state("ledger")["imbalance"] == 0, 10, lambda: str(daemon.client.state("ledger")))


def test_after_a_crash_counters_begin_at_0_and_the_discontinuity_time_says_so(daemon):
    daemon.start(CONFIG)
    frames(daemon, 50)
    eventually(lambda: counted(daemon)["drop"]["ip4_no_route"] >= 50, what="they are received")
    daemon.stop()
    daemon.start(CONFIG)
    before = counted(daemon)
    assert before["drop"]["ip4_no_route"] >= 50
    daemon.process.kill()
    wait_for_end(daemon)
    daemon.start(CONFIG)
    after = counted(daemon)
    assert after["drop"]["ip4_no_route"] < 50 and after["since"] > before["since"]


def route_changes(daemon: Daemon) -> list[dict]:
    return daemon.client.call("route-changes", ago="3600000", limit=10000).get("change", [])


def test_the_journal_goes_on_over_planned_restarts(daemon):
    daemon.start(CONFIG)
    for restart in range(3):
        daemon.run("ip addr replace 10.0.0.1/24 dev p0")
        daemon.run("ip link set p0 up")
        prefix = f"203.0.{restart}.0/24"
        eventually(lambda prefix=prefix: daemon.run(f"ip route replace {prefix} via 10.0.0.9", check=False) or
                   prefix in [c.get("prefix") for c in route_changes(daemon)], 20, lambda: str(route_changes(daemon)))
        before = [c for c in route_changes(daemon) if c.get("prefix") == prefix]
        daemon.stop()
        daemon.start(CONFIG)
        eventually(lambda prefix=prefix: prefix in [c.get("prefix") for c in route_changes(daemon)], 20, lambda: str(route_changes(daemon)))
        after = [c for c in route_changes(daemon) if c.get("prefix") == prefix and c["time"][:21] <= before[0]["time"][:21]]
        assert {(c["cause"], c["to"]["protocol"], c["to"]["kind"]) for c in before} <= {(c["cause"], c["to"]["protocol"], c["to"]["kind"]) for c in after}
    times = [c["time"] for c in route_changes(daemon)]
    assert times == sorted(times) or times == sorted(times, reverse=True)
    assert {f"203.0.{n}.0/24" for n in range(3)} <= {c.get("prefix") for c in route_changes(daemon)}


@pytest.mark.parametrize("how", ["empty", "truncated", "flipped", "binary", "huge", "directory", "link"])
def test_a_saved_file_that_is_not_whole_is_refused_in_one_line(daemon, how):
    daemon.start(CONFIG)
    frames(daemon, 20)
    daemon.stop()
    file = saved(daemon)
    text = file.read_bytes()
    if how == "directory":
        file.unlink()
        file.mkdir()
    elif how == "link":
        file.rename(daemon.dir / "elsewhere")
        file.symlink_to("/dev/zero")
    else:
        file.write_bytes({"empty": b"", "truncated": text[:-30], "flipped": text.replace(b'"version"', b'"Version"'), "binary": os.urandom(5000),
                          "huge": text * 3000}[how])
    begin = daemon.log.stat().st_size
    daemon.start(CONFIG)
    said = [line for line in daemon.log.read_text()[begin:].splitlines() if "saved state: refused" in line]
    assert len(said) == 1, daemon.log.read_text()[begin:]
    assert counted(daemon)["drop"]["ip4_no_route"] < 20
    eventually(lambda: daemon.client.state("ledger")["imbalance"] == 0, 10, lambda: str(daemon.client.state("ledger")))


# --- drain ---

def test_it_drains_as_configured_and_a_second_signal_ends_it(daemon):
    script = daemon.dir / "withdraw"
    script.write_text(f"#!/bin/sh\necho \"$@\" > {daemon.dir}/ran\n")
    daemon.start(CONFIG)
    assert "can be run" in json.dumps(refusal(daemon, f"set drain script {script}"))
    script.chmod(0o755)
    os.chown(script, 0, 0)
    daemon.configure(f"set drain script {script} time 60")
    daemon.process.send_signal(signal.SIGTERM)
    eventually(lambda: (daemon.dir / "ran").exists() and (daemon.dir / "ran").read_text() == "drain\n", 10, "the script runs")
    assert daemon.client.state("system")["draining"]
    before = counted(daemon)["drop"]["ip4_no_route"]
    frames(daemon, 30)
    eventually(lambda: counted(daemon)["drop"]["ip4_no_route"] >= before + 30, 10, "it goes on with what it does")
    eventually(lambda: "drain: the script has ended" in daemon.log.read_text(), 10, "its end is noticed")
    assert daemon.process.poll() is None
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_for_end(daemon) == 0


def refusal(daemon: Daemon, line: str) -> str:
    try:
        daemon.configure(line)
    except Exception as error:
        return str(error)
    raise AssertionError("it was taken")


def test_it_ends_when_the_time_is_over_whatever_the_script_does(daemon):
    script = daemon.dir / "hangs"
    script.write_text("#!/bin/sh\nexec sleep 1000\n")
    script.chmod(0o755)
    daemon.start(CONFIG + f"set drain script {script} time 1 bfd true\n")
    daemon.process.send_signal(signal.SIGTERM)
    assert wait_for_end(daemon) == 0
    log = daemon.log.read_text()
    assert "drain: started: seconds=1" in log and "the script has not ended in time" in log and "drain: ended" in log
    assert "expected a file below" in daemon.refused("set drain script /bin/true\n")[1]


# --- crash notes ---

def build_id(binary: str) -> str:
    return re.search(r"Build ID: ([0-9a-f]+)", subprocess.run(["readelf", "-n", binary], check=True, capture_output=True, text=True).stdout)[1]


def fields(note: str) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in note.partition("\nbacktrace ")[0].splitlines()[1:])


@pytest.mark.parametrize("sent, name", [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGABRT, "SIGABRT"), (signal.SIGBUS, "SIGBUS"),
                                        (signal.SIGILL, "SIGILL"), (signal.SIGFPE, "SIGFPE")])
def test_a_signal_that_kills_it_leaves_a_note(daemon, sent, name):
    daemon.start(CONFIG)
    daemon.configure("set interface p0 description crash-test")
    pid, version = daemon.process.pid, daemon.client.state("system")["version"]
    assert daemon.client.state("system")["build-id"] == build_id(daemon.binary)
    threads = {t["name"] for t in daemon.client.state("thread")}
    daemon.process.send_signal(sent)
    assert wait_for_end(daemon) == -sent                       # as if nobody had looked: core files and systemd see the same
    [note] = notes(daemon)
    assert re.fullmatch(rf"crash-\d+-{pid}\.untold", note.name)
    text = note.read_text()
    found = fields(text)
    assert text.startswith("# kamuee crash note 1\n") and text.endswith("# end\n")
    assert found["build-id"] == build_id(daemon.binary) and found["version"] == version and found["signal"] == name
    assert int(found["pid"]) == pid and abs(int(found["time"]) - time.time()) < 60 and int(found["revision"]) >= 1
    assert threads <= set(re.findall(r"^backtrace (\S+)", text, re.M)), text
    assert "kamueed+0x" in text and "main: ready" in text
    begin = daemon.log.stat().st_size
    daemon.start(CONFIG)
    told = [line for line in daemon.log.read_text()[begin:].splitlines() if "crash: kamueed crashed" in line]
    assert len(told) == 1 and f"signal={name}" in told[0] and "tech-support" in told[0] and found["build-id"] in told[0]
    [shown] = daemon.client.state("crash")
    assert shown["signal"] == name and shown["note"] == text and shown["build-id"] == found["build-id"]
    eventually(lambda: [a for a in daemon.client.state("alarm") if a["name"] == "crash"], 10, "the alarm")
    daemon.stop()
    begin = daemon.log.stat().st_size
    daemon.start(CONFIG)
    assert "crash: kamueed crashed" not in daemon.log.read_text()[begin:]  # told once


def test_tech_support_has_the_note(daemon):
    daemon.start(CONFIG)
    daemon.process.send_signal(signal.SIGSEGV)
    wait_for_end(daemon)
    text = notes(daemon)[0].read_text()
    daemon.start(CONFIG)
    file = daemon.dir / "t.tar.gz"
    subprocess.run([str(KAMUEE), "--socket", str(daemon.socket), "show", "tech-support", str(file)], check=True, capture_output=True, timeout=240)
    with tarfile.open(file) as archive:
        shown = json.loads(archive.extractfile("t/show-crash.json").read())
    assert shown[0]["note"] == text
    said = subprocess.run([str(KAMUEE), "--socket", str(daemon.socket), "show", "crash"], check=True, capture_output=True, text=True).stdout
    assert "SIGSEGV" in said


@pytest.mark.parametrize("text", [b"", b"# kamuee crash note 1\nsignal SIGSEGV\n", os.urandom(3000),
                                  b"# kamuee crash note 1\n" + b"x" * (2 << 20) + b"# end\n"],
                         ids=["empty", "cut", "binary", "long"])
def test_what_is_no_whole_note_is_told_of_and_removed(daemon, text):
    daemon.start(CONFIG)
    daemon.stop()
    file = state_dir(daemon) / "crash-1795341600-77.untold"
    file.write_bytes(text)
    daemon.start(CONFIG)
    assert not file.exists() and not daemon.client.state("crash")
    assert daemon.log.read_text().count("incomplete note") == 1


@pytest.mark.parametrize("when, suffix, raised", [(86400, "untold", True), (86400, "note", False), (2 ** 31, "untold", True), (2 ** 31, "note", True)],
                         ids=["1970, not told of", "1970, told of", "2038, not told of", "2038, told of"])
def test_the_alarm_of_a_crash_is_raised_though_the_clock_was_wrong(daemon, when, suffix, raised):
    daemon.start(CONFIG)
    daemon.stop()
    (state_dir(daemon) / f"crash-{when}-77.{suffix}").write_text(f"# kamuee crash note 1\ntime {when}\npid 77\nsignal SIGSEGV\n# end\n")
    daemon.start(CONFIG)
    alarms = lambda: [a for a in daemon.client.state("alarm") if a["name"] == "crash"]  # noqa: E731
    if raised:
        eventually(alarms, 10, "the alarm")
    else:  # an alarm would have been raised by the first round of observations
        eventually(lambda: daemon.client.state("system")["uptime"] >= 3, 20)
        assert not alarms()


# --- the watchdog ---

class Systemd:
    """Notifications of kamueed; it aborts a service that has not fed its watchdog, as systemd does."""

    def __init__(self, daemon: Daemon, limit_s: float):
        self.path, self.limit_s = daemon.dir / "notify", limit_s
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.path))
        self.environment = {"NOTIFY_SOCKET": str(self.path), "WATCHDOG_USEC": str(int(limit_s * 1e6))}

    def abort_when_it_is_not_fed(self, pid: int) -> None:
        end = time.monotonic() + 60
        self.socket.settimeout(self.limit_s)
        fed = time.monotonic()
        while time.monotonic() < end:
            try:
                if b"WATCHDOG=1" in self.socket.recv(4096):
                    fed = time.monotonic()
            except TimeoutError:
                pass
            if time.monotonic() - fed > self.limit_s:
                os.kill(pid, signal.SIGABRT)
                return
        raise AssertionError("it was fed all the time")


def test_the_note_of_a_stuck_forwarder_says_in_which_stage_it_was(daemon):
    library = daemon.dir / "stuck.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(Path(__file__).with_name("stuck.c"))], check=True)
    systemd = Systemd(daemon, 2)
    more = {"LD_PRELOAD": str(library), "KAMUEE_STUCK": str(daemon.dir / "stuck"), **systemd.environment}
    before = dict(os.environ)
    os.environ.update(more)
    try:
        daemon.start(CONFIG)
    finally:
        os.environ.clear()
        os.environ.update(before)
    daemon.run("ip addr add 10.0.0.1/24 dev p0")
    daemon.run("ip link set p0 up")
    (daemon.dir / "stuck").touch()
    daemon.run("arping -c 3 -w 3 -I p0 10.0.0.9" if subprocess.run(["which", "arping"], capture_output=True).returncode == 0
               else "ping -c 2 -W 1 10.0.0.9", check=False)
    systemd.abort_when_it_is_not_fed(daemon.process.pid)
    assert wait_for_end(daemon) == -signal.SIGABRT
    text = notes(daemon)[0].read_text()
    found = fields(text)
    assert found["stuck"] == found["thread"] and found["thread"].startswith("forwarder/"), text
    assert found["stage"] == "tx", text
    assert "the watchdog is not fed: thread=forwarder/" in daemon.log.read_text()
