# SPDX-License-Identifier: BSD-3-Clause
"""Link aggregation: two routers with LACP between them, active-backup, members that fail, partners that say nonsense."""
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pcapng
from kamuee import events
from kamuee.lab import measure

from held import held
from support import Pinging, Router, assert_no_loss, assert_reaches, eventually, received, receiver, send

ALLOWED_S = 1.0
KAMUEE = str(Path(__file__).resolve().parents[2] / "kamuee")

TWO_ROUTERS = """
nodes:
  h1: $HOST(1)
  r1:
    kind: kamuee
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: []
      p2: []
      p3: []
      lag0: {members: [p1, p2, p3], addresses: [10.12.0.1/24, "fd00:12::1/64"]}
      v7: {vlan: 7, port: lag0, addresses: [10.17.0.1/24]}
    routes: [10.2.0.0/24 via 10.12.0.2, "fd00:2::/64 via fd00:12::2"]
    $SET
  r2:
    kind: kamuee
    interfaces:
      p0: [10.2.0.1/24, "fd00:2::1/64"]
      p1: []
      p2: []
      p3: []
      lag0: {members: [p1, p2, p3], addresses: [10.12.0.2/24, "fd00:12::2/64"]}
      v7: {vlan: 7, port: lag0, addresses: [10.17.0.2/24]}
    routes: [10.1.0.0/24 via 10.12.0.1, "fd00:1::/64 via fd00:12::1"]
    $SET
  h2: $HOST(2)
links:
  - [h1:eth0, r1:p0]
  - [r1:p1, r2:p1]
  - [r1:p2, r2:p2]
  - [r1:p3, r2:p3]
  - [r2:p0, h2:eth0]
"""
MEMBERS = ("p1", "p2", "p3")
TARGETS = ("10.2.0.2", "fd00:2::2")


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(TWO_ROUTERS.replace("$SET", ""))
    for router in ("r1", "r2"):
        eventually(lambda r=router: active(lab, r) == set(MEMBERS), 30, lambda r=router: str(lag(lab, r)))
    assert_reaches(lab["h1"], *TARGETS)
    return lab


def lag(lab, router: str) -> dict:
    return measure.client(lab[router]).state("lag=lag0")[0]


def members(lab, router: str) -> dict[str, dict]:
    return {member["name"]: member for member in lag(lab, router)["member"]}


def active(lab, router: str) -> set[str]:
    return {name for name, member in members(lab, router).items() if member["status"] == "active"}


def sent(lab, router: str, port: str) -> int:
    return int(measure.client(lab[router]).state(f"port={port}")[0]["statistics"]["tx-packets"])


def counted(lab, port: str) -> dict[str, int]:
    """What r1's port has counted."""
    statistics = measure.client(lab["r1"]).state(f"port={port}")[0]["statistics"]
    return {name: int(statistics[name]) for name in ("rx-packets", "rx-bytes", "tx-packets", "tx-bytes")}


def samples(lab, router: str, family: str) -> dict[tuple[str, ...], float]:
    """{values of the labels: value} of a metric."""
    found = re.findall(rf"^kamuee_{family}{{(.*)}} (\S+)$", Router(lab[router]).metrics(), re.M)
    return {tuple(re.findall(r'="([^"]*)"', labels)): float(value) for labels, value in found}


def drops(lab, router: str) -> dict[str, int]:
    return {drop["reason"]: int(drop["packets"]) for drop in measure.client(lab[router]).entries("drop") if int(drop["packets"])}


def test_both_ends_agree_and_all_members_are_used(lab):
    for router in ("r1", "r2"):
        state = lag(lab, router)
        assert (state["status"], state["mode"], state["active-members"]) == ("up", "lacp", 3)
        for name in MEMBERS:                                         # the last LACPDU that tells it may be on its way
            eventually(lambda: (lacp := members(lab, router)[name]["lacp"])["mux"] == "distributing" and lacp["partner"]["state"]
                       == ["activity", "short-timeout", "aggregation", "synchronization", "collecting", "distributing"], 10, lambda: str(lag(lab, router)))
    systems = {lag(lab, router)["mac"] for router in ("r1", "r2")}
    assert {members(lab, r)["p1"]["lacp"]["partner"]["system"] for r in ("r1", "r2")} == systems
    assert measure.client(lab["r1"]).state("port=lag0")[0]["status"] == "up"


