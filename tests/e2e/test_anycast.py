# SPDX-License-Identifier: BSD-3-Clause
"""N routers without state behind ECMP with BGP (docs/quickstart/ha.md): one dies, one is added, under traffic.

Each announces the same prefix to a spine. Of the flows, only those of the router that died move; one that is added gets its share, and
nothing else moves. FRR makes another next-hop group of what is left, so this shows that a new group begins with the buckets of the old.
"""
import time

import pytest

from kamuee.lab import flows, measure

from support import eventually

N, FLOWS, PER_S = 4, 128, 1920
TARGETS = ("198.51.100.1", "2001:db8:100::1")


def router(i: int) -> str:
    return f"""
  k{i}:
    kind: kamuee
    daemon: frr
    memory: 128
    interfaces: {{p0: [10.11.{i}.2/24, "fd00:1{i}::2/64"], p1: [10.12.{i}.1/24, "fd00:2{i}::1/64"]}}
    routes: [default via 10.11.{i}.1, 198.51.100.0/24 via 10.12.{i}.2, "default via fd00:1{i}::1", "2001:db8:100::/48 via fd00:2{i}::2"]
    asn: 65100
    neighbors:
      - {{address: 10.11.{i}.1, asn: 65000, options: [timers 1 3]}}
      - {{address: "fd00:1{i}::1", asn: 65000, options: [timers 1 3]}}
    networks: [198.51.100.0/24, "2001:db8:100::/48"]"""


def lab_text() -> str:
    each = range(1, N + 1)
    spine = ", ".join(f'p{i}: [10.11.{i}.1/24, "fd00:1{i}::1/64"]' for i in each)
    peers = "\n".join(f"      - {{address: {address}, asn: 65100, options: [timers 1 3]}}" for i in each for address in (f"10.11.{i}.2", f'"fd00:1{i}::2"'))
    far = ", ".join(f'p{i}: [10.12.{i}.2/24, "fd00:2{i}::2/64"]' for i in each)
    return f"""
nodes:
  h1: $HOST(1)
  spine:
    kind: kamuee
    daemon: frr
    memory: 128
    interfaces: {{p0: [10.1.0.1/24, "fd00:1::1/64"], {spine}}}
    asn: 65000
    neighbors:
{peers}
    networks: [10.1.0.0/24, "fd00:1::/64"]{"".join(router(i) for i in each)}
  far:
    kind: host
    interfaces: {{{far}, lo: [198.51.100.1/32, "2001:db8:100::1/128"]}}
links:
  - [h1:eth0, spine:p0]
""" + "".join(f"  - [spine:p{i}, k{i}:p0]\n  - [k{i}:p1, far:p{i}]\n" for i in each)


def ways(lab) -> int:
    """Over how many routers the spine sends, in both families the same number, else 0."""
    found = set()
    for family, prefix in (("ipv4", "198.51.100.0/24"), ("ipv6", "2001:db8:100::/48")):
        route = measure.fib_routes(lab["spine"], family).get(prefix)
        found.add(len(route[1]) if route else 0)
    return found.pop() if len(found) == 1 else 0


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(lab_text())
    eventually(lambda: ways(lab) == N, 90, lambda: f"the spine sends to {ways(lab)} routers")
    measured(lab, 1)                                  # all neighbors are resolved
    return lab


def traffic(lab, seconds: float) -> flows.Traffic:
    return flows.Traffic(lab["h1"], lab["far"], TARGETS, FLOWS, PER_S, seconds)


def measured(lab, seconds: float) -> dict[int, dict]:
    try:
        return traffic(lab, seconds).result()
    except AssertionError:
        return {}


def missed(lab, but: str) -> int:
    """Frames for which the ports of all routers but one had no room, because the machine did not run their forwarders."""
    nodes = [node for name, node in lab.nodes.items() if name != but and hasattr(node, "kamueed_pid")]
    return sum(port["statistics"]["rx-missed"] for node in nodes for port in measure.client(node).entries("port"))


def losses(lab, entries: list[dict]) -> str:
    """Flows with losses, and where packets were dropped."""
    drops = {name: {drop["name"]: drop["packets"] for drop in measure.client(node).entries("drop") if drop["packets"]}
             for name, node in lab.nodes.items() if hasattr(node, "kamueed_pid")}
    return f"{[(entry['ways'], entry['lost']) for entry in entries if entry['lost']]}, {drops}"


def die(node) -> None:
    """As a machine does: neither forwarder nor routing daemon says goodbye."""
    node.kill_kamueed()
    node.frr.kill()


def come_back(lab, node) -> None:
    if not node.kamueed_pid():
        node.start_kamueed()
    node.frr.start()
    eventually(lambda: ways(lab) == N, 90, lambda: f"the spine sends to {ways(lab)} routers")


def tell(what: str, entries: list[dict], moved: list[dict]) -> None:
    lost = sum(len(entry["lost"]) for entry in entries)
    longest = max((len(entry["lost"]) for entry in entries), default=0) / (PER_S / FLOWS)
    print(f"{what}: {len(moved)} of {len(entries)} flows moved ({100 * len(moved) / len(entries):.0f} %), {lost} of "
          f"{sum(entry['last'] + 1 for entry in entries)} packets lost, a flow for {longest:.1f} s at most")


def test_one_of_them_dies_and_only_its_flows_move(lab):
    before, running = missed(lab, "k2"), traffic(lab, 9)
    time.sleep(1)
    die(lab["k2"])
    eventually(lambda: ways(lab) == N - 1, 20, lambda: f"the spine sends to {ways(lab)} routers")
    entries = list(running.result().values())
    starved = missed(lab, "k2") - before
    come_back(lab, lab["k2"])
    mine = [entry for entry in entries if entry["ways"][0][0] == "p2"]
    others = [entry for entry in entries if entry["ways"][0][0] != "p2"]
    tell("one dies", entries, [entry for entry in entries if len(entry["ways"]) > 1])
    assert len(mine) > FLOWS / N / 2
    assert all(entry["ways"][-1][0] != "p2" for entry in mine)
    assert [entry["ways"] for entry in others if len(entry["ways"]) > 1] == []
    assert sum(len(entry["lost"]) for entry in others) <= starved, losses(lab, others)


def test_one_is_added_and_gets_its_share_alone(lab):
    die(lab["k3"])
    eventually(lambda: ways(lab) == N - 1, 20, lambda: f"the spine sends to {ways(lab)} routers")
    lab["k3"].start_kamueed()                         # it has no flow before it speaks BGP
    before, running = missed(lab, "k3"), traffic(lab, 14)
    come_back(lab, lab["k3"])
    entries = list(running.result().values())
    starved = missed(lab, "k3") - before
    moved = [entry for entry in entries if len(entry["ways"]) > 1]
    tell("one is added", entries, moved)
    assert all(entry["ways"][0][0] != "p3" for entry in entries)
    assert all(len(entry["ways"]) == 2 and entry["ways"][1][0] == "p3" for entry in moved), [entry["ways"] for entry in moved]
    assert 0 < len(moved) <= 1.6 * FLOWS / N
    assert sum(len(entry["lost"]) for entry in entries if entry not in moved) <= starved, losses(lab, entries)
