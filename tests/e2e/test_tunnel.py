# SPDX-License-Identifier: BSD-3-Clause
"""Tunnels between two kamueeds, and between one and Linux: every kind, real neighbors and routes, named drops."""
import ipaddress
import re

import pytest

from kamuee.errors import DaemonError
from kamuee.lab.frr import Frr, remove_directories

from support import Router, assert_no_loss, assert_reaches, eventually, hops, ping, reaches

ROW = """
nodes:
  left: $HOST(1)
  right: $HOST(2)
  a:
    kind: kamuee
    vrs:
      in: {}
    interfaces:
      p0: {vr: in, addresses: [10.1.0.1/24, "fd00:1::1/64"]}
      p1: {addresses: [10.0.0.1/24, "fd00::1/64"]}
  b:
    kind: kamuee
    interfaces:
      p0: {addresses: [10.2.0.1/24, "fd00:2::1/64"]}
      p1: {addresses: [10.0.0.2/24, "fd00::2/64"]}
links:
  - [left:eth0, a:p0]
  - [a:p1, b:p1]
  - [b:p0, right:eth0]
"""
TARGETS = ("10.2.0.2", "fd00:2::2")
UNDER = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}
KINDS = {"ip": "ipip", "gre": "gre", "key": "gre key 7", "udp": "gre-udp key 9", "vx": "vxlan vni 77"}
NAMES = [f"{kind}{family}" for kind in KINDS for family in UNDER]


def overhead(name):
    return {"ip": 0, "gre": 4, "key": 8, "udp": 16, "vx": 30}[name[:-1]] + (20 if name[-1] == "4" else 40)


def lines(name, here):
    local, remote = UNDER[int(name[-1])][::1 if here == "a" else -1]
    vr = [f"set interface {name} vr in"] if here == "a" else []
    return [f"set tunnel {name} kind {KINDS[name[:-1]]} local {local} remote {remote}", *vr]


def inside(lab, here):
    """Where the tunnels' interfaces of a router are."""
    return lab["a"].vrs["in"] if here == "a" else lab["b"].namespace


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(ROW)
    for here in "ab":
        Router(lab[here]).configure(*[line for name in NAMES for line in lines(name, here)])
        for k, name in enumerate(NAMES):
            inside(lab, here).ip(f"addr add 10.100.{k}.{1 if here == 'a' else 2}/24 dev {name}")
            inside(lab, here).ip(f"addr add fd00:100:{k}::{1 if here == 'a' else 2}/64 dev {name} nodad")
            inside(lab, here).ip(f"link set {name} up")
    return lab


@pytest.fixture
def a(lab):
    return Router(lab["a"])


def use(lab, name):
    """Traffic of both families goes through that tunnel."""
    k = NAMES.index(name)
    inside(lab, "a").ip(f"route replace 10.2.0.0/24 via 10.100.{k}.2")
    inside(lab, "a").ip(f"-6 route replace fd00:2::/64 via fd00:100:{k}::2")
    inside(lab, "b").ip(f"route replace 10.1.0.0/24 via 10.100.{k}.1")
    inside(lab, "b").ip(f"-6 route replace fd00:1::/64 via fd00:100:{k}::1")


def link_local(namespace, name):
    """The addresses of that scope, and addr_gen_mode."""
    said = namespace.ip(f"-6 addr show dev {name} scope link")
    return re.findall(r"inet6 (fe80:\S+)/64", said), namespace.run(f"cat /proc/sys/net/ipv6/conf/{name}/addr_gen_mode").strip()


def linux_address(router, name):
    """Modified EUI-64 of the interface's MAC address."""
    octets = bytes.fromhex(router.named("interface", name)["mac"].replace(":", ""))
    return str(ipaddress.IPv6Address(b"\xfe\x80".ljust(8, b"\0") + bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]))


