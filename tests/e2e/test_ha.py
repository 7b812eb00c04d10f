# SPDX-License-Identifier: BSD-3-Clause
"""kamuee ha: shared configuration reaches all peers or none, for any failure at any time."""
import os
import subprocess
from pathlib import Path

import pytest

from kamuee import ha
from kamuee.client import Client
from kamuee.errors import KamueeError, Unreachable

from daemon import Daemon
from proxy import tls
from support import eventually

KAMUEE = Path(__file__).resolve().parents[2] / "kamuee"
OURS = "set acl edge rule 10 deny tcp from 192.0.2.0/24 to any\nset acl edge default permit\nset policer gold kind srtcm cir 1M cbs 9000\n"
THEIRS = "set acl old default permit\nset log-level debug\n"
PORT, TOKEN = 8443, "ha-push-is-a-long-secret"


@pytest.fixture(scope="module")
def daemons(kamueed):
    """The pushing one, and three peers."""
    found = [Daemon(kamueed, f"ha-e2e-{i}") for i in range(4)]
    try:
        found[0].start(OURS)
        for daemon in found[1:]:
            daemon.start(THEIRS)
        yield found
    finally:
        for daemon in found:
            daemon.end()


@pytest.fixture(autouse=True)
def as_before(daemons):
    yield
    for daemon in daemons[1:]:
        daemon.client.call("configure", text=THEIRS, replace=True, confirm=True)


@pytest.fixture
def file(daemons, tmp_path):
    file = tmp_path / "ha.conf"
    peers = "".join(f"peer k{i} unix:{daemon.socket}\n" for i, daemon in enumerate(daemons[1:], 1))
    file.write_text(f"share acl policer   # and nothing else\n{peers}")
    return file


def kamuee(daemons, file, *words: str) -> tuple[int, str]:
    done = subprocess.run([str(KAMUEE), "--socket", str(daemons[0].socket), *words], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "KAMUEE_HA": str(file)})
    return done.returncode, done.stdout + done.stderr


def running(daemon: Daemon) -> set[str]:
    return set(daemon.running().splitlines())


def waits(daemon: Daemon) -> bool:
    return any(not revision["confirmed"] and "back" in revision for revision in daemon.client.state("configuration")["revision"])


def assert_untouched(daemons) -> None:
    for daemon in daemons[1:]:
        if daemon.process:
            assert running(daemon) == set(THEIRS.splitlines()) and not waits(daemon)


def test_a_push_gives_all_what_is_shared_and_leaves_the_rest(daemons, file):
    code, said = kamuee(daemons, file, "ha", "check")
    assert code == 0 and "k1: 6 changes" in said and "delete acl old" in said, said
    assert_untouched(daemons)
    code, said = kamuee(daemons, file, "ha", "push")
    assert code == 0 and said.splitlines() == ["k1: 6 changes", "k2: 6 changes", "k3: 6 changes"], said
    for daemon in daemons[1:]:
        assert running(daemon) == running(daemons[0]) | {"set log-level debug"}
        assert not waits(daemon)
        assert "ha push from" in daemon.client.state("configuration")["revision"][0]["comment"]
    assert kamuee(daemons, file, "ha", "push") == (0, "k1: no change\nk2: no change\nk3: no change\n")


def test_what_one_peer_refuses_nobody_gets(daemons, file):
    daemons[3].configure("set port p0 devargs net_null0", "set interface p0 acl in old")
    before = running(daemons[3])
    code, said = kamuee(daemons, file, "ha", "push")
    assert code == 1 and "k3: " in said and "old" in said, said
    assert running(daemons[3]) == before
    assert_untouched(daemons[:3])


def test_a_peer_that_cannot_be_reached_stops_the_push(daemons, file):
    file.write_text(file.read_text().replace(str(daemons[2].socket), "/nowhere/kamuee.sock"))
    code, said = kamuee(daemons, file, "ha", "push")
    assert code == 3 and "k2: cannot reach kamueed at /nowhere/kamuee.sock" in said, said
    assert_untouched(daemons)


class Context:
    def __init__(self, client):
        self.client, self.said = client, []

    def line(self, text: str) -> None:
        self.said.append(text)


@pytest.mark.parametrize("round_", ["commit", "confirm"])
def test_a_peer_that_is_lost_in_the_middle_leaves_all_with_the_old_one(daemons, file, monkeypatch, round_):
    """The third one is lost when the others have committed, or even confirmed; it rolls back by itself."""
    monkeypatch.setenv("KAMUEE_HA", str(file))
    monkeypatch.setattr(ha, "CONFIRM_S", 6)     # on a busy machine, too, all are committed and confirmed in less
    real, lost = Client._ask, []

    def ask(self, method, target, body, timeout_s):
        mine = self.path == str(daemons[3].socket)
        if mine and round_ == "commit" and b"confirm-within" in (body or b"") or mine and round_ == "confirm" and target.endswith(":confirm"):
            lost.append(target)
            if round_ == "commit":
                real(self, method, target, body, timeout_s)            # it was done, and the answer is lost
        if mine and lost:
            raise Unreachable("the line is cut")
        return real(self, method, target, body, timeout_s)
    monkeypatch.setattr(Client, "_ask", ask)
    context = Context(daemons[0].client)
    with pytest.raises(KamueeError, match="k3: the line is cut"):
        ha.push(context, None)
    monkeypatch.setattr(Client, "_ask", real)
    assert [line.partition(":")[0] for line in context.said] == ["k1", "k2", "k3"] and "rolls back by itself" in context.said[2]
    eventually(lambda: not waits(daemons[3]), 20, "the third one rolls back")
    assert_untouched(daemons)


def test_by_tls_with_a_token(daemons, tmp_path):
    peer = daemons[1]
    peer.credentials(TOKEN)
    peer.configure(f"set api tokens {peer.dir}/tokens")
    peer.serve(tls(peer, f"127.0.0.1:{PORT}"))
    token, file = tmp_path / "token", tmp_path / "ha.conf"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    file.write_text(f"share policer\npeer k1 https://127.0.0.1:{PORT} token {token} ca {peer.dir}/cert.pem\n")
    run = lambda: subprocess.run(["nsenter", f"--net=/run/netns/{peer.name}", str(KAMUEE), "--socket", str(daemons[0].socket), "ha", "push"],  # noqa: E731
                                 capture_output=True, text=True, timeout=120, env={**os.environ, "KAMUEE_HA": str(file)})
    done = run()
    assert (done.returncode, done.stdout) == (0, "k1: 3 changes\n"), done.stderr
    assert "set policer gold kind srtcm" in peer.running() and "acl edge" not in peer.running()
    token.write_text("wrong\n")
    assert run().returncode == 1
    token.chmod(0o644)
    assert "others can read it" in run().stderr
    file.write_text(f"share policer\npeer k1 http://127.0.0.1:{PORT}\n")
    assert "without TLS a token would be readable" in run().stderr
