# SPDX-License-Identifier: BSD-3-Clause
"""The monitor: rates from two looks, the screen at 80x24, its end, a daemon that restarts."""
import copy
import io
import json

import pytest
from rich.console import Console

from kamuee import sample, screen
from kamuee.client import Client


def looks(daemon, change, seconds=2.0):
    """Two looks, `seconds` apart, between which `change` was done to the daemon's state."""
    times = iter((10.0, 10.0 + seconds))
    before = sample.look(Client(daemon.path), lambda: next(times))
    change(daemon.state)
    return before, sample.look(Client(daemon.path), lambda: next(times))


def busy(state):
    port = state["port"][0]["statistics"]
    port.update({"rx-packets": str(int(port["rx-packets"]) + 2_000_000), "rx-bytes": str(int(port["rx-bytes"]) + 10**9)})
    for interface, n in zip(state["interface"], (5, 7)):
        interface["statistics"]["drop-packets"] = str(int(interface["statistics"]["drop-packets"]) + n)
    state["thread"][2]["statistics"].update({"busy-cycles": "1650", "idle-cycles": "350"})
    state["thread"][1]["cpu-time"] = str(int(state["thread"][1]["cpu-time"]) + 500_000_000)
    state["drop"][2]["packets"] = "13"
    state["thread"][2]["statistics"]["rx-packets"] = str(int(state["thread"][2]["statistics"]["rx-packets"]) + 64000)
    state["thread"][2]["statistics"]["bursts"] = str(int(state["thread"][2]["statistics"]["bursts"]) + 4000)
    state["punt"][1].update({"passed": str(int(state["punt"][1]["passed"]) + 20), "policed": str(int(state["punt"][1]["policed"]) + 6)})
    state["latency"][0]["bucket"] = [{"below": "1300", "packets": "1000900"}, {"below": "90000", "packets": "48676"}]
    state["vr"][0]["fib"][0]["updates"] = str(int(state["vr"][0]["fib"][0]["updates"]) + 3000)


def test_sample_holds_what_changed_by_the_second(daemon):
    found = sample.measured(*looks(daemon, busy))
    port = found["port"][0]
    assert (port["rx-pps"], port["rx-bps"], port["tx-pps"], port["drop-pps"]) == (1e6, 4e9, 0, 6)
    assert [thread["load"] for thread in found["thread"]] == [0, 0.25, 0.9]
    assert found["drop"] == [{"name": "inject_no_forwarder", "severity": "config", "pps": 5,
                              "sentence": "no forwarder serves the port of the interface"}]
    assert found["table"][0]["updates-ps"] == 1500
    assert (found["held"], found["imbalance"]) == (3, 0)
    assert [thread["burst"] for thread in found["thread"]] == [None, None, 16.0]
    assert found["punt"][1] == {"class": "other", "pps": 10, "queued": 511, "drop-pps": 3}
    assert found["latency"] == [{"input": "p0", "output": "p1", "packets": 1000, "median": 1300, "p99": 90000, "p999": 90000}]
    assert [alarm["name"] for alarm in found["alarm"]] == ["ledger", "link-flapping"]


def test_sample_has_each_client_of_a_queue_and_what_it_drops_now(daemon):
    def drop(state):
        state["queue"][0]["vr"][1]["class"][2]["dropped"]["codel"] = "32"
    found = sample.measured(*looks(daemon, drop))["queue"]
    assert [one["client"] for one in found] == ["vr default", "vr red", "vport v40"]
    assert found[1] == {"port": "p0", "client": "vr red", "bps": 98765432, "guarantee": 100_000_000, "most": 950_000_000, "waiting": 405,
                        "p99": 9120000, "drop-pps": 10}
    assert (found[2]["most"], found[2]["guarantee"], found[2]["drop-pps"]) == (20_000_000, None, 0)


def test_sample_has_the_rates_of_each_vlan(daemon):
    def traffic(state):
        seen = next(interface for interface in state["interface"] if interface["name"] == "v40")["statistics"]
        seen["rx-packets"], seen["rx-bytes"] = str(int(seen["rx-packets"]) + 1000), str(int(seen["rx-bytes"]) + 125_000)
    [found] = sample.measured(*looks(daemon, traffic))["interface"]
    seconds = sample.measured(*looks(daemon, lambda state: None))["seconds"]
    assert (found["name"], found["rx-pps"], found["rx-bps"], found["tx-pps"]) == ("v40", 1000 / seconds, 1e6 / seconds, 0)


def test_screen_draws_the_rate_of_a_client_against_its_guarantee():
    one = {"bps": 250, "guarantee": 500, "most": 1000}
    assert screen.share_bar(one, 8).plain == "██··|···"
    assert screen.share_bar({**one, "bps": 5000}, 8).plain == "████|███"
    assert screen.share_bar({"bps": None, "guarantee": None, "most": 1000}, 8).plain == "········"