def test_a_new_tunnel_comes_up_once_and_has_the_address_that_linux_gives(lab):
    b = Router(lab["b"])
    for name in NAMES:
        eventually(lambda: link_local(inside(lab, "b"), name) == ([linux_address(b, name)], "0"), 5,
                   lambda: f"{name}: {link_local(inside(lab, 'b'), name)}")
        # Nobody else can have it where no neighbors are.
        assert name.startswith("vx") or "tentative" not in inside(lab, "b").ip(f"-6 addr show dev {name}")
    assert "admin=" not in lab["b"].log.read_text()
    inside(lab, "b").ip("link set gre4 down")
    assert not link_local(inside(lab, "b"), "gre4")[0]
    inside(lab, "b").ip("link set gre4 up")
    inside(lab, "b").ip("addr replace fd00:100:2::2/64 dev gre4 nodad")
    eventually(lambda: link_local(inside(lab, "b"), "gre4") == ([linux_address(b, "gre4")], "0"), 5, "Linux gives it again")


@pytest.mark.parametrize(("setting", "value", "mode"), [("addr_gen_mode", "1", "1"), ("disable_ipv6", "1", "0")])
def test_a_new_tunnel_has_no_address_where_linux_gives_none(lab, setting, value, mode):
    b, default = Router(lab["b"]), f"net.ipv6.conf.default.{setting}"
    inside(lab, "b").sysctl({default: value})
    b.configure("set tunnel bare kind ipip local 10.0.0.1 remote 10.0.0.9")
    inside(lab, "b").sysctl({default: "0"})
    eventually(lambda: link_local(inside(lab, "b"), "bare") == ([], mode), 5, lambda: f"{link_local(inside(lab, 'b'), 'bare')}")
    inside(lab, "b").sysctl({f"net.ipv6.conf.bare.{setting}": "0"})
    eventually(lambda: link_local(inside(lab, "b"), "bare") == ([linux_address(b, "bare")], "0"), 5, "it has one when it may")
    b.configure("delete tunnel bare")


@pytest.mark.parametrize("name", NAMES)
def test_traffic_of_both_families_passes(lab, a, name):
    use(lab, name)
    before = a.named("interface", name)["statistics"]["tx-packets"]
    for target in TARGETS:
        assert_reaches(lab["left"], target)
        assert_no_loss(lab["left"], target, 50)
    assert a.named("interface", name)["statistics"]["tx-packets"] - before >= 100
    assert a.named("interface", name)["kind"] == "tunnel" and a.named("interface", name)["vr"] == "in"
    for here in "ab":
        Router(lab[here]).assert_ledger()


@pytest.mark.parametrize("name", NAMES)
def test_the_mtu_is_what_the_way_takes(lab, a, name):
    use(lab, name)
    mtu = 1500 - overhead(name)
    told = a.named("tunnel", name)
    assert (told["status"], told["path-mtu"], told["mtu"], told["overhead"]) == ("up", 1500, mtu, overhead(name))
    assert f"mtu {mtu}" in inside(lab, "a").ip(f"link show {name}")
    lab["left"].run("ip route flush cache", check=False)
    assert_reaches(lab["left"], TARGETS[0])
    eventually(lambda: ping(lab["left"], TARGETS[0], 3, extra=f"-s {mtu - 28} -M do").received, 20, "what fits passes")
    eventually(lambda: re.search(f"mtu ?= ?{mtu}", lab["left"].run(f"ping -c 1 -W 2 -M do -s {mtu - 27} {TARGETS[0]}", check=False)), 20,
               "the sender is told")
    eventually(lambda: ping(lab["left"], TARGETS[0], 3, extra="-s 1472 -M dont").received, 20, "the inner packet is cut")
    eventually(lambda: ping(lab["left"], TARGETS[1], 3, extra="-s 1452").received, 20, "after a packet too big")
    lab["left"].run("ip route flush cache", check=False)