def test_members_are_no_interfaces(lab):
    names = {interface["name"] for interface in measure.client(lab["r1"]).entries("interface")}
    assert names == {"p0", "lag0", "v7"}
    assert not lab["r1"].namespace.has_link("p1")


@pytest.mark.parametrize("target", TARGETS)
def test_flows_are_spread_over_all_members(lab, target):
    before = {port: sent(lab, "r1", port) for port in MEMBERS}
    counting = receiver(lab["h2"])
    send(lab["h1"], [target], 3000, flows=600)               # of fewer flows, chance would give a member too few now and then
    assert received(counting, 3000)["distinct"] == 3000
    grown = {port: sent(lab, "r1", port) - before[port] for port in MEMBERS}
    assert all(500 < n < 1700 for n in grown.values()), grown


def test_sub_interfaces_of_a_lag_work(lab):
    assert_reaches(lab["r1"], "10.17.0.2")
    assert_no_loss(lab["r1"], "10.17.0.2", 50)


def test_what_a_lag_counts_is_its_own(lab):
    """The count only grows, for any members, and no sum over ports counts a packet twice."""
    counting = receiver(lab["h2"])                                   # the LAG is read before its members: all packets have passed by then
    send(lab["h1"], [TARGETS[0]], 3000, flows=120)
    assert received(counting, 3000)["distinct"] == 3000
    before, members_before = counted(lab, "lag0"), [counted(lab, port) for port in MEMBERS]
    assert min(port["tx-packets"] for port in members_before) > 500
    assert abs(before["tx-packets"] - sum(port["tx-packets"] for port in members_before)) < 20   # LACPDUs in between
    configure = Router(lab["r1"]).configure
    configure("delete port lag0 lag member p3")
    after = counted(lab, "lag0")
    for name, value in before.items():
        assert value <= after[name] < value + 20_000, name
    assert counted(lab, "p3")["tx-packets"] < 500                    # attached anew
    configure("set port lag0 lag member p3")
    eventually(lambda: active(lab, "r1") == active(lab, "r2") == set(MEMBERS), 30, lambda: f"{lag(lab, 'r1')} {lag(lab, 'r2')}")
    again = counted(lab, "lag0")
    for name, value in after.items():
        assert value <= again[name] < value + 20_000, name
    assert set(samples(lab, "r1", "port_tx_packets_total")) == {("p0",), ("p1",), ("p2",), ("p3",)}
    assert samples(lab, "r1", "lag_tx_packets_total")["lag0",] >= again["tx-packets"]
    assert set(samples(lab, "r1", "port_up")) == {("p0",), ("p1",), ("p2",), ("p3",), ("lag0",)}


def test_metrics_tell_who_is_in_use(lab):
    assert samples(lab, "r1", "lag_members") == samples(lab, "r1", "lag_active_members") == {("lag0",): 3}
    status, mux = samples(lab, "r1", "lag_member_status"), samples(lab, "r1", "lag_member_lacp_mux")
    assert {labels for labels, value in status.items() if value} == {("lag0", port, "active") for port in MEMBERS}
    assert len(status) == 9 and len(mux) == 15
    assert {labels for labels, value in mux.items() if value} == {("lag0", port, "distributing") for port in MEMBERS}
    assert all(value for labels, value in samples(lab, "r1", "lag_member_lacp_receive").items() if labels[2] == "current")
    for family in ("lag_member_rx_lacpdus_total", "lag_member_tx_lacpdus_total", "lag_member_changes_total"):
        found = samples(lab, "r1", family)
        assert set(found) == {("lag0", port) for port in MEMBERS} and min(found.values()) > 0, family


