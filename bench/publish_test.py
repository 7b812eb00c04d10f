# SPDX-License-Identifier: BSD-3-Clause
"""Publication: the Kamuee Zero paper's numbers brought to one core, and what the programs' answers become."""
from contextlib import nullcontext
from pathlib import Path

import pytest

from experiments import publication
from measure.report import Outcome
from paper import kamuee0_rcu


def row(publisher, paper, section="packet", readers=1, mpps=10.0, p50=1.0):
    return {"publisher": publisher, "paper": paper, "section": section, "readers": readers, "mpps": [mpps],
            "published_mpps": [mpps], "publication_us": {"p50": p50, "p99": 2 * p50, "max": 3 * p50, "n": 9}}


def test_table_3_gives_the_145_gbps_of_the_text():
    assert kamuee0_rcu.CORES * kamuee0_rcu.gbps(kamuee0_rcu.their_mpps("L3BGPFULL", 128),
                                                128) == pytest.approx(145, abs=1)


def test_the_papers_own_order_of_the_five_is_recognized():
    rows = [row(name.lower(), name, mpps=20.0 if name == "QSBR" else 10.0, p50=place)
            for place, name in enumerate(kamuee0_rcu.SYNCHRONIZE, 1)]
    assert all(r.ours == [r.paper]
               for r in kamuee0_rcu.places([*reversed(rows), row("none", "", mpps=99.0, p50=0.1)]))


def test_a_writer_without_a_core_of_its_own_has_no_time_to_publish():
    assert [r.unit for r in kamuee0_rcu.rows_of_publisher(row("mb", "MB"), readers=1)] == ["Mpps a core", "µs p50",
                                                                                           "µs p99", "µs max"]
    crowded, = kamuee0_rcu.rows_of_publisher(row("mb", "MB", readers=2), readers=1)
    assert crowded.ours == [5.0] and "shares a core" in crowded.note


class Answer:
    """A context whose program gives this answer."""

    def __init__(self, found):
        self.outcome, self.found, self.quick = Outcome("publication", ""), found, True
        self.add, self.note = self.outcome.add, self.outcome.note

    def program(self, name):
        return Path(name)

    def prefixes(self):
        return Path("prefixes")

    def step(self, text):
        return nullcontext()

    def run_json(self, argv, timeout_s):
        return self.found


def publication_row(load, changes, mpps, cycles, lost=0, p99=300.0):
    return {"load": load, "changes_per_s": changes, "reached": [changes], "mpps": [mpps], "cycles": [cycles],
            "grace_p50_us": [200.0],
            "grace_p99_us": [p99], "grace_max_us": [400.0], "offered": [1000], "lost": [lost], "dropped": [0]}


def published(**worse):
    rows = [publication_row(load, changes, 30.0, 66.0) for load in ("flood", "part") for changes in (0, 10000)]
    rows[1].update(worse)
    rows[3].update(worse)
    ctx = Answer({"routes": 900_000, "load_percent": 80, "unaccounted": 0, "rows": rows})
    publication.run(ctx)
    return {s.what for s in ctx.outcome.series if s.met() is False}


def test_what_the_program_measures_is_held_against_the_goals():
    assert published() == set()
    assert published(grace_p99_us=[1200.0]) == {"grace period, p99"}
    assert published(mpps=[28.0], cycles=[71.0]) == {"throughput that is left"}
    assert published(lost=[1]) == {"packets lost at 80 % of the flood's rate"}
    assert published(reached=[9000]) == {"route changes reached"}
