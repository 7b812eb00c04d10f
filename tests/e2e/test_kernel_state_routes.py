# SPDX-License-Identifier: BSD-3-Clause
"""Walks docs/features/kernel-state-routes.md: each row's commands on a real router, and what the row says of them.

A row says its outcome in words that are checked here for every row: where the FIB sends a packet, whether an audit names it,
whether the log warned. A row with another outcome, or without one, fails.
"""
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from kamuee.lab import measure

from support import assert_reaches, eventually, ping, pings, two_hosts

PAGE = Path(__file__).resolve().parents[2] / "docs" / "features" / "kernel-state-routes.md"
LAB = two_hosts(h2=["10.2.0.3/24"], lo=["198.51.100.1/32", "2001:db8:100::1/128"])
V4, V6 = "198.51.100.1", "2001:db8:100::1"
OUTCOMES = re.compile(r"(followed|harmless|refused by Linux|not followed \((\w+)\)|noted \((\w+)\))")


class Row(NamedTuple):
    section: str
    attribute: str
    commands: list[str]
    outcome: str
    fate: str

    @property
    def kind(self) -> str | None:
        found = OUTCOMES.fullmatch(self.outcome)
        return found and (found[2] or found[3])

    @property
    def target(self) -> str:
        return V6 if "2001:db8:100::" in self.commands[-1] else V4

    @property
    def vr(self) -> str:
        return "red" if "vr red" in self.commands[0] else "default"


def rows() -> list[Row]:
    found, section = [], ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and len(cells) == 4 and cells[0] not in ("attribute", "---"):
            found.append(Row(section, cells[0], re.findall(r"`([^`]+)`", cells[1]), cells[2], cells[3].rstrip(" |")))
    return [row for row in found if not row.attribute.startswith("---")]


ROWS = rows()


def undone(command: str) -> str:
    """The command that takes back what one of the page did."""
    for did, undo in ((" route add ", " route del "), (" route prepend ", " route del "), (" rule add ", " rule del ")):
        if did in command:
            return command.replace(did, undo)
    if found := re.match(r"ip link (?:add|set) (\w+)", command):
        return f"ip link del {found[1]}"
    if found := re.search(r"nexthop (?:add|replace) (id \d+)", command):
        return f"ip nexthop del {found[1]}"
    if command.startswith("ip rule del pref"):
        return {"32766": "ip rule add pref 32766 lookup main", "0": "ip rule add pref 0 lookup local"}[command.split()[-1]]
    assert command.startswith("kamuee set "), f"nobody knows how to undo: {command}"
    return command.replace("kamuee set ", "kamuee delete ").removesuffix(" table 77").removesuffix(" 1")


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    router = lab["r"]
    for command in ("link add mgmt type veth peer name mgmt-far", "link set mgmt up", "link set mgmt-far up", "addr add 10.9.9.1/24 dev mgmt"):
        router.ip(command)
    assert_reaches(lab["h1"], "10.2.0.2", "10.2.0.3", "fd00:2::2")
    assert audit(lab)["not-followed"] == 0
    return lab


def audit(lab, vr: str = "default") -> dict:
    return measure.client(lab["r"]).call("audit", vr=vr)


def run(lab, command: str) -> str:
    """Runs it in the router; what the kernel said when it refused."""
    if command.startswith("kamuee "):
        measure.client(lab["r"]).call("configure", line=[command.removeprefix("kamuee ")])
        return ""
    done = subprocess.run(lab["r"].namespace.argv(command.split()), capture_output=True, text=True, timeout=30)
    return done.stderr if done.returncode else ""


@pytest.fixture
def do(lab):
    """do(commands): runs them, and undoes them afterwards; returns the kernel's message about a refused one."""
    done: list[str] = []

    def do_(commands: list[str]) -> str:
        for command in commands:
            if refused := run(lab, command):
                return refused
            done.append(command)
        return ""

    yield do_
    for command in dict.fromkeys(undone(command) for command in reversed(done)):
        run(lab, command)
    eventually(lambda: measure.client(lab["r"]).state("vr=default")[0].get("not-followed") == 0, what="undone")


