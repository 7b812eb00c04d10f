# SPDX-License-Identifier: BSD-3-Clause
"""The lab itself: several at once, nothing left behind, also after it was killed; feeds; VLAN hosts."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kamuee.lab import measure, state

from support import assert_reaches, eventually, reaches

ROOT = Path(__file__).resolve().parents[2]
PAIR = """
name: pair
nodes:
  a:
    kind: router
    daemon: frr
    interfaces: {eth0: [10.0.0.1/24], lo: [192.0.2.1/32]}
    ospf: [eth0, lo]
  b:
    kind: router
    daemon: bird
    interfaces: {eth0: [10.0.0.2/24]}
    asn: 65002
    ospf: [eth0]
    feed: {generate: true, routes_count: 300}
links:
  - [a:eth0, b:eth0]
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The lab file; and a lab directory of its own, so that `stop --all` stops no lab of anybody else."""
    monkeypatch.setenv("KAMUEE_LAB_DIR", str(tmp_path / "labs"))
    path = tmp_path / "pair.yaml"
    path.write_text(PAIR)
    yield str(path)
    lab_command("stop", "--all")


def lab_command(*argv: str, check: bool = True) -> subprocess.CompletedProcess:
    done = subprocess.run([sys.executable, "-m", "kamuee", "lab", *argv], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "cli")}, timeout=300)
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done


def traces(prefix: str) -> list[str]:
    """Everything of a lab that could be left on the machine."""
    found = [f"namespace {path.name}" for path in Path("/run/netns").glob(f"{prefix}-*")]
    for directory in ("/var/run/frr", "/etc/frr", str(state.base_dir())):
        found += [str(path) for path in Path(directory).glob(f"{prefix}*")]
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{prefix}-" in words or f"/{prefix}/" in words:
            found.append(f"process {process.parent.name}: {words}")
    return found


def test_a_stopped_lab_leaves_nothing(file):
    lab_command("start", file, "--name", "e2elaba")
    assert traces("e2elaba")
    lab_command("stop", "e2elaba")
    eventually(lambda: traces("e2elaba") == [], 60, lambda: str(traces("e2elaba")))
    assert json.loads(lab_command("list", "-j").stdout) == []


def test_two_labs_of_one_file_run_side_by_side_and_stop_apart(file):
    lab_command("start", file, "--name", "e2elaba")
    lab_command("start", file, "--name", "e2elabb")
    assert [lab["name"] for lab in json.loads(lab_command("list", "-j").stdout)] == ["e2elaba", "e2elabb"]
    lab_command("stop", "e2elaba")
    eventually(lambda: traces("e2elaba") == [], 60, lambda: str(traces("e2elaba")))
    eventually(lambda: "192.0.2.1" in lab_command("exec", "e2elabb", "b", "ip", "route").stdout, 60,
               "the second lab converges after the first has gone", 0.3)
    eventually(lambda: "Full" in lab_command("exec", "e2elabb", "a", "vtysh", "-c", "show ip ospf neighbor").stdout, 60,
               "FRR, too, sees its neighbor", 0.3)
    routes = lambda: lab_command("exec", "e2elabb", "b", "birdc", "show", "route", "protocol", "bgp0", "count").stdout  # noqa: E731
    eventually(lambda: "Total: 300 of" in routes(), 60, lambda: f"all routes of the feed: {routes()}", 0.3)


def test_a_lab_cannot_be_started_twice(file):
    lab_command("start", file)
    again = lab_command("start", file, check=False)
    assert again.returncode == 1 and "already exists" in again.stderr
    shown = json.loads(lab_command("show", "pair", "-j").stdout)
    assert shown["state"] == "running" and "bird" in shown["nodes"]["b"]["processes"]


@pytest.mark.parametrize("after_s", [0.15, 0.4, 0.7, 1.0])
def test_a_start_that_is_killed_can_be_cleaned_up(file, after_s):
    start = subprocess.Popen([sys.executable, "-m", "kamuee", "lab", "start", file, "--name", "e2elaba"], cwd=ROOT,
                             env={**os.environ, "PYTHONPATH": str(ROOT / "cli")}, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    time.sleep(after_s)
    start.send_signal(signal.SIGKILL)
    start.wait()
    lab_command("stop", "--all")
    eventually(lambda: traces("e2elaba") == [], 60, lambda: str(traces("e2elaba")))


def test_a_start_that_fails_takes_everything_down_again(file):
    Path(file).write_text(PAIR.replace("ospf: [eth0, lo]", "config: |\n      router bgp 65001\n       nonsense"))
    done = lab_command("start", file, "--name", "e2elaba", check=False)
    assert done.returncode == 1
    assert "nodes.a: FRR rejected the configuration" in done.stderr and "nonsense" in done.stderr
    eventually(lambda: traces("e2elaba") == [], 60, lambda: str(traces("e2elaba")))


def test_exec_gives_the_status_of_the_command(file):
    lab_command("start", file)
    assert lab_command("exec", "pair", "a", "sh", "-c", "exit 7", check=False).returncode == 7
    wrong = lab_command("exec", "pair", "z", "true", check=False)
    assert wrong.returncode == 1 and "no node 'z'; there are: a, b, bfeed" in wrong.stderr


def test_a_feed_fills_a_router_and_can_empty_it(labs):
    lab = labs("""
nodes:
  r:
    kind: router
    daemon: frr
    interfaces: {p0: [10.0.0.1/24, "fd00::1/64"]}
    asn: 65001
    neighbors: [{address: 10.0.0.2, asn: 65010, families: [ipv4, ipv6]}]
  feed:
    kind: feed
    interfaces: {eth0: [10.0.0.2/24, "fd00::2/64"]}
    asn: 65010
    peer: 10.0.0.1
    generate: true
    routes_count: 5000
links: [[r:p0, feed:eth0]]
""")
    count = lambda: measure.count_received(lab["r"], ["10.0.0.2"])                      # noqa: E731
    eventually(lambda: count() == 5000, 60, lambda: f"5000 routes, {count()} are there")
    lab["feed"].tell("withdraw")
    eventually(lambda: count() == 0, 60, lambda: f"no routes, {count()} are there")
    lab["feed"].tell("announce")
    eventually(lambda: count() == 5000, 60, lambda: f"5000 routes again, {count()} are there")


def test_hosts_of_one_vlan_hear_each_other_and_no_other(labs):
    lab = labs("""
nodes:
  a: {kind: host, vlan: 40, interfaces: {eth0: [10.0.0.1/24]}}
  b: {kind: host, vlan: 40, interfaces: {eth0: [10.0.0.2/24]}}
  c: {kind: host, vlan: 40, interfaces: {eth0: [10.0.0.1/24]}}
  d: {kind: host, vlan: 41, interfaces: {eth0: [10.0.0.2/24]}}
  e: {kind: host, vlan: 40, interfaces: {eth0: [10.0.0.1/24]}}
  f: {kind: host, interfaces: {eth0: [10.0.0.2/24]}}
links: [[a:eth0, b:eth0], [c:eth0, d:eth0], [e:eth0, f:eth0]]
""")
    assert_reaches(lab["a"], "10.0.0.2")
    assert not reaches(lab["c"], "10.0.0.2")
    assert not reaches(lab["e"], "10.0.0.2")
