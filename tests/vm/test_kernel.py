# SPDX-License-Identifier: BSD-3-Clause
"""Debian's kernel, which has what the machines of the other tests lack: VRF devices, bonds, VLAN devices, MPLS; and README's router on PCI cards.

The tests stand in one order, on one machine: first README is followed on a machine that is fresh, then its router gets more.
Cards 1 and 2 are README's eth1 and eth2 and so p0 and p1; p2 is card 0, p3 is card 3.
"""
import itertools
import re

import pytest

from kamuee.lab.frr import Frr
from kamuee.lab.netns import Namespace
from kamuee.lab.schema import Node
from page import blocks, command_of
from router import PATIENCE_S, Operator, Router, eventually
from vm import Vm, pci

CARDS = ["e1000e"] * 4
OWN_ROUTER, ONE_NIC = "docs/quickstart/own-router.md", "docs/quickstart/one-nic.md"
UNFOLLOWED = ("route-not-followed", "kernel-state")


def speaks_bgp(vm: Vm, card: int, number: int, peer: str, network: str) -> Frr:
    """FRR at the far end of a card, on the host."""
    lines = [f"router bgp {number}", " no bgp ebgp-requires-policy", " no bgp network import-check", f" bgp router-id 192.0.2.{100 + card}",
             f" neighbor {peer} remote-as 64496", f" neighbor {peer} timers connect 1", " address-family ipv4 unicast", f"  network {network}",
             " exit-address-family", "exit"]
    frr = Frr(Node(vm.far[card].name, "frr", None, config="\n".join(lines) + "\n"), Namespace(vm.far[card].name))
    frr.start()
    return frr


@pytest.fixture(scope="module")
def far(vm):
    """A provider at card 1 and a host at card 2, as own-router.md has them; a host at card 0 and another provider at card 3."""
    vm.far[1].sh("ip addr add 198.51.100.1/30 dev c1 && ip addr add 203.0.113.1/24 dev lo")
    vm.far[2].sh("ip addr add 192.0.2.9/24 dev c2 && ip route add default via 192.0.2.1")
    vm.far[0].sh("ip addr add 10.0.0.2/24 dev c0 && ip addr add fd00:0::2/64 dev c0 nodad && ip route add default via 10.0.0.1 && "
                 "ip -6 route add default via fd00:0::1")
    vm.far[3].sh("ip addr add 10.0.3.2/24 dev c3 && ip addr add fd00:3::2/64 dev c3 nodad && ip addr add 198.18.0.1/16 dev lo && "
                 "ip -6 route add default via fd00:3::1")
    speakers = [speaks_bgp(vm, 1, 64500, "198.51.100.2", "203.0.113.0/24"), speaks_bgp(vm, 3, 64501, "10.0.3.1", "198.18.0.0/16")]
    yield
    for speaker in speakers:
        speaker.stop()


def by_kernel(vm: Vm) -> int:
    """Packets that the kernel has forwarded."""
    names, values = (line.split() for line in vm.out("grep ^Ip: /proc/net/snmp").splitlines())
    return int(values[names.index("ForwDatagrams")])


def reaches(router: Router, card: int, target: str) -> None:
    eventually(lambda: router.pings(card, target), PATIENCE_S, lambda: f"the far end of card {card} reaches {target}: {router.told()}")


# --- README ---

@pytest.fixture(scope="module")
def own(router, far):
    """The router of README's 'A router of your own', with BGP as own-router.md goes on from there."""
    operator = Operator(router.vm)
    operator.follow("README.md", begin="`sudo make install`, then", end="`explain` runs")
    operator.follow(OWN_ROUTER, begin="**4. ", end="kamueed now forwards")
    return router


def test_the_router_of_readme_runs_as_written_on_pci_cards(own):
    assert own.vm.out("systemctl is-enabled kamueed").strip() == "enabled"
    assert own.vm.out("readlink /sys/class/net/eth1/device/driver").endswith("/e1000e\n")
    reaches(own, 2, "203.0.113.1")
    assert by_kernel(own.vm) == 0
    assert own.alarms(*UNFOLLOWED) == []