def test_the_mtu_follows_the_way(lab, a):
    a.configure("set port p1 mtu 1400")
    try:
        eventually(lambda: a.named("tunnel", "gre4")["mtu"] == 1376, 20, lambda: f"{a.named('tunnel', 'gre4')}")
        eventually(lambda: "mtu 1376" in inside(lab, "a").ip("link show gre4"), 10, "Linux has it, too")
        a.configure("set tunnel gre4 mtu 1300")
        assert a.named("tunnel", "gre4")["mtu"] == 1300
    finally:
        a.configure("delete port p1 mtu", "delete tunnel gre4 mtu")
    eventually(lambda: a.named("tunnel", "gre4")["mtu"] == 1476, 20, lambda: f"{a.named('tunnel', 'gre4')}")


TOO_BIG = """
import sys
from scapy.all import GRE, ICMP, IP, IPv6, ICMPv6PacketTooBig, send
local, remote, mtu, proto = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if ":" in local:
    quoted = IPv6(src=local, dst=remote, nh=proto) / bytes([0, 0, 8, 0] + 40 * [0])
    send(IPv6(src=remote, dst=local) / ICMPv6PacketTooBig(mtu=mtu) / quoted, verbose=False)
else:
    quoted = IP(src=local, dst=remote, proto=proto, flags="DF", len=1500) / bytes([0, 0, 8, 0, 0, 0, 0, 0])
    send(IP(src=remote, dst=local) / ICMP(type=3, code=4, nexthopmtu=mtu) / quoted, verbose=False)
"""


def tell_too_big(lab, name, mtu, remote=None):
    """A router on the way, which here is b itself, tells a that a tunnel's packet was too big."""
    local, far = UNDER[int(name[-1])]
    proto = "47" if name[:-1] == "gre" else "4"
    lab["b"].namespace.run(["/usr/bin/python3", "-c", TOO_BIG, local, remote or far, str(mtu), proto])


def test_icmp_lowers_the_mtu_of_the_tunnel_that_it_is_about(lab, a):
    tell_too_big(lab, "gre4", 1300, remote="10.0.0.77")           # there is no such tunnel
    tell_too_big(lab, "gre4", 1400)
    eventually(lambda: a.named("tunnel", "gre4")["path-mtu"] == 1400, 20, lambda: f"{a.named('tunnel', 'gre4')}")
    eventually(lambda: a.named("interface", "gre4")["mtu"] == 1376, 20, "its interface follows")
    for other in ("ip4", "key4", "udp4", "gre6"):
        assert a.named("tunnel", other)["path-mtu"] == 1500, other
    tell_too_big(lab, "gre6", 1100)                               # no link of IPv6 has so little
    tell_too_big(lab, "gre6", 1400)
    eventually(lambda: a.named("tunnel", "gre6")["path-mtu"] == 1400, 20, lambda: f"{a.named('tunnel', 'gre6')}")
    for name in ("gre4", "gre6"):                                 # made anew, it has heard nothing
        a.configure(f"set tunnel {name} ttl 63")
        k = NAMES.index(name)
        inside(lab, "a").ip(f"addr add 10.100.{k}.1/24 dev {name}")
        inside(lab, "a").ip(f"addr add fd00:100:{k}::1/64 dev {name} nodad")
        inside(lab, "a").ip(f"link set {name} up")
    for name in ("gre4", "gre6"):
        eventually(lambda name=name: a.named("tunnel", name)["path-mtu"] == 1500, 20, lambda name=name: f"{a.named('tunnel', name)}")


