# SPDX-License-Identifier: BSD-3-Clause
"""The demo with a small table: everything it claims is measured and true, and it leaves nothing behind."""
import argparse
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

from kamuee.feed import table as feed_table
from kamuee.lab import measure
from kamuee.lab.demo import print_next
from kamuee.lab.demorun import Demo
from kamuee.lab.lab import Lab

from support import KEEP, eventually, ping

ROOT = Path(__file__).resolve().parents[2]
N_ROUTES = 5000


def demo(*argv: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "kamuee", "demo", *argv, "--name", "e2edemo"], cwd=ROOT,
                          capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "cli")})


def shell(command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60)


def suggested(target: str) -> list[str]:
    """The commands that it prints in the end and that change nothing."""
    said = io.StringIO()
    print_next(Console(file=said), argparse.Namespace(name="e2edemo", router="kamuee"), target)
    lines = [line.strip().replace("sudo ", "") for line in said.getvalue().splitlines() if line.startswith("  sudo ")]
    looks = [line.replace("-t 30", "-t 1") + " --once" * line.endswith(" monitor") for line in lines if not re.search(r"edge (down|up)$|kill|stop", line)]
    assert len(looks) >= 6 and any("iperf3" in line for line in looks)
    return looks


def tables_compared_while_a_provider_comes_and_goes(lab: Lab, flaps: int = 4) -> list[str]:
    """Problems that the demo's comparison finds when the preferred provider's link has just changed, so that routes move meanwhile."""
    run = Demo(argparse.Namespace(name="e2edemo", router="kamueed", json=True), Console(file=io.StringIO()))
    run.lab = lab
    table = feed_table.load(None, None, N_ROUTES)
    for state in ("down", "up") * flaps:
        lab["isp1"].ip(f"link set dev edge {state}")
        time.sleep(1.5 if state == "up" else 0.2)        # BGP is back a second after the link
        run.compare(table)
    assert run.summary.lookups_compared >= 400
    return run.summary.problems


def test_the_demo_carries_a_table_and_traffic_and_survives_the_loss_of_a_provider(kamueed):
    try:
        done = demo("start", "--routes", str(N_ROUTES), "-j")
        assert done.returncode == 0, done.stdout + done.stderr
        summary = json.loads(done.stdout)
        assert summary["problems"] == []
        assert summary["routes"] == N_ROUTES and summary["counts"]["FIB"] >= N_ROUTES
        assert summary["fib_equals_kernel"] is True and summary["lookups_compared"] >= 400
        assert summary["ledger_imbalance"] == 0 and summary["kernel_forwarding"] == "off"
        assert summary["ping_loss_percent"] == {"IPv4": 0, "IPv6": 0}, summary["ping_lost"]
        assert summary["traceroute"]["IPv4"][:2] == ["203.0.113.1", "10.0.1.1"]
        assert all(gbps > 0.05 for gbps in summary["iperf3_gbps"].values()), summary["iperf3_gbps"]
        lab = Lab.attach("e2edemo")
        target = summary["traceroute"]["IPv4"][-1]
        for command in suggested(target):
            server, _, client = command.rpartition(" && ")
            if server:                                       # `iperf3 -s -D` ends before it listens
                assert shell(server).returncode == 0
                eventually(lambda: ":5201 " in lab["internet"].run("ss -Hltn"), what="the iperf3 server listens")
            done = shell(client)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert tables_compared_while_a_provider_comes_and_goes(lab) == []
        lab["isp1"].ip("link set dev edge down")
        eventually(lambda: ping(lab["customer"], target, 1).received == 1, 60, "traffic moves to the second provider")
        eventually(lambda: measure.fib_differences(lab["edge"]) == [], 20,
                   lambda: str(measure.fib_differences(lab["edge"])))
    finally:
        if not KEEP:
            assert "stopped and removed" in demo("stop").stdout
    assert KEEP or not list(Path("/run/netns").glob("e2edemo-*"))