def test_its_card_is_given_to_dpdk_as_written(own):
    pid = own.pid()
    for _, lines in blocks(ONE_NIC, begin="**4. ", end="A reboot ends a binding"):
        for line in filter(None, lines):
            own.vm.run(command_of(line)[0].replace("0000:3b:00.0", pci(1)), timeout_s=60)
    assert own.pid() == pid, own.told()          # nobody had to start it again
    assert own.port(0)["driver"] == "net_e1000_em" and "eth1" not in own.vm.out("ls /sys/class/net")
    reaches(own, 2, "203.0.113.1")
    assert by_kernel(own.vm) == 0


# --- the audit names rules and routes that are not followed ---

# Text of the audit: the operator's command, and the command that reverts it.
NOT_FOLLOWED = {
    "rule: IPv4 rule 100: lookup 77": ("ip rule add pref 100 from 192.0.2.0/24 lookup 77", "ip rule del pref 100"),
    "encapsulation: 203.0.114.0/24 encap ip": ("ip route add 203.0.114.0/24 encap ip id 5 dst 198.51.100.9 dev p0", "ip route del 203.0.114.0/24"),
    "mpls: label 100": ("ip -f mpls route add 100 as 200 via inet 127.0.0.2 dev lo", "ip -f mpls route del 100"),
}


def test_what_is_not_followed_is_named_and_forgotten(own):
    own.vm.run("modprobe mpls_iptunnel && modprobe mpls_router && sysctl -qw net.mpls.platform_labels=1000")
    own.vm.run(" && ".join(do for do, _ in NOT_FOLLOWED.values()))
    try:
        eventually(lambda: own.alarms(*UNFOLLOWED) == ["route-not-followed default"], 20, own.told)
        assert unfollowed(own) == list(NOT_FOLLOWED)                            # in a dump, too
    finally:
        own.vm.run("; ".join(undo for _, undo in NOT_FOLLOWED.values()))
    assert unfollowed(own) == []
    own.vm.run("ip nexthop add id 900 encap ip id 5 dst 198.51.100.9 dev p0 && ip route add 203.0.114.0/24 nhid 900")
    assert unfollowed(own) == ["encapsulation: 203.0.114.0/24 encap ip"]
    own.vm.run("ip nexthop del id 900")
    assert unfollowed(own) == []
    eventually(lambda: own.alarms(*UNFOLLOWED) == [], 20, own.told)


def unfollowed(router: Router, vr: str = "default") -> list[str]:
    """What an audit, which dumps the kernel's tables, names."""
    found = router.call("audit", vr=vr)
    assert found["diverged"] == 0, found
    return [f"{row['kind']}: {row['example']}" for row in found.get("unfollowed", [])]



MASTERS = {
    "bridge": ("ip link add br9 type bridge && ip link set br9 up && ip link set p1 master br9", "ip link del br9", "kernel-state p1 master"),
    "bond": ("modprobe bonding max_bonds=0 && ip link add bond9 type bond mode active-backup && ip link set p1 down && ip link set p1 master bond9",
             "ip link del bond9; ip link set p1 up", "kernel-state p1 master"),
    "vlan": ("modprobe 8021q && ip link add p1.7 link p1 type vlan id 7", "ip link del p1.7", "kernel-state p1 vlan"),
}


@pytest.mark.parametrize("what", MASTERS)
def test_what_linux_stacks_on_a_tap_and_gets_no_packets_is_named(own, what):
    do, undo, alarm = MASTERS[what]
    own.vm.run(do)
    try:
        eventually(lambda: own.alarms(*UNFOLLOWED) == [alarm], 20, own.told)
    finally:
        own.vm.run(undo)
    eventually(lambda: own.alarms(*UNFOLLOWED) == [], 20, own.told)
    reaches(own, 2, "203.0.113.1")


# --- VRF devices ---

VRFS = """
router bgp 64496
 bgp router-id 192.0.2.1
exit
router bgp 64496 vrf red
 no bgp ebgp-requires-policy
 neighbor 198.51.100.1 remote-as 64500
 neighbor 198.51.100.1 timers connect 1
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
exit
router bgp 64496 vrf blue
 no bgp ebgp-requires-policy
 neighbor 10.0.3.2 remote-as 64501
 neighbor 10.0.3.2 timers connect 1
 address-family ipv4 unicast
  redistribute connected
 exit-address-family
exit
"""
LEAK = """
router bgp 64496 vrf red
 address-family ipv4 unicast
  {no}import vrf blue
 exit-address-family
exit
router bgp 64496 vrf blue
 address-family ipv4 unicast
  {no}import vrf red
 exit-address-family
exit
"""


