# SPDX-License-Identifier: BSD-3-Clause
"""Walks the tables of docs/features/kernel-state.md: each row's command is run, and what the row says is looked at.

A row without a check fails, and so does a check without a row. Each check is a generator: what comes before its `yield` is prepared before the
command, what comes behind looks at the outcome; beside it, what all rows of an outcome have in common is looked at (COMMON).
"""
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kamuee.lab import measure
from kamuee.lab.netns import sh

from support import Router, assert_reaches, eventually, hops, pings, reaches, two_hosts

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/features/kernel-state.md"
ROW = re.compile(r"^\| ((?:link|address|neighbor|namespace)-[a-z-]+) \| `([^`]+)` \| ([a-z ]+) \|", re.M)
LAB = two_hosts(interfaces=["v40: {vlan: 40, port: p1, addresses: [10.40.0.1/24]}"], settings=["vrs: {blue: {}}"])
TARGETS = ("10.2.0.2", "fd00:2::2", "10.1.0.1")


@dataclass
class Row:
    key: str
    command: str
    outcome: str


ROWS = [Row(*found) for found in ROW.findall(PAGE.read_text())]
CHECKS: dict[str, Callable[[object], Iterator[None]]] = {}


def check(*keys: str):
    def keep(function):
        CHECKS.update(dict.fromkeys(keys, function))
        return function
    return keep


# --- looking -------------------------------------------------------------------------------------

def link(lab, name: str = "p1") -> dict:
    return lab["r"].ip_json(f"-d link show dev {name}")[0]


def ours(lab, name: str = "p1") -> dict:
    return measure.client(lab["r"]).state(f"interface={name}")[0]


def fib(lab, address: str) -> dict:
    return measure.client(lab["r"]).call("lookup", address=[address])["result"][0]


def neighbor(lab, address: str) -> dict:
    return next((n for n in measure.client(lab["r"]).entries("neighbor") if n["address"] == address), {})


def alarms(lab) -> set[str]:
    return {alarm["subject"] for alarm in measure.client(lab["r"]).entries("alarm") if alarm["name"] == "kernel-state"}


def transit(lab) -> bool:
    return reaches(lab["h1"], "10.2.0.2")


def assert_transit(lab) -> None:
    """Of the first packet, however late its answer is."""
    assert pings(lab["h1"], "10.2.0.2", 1).received


def address_again(lab) -> None:
    """On a TAP that was made again, or was down."""
    r = lab["r"]
    eventually(lambda: r.namespace.has_link("p1"), what="p1 is there")
    r.namespace.add_addresses("p1", ["10.2.0.1/24", "fd00:2::1/64"])
    assert_reaches(lab["h1"], "10.2.0.2")


# --- what all rows of an outcome have in common ---------------------------------------------------

def refused(lab, row: Row, before: dict, log_at: int) -> None:
    assert_transit(lab)


def restored(lab, row: Row, before: dict, log_at: int) -> None:
    def is_back() -> bool:
        return lab["r"].namespace.has_link(before["ifname"]) and all(
            link(lab)[key] == before[key] for key in ("mtu", "address", "operstate"))
    eventually(is_back, 10, lambda: str(lab["r"].ip("link show")))
    eventually(lambda: re.search(r"(notice|warning) .*(restored|recreating).*interface=p1", lab["r"].log.read_text()[log_at:]), 10,
               lambda: lab["r"].log.read_text()[log_at:])


def ignored(lab, row: Row, before: dict, log_at: int) -> None:
    assert_reaches(lab["h1"], "10.2.0.2", "10.2.0.1")
    assert not alarms(lab)


def alarmed(lab, row: Row, before: dict, log_at: int) -> None:
    raised = eventually(lambda: alarms(lab), 10, lambda: lab["r"].log.read_text()[log_at:])
    eventually(lambda: "kernel_state: not followed" in lab["r"].log.read_text()[log_at:], 10, "the log says so")
    told = measure.client(lab["r"]).call("audit")["kernel-state"]
    assert {f"{entry['subject']} {entry['attribute']}" for entry in told} == raised
    said = sh([sys.executable, str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), "audit"])
    assert all(f"not followed: {subject}: " in said for subject in raised), said


def followed(lab, row: Row, before: dict, log_at: int) -> None:
    assert not alarms(lab)


COMMON = {"refused": refused, "restored": restored, "ignored": ignored, "alarm": alarmed, "followed": followed}


