# SPDX-License-Identifier: BSD-3-Clause
"""Tunnels that Linux made (`ip link add`) in the router: taken over where that is unambiguous, and named where not.

The far end is a namespace of Linux without kamueed. A kernel has only some of the kinds: tests/vm/test_tunnel_linux.py has Debian's, which has all.
"""
import pytest

from kamuee.errors import DaemonError
from kamuee.lab.frr import Frr, remove_directories

from support import Pinging, Router, assert_no_loss, assert_reaches, eventually, forwarded_by_kernel, reaches, rx_packets

ROW = """
nodes:
  left: $HOST(1)
  a:
    kind: kamuee
    vrs:
      red: {}
    interfaces:
      p0: {addresses: [10.1.0.1/24, "fd00:1::1/64"]}
      p1: {addresses: [10.0.0.1/24, "fd00::1/64"]}
  far:
    kind: host
    interfaces: {eth0: [10.0.0.2/24, "fd00::2/64"]}
links:
  - [left:eth0, a:p0]
  - [a:p1, far:eth0]
"""
ENDS = {4: ("10.0.0.1", "10.0.0.2"), 6: ("fd00::1", "fd00::2")}
# Name of the device: its kind and further words, the family of its ends, the families that it carries.
KINDS = {"ipip": ("ipip", 4, (4,)), "sit": ("sit", 4, (6,)), "gre": ("gre", 4, (4, 6)), "grekey": ("gre key 7", 4, (4, 6)),
         "gre6": ("ip6gre", 6, (4, 6)), "tnl6": ("ip6tnl mode any", 6, (4, 6)),
         "vx4": ("vxlan id 77 dstport 4789", 4, (4, 6)), "vx6": ("vxlan id 78 dstport 4789", 6, (4, 6))}
TARGET = {4: "10.2.0.2", 6: "fd00:2::2"}


def add(node, name, here, extra=""):
    """The device, with addresses, at end 0 (the router) or 1."""
    words, family, _ = KINDS[name]
    kind, _, more = words.partition(" ")
    if kind == "vxlan" and family == 6:
        more += " udp6zerocsumtx udp6zerocsumrx"
    k = list(KINDS).index(name)
    local, remote = ENDS[family][::-1 if here else 1]
    node.ip(f"link add {name} type {kind} local {local} remote {remote} {more} {extra}")
    node.ip(f"addr add 10.100.{k}.{here + 1}/24 dev {name}")
    node.ip(f"addr add fd00:100:{k}::{here + 1}/64 dev {name} nodad")
    node.ip(f"link set {name} up")


def make(node, name, words):
    """False: this kernel has no such devices."""
    node.run(f"ip link add {name} type {words}", check=False)
    return name in [link["ifname"] for link in node.ip_json("link show")]


def has(node, name):
    words, family, _ = KINDS[name]
    kind, _, more = words.partition(" ")
    there = make(node, "probe", f"{kind} local {ENDS[family][0]} remote {ENDS[family][1]} {more}")
    node.run("ip link del probe", check=False)
    return there


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(ROW)
    lab.kinds = [name for name in KINDS if has(lab["far"].namespace, name)]
    lab["far"].namespace.ip("addr add 10.2.0.2/32 dev lo")
    lab["far"].namespace.ip("addr add fd00:2::2/128 dev lo")
    for name in lab.kinds:
        add(lab["far"].namespace, name, 1)
    return lab


@pytest.fixture
def a(lab):
    return Router(lab["a"])


def tunnel(router, name):
    return next((row for row in router.entries("tunnel") if row["name"] == name), None)


def left(router, name):
    """Why the device is left to Linux; None: it is not."""
    return next((row["reason"] for row in router.entries("linux-tunnel") if row["name"] == name), None)


def counters(router, name):
    return next(row["statistics"] for row in router.entries("interface") if row["name"] == name)


def told(router):
    return f"{router.entries('tunnel')} {router.entries('linux-tunnel')}"


def await_taken(router, name):
    eventually(lambda: (row := tunnel(router, name)) and (row["status"], row["made-by"]) == ("up", "linux"), 30, lambda: told(router))


