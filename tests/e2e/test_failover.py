# SPDX-License-Identifier: BSD-3-Clause
"""Four ways, one loses its carrier: flows on the others lose nothing and stay, its own go on at once.

`kamuee bench failover` measures how long that takes, with a million prefixes behind the group.
"""
import json
import time
from pathlib import Path

import pytest

from kamuee.lab import flows, measure

from support import assert_reaches, eventually, ways

FOUR_WAYS = ways(4, ["198.51.100.1/32", "2001:db8:100::1/128"])
TARGETS = ("198.51.100.1", "2001:db8:100::1")
GATEWAYS = {4: [f"10.12.{i}.2" for i in range(1, 5)], 6: [f"fd00:{11 + i}::2" for i in range(1, 5)]}
MULTIPATH = ["198.51.100.0/24 " + " ".join(f"nexthop via {g} dev p{i}" for i, g in enumerate(GATEWAYS[4], 1)),
             "2001:db8:100::/48 " + " ".join(f"nexthop via {g} dev p{i}" for i, g in enumerate(GATEWAYS[6], 1))]
# A poll of the carrier would take half a second; how many milliseconds the event takes is for `kamuee bench failover` to tell.
FLOWS, PER_S, ALLOWED_MS = 128, 1920, 400


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(FOUR_WAYS)
    for route in MULTIPATH:
        lab["r"].ip(f"route add {route}")
    return lab


def warm(lab) -> None:
    assert_reaches(lab["h1"], *GATEWAYS[4] + GATEWAYS[6] + list(TARGETS))


def traffic(lab, seconds: float) -> flows.Traffic:
    return flows.Traffic(lab["h1"], lab["far"], TARGETS, FLOWS, PER_S, seconds)


def carrier(lab, interface: str, on: bool) -> None:
    lab["far"].ip(f"link set dev {interface} {'up' if on else 'down'}")


def missed(lab) -> int:
    """Frames for which the router's ports had no room, because the machine did not run its forwarder."""
    return sum(port["statistics"]["rx-missed"] for port in measure.client(lab["r"]).entries("port"))


def run_delay_ms(lab) -> float:
    """How long the threads of kamueed were ready to run and did not, because others of the machine did."""
    return sum(int(file.read_text().split()[1]) / 1e6 for file in Path(f"/proc/{lab['r'].kamueed_pid()}/task").glob("*/schedstat"))


def assert_only_its_flows(lab, interface: str) -> None:
    """Pulls the path: its flows move to others, no other flow moves, and those lose only packets that the ports had no room for."""
    before, waited_ms = missed(lab), run_delay_ms(lab)
    seen = flows.pull(traffic(lab, 4), lab["far"], interface)
    waited_ms = run_delay_ms(lab) - waited_ms
    print(seen, f"{waited_ms:.0f} ms without a processor")
    assert seen.flows > FLOWS / 10
    assert (seen.others_moved, seen.stayed) == (0, 0)
    assert seen.others_lost <= missed(lab) - before
    assert seen.lost_ms <= ALLOWED_MS + waited_ms, f"packets were lost for {seen.lost_ms} ms"


def put_back(lab, interface: str, routes: list[str]) -> None:
    carrier(lab, interface, True)
    for route in routes:
        eventually(lambda: lab["r"].ip(f"route replace {route}") == "", what=f"the kernel takes {route}")
    warm(lab)


@pytest.mark.parametrize("interface", ["p2", "p4"])
def test_carrier_loss_of_one_of_four_multipath_legs(lab, interface):
    warm(lab)
    try:
        assert_only_its_flows(lab, interface)
    finally:
        put_back(lab, interface, MULTIPATH)


