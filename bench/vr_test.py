# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench vr`: its rows and goals, without a build."""
import argparse

import pytest

from commands import vr
from measure.cases import names_of


def test_a_case_is_named_as_it_is():
    named = names_of(vr.CASES)
    assert named("create,forward-16") == ["create", "forward-16"]
    with pytest.raises(argparse.ArgumentTypeError, match="unknown case 'metalinks'"):
        named("metalinks")


def test_goals_are_judged_by_the_rows_and_what_has_no_row_is_not_measured():
    rows = [vr.row_of(vr.CREATE, 4.2, "ms"), vr.row_of(vr.EMPTY, 40 * 1024, "B"), vr.row_of(vr.FORWARD, 0.8, "x"),
            vr.row_of(vr.METALINK, 14.0, "cycles")]
    verdicts = {goal.name: goal.verdict(goal.value({"rows": rows})) for goal in vr.ALL_GOALS}
    assert verdicts == {"creating one": "goal", "memory of an empty one": "must", "16 full tables: start": "not measured",
                        "16 full tables: throughput to one's": "missed", "a hop over a metalink": "goal"}


def test_quick_leaves_out_what_takes_minutes(monkeypatch):
    monkeypatch.setattr(vr, "life", lambda given: ([vr.row_of(case, 1, "B") for case in vr.LIFE], ["life"]))
    monkeypatch.setattr(vr, "forward", lambda given: ([vr.row_of(vr.FORWARD, 1, "x")], []))
    monkeypatch.setattr(vr, "start", lambda given: pytest.fail("start-16-full takes minutes"))
    monkeypatch.setattr(vr, "small", lambda given: pytest.fail("start-1000-small takes minutes"))
    rows, notes = vr.measured(vr.parser().parse_args(["--quick"]))
    assert [row["case"] for row in rows] == [*vr.LIFE, vr.FORWARD] and notes == ["life"]


def test_only_the_rows_that_were_asked_for_come(monkeypatch):
    monkeypatch.setattr(vr, "life", lambda given: ([vr.row_of(case, 1, "B") for case in vr.LIFE], []))
    rows, _ = vr.measured(vr.parser().parse_args(["--only", "delete"]))
    assert rows == [vr.row_of(vr.DELETE, 1, "B")]


def test_without_root_a_sentence_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(vr.os, "geteuid", lambda: 1000)
    rows, notes = vr.measured(vr.parser().parse_args(["--only", "create,start-16-full,start-1000-small"]))
    assert rows == [] and len(notes) == 3 and all("need root" in note for note in notes)
