# SPDX-License-Identifier: BSD-3-Clause
"""Log lines come to the journal as fields, with message ids: to a socket of ours, byte by byte, and to the real journald."""
import json
import re
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from daemon import Daemon
from support import eventually

ROOT = Path(__file__).resolve().parents[2]
CONFIG = """
set port p0 devargs net_af_packet0,iface=a0
"""
# In its own mount namespace: the journal's socket, where sd-journal looks for it; its input goes to a file. Then kamueed.
JOURNAL = """
import os, socket, subprocess, sys
subprocess.run("mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal", shell=True, check=True)
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/run/systemd/journal/socket")
parent = os.getpid()
if not os.fork():
    s.settimeout(0.2)
    with open(sys.argv[1], "w") as file:
        while os.getppid() == parent:
            try: print(s.recv(1 << 18).hex(), file=file, flush=True)
            except TimeoutError: pass
    os._exit(0)
s.close()
where = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{where.st_dev}:{where.st_ino}"
os.chmod("/run/systemd/journal/socket", 0o777)
os.execvp(sys.argv[2], sys.argv[2:])
"""


# The same with the real journald, which ends with kamueed; it keeps entries in memory and leaves the kernel's lines alone.
REAL = """
import ctypes, os, signal, subprocess, sys, time
subprocess.run("mount --make-rprivate / && mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal /run/systemd/journald.conf.d",
               shell=True, check=True)
with open("/run/systemd/journald.conf.d/test.conf", "w") as file:
    file.write("[Journal]\\nStorage=volatile\\nReadKMsg=no\\nRateLimitBurst=0\\n")
subprocess.Popen(["/lib/systemd/systemd-journald"], preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM))
while not os.path.exists("/run/systemd/journal/socket"): time.sleep(0.05)
where = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{where.st_dev}:{where.st_ino}"
os.execvp(sys.argv[1], sys.argv[1:])
"""


def entry(data):
    """One message of systemd's native protocol: KEY=VALUE lines, or KEY, length and bytes."""
    found = {}
    while data:
        line, _, data = data.partition(b"\n")
        key, equals, value = line.partition(b"=")
        if not equals:
            size, = struct.unpack_from("<Q", data)
            value, data = data[8:8 + size], data[8 + size + 1:]
        found[key.decode()] = value.decode()
    return found


class Journaled(Daemon):
    def command(self, *more):
        nsenter, net, *rest = super().command(*more)
        return [nsenter, net, "unshare", "--mount", sys.executable, "-c", JOURNAL, str(self.dir / "journal"), *rest]

    def entries(self):
        return [entry(bytes.fromhex(line)) for line in (self.dir / "journal").read_text().splitlines()]

    def find(self, what):
        return eventually(lambda: [e for e in self.entries() if e.get("KAMUEE_WHAT") == what], 20,
                          lambda: json.dumps(self.entries(), indent=1)[-3000:])


@pytest.fixture
def daemon(kamueed):
    daemon = Journaled(kamueed, "e2e-log")
    try:
        yield daemon.start(CONFIG)
    finally:
        daemon.end()


def ids():
    text = (ROOT / "src/base/log_id.def").read_text()
    return dict(re.findall(r'^LOG_ID\("(.*)", "(.*)"\)$', text, re.M))


def test_lines_are_entries_with_fields_and_message_ids(daemon):
    ready = daemon.find("ready")[0]
    assert ready["MESSAGE_ID"] == ids()["main: ready"] and ready["PRIORITY"] == "5" and ready["KAMUEE_MODULE"] == "main"
    assert ready["MESSAGE"].startswith("main: ready: version=") and ready["KAMUEE_VERSION"] and ready["SYSLOG_IDENTIFIER"] == "kamueed"
    attached = daemon.find("attached")[0]
    assert attached["KAMUEE_PORT"] == "p0" and attached["PRIORITY"] == "6" and "KAMUEE_RX_OFFLOADS" in attached
    daemon.run("ip link set b0 down")
    link = daemon.find("link")
    assert {e["MESSAGE_ID"] for e in link} == {ids()["port_manager: link"]}
    assert eventually(lambda: [e for e in daemon.find("link") if e["KAMUEE_STATE"] == "down" and e["KAMUEE_PORT"] == "p0"], 20, str(link))
    daemon.configure("set log-level debug")
    changed = daemon.find("changed")[-1]
    assert changed["KAMUEE_BY"] and changed["MESSAGE_ID"] == ids()["config: changed"]
    assert daemon.log.read_text() == ""      # nothing twice


