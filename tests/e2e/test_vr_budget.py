# SPDX-License-Identifier: BSD-3-Clause
"""Budgets of virtual routers: excess is refused, named and alarmed, and costs the other virtual router nothing."""
import re
import subprocess

import pytest

from kamuee.errors import KamueeError
from kamuee.lab import measure

from conftest import ROOT
from support import assert_no_loss, assert_reaches, eventually, reaches

ROUTES = 5000
LAB = """
nodes:
  reda: &a $HOST(1)
  redb: &b $HOST(2 20.0.0.1/32 20.0.3.1/32 20.0.19.1/32 20.0.50.1/32 198.51.100.1/32)
  bluea: *a
  blueb: *b
  r:
    kind: kamuee
    vrs:
      red: {}
      blue: {routes: [198.51.100.0/24 via 10.2.0.2]}
    interfaces:
      p0: {vr: red, addresses: &p0 [10.1.0.1/24, "fd00:1::1/64"]}
      p1: {vr: red, addresses: &p1 [10.2.0.1/24, "fd00:2::1/64"]}
      p2: {vr: blue, addresses: *p0}
      p3: {vr: blue, addresses: *p1}
links:
  - [reda:eth0, r:p0]
  - [redb:eth0, r:p1]
  - [bluea:eth0, r:p2]
  - [blueb:eth0, r:p3]
"""


@pytest.fixture
def client(lab):
    client = measure.client(lab["r"])
    yield client
    client.call("configure", line=["set vr red budget captures 8", "delete vr red budget"])


def configure(client, *lines):
    client.call("configure", line=list(lines))


def prefix(i):
    return f"20.{i // 256}.{i % 256}.0/24"


def routes(lab, vr, what, numbers, rest=""):
    """Adds or deletes routes of the kernel, as a routing daemon would."""
    lines = "".join(f"route {what} {prefix(i)} {rest}\n" for i in numbers)
    done = lab["r"].vrs[vr].popen(["ip", "-force", "-batch", "-"], stdin=subprocess.PIPE)
    done.communicate(lines.encode(), timeout=120)
    assert done.returncode == 0


def budget(client, vr="red"):
    return {entry["name"]: entry for entry in client.one_or_all("vr", vr, "virtual router")[0]["budget"]}


def alarms(client):
    return {(entry["name"], entry["subject"]): int(entry["value"]) for entry in client.entries("alarm")}


def assert_no_difference(client):
    for vr in ("default", "red", "blue"):
        report = client.call("audit", vr=vr)
        assert (int(report["diverged"]), report.get("finding", [])) == (0, []), (vr, report)


def explained(lab, source, destination):
    return " ".join(subprocess.run([str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), "explain", "in", "p0", "src", source, "dst",
                                    destination], capture_output=True, text=True, check=True).stdout.split())


