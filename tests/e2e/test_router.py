# SPDX-License-Identifier: BSD-3-Clause
"""The kernel behind the TAPs behaves as a router's: whatever the namespace begins with, and whatever is changed later.

The same tests with the settings that the kernel comes with, with Debian's, and with the worst there are; and with Linux as the router.
docs/features/tap.md says what kamueed sets; the page is read here and compared.
"""
import re
import time
from pathlib import Path

import pytest


from support import PATIENCE_S, Router, assert_reaches, eventually, forwarded_by_kernel, ping, pings
from wire import Wire

scapy = pytest.importorskip("scapy.all")
from scapy.all import (ARP, ICMP, IP, UDP, Ether, ICMPv6EchoRequest, ICMPv6NDOptDstLLAddr, ICMPv6NDOptPrefixInfo,     # noqa: E402
                       ICMPv6NDOptSrcLLAddr, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_Redirect, IPOption, IPv6,
                       IPv6ExtHdrHopByHop, Raw, RouterAlert)

PAGE = Path(__file__).resolve().parents[2] / "docs/features/tap.md"
# Of systemd's 50-default.conf.
DEBIAN = {"net.ipv4.conf.all.rp_filter": "2", "net.ipv4.conf.default.rp_filter": "2", "net.ipv4.conf.default.promote_secondaries": "1",
          "net.ipv4.conf.all.promote_secondaries": "1", "net.ipv4.conf.default.accept_source_route": "0"}
# The kernel's own words for a host that trusts everybody, and for a router beside ours.
HOSTILE = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1", "net.ipv6.conf.default.forwarding": "0",
           "net.ipv4.conf.default.forwarding": "0", "net.ipv4.conf.all.rp_filter": "1", "net.ipv4.conf.default.rp_filter": "1",
           "net.ipv6.conf.all.accept_ra": "2", "net.ipv6.conf.default.accept_ra": "2", "net.ipv6.conf.default.autoconf": "1",
           "net.ipv4.conf.all.accept_redirects": "1", "net.ipv4.conf.default.accept_redirects": "1",
           "net.ipv4.conf.all.secure_redirects": "0", "net.ipv4.conf.default.secure_redirects": "0",
           "net.ipv6.conf.all.accept_redirects": "1", "net.ipv6.conf.default.accept_redirects": "1",
           "net.ipv4.conf.all.bc_forwarding": "1", "net.ipv4.conf.default.bc_forwarding": "1",
           "net.ipv4.conf.all.accept_source_route": "1", "net.ipv4.conf.default.accept_source_route": "1",
           "net.ipv4.conf.default.arp_ignore": "8", "net.ipv4.conf.default.arp_filter": "1", "net.ipv4.conf.default.arp_accept": "1",
           "net.ipv4.conf.default.drop_gratuitous_arp": "1", "net.ipv4.conf.default.proxy_arp": "1",
           "net.ipv6.conf.all.seg6_enabled": "1", "net.ipv6.conf.default.seg6_enabled": "1",
           "net.ipv6.conf.default.force_forwarding": "1", "net.ipv6.conf.default.drop_unsolicited_na": "1",
           "net.ipv6.conf.default.suppress_frag_ndisc": "0", "net.ipv6.conf.default.proxy_ndp": "1"}
PROFILES = {"kamueed-defaults": {}, "kamueed-debian": DEBIAN, "kamueed-hostile": HOSTILE}
LAB = """
nodes:
  h1: $HOST(1)
  r:
    kind: $ROUTER
    sysctl: {$SYSCTL}
    vrs: {red: {}}
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: {vr: red, addresses: [10.3.0.1/24, "fd00:3::1/64"]}
$VPORT
    routes: [198.51.100.0/24 via 10.1.0.99, "2001:db8:9::/48 via fd00:1::99"]
  h2: $HOST(2)
  h3:
    kind: host
    interfaces: {eth0: [10.3.0.2/24, "fd00:3::2/64"]}
links:
  - [h1:eth0, r:p0]
  - [h2:eth0, r:p1]
  - [h3:eth0, r:p2]
"""
VPORT = """      v7: {port: p1, vlan: 7, addresses: [10.7.0.1/24, "fd00:7::1/64"]}"""
OURS = ("p0", "p1", "p2", "v7")