def await_left(router, name, says):
    eventually(lambda: says in (left(router, name) or "") and tunnel(router, name) is None, 30, lambda: told(router))


def use(lab, name):
    """Traffic of the families that it carries goes through that tunnel."""
    k = list(KINDS).index(name)
    for family in KINDS[name][2]:
        six = "-6" if family == 6 else "-4"
        via = "fd00:100:{}::{}" if family == 6 else "10.100.{}.{}"
        lab["a"].namespace.ip(f"{six} route replace {TARGET[family]} via {via.format(k, 2)} dev {name}")
        lab["far"].namespace.ip(f"{six} route replace {'fd00:1::/64' if family == 6 else '10.1.0.0/24'} via {via.format(k, 1)} dev {name}")


@pytest.fixture(params=KINDS)
def name(request, lab, a):
    if request.param not in lab.kinds:
        pytest.skip(f"this kernel has no {KINDS[request.param][0]}")
    add(lab["a"].namespace, request.param, 0)
    lab["far"].namespace.ip(f"neigh flush dev {request.param}")     # a VXLAN device has another MAC each time
    yield request.param
    lab["a"].namespace.run(f"ip link del {request.param}", check=False)
    eventually(lambda: tunnel(a, request.param) is None and left(a, request.param) is None, 20, lambda: told(a))


def test_it_is_taken_over_and_forwards_without_the_kernel(lab, a, name):
    await_taken(a, name)
    use(lab, name)
    for family in KINDS[name][2]:
        assert_reaches(lab["left"], TARGET[family])
    kernel, punted, before = forwarded_by_kernel(lab["a"]), a.state("ledger")["punt"], counters(a, name)
    for family in KINDS[name][2]:
        assert_no_loss(lab["left"], TARGET[family], 200)
    now, sent = counters(a, name), 200 * len(KINDS[name][2])
    assert now["tx-packets"] - before["tx-packets"] >= sent and now["rx-packets"] - before["rx-packets"] >= sent
    assert forwarded_by_kernel(lab["a"]) == kernel
    assert a.state("ledger")["punt"] - punted < 40, "neighbors and routers' own packets alone"
    a.assert_ledger()


STRANGER = """
import sys
from scapy.all import IP, UDP, Ether, Raw, send
inner = IP(src="192.168.6.9", dst="10.1.0.2") / UDP(sport=9, dport=9) / Raw(bytes(20))
carried = UDP(sport=50000, dport=4789, chksum=0) / Raw(bytes([8, 0, 0, 0, 0, 0, 77, 0])) / Ether(dst=sys.argv[1], src="02:00:00:00:00:99") / inner
for _ in range(20):
    send(IP(src="203.0.113.66", dst="10.0.0.1") / carried, verbose=False)
"""


@pytest.mark.parametrize("everywhere", ["0", "1"], ids=["ip-forward-off", "ip-forward-on"])
def test_the_kernel_forwards_nothing_that_kamueed_refuses(lab, a, everywhere):
    """VXLAN devices of Linux take packets of any source: none of them may pass an access list by way of the kernel."""
    device, outer = "vx4", lab["a"].namespace
    if device not in lab.kinds:
        pytest.skip("this kernel has no vxlan")
    add(outer, device, 0)
    try:
        await_taken(a, device)
        outer.run(f"sysctl -qw net.ipv4.ip_forward={everywhere}")
        forwarding = f"/proc/sys/net/ipv4/conf/{device}/forwarding"
        eventually(lambda: outer.run(f"cat {forwarding}").strip() == "0", 20, "it stays off")
        before, came = forwarded_by_kernel(lab["a"]), rx_packets(lab["a"], device)
        mac = outer.ip_json(f"link show dev {device}")[0]["address"]
        lab["far"].namespace.run(["/usr/bin/python3", "-c", STRANGER, mac])
        eventually(lambda: rx_packets(lab["a"], device) - came >= 20, 20, "Linux has taken them")
        assert forwarded_by_kernel(lab["a"]) == before
        outer.run("sysctl -qw net.ipv4.ip_forward=1")
        a.configure(f"set tunnel mine kind {KINDS[device][0].replace('id', 'vni').split(' dstport')[0]} "
                    f"local {ENDS[4][0]} remote {ENDS[4][1]}")      # it makes room, and is Linux's again
        eventually(lambda: outer.run(f"cat {forwarding}").strip() == "1", 20, "as a new one")
    finally:
        a.configure("delete tunnel mine") if tunnel(a, "mine") else None
        outer.run("sysctl -qw net.ipv4.ip_forward=0")
        outer.run(f"ip link del {device}", check=False)
        eventually(lambda: tunnel(a, device) is None and left(a, device) is None, 20, lambda: told(a))


