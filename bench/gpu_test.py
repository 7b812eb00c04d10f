# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench gpu`: its verdict and goals, without a build."""
import pytest
from commands import gpu


def row(tables, saved, p99=10.0, updates=False):
    return {"tables": tables, "batch": 64, "updates": updates, "mlps": 1.0, "cpu_cycles": 50.0, "offload_cycles": 50.0 - saved,
            "saved": saved, "age_p50_us": 5.0, "age_p99_us": p99}


def found(*rows, device="gpu"):
    return {"device": device, "routes": 1000, "rows": list(rows)}


def tables(*rows):
    return gpu.verdict_of(found(*rows))


def test_it_pays_from_the_tables_behind_the_last_loss():
    assert tables(row(1, -3), row(16, 12), row(256, 20)) == "pays from 16 tables; loses with tables: 1 (-3.0 cycles, p99 10 µs)."
    assert tables(row(1, 3), row(16, -12), row(256, 20)).startswith("pays from 256 tables; loses with tables: 16 ")


def test_an_old_answer_does_not_pay():
    assert tables(row(1, 30, p99=51)).startswith("pays for no number of tables; loses with tables: 1 (+30.0")
    assert tables(row(1, 30, p99=51), row(1, 5, p99=50)) == "pays from 1 table; loses nowhere that was measured."


def test_rows_with_updates_decide_nothing():
    assert tables(row(1, -5), row(1, 40, updates=True)).startswith("pays for no number")


def test_the_emulated_device_is_never_taken_for_a_gpu():
    emulated = found(row(16, 30), device="emulated")
    assert gpu.verdict(emulated).startswith("Emulated device: a thread on this CPU. These are not figures of a GPU. With it: Lookups: pays from 16")
    assert [goal.as_json(emulated)["verdict"] for goal in gpu.ALL_GOALS] == ["not measured"] * 2


def test_goals_are_those_of_sixteen_tables():
    real = found(row(1, 40), row(16, 10))
    assert [goal.as_json(real)["verdict"] for goal in gpu.ALL_GOALS] == ["must", "goal"]


def test_without_a_gpu_the_command_ends_with_1_and_a_sentence(monkeypatch, capsys):
    def refuse(name, *argv):
        raise gpu_unavailable(f"{name} exited with code 1; see its messages above")
    from measure.program import Unavailable as gpu_unavailable
    monkeypatch.setattr(gpu, "answer_of", refuse)
    assert gpu.main([]) == 1
    assert capsys.readouterr().err == "kamuee bench gpu: gpu_bench exited with code 1; see its messages above\n"


@pytest.mark.parametrize("argv, want", [([], ["--device", "0"]), (["--emulated", "--quick", "--device", "2"],
                                                                   ["--device", "2", "--emulated", "--quick"])])
def test_options_reach_the_program(monkeypatch, capsys, argv, want):
    asked = []
    monkeypatch.setattr(gpu, "answer_of", lambda name, *more: asked.append((name, *more)) or found(row(1, 1), device="emulated"))
    assert gpu.main(argv) == 0
    assert asked == [("gpu_bench", *want)]
    assert "not figures of a GPU" in capsys.readouterr().out.splitlines()[-1]