# --- links ---------------------------------------------------------------------------------------

@check("link-down")
def check_down(lab):
    yield
    eventually(lambda: ours(lab)["status"] == "admin-down", what="p1 is down")
    eventually(lambda: not transit(lab), what="the FIB follows")
    lab["r"].ip("link set p1 up")
    address_again(lab)                                                # Linux takes IPv6 addresses away with the link


@check("link-address")
def check_address(lab):
    before = link(lab)["address"]
    yield
    eventually(lambda: ours(lab)["mac"] == "02:11:22:33:44:55", what="the MAC of p1 is followed")
    eventually(lambda: ours(lab, "v40")["mac"] == link(lab, "v40")["address"] == "02:11:22:33:44:55", what="and that of its vport")
    eventually(lambda: lab["r"].wire.ip_json("link show dev wp1")[0]["address"] == "02:11:22:33:44:55", what="and that of the link's end")
    lab["h2"].ip("neigh flush dev eth0")
    assert_reaches(lab["h1"], "10.2.0.2", "10.2.0.1")
    assert "lladdr 02:11:22:33:44:55" in lab["h2"].ip("neigh show 10.2.0.1")
    Router(lab["r"]).configure("set port p1 promiscuous false")       # a commit to the port does not undo it
    Router(lab["r"]).configure("delete port p1 promiscuous")
    assert ours(lab)["mac"] == "02:11:22:33:44:55"
    lab["r"].ip(f"link set p1 address {before}")
    eventually(lambda: ours(lab)["mac"] == before, what="the old MAC is followed as well")
    lab["h2"].ip("neigh flush dev eth0")
    assert_reaches(lab["h1"], "10.2.0.2")


@check("link-address-vport")
def check_address_vport(lab):
    before = link(lab, "v40")["address"]
    yield
    eventually(lambda: ours(lab, "v40")["mac"] == "02:11:22:33:44:56", what="the MAC of v40 is followed")
    assert ours(lab)["mac"] == link(lab)["address"] == before
    lab["r"].ip("link set p1 address 02:11:22:33:44:66")               # v40 keeps its own
    eventually(lambda: ours(lab)["mac"] == "02:11:22:33:44:66", what="the MAC of p1 is followed")
    assert ours(lab, "v40")["mac"] == link(lab, "v40")["address"] == "02:11:22:33:44:56"
    for name in ("p1", "v40"):
        lab["r"].ip(f"link set {name} address {before}")
        eventually(lambda: ours(lab, name)["mac"] == before, what=f"{name} has its MAC again")
    lab["h2"].ip("neigh flush dev eth0")


@check("link-address-configured")
def check_address_configured(lab):
    router = Router(lab["r"])
    router.configure(f"set port p1 mac {ours(lab)['mac']}")
    try:
        yield
        assert_reaches(lab["h1"], "10.2.0.2")
        assert "configuration (set port p1 mac M)" in lab["r"].log.read_text()
    finally:
        router.configure("delete port p1 mac")


@check("link-mtu", "link-carrier", "link-name", "link-protodown", "link-vf")
def check_nothing_more(lab):
    yield
    assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::1")


@check("link-delete")
def check_delete(lab):
    yield
    address_again(lab)


@check("link-netns")
def check_netns(lab):
    yield
    assert not lab["r"].vrs["blue"].has_link("p1")                    # nothing is left of the one that was moved
    address_again(lab)


@check("link-master")
def check_master(lab):
    lab["r"].ip("link add br0 type bridge")
    try:
        yield
        assert alarms(lab) == {"p1 master"}
        assert_transit(lab)
    finally:
        lab["r"].ip("link del br0")
    eventually(lambda: not alarms(lab), 10, "the alarm is over")
    assert_reaches(lab["h1"], "10.2.0.1")


@check("link-macvlan")
def check_macvlan(lab):
    r = lab["r"]
    yield
    try:
        r.ip("link set m1 up")
        assert not ours(lab)["accepted-mac"]                         # as long as it has no address
        r.ip("addr add 10.2.0.200/32 dev m1")
        eventually(lambda: ours(lab).get("accepted-mac") == ["00:00:5e:00:01:09"], what="the MAC is one of p1's")
        lab["h2"].ip("neigh replace 10.2.0.200 lladdr 00:00:5e:00:01:09 nud permanent dev eth0")
        assert_reaches(lab["h2"], "10.2.0.200")
        lab["h2"].ip("route add 10.1.0.2/32 via 10.2.0.200")
        assert_reaches(lab["h2"], "10.1.0.2")
    finally:
        lab["h2"].run("ip route del 10.1.0.2/32", check=False)
        lab["h2"].run("ip neigh del 10.2.0.200 dev eth0", check=False)
        r.ip("link del m1")
    eventually(lambda: not ours(lab)["accepted-mac"], what="the MAC goes with the macvlan")


