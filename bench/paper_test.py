# SPDX-License-Identifier: BSD-3-Clause
"""The papers' experiments: factorial arithmetic by hand, the papers' numbers as printed, and path_bench losing no
packet."""
import json
import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path

import pytest

from commands import paper as command
from measure import plot, tenants
from measure.program import Unavailable
from measure.factorial import analyze, t_quantile
from paper import diversified, kamuee_2018, packetshader, path, pc_router_80g, program as packet_program

HERE = Path(__file__).resolve().parent

PAPERS = (pc_router_80g, kamuee_2018, packetshader, diversified)


# --- factorial ---

def test_effects_of_jains_workstation_by_hand():
    """MIPS by memory (A) and cache (B): y = 40 + 20 A + 10 B + 5 AB; 1600 + 400 + 100 of 2100 (Jain, example 17.1)."""
    found = analyze(("A", "B"), {(-1, -1): [15], (1, -1): [45], (-1, 1): [25], (1, 1): [75]})
    assert found.mean == 40
    assert [(e.factors, e.value) for e in found.effects] == [(("A",), 20), (("B",), 10), (("A", "B"), 5)]
    assert [e.percent for e in found.effects] == pytest.approx([100 * 1600 / 2100, 100 * 400 / 2100, 100 * 100 / 2100])
    assert found.error_percent == 0 and found.deviation is None and found.effects[0].significant is None


def test_replications_give_error_and_confidence():
    """Three of each: means 15, 48, 24, 77; SSE 102 of SST 7032; 8 degrees of freedom (Jain, examples 18.1 to 18.3)."""
    found = analyze(("A", "B"), {(-1, -1): [15, 18, 12], (1, -1): [45, 48, 51], (-1, 1): [25, 28, 19],
                                 (1, 1): [75, 75, 81]})
    assert (found.mean, *(e.value for e in found.effects)) == (41, 21.5, 9.5, 5)
    assert [e.percent for e in found.effects] == pytest.approx([100 * 5547 / 7032, 100 * 1083 / 7032, 100 * 300 / 7032])
    assert found.error_percent == pytest.approx(100 * 102 / 7032)
    assert found.deviation == pytest.approx((102 / 8) ** 0.5)
    assert found.effect("A").low == pytest.approx(21.5 - 1.92, abs=0.01)
    assert found.effect("A").high == pytest.approx(21.5 + 1.92, abs=0.01)
    assert all(e.significant for e in found.effects)


def test_the_papers_own_table_comes_out_as_printed():
    found = analyze(diversified.TABLE_1_FACTORS, {run: [y] for run, y in diversified.TABLE_1.items()})
    for effect in found.effects:
        assert effect.percent == pytest.approx(diversified.TABLE_1_PERCENT[effect.factors], abs=0.01)
        assert effect.value == pytest.approx(diversified.TABLE_1_EFFECT[effect.factors], abs=0.02)


def test_a_factor_that_does_nothing_is_not_significant():
    found = analyze(("A", "B"), {(a, b): [10 * a - 1, 10 * a + 1] for a in (-1, 1) for b in (-1, 1)})
    assert found.effect("A").significant and not found.effect("B").significant


def test_a_missing_combination_is_refused():
    with pytest.raises(ValueError, match="all 4 combinations of 2 factors"):
        analyze(("A", "B"), {(-1, -1): [1], (1, -1): [2], (-1, 1): [3]})


@pytest.mark.parametrize("probability, freedom, value", [(0.95, 8, 1.860), (0.975, 10, 2.228), (0.95, 16, 1.746),
                                                         (0.95, 4, 2.132)])
def test_quantiles_of_the_t_distribution_as_in_tables(probability, freedom, value):
    assert t_quantile(probability, freedom) == pytest.approx(value, abs=0.002)


# --- the papers' numbers ---

def test_rates_on_the_wire_are_counted_as_the_papers_do():
    """Table 3 of Kamuee 2018 prints both."""
    printed = {64: 3.53, 128: 5.63, 256: 8.71, 512: 21.49, 1024: 38.02, 1518: 61.19}
    assert {size: path.gbps(kamuee_2018.TABLE_3[size][0], size) for size in printed} == pytest.approx(printed,
                                                                                                      rel=0.003)
    limit = pc_router_80g.PRINTED_LIMIT_MPPS
    assert {size: path.mpps_of(pc_router_80g.LIMIT_GBPS, size) for size in limit} == pytest.approx(limit, abs=0.01)