def test_its_own_addresses_answer_and_ask(lab, a, name):
    """Inner packets for the router arrive on Linux's device, also past a strict reverse-path filter."""
    await_taken(a, name)
    outer, k = lab["a"].namespace, list(KINDS).index(name)
    outer.run(f"sysctl -qw net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.{name}.rp_filter=1")
    try:
        for family in KINDS[name][2]:
            here, there = (f"fd00:100:{k}::{end}" if family == 6 else f"10.100.{k}.{end}" for end in (1, 2))
            before = rx_packets(lab["a"], name)
            assert_reaches(lab["far"], here)
            assert_no_loss(lab["far"], here, 20)
            assert_reaches(lab["a"], there)
            assert rx_packets(lab["a"], name) - before >= 20, "they came by the device"
    finally:
        outer.run(f"sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.{name}.rp_filter=0")
    a.assert_ledger()


def test_the_mtu_is_the_smaller_of_the_devices_and_the_paths(lab, a, name):
    await_taken(a, name)
    outer, row = lab["a"].namespace, tunnel(a, name)
    assert row["path-mtu"] == 1500
    default = outer.ip_json(f"link show dev {name}")[0]["mtu"]
    assert row["mtu"] == min(default, 1500 - row["overhead"])
    outer.ip(f"link set {name} mtu 1300")
    eventually(lambda: tunnel(a, name)["mtu"] == 1300, 20, lambda: told(a))
    assert outer.ip_json(f"link show dev {name}")[0]["mtu"] == 1300
    a.configure("set port p1 mtu 1310")
    try:
        eventually(lambda: tunnel(a, name)["mtu"] == 1310 - row["overhead"], 20, lambda: told(a))
        assert outer.ip_json(f"link show dev {name}")[0]["mtu"] == 1300, "the device is not ours"
    finally:
        a.configure("delete port p1 mtu")
    eventually(lambda: tunnel(a, name)["mtu"] == 1300, 20, lambda: told(a))


def test_deletion_under_traffic_and_a_device_that_comes_again(lab, a, name):
    await_taken(a, name)
    use(lab, name)
    target = TARGET[KINDS[name][2][0]]
    assert_reaches(lab["left"], target)
    traffic = Pinging(lab["left"], target, 0.002)
    lab["a"].namespace.ip(f"link del {name}")
    eventually(lambda: tunnel(a, name) is None and name not in [row["name"] for row in a.entries("interface")], 20, lambda: told(a))
    eventually(lambda: not reaches(lab["left"], target), 20, "nothing passes")
    add(lab["a"].namespace, name, 0)
    await_taken(a, name)
    use(lab, name)
    assert_reaches(lab["left"], target)
    result = traffic.stop()
    assert 0 < result.lost < result.sent
    a.assert_ledger()


def test_down_is_down(lab, a, name):
    await_taken(a, name)
    use(lab, name)
    target = TARGET[KINDS[name][2][0]]
    assert_reaches(lab["left"], target)
    lab["a"].namespace.ip(f"link set {name} down")
    eventually(lambda: not reaches(lab["left"], target), 20, "nothing passes")
    status = next(row["status"] for row in a.entries("interface") if row["name"] == name)
    assert status == "admin-down"
    lab["a"].namespace.ip(f"link set {name} up")
    k = list(KINDS).index(name)
    lab["a"].namespace.run(f"ip addr add fd00:100:{k}::1/64 dev {name} nodad", check=False)
    use(lab, name)
    assert_reaches(lab["left"], target)


