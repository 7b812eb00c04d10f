# SPDX-License-Identifier: BSD-3-Clause
"""What `kamuee bench forward` computes, writes and says; and, where the driver has been built, kamueed on it.

The driver is built by the first `kamuee bench forward` (it fetches DPDK's source), never by a test.
"""
import argparse
import ipaddress
import json
import math
import os
import random
import re
import shutil
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from commands import forward
from measure import replay
from measure.program import Unavailable
from measure.replay import CASES, Bench, Rate, Verdict
from replay import build, page, program, router, table

HERE = Path(__file__).resolve().parent

BUILD = Path(os.environ.get("KAMUEED", HERE.parent / "build/kamueed")).resolve().parent
PREFIXES = ["1.0.0.0/24", "2001:db8::/32", "1.0.4.0/22", "9.0.0.0/8", "2400::/12", "1.0.5.0/24"]


# --- arithmetic ---

def rate(**more) -> Rate:
    return Rate("kamueed", CASES["ipv4-full"], samples=[39.0, 40.0, 44.0], tsc_mhz=2000.0, **more)


def test_cycles_are_those_of_the_median():
    assert rate().mpps == 40.0
    assert rate().cycles == pytest.approx(50.0)


def test_cycles_of_several_cores_are_those_of_all_of_them():
    two = rate()
    two.case = replace(two.case, cores=2)
    assert two.cycles == pytest.approx(100.0)


def test_without_a_packet_there_are_no_cycles():
    assert Rate("x", CASES["ipv4-full"], samples=[0.0], tsc_mhz=2000.0).cycles == 0.0


def test_the_interval_of_a_median_holds_the_true_one_19_times_of_20():
    draw = random.Random(1)
    held = 0
    for _ in range(1000):
        median, low, high = replay.median95([draw.expovariate(1) for _ in range(100)])
        held += low <= math.log(2) <= high
        assert low <= median <= high
    assert 940 <= held <= 980
    assert replay.median95([2.0]) == (2.0, 2.0, 2.0) and replay.median95([]) is None


def test_a_rate_is_steady_when_the_last_intervals_agree():
    assert not replay.is_steady([40.0, 40.0])
    assert not replay.is_steady([40.0, 40.0, 30.0])
    assert not replay.is_steady([0.0, 0.0, 0.0])
    assert replay.is_steady([1.0, 40.0, 40.5, 40.1])


class Fake:
    """A program on a machine whose speed changes with each slice."""

    def __init__(self, name: str, mpps: float, said: list[str]):
        self.name, self.mpps, self.said, self.tsc_mhz, self.held = name, mpps, said, 2000.0, True
        self.live = SimpleNamespace(pages=self, site=SimpleNamespace(cores=[max(os.sched_getaffinity(0))]))

    def measure(self, _seconds: float) -> None:
        self.said.append(f"warm {self.name}")

    def order(self, held: bool) -> None:
        self.held = held

    def slice(self) -> float:
        assert not self.held
        self.said.append(self.name)
        return self.mpps * (1 + len(self.said))


def test_slices_alternate_so_that_a_machine_that_becomes_faster_favors_nobody():
    said: list[str] = []
    ours, theirs = Fake("ours", 40, said), Fake("theirs", 20, said)
    allowed = os.sched_getaffinity(0)
    rates = replay.in_turns([ours, theirs], [Rate(one.name, CASES["ipv4-full"]) for one in (ours, theirs)],
                            200 * replay.SLICE_S)
    assert said[:6] == ["warm ours", "warm theirs", "ours", "theirs", "theirs", "ours"]
    assert [len(rate.samples) for rate in rates] == [200, 200] and rates[0].tsc_mhz == 2000.0
    median, low, high = rates[1].ratio
    assert low <= 2 <= high and median == pytest.approx(2, rel=0.01) and rates[0].ratio is None
    assert os.sched_getaffinity(0) == allowed


def test_only_the_time_in_which_the_core_was_the_programs_own_counts():
    run = object.__new__(replay.Run)
    run.live = SimpleNamespace(thaw=lambda: None, freeze=lambda: None)
    run.passage = lambda _seconds: (0.005, 0.005, 0.003, 80_000)
    assert run.slice() == pytest.approx(40.0)
    run.passage = lambda _seconds: (0.005, 0.005, 0.006, 80_000)
    assert run.slice() == 0.0


# --- data that the driver reads and shares ---

