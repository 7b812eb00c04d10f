# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `kamuee bench`: their messages without a build, and their charts."""
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import acl, fib
from kamuee import bench
from measure import plot

HERE = Path(__file__).resolve().parent

ROWS = [{"engine": engine, "kernel": "avx512", "family": family, "pattern": pattern, "next_hops": 64, "routes": 1000,
         "mlps": mlps, "peer": "avx512", "ratio": mlps / 100, "bytes": 2_800_000, "build_ms": 70.4,
         "updates_per_s": updates, "update_p99_us": 1.66, "update_worst_us": 80.0, "update_worst_cpu_us": 45.2}
        for family in (4, 6) for engine, mlps, updates in (("poptrie", 371.3, 1_000_000), ("rte_fib", 100.0, 0))
        for pattern in ("uniform", "zipf", "sequential")]


def test_charts_of_the_fib_leave_sequential_traffic_out():
    four, six = fib.charts(ROWS)
    assert four.title == "IPv4, 64 next hops" and list(four.groups) == ["uniform", "zipf"]
    assert four.series == {"poptrie avx512": [371.3, 371.3], "rte_fib avx512": [100.0, 100.0]}


def test_scaling_draws_the_cost_of_a_lookup_against_the_number_of_routes():
    four, _ = fib.scaling_charts(ROWS + [{**ROWS[0], "routes": 4_000_000, "mlps": 250.0}])
    assert four.series["poptrie avx512"] == [(1000, 1e3 / 371.3), (4_000_000, 4.0)]


def test_bars_have_the_heights_of_the_values_and_a_missing_value_has_none():
    pytest.importorskip("matplotlib")
    axes = plot.figure([plot.Bars("t", "u", ["g", "h"], {"a": [50.0, None], "b": [200.0, 1.0]})]).axes[0]
    assert [round(bar.get_height()) for bar in axes.patches] == [50, 200, 1]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_picture_is_written_in_the_format_of_its_name(tmp_path, kind):
    pytest.importorskip("matplotlib")
    path = tmp_path / f"p.{kind}"
    plot.save(path, [*fib.charts(ROWS), plot.Lines("l", "x", "y", {"a": [(1, 2), (10, 4)]}, log_x=True)])
    assert (b"<svg" if kind == "svg" else b"\x89PNG") in path.read_bytes()[:1000]