def test_routes_beyond_the_budget_wait_named_and_come_in_when_it_rises(lab, client):
    other = budget(client, "blue")["ipv4-routes"]
    configure(client, "set vr red budget ipv4-routes 1000")
    routes(lab, "red", "add", range(ROUTES), "via 10.2.0.2")
    eventually(lambda: int(budget(client)["ipv4-routes"].get("waiting", 0)) == ROUTES - 1000, 60, lambda: str(budget(client)))
    assert int(budget(client)["ipv4-routes"]["used"]) == 1000
    # in the order in which they came; connected routes are no victims
    assert_reaches(lab["reda"], "20.0.0.1", "20.0.3.1", "10.2.0.2")
    shown = subprocess.run([str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), "show", "ipv4", "route", prefix(4999), "vr", "red"],
                           capture_output=True, text=True)
    assert "no: beyond the virtual router's budget" in shown.stdout, shown
    told = explained(lab, "10.1.0.2", "20.19.135.1")
    assert "route 20.19.135.0/24 waits outside the FIB" in told and "set vr red budget ipv4-routes" in told, told
    assert "waits outside" not in explained(lab, "10.1.0.2", "20.0.3.1")
    assert_no_difference(client)
    report = client.call("audit", vr="red")
    kind, = (entry for entry in report["unfollowed"] if entry["kind"] == "budget")
    assert int(kind["routes"]) == ROUTES - 1000 and f"{prefix(1000)}, {prefix(1001)}" in kind["example"], kind
    assert "and 3997 more" in kind["example"] and "set vr NAME budget" in kind["effect"], kind
    eventually(lambda: alarms(client).get(("vr-budget-full", "red ipv4-routes")) == 100 and
               alarms(client).get(("route-not-followed", "red")) == ROUTES - 1000, 40, lambda: str(alarms(client)))
    assert budget(client, "blue")["ipv4-routes"] == other
    assert_no_loss(lab["bluea"], "198.51.100.1", 50)
    # one goes: the first that waits comes in
    routes(lab, "red", "del", [7])
    eventually(lambda: int(budget(client)["ipv4-routes"]["waiting"]) == ROUTES - 1001, 20, lambda: str(budget(client)))
    assert client.call("audit", vr="red")["unfollowed"][0]["example"].startswith(prefix(1001))
    # a default route of a daemon is never a victim
    lab["r"].vrs["red"].ip("route add default via 10.2.0.2 proto bgp")
    assert_reaches(lab["reda"], "198.51.100.1")
    lab["r"].vrs["red"].ip("route del default")
    configure(client, "set vr red budget ipv4-routes 10000")
    eventually(lambda: int(budget(client)["ipv4-routes"]["waiting"]) == 0, 20, lambda: str(budget(client)))
    assert int(budget(client)["ipv4-routes"]["used"]) == ROUTES - 1
    assert_reaches(lab["reda"], "20.0.19.1")
    assert_no_difference(client)
    eventually(lambda: not alarms(client), 40, lambda: str(alarms(client)))


def test_a_lower_budget_has_the_last_ones_wait_and_a_resync_agrees(lab, client):
    eventually(lambda: int(budget(client)["ipv4-routes"]["used"]) == ROUTES - 1, 20, lambda: str(budget(client)))
    configure(client, "set vr red budget ipv4-routes 20")
    eventually(lambda: int(budget(client)["ipv4-routes"]["used"]) == 20, 20, lambda: str(budget(client)))
    assert_reaches(lab["reda"], "20.0.19.1")             # without 20.0.7.0/24 it is the 19th
    assert not reaches(lab["reda"], "20.0.50.1")
    named = client.call("audit", vr="red")["unfollowed"]
    assert named[0]["example"].startswith(prefix(21)), named
    assert_no_difference(client)                         # an audit begins with a dump of everything
    assert client.call("audit", vr="red")["unfollowed"] == named
    # replaced, added again and deleted: waiting routes and active routes stay the same
    routes(lab, "red", "replace", range(1000, 1100), "via 10.2.0.2")
    assert_no_difference(client)
    assert int(budget(client)["ipv4-routes"]["used"]) == 20
    routes(lab, "red", "del", [i for i in range(ROUTES) if i != 7])
    eventually(lambda: (int(budget(client)["ipv4-routes"]["used"]), int(budget(client)["ipv4-routes"]["waiting"])) == (0, 0), 30,
               lambda: str(budget(client)))
    assert_no_difference(client)