@pytest.fixture(scope="module")
def vrfs(own):
    """Red: provider 1 (p0) and the host of card 0 (p2). Blue: the host of card 2 (p1) and provider 2 (p3)."""
    vm = own.vm
    own.call("configure", line=["set port p2 kernel-interface eth0", "set port p3 kernel-interface eth3", "set vr red table 10", "set vr blue table 20",
                                *(f"set interface {p} vr {vr}" for p, vr in (("p0", "red"), ("p2", "red"), ("p1", "blue"), ("p3", "blue")))])
    vm.run("ip link add red type vrf table 10 && ip link add blue type vrf table 20 && ip link set red up && ip link set blue up && "
           "ip link set p0 master red && ip link set p2 master red && ip link set p1 master blue && ip link set p3 master blue && "
           "ip addr add 10.0.0.1/24 dev p2 && ip addr add fd00:0::1/64 dev p2 nodad && ip addr add 10.0.3.1/24 dev p3 && ip addr add fd00:3::1/64 dev p3 nodad")
    Operator(vm).vtysh("no router bgp 64496\n" + VRFS)
    for vr, prefix in (("red", "203.0.113.0/24"), ("blue", "198.18.0.0/16")):
        eventually(lambda: prefix in vm.out(f"kamuee show ipv4 route vr {vr}"), 3 * PATIENCE_S, lambda: vm.out("vtysh -c 'show bgp vrf all summary'"))
    return own


def test_bgp_in_vrfs_and_each_carries_its_own_traffic(vrfs):
    assert "l3mdev" in vrfs.vm.out("ip rule")
    reaches(vrfs, 0, "203.0.113.1")
    reaches(vrfs, 2, "198.18.0.1")
    assert not vrfs.pings(0, "198.18.0.1") and not vrfs.pings(2, "203.0.113.1")
    assert by_kernel(vrfs.vm) == 0
    eventually(lambda: vrfs.alarms(*UNFOLLOWED) == [], 20, vrfs.told)         # none for the rule of l3mdev
    assert [unfollowed(vrfs, vr) for vr in ("default", "red", "blue")] == [[], [], []]


def test_routes_that_frr_leaks_between_vrfs_are_followed_until_it_takes_them_back(vrfs):
    operator = Operator(vrfs.vm)
    operator.vtysh(LEAK.format(no=""))
    reaches(vrfs, 0, "198.18.0.1")               # by a gateway of the other VRF
    reaches(vrfs, 2, "203.0.113.1")
    reaches(vrfs, 0, "192.0.2.9")                # on a subnet of the other VRF
    assert by_kernel(vrfs.vm) == 0
    assert [unfollowed(vrfs, vr) for vr in ("red", "blue")] == [[], []]
    assert vrfs.alarms(*UNFOLLOWED) == []
    operator.vtysh(LEAK.format(no="no "))
    eventually(lambda: not vrfs.pings(0, "198.18.0.1") and not vrfs.pings(0, "192.0.2.9"), PATIENCE_S)
    reaches(vrfs, 0, "203.0.113.1")


def test_routes_that_an_operator_leaks_are_followed_in_ipv6_too(vrfs):
    vrfs.vm.run("ip -6 route add fd00:3::/64 dev p3 vrf red && ip -6 route add fd00:0::/64 dev p2 vrf blue")
    reaches(vrfs, 0, "fd00:3::2")
    vrfs.vm.run("ip -6 route del fd00:3::/64 dev p3 vrf red && ip -6 route del fd00:0::/64 dev p2 vrf blue")


def test_a_route_into_a_vrf_device_is_named(vrfs):
    vrfs.vm.run("ip route add 10.66.0.0/16 dev blue vrf red")
    try:
        eventually(lambda: vrfs.alarms(*UNFOLLOWED) == ["route-not-followed red"], 20, vrfs.told)
        assert unfollowed(vrfs, "red") == ["vrf: 10.66.0.0/16 dev blue"]
    finally:
        vrfs.vm.run("ip route del 10.66.0.0/16 dev blue vrf red")
    eventually(lambda: vrfs.alarms(*UNFOLLOWED) == [], 20, vrfs.told)


def test_an_interface_that_leaves_its_vrf_device_is_named(vrfs):
    vrfs.vm.run("ip link set p2 nomaster")
    try:
        eventually(lambda: "kernel-state p2 vrf" in vrfs.alarms(*UNFOLLOWED), 20, vrfs.told)
    finally:
        vrfs.vm.run("ip link set p2 master red && ip addr replace fd00:0::1/64 dev p2 nodad")
    eventually(lambda: vrfs.alarms(*UNFOLLOWED) == [], 20, vrfs.told)
    reaches(vrfs, 0, "203.0.113.1")


