# SPDX-License-Identifier: BSD-3-Clause
"""docs/features/rights.md: the capabilities of each feature. Each row with exactly its capabilities, and with each of them taken away."""
import contextlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kamuee.errors import DaemonError
from kamuee.lab import rights

from daemon import Daemon

ROOT = Path(__file__).resolve().parents[2]
CALL = {"CAP_NET_ADMIN", "CAP_NET_RAW"}    # without these it does not start
USER = "64000"
# The configuration of a row, by the first words of the row; and the refused part, with its message.
ROWS = {
    "kamueed itself: TAPs": ("", ""),
    "kamueed itself: packet sockets": ("", ""),
    "network namespaces": ("set vr blue namespace rights-other\n", "vr blue"),
    "`net_af_xdp`": ("set port p0 devargs net_af_xdp0,iface=a0\n", "port p0"),
    "`kernel-interface`": ("set port p0 kernel-interface a0\nset port p1 devargs net_memif0\nset port p2 devargs net_null0\n", ""),
}


def table() -> dict[str, set[str]]:
    lines = (ROOT / "docs/features/rights.md").read_text().partition("## Under systemd")[0].splitlines()
    cells = [line.split("|")[1:3] for line in lines if line.startswith("| ")]
    return {what.strip(): set(re.findall(r"CAP_\w+", needs)) for what, needs in cells if what.strip() != "for"}


def needs(row: str) -> set[str]:
    """Of this row, and of kamueed itself; locked memory is short wherever a test needs to see that."""
    found, = (capabilities for what, capabilities in table().items() if what.startswith(row))
    return found | CALL | ({"CAP_IPC_LOCK"} if "xdp" in row else set())


@pytest.fixture
def limited(daemon: Daemon, monkeypatch):
    """limited(CAPABILITIES): the daemon to be started with these, as an ordinary user, with 8 MiB of locked memory."""
    monkeypatch.setenv("KAMUEED_USER", rights.ids() and str(rights.ids()[0]) or USER)

    def with_these(capabilities: set[str]) -> Daemon:
        def command(*more: str) -> list[str]:
            rights.give(daemon.dir)
            plain = ["prlimit", "--memlock=8388608:8388608", daemon.binary, "--config", str(daemon.file), "--run-dir", str(daemon.dir), "--memory",
                     "128", "--no-huge", *more]
            held = tuple(sorted(name.removeprefix("CAP_").lower() for name in capabilities))
            return ["nsenter", f"--net=/run/netns/{daemon.name}", *rights.restricted(plain, held)]
        daemon.command = command
        return daemon
    subprocess.run(["ip", "netns", "add", "rights-other"], check=True)
    yield with_these
    daemon.stop()
    subprocess.run(["ip", "netns", "del", "rights-other"], check=True)


def test_every_row_is_tested_or_needs_what_is_not_here():
    elsewhere = ("a card under vfio", "a card of mlx5", "pinning")
    rows = table()
    assert len(rows) == 8
    for what in rows:
        assert what.startswith(tuple(ROWS)) or what.startswith(elsewhere), what


@pytest.mark.parametrize("row", ROWS)
def test_a_row_needs_no_more(limited, row):
    config, _ = ROWS[row]
    limited(needs(row)).start(config)


@pytest.mark.parametrize("row, without", [(row, name) for row in ROWS for name in sorted(needs(row))])
def test_and_each_of_them_and_says_which(limited, row, without):
    config, what = ROWS[row]
    if without in CALL and not row.startswith("kamueed itself"):
        pytest.skip("a row of its own")
    code, said = limited(needs(row) - {without}).refused(config)
    assert code == (5 if without in CALL else 1) and f"{without}" in said and "missing" in said and what in said, said


def test_a_namespace_of_its_own_needs_somebody_who_names_it(limited, monkeypatch):
    monkeypatch.delenv("KAMUEE_NETNS", raising=False)
    daemon = limited(needs("network namespaces")).start("")
    with pytest.raises(DaemonError, match="start kamuee-netns"):
        daemon.configure("set vr blue")


def test_a_running_one_is_filtered_in_all_its_threads(limited):
    daemon = limited(needs("`kernel-interface`")).start(ROWS["`kernel-interface`"][0])
    texts = {}
    for thread in Path(f"/proc/{daemon.process.pid}/task").iterdir():
        with contextlib.suppress(OSError):                   # it has ended meanwhile
            texts[thread] = (thread / "status").read_text()
    assert len(texts) > 3
    for thread, text in texts.items():
        status = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1" and status["Uid"].split() == [USER] * 4, (thread, status)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
@pytest.mark.parametrize("name, added, most", [("kamueed", "", 2.0), ("kamueed", "namespaces.conf", 2.3), ("kamuee-proxy", "", 1.9)])
def test_a_unit_is_rated(kamueed, tmp_path, name, added, most):
    unit = tmp_path / f"{name}.service"
    unit.write_text((Path(kamueed).resolve().parent / f"src/main/{name}.service").read_text())
    if added:      # what a drop-in adds; --offline reads no drop-ins
        unit.write_text(unit.read_text().replace("[Install]", (ROOT / "deploy" / added).read_text().partition("[Service]")[2] + "[Install]"))
    said = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True)
    rated = float(re.search(r"Overall exposure level for \S+: ([\d.]+)", said.stdout)[1])
    assert rated <= most, said.stdout