def test_a_restart_and_an_end_of_kamueed_leave_it(lab, a, name):
    """There before kamueed starts: taken over; and it stays with Linux when kamueed ends."""
    await_taken(a, name)
    use(lab, name)
    target = TARGET[KINDS[name][2][0]]
    lab["a"].stop_kamueed()
    said = lab["a"].namespace.ip(f"addr show dev {name}")
    assert f"10.100.{list(KINDS).index(name)}.1/24" in said
    lab["a"].start_kamueed()
    await_taken(a, name)
    assert_reaches(lab["left"], target)
    lab["a"].kill_kamueed()
    lab["a"].start_kamueed()
    await_taken(a, name)
    assert_reaches(lab["left"], target)
    a.assert_ledger()


def test_a_renamed_one_is_taken_over_by_its_new_name(lab, a, name):
    await_taken(a, name)
    node = lab["a"].namespace
    node.ip(f"link set {name} down")
    node.ip(f"link set {name} name other")
    node.ip("link set other up")
    try:
        await_taken(a, "other")
        assert tunnel(a, name) is None
    finally:
        node.ip("link del other")
    eventually(lambda: tunnel(a, "other") is None, 20, lambda: told(a))


def test_a_tunnel_of_the_configuration_wins(lab, a, name):
    await_taken(a, name)
    words, family, _ = KINDS[name]
    ours = {"ipip": "ipip", "sit": "ipip", "ip6tnl": "ipip", "gre": "gre", "ip6gre": "gre", "vxlan": "vxlan"}[words.split()[0]]
    more = f"vni {words.split()[2]}" if ours == "vxlan" else "key 7" if "key" in words else ""
    a.configure(f"set tunnel own kind {ours} local {ENDS[family][0]} remote {ENDS[family][1]} {more}")
    try:
        await_left(a, name, "tunnel own has the same kind, ends")
        assert tunnel(a, "own")["made-by"] == "config"
    finally:
        a.configure("delete tunnel own")
    await_taken(a, name)
    assert name in lab["a"].namespace.ip("link show")


# --- tunnels left to Linux ---

LEFT = [("vxlan id 90 local 10.0.0.1 remote 10.0.0.2 dstport 8472", "another UDP port"),
        ("vxlan id 90 local 10.0.0.1 dstport 4789", "no fixed remote"),
        ("vxlan id 90 remote 10.0.0.2 dstport 4789", "no fixed local"),
        ("vxlan id 90 local 10.0.0.1 group 239.0.0.1 dev p1 dstport 4789", "multicast group"),
        ("vxlan external dstport 4790", "external"),
        ("vxlan id 90 local 10.0.0.1 remote 10.0.0.2 dev lo dstport 4789", "dev lo is no interface"),
        ("vxlan id 90 local 10.0.0.1 remote 10.0.0.2 dstport 4789 gbp", "extensions"),
        ("gre local 10.0.0.1 remote 10.0.0.9 seq", "sequence numbers"), ("gre local 10.0.0.1 remote 10.0.0.9 csum", "checksums"),
        ("gre local 10.0.0.1 remote 10.0.0.9 ikey 1 okey 2", "different receive and transmit keys"), ("gre local 10.0.0.1", "no fixed remote"),
        ("gretap local 10.0.0.1 remote 10.0.0.9", "does not have"), ("ipip local 10.0.0.1 remote 10.0.0.9 encap fou encap-sport auto encap-dport 5555",
                                                                     "further header"), ("sit local 10.0.0.1", "no fixed remote")]


@pytest.mark.parametrize("words, says", LEFT)
def test_what_is_ambiguous_is_left_to_linux_with_a_reason(lab, a, words, says):
    node = lab["a"].namespace
    if not make(node, "odd", words):
        pytest.skip(f"this kernel has no {words}")
    try:
        await_left(a, "odd", says)
        assert "odd" not in [row["name"] for row in a.entries("interface")]
    finally:
        node.ip("link del odd")
    eventually(lambda: left(a, "odd") is None, 20, lambda: told(a))


