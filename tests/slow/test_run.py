# SPDX-License-Identifier: BSD-3-Clause
"""What tests/run and tests/durations make of results."""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from timing import Run, Timed, from_junit, from_meson     # noqa: E402
from unchanged import Remembered, tree                    # noqa: E402


def test_results_of_meson_and_pytest_are_read(tmp_path):
    (tmp_path / "log").write_text('{"name": "kamuee:unit / a", "result": "OK", "duration": 1.5}\n'
                                  '{"name": "kamuee:unit / b", "result": "TIMEOUT", "duration": 60}\n'
                                  '{"name": "kamuee:unit / c", "result": "SKIP", "duration": 0, "stdout": "1\\nno right\\n"}\n')
    assert list(from_meson(tmp_path / "log")) == [Timed("a", 1.5, "passed"), Timed("b", 60, "failed"), Timed("c", 0, "skipped", "no right")]
    (tmp_path / "xml").write_text('<testsuites><testsuite><testcase classname="tests.e2e.test_x" name="t[1]" time="2"/>'
                                  '<testcase classname="tests.e2e.test_x" name="u" time="1"><error message="m"/></testcase></testsuite></testsuites>')
    assert list(from_junit(tmp_path / "xml")) == [Timed("tests/e2e/test_x.py::t[1]", 2, "passed"), Timed("tests/e2e/test_x.py::u", 1, "failed", "m")]
    assert list(from_junit(tmp_path / "none")) == []


def test_two_runs_are_compared(tmp_path):
    for seconds, name in ((10.0, "20260101-000000.tsv"), (4.0, "20260102-000000.tsv")):
        run = Run(tmp_path / "durations")
        run.file = run.folder / name
        run.add("e2e", seconds, [Timed("tests/e2e/test_x.py::t", seconds, "passed")])
        run.write()
    said = subprocess.run([ROOT / "tests/durations", "--build", tmp_path], capture_output=True, text=True, check=True).stdout
    assert said.count("     10.0      4.0     -6.0  ") == 2 and "tests/e2e/test_x.py::t" in said
    none = subprocess.run([ROOT / "tests/durations", "--build", tmp_path / "none"], capture_output=True, text=True)
    assert none.returncode == 2 and "make test" in none.stderr


def test_what_failed_or_changed_is_not_remembered(tmp_path):
    (tmp_path / "a").write_text("1")
    before = tree(tmp_path)
    remembered = Remembered(tmp_path / "passed.json", False)
    remembered.put("t", before, True)
    remembered.put("u", before, False)
    remembered.save()
    again = Remembered(tmp_path / "passed.json", False)
    assert again.has("t", before) and not again.has("u", before) and not Remembered(tmp_path / "passed.json", True).has("t", before)
    assert not again.has("t", "another hash")
