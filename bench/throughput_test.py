# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench throughput`: the search on models, the frames, the report, and the tester over a real memif."""
import csv
import json
import os
from pathlib import Path

import pytest

from commands import throughput as command
from kamuee import bench
from measure import machine
from measure.search import Goal, Outcome, Search
from throughput import device, frames, report, soak, tester, tests

TOP = 10e6


# --- the search, on models of a device ---

class Model:
    """Loses packets above its capacity, and `stray` packets in the named trials; the tester sends at most `makes`."""

    def __init__(self, capacity: float, makes: float = 1e12, stray=(), disturbed=()):
        self.capacity, self.makes, self.stray, self.disturbed = capacity, makes, set(stray), set(disturbed)
        self.rates: list[float] = []

    def __call__(self, rate: float, seconds: float) -> Outcome:
        self.rates.append(rate)
        number = len(self.rates)
        offered = min(rate, self.makes)
        lost = max(0, int((offered - self.capacity) * seconds)) + (3 if number in self.stray | self.disturbed else 0)
        attempted = max(1, int(offered * seconds))
        return Outcome(offered, attempted, lost, lost / attempted, "somebody had the core" if number in self.disturbed
                       else "")


def found_by(model: Model, guess: float, **goal):
    said: list[str] = []
    return Search(model, Goal(**goal), said.append).ndr(TOP, guess), said


@pytest.mark.parametrize("guess", [0.05e6, 1e6, 3.9e6, 4e6, 4.1e6, 9.9e6])
def test_the_rate_without_loss_is_found_within_the_precision_wherever_the_search_starts(guess):
    found, _ = found_by(Model(4e6), guess, precision=0.01)
    assert 0.99 * 4e6 <= found.rate <= 4e6
    assert found.limit == "device" and found.confirmed == 2


def test_stray_losses_in_single_trials_do_not_decide():
    for start in range(1, 5):
        found, _ = found_by(Model(4e6, stray=range(start, 200, 4)), 4.1e6)
        assert found.rate >= 0.98 * 4e6, f"trials {start}, {start + 4}, …"


def test_a_device_that_loses_in_every_trial_has_no_rate_without_loss_but_one_with_the_ratio_it_keeps():
    always = range(1, 1000)
    assert found_by(Model(4e6, stray=always), 4e6)[0].rate == 0
    assert found_by(Model(4e6, stray=always), 4e6, ratio=1e-3)[0].rate == pytest.approx(4e6, rel=0.015)


def test_a_disturbed_trial_that_lost_is_repeated_and_said_to_be():
    found, said = found_by(Model(4e6, disturbed=[1, 2]), 3.9e6)
    assert found.rate >= 0.98 * 4e6 and found.disturbed == 2 and found.unsettled == 0
    assert "somebody had the core" in said[0] and "does not count" in said[0]


def test_when_every_trial_is_disturbed_the_answer_says_so():
    found, _ = found_by(Model(4e6, disturbed=range(1, 1000)), 3.9e6)
    assert found.rate == 0 and found.unsettled > 0 and found.limit == "disturbance"


def test_a_device_faster_than_the_tester_is_limited_by_the_tester():
    found, _ = found_by(Model(20e6, makes=6e6), 5.9e6)
    assert found.limit == "tester" and found.rate == pytest.approx(6e6, rel=0.02)
    found, _ = found_by(Model(20e6), 9e6)
    assert found.limit == "tester" and found.rate == TOP


def test_what_was_offered_is_reported_not_what_was_intended():
    class Late(Model):
        def __call__(self, rate, seconds):
            trial = super().__call__(rate, seconds)
            return Outcome(0.97 * trial.offered_pps, trial.attempted, trial.lost, trial.ratio)
    found, _ = found_by(Late(4e6), 4e6)
    assert found.limit == "device" and found.offered == pytest.approx(0.97 * found.rate)


def test_a_rate_that_fails_its_confirmation_is_not_the_answer():
    class Tiring(Model):
        def __call__(self, rate, seconds):
            self.capacity = 4e6 if len(self.rates) < 6 else 3e6
            return super().__call__(rate, seconds)
    found, _ = found_by(Tiring(4e6), 4e6)
    assert 0.9 * 3e6 <= found.rate <= 3e6 and found.confirmed == 2


def test_nothing_forwarded_ends_soon():
    model = Model(0)
    assert found_by(model, 1e6)[0].rate == 0
    assert len(model.rates) < 20


def test_every_trial_is_explained():
    found, said = found_by(Model(4e6), 4.1e6)
    assert len(said) == found.trials and all("Mpps for 1 s: " in line for line in said)


# --- frames ---

