# SPDX-License-Identifier: BSD-3-Clause
"""VPNs over MPLS, with unmodified FRR: pe1 is the router of docs/quickstart/l3vpn.md, followed as printed.

    red1, blue1 --- pe1 --- p1 --- p2 --- pe2 --- red2, blue2
                      `-----------'

p2 is another virtual router of pe1's kamueed; p1 and pe2 are Linux with FRR, in namespaces of the machine, as are the customers' hosts. Both customers have the
same addresses, but 10.2.0.10 is only red's and 10.2.0.20 only blue's. The tests stand in one order: LDP first, then segment routing.
"""
import re
from pathlib import Path

import pytest

from page import ROOT, blocks
from router import PATIENCE_S, Operator, Router, eventually

CARDS = []
PAGE = "docs/quickstart/l3vpn.md"
TRACEROUTE = "traceroute -n -e -q 1 10.2.0.9"        # of the page
FLOOD_S = 25                                           # LDP forgets a neighbor that is silent for 15 s

# An end is NAMESPACE:INTERFACE, or an interface of kamueed's own namespace.
CABLES = ("eth1 p1:pe1", "eth2 x1", "p1:p2 x2", "x3 pe2:p2", "eth3 red1:eth0", "eth4 blue1:eth0", "pe2:red1 red2:eth0", "pe2:blue1 blue2:eth0")
# The core beside pe1: its loopback's number, and its interfaces with addresses.
CORE = {
    "p1": (2, {"pe1": "198.51.100.2/30", "p2": "198.51.100.9/30"}),
    "p2": (3, {"p2-pe1": "198.51.100.6/30", "p2-p1": "198.51.100.10/30", "p2-pe2": "198.51.100.13/30"}),
    "pe2": (4, {"p2": "198.51.100.14/30"}),
}
HOSTS = {"red1": ["10.1.0.2", "fd00:1::2"], "blue1": ["10.1.0.2", "fd00:1::2"],
         "red2": ["10.2.0.9", "10.2.0.10", "fd00:2::9"], "blue2": ["10.2.0.9", "10.2.0.20", "fd00:2::9"]}
P2 = ["set vr p2"]                                     # with few descriptors: seven ports share 128 MiB
for n, to in enumerate(("pe1", "p1", "pe2"), 1):
    P2 += [f"set port p2-{to} {words}" for words in (f"kernel-interface x{n}", "rx-descriptors 256", "tx-descriptors 256")] + [f"set interface p2-{to} vr p2"]
ROUTER = "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.mpls.platform_labels=100000"
SINK = """import socket, sys
s = socket.create_server((sys.argv[1], 7), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
c, n = s.accept()[0], 0
while b := c.recv(1 << 16): n += len(b)
print(n)"""
SOURCE = "import socket, sys; socket.create_connection((sys.argv[1], 7), 30).sendall(bytes(3000000))"
VRFS = """
for vrf in red:10 blue:20; do ip -n pe2 link add ${vrf%:*} type vrf table ${vrf#*:} && ip -n pe2 link set dev ${vrf%:*} up &&
  ip -n pe2 link set dev ${vrf%:*}1 master ${vrf%:*}; done
"""
DAEMONS = """
mkdir -p /run/frr/{name} && touch /etc/frr/{name}/vtysh.conf && chown -R frr:frr /run/frr/{name} /etc/frr/{name}
for daemon in mgmtd zebra staticd isisd ldpd {bgpd}; do [ ! -x /usr/lib/frr/$daemon ] ||
  nsenter --net=/run/netns/{name} /usr/lib/frr/$daemon -d -N {name} -P 0 </dev/null >/run/frr/{name}/$daemon.out 2>&1; done
vtysh -N {name} -b
"""