@pytest.fixture(scope="module", params=["kernel", *PROFILES])
def lab(request, labs):
    linux = request.param == "kernel"
    if not linux:
        request.getfixturevalue("kamueed")
    settings = ", ".join(f'{key}: "{value}"' for key, value in PROFILES.get(request.param, {}).items())
    text = LAB.replace("$SYSCTL", settings).replace("$VPORT", "" if linux else VPORT)
    lab = labs(text, "router" if linux else "kamuee")
    assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::2")
    return lab


@pytest.fixture
def ours(lab):
    """The lab whose router is kamueed."""
    if lab["r"].node.kind != "kamuee":
        pytest.skip("of kamueed alone")
    return lab


@pytest.fixture
def wire(lab):
    wire = Wire(lab["h1"])
    yield wire
    wire.close()


def configure(lab, line: str) -> None:
    Router(lab["r"]).call("configure", line=[line])


def mac_of(lab, name: str = "p0") -> str:
    return lab["r"].ip_json(f"link show dev {name}")[0]["address"]


def link_local(lab, name: str = "p0") -> str:
    def found() -> str:
        said = lab["r"].run(f"ip -6 -o addr show dev {name} scope link -tentative")
        return re.search(r"inet6 (fe80::[\da-f:]+)", said)[1]
    return eventually(found, what="a link-local address that has passed duplicate address detection")


def answers(wire: Wire, frame, wanted) -> list:
    """What of the frames that come back within a second after it wanted() takes; ends with the first."""
    wire.send(bytes(frame))
    until = time.monotonic() + 1
    while (data := wire.take(until)) is not None:
        if wanted(seen := Ether(data)):
            return [seen]
    return []


# --- the settings ---