def test_a_papers_rate_becomes_that_of_a_core_and_cycles():
    """59.17 Gb/s of 128 B are 49.97 Mpps, 24.99 on each of two cores, 124 cycles of 3.1 GHz."""
    found = path.Measured([answer_to(["x"])])
    total, each, cycles = path.rows("figure 2", "Core1", found, "x", 128, pc_router_80g.TWO, 59.17)
    assert (total.unit, total.paper, each.unit, cycles.unit) == ("Gb/s", 59.17, "Mpps a core", "cycles/packet")
    assert each.paper == pytest.approx(24.99, abs=0.01) and cycles.paper == pytest.approx(124.1, abs=0.1)
    assert cycles.ours == [100.0] and each.ours == [20.0] and total.ours == pytest.approx([20.0 * 148 * 8 / 1e3])


def test_two_threads_count_as_two_cores_that_have_no_other_work():
    found = path.Measured([answer_to(["threads=2"])])
    assert found.mpps("threads=2") == [40.0] and found.cycles("threads=2") == [100.0]


def test_accesses_to_packets_are_those_of_their_bytes_between_the_marks():
    """Two packets: 4 instructions; of 4 loads one, of 3 stores two are to metadata, tables or behind the slots."""
    found = packet_program.parse_lackey(LACKEY.splitlines(), LACKEY_WHERE, 60)
    assert (found.instructions, found.loads, found.stores, found.packet) == (2.0, 2.0, 1.5, 2.0)


# --- each paper, without measuring ---

CALLGRIND = "events: Ir Dr Dw D1mr D1mw DLmr DLmw\nfn=(1) rx\n1 300 50 20 1 1 0 0\ncfn=(2) look\ncalls=1 1\n" \
            "1 100 5 5 0 0 0 0\nfn=(2)\n1 100 5 5 0 0 0 0\ntotals: 400 55 25 1 1 0 0\n"


# Accesses before the last two stores to the mark are not measured. Two packets of 160 bytes each, with data from 32 on.
LACKEY_WHERE = {"slots": 0x1000, "packets": 2, "stride": 160, "data": 32, "mark": 0x9000, "verdict": [0, 0]}
LACKEY = "==1== Lackey\n S 9000,8\nI  400,3\n S 9000,8\n L 1020,8\n S 9000,8\nI  400,3\nI  403,4\n L 1008,4\n L 1020,4\nI  407,4\n S 10c0,2\n" \
         "I  40b,4\n M 10df,1\n L 1140,8\n S 2000,8\n S 9000,8\nI  40f,1\n"


def answer_to(cases):
    """2 GHz, 100 cycles a packet."""
    trial = {"packets": 100, "cycles": 10_000.0, "seconds": 1e-3, "offered": 100, "lost": 1,
             "delay_us": [1.0, 2.0, 3.0], "stages": {"rx": 20.0, "tx": 30.0}}
    threads = [int(match[1]) if (match := re.search(r"threads=(\d+)", name)) else 1 for name in cases]
    tables = {(found(name, "table", "full"), found(name, "engine", "poptrie")) for name in cases}
    return {"tsc_ghz": 2.0, "kernel": "avx512", "huge": False,
            "fibs": [{"table": t, "engine": e, "routes": 1000, "load_ms": 1.0, "bytes": 10 ** 6} for t, e in tables],
            "cases": [{"case": name, "threads": n, "trials": [dict(trial)]} for name, n in zip(cases, threads)]}


def found(name, key, default):
    return dict(word.split("=") for word in name.split(",") if "=" in word).get(key, default)


class FakeContext:
    """Answers for path_bench at once, and keeps the requests."""

    def __init__(self, work, quick):
        self.work, self.quick, self.rounds = work, quick, 1

    def program(self, name):
        return Path(name)

    def prefixes(self):
        return Path("prefixes.txt")

    def say(self, text):
        pass

    def gpu(self):
        raise RuntimeError("gpu_bench: no libcuda.so.1")

    @contextmanager
    def step(self, text):
        yield

    def run_json(self, argv, timeout_s=300):
        words = [str(word) for word in argv]
        if "--tool=lackey" in words:
            Path(next(word.split("=", 1)[1] for word in words if word.startswith("--log-file="))).write_text(LACKEY)
            return LACKEY_WHERE
        if words[0] == "gpu_bench":
            return self.gpu()
        if words[0] == "valgrind":
            assert "--small-pages" in words     # DPDK does not start in it with others
            out = next(word.split("=", 1)[1] for word in words if word.startswith("--callgrind-out-file="))
            Path(out).write_text(CALLGRIND)
        return answer_to([word for word in words if "=" in word and not word.startswith("--")])