def core_config(number: int, links: dict[str, str]) -> str:
    """IS-IS and LDP as in the page."""
    isis = [" ip router isis CORE", " ipv6 router isis CORE"]
    lines = ["interface lo", f" ip address 192.0.2.{number}/32", f" ipv6 address 2001:db8::{number}/128", *isis, "exit"]
    for name, address in links.items():
        lines += [f"interface {name}", f" ip address {address}", *isis, " isis network point-to-point", f" isis metric {50 if name == 'p2-pe1' else 10}",
                  " mpls enable", "exit"]
    lines += ["router isis CORE", f" net 49.0001.0000.0000.000{number}.00", " is-type level-2-only", "exit", "mpls ldp", f" router-id 192.0.2.{number}"]
    for family, loopback in (("ipv4", f"192.0.2.{number}"), ("ipv6", f"2001:db8::{number}")):
        lines += [f" address-family {family}", f"  discovery transport-address {loopback}", *(f"  interface {name}" for name in links), " exit-address-family"]
    return "\n".join([*lines, "exit", ""])


def customers_config() -> str:
    """The page's for pe1, with the addresses of pe2."""
    text = next("\n".join(lines) for kind, lines in blocks(PAGE) if kind == "vtysh" and "interface red1" in lines)
    text = re.sub(r"(192\.0\.2\.|2001:db8::)([14])\b", lambda found: found[1] + {"1": "4", "4": "1"}[found[2]], text)
    return text.replace("10.1.0.1/24", "10.2.0.1/24").replace("fd00:1::1/64", "fd00:2::1/64") + "\n"


def cable(ends: str) -> str:
    (space, name), (far_space, far_name) = (end.rpartition(":")[::2] for end in ends.split())
    lines = [f"ip link add name {name} {f'netns {space}' if space else ''} type veth peer name {far_name} {f'netns {far_space}' if far_space else ''}"]
    lines += [f"ip {f'-n {at}' if at else ''} link set dev {one} up" for at, one in ((space, name), (far_space, far_name))]
    return "\n".join(lines)


def host(name: str, addresses: list[str]) -> str:
    net = addresses[0].rpartition(".")[0]
    return "\n".join([*(f"ip -n {name} addr add {a}/{64 if ':' in a else 24} dev eth0 {'nodad' * (':' in a)}" for a in addresses),
                      f"ip -n {name} route add default via {net}.1", f"ip -n {name} route add default via {addresses[-1].rpartition('::')[0]}::1"])


class Vpn:
    def __init__(self, router: Router):
        self.router, self.vm, self.operator = router, router.vm, Operator(router.vm)

    def starts_frr(self, name: str) -> None:
        number, links = CORE[name]
        self.vm.put(f"/etc/frr/{name}/frr.conf", core_config(number, links) + (customers_config() if name == "pe2" else ""))
        said = self.vm.out(DAEMONS.format(name=name, bgpd="bgpd" * (name == "pe2")), timeout_s=180)
        assert "%" not in said, said

    def reaches(self, here: str, target: str) -> bool:
        return self.vm.run(f"ip netns exec {here} ping -n -c 1 -W 2 {target}", check=False).rc == 0

    def assert_reaches(self, here: str, *targets: str) -> None:
        for target in targets:
            eventually(lambda target=target: self.reaches(here, target), 3 * PATIENCE_S, lambda target=target: f"{here} reaches {target}: {self.told()}")

    def told(self) -> str:
        vtysh = " ".join(f"-c 'show {what}'" for what in ("mpls table", "isis neighbor", "mpls ldp neighbor", "bgp ipv4 vpn summary", "ip route vrf red"))
        return self.vm.run(f"vtysh {vtysh}; vtysh -N p2 {vtysh}; kamuee show mpls table; kamuee show ipv4 route vr red; kamuee show drops; "
                           "journalctl -u kamueed --no-pager | tail -30", check=False).out

    def labels_to(self, prefix: str, vr: str) -> list[int]:
        """That pe1 pushes, outermost first."""
        found = self.vm.out(f"ip {'-6' if ':' in prefix else '-4'} route show {prefix} vrf {vr}")
        return [int(label) for label in re.search(r"encap mpls +([\d/]+)", found)[1].split("/")]

    def traceroute(self, here: str, target: str) -> dict[str, list[dict[str, int]]]:
        """Of each router that answers, the label stack with which the packet came."""
        said = self.vm.out(f"ip netns exec {here} {TRACEROUTE.replace('10.2.0.9', target)}")
        return {found[1]: [{key: int(value) for key, value in re.findall(r"(\w)=(\d+)", entry)} for entry in (found[2] or "").split("/") if entry]
                for found in re.finditer(r"^ *\d+ +([\d.]+) +(?:<MPLS:([^>]*)>)?", said, re.M)}


