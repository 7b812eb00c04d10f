# SPDX-License-Identifier: BSD-3-Clause
"""MPLS with Debian's kernel, which has it: kamueed is a provider edge, then a core router; the other routers are Linux, in namespaces of the machine.

    ce1, red1 --- kamueed --- p --- pe2 --- ce2

ce1 and red1 have one address; 10.2.0.9 is pe2 itself and, in a VRF, ce2.

Transport labels: 200 to pe2, 201 to kamueed, both popped by p. Below them: 300, 301 (VRF) of pe2, 100, 101 (VRF) of kamueed.
"""
import pytest

from router import PATIENCE_S, Router, eventually

CARDS = []
PORTS = ("c1", "c2", "c3")          # to ce1, p, red1
SETUP = """
modprobe mpls_router && modprobe mpls_iptunnel && sysctl -qw net.mpls.platform_labels=100000
for n in ce1 red1 p pe2 ce2; do ip netns add $n && ip -n $n link set lo up &&
  ip netns exec $n sysctl -qw net.ipv4.ip_forward=1 net.mpls.platform_labels=100000; done
for p in c1:ce1 c2:p c3:red1; do
  ip link add l${p%:*} type veth peer name m netns ${p#*:} && ip link set dev l${p%:*} up && ip -n ${p#*:} link set dev m up; done
ip -n p link add e type veth peer name e netns pe2 && ip -n p link set dev e up && ip -n pe2 link set dev e up
ip -n ce1 addr add 10.1.0.2/24 dev m && ip -n ce1 route add default via 10.1.0.1
ip -n red1 addr add 10.1.0.2/24 dev m && ip -n red1 route add default via 10.1.0.1
ip -n p addr add 10.12.0.2/30 dev m && ip -n p addr add 10.23.0.1/30 dev e
ip netns exec p sysctl -qw net.mpls.conf.m.input=1 net.mpls.conf.e.input=1
ip -n p -f mpls route add 200 via inet 10.23.0.2 && ip -n p -f mpls route add 201 via inet 10.12.0.1
ip -n pe2 addr add 10.23.0.2/30 dev e && ip netns exec pe2 sysctl -qw net.mpls.conf.e.input=1
ip -n pe2 addr add 10.2.0.9/32 dev lo && ip -n pe2 addr add 10.2.1.9/32 dev lo
ip -n pe2 rule add pref 2000 lookup local && ip -n pe2 rule del pref 0
ip -n pe2 link add red type vrf table 10 && ip -n pe2 link set dev red up
ip -n pe2 link add host type veth peer name host netns ce2 && ip -n pe2 link set dev host master red && ip -n pe2 link set dev host up
ip -n pe2 addr add 10.2.0.1/24 dev host && ip -n ce2 link set dev host up && ip -n ce2 addr add 10.2.0.9/24 dev host && ip -n ce2 route add default via 10.2.0.1
ip -n pe2 -f mpls route add 300 dev lo && ip -n pe2 -f mpls route add 301 dev red
ip -n pe2 route add 10.1.0.0/24 encap mpls 201/100 via 10.23.0.1
ip -n pe2 route add 10.1.0.0/24 table 10 encap mpls 201/101 via 10.23.0.1 dev e
"""
EDGE = """
ip addr add 10.1.0.1/24 dev c1 && ip addr add 10.12.0.1/30 dev c2
ip link add red type vrf table 10 && ip link set dev red up && ip link set dev c3 master red && ip addr add 10.1.0.1/24 dev c3
sysctl -qw net.mpls.conf.c2.input=1
ip route add 10.2.0.0/24 encap mpls 200/300 via 10.12.0.2
ip route add 10.2.0.0/24 vrf red encap mpls 200/301 via 10.12.0.2 dev c2
ip -f mpls route add 100 dev lo && ip -f mpls route add 101 dev red
"""


@pytest.fixture(scope="module")
def edge(router):
    router.vm.run("set -e\n" + SETUP)
    router.configuration([], *(f"set port {p} kernel-interface l{p}" for p in PORTS), "set vr red table 10", "set interface c3 vr red")
    router.vm.run("systemctl restart kamueed", timeout_s=90)
    router.vm.run("set -e\n" + EDGE)
    return router


