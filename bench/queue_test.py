# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench queue`: its rows from the programs' results, and the programs themselves in a short run."""
import json
import os
import subprocess
from pathlib import Path

import pytest

from commands import queue
from kamuee import bench
from measure import plot, shaped

HERE = Path(__file__).resolve().parent


def row(**other):
    return queue.plain({"case": "classes", "vrs": 16, "engine": "kamuee", "cycles": [31.0, 25.0, 29.0], "ratio": 0.21,
                        **other})


def goals_of(*rows):
    return {goal.name: goal.as_json({"rows": list(rows)}) for goal in queue.ALL_GOALS}


def test_a_row_has_the_median_of_its_rounds_and_null_where_its_case_has_no_figure():
    assert row() == {"case": "classes", "vrs": 16, "engine": "kamuee", "cycles": 29.0, "cycles_min": 25.0,
                     "cycles_max": 31.0, "ratio": 0.21, "error": None, "p99_us": None}
    assert row(cycles=[None, None])["cycles"] is None


def test_cells_show_errors_in_percent():
    assert queue.cells(row()) == ["classes", "16", "kamuee", "29.0", "25.0", "31.0", "0.21", None, None, None]
    shown = queue.cells(queue.plain({"case": "rate", "engine": "linux htb", "error": -0.00312, "mpps": 0.1}))
    assert shown[2:] == ["linux htb", None, None, None, None, "-0.312", None, "0.100"] and shown[1] is None


def test_goals_are_judged_by_our_worst_row():
    found = goals_of(row(), row(vrs=8, cycles=[61.0], ratio=0.19), row(engine="rte_sched", cycles=[500.0], ratio=1.0),
                     queue.plain({"case": "rate", "vrs": 8, "engine": "kamuee", "error": -0.002}),
                     queue.plain({"case": "rate", "vrs": None, "engine": "linux htb", "error": 0.2}),
                     queue.plain({"case": "delay", "vrs": 8, "engine": "kamuee", "p99_us": 9.0}))
    assert found["classes, 8 and 16 virtual routers"] | {"value": 61.0, "verdict": "missed"} == found[
        "classes, 8 and 16 virtual routers"]
    assert found["classes, 8 and 16 virtual routers: to rte_sched"]["verdict"] == "must"
    rate = found["total rate against the port's, 1 s"]
    assert (rate["value"], rate["verdict"]) == (pytest.approx(0.2), "must")
    assert found["p99 delay within a guarantee while others flood"]["verdict"] == "goal"
    assert found["classes, 1,024 virtual routers"]["verdict"] == "not measured"


def test_cases_are_asked_for_by_name(monkeypatch):
    asked = []
    monkeypatch.setattr(queue, "answer_of", lambda *argv: asked.append(argv) or {"rows": []})
    monkeypatch.setattr(queue, "linux", lambda given: ([], ["linux"]))
    monkeypatch.setattr(queue, "whole", lambda given: ([], ["whole"]))
    queue.measured(queue.parser().parse_args(["--only", "rate,delay", "--rounds", "3"]))
    assert asked == [("queue_bench", "--only", name, "--rounds", "3") for name in ("rate", "delay")]
    asked.clear()
    assert queue.measured(queue.parser().parse_args(["--quick"]))[1] == ["whole", "linux"]
    assert asked == [("queue_bench", "--quick")]
    monkeypatch.setattr(queue, "QUICK_S", -1.0)
    assert all("too busy" in note for note in queue.measured(queue.parser().parse_args(["--quick"]))[1])
    with pytest.raises(SystemExit):
        queue.parser().parse_args(["--only", "rate,htb"])


def test_the_whole_path_is_compared_round_by_round(monkeypatch):
    def answer(*argv):
        assert argv == ("forward_bench", "--queue", "--quick", "--routes", "100000")
        what = "forward 64 B, IPv4 full table, 16 virtual routers by one port, "
        return {"harness_cycles": 50.0, "results": [{"what": what + "unshaped", "values": [50.0, 150.0, 30.0]},
                                                    {"what": what + "shaped", "values": [75.0, 200.0, 110.0]}]}
    monkeypatch.setattr(queue, "answer_of", answer)
    (unshaped, shaped_row), notes = queue.whole(queue.parser().parse_args(["--quick"]))
    assert notes == ["Whole: with --quick a table has 100,000 routes."]
    assert unshaped["ratio"] == 1 and unshaped["engine"] == "no queue"
    assert shaped_row["cycles"] == [125.0, 250.0, 160.0] and shaped_row["ratio"] == 0.8
    goal = goals_of(queue.plain(shaped_row))["whole router, 16 virtual routers by one port: against no queue"]
    assert (goal["value"], goal["verdict"]) == (0.8, "must")


