# SPDX-License-Identifier: BSD-3-Clause
"""The arithmetic of results: search, sums and printing. No root, no network."""
import json

import pytest

from measure import machine, program, report, search
import experiments


def router(capacity: float, generator: float = 1e6, stray_loss: int = 0):
    """A trial against a router that forwards `capacity` packets/s and a generator that can make `generator`."""
    def trial(rate: float, seconds: float) -> dict:
        offered = min(rate or generator, generator)
        received = min(offered, capacity)
        sent = int(offered * seconds)
        lost = sent - int(received * seconds) + stray_loss
        return {"offered_pps": offered, "received_pps": received, "sent": sent, "lost": lost}
    return trial


def test_the_rate_without_loss_is_found_within_three_percent():
    found = search.throughput(router(capacity=400_000), 1.0)
    assert found["strict"] == pytest.approx(400_000, rel=0.03)
    assert found["strict"] <= 400_000


def test_a_router_faster_than_the_generator_gets_the_generators_rate():
    found = search.throughput(router(capacity=5e6), 1.0)
    assert found["strict"] == pytest.approx(1e6, rel=0.03)
    assert found["flood"] == found["flood-offered"] == 1e6


def test_a_router_that_always_loses_has_no_rate_without_loss_but_one_with_little():
    found = search.throughput(router(capacity=400_000, stray_loss=1), 1.0)
    assert found["strict"] == 0
    assert found["tolerant"] == pytest.approx(400_000, rel=0.03)


def test_a_router_that_forwards_nothing_ends_the_search_after_few_trials():
    trials = []
    dead = router(capacity=0)

    def trial(rate: float, seconds: float) -> dict:
        trials.append(rate)
        return dead(rate, seconds)
    found = search.throughput(trial, 1.0)
    assert found["strict"] == found["tolerant"] == found["flood"] == 0
    assert len(trials) < 30


def test_more_than_the_generator_can_make_never_counts_as_passed():
    trial = router(capacity=5e6, generator=1000)(2000, 1.0)
    assert trial["lost"] == 0
    assert not search.passes(trial, 2000, 0.0)


def test_values_of_all_rounds_join_one_series_and_the_median_decides_about_the_goal():
    outcome = report.Outcome("x", "")
    for value in (1.0, 9.0, 2.0):
        outcome.add("time", "ours", "s", value, goal="<= 2")
    outcome.add("time", "theirs", "s", 1.0)
    assert [s.variant for s in outcome.series] == ["ours", "theirs"]
    assert outcome.series[0].values == [1.0, 9.0, 2.0]
    assert outcome.series[0].met() is True
    outcome.add("time", "ours", "s", 9.0, 9.0)
    assert outcome.series[0].met() is False
    assert outcome.series[1].met() is None


def test_percentiles_appear_only_with_enough_values():
    assert report.Series("t", "v", "ms", [1.0] * 19).percentile(99) is None
    assert report.Series("t", "v", "ms", [float(i) for i in range(100)]).percentile(90) == 90


def test_a_result_survives_json_and_prints_every_series(tmp_path):
    outcome = report.Outcome("speed", "How fast.", load_before={"busy-percent": 1.5})
    outcome.add("time", "ours", "s", 1.25, goal="<= 1")
    outcome.note("a note")
    result = {"started": "now", "machine": machine.facts(), "experiments": [report.as_dict(outcome)]}
    report.write(result, tmp_path / "deep" / "r.json")
    text = report.markdown(json.loads((tmp_path / "deep" / "r.json").read_text()))
    assert "| time | ours | s | 1.25 | 1.25 | 1.25 |  |  | 1 | ≤ 1 | **no** |" in text
    assert "- a note" in text


def test_a_skipped_experiment_says_why():
    outcome = report.Outcome("speed", "How fast.", skipped="no daemon")
    text = report.markdown({"started": "now", "machine": machine.facts(), "experiments": [report.as_dict(outcome)]})
    assert "**skipped**: no daemon" in text


def test_a_machine_without_git_has_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert machine.facts()["commit"] == ""


@pytest.mark.parametrize("there, build", [("build/bench", "build"), ("usr/libexec/kamuee/bench", "usr/sbin")])
def test_a_program_is_found_in_a_build_and_where_the_package_has_it(monkeypatch, tmp_path, there, build):
    path = tmp_path / there / "tester"
    path.parent.mkdir(parents=True)
    path.touch(0o755)
    monkeypatch.setattr(program, "ROOT", tmp_path / "usr/share/kamuee")
    assert program.bench_program("tester", tmp_path / build) == path


def test_every_experiment_has_a_name_of_its_own_and_an_idea():
    names = [e.NAME for e in experiments.ALL]
    assert len(set(names)) == len(names)
    assert all(e.IDEA.endswith(".") and callable(e.run) and e.NEEDS for e in experiments.ALL)