@check("link-state")
def check_state(lab):
    yield
    eventually(lambda: not transit(lab), what="a dormant link carries nothing")
    lab["r"].ip("link set p1 state up")
    assert_reaches(lab["h1"], "10.2.0.2")


@check("link-arp")
def check_arp(lab):
    r = lab["r"]
    yield
    r.ip("neigh flush dev p1")
    eventually(lambda: not transit(lab), what="nobody is resolved")
    mac = lab["h2"].ip_json("link show dev eth0")[0]["address"]
    lab["h2"].ip(f"neigh replace 10.2.0.1 lladdr {ours(lab)['mac']} nud permanent dev eth0")   # Linux answers nobody there either
    r.ip(f"neigh replace 10.2.0.2 lladdr {mac} nud permanent dev p1")
    assert_reaches(lab["h1"], "10.2.0.2")
    r.ip("link set p1 arp on")
    r.run("ip neigh del 10.2.0.2 dev p1", check=False)
    lab["h2"].ip("neigh del 10.2.0.1 dev eth0")
    assert_reaches(lab["h1"], "10.2.0.2")


def ignored_attribute(key: str, undo: str, has: Callable[[dict], bool]) -> None:
    """Linux has the new value, and nobody puts it back."""
    @check(key)
    def look(lab):
        try:
            yield
            assert has(link(lab)), link(lab)
        finally:
            for command in undo.split(";"):
                lab["r"].run(command, check=False)


for key, undo, has in (
        ("link-mode", "ip link set p1 mode default", lambda now: now["linkmode"] == "DORMANT"),
        ("link-broadcast", "ip link set p1 broadcast ff:ff:ff:ff:ff:ff", lambda now: now["broadcast"].endswith("fe")),
        ("link-multicast", "ip link set p1 multicast on", lambda now: "MULTICAST" not in now["flags"]),
        ("link-allmulticast", "ip link set p1 allmulticast off", lambda now: "ALLMULTI" in now["flags"]),
        ("link-promisc", "ip link set p1 promisc off", lambda now: "PROMISC" in now["flags"]),
        ("link-dynamic", "ip link set p1 dynamic off", lambda now: "DYNAMIC" in now["flags"]),
        ("link-trailers", "ip link set p1 trailers on", lambda now: "NOTRAILERS" in now["flags"]),
        ("link-alias", "ip link set p1 alias x", lambda now: now["ifalias"] == "uplink"),
        ("link-altname", "ip link property del dev p1 altname uplink1", lambda now: "uplink1" in now["altnames"]),
        ("link-group", "ip link set p1 group default", lambda now: now["group"] == "7"),
        ("link-txqueuelen", "ip link set p1 txqueuelen 1000", lambda now: now["txqlen"] == 500),
        ("link-addrgenmode", "ip link set p1 addrgenmode eui64", lambda now: now["inet6_addr_gen_mode"] == "none"),
        ("link-gso-size", "ip link set p1 gso_max_size 65536", lambda now: now["gso_max_size"] == 30000),
        ("link-gso-segs", "ip link set p1 gso_max_segs 65535", lambda now: now["gso_max_segs"] == 20),
        ("link-gro-size", "ip link set p1 gro_max_size 65536", lambda now: now["gro_max_size"] == 30000)):
    ignored_attribute(key, undo, has)


# --- addresses -----------------------------------------------------------------------------------

def added_address(key: str, address: str, look: Callable[[object], bool] = lambda lab: True) -> None:
    """Packets for the address are punted, and `look` becomes true. Removing the address reverts everything."""
    length = address.partition("/")[2] or "32"

    @check(key)
    def see(lab):
        host = address.partition("/")[0]
        try:
            yield
            eventually(lambda: fib(lab, host)["kind"] == "local", what=f"{host} is ours")
            assert_reaches(lab["h1"], host)
            eventually(lambda: look(lab), what=f"what the row {key} says", timeout_s=10)
        finally:
            lab["r"].run(f"ip addr del {host}/{length} dev p1", check=False)
        eventually(lambda: fib(lab, host).get("kind") != "local", what=f"{host} is not ours any more")