def test_without_a_build_it_says_what_to_build(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KAMUEED", str(tmp_path / "kamueed"))
    assert bench.main(["fib", "--quick"]) == 1
    assert "make build" in capsys.readouterr().err


def test_rows_of_the_table_show_what_was_measured():
    assert fib.cells(ROWS[0]) == ["poptrie", "avx512", "4", "uniform", "64", "371.3", "3.71", None, "2.8", "70",
                                  "1,000,000", "1.7", "80.0", "45.2"]
    assert fib.cells(ROWS[3])[-1] is None, "no updates were measured"


def test_reads_have_a_row_for_each_size_with_median_and_least():
    measured = [{"way": way, "mib": mib, "cycles": [3.0 * mib, mib, 2.0 * mib]} for way in ("independent", "chained")
                for mib in (1, 256)]
    assert fib.read_rows(measured) == [["1", "2.0 (1.0)", "2.0 (1.0)"], ["256", "512.0 (256.0)", "512.0 (256.0)"]]


def test_the_list_names_every_command_and_experiment(capsys):
    assert bench.main([]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in (*bench.commands(), "full-table", "route-change"))


def acl_row(**other):
    return {"set": "blocklist", "family": 4, "rules": 1_000_000, "traffic": "unlisted", "engine": "list", "kernel": "",
            "mlps": 200.0, "mlps_min": 180.0,
            "mlps_max": 210.5, "cycles": 13.0, "ratio": 16.0, "ratio_rules": 1_000_000, "bytes": 9_000_000,
            "writer_bytes": 3_000_000, "build_ms": 220.4, "updates_per_s": 300_000, "updates_batched_per_s": 0, **other}


def test_a_row_of_the_lists_marks_a_ratio_to_fewer_rules():
    assert acl.cells(acl_row()) == ["blocklist", "1,000,000", "4", "unlisted", "list", "200.0", "180.0", "210.5",
                                    "13.0", "16.00", "12.0", "220", "300,000", None]
    assert acl.cells(acl_row(ratio_rules=100_000))[9] == "16.00*"
    assert acl.cells(acl_row(ratio=None))[9] is None


def test_parts_are_asked_for_by_name(monkeypatch):
    asked = []
    monkeypatch.setattr(acl, "answer_of", lambda program, *argv: asked.append((program, *argv)) or {"rows": []})
    acl.measured(acl.parser().parse_args(["--only", "large,forward"]))
    assert asked == [("acl_bench", "--sets", acl.PARTS["large"])]
    acl.measured(acl.parser().parse_args([]))
    assert asked[-1][-1].split(",") == [one for part in acl.PARTS.values() for one in part.split(",")]
    acl.measured(acl.parser().parse_args(["--quick"]))
    assert asked[-1] == ("acl_bench", "--quick")
    assert acl.measured(acl.parser().parse_args(["--only", "forward"])) == {"rows": []} and len(asked) == 3
    with pytest.raises(SystemExit):
        acl.parser().parse_args(["--only", "large,small"])


def test_a_set_that_rte_acl_cannot_hold_is_a_row_that_says_so():
    row = {"set": "ipc", "family": 4, "rules": 100_000, "traffic": None, "engine": "rte_acl",
           "refused": "Cannot allocate memory", "build_ms": 9000.0}
    shown = acl.cells(row)
    assert len(shown) == len(acl.TABLE) and shown[-2:] == ["refused:", "Cannot allocate memory"]


def goals_of(*rows, **more):
    return {goal.name: goal.as_json({"rows": list(rows), **more}) for goal in acl.ALL_GOALS}


def test_goals_are_judged_by_the_rows_and_by_nothing_else():
    found = goals_of(acl_row(), acl_row(engine="set", updates_batched_per_s=900_000),
                     acl_row(engine="rte_acl", bytes=150_000_000, writer_bytes=0))
    assert found["blocklist of 1 M, 95 % unlisted: against rte_acl"]["verdict"] == "goal"
    assert found["blocklist of 1 M: added cycles"]["verdict"] == "missed"
    assert found["blocklist of 1 M: memory of rte_acl to ours"] | {"value": 12.5, "verdict": "must"} == found[
        "blocklist of 1 M: memory of rte_acl to ours"]
    assert found["set members changed, one by one"]["verdict"] == "must"
    assert found["set members changed, in batches of 1,000"]["verdict"] == "missed"
    assert found["1 M five-tuple rules, cache-defeating"]["verdict"] == "not measured"


def test_what_a_list_costs_on_the_whole_path_is_the_median_of_the_rounds_own_losses():
    forward = {acl.PLAIN: [50.0, 100.0, 50.0], acl.EMPTY: [50.0, 100.0, 100.0], acl.FULL: [62.5, 125.0, 100.0]}
    found = goals_of(forward=forward)
    assert [found[name]["value"] for name in found if "whole path" in name] == [0.0, pytest.approx(20.0)]
    assert goals_of()["bound but empty list, whole path: throughput lost"]["verdict"] == "not measured"


def test_the_worst_row_of_any_size_counts_only_where_both_have_the_same_rules():
    rows = [acl_row(engine="list, cache", ratio=1.2), acl_row(engine="list, cache", ratio=0.97),
            acl_row(engine="list, cache", ratio=0.5, ratio_rules=10)]
    worst = goals_of(*rows)["any size: list and cache against rte_acl, the worst row"]
    assert (worst["value"], worst["verdict"]) == (0.97, "must")


def test_lists_without_a_build_say_what_to_build(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KAMUEED", str(tmp_path / "kamueed"))
    assert bench.main(["acl", "--quick"]) == 1
    assert "make build" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_benchmark_that_is_told_to_end_stops_what_it_started(number):
    program = ("import signal, sys, time, types; from kamuee import bench\n"
               "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"  # CI may run under nohup
               "def main(argv):\n"
               "    try:\n"
               "        print('started', flush=True); time.sleep(60)\n"
               "    finally:\n"
               "        print('stopped what it started', flush=True)\n"
               "sys.modules['commands.fib'] = types.SimpleNamespace(main=main)\n"
               "sys.exit(bench.main(['fib']))\n")
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={"PYTHONPATH": str(HERE.parent / "cli")}) as running:
        assert running.stdout.readline() == "started\n"
        running.send_signal(number)
        out, err = running.communicate(timeout=10)
    assert (out, err, running.returncode) == ("stopped what it started\n", "kamuee bench: interrupted\n", 130)


def test_a_benchmark_under_nohup_goes_on():
    program = ("import os, signal, sys, types; from kamuee import bench\n"
               "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nsys.modules['commands.fib'] = "
               "types.SimpleNamespace(main=lambda argv: os.kill(os.getpid(), signal.SIGHUP) or 7)\n"
               "sys.exit(bench.main(['fib']))\n")
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(HERE.parent / "cli")},
                          timeout=10).returncode == 7


def test_packages_have_all_programs_that_commands_run():
    run = {name for file in HERE.rglob("*.py") for name in re.findall(r"\b(?:answer_of|program)\(\"([a-z_]+)\"", file.read_text())}
    packed = re.search(r"^BENCH = ((?:.*\\\n)*.*)", (HERE.parent / "debian/rules").read_text(), re.M)[1]
    assert "tunnel_bench" in run and not run - set(re.findall(r"\w+", packed))