@pytest.fixture(scope="module")
def vpn(router):
    vpn, vm = Vpn(router), router.vm
    names = [*(name for name in CORE if name != "p2"), *HOSTS]
    vm.put("/usr/local/bin/traceroute", Path("/usr/bin/traceroute").read_bytes(), 0o755)
    vm.run("\n".join(["set -e", "modprobe mpls_router", "sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0",
                      *(f"ip netns add {name} && ip -n {name} link set lo up" for name in names), *map(cable, CABLES),
                      *(f"ip netns exec {name} {ROUTER}" for name in ("p1", "pe2")), VRFS, *(host(*one) for one in HOSTS.items())]))
    vpn.operator.follow(PAGE, begin="**1. ", end="**3. FRR.**")
    router.call("configure", line=P2)
    vm.run(f"ip -n p2 link set lo up && nsenter --net=/run/netns/p2 {ROUTER}")
    for name in CORE:
        vpn.starts_frr(name)
    vpn.operator.follow(PAGE, begin="**3. FRR.**", end="**5. ")
    return vpn


def assert_forwards_as_linux_would(vpn: Vpn) -> None:
    for vr in ("default", "red", "blue", "p2"):
        found = vpn.router.call("audit", vr=vr)
        assert found["diverged"] == 0 and not found.get("unfollowed"), (vr, found)


def test_customers_with_equal_addresses_reach_their_own_sites_and_no_other(vpn):
    vpn.assert_reaches("red1", "10.2.0.9", "10.2.0.10", "fd00:2::9")
    vpn.assert_reaches("blue1", "10.2.0.9", "10.2.0.20", "fd00:2::9")
    vpn.assert_reaches("red2", "10.1.0.2", "fd00:1::2")
    assert not vpn.reaches("red1", "10.2.0.20") and not vpn.reaches("blue1", "10.2.0.10") and not vpn.reaches("red1", "192.0.2.4")
    assert_forwards_as_linux_would(vpn)


def in_labels(vpn: Vpn, vr: str) -> set[int]:
    return {row["label"] for row in vpn.router.entries("label") if row["vr"] == vr and row["active"]}


def own_label(vpn: Vpn, vrf: str) -> int:
    """Of pe1, as pe2 pushes it for the VRF's IPv4 packets."""
    return int(re.search(r"encap mpls +\d+/(\d+)", vpn.vm.out(f"ip -n pe2 route show 10.1.0.0/24 vrf {vrf}"))[1])


def test_a_customers_traceroute_shows_the_labels_of_the_core(vpn):
    assert TRACEROUTE in (ROOT / PAGE).read_text(encoding="utf-8")
    hops = vpn.traceroute("red1", "10.2.0.9")
    assert list(hops)[0] == "10.1.0.1" and list(hops)[-1] == "10.2.0.9" and hops["10.1.0.1"] == hops["10.2.0.9"] == [], hops
    transport, own = hops["198.51.100.10"]                 # p2, by the link from p1
    assert transport["L"] in in_labels(vpn, "p2") and (transport["S"], transport["T"]) == (0, 1)
    assert own["L"] == vpn.labels_to("10.2.0.0/24", "red")[1] and own["S"] == 1
    back = vpn.traceroute("red2", "10.1.0.2")
    transport, own = back["198.51.100.13"]
    assert transport["L"] in in_labels(vpn, "p2") and own["L"] == own_label(vpn, "red") and list(back)[-1] == "10.1.0.2", back


def test_files_pass_the_core_by_tcp(vpn):
    """The hosts send segments larger than a frame, which get labels."""
    for target, any_of in (("10.2.0.9", "0.0.0.0"), ("fd00:2::9", "::")):
        said = vpn.vm.out(f"ip netns exec red2 python3 -c '{SINK}' {any_of} & sleep 5; ip netns exec red1 python3 -c '{SOURCE}' {target}; wait")
        assert said.strip() == "3000000", said + vpn.told()


