# SPDX-License-Identifier: BSD-3-Clause
"""Every `kamuee bench` command ends well, and in numbers, on a CPU without the vector instructions of ours.

KAMUEE_SIMD takes them away one set after the other, from the programs, from kamueed and from DPDK. What the numbers are
is nobody's claim here: other tests run beside. A benchmark that does not exist on this CPU must say so instead of
dividing by it.
"""
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kamuee.feed import table

pytestmark = pytest.mark.bench

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300


@pytest.fixture(scope="module")
def prefixes(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "prefixes"
    table.load(None, None, 2000).write(str(path))
    return path


def figures(value, at: str = ""):
    """Every number of a JSON value, with the way to it."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from figures(below, f"{at}/{key}")
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from figures(below, f"{at}/{number}")
    elif isinstance(value, (int, float)):
        yield at, value


def bench(kamueed: str, simd: str, *words: str) -> dict:
    done = subprocess.run([sys.executable, "-m", "kamuee", "bench", *words, "--json"], cwd=ROOT, capture_output=True,
                          text=True, timeout=LIMIT_S,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "cli"), "KAMUEED": kamueed, "KAMUEE_SIMD": simd})
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert "Traceback" not in done.stderr
    result = json.loads(done.stdout)                     # takes NaN and Infinity, which the next line refuses
    wrong = [at for at, figure in figures(result) if not math.isfinite(figure)]
    assert not wrong, f"no numbers: {wrong}"
    return result


@pytest.mark.parametrize("simd", ["avx512", "avx2", "none"])
def test_lookups_are_compared_with_the_fastest_peer_of_this_cpu(kamueed, prefixes, simd):
    rows = bench(kamueed, simd, "fib", "--quick", "--prefixes", str(prefixes))["rows"]
    kernels = {row["kernel"] for row in rows}
    assert all(row["mlps"] > 0 and row["ratio"] > 0 for row in rows)
    assert {row["peer"] for row in rows} <= {row["kernel"] for row in rows if row["engine"].startswith("rte_fib")}
    assert not kernels & {"avx512-vpopcnt", "avx512-loads"}
    assert simd == "avx512" or "avx512" not in kernels
    assert simd != "none" or "avx2" not in kernels


@pytest.mark.parametrize("simd, words", [
    ("avx2", ("acl", "--quick", "--sets", "acl:4:1000,fw:6:1000", "--no-forward")),
    ("avx2", ("queue", "--quick")),
    ("avx2", ("forward", "ipv4-default4", "ipv6-full", "--quick")),
    ("none", ("throughput", "--quick", "--force")),
    ("none", ("paper", "kamuee0-rcu", "--quick", "--force")),
], ids=lambda value: value if isinstance(value, str) else value[0])
def test_benchmarks_run_without_the_widest_vectors(kamueed, prefixes, simd, words):
    if words[0] == "forward" and not (Path(kamueed).parent / "bench" / "dpdk").is_dir():
        pytest.skip("bench forward needs DPDK's source once, which cannot be fetched in this namespace: kamuee bench "
                    "forward --quick")
    more = ("--prefixes", str(prefixes)) if words[0] in ("forward", "paper") else ()
    result = bench(kamueed, simd, *words, *more)
    assert len([figure for _, figure in figures(result) if figure > 0]) > 10


def test_a_card_is_qualified_over_a_cable(kamueed, tmp_path):
    """By a short run; its report passes its own check."""
    file = tmp_path / "report.json"

    def run(*words: object) -> subprocess.CompletedProcess:
        return subprocess.run([ROOT / "kamuee", "bench", "qualify", *words], capture_output=True, text=True, timeout=LIMIT_S,
                              env={**os.environ, "KAMUEED": kamueed})
    subprocess.run("ip link add kq0 type veth peer name kq1", shell=True, check=True)
    try:
        done = run("kq0", "kq1", "--quick", "--force", "--report", file)
    finally:
        subprocess.run("ip link del kq0", shell=True, check=True)
    assert file.exists(), done.stderr
    found = json.loads(file.read_text())
    passed = {each["check"]: each["passed"] for each in found["checks"]}
    assert passed["audit after route changes"] and passed["ledger"] and passed["upgrade"], done.stdout     # the others need a quiet machine
    assert done.returncode == (not all(passed.values()))
    assert {port["name"]: port["status"] for port in found["ports"]} == {"c0": "up", "c1": "up"}
    assert len([row for row in found["rows"] if row["test"] == "throughput"]) == 4
    assert run("--check", file).returncode == 0