def test_a_leg_that_comes_back_takes_only_its_share(lab):
    try:
        warm(lab)
        carrier(lab, "p3", False)
        eventually(lambda: not alive(lab, "p3"), what="the leg on p3 is out")
        before, running = missed(lab), traffic(lab, 6)
        time.sleep(1)                                 # flows find their ways
        carrier(lab, "p3", True)
        flow, starved = running.result(), missed(lab) - before
    finally:
        put_back(lab, "p3", MULTIPATH)
    moved = [entry for entry in flow.values() if len(entry["ways"]) > 1]
    assert all(entry["ways"][-1][0] == "p3" and len(entry["ways"]) == 2 for entry in moved), moved
    assert FLOWS / 10 < len(moved) < FLOWS / 2.5, f"{len(moved)} of {FLOWS} flows moved"
    lost = sum(len(entry["lost"]) for entry in flow.values() if len(entry["ways"]) == 1)
    assert lost <= starved, f"{lost} packets of flows that stayed were lost, {starved} for want of a processor"


def alive(lab, interface: str) -> bool:
    rows = measure.client(lab["r"]).rows("routes=default,ipv4", "route", {"prefix": "198.51.100.0/24", "match": "exact"})
    return next(hop["alive"] for row in rows for hop in row["hop"] if hop["interface"] == interface)


def members(lab) -> dict[str, dict]:
    """Of the IPv4 group: interface: weight, buckets, alive, packets."""
    entries = measure.client(lab["r"]).entries("nexthop")
    packets = {entry["id"]: entry.get("packets") for entry in entries}
    group = next(entry for entry in entries if entry["kind"] == "group"
                 and entry["member"][0].get("gateway", "").startswith("10.12."))
    assert sum(member["buckets"] for member in group["member"]) == group["buckets"]
    return {member["interface"]: {**member, "packets": packets[member["nexthop"]]} for member in group["member"]}


def test_nexthops_are_shown_with_buckets_and_packets(lab):
    lab["r"].ip(f"route replace {MULTIPATH[0]} weight 5")
    warm(lab)
    try:
        eventually(lambda: {name: member["weight"] for name, member in members(lab).items()} == {"p1": 1, "p2": 1, "p3": 1, "p4": 5}, 10,
                   lambda: str(members(lab)))
        before = members(lab)
        assert before["p4"]["buckets"] == 5 * before["p1"]["buckets"]
        flow = traffic(lab, 0.5).result()
        after = members(lab)
        for name in before:
            came = sum(entry["received"] for number, entry in flow.items() if number % 2 == 0 and entry["ways"][0][0] == name)
            assert after[name]["packets"] - before[name]["packets"] == came, name
    finally:
        lab["r"].ip(f"route replace {MULTIPATH[0]}")


def configure(lab, line: str) -> None:
    measure.client(lab["r"]).call("configure", line=[line])


def test_the_flow_hash_is_changed_live(lab):
    warm(lab)
    try:
        for mode, used in (("l3", 1), ("symmetric", 4), ("l4", 4)):
            configure(lab, f"set forwarding flow-hash {mode} flow-hash-seed 7")
            vr = measure.client(lab["r"]).state("vr=default")[0]
            assert (vr["flow-hash"], vr["flow-hash-seed"]) == (mode, 7)
            flow = traffic(lab, 0.5).result()
            assert all(len(entry["ways"]) == 1 and not entry["lost"] for entry in flow.values())
            for target in range(2):
                ways = {entry["ways"][0][0] for number, entry in flow.items() if number % 2 == target}
                # With the flow label, which Linux gives each flow of its own, IPv6 is spread by l3 too.
                assert len(ways) == (4 if target and mode == "l3" else used), f"{mode}, {TARGETS[target]}: {ways}"
        configure(lab, "set forwarding flow-hash l3 flow-label false")
        flow = traffic(lab, 0.5).result()
        assert len({entry["ways"][0][0] for number, entry in flow.items() if number % 2}) == 1
    finally:
        configure(lab, "delete forwarding")