@pytest.fixture(autouse=True)
def slices(monkeypatch):
    monkeypatch.setattr(diversified.os, "geteuid", lambda: 0)
    monkeypatch.setattr(packet_program, "make", lambda target, name, directory: directory / f"{name}.so")
    monkeypatch.setattr(tenants, "measured", lambda ctx, n: tenants.Measured(
        [tenants.Tenant(f"v{i}", 10e6 * i, 9e6 * i, 0.5) for i in range(1, n + 1)], 0.99, 0.5))


@pytest.fixture(params=[1, 2, 16])
def n_cores(request, monkeypatch):
    for module in PAPERS:
        monkeypatch.setattr(module, "cores", lambda: request.param)
    monkeypatch.setattr(kamuee_2018, "built", lambda ctx, level: Path(f"path_bench{level}"))
    return request.param


@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
@pytest.mark.parametrize("module", PAPERS, ids=lambda module: module.NAME)
def test_each_row_cites_its_figure_and_has_a_number_or_a_reason(module, quick, n_cores, tmp_path):
    result = module.run(FakeContext(tmp_path, quick))
    assert result.rows and result.charts and result.notes
    for row in result.rows:
        assert re.match(r"(figure|table) \d|§", row.figure) and row.case and row.unit
        assert row.ours or row.note.startswith("n/a: "), row
        assert all(isinstance(value, float | int) for value in row.ours)
    if n_cores == 2:
        pytest.importorskip("matplotlib")
        plot.figure(result.charts).clear()


PRINTED = {pc_router_80g: {59.17, 80.0, 79.198},
           kamuee_2018: {12.20, 180.18, 80.52, 292.17, 111.42, 349.60, 5.26, 4.76, 3.94, 5.05, 4.55, 4.97, 69.4,
                         1.86e-06, 1.27e-07},
           packetshader: {200, 1229, 277, 30, 60, 80, 40, 20, 50},
           diversified: {75.65, 7.65, 0.09, 16.30, 0.17, 0.04, 464.24}}


@pytest.mark.parametrize("module", PAPERS, ids=lambda module: module.NAME)
def test_the_papers_numbers_stand_beside_ours_as_printed(module, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "cores", lambda: 2)
    rows = module.run(FakeContext(tmp_path, quick=True)).rows
    assert PRINTED[module] <= {row.paper for row in rows}


def test_a_gpu_has_rows_of_each_number_of_tables_or_the_reason(tmp_path):
    ctx = FakeContext(tmp_path, quick=True)
    assert "no GPU here" in packetshader.run(ctx).rows[-1].note
    row = {"batch": 64, "updates": False, "cpu_cycles": 50.0, "age_p99_us": 9.0}
    ctx.gpu = lambda: {"device": "gpu", "rows": [{**row, "tables": 1, "offload_cycles": 60.0, "saved": -10.0},
                                                 {**row, "tables": 16, "offload_cycles": 20.0, "saved": 30.0}]}
    cpu, one, cpu16, sixteen = packetshader.run(ctx).rows[-4:]
    assert (cpu.ours, one.ours, cpu16.ours, sixteen.ours) == ([50.0], [60.0], [50.0], [20.0])
    assert one.note.endswith("loses") and sixteen.note == "age p99 9 µs; pays"


def test_a_level_that_does_not_build_costs_no_other_result(tmp_path, monkeypatch):
    def broken(ctx, level):
        raise Unavailable(f"{level} does not build: x.c: error")
    monkeypatch.setattr(kamuee_2018, "built", broken)
    *rows, last = kamuee_2018.run(FakeContext(tmp_path, quick=False)).rows
    assert last.figure == "figure 6" and "-O0 does not build" in last.note and not last.ours
    assert any(row.figure == "table 3" and row.ours for row in rows)


def test_callgrind_counts_a_packet_and_each_function_without_what_it_calls(tmp_path):
    (tmp_path / "out").write_text(CALLGRIND)
    counted = path.parse_callgrind(tmp_path / "out", packets=10)
    assert counted.events["Ir"] == 40 and counted.accesses == 8
    assert counted.functions == {"rx": 30, "look": 10}


# --- the command ---

def test_the_list_names_five_papers(capsys):
    assert command.main([]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("2015-80g", "kamuee0-rcu", "kamuee-2018", "packetshader", "diversified"))


