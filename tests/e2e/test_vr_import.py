# SPDX-License-Identifier: BSD-3-Clause
"""Routes of one virtual router that another one imports: namespaces of their own, both families, both directions."""
import pytest

from kamuee.errors import DaemonError

from support import Router, assert_no_loss, assert_reaches, eventually, hops, reaches

LAB = """
nodes:
  tenant: $HOST(1)
  other: $HOST(3)
  server: $HOST(9 198.51.100.1/32)
  r:
    kind: kamuee
    vrs:
      red: {}
      green: {}
      shared: {routes: [198.51.100.0/24 via 10.9.0.2]}
    interfaces:
      p0: {vr: red, addresses: [10.1.0.1/24, "fd00:1::1/64"]}
      p1: {vr: green, addresses: [10.3.0.1/24, "fd00:3::1/64"]}
      p2: {vr: shared, addresses: [10.9.0.1/24, "fd00:9::1/64"]}
links:
  - [tenant:eth0, r:p0]
  - [other:eth0, r:p1]
  - [server:eth0, r:p2]
"""
IMPORTS = ["set vr red import shared prefix 10.9.0.0/24", "set vr red import shared prefix fd00:9::/64",
           "set vr red import shared prefix 198.51.0.0/16 ge 24 le 24",
           "set vr shared import red prefix 10.1.0.0/24", "set vr shared import red prefix fd00:1::/64"]


@pytest.fixture
def router(lab):
    return Router(lab["r"])


@pytest.fixture
def imported(lab, router):
    router.configure(*IMPORTS)
    yield
    router.configure("delete vr red import shared", "delete vr shared import red")
    eventually(lambda: not reaches(lab["tenant"], "10.9.0.2"), 20, "nothing is imported any more")


def route(router, vr, prefix, family="ipv4"):
    return next((row for row in router.rows(f"routes={vr},{family}", "route") if row["prefix"] == prefix), None)


def test_imported_routes_carry_traffic_in_both_directions(lab, router, imported):
    for target in ("10.9.0.2", "fd00:9::2", "198.51.100.1"):
        assert_reaches(lab["tenant"], target)
        assert_no_loss(lab["tenant"], target, 50)
    assert_reaches(lab["server"], "10.1.0.2")
    eventually(lambda: hops(lab["tenant"], "198.51.100.1") == ["10.1.0.1", "198.51.100.1"], 20,     # no hop between them
               lambda: str(hops(lab["tenant"], "198.51.100.1")))
    assert not reaches(lab["other"], "10.9.0.2")
    router.assert_ledger()


def test_show_route_explain_and_audit_tell_of_it(lab, router, imported):
    assert_reaches(lab["tenant"], "198.51.100.1")
    row = route(router, "red", "198.51.100.0/24")
    assert (row["imported-from"], row["active"], row["hop"][0]["gateway"]) == ("shared", True, "10.9.0.2")
    assert "imported-from" not in route(router, "shared", "198.51.100.0/24")
    told = router.call("explain", interface="p0", source="10.1.0.2", destination="198.51.100.1")
    found = next(step["lookup"] for step in told["step"] if "lookup" in step)
    assert found["imported-from"] == "shared" and found["prefix"] == "198.51.100.0/24"
    assert told["step"][-1]["frame"][0]["interface"] == "p2"
    assert not router.call("audit", vr="red").get("difference")


def test_changes_of_the_source_follow(lab, router, imported):
    assert_reaches(lab["tenant"], "198.51.100.1")
    lab["r"].vrs["shared"].ip("route del 198.51.100.0/24")
    eventually(lambda: route(router, "red", "198.51.100.0/24") is None, 20, "the route is gone")
    eventually(lambda: not reaches(lab["tenant"], "198.51.100.1"), 10, "the FIB follows")
    lab["r"].vrs["shared"].ip("route add 198.51.100.0/24 via 10.9.0.2")
    assert_reaches(lab["tenant"], "198.51.100.1")


REFUSED = [("set vr red import red prefix 10.0.0.0/8", "expected another virtual router"),
           ("set vr red import nobody prefix 10.0.0.0/8", "nobody"),
           ("set vr red import shared prefix 10.0.0.0/8 ge 24 le 16", "ge <= le"),
           ("set vr red import shared prefix 10.0.0.0/8 le 33", "<= 32"),
           ("set vr red import shared prefix fd00::/8 ge 4", "ge <= le")]


@pytest.mark.parametrize("line, says", REFUSED)
def test_what_cannot_be_is_refused(router, line, says):
    with pytest.raises(DaemonError) as refused:
        router.configure(line)
    assert says in str(refused.value)


def test_a_virtual_router_that_others_import_from_is_not_deleted(lab, router, imported):
    with pytest.raises(DaemonError) as refused:
        router.configure("delete interface p2 vr", "delete vr shared")
    assert "shared" in str(refused.value)
    assert_reaches(lab["tenant"], "10.9.0.2")