def test_sample_across_a_restart_of_the_daemon_has_no_false_rates(daemon):
    def restart(state):
        busy(state)
        state["system"]["pid"] += 1
    found = sample.measured(*looks(daemon, restart))
    assert (found["port"][0]["rx-pps"], found["drop"], found["latency"]) == (0, [], [])


def test_port_that_appears_has_no_rate_yet(daemon):
    def attach(state):
        state["port"].append({**copy.deepcopy(state["port"][0]), "name": "p9"})
    found = sample.measured(*looks(daemon, attach))
    assert (found["port"][2]["name"], found["port"][2]["rx-pps"]) == ("p9", None)


def drawn(found, trail, width=80, height=24, trouble=""):
    console = Console(file=io.StringIO(), width=width, height=height)
    console.print(screen.screen(found, trail, trouble, width, height))
    return console.file.getvalue().splitlines()


@pytest.fixture
def shown(daemon):
    return sample.measured(*looks(daemon, busy))


def test_a_small_terminal_still_shows_ports(shown):
    lines = drawn(shown, screen.Trail(), 60, 15)
    assert len(lines) <= 15 and max(map(len, lines)) <= 60
    assert any(line.startswith("p0 ") for line in lines) and any(line.startswith("Drops now") for line in lines), lines


@pytest.mark.parametrize("width, height, times", [(80, 24, 1), (80, 24, 20), (80, 40, 5), (200, 60, 9), (80, 24, 0)])
def test_screen_fits_the_terminal_whatever_there_is_to_show(shown, width, height, times):
    for name in ("port", "interface", "thread", "table", "drop", "alarm", "latency", "punt"):
        shown[name] *= times
    trail = screen.Trail()
    for _ in range(300):
        trail.add(shown)
    lines = drawn(shown, trail, width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert lines[-1].strip() == "q quits"
    assert any("imbalance 0" in line for line in lines)


def test_screen_counts_what_does_not_fit(shown):
    shown["port"] *= 30
    text = "\n".join(drawn(shown, screen.Trail()))
    n_shown = sum(line.startswith(("p0 ", "p1 ")) for line in text.splitlines())
    assert f"… {60 - n_shown} more ports" in text


def test_screen_shows_rates_load_tables_and_drops(shown):
    trail = screen.Trail()
    trail.add(shown)
    text = "\n".join(drawn(shown, trail, height=50))
    for part in ("link-flapping", "16.0", "1.30 us", "Control plane", "p0",
                 "1.00M", "4.00G", "forwarder/1", "90%", "901,899", "1.50k", "inject_no_forwarder", "held 3"):
        assert part in text, part


def test_screen_says_why_nothing_comes():
    assert "cannot reach" in drawn(None, screen.Trail(), trouble="cannot reach kamueed at /x")[0]


@pytest.mark.parametrize("values, expected", [([], ""), ([0, 0], "▁▁"), ([1, 7, 8, 0], "▂▇█▁"), ([5], "█")])
def test_sparkline_is_relative_to_its_largest_value(values, expected):
    assert screen.sparkline(values) == expected


@pytest.mark.parametrize("room, wanted, given", [
    (10, [2, 3], [2, 3]), (4, [9, 9], [2, 2]), (5, [1, 9, 0], [1, 3, 1]), (1, [5, 5], [1, 1])])
def test_lines_are_shared_by_need(room, wanted, given):
    assert screen.share(room, wanted) == given


def test_once_prints_plain_tables(kamuee):
    result = kamuee("monitor", "--once", "-i", "0.1")
    assert (result.code, result.err) == (0, "")
    assert [line.split()[0] for line in result.out.splitlines() if line][:3] == ["Port", "p0", "p1"]
    assert "imbalance 0" in result.out
    assert max(map(len, result.out.splitlines())) <= 80


def test_without_once_json_comes_line_by_line(program):
    process = program(["monitor", "-j", "-i", "0.1"])
    found = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert {"port", "thread", "table", "drop"} <= set(found[0])
    assert found[1]["seconds"] >= 0.1
    process.stdout.close()
    assert process.wait(timeout=60) == 0


@pytest.mark.parametrize("key, code", [("q", 0), ("\x03", 130)])
def test_full_screen_shows_and_ends_with_a_key(terminal, key, code):
    screen_of = terminal("monitor", "-i", "0.2")
    screen_of.until("forwarder/1")
    screen_of.type(key)
    assert screen_of.wait() == code


def test_full_screen_waits_for_a_daemon_that_went_away(terminal, daemon, tmp_path):
    screen_of = terminal("monitor", "-i", "0.2")
    screen_of.until("forwarder/1")
    hidden = tmp_path / "hidden"
    (tmp_path / "kamuee.sock").rename(hidden)
    screen_of.until("cannot reach kamueed")
    hidden.rename(tmp_path / "kamuee.sock")
    screen_of.until("q quits")
    screen_of.type("q")
    assert screen_of.wait() == 0
