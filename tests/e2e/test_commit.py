# SPDX-License-Identifier: BSD-3-Clause
"""Commits of a living kamueed: kept over restarts and kill -9, undone when nobody confirms, together with other editors."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kamuee.errors import DaemonError
from kamuee.lab import rights

from support import eventually

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))
from terminal import Terminal  # noqa: E402

P0 = "set port p0 devargs net_af_packet0,iface=a0\n"
ROOT = Path(__file__).resolve().parents[2]


def mtu(daemon) -> int:
    return daemon.client.state("port=p0")[0]["mtu"]


def revisions(daemon) -> list[dict]:
    return daemon.client.state("configuration")["revision"]


def kamuee(daemon, *words: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "kamuee", "--socket", str(daemon.socket), *words], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "cli")})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_commit_survives_kill_9_and_the_file_counts_when_it_is_newer(daemon):
    daemon.start(P0)
    for size in range(2000, 2010):
        daemon.configure(f"set port p0 mtu {size}")
    committed = daemon.running()
    daemon.process.kill()
    daemon.process.wait()
    daemon.start(P0)                                        # the same file
    assert daemon.running() == committed and mtu(daemon) == 2009
    assert len(revisions(daemon)) == 11
    daemon.stop()
    daemon.start(P0 + "set port p0 mtu 1800\n")             # somebody has edited it
    assert mtu(daemon) == 1800
    assert kamuee(daemon, "rollback", "1").splitlines()[0] == "set port p0 mtu 2009"
    assert mtu(daemon) == 2009


def test_what_nobody_confirms_goes_back_by_itself_and_by_a_restart(daemon):
    daemon.start(P0)
    daemon.client.call("configure", line=["set port p0 mtu 1400", "set vport v7 port p0 vlan 7"], confirm_within=1)
    eventually(lambda: mtu(daemon) == 1500 and "v7" not in daemon.links(), 30, "it goes back")
    eventually(lambda: [(r.get("back"), r["confirmed"]) for r in revisions(daemon)] == [(None, False), (0, True)], 10,
               "the revision counts as rolled back")
    daemon.client.call("configure", line=["set port p0 mtu 1400"], confirm_within=600)
    with pytest.raises(DaemonError, match=r"a commit by root must be confirmed \('confirm'\) or will be rolled back in"):
        daemon.configure("set port p0 promiscuous false")
    assert "must be confirmed" in daemon.reload(P0 + "set port p0 mtu 1300\n")
    daemon.process.kill()
    daemon.process.wait()
    daemon.start(P0)
    assert mtu(daemon) == 1500
    daemon.client.call("configure", line=["set port p0 mtu 1400"], confirm_within=600)
    daemon.client.call("confirm")
    daemon.stop()
    daemon.start(P0)
    assert mtu(daemon) == 1400


def test_two_people_edit_and_nothing_is_lost(daemon, tmp_path):
    daemon.start(P0)
    script = tmp_path / "script"
    script.write_text("configure\nset port p0 mtu 1600\nset vport v7 port p0 vlan 7\nexit keep\n")
    back = re.search(r"'(configure \d+)' resumes it", kamuee(daemon, "-f", str(script))).group(1)
    assert "also editing: root, for 00:00:" in kamuee(daemon, "-c", "configure", "-c", "exit")
    daemon.configure("set port p0 promiscuous false")
    assert mtu(daemon) == 1500
    said = kamuee(daemon, "-c", back, "-c", "commit comment both of us", "-c", "exit")
    assert "set port p0 mtu 1600" in said and "others have committed since you began" in said
    assert mtu(daemon) == 1600 and daemon.client.state("port=p0")[0]["promiscuous"] is False
    assert revisions(daemon)[0]["comment"] == "both of us" and revisions(daemon)[0]["by"] == "root"
    said = kamuee(daemon, "-c", "configure", "-c", "set port p0 mtu 1700", "-c", "check", "-c", "set port p0 rx-queues 1", "-c", "discard",
                  "-c", "exit")
    assert said == "valid; would change:\nset port p0 mtu 1700\n"
    assert mtu(daemon) == 1600
    assert "session" in kamuee(daemon, "configure", "99", code=1)


def test_who_outlives_kamueed_does_not_edit_what_is_somebody_elses(daemon):
    daemon.start(P0)
    mine = daemon.client.call("session-open")["session"]
    daemon.stop()
    daemon.start(P0)
    theirs = daemon.client.call("session-open")["session"]
    with pytest.raises(DaemonError, match="session"):
        daemon.client.call("edit", session=mine, line=["set port p0 mtu 2000"])
    daemon.client.call("edit", session=theirs, line=["set port p0 mtu 2000"])


def test_a_change_that_no_disk_keeps_is_refused(daemon):
    daemon.start(P0)
    state = daemon.dir / "state"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", str(state)], check=True)  # room for a page
    try:
        with pytest.raises(DaemonError, match="No space left on device; free disk space"):
            daemon.configure("set port p0 mtu 2000", *[f"set vport v{i} port p0 vlan {i}" for i in range(1, 200)])
        assert mtu(daemon) == 1500 and "v7" not in daemon.links()
    finally:
        subprocess.run(["umount", str(state)], check=True)
    daemon.configure("set port p0 mtu 2000")
    assert mtu(daemon) == 2000


def test_a_last_commit_that_cannot_be_applied_says_how_to_start_without_it(daemon):
    daemon.start(P0)
    daemon.configure("set port p1 devargs net_af_packet1,iface=a1")
    daemon.stop()
    daemon.run("ip link del a1")
    code, said = daemon.refused(P0)
    assert code == 1 and "state/revision-2.conf:" in said and "port p1: there is no kernel interface a1" in said
    assert f"to start with {daemon.file} instead, change that file or use --from-file" in said
    daemon.start(P0 + "# it is gone\n")
    assert "port p1" not in daemon.running()


def mount_state(state, options: str) -> None:
    """A disk of its own, which is kamueed's, as the directory below it."""
    state.mkdir()
    rights.give(state)
    uid, gid = rights.ids() or (0, 0)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{options},uid={uid},gid={gid}", "none", str(state)], check=True)