def test_sizes_genomes_and_mixes():
    assert frames.of_word("64").sizes == (64,)
    assert frames.of_word("aaaaaaaddddg").sizes == (64,) * 7 + (512,) * 4 + (1518,)
    assert frames.of_word("7a4dg").sizes == frames.of_word("aaaaaaaddddg").sizes
    assert frames.of_word("imix").mean() == pytest.approx((7 * 64 + 4 * 594 + 1518) / 12)
    assert frames.of_word("64").mean(50) == 74, "an IPv6 frame has 84 bytes"
    assert frames.percent6("4:60,6:40") == 40 and frames.percent6("6:100") == 100


def test_a_file_of_sizes(tmp_path):
    file = tmp_path / "campus"
    file.write_text("# measured here\n64\n2a\n\n1518  # large\n")
    assert frames.of_word(str(file)).sizes == (64, 64, 64, 1518)


@pytest.mark.parametrize("word", ["63", "10000", "7q", "huge", ""])
def test_what_is_no_size_is_refused_with_what_is_expected(word):
    with pytest.raises(frames.BadFrames, match="expected"):
        frames.of_word(word)


@pytest.mark.parametrize("mix", ["4:60", "4:60,6:60", "5:100", "4"])
def test_what_is_no_mix_is_refused(mix):
    with pytest.raises(frames.BadFrames, match="--mix"):
        frames.percent6(mix)


def test_destinations_lead_to_the_port_they_are_meant_for_also_where_a_longer_prefix_leads_elsewhere():
    groups = frames.split(["10.0.0.0/8", "10.0.0.0/9", "10.128.0.0/9", "2001:db8::/32", "2001:db8:1::/48",
                           "192.0.2.1/32"], 2)
    assert [str(net) for net in groups[0]] == ["10.0.0.0/8", "10.128.0.0/9", "2001:db8::/32"]
    for seed in range(50):
        for which in (0, 1):
            for address in map(frames.ipaddress.ip_address, frames.addresses(groups, which, seed)):
                nets = [(net.prefixlen, number) for number, some in enumerate(groups) for net in some
                        if net.version == address.version and address in net]
                assert max(nets)[1] == which
    assert {"192.0.2.1"} <= set(frames.addresses(groups, 1))


def trial(**more) -> dict:
    """2 s at 1 Mpps; a ring of 1024 takes 1.024 ms to run over."""
    return {"seconds": 2.0, "attempted": 2_000_000, "sent": 2_000_000, "refused": 0, "skipped": 0, "lost": 0,
            "lossy_share": 0.0, "away_us": 20.0, **more}


@pytest.mark.parametrize("result, waited, said", [
    # nothing lost, everything offered
    (trial(), {"device": 500.0, "tester": 5.0}, ""),
    (trial(lost=100, lossy_share=0.005), {"device": 3.0}, "device was off its core for 3.0 ms"),
    (trial(lost=100, lossy_share=0.005), {"device": 1.0}, ""),                                  # its ring holds that
    # losses all the time: too much load
    (trial(lost=90000, lossy_share=0.9), {"device": 30.0}, ""),
    (trial(lost=90000, lossy_share=0.9), {"device": 300.0}, "device was off"),
    (trial(lost=90000, lossy_share=0.9), {"tester": 300.0}, ""),
    (trial(lost=100, lossy_share=0.005, away_us=9000.0), {"tester": 9.0}, "tester was off its core for 9.0 ms"),
    (trial(skipped=200_000), {"tester": 100.0}, "tester was off its core for 100.0 ms"),
    (trial(skipped=200_000), {"tester": 1.0}, ""),                                          # it is just not fast enough
    (trial(skipped=50_000), {"tester": 100.0}, ""),                                        # near enough
    (trial(lost=100, lossy_share=0.005), {"device, by the hypervisor": 10.0}, "by the hypervisor"),
])
def test_only_an_absence_that_can_have_caused_it_excuses_a_trial(result, waited, said):
    found = tests.disturbance(result, waited, 1024)
    assert said in found and bool(said) == bool(found)


def test_for_latency_every_longer_absence_of_the_device_counts():
    assert tests.disturbance(trial(), {"device": 1.5}, 1024, 1.0) == "the device was off its core for 1.5 ms"
    assert tests.disturbance(trial(), {"device": 0.5, "tester": 9.0}, 1024, 1.0) == ""


class Buffer:
    """A device that takes bursts of N frames, and loses one of any longer burst."""

    def __init__(self, frames: int):
        self.frames, self.counts = frames, []

    def trial(self, sent, rate, seconds, count=0, **words) -> dict:
        self.counts.append(count)
        return {"lost": int(count > self.frames), "disturbed": "", "seconds": count / rate}