def test_the_page_has_the_layout_and_the_faults_of_the_header():
    text = (HERE / "replay/page.h").read_text()
    assert int(re.search(r"PAGE_MAGIC (0x\w+)", text)[1], 16) == page.MAGIC
    assert int(re.search(r"QUEUE_MAX (\d+)", text)[1]) == page.QUEUES
    names = re.findall(r"^    FAULT_(\w+)", text, re.M)
    words = {"HOP": "next-hop"}
    assert tuple(words.get(name, name.lower()) for name in names) == page.FAULTS
    assert f"sizeof(struct page_rx) == {page.RX} && sizeof(struct page_tx) == {page.TX}" in text


def make_page(path: Path, queues: int = 2) -> page.Page:
    content = bytearray(page.HEADER + page.QUEUES * (page.RX + page.TX))
    content[0:8] = page.MAGIC.to_bytes(4, "little") + queues.to_bytes(4, "little")
    path.write_bytes(content)
    return page.Page(path)


def test_counters_are_summed_over_queues_and_orders_stay_unless_given(tmp_path):
    one = make_page(tmp_path / "p")
    for queue, packets in enumerate((5, 7, 1000)):      # the third is not in use
        at = page.HEADER + page.QUEUES * page.RX + queue * page.TX
        one.map[at:at + 8] = packets.to_bytes(8, "little")
    assert one.counters()["tx"] == 12
    one.order(held=True, rate=5_000_000_000)
    one.order(verify=True)
    assert [int.from_bytes(one.map[at:at + n], "little")
            for at, n in ((page.HELD, 4), (page.VERIFY, 4), (page.RATE, 8))] == [1, 1, 5_000_000_000]


def test_a_file_that_is_no_page_is_refused(tmp_path):
    (tmp_path / "p").write_bytes(bytes(page.HEADER + page.QUEUES * (page.RX + page.TX)))
    with pytest.raises(ValueError, match="no page"):
        page.Page(tmp_path / "p")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_devargs_name_only_options_that_the_driver_knows_and_fit_into_the_configuration(case):
    given = replay.traffic(case, replay.kamueed(),
                           Path("/dev/shm/kr12345678/t0")) + ",index=3,page=/dev/shm/kr12345678/12/p3"
    options = dict(word.split("=") for word in given.split(","))
    known = re.search(r"keys\[\] = \{(.*?)\}", (HERE / "replay/option.c").read_text(), re.S)[1]
    assert set(options) <= set(re.findall(r'"(\w+)"', known))
    assert len("net_replay3," + given) <= replay.DEVARGS_MAX
    assert options["family"] == "".join(map(str, case.families)) and options["verify"] == "2"
    assert ("vlan" in options) == case.vlan


def test_sixteen_virtual_routers_have_sixteen_vlans():
    assert "vlan=100-115" in replay.traffic(CASES["vr16"], replay.kamueed(), Path("t"))


def test_a_program_that_does_not_look_gets_traffic_without_routes():
    given = replay.traffic(CASES["ipv6-full"], replay.testpmd("io"), Path("t"))
    assert "routes" not in given and "verify" not in given and "family=6" in given


# --- tables ---

def full(tmp_path: Path) -> Path:
    path = tmp_path / "full"
    path.write_text("# a comment\n" + "\n".join(PREFIXES) + "\n")
    return path


def test_a_table_has_the_families_of_the_case_in_the_order_of_the_file(tmp_path):
    assert table.write_prefixes(full(tmp_path), tmp_path / "t", "full", (4,)) == {4: 4}
    assert (tmp_path / "t").read_text().split() == ["1.0.0.0/24", "1.0.4.0/22", "9.0.0.0/8", "1.0.5.0/24"]
    assert table.write_prefixes(full(tmp_path), tmp_path / "t", "full", (4, 6), 1) == {4: 1, 6: 1}
    assert table.write_prefixes(None, tmp_path / "t", "default4", (4,)) == {4: 4}


def test_rules_of_l3fwd_follow_the_next_hops_and_are_sorted_by_length(tmp_path):
    paths = table.write_rules(full_without_comment(tmp_path), hops=3, ports=2)
    # Next hops of the IPv4 prefixes in order: 0 1 2 0, behind ports 0 1 0 0.
    assert paths[0].read_text() == "R9.0.0.0/8 0\nR1.0.4.0/22 1\nR1.0.0.0/24 0\nR1.0.5.0/24 0\n"
    assert paths[1].read_text() == "R2400::/12 1\nR2001:db8::/32 0\n"