def full(state) -> None:
    """A state directory on a disk without room."""
    mount_state(state, "size=4k")
    (state / "other").write_bytes(bytes(4096))


def read_only(state) -> None:
    mount_state(state, "ro")


@pytest.mark.parametrize("spoil, said", [(full, "No space left on device"), (read_only, "Read-only file system")])
def test_it_starts_without_a_disk_that_takes_a_revision_forwards_and_commits_once_it_does(daemon, spoil, said):
    state = daemon.dir / "state"
    spoil(state)
    try:
        daemon.start(P0)
        assert said in daemon.log.read_text()
        assert daemon.client.state("interface=p0")[0]["status"] == "up"
        with pytest.raises(DaemonError, match=f"nothing was changed: .*{said}"):
            daemon.configure("set port p0 mtu 2000")
        assert mtu(daemon) == 1500
    finally:
        subprocess.run(["umount", str(state)], check=True)
    daemon.configure("set port p0 mtu 2000")
    assert mtu(daemon) == 2000


def read_only_now(state) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(state)], check=True)


def writable_again(state) -> None:
    subprocess.run(["mount", "-o", "remount,rw", str(state)], check=True)


def full_now(state) -> None:
    with pytest.raises(OSError, match="No space left on device"):
        (state / "other").write_bytes(bytes(1 << 20))


def room_again(state) -> None:
    (state / "other").unlink()


@pytest.mark.parametrize("spoil, mend, said, remedy", [
    (read_only_now, writable_again, "Read-only file system", "make the file system writable"),
    (full_now, room_again, "No space left on device", "free disk space")])
def test_a_disk_that_takes_nothing_any_more_costs_no_commit_but_those_it_would_not_keep(daemon, spoil, mend, said, remedy):
    state = daemon.dir / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(state)], check=True)
    try:
        daemon.start(P0)
        daemon.configure("set port p0 mtu 1400")
        before, kept = daemon.running(), revisions(daemon)
        daemon.client.call("configure", line=["set port p0 mtu 1600"], confirm_within=1)
        spoil(state)
        eventually(lambda: mtu(daemon) == 1400, 30, "what nobody confirms goes back without the disk, too")
        for line in ("set port p0 mtu 2000", "set vport v7 port p0 vlan 7"):
            with pytest.raises(DaemonError, match=rf"nothing was changed: cannot store the revision: {state}/revision-\d+.conf: {said}; {remedy}"):
                daemon.configure(line)
        assert daemon.running() == before and mtu(daemon) == 1400 and "v7" not in daemon.links()
        assert [r["id"] for r in revisions(daemon) if r["confirmed"]] == [r["id"] for r in kept]
        assert daemon.client.call("configure", line=["set port p0 mtu 2000"], check=True)["change"] == ["set port p0 mtu 2000"]
        mend(state)
        daemon.configure("set port p0 mtu 2000")
        assert mtu(daemon) == 2000
        assert not list(state.glob("*.new"))
        daemon.process.kill()
        daemon.process.wait()
        daemon.start(P0)
        assert mtu(daemon) == 2000
    finally:
        daemon.stop()
        subprocess.run(["umount", str(state)], check=True)


