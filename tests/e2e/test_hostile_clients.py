# SPDX-License-Identifier: BSD-3-Clause
"""Two hundred clients that may only read, or only change a virtual router, ask for all there is, and some read no answer: others are served,
and memory stays.

    PATIENCE=1    the bounds as they are, for an otherwise idle machine (default: 3)
"""
import grp
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

RULES, ROUTES, ACTING_S = 20_000, 60_000, 5
MEDIAN_S, WORST_S = 0.1, 0.3
GROWTH = 96 << 20       # unread answers may have 64 MB; the rest is for answers at work and their requests
PATIENCE = float(os.environ.get("PATIENCE", 3))        # the bounds of docs/features/security.md are those of an idle machine
READER, TENANT = "staff", "games"       # groups of the clients; the virtual router has the name of its group
MIXES = {
    "unread": "unread 200",
    "read": "read 100 fields 50 depth 50",
    "changes": "changes 200",
    "mixed": "unread 40 changes 30 complete 30 fields 30 depth 30 small 20 header 20",
    "pipelined": "small 60 header 60 metrics 60 lines 20",
    "tenant": "commit 60 uncommit 40 unread 40 read 20 complete 20 small 20",
}


def small_get(daemon) -> float:
    asked = time.monotonic()
    assert daemon.client.state("system")["pid"] == daemon.process.pid
    return time.monotonic() - asked


def asked_for(daemon, seconds: float) -> tuple[list[float], int]:
    """How long each small GET took, and how much memory there was at most."""
    until, took, most = time.monotonic() + seconds, [], 0
    while time.monotonic() < until:
        took.append(small_get(daemon))
        most = max(most, daemon.client.state("system")["rss"])
        time.sleep(0.02)
    return took, most


def hostile(daemon, mix: str, group: str) -> subprocess.Popen:
    def become_client() -> None:
        os.setgroups([])
        os.setgid(grp.getgrnam(group).gr_gid)
        os.setuid(65534)

    acting = subprocess.Popen([sys.executable, Path(__file__).with_name("hostile_clients.py"), daemon.socket, *mix.split()],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=become_client)
    assert acting.stdout.readline() == "begun\n"
    return acting


def assert_served(took: list[float], when: str) -> None:
    assert median(took) <= PATIENCE * MEDIAN_S and max(took) <= PATIENCE * WORST_S, f"{when}: {median(took):.3f} s, worst {max(took):.3f} s"


@pytest.mark.fault
@pytest.mark.alone
def test_hostile_readers_hold_up_nobody_and_fill_no_memory(daemon):
    rules = "".join(f"set acl big rule {i + 1} permit tcp from 10.{i >> 8 & 255}.{i & 255}.0/24 to any port {1 + i % 60_000}\n" for i in range(RULES))
    daemon.start("set port p0 devargs net_af_packet0,iface=a0\n"
                 f"set vr {TENANT}\nset api group read-only {READER}\nset api group vr {TENANT} admin {TENANT}\n" + rules)
    daemon.dir.chmod(0o755)
    daemon.run("ip addr add 10.0.0.1/24 dev p0")
    daemon.run("ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev p0")
    for change in ("add", "del", "add"):    # the journal has three changes of each
        (daemon.dir / "batch").write_text("".join(f"route {change} {20 + (i >> 16)}.{i >> 8 & 255}.{i & 255}.0/24 via 10.0.0.2 dev p0\n"
                                                  for i in range(ROUTES)))
        daemon.run(f"ip -batch {daemon.dir / 'batch'}")
    asked_for(daemon, 1)
    for name, mix in MIXES.items():
        before = daemon.client.state("system")["rss"]
        acting = hostile(daemon, mix, TENANT if name == "tenant" else READER)
        took, most = asked_for(daemon, ACTING_S)
        acting.stdin.close()
        acting.wait(60)
        assert_served(took, name)
        time.sleep(1)                       # "from one second after they leave"
        assert_served(asked_for(daemon, 1)[0], f"after {name}")
        assert most - before <= GROWTH, f"{name}: {(most - before) >> 20} MiB"
