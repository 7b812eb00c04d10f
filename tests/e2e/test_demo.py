# SPDX-License-Identifier: BSD-3-Clause
"""The demo with a small table: everything it claims is measured and true, and it leaves nothing behind."""
import json
import os
import subprocess
import sys
from pathlib import Path

from kamuee.lab import measure
from kamuee.lab.lab import Lab

from support import KEEP, eventually, ping

ROOT = Path(__file__).resolve().parents[2]
N_ROUTES = 5000


def demo(*argv: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "kamuee", "demo", *argv, "--name", "e2edemo"], cwd=ROOT,
                          capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "cli")})


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
        lab["isp1"].ip("link set dev edge down")
        eventually(lambda: ping(lab["customer"], target, 1).received == 1, 60, "traffic moves to the second provider")
        eventually(lambda: measure.fib_differences(lab["edge"]) == [], 20,
                   lambda: str(measure.fib_differences(lab["edge"])))
    finally:
        if not KEEP:
            assert "nothing is left" in demo("stop").stdout
    assert KEEP or not list(Path("/run/netns").glob("e2edemo-*"))