def test_a_confirmation_that_no_disk_keeps_is_refused_and_can_be_given_again(daemon):
    state = daemon.dir / "state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(state)], check=True)
    try:
        daemon.start(P0)
        daemon.client.call("configure", line=["set port p0 mtu 1600"], confirm_within=600)
        read_only_now(state)
        with pytest.raises(DaemonError, match="cannot store the confirmation: .*Read-only file system; make the file system writable"):
            daemon.client.call("confirm")
        assert daemon.client.state("configuration")["unconfirmed"]["by"] == "root"
        writable_again(state)
        daemon.client.call("confirm")
        assert mtu(daemon) == 1600 and revisions(daemon)[0]["confirmed"]
    finally:
        daemon.stop()
        subprocess.run(["umount", str(state)], check=True)


def test_what_a_kamueed_with_another_schema_committed_is_told_by_line_and_left_aside(daemon, tmp_path, monkeypatch):
    """The other kamueed knows a leaf of ports that ours does not know."""
    shutil.copytree(ROOT / "yang", tmp_path / "yang")
    schema = tmp_path / "yang" / "kamuee.yang"
    text = schema.read_text()
    assert text.count("leaf promiscuous {") >= 1
    schema.write_text(text.replace("leaf promiscuous {", 'leaf color { type string; description "Of the cable."; }\n    leaf promiscuous {', 1))
    with monkeypatch.context() as other:
        other.setenv("KAMUEE_YANG_DIR", str(schema.parent))
        daemon.start(P0)
        daemon.configure("set port p0 mtu 1600 color red")
        daemon.stop()
    code, said = daemon.refused(P0)
    assert code == 3, said
    assert re.search(r"state/revision-2.conf:\d+: port p0: unknown word 'color', expected one of ", said), said
    assert f"to start with {daemon.file} instead, change that file or use --from-file" in said
    daemon.start(P0, "--from-file")
    assert mtu(daemon) == 1500
    before = daemon.running()
    said = kamuee(daemon, "rollback", "1", code=1)
    assert re.search(r"error: line \d+: port p0: unknown word 'color'", said), said
    found = re.search(r"copy (\S+), correct these lines in the copy, then\s+'load replace' it", said)
    assert found, said
    assert daemon.running() == before
    old = Path(found[1]).read_text()
    copy = tmp_path / "copy"
    copy.write_text(old)
    said = kamuee(daemon, "load", "replace", str(copy), code=1)
    assert re.search(r"line \d+: port p0: unknown word 'color'", said) and daemon.running() == before
    copy.write_text(re.sub(r"set port p0 color red\n", "", old))
    kamuee(daemon, "load", "replace", str(copy))
    assert mtu(daemon) == 1600


class Talk:
    """A talk of the command line in a terminal of its own, by whoever came by sudo."""

    def __init__(self, daemon, who: str):
        self.terminal = Terminal(["--socket", str(daemon.socket)], SUDO_USER=who)
        self.terminal.until(r"\w>")

    def say(self, line: str, answer: str) -> str:
        self.terminal.type(line + "\r")
        return self.terminal.until(answer)


@pytest.fixture
def alice(daemon):
    daemon.start(P0)
    talk = Talk(daemon, "alice")
    yield talk
    talk.terminal.close()


@pytest.fixture
def bob(daemon, alice):
    talk = Talk(daemon, "bob")
    yield talk
    talk.terminal.close()