def test_neighbors_beyond_the_budget_are_refused(lab, client):
    lab["r"].vrs["red"].ip("neigh flush dev p1")
    used = int(budget(client)["neighbors"]["used"])
    configure(client, f"set vr red budget neighbors {used + 5}")
    for i in range(20):
        lab["r"].vrs["red"].ip(f"neigh replace 10.2.0.{100 + i} lladdr 02:00:00:00:01:{i:02x} dev p1 nud permanent")
    eventually(lambda: int(budget(client)["neighbors"]["refused"]) >= 15, 20, lambda: str(budget(client)))
    assert int(budget(client)["neighbors"]["used"]) <= used + 5
    assert_reaches(lab["bluea"], "10.2.0.2")
    assert_no_difference(client)
    configure(client, "delete vr red budget neighbors")
    eventually(lambda: sum(row["vr"] == "red" and row["address"].startswith("10.2.0.1") for row in client.entries("neighbor")) >= 20, 20,
               lambda: str(budget(client)))
    for i in range(20):
        lab["r"].vrs["red"].ip(f"neigh del 10.2.0.{100 + i} dev p1")
    assert_reaches(lab["reda"], "10.2.0.2")


def drops(client, name):
    return sum(int(entry["packets"]) for entry in client.entries("drop") if entry["name"] == name)


def test_a_flood_for_the_control_plane_uses_up_its_own_budget_only(lab, client):
    configure(client, "set vr red budget punt-rate 100")
    before = drops(client, "vr_punt_budget")
    flood = lab["reda"].popen(["ping", "-q", "-f", "-c", "3000", "10.1.0.1"], stdout=subprocess.PIPE)
    assert_no_loss(lab["bluea"], "10.1.0.1", 50)         # of the same class, icmp, by the other virtual router
    flood.communicate(timeout=120)
    assert drops(client, "vr_punt_budget") > before
    assert_no_loss(lab["reda"], "10.2.0.2", 20)          # what is forwarded is no matter of this budget
    eventually(lambda: int(budget(client)["punt-rate"]["limit"]) == 100, 5, lambda: str(budget(client)))


def test_rules_beyond_the_budget_are_refused_with_the_way_to_raise_it(lab, client):
    rules = [f"set acl a rule {i} permit tcp from any to any port {i}" for i in range(1, 6)]
    try:
        configure(client, "set vr red budget rules 4", *rules)   # nobody uses them
        with pytest.raises(KamueeError) as refused:
            configure(client, "set interface p0 acl in a")
        assert "set vr red budget rules 5" in str(refused.value) and "'rules' is 4" in str(refused.value), refused.value
        configure(client, "set interface p2 acl in a")           # the other one has no such budget
        configure(client, "set vr red budget rules 5", "set interface p0 acl in a")
        assert (int(budget(client)["rules"]["used"]), int(budget(client)["rules"]["limit"])) == (5, 5)
    finally:
        configure(client, "delete interface p0 acl", "delete interface p2 acl", "delete acl a")


def test_memory_beyond_the_budget_is_not_taken(lab, client):
    configure(client, "set vr red budget memory 1")
    routes(lab, "red", "add", range(500), "via 10.2.0.2")        # room for hundreds, and for thousands in a row
    eventually(lambda: int(budget(client)["ipv4-routes"]["used"]) >= 500, 60, lambda: str(budget(client)))
    assert int(budget(client)["ipv4-routes"]["waiting"]) == 0 and int(budget(client)["memory"]["used"]) < 1 << 20, budget(client)
    routes(lab, "red", "add", range(500, ROUTES * 4), "via 10.2.0.2")
    eventually(lambda: int(budget(client)["ipv4-routes"]["waiting"]) > 0, 60, lambda: str(budget(client)))
    assert_no_difference(client)
    assert_no_loss(lab["bluea"], "10.2.0.2", 20)
    configure(client, "delete vr red budget memory")
    eventually(lambda: int(budget(client)["ipv4-routes"]["waiting"]) == 0, 60, lambda: str(budget(client)))
    routes(lab, "red", "del", range(ROUTES * 4))
    configure(client, "set vr red budget memory 1")              # memory that the routes have left is given back when there is need
    eventually(lambda: int(budget(client)["memory"]["used"]) < 1 << 19, 60, lambda: str(budget(client)))


