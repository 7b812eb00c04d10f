# SPDX-License-Identifier: BSD-3-Clause
"""VRRP with its virtual MAC: two routers, one address on each side, keepalived and FRR's vrrpd unchanged.

    h1 -- sw1 (a bridge) -- ra -- sw2 (a bridge) -- h2
                         \\- rb -/

The hosts' default route is the virtual address, so all that they send goes to 00:00:5e:00:01:VRID.
"""
import re

import pytest


from support import Pinging, Router, assert_no_loss, assert_reaches, bridge, eventually, pings
from wire import Wire

LAB = """
nodes:
  sw1: &switch
    kind: host
    interfaces: {eth0: [], eth1: [], eth2: []}
  sw2: *switch
  h1:
    kind: host
    interfaces: {eth0: [10.1.0.9/24, "fd00:1::9/64"]}
    routes: [default via 10.1.0.254]
  h2:
    kind: host
    interfaces: {eth0: [10.2.0.9/24, "fd00:2::9/64"]}
    routes: [default via 10.2.0.254]
  ra:
    kind: kamuee
    interfaces: {p0: [10.1.0.1/24, "fd00:1::1/64"], p1: [10.2.0.1/24, "fd00:2::1/64"]}
    daemon: frr
    daemons: [vrrpd]
    config: ""
  rb:
    kind: kamuee
    interfaces: {p0: [10.1.0.2/24, "fd00:1::2/64"], p1: [10.2.0.2/24, "fd00:2::2/64"]}
    daemon: frr
    daemons: [vrrpd]
    config: ""
links:
  - [h1:eth0, sw1:eth0]
  - [ra:p0, sw1:eth1]
  - [rb:p0, sw1:eth2]
  - [h2:eth0, sw2:eth0]
  - [ra:p1, sw2:eth1]
  - [rb:p1, sw2:eth2]
"""
KEEPALIVED = """
global_defs {{
    vrrp_garp_master_delay 0
    dynamic_interfaces
}}
vrrp_sync_group both {{
    group {{
        lan1
        lan2
    }}
}}
vrrp_instance lan1 {{
    interface p0
    use_vmac vrrp.51
    virtual_router_id 51
    version 3
    advert_int 1
    state BACKUP
    priority {priority}
    virtual_ipaddress {{
        10.1.0.254/32
    }}
}}
vrrp_instance lan2 {{
    interface p1
    use_vmac vrrp.52
    virtual_router_id 52
    version 3
    advert_int 1
    state BACKUP
    priority {priority}
    virtual_ipaddress {{
        10.2.0.254/32
    }}
}}
"""
MAC = {"p0": "00:00:5e:00:01:33", "p1": "00:00:5e:00:01:34"}


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    for switch in ("sw1", "sw2"):
        bridge(lab[switch], "eth0", "eth1", "eth2")
    assert_reaches(lab["h1"], "10.1.0.1", "10.1.0.2")
    return lab


class Keepalived:
    def __init__(self, node, priority: int):
        self.node, self.dir = node, node.run_dir
        config = self.dir / "keepalived.conf"
        config.write_text(KEEPALIVED.format(priority=priority))
        config.chmod(0o644)
        # 2.3 looks at the files of children that -P does not start, too.
        pids = [word for option, name in (("-p", "keepalived"), ("-r", "vrrp"), ("-c", "checkers"), ("-b", "bfd"))
                for word in (option, str(self.dir / f"{name}.pid"))]
        self.process = node.popen(["keepalived", "-n", "-l", "-D", "-P", "-f", str(config), *pids], log=str(self.dir / "keepalived.log"))

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)


def accepted(node, interface: str) -> list[str]:
    """MACs beside its own that an interface takes frames for."""
    return Router(node).state(f"interface={interface}")[0].get("accepted-mac", [])