def test_an_unknown_paper_is_named(capsys):
    assert command.main(["click"]) == 2
    assert "no paper 'click', expected one of " in capsys.readouterr().err


def test_a_table_fits_80_columns_and_shows_both_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "terminal_width", lambda: 80)
    monkeypatch.setattr(kamuee_2018, "cores", lambda: 2)
    lines = command.show(kamuee_2018, kamuee_2018.run(FakeContext(tmp_path, quick=True)), "")
    assert max(map(len, lines[1:])) <= 80
    at = lines.index("table 3   one flow, 64 B")
    assert lines[at + 1].split() == ["Mpps", "5.26", "20"]


def test_a_paper_whose_program_fails_is_named_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    def fails(ctx):
        raise RuntimeError("path_bench: status 1: no room")

    monkeypatch.setattr(packetshader, "run", fails)
    monkeypatch.setattr(diversified, "run", lambda ctx: FakeResult())
    monkeypatch.setattr(command.machine, "must_be_quiet", lambda force: (0.0, ""))
    given = command.parser().parse_args(["--quick", "--json"])
    assert command.run(given, {"packetshader": packetshader, "diversified": diversified}) == 1
    said = capsys.readouterr()
    assert "kamuee bench paper: packetshader: path_bench: status 1: no room" in said.err
    assert list(json.loads(said.out)["papers"]) == ["diversified"]


class FakeResult:
    rows, notes, charts = [], [], []


# --- the program ---

def program():
    """Of the build of these tests: meson runs them in its build directory."""
    named = os.environ.get("KAMUEED")
    builds = [*([Path(named).parent] if named else []), Path.cwd(), HERE.parent / "build"]
    return next((build / "bench/path_bench" for build in builds if os.access(build / "bench/path_bench", os.X_OK)),
                None)


def path_bench(*words):
    if program() is None:
        pytest.skip("path_bench is not built")
    done = subprocess.run([program(), "--rounds", "1", "--ms", "5", *words], capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return {entry["case"]: entry["trials"][0] for entry in json.loads(done.stdout)["cases"]}


def test_every_packet_comes_out():
    common = "table=1000,pattern="
    cases = [common + pattern for pattern in ("straight", "cross", "random", "prefix", "flows", "ports")]
    cases += [f"{common}random,{more}" for more in ("ports=4,queues=3", "burst=1", "bytes=1518,whole=1",
                                                    "engine=dir24_8", "engine=lpm", "mode=io", "mode=rx", "mode=tx", "queue=1")]
    if len(os.sched_getaffinity(0)) >= 2:
        cases += [f"{common}random,threads=2,queues=2,rss={rss}" for rss in ("none", "ip", "all")]
        cases += [f"{common}random,threads=2,pipeline=1"]
    for simd in ("512", "64"):
        for name, trial in path_bench("--simd", simd, *cases).items():
            assert trial["sent"] == trial["received"] > 0 and trial["dropped"] == 0, name


def test_stages_are_timed_where_the_forwarder_works_and_nowhere_else():
    found = path_bench("--ms", "50", "table=default4,pattern=random", "table=default4,mode=io")
    assert {"rx", "ether_in", "ip4_fwd", "tx"} <= set(found["table=default4,pattern=random"]["stages"])
    assert not found["table=default4,mode=io"]["stages"]


def test_loopback_and_blackholes_are_dropped_and_the_rest_comes_out():
    for name, trial in path_bench("table=default4,pattern=loopback", "table=bhole4,pattern=random").items():
        assert 0 < trial["dropped"] < trial["received"] / 50, name
        assert trial["sent"] + trial["dropped"] == trial["received"], name


def test_an_offered_load_is_sent_lost_or_still_waiting():
    trial, = path_bench("table=default4,pattern=flows,flows=1,ports=1,mpps=0.5").values()
    assert 0 <= trial["offered"] - trial["lost"] - trial["sent"] <= 1024
    least, mean, most = trial["delay_us"]
    assert 0 < least <= mean <= most


@pytest.mark.parametrize("word, complaint", [("bytes=9000", "frames of 64-1518 bytes"),
                                             ("engine=cam", "no such table or engine"),
                                             ("color=red", "unknown key"), ("threads=999", "a core of its own")])
def test_a_wrong_case_is_named(word, complaint):
    if program() is None:
        pytest.skip("path_bench is not built")
    done = subprocess.run([program(), word], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and complaint in done.stderr and word in done.stderr