def kind(lab, address: str) -> str:
    return fib(lab, address).get("kind", "none")


added_address("address-add", "10.66.0.1/24", lambda lab: kind(lab, "10.66.0.9") == "glean")
added_address("address-secondary", "10.2.0.77/24", lambda lab: next(a for a in ours(lab)["address"] if a["ip"] == "10.2.0.77")["secondary"])
added_address("address-noprefixroute", "10.66.2.1/24", lambda lab: kind(lab, "10.66.2.9") == "none")
added_address("address-metric", "10.66.3.1/24", lambda lab: route(lab, "10.66.3.0/24")["metric"] == 500)
added_address("address-broadcast", "10.66.4.1/24", lambda lab: kind(lab, "10.66.4.7") == "broadcast")
added_address("address-nodad", "fd00:66::1/64", lambda lab: kind(lab, "fd00:66::9") == "glean")
added_address("address-label", "10.66.7.1/24")
added_address("address-home", "fd00:67::1/64")
added_address("address-mngtmpaddr", "fd00:68::1/64")


def route(lab, prefix: str) -> dict:
    return next(row for row in measure.client(lab["r"]).rows("routes=default,ipv4", "route") if row["prefix"] == prefix)


@check("address-delete")
def check_address_delete(lab):
    yield
    eventually(lambda: kind(lab, "10.2.0.1") == "none" and not transit(lab), what="the address is not ours, its subnet not connected")
    address_again(lab)


@check("address-peer")
def check_address_peer(lab):
    try:
        yield
        eventually(lambda: (kind(lab, "10.66.1.1"), kind(lab, "10.66.1.2")) == ("local", "glean"), what="the peer is connected")
    finally:
        lab["r"].run("ip addr del 10.66.1.1 peer 10.66.1.2/32 dev p1", check=False)


@check("address-scope")
def check_address_scope(lab):
    r = lab["r"]
    try:
        yield
        eventually(lambda: kind(lab, "10.66.5.1") == "local", what="it is ours")
        assert_reaches(lab["h1"], "10.66.5.1")
        r.ip("addr del 10.1.0.1/24 dev p0")
        r.ip("addr add 10.1.9.1/24 dev p0 scope link")
        r.ip("addr add 10.1.0.1/24 dev p0")
        eventually(lambda: hops(lab["h1"], "10.2.0.2")[:1] == ["10.1.0.1"], what="the ICMP error is from the one of scope global")
    finally:
        r.run("ip addr del 10.66.5.1/24 dev p1", check=False)
        r.run("ip addr del 10.1.9.1/24 dev p0", check=False)
        r.namespace.add_addresses("p0", ["10.1.0.1/24"])


@check("address-lifetime")
def check_address_lifetime(lab):
    def seen() -> list[tuple[bool, bool]]:
        """Whether it was there before and after each change: it lasts for two seconds only."""
        found = measure.client(lab["r"]).call("route-changes", prefix="10.66.6.1/32").get("change", [])
        return [("from" in change, "to" in change) for change in reversed(found)]
    yield
    eventually(lambda: seen()[-2:] == [(False, True), (True, False)], 20, lambda: f"it is ours, and gone: {seen()}")
    eventually(lambda: kind(lab, "10.66.6.1") == "none", 20, "it is gone")


@check("address-deprecated")
def check_address_deprecated(lab):
    r = lab["r"]
    r.ip("addr add fd00:1::7/64 dev p0 nodad")
    r.ip("addr del fd00:1::1/64 dev p0")
    r.ip("addr add fd00:1::1/64 dev p0 nodad")
    try:
        r.ip("addr change fd00:1::7/64 dev p0 valid_lft forever preferred_lft 0")
        eventually(lambda: hops(lab["h1"], "fd00:2::2")[:1] == ["fd00:1::1"], what="the ICMP error is from the preferred one")
        r.ip("addr change fd00:1::7/64 dev p0 valid_lft forever preferred_lft forever")
        yield
        eventually(lambda: hops(lab["h1"], "fd00:2::2")[:1] == ["fd00:1::7"], what="the ICMP error is from the other one")
    finally:
        r.run("ip addr del fd00:1::7/64 dev p0", check=False)
        r.ip("addr change fd00:1::1/64 dev p0 valid_lft forever preferred_lft forever")