@pytest.fixture
def pair(lab):
    """keepalived on both; ra is master."""
    # Advertisements of a second: a backup that the machine holds up for less than three does not become master. The closer a
    # priority is to 256, the sooner a backup takes over from a master that gives up.
    a, b = Keepalived(lab["ra"], 250), Keepalived(lab["rb"], 240)
    eventually(lambda: accepted(lab["ra"], "p0") == [MAC["p0"]] and accepted(lab["ra"], "p1") == [MAC["p1"]], 20,
               lambda: (lab["ra"].run_dir / "keepalived.log").read_text()[-1500:])
    for host in ("h1", "h2"):
        lab[host].ip("neigh flush dev eth0")
    yield a, b
    a.stop()
    b.stop()
    for name in ("ra", "rb"):
        eventually(lambda: accepted(lab[name], "p0") == [], 10, "the virtual MAC goes with the macvlan")


def gateway_mac(host, address: str) -> str:
    found = re.search(r"lladdr (\S+)", host.ip(f"neigh show {address}"))
    return found[1] if found else ""


@pytest.mark.rfc("5798", "6.4.3", "MUST", only="IPv4")
@pytest.mark.rfc("5798", "6.4.2", "MUST", only="IPv4")
def test_the_master_answers_and_forwards_by_the_virtual_mac_and_the_backup_takes_over(lab, pair):
    h1, ra, rb = lab["h1"], lab["ra"], lab["rb"]
    assert_reaches(h1, "10.1.0.254")
    assert gateway_mac(h1, "10.1.0.254") == MAC["p0"]
    assert_reaches(h1, "10.2.0.9")
    assert_no_loss(h1, "10.2.0.9", 100)
    assert pings(h1, "10.1.0.254", 20).lost == 0
    eventually(lambda: accepted(rb, "p0") == [], 10, "rb is backup")
    before = Router(rb).dropped("ether_not_ours")
    flood(lab)                                       # a switch that has forgotten the MAC sends it to the backup as well
    eventually(lambda: Router(rb).dropped("ether_not_ours") > before, 10, "the backup drops what is for the virtual MAC")
    pinging = Pinging(h1, "10.2.0.9", 0.02)
    pair[0].stop()                                   # ra gives up: priority 0, rb takes over at once
    eventually(lambda: accepted(rb, "p0") == [MAC["p0"]] and accepted(ra, "p0") == [], 10, "rb is master")
    assert_reaches(h1, "10.2.0.9", timeout_s=10)
    lost = pinging.stop(100)
    assert lost.lost <= 50, lost.said                # a second, where waiting for three advertisements would take three
    assert_no_loss(h1, "10.2.0.9", 50)
    assert gateway_mac(h1, "10.1.0.254") == MAC["p0"]


def flood(lab) -> None:
    """One packet to the virtual MAC, seen by every port of the switch."""
    wire = Wire(lab["sw1"], "eth2")
    try:
        payload = bytes.fromhex("4500001c000100004011") + b"\0\0" + bytes([10, 1, 0, 9, 10, 2, 0, 9]) + bytes.fromhex("03e807d000080000")
        wire.send(bytes.fromhex(MAC["p0"].replace(":", "") + "020000000009" + "0800") + payload)
    finally:
        wire.close()


def test_a_master_that_crashes_is_replaced(lab, pair):
    assert_reaches(lab["h1"], "10.2.0.9")
    lab["ra"].kill_kamueed()
    try:
        eventually(lambda: accepted(lab["rb"], "p0") == [MAC["p0"]], 20, "rb is master")
        assert_reaches(lab["h1"], "10.2.0.9", timeout_s=10)
    finally:
        lab["ra"].start_kamueed()
    eventually(lambda: accepted(lab["ra"], "p0") == [MAC["p0"]], 20, "the new kamueed finds the macvlan, and ra is master again")
    assert_reaches(lab["h1"], "10.2.0.9", timeout_s=10)