def test_a_member_that_fails_takes_its_flows_to_the_others_within_a_second(lab):
    interval_s, streams = 0.005, 8
    for end in ("r1", "r2"):                                        # either end's cable
        pinging = [Pinging(lab["h1"], TARGETS[i % 2], interval_s) for i in range(streams)]
        time.sleep(0.3)
        name = "wp2"
        lab[end].wire.ip(f"link set dev {name} down")
        eventually(lambda: active(lab, "r1") == active(lab, "r2") == {"p1", "p3"}, 5, lambda: f"{lag(lab, 'r1')} {lag(lab, 'r2')}", 0.01)
        assert members(lab, end)["p2"]["reason"] == "link down"
        time.sleep(0.5)
        for result in [stream.stop() for stream in pinging]:           # all are stopped, whatever the first one tells
            assert result.lost * interval_s < ALLOWED_S, result.said
        for target in TARGETS:
            assert_no_loss(lab["h1"], target, 50)
        pinging = [Pinging(lab["h1"], TARGETS[i % 2], interval_s) for i in range(streams)]
        lab[end].wire.ip(f"link set dev {name} up")
        eventually(lambda: active(lab, "r1") == active(lab, "r2") == set(MEMBERS), 30, lambda: f"{lag(lab, 'r1')} {lag(lab, 'r2')}")
        time.sleep(0.3)
        for result in [stream.stop() for stream in pinging]:        # a member that comes back disturbs nobody
            assert result.lost == 0, result.said


def changes(lab) -> dict[tuple[str, str], int]:
    return {(router, name): int(member["changes"]) for router in ("r1", "r2") for name, member in members(lab, router).items()}


def test_a_busy_control_costs_no_partner(lab):
    """A commit may hold control for longer than LACP waits: our LACPDUs go out all the same, and nobody is given up for not having been heard."""
    before = changes(lab)
    pinging = Pinging(lab["h1"], TARGETS[0])
    with held(lab["r1"].kamueed_pid()):
        time.sleep(7)
    eventually(lambda: active(lab, "r1") == active(lab, "r2") == set(MEMBERS), 30, lambda: f"{lag(lab, 'r1')} {lag(lab, 'r2')}")
    time.sleep(1.5)                                                  # what was to come has come
    assert changes(lab) == before
    assert pinging.stop().lost == 0
    assert re.search(r"control was busy, and LACPDUs were repeated: port=p1 lacpdus=([4-9]|\d\d)\b", lab["r1"].log.read_text())


def test_a_process_that_was_stopped_takes_no_partner_for_silent(lab):
    Router(lab["r2"]).configure("set port lag0 lag lacp rate slow")  # it waits for 90 s
    heard = {name: member["lacp"]["rx-lacpdus"] for name, member in members(lab, "r2").items()}
    eventually(lambda: all(member["lacp"]["rx-lacpdus"] > heard[name] for name, member in members(lab, "r2").items()), 60,
               "from r1's next LACPDU on")                           # which comes within a second, and the one after it after thirty
    before = changes(lab)
    pid = lab["r1"].kamueed_pid()
    os.kill(pid, signal.SIGSTOP)
    time.sleep(5)
    os.kill(pid, signal.SIGCONT)
    time.sleep(2)                                                    # what was to come has come
    assert changes(lab) == before
    assert active(lab, "r1") == active(lab, "r2") == set(MEMBERS)
    Router(lab["r2"]).configure("set port lag0 lag lacp rate fast")
    assert changes(lab) == before                                    # another rate interrupts nothing


def degraded(lab, router: str) -> dict | None:
    return next((alarm for alarm in measure.client(lab[router]).entries("alarm") if alarm["name"] == "lag-degraded"), None)