def fate(lab, target: str, vr: str) -> str:
    """The FIB's result for the target: kind, interface, gateway, and the page's other words about the route."""
    client = measure.client(lab["r"])
    found = client.call("lookup", vr=vr, address=[target])["result"][0]
    words = [found["kind"]]
    if found["kind"] in ("adjacency", "hold", "glean", "broadcast", "encap"):
        words += [found["interface"], found.get("gateway", "")]
    if "prefix" in found:
        family = "ipv6" if ":" in target else "ipv4"
        route = active(lab, vr, family, found["prefix"])
        words += [f"mtu {route['mtu']}"] if "mtu" in route else []
        words += [route["protocol"]] if route["protocol"] not in ("boot", "kernel") else []
    return " ".join(filter(None, words))


def active(lab, vr: str, family: str, prefix: str) -> dict:
    rows_ = measure.client(lab["r"]).rows(f"routes={vr},{family}", "route", {"prefix": prefix, "match": "exact"})
    return next(route for route in rows_ if route.get("active"))


def unfollowed(answer: dict) -> dict[str, dict]:
    return {entry["kind"]: entry for entry in answer.get("unfollowed", [])}


def warned(lab, kind: str) -> bool:
    return f"kind={kind} " in lab["r"].log.read_text(errors="replace")


def test_every_row_has_commands_and_an_outcome():
    assert len(ROWS) > 80 and {row.section for row in ROWS} == {"ip route", "ip nexthop", "ip rule", "A virtual router with a table"}
    for row in ROWS:
        assert row.commands and row.fate and OUTCOMES.fullmatch(row.outcome), row
        assert all(command.startswith(("ip ", "kamuee set ")) for command in row.commands), row
        assert all(undone(command) for command in row.commands), row


def test_every_kind_of_the_daemon_has_a_row():
    source = (PAGE.parents[2] / "src" / "control" / "rib" / "unfollowed.def").read_text(encoding="utf-8")
    kinds = set(re.findall(r'^UNFOLLOWED\(\w+, "(\w+)"', source, re.MULTILINE))
    assert kinds and kinds == {row.kind for row in ROWS if row.kind}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.section}: {row.attribute}" for row in ROWS])
def test_the_router_does_what_the_row_says(lab, do, row):
    refused = do(row.commands)
    if "not supported" in refused or "Unknown device type" in refused:
        pytest.skip(f"the kernel of this machine: {refused.strip().splitlines()[0]}")
    assert bool(refused) == (row.outcome == "refused by Linux"), refused
    eventually(lambda: fate(lab, row.target, row.vr) == row.fate, 20,
               lambda: f"{row.target}: {fate(lab, row.target, row.vr)}, the page says: {row.fate}")
    answer = audit(lab, row.vr)
    said = unfollowed(answer)
    assert answer["diverged"] == 0
    if row.outcome.startswith("not followed"):
        assert answer["not-followed"] >= 1 and said[row.kind]["routes"] == 1 and said[row.kind]["effect"]
        assert row.kind in ("encapsulation", "mpls", "device", "throw") or "rule of the start" in row.attribute or warned(lab, row.kind)
    else:
        assert answer["not-followed"] == 0
        assert set(said) == ({row.kind} if row.kind else set())


# --- beyond the rows ---

def test_the_alarm_counts_what_is_not_followed_and_ends_with_it(lab, do):
    do(["ip rule add pref 100 from 10.1.0.0/24 lookup 77", "ip route add 198.51.100.0/24 tos 0x10 via 10.2.0.2",
        "ip -6 route add 2001:db8:100::/48 from 2001:db8:1::/48 via fd00:2::2"])
    client = measure.client(lab["r"])

    def alarm() -> dict:
        return {(entry["name"], entry["subject"]): entry for entry in client.entries("alarm")}.get(("route-not-followed", "default"), {})

    eventually(lambda: alarm().get("value") == 3, 30, lambda: str(client.entries("alarm")))
    for command in ("rule del pref 100", "route del 198.51.100.0/24 tos 0x10", "-6 route del 2001:db8:100::/48 from 2001:db8:1::/48"):
        lab["r"].ip(command)
    eventually(lambda: not alarm(), 30, lambda: str(client.entries("alarm")))