@pytest.mark.rfc("4213", "3.2.2", "MUST")
@pytest.mark.rfc("8201", "4", "MUST")
@pytest.mark.parametrize("name, told", [("ip4", 600), ("ip6", 1280)])
def test_ipv6_outlives_an_error_that_leaves_less_than_1280_inside(lab, a, name, told):
    use(lab, name)
    k, mtu = NAMES.index(name), told - overhead(name)
    tell_too_big(lab, name, told)
    eventually(lambda: a.named("interface", name)["mtu"] == mtu, 20, lambda: f"{a.named('interface', name)}")
    eventually(lambda: "mtu 1280" in inside(lab, "a").ip(f"link show {name}"), 10, "Linux has the least that IPv6 may have")
    assert f"{ipaddress.ip_interface(f'fd00:100:{k}::1/64')}" in inside(lab, "a").ip(f"-6 addr show dev {name}")
    lab["left"].run("ip route flush cache", check=False)
    largest = 1232 if name == "ip4" else mtu - 48                 # over IPv6 the rest is in pieces, which b drops
    for node, target in (lab["left"], TARGETS[1]), (inside(lab, "a"), f"fd00:100:{k}::2"):
        eventually(lambda node=node, target=target: ping(node, target, extra=f"-s {largest} -M do").received == 3, 20, f"{largest} pass")
    eventually(lambda: "+1 errors" in lab["left"].run(f"ping -c 1 -W 2 -M do -s 1233 {TARGETS[1]}", check=False), 20, "1281 bytes are refused")
    eventually(lambda: re.search(f"mtu ?= ?{mtu}", inside(lab, "a").run(f"ping -c 2 -i 0.2 -W 2 -M do -s {mtu - 27} 10.100.{k}.2", check=False)), 20,
               "the kernel behind the TAP is told, too")
    if name == "ip6":
        b = Router(lab["b"])
        before = b.dropped("tunnel_fragment")
        ping(lab["left"], TARGETS[1], 1, extra="-s 1232 -M do")
        eventually(lambda: b.dropped("tunnel_fragment") > before, 20, "the pieces arrive")
    lab["left"].run("ip route flush cache", check=False)
    inside(lab, "a").run("ip route flush cache", check=False)


def test_each_router_is_a_hop_and_the_underlay_none(lab):
    use(lab, "gre4")
    assert_reaches(lab["left"], TARGETS[0])
    k = NAMES.index("gre4")
    want = ["10.1.0.1", f"10.100.{k}.2", TARGETS[0]]
    eventually(lambda: hops(lab["left"], TARGETS[0]) == want, 20, lambda: f"hops: {hops(lab['left'], TARGETS[0])}", 0.5)


def test_the_two_ends_reach_each_other(lab):
    for k, _ in enumerate(NAMES):
        assert_reaches(inside(lab, "a"), f"10.100.{k}.2")
        assert_reaches(inside(lab, "b"), f"fd00:100:{k}::1")


def test_explain_follows_the_packet_into_the_tunnel(lab, a):
    use(lab, "gre6")
    assert_reaches(lab["left"], TARGETS[0])
    told = a.call("explain", interface="p0", source="10.1.0.2", destination=TARGETS[0])
    assert [step["vr"] for step in told["step"] if "lookup" in step] == ["in", "default"]
    assert told["step"][-1]["frame"][0]["interface"] == "p1"


def test_the_way_goes_and_comes(lab, a):
    a.configure("set tunnel far kind gre local 10.0.0.1 remote 203.0.113.1", "set interface far vr in")
    inside(lab, "a").ip("addr add 10.101.0.1/24 dev far")
    inside(lab, "a").ip("link set far up")
    try:
        assert a.named("tunnel", "far")["status"] == "no-route"
        before = a.dropped("tunnel_no_route")
        ping(inside(lab, "a"), "10.101.0.2", 2)
        eventually(lambda: a.dropped("tunnel_no_route") >= before + 2, 10, "both are dropped by name")
        lab["a"].namespace.ip("route add 203.0.113.0/24 via 10.0.0.2")
        eventually(lambda: a.named("tunnel", "far")["status"] == "up", 20, "the route is found")
        lab["a"].namespace.ip("route del 203.0.113.0/24")
        eventually(lambda: a.named("tunnel", "far")["status"] == "no-route", 20, "it is gone")
    finally:
        a.configure("delete tunnel far", "delete interface far")