def test_hosts_are_reached_by_the_connected_route_of_a_macvlan(lab):
    """Both devices have one of the subnet; after p0 was down the macvlan's is the first, and the only one in force."""
    ra = lab["ra"]
    for command in ("link add m0 link p0 type macvlan mode bridge", "addr add 10.1.0.251/24 dev m0", "link set dev m0 up"):
        ra.ip(command)
    try:
        ra.ip("link set p0 down")
        ra.ip("link set p0 up")
        eventually(lambda: len(ra.ip_json("route show 10.1.0.0/24")) == 2, 10, "both connected routes are there")
        assert ra.ip_json("route show 10.1.0.0/24")[0]["dev"] == "m0"
        lab["h2"].ip("route add 10.1.0.9/32 via 10.2.0.1")
        lab["h1"].ip("route add 10.2.0.9/32 via 10.1.0.251")
        assert_reaches(lab["h2"], "10.1.0.9", timeout_s=10)
        assert_no_loss(lab["h2"], "10.1.0.9", 50)
    finally:
        ra.run("ip link del m0", check=False)
        lab["h2"].run("ip route del 10.1.0.9/32", check=False)
        lab["h1"].run("ip route del 10.2.0.9/32", check=False)


def test_frr_with_a_macvlan_of_the_operator(lab):
    h1, ra = lab["h1"], lab["ra"]
    router = Router(ra)
    router.configure("set port p0 promiscuous false")
    try:
        for node, priority in ((ra, 200), (lab["rb"], 100)):
            for command in ("link add vrrp4-p0 link p0 type macvlan mode bridge",
                            "link set dev vrrp4-p0 address 00:00:5e:00:01:05", "addr add 10.1.0.250/24 dev vrrp4-p0",
                            "link set dev vrrp4-p0 up"):
                node.ip(command)
            node.namespace.sysctl({"net.ipv4.conf.p0.arp_ignore": "1", "net.ipv4.conf.p0.arp_announce": "2"})  # what vrrpd wants: docs/features/kernel-state.md
            node.vtysh("configure", "interface p0", "vrrp 5", f"vrrp 5 priority {priority}", "vrrp 5 advertisement-interval 100",
                       "vrrp 5 ip 10.1.0.250", "end")
        eventually(lambda: "Master" in ra.vtysh("show vrrp") and "Backup" in lab["rb"].vtysh("show vrrp"), 20,
                   lambda: ra.vtysh("show vrrp") + lab["rb"].vtysh("show vrrp"))
        assert_reaches(h1, "10.1.0.250")
        assert gateway_mac(h1, "10.1.0.250") == "00:00:5e:00:01:05", "\n".join(
            node.run("ip -br link") + node.run("ip -br addr") + node.run("sysctl -a --pattern arp_ignore") for node in (ra, lab["rb"]))
        h1.ip("route add 10.2.0.9/32 via 10.1.0.250")
        lab["h2"].ip("route add 10.1.0.9/32 via 10.2.0.1")
        assert_reaches(h1, "10.2.0.9")
        assert "promiscuous because of additional MACs: port=p0" in ra.log.read_text()
        for mac, outcome in (("00:00:5e:00:01:05", "punt"), ("00:00:5e:00:01:06", "ether_not_ours")):
            explained = router.call("explain", interface="p0", source="10.1.0.9", destination="10.1.0.250", protocol="icmp",
                                    **{"destination-mac": mac})
            assert outcome in str(explained), explained
    finally:
        h1.run("ip route del 10.2.0.9/32", check=False)
        lab["h2"].run("ip route del 10.1.0.9/32", check=False)
        for node in (ra, lab["rb"]):
            node.vtysh("configure", "interface p0", "no vrrp 5", "end")
            node.run("ip link del vrrp4-p0", check=False)
        router.configure("delete port p0 promiscuous")
    eventually(lambda: accepted(ra, "p0") == [], 10, "the MAC goes with the macvlan")