CUTS = {"core1": "ip -n p1 link set dev pe1 {}", "p1 to p2": "ip -n p1 link set dev p2 {}"}


@pytest.mark.parametrize("cut", CUTS)
def test_a_failed_link_of_the_core_is_bypassed(vpn, cut):
    vpn.vm.run(CUTS[cut].format("down"))
    try:
        eventually(lambda: "core2" in vpn.vm.out("ip route show 10.2.0.0/24 vrf red"), 3 * PATIENCE_S, vpn.told)
        vpn.assert_reaches("red1", "10.2.0.10", "fd00:2::9")
        vpn.assert_reaches("blue1", "10.2.0.20")
        assert_forwards_as_linux_would(vpn)
        back = vpn.traceroute("red2", "10.1.0.2")          # p2 lowers the TTL of red's label, too, when it takes the other one off
        assert any([entry["L"] for entry in stack] == [own_label(vpn, "red")] for stack in back.values()), back
    finally:
        vpn.vm.run(CUTS[cut].format("up"))
    eventually(lambda: "core1" in vpn.vm.out("ip route show 10.2.0.0/24 vrf red"), 3 * PATIENCE_S, vpn.told)
    vpn.assert_reaches("red1", "10.2.0.10", "fd00:2::9")


def ldp_sessions(vpn: Vpn) -> dict[str, int]:
    """Seconds since a session of pe1 with a neighbor is up."""
    found = vpn.vm.json("vtysh -c 'show mpls ldp neighbor json'")
    assert all(one["state"] == "OPERATIONAL" for one in found["neighbors"]), found
    return {one["neighborId"]: sum(60 ** i * int(part) for i, part in enumerate(reversed(one["upTime"].split(":")))) for one in found["neighbors"]}


def test_ldp_sessions_outlive_a_flood_of_packets_to_the_router(vpn):
    eventually(lambda: len(ldp_sessions(vpn)) == 2, 3 * PATIENCE_S, vpn.told)
    vpn.router.call("configure", line=[f"set punt {name} rate 200 burst 50" for name in ("other", "icmp")])
    mac = vpn.vm.json("ip -j link show dev blue1")[0]["address"]
    vpn.vm.put("/tmp/flood.py", (ROOT / "tests/e2e/flood.py").read_bytes())
    before = ldp_sessions(vpn)
    sent = vpn.vm.out(f"sleep {FLOOD_S} | ip netns exec blue1 python3 /tmp/flood.py eth0 {mac} 2000 local icmp ttl option fragment", timeout_s=FLOOD_S + 90)
    after = ldp_sessions(vpn)
    classes = {row["class"]: row for row in vpn.router.entries("punt")}
    assert after.keys() == before.keys() and all(after[name] >= before[name] + FLOOD_S for name in after), (before, after)
    assert classes["routing"]["policed"] == classes["routing"]["queue-full"] == 0 and classes["other"]["policed"] > 1000, (sent, classes)
    vpn.assert_reaches("red1", "10.2.0.9")


def test_segment_routing_takes_the_place_of_ldp(vpn):
    switch = next("\n".join(lines) for kind, lines in blocks(PAGE, begin="**5. ") if kind == "vtysh")
    for name, (number, _) in CORE.items():
        vpn.operator.vtysh(switch.replace("192.0.2.1/32 index 1", f"192.0.2.{number}/32 index {number}")
                           .replace("2001:db8::1/128 index 101", f"2001:db8::{number}/128 index {100 + number}"), f"vtysh -N {name}")
    vpn.operator.follow(PAGE, begin="**5. ", end="`tests/vm")
    vpn.assert_reaches("red1", "10.2.0.10", "fd00:2::9")
    vpn.assert_reaches("blue1", "10.2.0.20", "fd00:2::9")
    assert vpn.labels_to("10.2.0.0/24", "red")[0] == 16004 and vpn.labels_to("fd00:2::/64", "red")[0] == 16104
    hops = vpn.traceroute("red1", "10.2.0.9")
    assert [entry["L"] for entry in hops["198.51.100.10"]] == [16004, vpn.labels_to("10.2.0.0/24", "red")[1]], hops
    assert_forwards_as_linux_would(vpn)