def test_a_vr_of_a_table_without_its_device_is_noted_by_the_commit(lab, do):
    client = measure.client(lab["r"])
    try:
        notes = client.call("configure", line=["set vr red table 77"])["note"]
        assert any("no VRF device has table 77" in note and "ip link add red type vrf table 77" in note for note in notes), notes
    finally:
        client.call("configure", line=["delete vr red"])


def test_a_table_without_its_device_is_one_alarm_however_many_interfaces_are_in_it(lab):
    client = measure.client(lab["r"])
    lines = ["set vr red table 77", *(f"set interface p{i} vr red" for i in range(2))]
    try:
        client.call("configure", line=lines)
        eventually(lambda: alarms(client) == [("route-not-followed", "red")], 30, lambda: str(alarms(client)))
        time.sleep(3)                                    # three looks later
        assert alarms(client) == [("route-not-followed", "red")]
        assert not client.call("audit", vr="red").get("kernel-state")
        assert {entry["kind"] for entry in client.call("audit", vr="red")["unfollowed"]} == {"device"}
    finally:
        client.call("configure", line=["delete interface p0", "delete interface p1", "delete vr red"])
    eventually(lambda: not alarms(client), 30, lambda: str(alarms(client)))


def alarms(client) -> list[tuple[str, str]]:
    return sorted((entry["name"], entry["subject"]) for entry in client.entries("alarm"))


@pytest.mark.parametrize("route, target, size, said", [
    pytest.param("ip route add 198.51.100.0/24 via 10.2.0.2 mtu 1000", V4, 1001 - 28, "mtu = 1000", marks=pytest.mark.rfc("1191", "4", "MUST")),
    pytest.param("ip -6 route add 2001:db8:100::/48 via fd00:2::2 mtu 1300", V6, 1301 - 48, "mtu=1300", marks=pytest.mark.rfc("4443", "3.2", "MUST"))])
def test_a_packet_larger_than_the_route_takes_is_told_its_mtu(lab, do, route, target, size, said):
    do([route])
    assert_reaches(lab["h1"], target)
    flush = "-6" if ":" in target else "-4"
    told = eventually(lambda: (text := ping(lab["h1"], target, 1, extra=f"-M do -s {size}").said.replace("mtu: ", "mtu=")) and said in text
                      and text, 20, lambda: ping(lab["h1"], target, 1, extra=f"-M do -s {size}").said)
    assert said in told
    lab["h1"].ip(f"{flush} route flush cache")
    assert pings(lab["h1"], target, 1, 0.005, "--size", str(size - 1)).received == 1
    lab["h1"].ip(f"{flush} route flush cache")
    if target == V4:                            # without DF it comes in pieces
        assert pings(lab["h1"], target, 1, 0.005, "--size", str(size + 501), "--may-fragment").received == 1


def test_explain_and_show_name_the_link_that_is_no_interface_of_ours(lab, do):
    do(["ip route add 198.51.100.0/24 via 10.9.9.2 dev mgmt"])
    explained = eventually(lambda: (text := kamuee(lab, f"explain in p0 src 10.1.0.2 dst {V4}")) and "mgmt is not an interface of kamueed" in text and text,
                           20, lambda: kamuee(lab, f"explain in p0 src 10.1.0.2 dst {V4}"))
    assert "icmp" in explained.lower()
    assert "via 10.9.9.2, mgmt (not an interface of kamueed)" in kamuee(lab, "show ipv4 route 198.51.100.0/24 longer-prefixes")
    eventually(lambda: "Destination Host Unreachable" in ping(lab["h1"], V4, 1).said, 20, "the sender is told")
    assert "mgmt, which is not an interface of kamueed" in kamuee(lab, "audit")


def kamuee(lab, line: str) -> str:
    """What the operator sees."""
    done = subprocess.run([sys.executable, "-m", "kamuee", "--socket", str(lab["r"].socket), *line.split()], capture_output=True, text=True,
                          timeout=60, env={**os.environ, "PYTHONPATH": str(PAGE.parents[2] / "cli"), "COLUMNS": "200"})
    return done.stdout + done.stderr
