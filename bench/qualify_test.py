# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench qualify`: what a check of a report finds, and interfaces that it refuses. tests/e2e/test_bench.py has a whole run."""
import json
import os
import subprocess
from pathlib import Path

import pytest

from commands import qualify
from measure.program import daemon

ROW = {"test": "throughput", "percent6": 0, "size": "64", "routes": 510, "mpps": 1.5, "gbps": 1.01, "limit": "device"}
LAST = [qualify.verdict(name, True, "") for name in ("soak without loss", "route changes while packets flow", "audit after route changes", "ledger",
                                                     "restart after kill -9", "upgrade")]


def report(**changes) -> dict:
    found = {"format": 1, "started": "2026-11-30 12:00 UTC", "quick": False, "busy-percent": 1.5, "machine": {"cpu": "some"}, "programs": {"kamueed": "00"},
             "cards": {"0000:03:00.0": {"model": "8086:10d3"}}, "ports": [], "version": "0.10.0", "cores": "one each", "rows": [ROW],
             "checks": [*qualify.of_rates([ROW]), *LAST], "not-tried": [], "explained": []}
    return {**found, **changes}


def checked(tmp_path: Path, data: bytes, *words: str) -> tuple[int, Path]:
    file = tmp_path / "report.json"
    file.write_bytes(data)
    return qualify.main(["--check", str(file), *words]), file


def test_a_whole_report_passes_and_says_that_nobody_signed_it(tmp_path, capsys):
    assert checked(tmp_path, qualify.canonical(report()))[0] == 0
    assert "complete and unchanged; not signed; 7 of 7 checks passed" in capsys.readouterr().out


@pytest.mark.parametrize("data, told", [
    (b"{", "it is not JSON"),
    (b"[]", "it is no report of format 1"),
    (qualify.canonical(report(format=2)), "it is no report of format 1"),
    (qualify.canonical(report(rows="none")), "'rows' is missing or of another type"),
    (json.dumps(report()).encode(), "it was written by another program, or changed since"),
    (qualify.canonical(report(rows=[{**ROW, "mpps": 3.0}])), "the check 'throughput, IPv4, 64 bytes, 510 routes' does not follow from its row"),
    (qualify.canonical(report(rows=[{"test": "throughput"}])), "a row or check lacks 'percent6'"),
    (qualify.canonical(report(checks=qualify.of_rates([ROW]))), "the check 'upgrade' is missing"),
    (qualify.canonical(report(machine={"product_uuid": "1"})), "it gives away 'product_uuid'")])
def test_what_is_wrong_with_a_report_is_said(tmp_path, capsys, data, told):
    assert checked(tmp_path, data)[0] == 1
    assert told in capsys.readouterr().out


def test_a_report_that_was_changed_after_it_was_signed_is_refused(tmp_path, capsys):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = " ".join(Path(f"{key}.pub").read_text().split()[:2])
    signers = tmp_path / "signers"
    signers.write_text(f'lab@example namespaces="{qualify.NAMESPACE}" {public}\n')
    code, file = checked(tmp_path, qualify.canonical(report()), "--signers", str(signers))
    assert code == 1 and "not signed" in capsys.readouterr().out
    qualify.write(qualify.parser().parse_args(["a", "b", "--report", str(file), "--key", str(key)]), report())
    assert qualify.main(["--check", str(file), "--signers", str(signers)]) == 0
    assert "signed by lab@example" in capsys.readouterr().out
    assert checked(tmp_path, qualify.canonical(report(version="0.10.1")), "--signers", str(signers))[0] == 1
    signers.write_text(signers.read_text().replace("lab@", "other@").replace(public, public[:-4] + "AAAA"))
    assert checked(tmp_path, qualify.canonical(report()), "--signers", str(signers))[0] == 1


@pytest.mark.parametrize("words, told", [
    ([], "name two different ports"), (["eth2"], "name two different ports"), (["eth2", "eth2"], "name two different ports")])
def test_two_ports_must_be_named(capsys, words, told):
    assert qualify.main(words) == 1
    assert told in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0 or not daemon().exists(), reason="needs root and a build")
def test_an_interface_in_use_is_refused(capsys):
    subprocess.run("ip link add kq0 type veth peer name kq1 && ip addr add 192.0.2.9/32 dev kq0", shell=True, check=True)
    try:
        assert qualify.main(["kq0", "kq1", "--force"]) == 1
        assert "kq0 is in use" in capsys.readouterr().err
    finally:
        subprocess.run("ip link del kq0", shell=True, check=True)
