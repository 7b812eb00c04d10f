# SPDX-License-Identifier: BSD-3-Clause
"""What rules of access lists do besides letting packets go or not: police, mirror, redirect, log, with real packets of both families."""
import re
import threading
import time

import pytest

from kamuee import events

from support import Router, assert_reaches, eventually, received, receiver, send, two_hosts

LAB = two_hosts(interfaces=["p2: [10.3.0.1/24, 'fd00:3::1/64']", "p3: []"], nodes="""
  scrubber:                                   # takes packets for h2, too
    kind: host
    interfaces: {eth0: [10.3.0.9/24, "fd00:3::9/64", 10.2.0.2/32, "fd00:2::2/128"]}
    routes: [default via 10.3.0.1, "default via fd00:3::1"]
  ids: {kind: host, interfaces: {eth0: []}}
""", links=["r:p2, scrubber:eth0", "r:p3, ids:eth0"])
TARGETS = ("10.2.0.2", "fd00:2::2")
BOTH = pytest.mark.parametrize("target, next_hop", [("10.2.0.2", "10.3.0.9"), ("fd00:2::2", "fd00:3::9")], ids=["ipv4", "ipv6"])


@pytest.fixture(autouse=True)
def sessions_end_with_the_test(lab):
    yield
    assert Router(lab["r"]).entries("mirror-session") == []


def arrive(lab, where, target, count=100, **how):
    """How many of `count` packets from h1 to the target's UDP port 7000 come to the node."""
    sink = receiver(lab[where])
    send(lab["h1"], [target], count, **how)
    return received(sink, count)["distinct"]


@BOTH
def test_police_lets_the_rate_pass_and_drops_the_rest(lab, router, target, next_hop):
    """1000 packets a second for two seconds, of which the rate has room for some 250 and the burst for 64 KiB: half a second in which no packet
    comes, because of the machine, costs nothing of the rate."""
    before = router.dropped("acl_policed")
    router.configure("set acl edge rule 10 permit udp to any port 7000 police 1000 burst 64", "set acl edge default permit",
                     "set interface p0 acl in edge")
    sink = receiver(lab["h2"])
    began = time.monotonic()
    send(lab["h1"], [target], 2000, per_s=1000, size=1000)
    eventually(lambda: router.hits("edge")[10] == 2000, 10, lambda: f"2000 packets, counted {router.hits('edge')}")
    longest_s = time.monotonic() - began
    policed = router.dropped("acl_policed") - before
    passed = received(sink, 2000 - policed)["distinct"]
    assert 1_000_000 * 2 / (1048 * 8) * 0.7 < passed < (1_000_000 * longest_s + 65536 * 8) / (1028 * 8)
    assert policed == 2000 - passed
    router.configure("delete acl edge rule 10 police")
    assert arrive(lab, "h2", target, 500, per_s=1000, size=1000) == 500


@BOTH
@pytest.mark.parametrize("action, arrives", [("permit", 100), ("deny", 0)])
def test_mirror_session_gets_a_copy_whatever_becomes_of_the_packet(lab, router, target, next_hop, action, arrives):
    router.configure("set mirror-session ids to port p3", f"set acl edge rule 10 {action} udp to any port 7000 mirror ids",
                     "set acl edge default permit", "set interface p0 acl in edge")
    before = lab["ids"].ip_json("-s link show dev eth0")[0]["stats64"]["rx"]["packets"]
    assert arrive(lab, "h2", target, 100) == arrives if arrives else arrive_none(lab, router, target, 100) == 0
    def mirrored() -> list[tuple]:
        return [(session["name"], session["to-port"], session["sent"], session["missed"]) for session in router.entries("mirror-session")]
    eventually(lambda: mirrored() == [("ids", "p3", 100, 0)], 10, lambda: str(mirrored()))
    eventually(lambda: lab["ids"].ip_json("-s link show dev eth0")[0]["stats64"]["rx"]["packets"] - before >= 100, 10)
    router.configure("delete mirror-session ids to port", "set mirror-session ids to tap ids0")    # rules stay as they are
    assert arrive(lab, "h2", target, 50) == arrives / 2 if arrives else arrive_none(lab, router, target, 50) == 0
    eventually(lambda: router.entries("mirror-session")[0]["sent"] == 50, 10, lambda: str(router.entries("mirror-session")))
    assert router.hits("edge")[10] == 150


def arrive_none(lab, router, target, count):
    """How many came to h2 when the rule has counted all of them."""
    sink, wanted = receiver(lab["h2"]), router.hits("edge")[10] + count
    send(lab["h1"], [target], count)
    eventually(lambda: router.hits("edge")[10] == wanted, 10, lambda: f"{wanted} packets, counted {router.hits('edge')}")
    return received(sink, 0)["distinct"]


