# SPDX-License-Identifier: BSD-3-Clause
"""Equal-cost paths: both are used, a failing member hands its flows to the other, each flow stays on one path."""
import pytest

from support import assert_reaches, eventually, hops, link_up, received, receiver, send, ways

TWO_PATHS = ways(2, ["198.51.100.1/32", "2001:db8:100::1/128"], "$ROUTER")
V4, V6 = "198.51.100.1", "2001:db8:100::1"
ROUTES = {V4: "198.51.100.0/24 nexthop via 10.12.1.2 dev p1 nexthop via 10.12.2.2 dev p2",
          V6: "2001:db8:100::/48 nexthop via fd00:12::2 dev p1 nexthop via fd00:13::2 dev p2"}
N = 1600


@pytest.fixture(scope="module")
def lab(labs, kind):
    lab = labs(TWO_PATHS, kind)
    for route in ROUTES.values():
        lab["r"].ip(f"route add {route}")
    assert_reaches(lab["h1"], *ROUTES)
    warm(lab)
    return lab


def warm(lab) -> None:
    """Let the router resolve both neighbors."""
    assert_reaches(lab["h1"], "10.12.1.2", "10.12.2.2", "fd00:12::2", "fd00:13::2")


def spread(lab, target: str, flows: int, n: int = N) -> tuple[int, int, int]:
    """Send `n` packets in `flows` flows: (arrived, over p1, over p2)."""
    counting = receiver(lab["far"])
    send(lab["h1"], [target], n, flows=flows, per_s=4000)
    result = received(counting, n)
    return result["distinct"], result["interfaces"].get("p1", 0), result["interfaces"].get("p2", 0)


@pytest.mark.parametrize("target", [V4, V6])
def test_many_flows_use_both_paths(lab, target):
    arrived, over_p1, over_p2 = spread(lab, target, flows=64)
    assert arrived == N
    assert min(over_p1, over_p2) > N / 5, f"{over_p1} over p1, {over_p2} over p2"


@pytest.mark.parametrize("target, way", [(V4, ["10.1.0.1", V4]), (V6, ["fd00:1::1", V6])])
def test_traceroute_shows_the_same_hops_by_both_paths(lab, target, way):
    """Eight probes a hop, each with a port of its own."""
    eventually(lambda: hops(lab["h1"], target, "-q 8") == way, 15, lambda: f"hops: {hops(lab['h1'], target, '-q 8')}", 0.5)


@pytest.mark.parametrize("target", [V4, V6])
def test_one_flow_stays_on_one_path(lab, target):
    arrived, over_p1, over_p2 = spread(lab, target, flows=1, n=400)
    assert arrived == 400
    assert min(over_p1, over_p2) == 0, f"{over_p1} over p1, {over_p2} over p2"


@pytest.mark.parametrize("target", [V4, V6])
def test_weights_are_kept(lab, target):
    weighted = ROUTES[target].replace("dev p1", "dev p1 weight 1") + " weight 3"
    lab["r"].ip(f"route replace {weighted}")
    try:
        assert_reaches(lab["h1"], target)
        def ratio() -> float:
            arrived, over_p1, over_p2 = spread(lab, target, flows=512)   # few flows fall far from 1 : 3 by chance
            found.append((arrived, over_p1, over_p2))
            return over_p2 / max(1, over_p1)
        found: list[tuple[int, int, int]] = []
        eventually(lambda: 1.5 < ratio() < 6, what=lambda: f"1 : 3 of what arrives, over p1, over p2: {found}")
        assert {arrived for arrived, _, _ in found} == {N}
    finally:
        lab["r"].ip(f"route replace {ROUTES[target]}")


def test_a_failing_member_hands_its_flows_to_the_other(lab):
    lab["far"].ip("link set dev p2 down")
    lab["r"].ip("link set dev p2 down")
    try:
        eventually(lambda: spread(lab, V4, 32, 64)[0] == 64, 30, "all flows arrive over the remaining path")
        arrived, over_p1, over_p2 = spread(lab, V4, flows=32)
        assert arrived == N and over_p2 == 0
    finally:
        lab["far"].ip("link set dev p2 up")
        link_up(lab["r"], "p2")
    # The kernel deletes a next hop with its link and does not bring it back by itself: that is the routing
    # daemon's part, played here by hand.
    for route in ROUTES.values():                    # refused until the connected prefixes are back
        eventually(lambda: lab["r"].ip(f"route replace {route}") == "", what=f"the kernel takes {route}")
    warm(lab)
    arrived, over_p1, over_p2 = spread(lab, V4, flows=64)
    assert arrived == N and min(over_p1, over_p2) > N / 5, f"{over_p1} over p1, {over_p2} over p2"


def test_a_group_of_nexthop_objects_uses_all_members_and_drops_one_that_goes(lab):
    router = lab["r"]
    for command in ("nexthop add id 11 via 10.12.1.2 dev p1", "nexthop add id 12 via 10.12.2.2 dev p2",
                    "nexthop add id 20 group 11/12", "route replace 198.51.100.0/24 nhid 20"):
        router.ip(command)
    try:
        arrived, over_p1, over_p2 = spread(lab, V4, 64)
        assert arrived == N and min(over_p1, over_p2) > N / 5, f"{over_p1} over p1, {over_p2} over p2"
        router.ip("nexthop del id 12")
        eventually(lambda: spread(lab, V4, 32, 64)[2] == 0, 30, "nothing goes over the deleted member")
        arrived, _, over_p2 = spread(lab, V4, flows=64)
        assert arrived == N and over_p2 == 0
    finally:
        router.ip(f"route replace {ROUTES[V4]}")
        router.ip("nexthop flush")