def ping(router: Router, namespace: str, target: str) -> None:
    def done() -> bool:
        return router.vm.run(f"ip netns exec {namespace} ping -n -c 1 -W 2 {target}", check=False).rc == 0

    eventually(done, PATIENCE_S, lambda: f"{namespace} reaches {target}: {router.vm.out('kamuee show mpls table; kamuee show drops; kamuee show route')}")


def labels(router: Router) -> dict[int, list[str]]:
    """Of the table: label, and the links of its next hops."""
    return {row["label"]: [hop["interface"] for hop in row["hop"]] for row in router.entries("label") if row["active"]}


def assert_follows(router: Router) -> None:
    found = router.call("audit", vr="default")
    assert found["diverged"] == 0 and not found.get("unfollowed"), found


def test_customers_with_equal_addresses_reach_their_hosts_behind_labels(edge):
    eventually(lambda: labels(edge) == {100: ["lo"], 101: ["red"]}, 20, edge.told)
    ping(edge, "ce1", "10.2.0.9")
    ping(edge, "red1", "10.2.0.9")
    assert_follows(edge)
    assert "encap mpls 200/300" in edge.vm.out("kamuee show ipv4 route 10.2.0.0/24")


def test_a_label_may_lead_to_a_next_hop_of_a_customer(edge):
    """As FRR makes labels per next hop, instead of one per VRF."""
    back = "ip -n pe2 route replace 10.1.0.0/24 table 10 encap mpls 201/{} via 10.23.0.1 dev e"
    edge.vm.run(f"ip -f mpls route add 110 via inet 10.1.0.2 dev c3 && {back.format(110)}")
    eventually(lambda: labels(edge).get(110) == ["c3"], 20, edge.told)
    ping(edge, "red1", "10.2.0.9")
    assert_follows(edge)
    edge.vm.run(f"{back.format(101)} && ip -f mpls route del 110")
    ping(edge, "red1", "10.2.0.9")


def test_a_label_is_swapped_and_its_route_may_be_replaced_and_deleted(edge):
    edge.vm.run("sysctl -qw net.mpls.conf.c1.input=1; ip -f mpls route add 400 as 200/300 via inet 10.12.0.2; "
                "ip -n ce1 route add 10.2.1.0/24 encap mpls 400 via 10.1.0.1")
    ping(edge, "ce1", "10.2.1.9")
    edge.vm.run("ip -f mpls route replace 400 nexthop as 200/300 via inet 10.12.0.2 nexthop as 200/300 via inet 10.12.0.2")
    eventually(lambda: labels(edge)[400] == ["c2", "c2"], 20, edge.told)
    ping(edge, "ce1", "10.2.1.9")
    assert_follows(edge)
    edge.vm.run("ip -f mpls route del 400")
    eventually(lambda: 400 not in labels(edge), 20, edge.told)


def test_what_is_not_followed_is_named(edge):
    edge.vm.run("ip link add stub type dummy && ip link set dev stub up && ip addr add 10.9.9.1/24 dev stub && "
                "ip -f mpls route add 401 via inet 10.9.9.2 dev stub")
    eventually(lambda: [row["example"] for row in edge.call("audit", vr="default").get("unfollowed", [])] == ["label 401"], 20, edge.told)
    edge.vm.run("ip link del dev stub")                                # Linux deletes the route with the device
    eventually(lambda: 401 not in [row["label"] for row in edge.entries("label")], 20, edge.told)
    assert_follows(edge)


def test_a_restart_finds_all_labels_by_a_dump(edge):
    edge.vm.run("for i in $(seq 1000 1499); do echo route add $i as $i via inet 10.12.0.2 dev c2; done | ip -f mpls -batch -")
    eventually(lambda: len(labels(edge)) == 502, PATIENCE_S, edge.told)
    edge.vm.run("systemctl restart kamueed", timeout_s=90)
    eventually(lambda: len(labels(edge)) == 502, 2 * PATIENCE_S, edge.told)
    ping(edge, "red1", "10.2.0.9")
    assert_follows(edge)