def test_a_member_out_of_use_is_told_by_an_event_and_an_alarm(lab):
    answer = Router(lab["r1"]).events("/kamuee:lag-member-change[port='p2']")
    answer.wait_forever()
    told: list[dict] = []
    threading.Thread(target=lambda: told.extend(itertools.islice(events.events(answer.body), 2)), daemon=True).start()
    lab["r1"].wire.ip("link set dev wp2 down")
    out = eventually(lambda: told and told[0], 10, "an event")
    assert (out["lag"], out["port"], out["status"], out["reason"]) == ("lag0", "p2", "inactive", "link down")
    alarm = eventually(lambda: degraded(lab, "r1"), 20, "the LAG is degraded")
    assert (alarm["subject"], alarm["value"], alarm["severity"]) == ("lag0", 1, "major")
    assert "lag0: 1 members out of use" in alarm["message"] and "show lag shows why" in alarm["message"]
    assert samples(lab, "r1", "alarms")["lag-degraded", "major"] == 1
    Router(lab["r1"]).configure("set port p2 enabled false")         # on purpose: no alarm
    eventually(lambda: not degraded(lab, "r1"), 20, lambda: str(degraded(lab, "r1")))
    assert members(lab, "r1")["p2"]["reason"] == "stopped"
    Router(lab["r1"]).configure("set port p2 enabled true")
    lab["r1"].wire.ip("link set dev wp2 up")
    eventually(lambda: active(lab, "r1") == active(lab, "r2") == set(MEMBERS), 30, lambda: f"{lag(lab, 'r1')} {lag(lab, 'r2')}")
    assert [(event["port"], event["status"]) for event in eventually(lambda: told[1:], 10, "a second event")] == [("p2", "active")]
    assert "reason" not in told[1]
    eventually(lambda: not degraded(lab, "r2"), 20, lambda: str(degraded(lab, "r2")))


def all_in_use(lab) -> None:
    eventually(lambda: active(lab, "r1") == active(lab, "r2") == set(MEMBERS), 30, lambda: f"{lag(lab, 'r1')} {lag(lab, 'r2')}")


def test_with_fewer_members_than_min_links_it_is_down(lab):
    router = Router(lab["r1"])
    router.configure("set port lag0 lag min-links 3")
    assert lag(lab, "r1")["status"] == "up"
    lab["r1"].wire.ip("link set dev wp3 down")
    eventually(lambda: lag(lab, "r1")["status"] == "down", 5, lambda: str(lag(lab, "r1")))
    eventually(lambda: active(lab, "r1") == {"p1", "p2"} and router.state("port=lag0")[0]["status"] == "down", 5, lambda: str(lag(lab, "r1")))
    eventually(lambda: "LOWER_UP" not in lab["r1"].ip("link show dev lag0"), 5, "Linux sees it, too")
    router.configure("set port lag0 lag min-links 2")                # live
    eventually(lambda: lag(lab, "r1")["status"] == "up", 5, lambda: str(lag(lab, "r1")))
    lab["r1"].ip('addr replace fd00:12::1/64 dev lag0 nodad')        # which Linux took away with the link
    lab["r1"].ip("route replace fd00:2::/64 via fd00:12::2")
    lab["r1"].ip("route replace 10.2.0.0/24 via 10.12.0.2")
    assert_reaches(lab["h1"], *TARGETS)
    lab["r1"].wire.ip("link set dev wp3 up")
    router.configure("delete port lag0 lag min-links")
    all_in_use(lab)


def udp_flows(lab) -> None:
    counting = receiver(lab["h2"])
    send(lab["h1"], [TARGETS[0]], 600, flows=600)
    assert received(counting, 600)["distinct"] == 600
    time.sleep(0.5)                                                  # a frame too many would be seen by now, too


def assert_shared(counts: dict[str, int]) -> None:
    """The LAG's have all frames, each once, and each member's its own."""
    assert counts["lag0"] == 600 == sum(counts[port] for port in MEMBERS), counts
    assert all(100 < counts[port] < 350 for port in MEMBERS), counts