class ReallyJournaled(Daemon):
    def command(self, *more):
        nsenter, net, *rest = super().command(*more)
        return [nsenter, net, "unshare", "--mount", sys.executable, "-c", REAL, *rest]

    def find(self, *matches):
        """Entries, the oldest first, as journalctl has them."""
        said = subprocess.run(["nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt", "journalctl", "-q", "-o", "json", "--no-pager", *matches],
                              capture_output=True, text=True, check=True).stdout
        return [json.loads(line) for line in said.splitlines()]


@pytest.mark.skipif(not shutil.which("journalctl"), reason="no systemd here: make deps")
def test_the_real_journal_finds_them_by_message_id_and_field(kamueed):
    daemon = ReallyJournaled(kamueed, "e2e-journald")
    try:
        daemon.start(CONFIG)
        ready, = eventually(lambda: daemon.find(f"MESSAGE_ID={ids()['main: ready']}"), 20, lambda: str(daemon.find()))
        assert ready["PRIORITY"] == "5" and ready["_PID"] == str(daemon.process.pid) and ready["_TRANSPORT"] == "journal"
        assert ready["SYSLOG_IDENTIFIER"] == "kamueed" and ready["MESSAGE"].startswith("main: ready: version=")
        daemon.run("ip link set b0 down")
        link = f"MESSAGE_ID={ids()['port_manager: link']}"
        eventually(lambda: [e["KAMUEE_STATE"] for e in daemon.find(link, "KAMUEE_PORT=p0")][-1:] == ["down"], 20, lambda: str(daemon.find(link)))
        assert daemon.find(link, "KAMUEE_PORT=p1") == []
        daemon.client.call("configure", line=["set log-level debug"], comment='why "not" by=nobody second line')
        changed, = eventually(lambda: daemon.find(f"MESSAGE_ID={ids()['config: changed']}", "KAMUEE_CONFIRM=0", "KAMUEE_LINES=1"), 20,
                              lambda: str(daemon.find()))
        assert "\n" not in changed["MESSAGE"] and changed["KAMUEE_BY"] != "nobody"
        assert changed["KAMUEE_COMMENT"] == "why 'not' by=nobody second line"
        assert [e for e in daemon.find("-p", "warning") if int(e["PRIORITY"]) > 4] == []
        assert daemon.log.read_text() == ""
    finally:
        daemon.end()


def test_work_that_takes_long_is_told_to_the_log_and_to_systemd(kamueed, tmp_path, monkeypatch):
    notify, rules = tmp_path / "notify", tmp_path / "rules"
    rules.write_text("10 permit tcp\n" + "# the file says how long it is\n" * 1_000_000)
    monkeypatch.setenv("NOTIFY_SOCKET", str(notify))
    daemon = Daemon(kamueed, "lw-e2e")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(notify))
        notify.chmod(0o777)
        systemd.settimeout(30)
        try:
            daemon.start(f"set acl edge file {rules}\n")
            said, patience = [], False
            while "READY=1\nSTATUS=ready" not in said:
                said.append(systemd.recv(4096).decode())
                patience = patience or said[-1].startswith("EXTEND_TIMEOUT_USEC=")
                if not said[-1].startswith(("STATUS=", "READY=")):
                    said.pop()
        finally:
            daemon.end()
    assert patience
    reading, read, *_ = [line for line in said if "acl_manager" in line]      # on a busy machine, other steps may take long enough to be told
    assert reading == f"STATUS=acl_manager: reading: acl=edge file={rules}"
    assert re.fullmatch(r"STATUS=acl_manager: read: acl=edge rules=1 ms=\d+", read)


def test_the_groups_of_the_socket_are_made_where_they_are_missing(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/group").write_text("root:x:0:\nkamuee:x:777:\n")
    for _ in range(2):                                   # the second time there is nothing to do
        subprocess.run([ROOT / "deploy/make-groups", ROOT / "deploy/kamuee.sysusers", tmp_path], check=True, capture_output=True)
        groups = [line.split(":")[0] for line in (tmp_path / "etc/group").read_text().splitlines()]
        assert sorted(groups) == ["kamuee", "kamuee-oper", "kamuee-read", "root"]
    assert "kamuee:x:777:" in (tmp_path / "etc/group").read_text()