def test_a_way_into_itself_is_refused_by_name(lab, a):
    a.configure("set tunnel loop kind gre local 10.0.0.1 remote 203.0.113.1")
    outer = lab["a"].namespace
    outer.ip("addr add 10.101.0.1/24 dev loop")
    outer.ip("link set loop up")
    outer.ip("route add 203.0.113.0/24 dev loop")
    try:
        eventually(lambda: a.named("tunnel", "loop")["status"] == "recursion", 20, lambda: f"{a.named('tunnel', 'loop')}")
        before = a.dropped("tunnel_recursion")
        ping(outer, "10.101.0.2", 2)
        eventually(lambda: a.dropped("tunnel_recursion") >= before + 2, 10, "both are dropped by name")
    finally:
        a.configure("delete tunnel loop")


def test_a_stranger_is_dropped_by_name(lab, a):
    use(lab, "ip4")
    assert_reaches(lab["left"], TARGETS[0])
    Router(lab["b"]).configure("set tunnel ip4 local 10.0.0.9")
    lab["b"].namespace.ip("addr add 10.0.0.9/24 dev p1")
    k = NAMES.index("ip4")
    try:
        before = a.dropped("tunnel_source")
        inside(lab, "b").ip(f"addr add 10.100.{k}.2/24 dev ip4")
        inside(lab, "b").ip("link set ip4 up")
        ping(inside(lab, "b"), f"10.100.{k}.1", 3)
        eventually(lambda: a.dropped("tunnel_source") > before, 20, "it is dropped by name")
    finally:
        lab["b"].namespace.ip("addr del 10.0.0.9/24 dev p1")
        Router(lab["b"]).configure("set tunnel ip4 local 10.0.0.2")
        inside(lab, "b").ip(f"addr add 10.100.{k}.2/24 dev ip4")
        inside(lab, "b").ip(f"addr add fd00:100:{k}::2/64 dev ip4 nodad")
        inside(lab, "b").ip("link set ip4 up")


def test_an_access_list_of_the_tunnel_sees_the_inner_packet(lab, a):
    use(lab, "udp4")
    assert_reaches(lab["left"], TARGETS[0])
    a.configure("set acl none rule 10 deny ipv4", "set acl none default permit", "set interface udp4 acl in none")
    try:
        eventually(lambda: not reaches(lab["left"], TARGETS[0]), 20, "it is denied")
        assert_reaches(lab["left"], TARGETS[1])
    finally:
        a.configure("delete interface udp4 acl", "delete acl none")
    assert_reaches(lab["left"], TARGETS[0])


REFUSED = [("set tunnel x kind gre local 10.0.0.1", "'remote' is required"),
           ("set tunnel x kind gre remote 10.0.0.3", "'local' is required"),
           ("set tunnel x kind gre local 10.0.0.1 remote fd00::2", "different families"),
           ("set tunnel x kind vxlan local 10.0.0.1 remote 10.0.0.2", "needs a 'vni'"),
           ("set tunnel x kind ipip local 10.0.0.1 remote 10.0.0.3 key 7", "'key' is for kinds gre"),
           ("set tunnel x kind ipip local 10.0.0.1 remote 10.0.0.2", "tunnel ip4 has the same kind"),
           ("set tunnel x kind gre local 10.0.0.1 remote 10.0.0.3 vr green", "green"),
           ("set tunnel p1 kind gre local 10.0.0.1 remote 10.0.0.3", "belongs to a port"),
           ("set tunnel x kind gre local 10.0.0.1 remote 10.0.0.3 ttl 256", "1 to 255")]


@pytest.mark.parametrize("line, says", REFUSED)
def test_what_cannot_be_is_refused_and_changes_nothing(lab, a, line, says):
    before = sorted(row["name"] for row in a.entries("tunnel"))
    with pytest.raises(DaemonError) as refused:
        a.configure(line)
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1, "each mistake is told once"
    assert sorted(row["name"] for row in a.entries("tunnel")) == before