@pytest.mark.parametrize("frames_kept", [0, 1, 100, 5000, 77777])
def test_the_longest_burst_is_found_to_a_hundredth(frames_kept):
    kept = Buffer(frames_kept)
    count, seconds = tests.longest_burst(kept, frames.of_word("64"), 1e6, 1_000_000)
    assert frames_kept - max(32, frames_kept / 99) <= count <= frames_kept
    assert seconds == pytest.approx(count / 1e6) and len(kept.counts) < 25


def test_a_device_that_keeps_everything_is_unlimited():
    assert tests.longest_burst(Buffer(10**9), frames.of_word("64"), 1e6, 1_000_000) == (1_000_000, 1.0)


def test_the_curve_of_latencies_keeps_its_ends():
    curve = tests.thinned([[1000 * i, 1] for i in range(1, 10001)])
    assert len(curve) < 250 and curve[0] == [1, 0.0001] and curve[-1] == [10000, 1.0]
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in zip(curve, curve[1:]))


# --- the report ---

COMMON = {"peer": "kamueed", "link": "memif", "mean_bytes": 64.0, "percent6": 0, "directions": 1, "routes": 510,
          "disturbed": ""}
DELAY = {"min": 1.0, "mean": 2.0, "p50": 2.0, "p90": 3.0, "p99": 4.0, "p99.9": 5.0, "p99.99": 6.0, "max": 7.0}
ROWS = [
    {"test": "throughput", "size": "64", "mpps": 4.2, "gbps": 2.8, "flood_mpps": 4.4, "loss_ratio": 0.0, "trials": 9,
     "confirmed": 2, "limit": "device", **COMMON},
    {"test": "latency", "size": "64", "load": 50, "mpps": 2.1, "latency_us": DELAY, "jitter_us": DELAY, "unseen": 10,
     "seen": 990, "steps": [[1, 0.5], [7, 1.0]], **COMMON},
    {"test": "loss", "size": "64", "load": 100, "mpps": 6.0, "forwarded_mpps": 4.4, "ratio": 0.27, "lost": 1, **COMMON},
    {"test": "loss", "size": "64", "load": 50, "mpps": 3.0, "forwarded_mpps": 3.0, "ratio": 0.0, "lost": 0, **COMMON},
    {"test": "back-to-back", "size": "64", "frames": 1234, "unlimited": False, "burst_ms": 0.2, "buffer_ms": 0.1,
     "mpps": 6.0, **COMMON},
    {"test": "recovery", "size": "64", "recovery_ms": 2.0, "overloaded": True, "overload_mpps": 4.6, **COMMON},
    {"test": "reset", "size": "64", "reset_ms": None, "mpps": 2.1, **COMMON},
    {"test": "soak", "size": "64", "load": 95, "mpps": 4.0, "lost": 3, "attempted": 1000, "minutes": 10,
     "ledger_difference": 0, "lost_while_kept": 3,
     "latency_us": DELAY, "lost_at": [[17.0, 2, 1, 4.5]], "device_counts": {"drop tx_full": 2}, **COMMON},
]


def test_what_a_soak_lost_while_the_device_was_kept_from_its_core_is_told_apart():
    kept_ms = {3: 0.0, 4: 12.0, 9: 0.1}
    lost_at = [[2.0, 7, 0], [3.0, 5, 1], [4.0, 0, 10], [9.0, 100, 0], [20.0, 0, 1000]]
    assert soak.apart(lost_at, kept_ms, fills_ms=0.2) == (16, 1107)
    assert soak.apart(lost_at, kept_ms, fills_ms=20.0) == (0, 1123)
    assert soak.apart([], kept_ms, fills_ms=0.2) == (0, 0)


def result() -> dict:
    return {"started": "now", "machine": machine.facts(), "busy_percent": 30.0, "forced": True, "quick": True,
            "cores": "tester on core 0",
            "plan": {"seconds": 0.2}, "device": {"peer": "kamueed"}, "rows": ROWS, "explained": ["4 Mpps: 1 < 2 lost"],
            "losses": {}, "ledger": 0}


def test_the_report_is_one_page_with_its_plots_inside_and_every_row_in_the_csv(tmp_path):
    pytest.importorskip("matplotlib")
    report.write(tmp_path, result())
    page = (tmp_path / "report.html").read_text()
    assert page.count('src="data:image/svg+xml;base64,') == 5 and "http" not in page.replace("http-equiv", "")
    assert "1 &lt; 2 lost" in page and "busy machine" in page
    assert "<td>17.0</td><td>2</td><td>1</td><td>4.5</td>" in page
    rows = list(csv.DictReader((tmp_path / "rows.csv").open()))
    assert [row["test"] for row in rows] == [row["test"] for row in ROWS]
    assert rows[1]["latency_us.p99.9"] == "5.0"
    assert json.loads((tmp_path / "result.json").read_text())["rows"] == ROWS