def redirected(router, next_hop: str, what: str = "redirected") -> int:
    return int(re.search(rf'^kamuee_acl_{what}_packets_total{{to="{next_hop}"}} (\d+)$', router.metrics(), re.MULTILINE)[1])


@BOTH
def test_redirect_goes_to_the_next_hop_and_by_the_fib_while_there_is_none(lab, router, target, next_hop):
    router.configure(f"set acl edge rule 10 permit udp to any port 7000 redirect to {next_hop}", "set acl edge default permit",
                     "set interface p0 acl in edge")
    neighbor = lambda: [n for n in router.entries("neighbor") if n["address"] == next_hop and n["gateway"]]   # noqa: E731
    eventually(lambda: neighbor() and neighbor()[0]["status"] in ("reachable", "permanent", "stale", "delay", "probe"), 20,
               "the next hop is resolved before there is a packet")
    assert arrive(lab, "scrubber", target) == 100
    assert redirected(router, next_hop) >= 100
    assert_reaches(lab["h1"], target)                                     # what the rule does not match goes as before
    passage = router.call("explain", interface="p0", source="10.1.0.2" if "." in target else "fd00:1::2", destination=target,
                          protocol="udp", destination_port=7000)
    said = next(step["acl"] for step in passage["step"] if "acl" in step)
    assert said["rule"] == 10 and said["also"] == ["redirect"] and said["nexthop"]
    lab["scrubber"].run("ip link set eth0 down")
    eventually(lambda: arrive(lab, "h2", target, 20) == 20, 30, "packets go by their own way")
    assert redirected(router, next_hop, "redirect_no_way") >= 20
    (row,) = router.entries("acl-redirect")
    assert row == {"to": next_hop, "redirected-packets": redirected(router, next_hop), "no-way-packets": redirected(router, next_hop, "redirect_no_way")}
    lab["scrubber"].run("ip link set eth0 up")
    lab["scrubber"].run("ip -6 addr replace fd00:3::9/64 dev eth0 nodad")
    lab["scrubber"].run("ip -6 addr replace fd00:2::2/128 dev eth0 nodad")
    eventually(lambda: arrive(lab, "scrubber", target, 20) == 20, 30, "and again to the next hop")
    router.configure("delete acl edge rule 10 redirect")
    assert arrive(lab, "h2", target) == 100
    eventually(lambda: not neighbor(), 20, "nobody asks for it any more")


def test_redirect_follows_the_route_to_an_address_that_is_not_on_a_link(lab, router):
    namespace = lab["r"].namespace
    router.configure("set acl edge rule 10 permit udp to any port 7000 redirect to 203.0.113.7", "set acl edge default permit",
                     "set interface p0 acl in edge")
    assert arrive(lab, "h2", "10.2.0.2") == 100                           # no route
    namespace.run("ip route add 203.0.113.0/24 via 10.3.0.9")
    eventually(lambda: arrive(lab, "scrubber", "10.2.0.2", 20) == 20, 20)
    namespace.run("ip route del 203.0.113.0/24")
    eventually(lambda: arrive(lab, "h2", "10.2.0.2", 20) == 20, 20)


@BOTH
def test_what_is_logged_becomes_lines_and_events(lab, router, target, next_hop):
    router.configure("set acl edge rule 10 deny udp to any port 7000 log", "set acl edge default permit", "set interface p0 acl in edge")
    answer = router.events("/kamuee:acl-match")
    answer.wait_forever()
    told = events.events(answer.body)
    first = threading.Thread(target=lambda: found.append(next(e for e in told if e["destination"] == target)), daemon=True)
    found: list[dict] = []
    first.start()
    sent: list[int] = []

    def is_told_after_five_more() -> bool:
        send(lab["h1"], [target], 5)
        sent.append(5)
        return bool(found)
    eventually(is_told_after_five_more, 20, "an event")
    event = found[0]
    assert (event["acl"], event["rule"], event["action"], event["direction"], event["interface"]) == ("edge", 10, "deny", "in", "p0")
    assert (event["destination"], event["protocol"], event["destination-port"]) == (target, 17, 7000)

    def its_line_after_one_more() -> str | None:
        """The log prints a few lines of a kind each second, and counts the others."""
        send(lab["h1"], [target], 1)
        sent.append(1)
        return next((line for line in lab["r"].log.read_text().splitlines()
                     if "acl: match: acl=edge rule=10" in line and f"destination={target} " in line), None)
    line = eventually(its_line_after_one_more, 10, "its line in the log", 0.3)
    assert "action=deny direction=in interface=p0 protocol=17" in line and "destination-port=7000" in line
    eventually(lambda: router.hits("edge")[10] == sum(sent), 10, lambda: f"{sum(sent)} packets, counted {router.hits('edge')}")