def full_without_comment(tmp_path: Path) -> Path:
    table.write_prefixes(full(tmp_path), tmp_path / "t", "full", (4, 6))
    return tmp_path / "t"


def test_a_family_without_routes_has_a_rule_that_no_packet_meets(tmp_path):
    table.write_prefixes(None, tmp_path / "t", "default4", (4,))
    assert table.write_rules(tmp_path / "t", 4, 4)[1].read_text() == "R2001:2::/48 0\n"


@pytest.mark.parametrize("family", [4, 6])
def test_next_hops_are_neighbors_of_their_port_and_all_different(family):
    found = set()
    for hop in range(64):
        address = ipaddress.ip_address(table.hop_address(hop, 4, family))
        port = ipaddress.ip_interface(table.port_address(hop % 4, family))
        assert address in port.network and address != port.ip
        found.add((str(address), table.hop_mac(hop)))
    assert len({address for address, _ in found}) == len({mac for _, mac in found}) == 64


# --- building ---

def test_package_sources_of_the_distribution_become_deb_src_and_others_stay_out(tmp_path):
    (tmp_path / "debian.sources").write_text("Types: deb\nURIs: http://deb.debian.org/debian\nSuites: "
                                             "bookworm\nComponents: main\n\nTypes: deb\nURIs: "
                                             "https://deb.example.com/node\nSuites: nodistro\n")
    (tmp_path / "old.list").write_text("# deb http://deb.debian.org/debian sid main\ndeb [arch=amd64] "
                                       "http://security.debian.org/debian-security bookworm-security main contrib\ndeb "
                                       "https://apt.example.com/x y z\n")
    text = build.source_lists(sorted(tmp_path.iterdir()) + [tmp_path / "missing.list"])
    assert text.count("Types: deb-src") == 2 and "example" not in text and "sid" not in text
    assert ("URIs: http://security.debian.org/debian-security\nSuites: bookworm-security\n"
            "Components: main contrib") in text


def test_limits_of_another_version_of_l3fwd_are_not_guessed():
    better = build.raise_limits("#define IPV4_L3FWD_LPM_MAX_RULES         1024\n#define IPV4_L3FWD_LPM_NUMBER_TBL8S (1 "
                                "<< 8)\n"
                                "#define IPV6_L3FWD_LPM_MAX_RULES         1024\n#define IPV6_L3FWD_LPM_NUMBER_TBL8S (1 "
                                "<< 16)\n", "l3fwd_lpm.c")
    assert "IPV4_L3FWD_LPM_MAX_RULES         (1 << 21)" in better and "IPV6_L3FWD_LPM_NUMBER_TBL8S (1 << 17)" in better
    with pytest.raises(Unavailable, match="found it 0 times"):
        build.raise_limits("#define MAX_RULES 1024\n", "l3fwd_lpm.c")


def test_a_source_tree_that_is_none_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("DPDK_SOURCE", str(tmp_path))
    with pytest.raises(Unavailable, match="ethdev_driver.h"):
        build.source(tmp_path)


# --- programs ---

def site(case=CASES["ipv4-full"], **more) -> program.Site:
    given = dict(case=case, build=Path("/b"), kamueed=Path("/b/kamueed"), work=Path("/w/7"), plugin=Path("/b/p.so"),
                 devargs=[f"net_replay{port}" for port in range(case.ports)], pages=[], cores=[1], main_core=0,
                 prefixes=Path("/t"), routes={4: 1}, huge=lambda _mib: False, say=print)
    return program.Site(**(given | more))


def test_testpmd_forwards_on_the_measured_cores_only(monkeypatch):
    monkeypatch.setattr(program.shutil, "which", lambda name: name)
    argv = program.Testpmd("mac").argv(site(cores=[2, 3]))
    assert argv[argv.index("-l") + 1] == "0,2,3" and argv[argv.index("--main-lcore") + 1] == "0"
    assert {"--forward-mode=mac", "--nb-cores=2", "--rxq=2", "--no-huge"} <= set(argv)
    assert "--in-memory" in program.Testpmd("io").argv(site(huge=lambda _mib: True))


