# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench restart`: its rows and goals, without a build."""
import pytest

from commands import restart


def kill(**other) -> dict:
    return {"blocked_ms": 900.0, "lost": 1800, "routes": 1000, "imbalance": 0, "audit_differences": 0, **other}


def test_a_row_has_the_median_pause_and_the_worst_of_what_must_be_zero():
    row = restart.row_of("memif", "kill", [kill(), kill(blocked_ms=3000.0, lost=6000, audit_differences=2),
                                   kill(blocked_ms=1000.04, lost=2000, imbalance=-3)])
    assert row == {"case": "kill", "port": "memif", "routes": 1000, "blocked_ms": 1000.0, "lost": 2000, "imbalance": -3,
                   "audit_differences": 2, "each_ms": [900.0, 3000.0, 1000.0]}


def test_goals_are_about_the_worst_port():
    rows = [restart.row_of("memif", "kill", [kill()]), restart.row_of("af_packet", "kill", [kill(blocked_ms=700.0, imbalance=-1)]),
            restart.row_of("af_packet", "upgrade", [kill(blocked_ms=49.0)])]
    verdicts = {goal.name: goal.verdict(goal.value({"rows": rows})) for goal in restart.ALL_GOALS}
    assert verdicts == {"kill to the first packet forwarded right": "must", "upgrade, blocked time, memif": "not measured",
                        "upgrade, blocked time, af_packet": "must", "ledger imbalance": "missed",
                        "audit differences": "goal"}


def test_without_root_it_says_so(monkeypatch):
    monkeypatch.setattr(restart.os, "geteuid", lambda: 1000)
    with pytest.raises(restart.Unavailable, match="needs root"):
        restart.measured(restart.parser().parse_args([]))