def test_every_row_says_what_was_found():
    said = [report.cells(row)[-1] for row in ROWS]
    assert said[1].startswith("p50 2, p99.9 5") and said[1].endswith("1 % unseen")
    assert said[2] == "27 % lost, 4.4 Mpps forwarded" and said[6] == "did not recover"
    assert report.cells({**ROWS[2], "disturbed": "x"})[-1].endswith("(disturbed)")


# --- the command ---

@pytest.mark.parametrize("argv, said", [
    (["--tests", "speed"], "no test 'speed'"), (["--sizes", "12"], "expected 64 to"), (["--mix", "4:1"], "--mix"),
    (["--peer", "cable", "--queues", "2"], "not with cable"), (["--peer", "testpmd", "--queues", "2"],
                                                               "not with testpmd"),
    (["--queues", "4", "--ring", "14"], "more than the 65536 entries")])
def test_what_cannot_be_measured_is_refused(capsys, argv, said):
    assert bench.main(["throughput", "--force", *argv]) == 1
    assert said in " ".join(capsys.readouterr().err.split())


def test_the_plan_follows_the_duration():
    given = command.parser().parse_args(["--quick"])
    assert command.plan_of(given).seconds == command.QUICK_SECONDS
    given = command.parser().parse_args(["--duration", "60", "--bidirectional", "--loss-ratio", "1e-6"])
    plan = command.plan_of(given)
    assert (plan.seconds, plan.overload_seconds, plan.burst_seconds, plan.both,
            plan.loss_ratio) == (60, 60, 2, True, 1e-6)


# --- the tester itself ---

def program() -> Path:
    """Meson runs tests in the build directory; by hand it is build/ of the checkout, or KAMUEED's."""
    builds = [Path.cwd(), command.daemon().parent]
    for built in (build / "bench/tester" for build in builds):
        if os.access(built, os.X_OK):
            return built
    pytest.skip("no bench/tester: build it (make build)")


@pytest.fixture
def cable(tmp_path):
    """A tester whose two ports are the ends of one memif: it receives its own frames."""
    setting = device.Setting(Path(), Path(), tmp_path, cores=(min(os.sched_getaffinity(0)),) * 2)
    wire = device.Cable(setting)
    wire.start()
    connected = tester.Tester(program(), wire.devargs, setting.cores[0], tmp_path / "log")
    for side in device.SIDES:
        file = tmp_path / f"destinations{side}"
        file.write_text("\n".join(wire.destinations(side)))
        connected.port(side, device.NOBODY, device.ours(side), file)
    yield connected
    connected.stop()


def test_over_a_cable_every_packet_comes_back_once_in_order_and_unchanged(cable):
    for words in ({"sizes": "64"}, {"sizes": "64,594,1518", "percent6": 40, "from": "both"},
                  {"sizes": "1518", "percent6": 100}):
        r = cable.trial(rate=0, seconds=60, count=20000, **words)
        for d in r["directions"]:
            assert (d["sent"], d["received"]) == (20000, 20000)
            assert not any(d[name] for name in ("lost", "duplicated", "reordered", "corrupted", "foreign", "late"))
            assert d["latency_ns"]["n"] + d["unseen"] == 20000


def test_a_paced_trial_sends_no_more_than_was_due_and_says_what_it_left_out(cable):
    d = cable.trial(rate=50000, seconds=0.2, slice_ms=50)["directions"][0]
    assert d["sent"] + d["refused"] + d["skipped"] <= 10001
    assert d["received"] + d["lost"] == d["sent"]
    assert d["lost"] == sum(inside for _, inside, _ in d["lost_at"]) == 0


def test_what_the_tester_does_not_understand_it_refuses_and_goes_on(cable):
    for line, said in (("trial rate=1", "seconds"), ("trial seconds=1 color=red", "color"),
                       ("trial seconds=1 sizes=12", "sizes"),
                       ("port 2 to=x", "port 0 or port 1"), ("port 0 source=nowhere", "nowhere"),
                       ("dance", "expected port or trial")):
        cable._say(line)
        with pytest.raises(tester.TesterError, match=said):
            cable._answer()
    assert cable.trial(rate=0, seconds=60, count=100)["directions"][0]["received"] == 100


def test_without_two_ports_the_tester_says_what_is_needed(tmp_path):
    with pytest.raises(tester.TesterError, match="needs two ports"):
        tester.Tester(program(), ["net_null0"], min(os.sched_getaffinity(0)), tmp_path / "log")