def test_captures_of_a_lag_and_of_its_members(lab, tmp_path):
    argv = [sys.executable, KAMUEE, "--socket", str(lab["r1"].socket), "capture", "tx", "port"]
    captures = {port: subprocess.Popen([*argv, port, "filter", "udp port 7000", "write", str(tmp_path / port)], stderr=subprocess.PIPE)
                for port in ("lag0", *MEMBERS)}
    eventually(lambda: len(measure.client(lab["r1"]).entries("capture")) == 4, 30, "the captures run")
    udp_flows(lab)
    # An interrupted capture loses frames that it has not read yet.
    eventually(lambda: min(len(pcapng.read(tmp_path / "lag0")), sum(len(pcapng.read(tmp_path / port)) for port in MEMBERS)) >= 600, 20, "all is written")
    for capture in captures.values():
        capture.send_signal(signal.SIGINT)
        assert b" 0 missed" in capture.communicate(timeout=60)[1]
    assert_shared({port: len(pcapng.read(tmp_path / port)) for port in captures})
    whole = {frame.data for frame in pcapng.read(tmp_path / "lag0")}
    assert whole == {frame.data for port in MEMBERS for frame in pcapng.read(tmp_path / port)}


def test_mirrors_of_a_lag_and_of_its_members(lab, tmp_path):
    taps = {port: f"mon{n}" for n, port in enumerate(("lag0", *MEMBERS))}
    Router(lab["r1"]).configure(*(f"set port {port} mirror tx to tap {tap}" for port, tap in taps.items()))
    dumps = {port: lab["r1"].popen(["tcpdump", "-U", "-i", tap, "-w", str(tmp_path / tap), "udp", "port", "7000"], log=str(tmp_path / f"{tap}.said"))
             for port, tap in taps.items()}
    eventually(lambda: all("listening" in (tmp_path / f"{tap}.said").read_text() for tap in taps.values()), 10, "tcpdump listens")
    udp_flows(lab)

    def counts() -> dict[str, int]:
        said = {port: subprocess.run(["tcpdump", "-n", "-r", str(tmp_path / tap)], check=True, capture_output=True, text=True) for port, tap in taps.items()}
        return {port: len(one.stdout.splitlines()) for port, one in said.items()}
    # The kernel hands over frames once a second, and an interrupted tcpdump loses the last ones.
    eventually(lambda: (now := counts())["lag0"] >= 600 and sum(now[port] for port in MEMBERS) >= 600, 20, lambda: str(counts()))
    for dump in dumps.values():
        dump.send_signal(signal.SIGINT)
        dump.wait(60)
    assert_shared(counts())
    assert all(mirror["missed"] == 0 for mirror in Router(lab["r1"]).entries("mirror"))
    Router(lab["r1"]).configure(*(f"delete port {port} mirror tx" for port in taps))


def test_a_kamueed_that_was_killed_has_its_lag_again(lab):
    """SIGKILL says nothing to the partner, which notices after three seconds; the next kamueed begins anew, under the same MAC."""
    before = lag(lab, "r1")["mac"]
    lab["r1"].kill_kamueed()
    eventually(lambda: active(lab, "r2") == set(), 20, lambda: str(lag(lab, "r2")))
    assert {member["reason"] for member in members(lab, "r2").values()} <= {"partner silent", "no LACP partner"}
    lab["r1"].start_kamueed()
    all_in_use(lab)
    assert lag(lab, "r1")["mac"] == before
    for target in TARGETS:
        assert_reaches(lab["h1"], target)
        assert_no_loss(lab["h1"], target, 50)


def test_one_that_is_killed_and_comes_back_at_once(lab):
    lab["r1"].kill_kamueed()
    lab["r1"].start_kamueed()                                        # r2 may not have noticed: it hears another LACP of the same system
    all_in_use(lab)
    for target in TARGETS:
        assert_reaches(lab["h1"], target)
        assert_no_loss(lab["h1"], target, 50)
