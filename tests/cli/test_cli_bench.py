# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench`: what it says without a build, and what it draws."""
import xml.etree.ElementTree as ET

import pytest

from kamuee import bench, svg

SVG = "{http://www.w3.org/2000/svg}"
ROWS = [{"engine": engine, "kernel": "avx512", "family": family, "pattern": pattern, "next_hops": 64, "routes": 1000,
         "mlps": mlps, "ratio": mlps / 100, "bytes": 2_800_000, "build_ms": 70.4, "updates_per_s": updates}
        for family in (4, 6) for engine, mlps, updates in (("poptrie", 371.3, 1_000_000), ("rte_fib", 100.0, 0))
        for pattern in ("uniform", "zipf", "sequential")]


def drawn(charts):
    picture = ET.fromstring(svg.picture(charts))
    return picture, [r for r in picture.iter(f"{SVG}rect") if r.get("width") == str(svg.BAR - 2)]


def test_picture_has_a_bar_for_each_value_and_none_leaves_its_frame():
    picture, bars = drawn(bench.charts(ROWS))
    assert len(bars) == 2 * 2 * 2, "two families, two engines, two patterns: sequential is left out"
    assert all(0 < float(bar.get("height")) <= svg.HEIGHT for bar in bars)
    texts = [t.text for t in picture.iter(f"{SVG}text")]
    assert "IPv4, 64 next hops, million lookups a second" in texts and "poptrie avx512" in texts and "371" in texts


def test_heights_are_in_the_proportion_of_the_values():
    _, bars = drawn([svg.Chart("t", "u", ["a", "b"], [("g", [50.0, 200.0])])])
    low, high = (float(bar.get("height")) for bar in bars)
    assert high / low == pytest.approx(4, rel=0.01)


def test_a_value_that_is_missing_has_no_bar():
    assert len(drawn([svg.Chart("t", "u", ["a", "b"], [("g", [None, 2.0]), ("h", [1.0, 2.0])])])[1]) == 3


@pytest.mark.parametrize("most", [0.003, 1, 7, 371.3, 2005, 4e6])
def test_scale_has_four_to_nine_lines(most):
    assert 3 <= most / svg.nice_step(most) <= 8


def test_scaling_compares_sizes_of_tables_on_uniform_traffic():
    four, six = bench.scaling_charts(ROWS + [{**ROWS[0], "routes": 4_000_000, "mlps": 300.0}])
    assert [name for name, _ in four.groups] == ["1,000", "4,000,000"]
    assert four.groups[1][1] == [300.0, None] and six.series == ["poptrie avx512", "rte_fib avx512"]


def test_without_a_build_it_says_what_to_build(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KAMUEED", str(tmp_path / "kamueed"))
    assert bench.main(["fib", "--quick"]) == 1
    assert "make build" in capsys.readouterr().err


def test_rows_of_the_table_show_what_was_measured():
    assert bench.cells(ROWS[0]) == ["poptrie", "avx512", "4", "uniform", "64", "371.3", "3.71", "2.8", "70", "1,000,000"]
    assert bench.cells(ROWS[3])[-1] is None, "no updates were measured"