@check("address-autojoin")
def check_address_autojoin(lab):
    try:
        yield
        eventually(lambda: "239.1.2.3" in str(measure.client(lab["r"]).state("multicast")), what="the group is joined")
    finally:
        lab["r"].run("ip addr del 239.1.2.3/32 dev p1", check=False)


# --- neighbors ----------------------------------------------------------------------------------

def added_neighbor(key: str, address: str, mac: str) -> None:
    @check(key)
    def see(lab):
        try:
            yield
            eventually(lambda: neighbor(lab, address).get("mac") == mac and kind(lab, address) == "adjacency", what=f"{address} is known",
                       timeout_s=5)
        finally:
            lab["r"].run(f"ip neigh del {address} dev p1", check=False)
        eventually(lambda: kind(lab, address) == "glean", what=f"{address} is not known any more")


for key, address, mac in (
        ("neighbor-permanent", "10.2.0.50", "02:00:00:00:00:50"),
        ("neighbor-noarp", "10.2.0.51", "02:00:00:00:00:51"),
        ("neighbor-reachable", "10.2.0.52", "02:00:00:00:00:52"),
        ("neighbor-stale", "10.2.0.53", "02:00:00:00:00:53"),
        ("neighbor-group-mac", "10.2.0.55", "03:bf:0a:02:00:37"),
        ("neighbor-router", "fd00:2::56", "02:00:00:00:00:56"),
        ("neighbor-extern-learn", "10.2.0.57", "02:00:00:00:00:57"),
        ("neighbor-protocol", "10.2.0.58", "02:00:00:00:00:58")):
    added_neighbor(key, address, mac)


@check("neighbor-lladdr")
def check_neighbor_lladdr(lab):
    lab["r"].run("ip neigh del 10.2.0.2 dev p1", check=False)
    assert_reaches(lab["h1"], "10.2.0.2")
    eventually(lambda: neighbor(lab, "10.2.0.2").get("mac"), what="h2 is known")
    try:
        yield
        eventually(lambda: neighbor(lab, "10.2.0.2").get("mac") == "02:00:00:00:00:54", what="the other MAC is followed", step_s=0.01)
    finally:
        lab["r"].run("ip neigh del 10.2.0.2 dev p1", check=False)
    assert_reaches(lab["h1"], "10.2.0.2")


@check("neighbor-failed", "neighbor-delete", "neighbor-flush", "neighbor-managed", "neighbor-use")
def check_neighbor_asked_again(lab):
    assert_reaches(lab["h1"], "10.2.0.2")
    yield
    assert_reaches(lab["h1"], "10.2.0.2")
    lab["r"].run("ip neigh del 10.2.0.2 dev p1", check=False)
    assert_reaches(lab["h1"], "10.2.0.2")


@check("neighbor-proxy")
def check_neighbor_proxy(lab):
    try:
        yield
        assert kind(lab, "10.2.0.60") == "glean"
    finally:
        lab["r"].run("ip neigh del proxy 10.2.0.60 dev p1", check=False)


# --- namespaces ----------------------------------------------------------------------------------

@check("namespace-ipsec")
def check_ipsec(lab):
    try:
        yield
        assert alarms(lab) == {"blue ipsec"}
        assert_transit(lab)
    finally:
        lab["r"].vrs["blue"].run("ip xfrm policy flush")
    eventually(lambda: not alarms(lab), 10, "the alarm is over")


@check("namespace-replaced")
def check_namespace(lab):
    green, router = f"{lab['r'].namespace.name}.green", Router(lab["r"])
    sh(["ip", "netns", "add", green])
    router.configure(f"set vr green namespace {green}")
    try:
        yield
        sh(["ip", "netns", "add", green])
        eventually(lambda: "and recreated" in lab["r"].log.read_text(), 5, "it is another one now")
        assert alarms(lab) == {"green namespace"}
        router.configure("delete vr green")
        router.configure(f"set vr green namespace {green}")
        eventually(lambda: not alarms(lab), 10, "the alarm is over")
    finally:
        router.configure("delete vr green")
        sh(["ip", "netns", "del", green], check=False)


# --- the walk ------------------------------------------------------------------------------------