def test_words_in_braces_of_a_command_are_replaced(tmp_path):
    (tmp_path / "t").write_text("1.0.0.0/24\n2400::/12\n1.1.0.0/24\n")
    argv = program.Command("./probe {eal} -- --table={routes} -p '{ports}'").argv(site(prefixes=tmp_path / "t"))
    assert argv[0] == "./probe" and "--vdev" in argv and "-l" in argv
    assert argv[-3:] == [f"--table={tmp_path}/t-64-hops", "-p", "4"]
    assert (tmp_path / "t-64-hops").read_text() == "1.0.0.0/24 0\n2400::/12 0\n1.1.0.0/24 1\n"


def test_a_command_whose_main_lcore_forwards_gets_the_measured_cores_only(tmp_path):
    (tmp_path / "t").write_text("1.0.0.0/24\n")
    argv = program.Command("./probe {eal-main}").argv(site(prefixes=tmp_path / "t", cores=[1]))
    assert argv[argv.index("-l") + 1] == argv[argv.index("--main-lcore") + 1] == "1"


def test_kamueed_gets_its_queues_pinned_and_its_vlans_in_their_routers():
    given = site(CASES["vr16"], cores=[3])
    vrs = {f"r{k}": replay_namespace(f"n{k}") for k in range(16)}
    lines = router.configuration(given, vrs, ("set memory 900",))
    assert lines[
        0] == "set memory 900" and "set huge-pages never" in lines and "set forwarding idle performance" in lines
    assert {"set thread 3 forwarder port p2 rx-queue 0", "set vr r15 namespace n15", "set vport p3.115 vlan 115",
            "set interface p3.115 vr r15"} <= set(lines)


def replay_namespace(name: str):
    return router.Namespace(name)


def test_tables_of_many_routers_are_as_large_as_the_memory_allows(monkeypatch):
    monkeypatch.setattr(replay, "available_bytes", lambda: 16_000_000_000)
    assert replay.most_routes(CASES["ipv4-full"], None) is None
    assert replay.most_routes(CASES["vr16"], None) == 16_000_000_000 * 0.7 // (800 * 16)
    assert replay.most_routes(CASES["vr16"], 1000) == 1000


# --- the command ---

def test_a_row_has_what_scripts_read():
    found = forward.row(rate(ratio=(1.25, 1.24, 1.27), bad=0, verified=1000, routes={4: 901_899}))
    assert {"case", "program", "ring", "mpps", "mpps_p25", "mpps_p75", "cycles", "slices", "bad", "ratio", "ratio_low",
            "ratio_high"} <= set(found)
    assert (found["mpps"], found["mpps_p25"], found["mpps_p75"], found["slices"],
            found["ring"]) == (40.0, 39.0, 44.0, 3, 0)
    assert json.loads(json.dumps(found))["ratio"] == 1.25
    assert forward.cells(found) == ["ipv4-full", "kamueed", "40.0", "39.0", "44.0", "50.0", "1.250", "1.240", "1.270",
                                    "0"]


def test_what_was_not_verified_has_no_number_of_bad_frames():
    assert forward.row(rate())["bad"] is None and forward.cells(forward.row(rate()))[-1] is None


def test_pictures_have_a_bar_for_each_program_and_case():
    rows = [forward.row(rate()), forward.row(replace_case(rate(), ring=True))]
    mpps, cycles = forward.charts(rows)
    assert list(mpps.groups) == ["ipv4-full", "ipv4-full ring"] and mpps.series == {"kamueed": [40.0, 40.0]}
    assert cycles.series == {"kamueed": [50.0, 50.0]}


def replace_case(one: Rate, **more) -> Rate:
    one.case = replace(one.case, **more)
    return one


def test_a_peer_is_a_known_name_or_a_command_line():
    assert forward.peer("l3fwd") == "l3fwd" and forward.peer("./x {eal}") == "./x {eal}"
    with pytest.raises(argparse.ArgumentTypeError, match="expected l3fwd"):
        forward.peer("vpp")
    assert forward.peer_program("l3fwd", CASES["ipv6-full"]).name == "l3fwd fib"
    assert forward.peer_program("l3fwd", CASES["ipv4-full"]).name == "l3fwd lpm"
    assert forward.peer_program("l3fwd", CASES["vlan"]) is None
    assert forward.peer_program("testpmd", CASES["vlan"]).name == "testpmd macswap"
    assert forward.peer_program(forward.peer("old/kamueed"), CASES["vlan"]).binary == Path("old/kamueed").resolve()