def test_two_with_the_same_ends_are_both_left_and_the_last_one_is_taken(lab, a):
    if not {"ipip", "sit"} <= set(lab.kinds):
        pytest.skip("this kernel has no two kinds that have packets in common")
    node = lab["a"].namespace
    add(node, "ipip", 0)
    try:
        await_taken(a, "ipip")
        add(node, "sit", 0)
        for name, other in (("ipip", "sit"), ("sit", "ipip")):
            await_left(a, name, f"tell it from {other}")
        node.ip("link del ipip")
        await_taken(a, "sit")
    finally:
        for name in ("ipip", "sit"):
            node.run(f"ip link del {name}", check=False)
    eventually(lambda: not a.entries("tunnel"), 20, lambda: told(a))


def test_one_in_a_bridge_is_left_and_taken_when_it_leaves(lab, a):
    node = lab["a"].namespace
    add(node, "vx4", 0)
    try:
        await_taken(a, "vx4")
        node.ip("link add br9 type bridge")
        node.ip("link set vx4 master br9")
        await_left(a, "vx4", "member of br9")
        node.ip("link set vx4 nomaster")
        await_taken(a, "vx4")
    finally:
        node.run("ip link del br9", check=False)
        node.run("ip link del vx4", check=False)


def test_while_there_are_ipsec_policies_none_is_taken(lab, a):
    """Forwarding does not encrypt."""
    node = lab["a"].namespace
    add(node, "vx4", 0)
    try:
        await_taken(a, "vx4")
        node.run("ip xfrm policy add src 10.0.0.1/32 dst 10.0.0.2/32 dir out tmpl src 10.0.0.1 dst 10.0.0.2 proto esp mode transport", check=False)
        if "10.0.0.2" not in node.run("ip xfrm policy", check=False):
            pytest.skip("this kernel has no IPsec")
        await_left(a, "vx4", "IPsec")
        node.run("ip xfrm policy flush")
        await_taken(a, "vx4")
    finally:
        node.run("ip xfrm policy flush", check=False)
        node.run("ip link del vx4", check=False)


def test_a_virtual_router_takes_its_tunnels_with_it_and_a_name_is_one_interface(lab, a):
    """Each namespace has its own devices; interfaces have one name in the whole router."""
    red = lab["a"].vrs["red"]
    red.ip("link add vx4 type vxlan id 77 local 10.9.0.1 remote 10.9.0.2 dstport 4789")
    red.ip("link set vx4 up")
    try:
        eventually(lambda: tunnel(a, "vx4")["interface-vr"] == "red", 20, lambda: told(a))
        assert tunnel(a, "vx4")["status"] == "no-route"
        add(lab["a"].namespace, "vx4", 0)
        await_second = lambda: left(a, "vx4")                                      # noqa: E731
        eventually(lambda: "already exists" in (await_second() or ""), 20, lambda: told(a))
        a.configure("set tunnel vx4 kind vxlan vni 5 local 10.0.0.1 remote 10.0.0.7")
    except DaemonError as refused:                                                    # its TAP needs the name in Linux, too
        assert "not a TAP" in str(refused)
    else:
        raise AssertionError("a device of that name is there")
    finally:
        red.run("ip link del vx4", check=False)
        lab["a"].namespace.run("ip link del vx4", check=False)
    eventually(lambda: not a.entries("tunnel") and not a.entries("linux-tunnel"), 20, lambda: told(a))


def test_the_configuration_does_not_know_it(lab, a):
    add(lab["a"].namespace, "vx4", 0)
    try:
        await_taken(a, "vx4")
        with pytest.raises(DaemonError) as refused:
            a.configure("set interface vx4 redirect true")
        assert "vx4" in str(refused.value)
        a.configure("set interface p0 description something")
        a.configure("delete interface p0 description")
        await_taken(a, "vx4")
    finally:
        lab["a"].namespace.run("ip link del vx4", check=False)


ROUTING = """
interface {dev}
 ip ospf network point-to-point
 ip ospf hello-interval 1
 ip ospf dead-interval 4
 ip ospf area 0
exit
router ospf
 ospf router-id {own}
 redistribute connected
exit
"""