def rows() -> list[tuple[str, str, str]]:
    """(sysctl, value, whose it is afterwards) of the table in the page."""
    found = re.findall(r"^\| `net\.([\w.]+)` \| (\d)[^|]*\| (kept|begins so) \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(found) > 20
    return found


def namespace_of(lab, name: str):
    node = lab["r"]
    return node.namespace_of(name) if name in OURS else node.namespace


def values(lab, name: str, *sysctls: str) -> dict[str, str]:
    """The settings that this kernel has, read by one program: one for each takes seconds on a busy machine."""
    keys = {"net." + sysctl.replace(".TAP.", f".{name}."): sysctl for sysctl in sysctls}
    said = namespace_of(lab, name).run(["sysctl", *keys], check=False)
    return {keys[key]: now for key, now in re.findall(r"^(\S+) = (.*)$", said, re.M)}


def strange(lab, name: str, kept_only: bool = False) -> list[str]:
    """Settings that are not as the page says."""
    found, of_all = [], "ipv4.conf.all.rp_filter"
    now = values(lab, name, of_all, *(sysctl for sysctl, _, _ in rows()))
    for sysctl, wanted, whose in rows():
        if kept_only and whose != "kept":
            continue
        if sysctl.endswith(".rp_filter") and now[of_all] != "0":
            wanted = "2"
        if now.get(sysctl) not in (wanted, None):
            found.append(f"{name}: net.{sysctl}={now[sysctl]}, the page says {wanted}")
    return found


def test_all_interfaces_are_set_up_as_the_page_says(ours):
    assert not [row for name in OURS for row in strange(ours, name)]


def test_all_and_default_are_left_alone(ours):
    node = ours["r"]
    for key, wanted in node.node.sysctl.items():
        assert node.run(f"sysctl -n {key}").strip() == wanted, key


def test_what_is_changed_is_restored(ours):
    node = ours["r"]
    node.namespace.sysctl({"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"})
    node.namespace.sysctl({"net.ipv4.ip_forward": "0", "net.ipv6.conf.all.forwarding": "0", "net.ipv4.conf.p1.rp_filter": "1"})
    eventually(lambda: not [row for name in OURS for row in strange(ours, name, True) if "forwarding" in row or "rp_filter" in row], 4,
               "the kernel tells of these")
    eventually(lambda: "tap_sysctl: changed by another program, restored: interface=p0 sysctl=ipv6/conf/p0/forwarding was=0 value=1"
               in node.log.read_text(), 10, "the log says so")
    others = ("ipv6.conf.p0.accept_ra", "ipv6.conf.v7.accept_ra", "ipv6.conf.p1.accept_redirects", "ipv4.conf.p1.send_redirects")
    node.namespace.sysctl({f"net.{key}": "1" for key in others})
    eventually(lambda: not [row for name in OURS for row in strange(ours, name, True)], 15, "the others are found by the clock")
    node.namespace.sysctl(node.node.sysctl)
    eventually(lambda: not [row for name in OURS for row in strange(ours, name, True)], 15, "as the lab began")


def test_what_only_begins_so_is_the_operators_afterwards(ours):
    node = ours["r"]
    node.namespace.sysctl({"net.ipv4.conf.p1.arp_ignore": "1", "net.ipv6.conf.p1.accept_ra": "1"})
    eventually(lambda: values(ours, "p1", "ipv6.conf.TAP.accept_ra") == {"ipv6.conf.TAP.accept_ra": "0"}, 15, "the clock has looked at p1")
    assert values(ours, "p1", "ipv4.conf.TAP.arp_ignore") == {"ipv4.conf.TAP.arp_ignore": "1"}
    node.namespace.sysctl({"net.ipv4.conf.p1.arp_ignore": "0"})


def test_a_tap_that_is_made_again_is_a_routers_too(ours):
    node = ours["r"]
    node.ip("link del v7")
    eventually(lambda: node.namespace.has_link("v7"), what="v7 is made again")
    eventually(lambda: not strange(ours, "v7"), 10, lambda: str(strange(ours, "v7")))


def test_a_macvlan_on_a_tap_is_a_routers_too(ours):
    """keepalived and FRR's vrrpd make one for VRRP's MAC; what the TAP hears, it hears."""
    node = ours["r"]
    node.run("ip link add vr5 link p0 address 00:00:5e:00:02:05 type macvlan mode bridge")
    node.ip("link set vr5 up")
    try:
        eventually(lambda: not strange(ours, "vr5", True), 4, lambda: str(strange(ours, "vr5", True)))
        node.namespace.sysctl({"net.ipv6.conf.vr5.forwarding": "0"})
        eventually(lambda: not strange(ours, "vr5", True), 4, "the kernel tells of it")
    finally:
        node.ip("link del vr5")


# --- what the neighbors see ---

def advertised(lab, wire: Wire, target: str, unicast: bool):
    """The neighbor advertisement for an address of the router's."""
    group = scapy.in6_getnsma(scapy.inet_pton(10, target))
    to, dst = (mac_of(lab), target) if unicast else (scapy.in6_getnsmac(group), scapy.inet_ntop(10, group))
    frame = (Ether(dst=to, src=wire.mac) / IPv6(src="fd00:1::2", dst=dst, hlim=255) / ICMPv6ND_NS(tgt=target)
             / ICMPv6NDOptSrcLLAddr(lladdr=wire.mac))
    found = answers(wire, frame, lambda seen: ICMPv6ND_NA in seen and seen[ICMPv6ND_NA].tgt == target)
    return found[0][ICMPv6ND_NA] if found else None


@pytest.mark.rfc("4861", "7.2.4", "MUST")
def test_neighbor_advertisements_say_that_it_is_a_router(lab, wire):
    for target in ("fd00:1::1", link_local(lab)):
        for unicast in (False, True):
            na = eventually(lambda: advertised(lab, wire, target, unicast), 10, f"an advertisement of {target}")  # noqa: B023
            assert (na.R, na.S) == (1, 1), (target, unicast, na.R, na.S)


def test_a_router_advertisement_changes_nothing(lab, wire):
    before = lab["r"].run("ip -6 route show table all").splitlines(), lab["r"].run("ip -6 -o addr show").count("inet6")
    for lifetime in (1800, 9000, 1):
        wire.send(bytes(Ether(dst="33:33:00:00:00:01", src=wire.mac) / IPv6(src="fe80::66", dst="ff02::1", hlim=255)
                        / ICMPv6ND_RA(routerlifetime=lifetime) / ICMPv6NDOptSrcLLAddr(lladdr=wire.mac)
                        / ICMPv6NDOptPrefixInfo(prefix="2001:db8:bad::", prefixlen=64, L=1, A=1)))
    assert_reaches(lab["h1"], "fd00:1::1")                # what was sent before this has arrived
    lines = lab["r"].run("ip -6 route show table all").splitlines()
    assert not [line for line in lines if "proto ra" in line or "2001:db8:bad" in line], (before, lines)
    assert lab["r"].run("ip -6 -o addr show").count("inet6") == before[1]


def route_to(lab, target: str) -> str:
    family = "-6 " if ":" in target else ""
    return lab["r"].run(f"ip {family}route get {target}")


@pytest.mark.rfc("1812", "5.2.7.2", "MUST NOT")
def test_a_redirect_is_not_believed(lab, wire):
    lab["r"].ip(f"neigh replace 10.1.0.66 lladdr {wire.mac} dev p0 nud permanent")      # else the first one only asks for it
    about = IP(src="10.1.0.1", dst="198.51.100.7") / ICMP(type=0)
    for _ in range(3):
        wire.send(bytes(Ether(dst=mac_of(lab), src=wire.mac) / IP(src="10.1.0.99", dst="10.1.0.1")
                        / ICMP(type=5, code=1, gw="10.1.0.66") / about))
    assert_reaches(lab["h1"], "10.1.0.1")
    assert "via 10.1.0.99" in route_to(lab, "198.51.100.7"), route_to(lab, "198.51.100.7")


@pytest.mark.rfc("4861", "8.2", "MUST NOT")
def test_an_ipv6_redirect_is_not_believed(lab, wire):
    lab["r"].ip("-6 route replace 2001:db8:9::/48 via fe80::99 dev p0")
    for _ in range(3):
        wire.send(bytes(Ether(dst=mac_of(lab), src=wire.mac) / IPv6(src="fe80::99", dst=link_local(lab), hlim=255)
                        / ICMPv6ND_Redirect(tgt="fe80::66", dst="2001:db8:9::7") / ICMPv6NDOptDstLLAddr(lladdr=wire.mac)))
    assert_reaches(lab["h1"], "fd00:1::1")
    assert "via fe80::99" in route_to(lab, "2001:db8:9::7"), route_to(lab, "2001:db8:9::7")


@pytest.mark.rfc("4291", "2.6.1", "MUST")
@pytest.mark.parametrize("target", ["fd00:1::", "fd00:2::"])
def test_the_subnet_router_anycast_address_is_answered(lab, wire, target):
    echo = (Ether(dst=mac_of(lab), src=wire.mac) / IPv6(src="fd00:1::2", dst=target) / ICMPv6EchoRequest(id=77))
    eventually(lambda: answers(wire, echo, lambda seen: IPv6 in seen and seen[IPv6].nh == 58 and seen[IPv6].payload.type == 129), 10)


@pytest.mark.rfc("4291", "2.8", "MUST")
def test_the_group_of_all_routers_is_answered(lab, wire):
    def answered() -> bool:
        return "bytes from fe80::" in ping(lab["h1"], "ff02::2%eth0", 1).said
    eventually(answered, 10, "an answer to ff02::2")


@pytest.mark.rfc("1812", "3.3.2", "MUST NOT")
def test_an_arp_reply_with_the_mac_of_a_group_is_not_believed(ours, wire):
    assert_reaches(ours["h2"], "10.1.0.2")
    for mac in ("01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff"):
        wire.send(bytes(Ether(dst=mac_of(ours), src=wire.mac) / ARP(op=2, hwsrc=mac, psrc="10.1.0.2", pdst="10.1.0.1")))
    eventually(lambda: "ignored a neighbor that claims a group MAC: vr=0 address=10.1.0.2 mac=" in ours["r"].log.read_text(), what="a line of log")
    assert pings(ours["h2"], "10.1.0.2", 1).received      # the frame goes to h1, not to all


# --- the kernel forwards nothing ---

def odd_frames(lab, wire: Wire):
    """Packets that are punted, may be punted, or once were punted although they are not for us."""
    router, broadcast, group = mac_of(lab), "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:02"
    h1, h2, h1_6, h2_6, data = "10.1.0.2", "10.2.0.2", "fd00:1::2", "fd00:2::2", UDP(sport=9, dport=9) / Raw(b"twice?")
    alert = [IPOption(b"\x94\x04\x00\x00")]
    for to in (router, broadcast, group):
        yield from (Ether(dst=to) / IP(src=h1, dst=dst, ttl=ttl, options=options) / data
                    for dst in (h2, "10.2.0.77", "198.51.100.7", "10.2.0.255", "10.2.0.0", "169.254.7.7", "192.0.2.99", "10.7.0.2")
                    for ttl in (1, 2, 64) for options in ([], alert))
        yield from (Ether(dst=to) / IPv6(src=src, dst=dst, hlim=limit) / data
                    for src in (h1_6, "fe80::77") for limit in (1, 2, 64)
                    for dst in (h2_6, "fd00:2::77", "fe80::99", "fe80::1", link_local(lab, "p1"), "2001:db8:9::7", "3fff::1", "fd00:7::2"))
        yield Ether(dst=to) / IPv6(src=h1_6, dst=h2_6) / IPv6ExtHdrHopByHop(options=[RouterAlert()]) / data
        yield Ether(dst=to) / IP(src=h1, dst=h2, proto=46, options=alert) / Raw(b"RSVP")


@pytest.mark.parametrize("options", ["drop", "ignore", "process"])
def test_the_kernel_sends_nothing_on(ours, wire, options):
    """With its forwarding on: of all interfaces and both families."""
    node, before = ours["r"], forwarded_by_kernel(ours["r"])
    node.namespace.sysctl({"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"})
    configure(ours, f"set forwarding ipv4-options {options}")
    for frame in odd_frames(ours, wire):
        frame.src = wire.mac
        wire.send(bytes(frame))
    assert_reaches(ours["h1"], "10.2.0.2")
    assert Router(ours["r"]).dropped("ip6_link_local") > 0 and Router(ours["r"]).dropped("ether_broadcast") > 0
    assert forwarded_by_kernel(node) == before == 0
    configure(ours, "delete forwarding")
    node.namespace.sysctl({"net.ipv4.ip_forward": "0", "net.ipv6.conf.all.forwarding": "0", **node.node.sysctl})


# --- the end ---

def test_what_was_not_kamueeds_is_as_before_when_it_has_stopped(ours):
    """The TAPs are kamueed's own, and stay; the cables are not."""
    node = ours["r"]
    node.stop_kamueed()
    assert not [row for name in OURS for row in strange(ours, name)]
    wanted = node.node.sysctl.get("net.ipv4.conf.default.arp_ignore", "0")
    assert node.wire.run("sysctl -n net.ipv4.conf.wp0.arp_ignore").strip() == wanted
    assert node.wire.run("sysctl -n net.ipv6.conf.wp0.disable_ipv6").strip() == "0"
    node.start_kamueed()
    assert_reaches(ours["h1"], "10.2.0.2", timeout_s=PATIENCE_S)
    assert not [row for name in OURS for row in strange(ours, name, True)]
