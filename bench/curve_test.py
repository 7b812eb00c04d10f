# SPDX-License-Identifier: BSD-3-Clause
"""Tests of curve.py: which changes it finds in series of counts and of ratios, and what it does with the table."""
import random

import pytest

import curve

EXACT = next(metric for metric in curve.METRICS if metric.exact)
RATIO = next(metric for metric in curve.METRICS if not metric.exact)


def rows(metric: curve.Metric, values: list[float | None]) -> list[dict[str, str]]:
    return [{"commit": f"{at:010x}", "date": "2026-11-30", "subject": f"s{at}", metric.name: "" if value is None else curve.text(value)}
            for at, value in enumerate(values)]


@pytest.mark.parametrize("values, found", [
    ([200.0] * 30, []),
    ([200.0] * 29 + [204.2], [(29, 0.021)]),
    ([200.0] * 29 + [202.0], []),                                   # below 2 %
    ([200.0] * 10 + [180.0] * 10 + [190.0] * 10, [(20, 0.056), (10, -0.1)]),
    ([200.0, None, 200.0, None, 220.0], [(4, 0.1)]),                # an earlier commit may lack it
    ([200.0 + k * 0.05 for k in range(40)], []),                    # drift within the noise
    ([200.0], []),
    ([None], []),
])
def test_counts_change_where_a_new_level_begins(values, found):
    changes = curve.changes(rows(EXACT, values))
    assert [(change.row, round(change.by, 3)) for change in changes] == found


def test_ratios_have_the_noise_of_their_neighbors():
    dice = random.Random(1)
    noisy = [1.3 * (1 + dice.gauss(0, 0.05)) for _ in range(40)]
    assert not curve.changes(rows(RATIO, noisy))
    [change] = curve.changes(rows(RATIO, noisy + [1.7 * (1 + dice.gauss(0, 0.05)) for _ in range(10)]))
    assert abs(change.row - 40) <= 1 and change.by > 0.2


@pytest.mark.parametrize("ago, code", [(1, 1), (3, 1), (4, 0)])
def test_a_change_is_pointed_out_within_three_rows(ago, code, monkeypatch, capsys):
    monkeypatch.setattr(curve, "read_rows", lambda: rows(EXACT, [100.0] * 20 + [110.0] * ago))
    assert curve.check() == code
    said = capsys.readouterr().out
    assert (f"{EXACT.name}: +10.0% at {20:010x} (2026-11-30, s20)" in said) == bool(code)


def test_a_commit_has_one_row_and_keeps_what_was_not_measured_again(tmp_path, monkeypatch):
    monkeypatch.setattr(curve, "TABLE", tmp_path / "curve.tsv")
    monkeypatch.setattr(curve, "git", lambda *words, **more: "b" * 40 + "\n" + "a" * 40)
    curve.write_row({"commit": "a" * 10, "date": "d", "subject": "s", EXACT.name: "10"})
    curve.write_row({"commit": "b" * 10, "date": "c", "subject": "r", EXACT.name: "9"})
    curve.write_row({"commit": "a" * 10, "date": "d", "subject": "s", RATIO.name: "1.000/0.900/1.100"})
    first, second = curve.read_rows()
    assert (first["commit"], second["commit"]) == ("b" * 10, "a" * 10)
    assert (second[EXACT.name], second[RATIO.name]) == ("10", "1.000/0.900/1.100")


def test_the_page_tells_first_last_and_change(tmp_path, monkeypatch):
    for name in ("TABLE", "PAGE", "PICTURE"):
        monkeypatch.setattr(curve, name, tmp_path / name)
    monkeypatch.setattr(curve, "read_rows", lambda: rows(EXACT, [100.0, 100.0, 100.0, 110.0]))
    curve.page()
    page = (tmp_path / "PAGE").read_text()
    assert f"| {EXACT.what} | {EXACT.unit} | 100 | 110 | +10.0% |" in page
    assert f"| {EXACT.name} | +10.0% | {3:010x} | 2026-11-30, s3 |" in page
    assert (tmp_path / "PICTURE").read_text().count("<circle") == 4