def command_of(lab, row: Row) -> list[str]:
    """In the router's namespace; the page's short names of namespaces are replaced by the lab's."""
    words = re.sub(r"\b(blue|green)\b", rf"{lab['r'].namespace.name}.\1", row.command).split()
    return words if row.key.startswith("namespace-") else lab["r"].namespace.argv(words)


def test_each_row_has_a_check_and_each_check_a_row():
    keys = [row.key for row in ROWS]
    assert sorted(keys) == sorted(CHECKS), set(keys) ^ set(CHECKS)
    table_rows = re.findall(r"^\| ([a-z]+-[a-z-]+) \|", PAGE.read_text(), re.M)
    assert table_rows == keys                        # none was overlooked for the way it is written
    assert {row.outcome for row in ROWS} == set(COMMON)


@pytest.mark.parametrize("row", ROWS, ids=[row.key for row in ROWS])
def test_row(lab, row):
    assert row.key in CHECKS, f"{PAGE.name}: row {row.key} has no check"
    steps = CHECKS[row.key](lab)
    try:
        next(steps)
        before, log_at = link(lab), len(lab["r"].log.read_text())
        done = subprocess.run(command_of(lab, row), capture_output=True, text=True)
        assert (done.returncode != 0) == (row.outcome == "refused"), done.stderr
        COMMON[row.outcome](lab, row, before, log_at)
        assert next(steps, None) is None
    finally:
        steps.close()


# --- beside the tables ---------------------------------------------------------------------------

def test_addresses_go_with_an_interface_to_another_namespace(lab, router):
    r, blue = lab["r"], lab["r"].vrs["blue"]
    for address in ("10.40.0.5/24", "10.40.7.1 peer 10.40.7.2/32 scope link metric 77", "10.40.8.1/24 noprefixroute brd 10.40.8.99",
                    "fd00:40::1/64 nodad", "10.40.9.1/24 valid_lft 600 preferred_lft 600"):
        r.ip(f"addr add {address} dev v40")
    before = permanent(r, "v40")
    told = router.call("configure", line=["set interface v40 vr blue"], check=True)
    assert "moves v40 to another network namespace: permanent addresses move with it" in str(told["note"])
    router.configure("set interface v40 vr blue")
    assert permanent(blue, "v40") == before
    eventually(lambda: {a["ip"] for a in ours(lab, "v40")["address"]} >= {"10.40.0.1", "10.40.0.5", "fd00:40::1"}, what="kamueed has them")
    assert "address not moved: address=10.40.9.1/24" in r.log.read_text()
    router.configure("delete interface v40 vr")
    assert permanent(r, "v40") == before
    for address in ("10.40.0.5/24", "10.40.7.1 peer 10.40.7.2/32", "10.40.8.1/24", "fd00:40::1/64"):
        r.ip(f"addr del {address} dev v40")


def permanent(node, name: str) -> list[dict]:
    """Addresses, in order, without fields that only matter to the kernel."""
    rows = node.ip_json(f"addr show dev {name}")[0]["addr_info"]
    return [{key: row.get(key) for key in ("local", "address", "prefixlen", "broadcast", "scope", "metric", "label", "secondary", "noprefixroute")}
            for row in rows if "dynamic" not in row and not (row["scope"] == "link" and row["family"] == "inet6")]


def test_a_tap_that_was_renamed_while_nobody_ran_is_found(lab):
    r = lab["r"]
    assert_reaches(lab["h1"], "10.2.0.2")
    ifindex = link(lab)["ifindex"]
    r.kill_kamueed()
    r.ip("link set p1 name foo")
    r.start_kamueed()
    assert "renamed by another program, name restored: name=p1 renamed=foo" in r.log.read_text()
    assert link(lab)["ifindex"] == ifindex and not r.namespace.has_link("foo")
    assert_reaches(lab["h1"], "10.2.0.2")


def test_more_macvlans_than_there_is_room_for_raise_the_alarm(lab):
    r = lab["r"]
    try:
        r.namespace.ip_batch([line for n in range(33) for line in (
            f"link add x{n} link p1 type macvlan mode bridge", f"addr add 10.2.0.{200 + n}/32 dev x{n}", f"link set x{n} up")])
        eventually(lambda: alarms(lab) == {"p1 macvlans"}, 10, "the alarm is raised")
        assert len(ours(lab)["accepted-mac"]) == 32
    finally:
        r.namespace.ip_batch([f"link del x{n}" for n in range(33)])
    eventually(lambda: not alarms(lab), 10, "the alarm is over")