@pytest.mark.parametrize("target", TARGETS)
def test_iperf3_goes_on_when_a_way_is_pulled(lab, target):
    """16 TCP connections at 2 Mb/s each: all have their rate four seconds later, when TCP has sent a lost segment again four times.
    Which packets are lost is for the flows above to tell: TCP sends segments again on a busy machine without a way being pulled."""
    warm(lab)
    server = lab["far"].popen(["iperf3", "-s", "-1"])
    eventually(lambda: ":5201 " in lab["far"].run("ss -ltn"), what="the iperf3 server listens")
    client = lab["h1"].popen(["iperf3", "-J", "-c", target, "-P", "16", "-b", "2M", "-t", "7"], stdout=-1)
    try:
        time.sleep(2)
        carrier(lab, "p2", False)
        said = json.loads(client.communicate(timeout=60)[0])
        server.wait(60)
    finally:
        put_back(lab, "p2", MULTIPATH)
    assert "error" not in said, said
    last = said["intervals"][-1]["streams"]
    assert len(last) == 16
    slow = [stream["bits_per_second"] for stream in last if stream["bits_per_second"] < 1e6]
    assert not slow, f"connections that did not go on: {slow}"
    troubled = sum(stream["sender"]["retransmits"] > 0 for stream in said["end"]["streams"])
    print(f"{target}: {troubled} of 16 connections sent something again, segments by second {[i['sum']['retransmits'] for i in said['intervals']]}")


RESILIENT = "type resilient buckets 64 idle_timer 1 unbalanced_timer 0"


def group_of(router, members: list[int], more: str) -> None:
    """Both families' routes by next-hop groups of these ways."""
    for family, first in ((4, 10), (6, 20)):
        for i, gateway in enumerate(GATEWAYS[family], 1):
            if f"id {first + i} " not in router.run("ip nexthop"):
                router.ip(f"nexthop add id {first + i} via {gateway} dev p{i}")
    replace_groups(router, members, more)
    router.ip("route replace 198.51.100.0/24 nhid 10")
    router.ip("route replace 2001:db8:100::/48 nhid 20")


def replace_groups(router, members: list[int], more: str) -> None:
    for first in (10, 20):
        router.ip(f"nexthop replace id {first} group {'/'.join(str(first + i) for i in members)} {more}")


def ungroup(router) -> None:
    for route in MULTIPATH:
        router.ip(f"route replace {route}")
    router.ip("nexthop flush")


@pytest.mark.parametrize("more", ["", RESILIENT], ids=["mpath", "resilient"])
def test_carrier_loss_of_one_member_of_a_nexthop_group(lab, more):
    router = lab["r"]

    def back() -> None:
        carrier(lab, "p2", True)
        eventually(lambda: not router.ip("nexthop replace id 12 via 10.12.2.2 dev p2"), what="p2 takes next hops")
        group_of(router, [1, 2, 3, 4], more)
        warm(lab)

    group_of(router, [1, 2, 3, 4], more)
    warm(lab)
    try:
        assert_only_its_flows(lab, "p2")
    finally:
        back()
        ungroup(router)
        warm(lab)


@pytest.mark.parametrize("more", ["", RESILIENT], ids=["mpath", "resilient"])
def test_a_member_taken_out_and_put_back_moves_only_its_own_flows(lab, more):
    router = lab["r"]

    try:
        group_of(router, [1, 2, 3, 4], more)
        warm(lab)
        before, running = missed(lab), traffic(lab, 5)
        time.sleep(1)                                 # flows find their ways, before and after
        replace_groups(router, [1, 3, 4], more)
        time.sleep(1)
        replace_groups(router, [1, 2, 3, 4], more)
        flow, starved = running.result(), missed(lab) - before
    finally:
        ungroup(router)
    assert sum(len(entry["lost"]) for entry in flow.values()) <= starved
    ways = [[way for way, _ in entry["ways"]] for entry in flow.values()]
    left = [way for way in ways if way[0] == "p2"]
    assert len(left) > FLOWS / 10 and all(len(way) > 1 for way in left)
    for way in ways:                                  # p2's go elsewhere; when it is back, flows go to it and nowhere else
        expected = (1, 2, 3) if way[0] == "p2" else (1, 2)
        assert len(way) in expected and all(later == "p2" for later in way[2 if way[0] == "p2" else 1:]), way
    back = sum(way[-1] == "p2" for way in ways)
    assert FLOWS / 10 < back < FLOWS / 2.5, f"{back} of {FLOWS} flows go by p2 at the end"