def test_another_sessions_commit_confirms_nothing_though_both_are_root(daemon, alice, bob):
    alice.say("configure", r"\[edit\]#")
    alice.say("set port p0 mtu 1400", r"\[edit\*\]#")
    alice.say("commit confirmed 1", r"rolled back in 1 min(?s:.*)\[edit, rollback in")
    bob.say("configure", r"a commit by root \(alice\) in session \d+ will be rolled back in \d+ s(?s:.*)\[edit\]#")
    bob.say("set port p0 promiscuous false", r"\[edit\*\]#")
    bob.say("commit", r"nothing was committed: a commit by root \(alice\) in session \d+ must be confirmed(?s:.*)\[edit\*\]#")
    bob.say("confirm", r"Confirm it on behalf of root \(alice\)\? \[y/N\] ")
    bob.say("", r"nothing was confirmed(?s:.*)\[edit\*\]#")
    assert "nothing was confirmed" in kamuee(daemon, "confirm", code=2)
    assert daemon.client.state("configuration")["unconfirmed"]["by"] == "root (alice)"
    alice.say("commit", r"the pending commit is confirmed(?s:.*)\[edit\]#")
    bob.say("commit comment later", r"committed(?s:.*)\[edit\]#")
    assert [(r["by"], r["confirmed"], r["first-change"]) for r in revisions(daemon)[:2]] == [
        ("root (bob)", True, "set port p0 promiscuous false"), ("root (alice)", True, "set port p0 mtu 1400")]
    shown = kamuee(daemon, "show", "configuration", "revisions")
    assert "root (alice)" in shown and "set port p0 mtu 1400" in shown
    assert 'by="root (bob)"' in daemon.log.read_text()


def test_what_a_dead_terminal_committed_is_rolled_back_in_time(daemon, alice):
    alice.say("configure", r"\[edit\]#")
    alice.say("set port p0 mtu 1400", r"\[edit\*\]#")
    alice.say("commit confirmed 1", r"\[edit, rollback in")
    alice.terminal.process.kill()
    assert mtu(daemon) == 1400
    waiting = daemon.client.state("configuration")["unconfirmed"]
    with pytest.raises(DaemonError, match="nothing was confirmed: a commit by root \\(alice\\) in session"):
        daemon.client.call("confirm")
    eventually(lambda: mtu(daemon) == 1500, 90, "it is rolled back")
    eventually(lambda: [r.get("back") for r in revisions(daemon)] == [None, 0], what="the revision says so")
    assert revisions(daemon)[0]["id"] == waiting["id"]
    assert "expected 0 to 0" in kamuee(daemon, "rollback", "1", code=1)
    daemon.configure("set port p0 promiscuous false")
    assert kamuee(daemon, "rollback", "1", "--check").splitlines()[1:] == ["delete port p0 promiscuous"]


def test_a_session_that_ended_leaves_its_commit_to_the_person(daemon, alice, bob):
    alice.say("configure", r"\[edit\]#")
    alice.say("set port p0 mtu 1400", r"\[edit\*\]#")
    alice.say("commit confirmed 5", r"\[edit, rollback in")
    alice.say("exit", r"\w\[rollback in [\d:]+\]>")
    bob.say("confirm", r"Confirm it on behalf of root \(alice\)\? \[y/N\] ")
    bob.say("n", r"nothing was confirmed(?s:.*)>")
    alice.say("confirm", r"confirmed(?s:.*)\w>")
    assert revisions(daemon)[0]["confirmed"]


def test_rollback_outside_of_configure_shows_and_asks(daemon, alice):
    daemon.configure("set port p0 mtu 1400")
    alice.say("rollback 1", r"delete port p0 mtu(?s:.*)Apply these changes now\? \[y/N\] ")
    alice.say("", r"nothing was changed(?s:.*)>")
    assert mtu(daemon) == 1400
    alice.say("rollback 1", r"\[y/N\] ")
    alice.say("y", r"\w>")
    assert mtu(daemon) == 1500


def test_the_description_is_the_alias_in_linux_and_the_other_way_round(daemon):
    daemon.start(P0 + "set vport v7 port p0 vlan 7\n")

    def alias(name: str) -> str:
        return json.loads(daemon.run(f"ip -j link show dev {name}"))[0].get("ifalias", "")

    def described(name: str) -> str | None:
        return daemon.client.state(f"interface={name}")[0].get("description")
    assert described("p0") is None
    daemon.configure('set interface p0 description "to the \\"core\\""', "set interface v7 description customers")
    assert (alias("p0"), alias("v7")) == ('to the "core"', "customers")
    assert described("p0") == 'to the "core"'
    assert 'description     to the "core"' in kamuee(daemon, "show", "interface", "p0")
    daemon.run("ip link set dev v7 alias elsewhere")
    assert described("v7") == "customers"
    daemon.configure("delete interface v7 description")
    assert described("v7") is None
    daemon.run("ip link set dev v7 alias elsewhere")
    assert described("v7") == "elsewhere"
    daemon.stop()
    daemon.start(P0 + "set vport v7 port p0 vlan 7\n")
    assert described("p0") == 'to the "core"' and described("v7") == "elsewhere"