# --- Linux's bond ---

FLOWS = range(2, 8)


def longest_gaps(router: Router, at_2_s: str, seconds: int) -> list[float]:
    """Of each flow between the bond and the router, in seconds, while something happens."""
    out = router.vm.out(f"for i in {' '.join(map(str, FLOWS))}; do ip netns exec bonded ping -D -n -i 0.1 -w {seconds} "
                        f"-I 10.77.0.$i 10.77.0.1 >/tmp/ping$i & done; "
                        f"sleep 2; {at_2_s}; wait; for i in {' '.join(map(str, FLOWS))}; do echo flow; cat /tmp/ping$i; done")
    flows = [[float(time) for time in re.findall(r"^\[([\d.]+)\].*bytes from", flow, re.M)] for flow in out.split("flow\n")[1:]]
    assert len(flows) == len(FLOWS) and all(len(times) > 2 * seconds for times in flows), [len(times) for times in flows]
    newest = max(times[-1] for times in flows)
    assert all(newest - times[-1] < 2 for times in flows)                        # they go on to the end
    return [max(later - earlier for earlier, later in itertools.pairwise(times)) for times in flows]


@pytest.fixture(scope="module")
def lag(own):
    """lag0 of m1 and m2, with a bond of Linux at its far end, in a namespace of the machine."""
    own.vm.run("modprobe bonding max_bonds=0 && ip netns add bonded && for i in 1 2; do ip link add l$i type veth peer name m$i netns bonded && "
               "ip link set l$i up; done && "
               "ip -n bonded link add bond0 type bond mode 802.3ad lacp_rate fast miimon 100 xmit_hash_policy layer3+4 && "
               "ip -n bonded link set m1 master bond0 && ip -n bonded link set m2 master bond0 && ip -n bonded link set bond0 up && "
               f"for i in {' '.join(map(str, FLOWS))}; do ip -n bonded addr add 10.77.0.$i/24 dev bond0; done")
    own.call("configure", line=["set port m1 kernel-interface l1", "set port m2 kernel-interface l2", "set port lag0 lag member m1",
                                "set port lag0 lag member m2"])
    own.vm.run("ip addr add 10.77.0.1/24 dev lag0")
    eventually(lambda: states(own) == {"m1": "distributing", "m2": "distributing"}, PATIENCE_S, own.told)
    return own


def states(router: Router) -> dict[str, str]:
    return {member["name"]: member["lacp"]["mux"] for member in router.entries("lag")[0]["member"]}


def test_a_bond_of_linux_is_a_lags_partner(lag):
    bond = lag.vm.out("ip netns exec bonded cat /proc/net/bonding/bond0")
    assert len(re.findall(r"port state: 63$", bond, re.M)) == 4, bond           # both ends of both links: in sync, collecting, distributing
    assert re.search(r"Number of ports: 2$", bond, re.M), bond
    longest_gaps(lag, "true", 5)


def fails_over_within(lag: Router, cut: str, mend: str, lost: str, most_s: float) -> None:
    """The least of three: an emulated machine stands still for longer than this while another program has the cores."""
    seen = []
    while len(seen) < 3 and (not seen or min(seen) > most_s):
        try:
            seen.append(max(longest_gaps(lag, cut, 10)))
            assert {name for name, state in states(lag).items() if state != "distributing"} == {lost}
        finally:
            lag.vm.run(mend)
        eventually(lambda: states(lag) == {"m1": "distributing", "m2": "distributing"}, PATIENCE_S, lag.told)
    assert min(seen) <= most_s, seen


def test_a_members_link_that_goes_down_costs_its_flows_less_than_a_second(lag):
    fails_over_within(lag, "ip link set l1 down", "ip link set l1 up", "m1", 1)


def test_a_member_that_goes_silent_costs_its_flows_three_intervals_of_lacp(lag):
    silence = "tc -n bonded qdisc add dev m2 clsact; for way in ingress egress; do tc -n bonded filter add dev m2 $way matchall action drop; done"
    fails_over_within(lag, silence, "tc -n bonded qdisc del dev m2 clsact", "m2", 3.9)      # three intervals, not four
