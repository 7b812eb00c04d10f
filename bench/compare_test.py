# SPDX-License-Identifier: BSD-3-Clause
"""compare.py, with programs that print what they are told."""
import sys
from pathlib import Path

import compare


def build(directory: Path, program: str, answer: str) -> str:
    directory.mkdir()
    file = directory / program
    file.write_text(f"#!/bin/sh\necho '{answer}'\n")
    file.chmod(0o755)
    return f"{directory}/"


def lines(monkeypatch, capsys, program: str, a: str, b: str) -> list[str]:
    monkeypatch.setattr(sys, "argv", ["compare.py", "--force", "--rounds", "2", "--only", program, a, b])
    assert compare.main() == 0
    return capsys.readouterr().out.splitlines()[1:]


def test_more_cycles_are_worse(monkeypatch, capsys, tmp_path):
    answer = '{"results": [{"what": "forward", "variant": "kamueed", "unit": "cycles/packet", "values": [%s]}]}'
    told, = lines(monkeypatch, capsys, "forward_bench", build(tmp_path / "a", "forward_bench", answer % "10, 50, 90"),
                  build(tmp_path / "b", "forward_bench", answer % "52, 52, 90"))
    assert told.split() == ["forward,", "kamueed", "50.0", "52.0", "1.040", "1.040", "1.040", "worse"]


def test_fewer_lookups_are_worse_and_what_one_build_lacks_is_left_out(monkeypatch, capsys, tmp_path):
    row = '{"what": "uniform", "variant": "%s", "unit": "Mlookups/s", "values": [%d]}'
    told, = lines(monkeypatch, capsys, "fib_bench", build(tmp_path / "a", "fib_bench", f'{{"results": [{row % ("poptrie", 200)}]}}'),
                  build(tmp_path / "b", "fib_bench", f'{{"results": [{row % ("poptrie", 100)}, {row % ("new", 5)}]}}'))
    assert told.split() == ["uniform,", "poptrie", "5.0", "10.0", "2.000", "2.000", "2.000", "worse"]


def test_rows_without_results_are_known_by_what_they_are(monkeypatch, capsys, tmp_path):
    answer = ("""{"rows": [{"case": "classes", "vrs": 8, "engine": "kamuee", "cycles": [%s]}, {"set": "acl", "family": 4, "engine": "list", "cycles": 7},
                {"set": "acl", "refused": ""}]}""")
    told = lines(monkeypatch, capsys, "queue_bench", build(tmp_path / "a", "queue_bench", answer % "10"), build(tmp_path / "b", "queue_bench", answer % "9"))
    assert [line.split() for line in told] == [["classes,", "8,", "kamuee", "10.0", "9.0", "0.900", "0.900", "0.900"],
                                               ["acl,", "4,", "list", "7.0", "7.0", "1.000", "1.000", "1.000"]]