@pytest.fixture(params=["gre", "vx4"])
def daemons(request, lab, a):
    name = request.param
    if name not in lab.kinds:
        pytest.skip(f"this kernel has no {KINDS[name][0]}")
    add(lab["a"].namespace, name, 0)
    await_taken(a, name)
    k, started = list(KINDS).index(name), {}
    for node, end in (("a", 1), ("far", 2)):
        frr = started[node] = Frr(lab[node].node, lab[node].namespace)
        frr.config = ROUTING.format(dev=name, own=f"10.100.{k}.{end}")
        frr.daemons = ["ospfd"]
        lab[node].namespace.run(f"ip route del {'10.2.0.2' if node == 'a' else '10.1.0.0/24'}", check=False)
        frr.start()
    yield started
    for frr in started.values():
        frr.stop()
        remove_directories(frr.pathspace)
    lab["a"].namespace.ip(f"link del {name}")


def test_ospf_of_frr_runs_over_it_and_its_routes_are_forwarded(lab, a, daemons):
    eventually(lambda: all("Full" in str(frr.json("show ip ospf neighbor")) for frr in daemons.values()), 60,
               lambda: f"{[frr.json('show ip ospf neighbor') for frr in daemons.values()]}", 0.5)
    eventually(lambda: "10.2.0.2" in lab["a"].namespace.ip("route show proto ospf"), 60, "a learns it", 0.5)
    eventually(lambda: "10.1.0.0/24" in lab["far"].namespace.ip("route show proto ospf"), 60, "the far end learns it", 0.5)
    assert_reaches(lab["left"], TARGET[4])
    before = forwarded_by_kernel(lab["a"])
    assert_no_loss(lab["left"], TARGET[4], 100)
    assert forwarded_by_kernel(lab["a"]) == before
    a.assert_ledger()


# --- what all virtual routers share ---

@pytest.fixture
def tenant(lab, a):
    """Three devices of a tenant, one of them with a name that the provider may want."""
    red = lab["a"].vrs["red"]
    names = ["ten0", "ten1", "p7"]
    for k, name in enumerate(names):
        red.ip(f"link add {name} type vxlan id {500 + k} local 192.0.2.1 remote 192.0.2.2 dstport 4789")
    for name in names:
        eventually(lambda name=name: (tunnel(a, name) or {}).get("made-by") == "linux", 20, lambda: told(a))
    yield names
    for name in names:
        red.run(f"ip link del {name}", check=False)


def budget(a, name):
    return next(row for vr in a.entries("vr") if vr["name"] == "red" for row in vr["budget"] if row["name"] == name)


def test_a_virtual_router_keeps_to_its_budgets(lab, a, tenant):
    assert budget(a, "tunnels")["used"] == budget(a, "interfaces")["used"] == 3
    try:
        for name, limit in ("tunnels", 2), ("interfaces", 1):
            a.configure(f"set vr red budget {name} {limit}")
            await_left(a, tenant[-1], f"its virtual router's budget of {name} is used up: {limit}")
            eventually(lambda name=name, limit=limit: budget(a, name)["used"] == limit, 20, lambda: told(a))
        with pytest.raises(DaemonError, match="vr red: it has 2 tunnels, and its budget 'tunnels' is 1.*set vr red budget tunnels 2"):
            a.configure("set vr red budget tunnels 1", *[f"set tunnel mine{k} kind gre local 192.0.2.1 remote 192.0.2.{k + 8} vr red" for k in range(2)],
                        *[f"set interface mine{k} vr red" for k in range(2)])
        a.configure("set tunnel mine kind gre local 192.0.2.1 remote 192.0.2.9 vr red", "set interface mine vr red")
        eventually(lambda: all(left(a, name) for name in tenant), 20, "the configuration comes first")
    finally:
        a.configure("delete vr red budget", *(["delete tunnel mine", "delete interface mine"] if tunnel(a, "mine") else []))
    for name in tenant:
        eventually(lambda name=name: tunnel(a, name) is not None, 20, lambda: told(a))


def test_the_configuration_gets_a_name_that_a_tenants_device_has(lab, a, tenant):
    a.configure("set port p7 devargs net_null7")
    try:
        await_left(a, "p7", "p7")
    finally:
        a.configure("delete port p7")
    eventually(lambda: (tunnel(a, "p7") or {}).get("made-by") == "linux", 20, lambda: told(a))