def test_charts_have_the_peers_beside_ours():
    rows = [row(), row(engine="rte_sched", cycles=[140.0]), row(vrs=8, cycles=[26.0]),
            queue.plain({"case": "share", "vrs": 8, "engine": "kamuee", "error": 0.005}),
            queue.plain({"case": "share", "vrs": None, "engine": "linux htb", "links": "veth", "error": 0.02})]
    cost, error = queue.charts(rows)
    assert isinstance(cost, plot.Lines) and cost.series == {"kamuee": [(8, 26.0), (16, 29.0)],
                                                            "rte_sched": [(16, 140.0)]}
    assert error.groups == ["share"] and error.series == {"kamuee": [0.5], "linux htb, veth": [2.0]}
    assert queue.charts([]) == []


def test_without_a_build_it_says_what_to_build(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KAMUEED", str(tmp_path / "kamueed"))
    assert bench.main(["queue", "--quick"]) == 1
    assert "kamuee bench queue: " in (said := capsys.readouterr().err) and "make build" in said


# --- shaped links ---

def flows(*bytes_per_window):
    return [{"sent": 10, "bytes": [n] * 20} for n in bytes_per_window]


def test_shares_that_are_kept_have_no_error_and_one_that_is_not_is_the_error():
    kept = [1000 * share for share in shaped.SHARES]
    assert shaped.share_error(flows(*kept)) == 0
    assert shaped.share_error(flows(kept[0] * 0.9, *kept[1:])) == pytest.approx(0.1, abs=0.005)


def test_the_error_of_the_rate_is_of_all_classes_together():
    whole = shaped.RATE_BPS / 8 * shaped.WINDOW_MS / 1000
    assert shaped.rate_error(flows(whole / 2, whole / 2)) == 0
    assert shaped.rate_error(flows(whole * 0.99)) == pytest.approx(-0.01)


def test_a_load_that_the_machine_could_not_send_says_nothing(monkeypatch):
    class Notes:
        said: list[str] = []

        def note(self, text):
            self.said.append(text)
    sent = [{"sent": shaped.LOAD * share / 8 / (shaped.FRAME - shaped.FCS)} for share in (1e6, 2e6)]
    assert shaped.overloaded(Notes, shaped.Htb(), sent, (1e6, 2e6), 1) == sent
    assert shaped.overloaded(Notes(), shaped.Htb(), sent, (1e6, 3e6), 1) == [] and "not reached" in Notes.said[0]


# --- the programs ---

def answer_of(name, *words):
    """Of the build of these tests: meson runs them in its build directory."""
    named = os.environ.get("KAMUEED")
    builds = [*([Path(named).parent] if named else []), Path.cwd(), HERE.parent / "build"]
    program = next((path for build in builds if os.access(path := build / "bench" / name, os.X_OK)), None)
    if program is None:
        pytest.skip(f"{name} is not built")
    done = subprocess.run([program, "--json", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [queue.plain(one) for one in json.loads(done.stdout)["rows"]]


def test_the_scheduler_and_its_peers_are_measured_in_one_run():
    rows = answer_of("queue_bench", "--rounds", "1", "--packets", "1024", "--only", "classes")
    by_engine = {(one["engine"], one["vrs"]): one for one in rows}
    assert {(engine, vrs) for engine in ("kamuee", "rte_sched") for vrs in (8, 4096)} <= set(by_engine)
    assert all(one["cycles"] > 0 and one["ratio"] > 0 for one in rows)
    assert by_engine["rte_sched", 8]["ratio"] == 1


def test_a_call_that_finds_nothing_is_timed():
    one, = answer_of("queue_bench", "--rounds", "1", "--only", "empty")
    assert one["vrs"] == 4096 and one["cycles"] > 0 and one["ratio"] is None


@pytest.mark.parametrize("case, figure", [("share", "error"), ("delay", "p99_us")])
def test_what_is_kept_has_a_row_for_each_engine_and_its_figure_alone(case, figure):
    rows = {one["engine"]: one for one in answer_of("queue_bench", "--only", case, "--windows", "1")}
    assert set(rows) == {"kamuee", "rte_sched"}
    assert rows["kamuee"][figure] > 0       # rte_sched has none on a busy machine
    assert all(one["cycles"] is None and one["vrs"] == 8 for one in rows.values())
    assert all(one[{"error": "p99_us", "p99_us": "error"}[figure]] is None for one in rows.values())