@pytest.mark.parametrize("argv", [["vlan", "mix"], ["--case", "vlan", "mix"], ["vlan", "--quick", "mix"],
                                  ["--seconds", "2", "vlan", "--case", "mix"]],
                         ids=" ".join)
def test_cases_are_named_with_and_without_an_option(argv):
    given = forward.parser().parse_intermixed_args(argv)
    assert [case.name for case in forward.wanted(given)] == ["vlan", "mix"]


def test_without_a_name_all_cases_are_measured_and_with_quick_four():
    assert [case.name for case in forward.wanted(forward.parser().parse_intermixed_args([]))] == list(CASES)
    assert len(list(forward.wanted(forward.parser().parse_intermixed_args(["--quick"])))) == 4


def test_a_case_that_there_is_not_is_refused_with_those_there_are(capsys):
    with pytest.raises(SystemExit):
        forward.main(["ipv5"])
    assert "'ipv5': expected ipv4-full, ipv4-default4" in capsys.readouterr().err


def test_ring_adds_a_variant_of_each_case():
    given = forward.parser().parse_args(["--case", "mix", "vlan", "--ring", "--ports", "2", "--cores", "3"])
    assert [forward.title(case) for case in forward.wanted(given)] == ["mix", "mix ring", "vlan", "vlan ring"]
    assert {(case.ports, case.cores) for case in forward.wanted(given)} == {(2, 3)}


def test_without_a_build_it_says_what_to_build(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KAMUEED", str(tmp_path / "kamueed"))
    assert forward.main(["--quick"]) == 1
    assert "make build" in capsys.readouterr().err and not list(tmp_path.iterdir())


class Given:
    """A Bench whose cases end as the test says."""

    def __init__(self, *ends):
        self.ends = list(ends)

    def compare(self, _programs, case, *_more, **_options):
        end = self.ends.pop(0)
        if isinstance(end, Exception):
            raise end
        return [Rate("kamueed", case, samples=[end])]


def measured(bench, *argv: str) -> tuple[list[Rate], list[str]]:
    failed: list[str] = []
    rates = forward.measured(bench, CASES["mix"], forward.parser().parse_args(list(argv)), forward.Voice(), failed)
    return rates, failed


def test_a_case_that_cannot_be_measured_is_named_with_its_reason():
    assert measured(Given(40.0)) == ([Rate("kamueed", CASES["mix"], samples=[40.0])], [])
    assert measured(Given(Unavailable("no l3fwd"))) == ([], ["mix: no l3fwd"])


def test_a_case_that_quick_has_no_time_for_is_left_out():
    say = forward.Voice()
    say.begun -= 40
    say.longest["full"] = 20
    given = forward.parser().parse_args(["--quick"])
    assert forward.measured(Given(), CASES["mix"], given, say, failed := []) == [] and failed == []


# --- the real thing ---

def why_not() -> str:
    if os.geteuid():
        return "root is needed"
    if not (BUILD / "bench/dpdk/librte_net_replay.so").exists():
        return "the replay driver is not built: kamuee bench forward does it"
    missing = [name for name in (BUILD / "kamueed", BUILD / "bench/route_install") if not name.exists()]
    if missing or not shutil.which("dpdk-testpmd") or len(os.sched_getaffinity(0)) < 2:
        return f"missing: {missing or 'dpdk-testpmd or a second core'}"
    return ""


@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_frames_through_kamueed_are_right_and_a_planted_error_is_found():
    case = replace(CASES["mix"], table="full", ports=2, hops=6)
    with Bench(BUILD, BUILD / "kamueed", routes=2000, huge=False) as bench, \
            bench.start(replay.kamueed(), case) as run:
        verdict = run.verify(0.3)
        assert verdict.frames > 1000 and verdict.faults == {}
        assert run.slice() == 0                     # held
        run.live.pages.order(held=False)
        assert run.slice() > 0.1
        load = run.offer(10_000, 0.5)
        assert load.offered > 1000 and load.lost == 0
        # The neighbor behind next hop 1 says it has another MAC: kamueed believes it, the driver does not.
        run.live.ns.ip(f"neigh replace {table.hop_address(1, 2, 4)} lladdr 02:4b:52:00:00:05 nud permanent dev p1")
        assert set(eventually_bad(run).faults) == {"next-hop"}


def eventually_bad(run) -> Verdict:
    end = time.monotonic() + 15
    while not (verdict := run.verify(0.1)).bad:
        assert time.monotonic() < end, "the planted error is not found"
    return verdict