def test_captures_beyond_the_budget_are_refused(lab, client, tmp_path):
    def capture(name, word="interface"):
        return subprocess.Popen([str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), "capture", word, name, "write",
                                 str(tmp_path / f"{name}.pcapng")], stderr=subprocess.PIPE)
    configure(client, "set vr red budget captures 1")
    running = [capture("p0")]
    try:
        eventually(lambda: int(budget(client)["captures"]["used"]) == 1, 20, lambda: str(client.entries("capture")))
        for what in (("p1",), ("red", "vr")):
            refused = capture(*what).communicate(timeout=30)[1].decode()
            assert "set vr red budget captures 2" in refused and "'captures' is 1" in refused, refused
        running.append(capture("p2"))                            # of blue
        eventually(lambda: int(budget(client, "blue")["captures"]["used"]) == 1, 20, lambda: str(client.entries("capture")))
    finally:
        for process in running:
            process.terminate()
            process.communicate(timeout=30)
    eventually(lambda: int(budget(client)["captures"]["used"]) == 0, 20, lambda: str(client.entries("capture")))


def test_the_bill_is_shown_and_metered(lab, client):
    configure(client, "set vr red budget captures 2", "set forwarding budget nexthops 1000")
    try:
        shown = subprocess.run([str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), "show", "vr", "red"], capture_output=True, text=True)
        assert shown.returncode == 0 and "Budget" in shown.stdout and "captures" in shown.stdout, shown
        assert int(budget(client, "default")["nexthops"]["limit"]) == 1000
        assert "limit" not in budget(client, "blue")["captures"]
    finally:
        configure(client, "delete forwarding budget")


RESTARTED = """
nodes:
  r:
    kind: kamuee
    vrs: {red: {}}
    set: [set vr red budget ipv4-routes 100 ipv6-routes 50]
    interfaces: {p0: {vr: red, addresses: [10.1.0.1/24]}}
  h:
    kind: host
    interfaces: {eth0: [10.1.0.2/24]}
links: [[h:eth0, r:p0]]
"""


def test_after_a_restart_the_first_prefixes_are_in_and_the_audit_agrees(labs, kamueed):
    lab = labs(RESTARTED, "kamuee")
    router = lab["r"]
    routes(lab, "red", "add blackhole", reversed(range(ROUTES)))
    done = router.vrs["red"].popen(["ip", "-6", "-force", "-batch", "-"], stdin=subprocess.PIPE)
    done.communicate("".join(f"route add blackhole 2001:db8:{i:x}::/48\n" for i in range(80)).encode(), timeout=60)
    client = measure.client(router)
    eventually(lambda: int(budget(client)["ipv6-routes"]["waiting"]) == 30, 30, lambda: str(budget(client)))
    assert f"{prefix(ROUTES - 101)}" in client.call("audit", vr="red")["unfollowed"][0]["example"]  # by arrival: the highest are in
    router.kill_kamueed()
    router.start_kamueed()
    client = measure.client(router)
    eventually(lambda: int(budget(client)["ipv4-routes"]["waiting"]) == ROUTES - 100, 60, lambda: str(budget(client)))
    found = client.call("audit", vr="red")
    assert found["unfollowed"][0]["example"].startswith(f"{prefix(100)}, {prefix(101)}"), found["unfollowed"]
    first_sync = re.findall(r"first sync: vr=1 .* fib4=(\d+)", router.log.read_text())[-1]
    assert int(first_sync) <= 110, first_sync            # what the kernel makes for addresses is not charged
    for i in range(2):
        assert int(client.call("audit", vr="red")["diverged"]) == 0
    assert (int(budget(client)["ipv4-routes"]["used"]), int(budget(client)["ipv6-routes"]["used"])) == (100, 50)
    configure(client, "delete vr red budget")            # at its end, each test compares FIB and kernel
    eventually(lambda: int(budget(client)["ipv4-routes"]["waiting"]) == 0, 30, lambda: str(budget(client)))