def test_linux_at_the_other_end_of_a_vxlan(lab, a):
    """The kernel of these tests has no other kind of tunnel: for them see tests/path/tunnel."""
    outer = lab["left"]
    a.configure("set tunnel vtep kind vxlan vni 5 local 10.1.0.1 remote 10.1.0.2 vr in", "set interface vtep vr in")
    try:
        outer.ip("link add vtep type vxlan id 5 local 10.1.0.2 remote 10.1.0.1 dstport 4789 dev eth0")
        outer.ip("addr add 10.102.0.2/24 dev vtep")
        outer.ip("link set vtep up mtu 1450")
        inside(lab, "a").ip("addr add 10.102.0.1/24 dev vtep")
        inside(lab, "a").ip("link set vtep up")
        assert_reaches(outer, "10.102.0.1")
        assert_reaches(inside(lab, "a"), "10.102.0.2")
        assert_no_loss(outer, "10.102.0.1", 50)
        eventually(lambda: ping(outer, "10.102.0.1", 3, extra="-s 1422 -M do").received, 20, "what fits passes")
    finally:
        outer.run("ip link del vtep", check=False)
        a.configure("delete tunnel vtep", "delete interface vtep")


ROUTING = """
hostname {here}
interface {dev}
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf area 0
exit
router ospf
 ospf router-id {own}
exit
router bgp {asn}
 bgp router-id {own}
 no bgp ebgp-requires-policy
 neighbor {peer} remote-as {other}
 neighbor {peer} timers connect 1
 address-family ipv4 unicast
  network {network}
 exit-address-family
exit
"""


@pytest.fixture
def daemons(lab):
    """FRR in the virtual router of a's tunnels and in b, over one tunnel."""
    started, k = {}, NAMES.index("gre4")
    for here, end, asn, network in (("a", 1, 65001, "10.1.0.0/24"), ("b", 2, 65002, "10.2.0.0/24")):
        frr = started[here] = Frr(lab[here].node, inside(lab, here))
        frr.config = ROUTING.format(here=here, dev="gre4", own=f"10.100.{k}.{end}", peer=f"10.100.{k}.{3 - end}", asn=asn,
                                    other=130003 - asn, network=network)
        frr.daemons = ["ospfd", "bgpd"]
        inside(lab, here).run(f"ip route del {'10.2.0.0/24' if here == 'a' else '10.1.0.0/24'}", check=False)
        frr.start()
    yield started
    for frr in started.values():
        frr.stop()
        remove_directories(frr.pathspace)


def test_ospf_and_bgp_of_frr_run_over_a_tunnel(lab, daemons):
    eventually(lambda: all("Full" in str(frr.json("show ip ospf neighbor")) for frr in daemons.values()), 60,
               lambda: f"{[frr.json('show ip ospf neighbor') for frr in daemons.values()]}", 0.5)
    for here, network in (("a", "10.2.0.0/24"), ("b", "10.1.0.0/24")):
        eventually(lambda: network in inside(lab, here).ip("route show proto bgp"), 60, f"{here} learns {network}", 0.5)
    assert_reaches(lab["left"], TARGETS[0])
    assert_no_loss(lab["left"], TARGETS[0], 50)


def test_deletion_while_in_use_ends_the_traffic_and_nothing_else(lab, a):
    use(lab, "key4")
    assert_reaches(lab["left"], TARGETS[0])
    a.configure("delete tunnel key4", "delete interface key4")
    assert not reaches(lab["left"], TARGETS[0])
    assert a.named("interface", "key4") is None
    assert "key4" not in inside(lab, "a").ip("link show")
    use(lab, "gre4")
    assert_reaches(lab["left"], TARGETS[0])
    a.assert_ledger()
