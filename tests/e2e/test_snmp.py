# SPDX-License-Identifier: BSD-3-Clause
"""SNMP: a real snmpd, asked by net-snmp's own tools, has our interfaces and our routes, and hears of links."""
import json
import re
import signal
import socket
import subprocess
import sys

import pytest

from conftest import ROOT
from daemon import Daemon
from support import eventually

ROUTE = ".1.3.6.1.2.1.4.24.7.1"
IF = ".1.3.6.1.2.1.2.2.1"
PREFIX, ADDRESS, NEIGHBOR = ".1.3.6.1.2.1.4.32.1", ".1.3.6.1.2.1.4.34.1", ".1.3.6.1.2.1.4.35.1"
IFX = ".1.3.6.1.2.1.31.1.1.1"
LINK_DOWN, LINK_UP = "2b0601060301010503", "2b0601060301010504"     # as they lie in a message

CONFIG = """
set vr red table 100
set port p0 devargs net_af_packet0,iface=a0
set port p1 devargs net_af_packet1,iface=a1
set vport v40 port p0 vlan 40
set interface v40 vr red
set snmp agentx {dir}/master
"""


class Snmpd:
    """snmpd in the daemon's namespace; it tells our receiver at port 1162 of traps."""

    def __init__(self, daemon):
        self.daemon, self.process = daemon, None
        self.config = daemon.dir / "snmpd.conf"
        self.config.write_text(
            f"rwcommunity public\nagentaddress udp:127.0.0.1:1161\nmaster agentx\nagentXSocket {daemon.dir}/master\nagentXPerms 0777 0755\n"
            "com2sec -Cn red reds default ofred\ngroup reds v2c reds\nview all included .1\n"
            "access reds red any noauth exact all none none\ntrap2sink 127.0.0.1:1162 public\n")

    def start(self):
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.daemon.name}", "env", "MIBS=", f"SNMP_PERSISTENT_DIR={self.daemon.dir}/persistent",
             "snmpd", "-f", "-Ln", "-C", "-c", str(self.config), "-I", "-smux"])
        return self

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(10)
        self.process = None

    def ask(self, program, *oids, community="public", more=()):
        """[(oid, type, value)]"""
        done = subprocess.run(["ip", "netns", "exec", self.daemon.name, "env", "MIBS=", program, "-v2c", "-c", community, "-On", "-t", "5",
                               "-r", "2", *more, "127.0.0.1:1161", *oids], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
        return [re.match(r"(\S+) = (?:([\w-]+): )?(.*)", line).groups() for line in done.stdout.splitlines()]

    def column(self, oid, **how):
        return {name[len(oid) + 1:]: value.strip('"') for name, _, value in self.ask("snmpbulkwalk", oid, **how)}


@pytest.fixture(scope="module")
def snmp(kamueed):
    daemon = Daemon(kamueed, "e2e-snmp")
    snmpd = Snmpd(daemon)
    try:
        daemon.start(CONFIG.format(dir=daemon.dir))
        eventually(lambda: "No such file" in daemon.client.state("snmp")["error"], 20, "it is told that there is no snmpd yet")
        assert daemon.client.state("snmp")["status"] == "connecting"
        snmpd.start()
        eventually(lambda: daemon.client.state("snmp")["status"] == "up", 20, lambda: str(daemon.client.state("snmp")))
        eventually(lambda: "p0" in snmpd.column(f"{IFX}.1").values(), 20, "snmpd answers")
        yield daemon, snmpd
    finally:
        snmpd.stop()
        daemon.end()


def rows(daemon, vr, family):
    """The routes that the daemon has in its FIB, as (prefix bytes, length, interface id, gateway bytes)."""
    ids = {i["name"]: i["id"] for i in daemon.client.entries("interface")}
    routes = daemon.client.rows(f"routes={vr},{family}", "route")
    af = socket.AF_INET if family == "ipv4" else socket.AF_INET6
    found = set()
    for r in routes:
        if r["active"] and r["type"] not in ("broadcast", "multicast"):
            address, _, length = r["prefix"].partition("/")
            for hop in r["hop"] or [{}]:
                gateway = hop.get("gateway")
                found.add((socket.inet_pton(af, address), int(length), ids.get(hop.get("interface"), 0),
                           socket.inet_pton(socket.AF_INET6 if ":" in gateway else socket.AF_INET, gateway) if gateway else b""))
    return found


def row(index):
    n = list(map(int, index.split(".")))
    size = n[1]
    length, policy, hop = n[2 + size], n[3 + size:7 + size], n[7 + size:]
    assert policy[:3] == [3, 0, 0] and len(hop) == 2 + hop[1]
    return bytes(n[2:2 + size]), length, policy[3], bytes(hop[2:])


def all_rows(daemon, vr):
    return rows(daemon, vr, "ipv4") | rows(daemon, vr, "ipv6")


def test_interfaces_are_ours_with_64_bit_counters(snmp):
    daemon, snmpd = snmp
    entries = {str(i["id"]): i for i in daemon.client.entries("interface")}
    assert snmpd.column(f"{IFX}.1") == {key: i["name"] for key, i in entries.items()}
    assert snmpd.ask("snmpget", ".1.3.6.1.2.1.2.1.0")[0][2] == "3"
    assert snmpd.column(f"{IF}.4") == {key: str(i["mtu"]) for key, i in entries.items()}
    assert set(snmpd.column(f"{IF}.8").values()) == {"1"}
    stack = snmpd.column(".1.3.6.1.2.1.31.1.2.1.3")
    port, vport = (next(key for key, i in entries.items() if i["name"] == name) for name in ("p0", "v40"))
    assert f"{vport}.{port}" in stack and f"0.{vport}" in stack and f"{port}.0" in stack and f"0.{port}" not in stack
    name, kind, value = snmpd.ask("snmpget", f"{IFX}.7.{port}")[0]
    before = int(value)
    assert kind == "Counter64"
    daemon.run("ip addr replace 10.1.0.2/24 dev b0")
    daemon.run("ping -c 3 -i 0.05 -W 1 10.1.0.1", check=False)
    assert eventually(lambda: int(snmpd.column(f"{IFX}.7")[port]) > before, 10, "packets are counted")


def test_what_is_cleared_is_shown_from_0_and_goes_on_for_machines(snmp):
    daemon, snmpd = snmp

    def shown(*words: str) -> str:
        return subprocess.run([sys.executable, ROOT / "kamuee", "--socket", daemon.socket, *words], capture_output=True, text=True, check=True).stdout

    def body(target: str) -> str:
        return daemon.ask("GET", target).decode().partition("\r\n\r\n")[2]

    def told() -> list[int]:
        metrics = [int(re.search(rf'^kamuee_{name} (\d+)$', body("/metrics"), re.MULTILINE)[1])
                   for name in ('interface_rx_packets_total{iface="p0",vr="default"}', 'port_rx_packets_total{port="p0"}')]
        ietf = re.search(r'"in-unicast-pkts":"(\d+)"', body("/restconf/data/ietf-interfaces:interfaces/interface=p0"))
        index = next(str(i["id"]) for i in daemon.client.entries("interface") if i["name"] == "p0")
        return [*metrics, int(ietf[1]), int(snmpd.column(f"{IFX}.7")[index])]

    def received(name: str) -> int:
        return int(re.search(r"received +([\d,]+) packets", shown("show", "interface", name))[1].replace(",", ""))

    def began() -> str:
        return re.search(r'"discontinuity-time":"[^"]+"', body("/restconf/data/ietf-interfaces:interfaces/interface=p0"))[0]

    daemon.run("ip addr replace 10.1.0.2/24 dev b0")
    daemon.run("ping -c 20 -i 0.01 -W 1 10.1.0.1", check=False)
    before, since = eventually(lambda: min(told()) > 0 and told(), 10, "packets are counted"), began()
    assert re.search("cleared +never", shown("show", "interface", "p0"))
    assert shown("clear", "counters", "interface", "p0") == "counters of interface p0 cleared\n"
    seen = shown("show", "interface", "p0")
    assert re.search(r"cleared +20\d\d-\d\d-\d\d", seen) and received("p0") < before[0], seen
    assert "never" in shown("show", "interface", "v40") and "cleared" not in shown("show", "port", "statistics")
    shown("clear", "counters")
    assert re.search(r"counters cleared .*: p0 p1 v40\n|(: .*\n){2}", shown("show", "interface", "statistics"))
    assert "cleared" in shown("show", "port", "p0", "statistics")
    after = told()
    assert all(a >= b for a, b in zip(after, before)) and began() == since, (before, after)
    daemon.run("ping -c 20 -i 0.01 -W 1 10.1.0.1", check=False)
    eventually(lambda: received("p0") > 0 and all(a > b for a, b in zip(told(), after)), 10, "all of them go on")
    refused = subprocess.run([sys.executable, ROOT / "kamuee", "--socket", daemon.socket, "clear", "counters", "interface", "p9"],
                             capture_output=True, text=True)
    assert refused.returncode == 1 and "there is no interface 'p9'" in refused.stderr


def test_routes_are_those_of_the_fib_in_each_virtual_router(snmp):
    daemon, snmpd = snmp
    daemon.run("ip addr replace 10.1.0.1/24 dev p0")
    for i in range(300):
        daemon.run(f"ip route replace 10.{100 + i // 256}.{i % 256}.0/24 via 10.1.0.{2 + i % 3}")
    daemon.run("ip route replace 10.8.0.0/16 nexthop via 10.1.0.2 nexthop via 10.1.0.3")
    daemon.run("ip route replace blackhole 10.7.0.0/16")
    daemon.run("ip -6 route replace blackhole 2001:db8:7::/48")
    daemon.run("ip link set v40 up")
    daemon.run("ip route replace 192.0.2.0/24 dev v40 table 100")
    eventually(lambda: {row(i) for i in snmpd.column(f"{ROUTE}.7")} == all_rows(daemon, "default"), 20,
               lambda: str({row(i) for i in snmpd.column(f"{ROUTE}.7")} ^ all_rows(daemon, "default")))
    assert len(rows(daemon, "default", "ipv4")) > 300
    index = "1.4.10.7.0.0.16.3.0.0.0.0.0"
    assert snmpd.ask("snmpget", f"{ROUTE}.8.{index}")[0][2] == "5"     # blackhole
    assert [name for name, _, _ in snmpd.ask("snmpwalk", f"{ROUTE}.8")] == \
        [name.replace(f"{ROUTE}.7.", f"{ROUTE}.8.") for name, _, _ in snmpd.ask("snmpbulkwalk", f"{ROUTE}.7")]
    red = {row(i) for i in snmpd.column(f"{ROUTE}.7", community="ofred")}
    assert red == all_rows(daemon, "red") and (socket.inet_aton("192.0.2.0"), 24) in {r[:2] for r in red}


def ip_addresses(daemon, device):
    """What Linux has on a TAP: {(type, bytes of the index): prefix length}."""
    found = {}
    ids = {i["name"]: i["id"] for i in daemon.client.entries("interface")}
    for link in json.loads(daemon.run(f"ip -j addr show dev {device}")):
        for a in link["addr_info"]:
            packed = socket.inet_pton(socket.AF_INET if a["family"] == "inet" else socket.AF_INET6, a["local"])
            kind = 1 if a["family"] == "inet" else 4 if a["scope"] == "link" else 2
            found[kind, packed + (ids[device].to_bytes(4, "big") if kind == 4 else b"")] = a["prefixlen"]
    return found


def address(numbers):
    """(type, bytes), and what is behind them."""
    kind, size, *rest = numbers
    return (kind, bytes(rest[:size])), rest[size:]


def test_addresses_and_neighbors_are_those_of_our_interfaces(snmp):
    daemon, snmpd = snmp
    for a in ("10.1.0.1/24", "10.1.0.130/25", "2001:db8:1::1/64"):
        daemon.run(f"ip addr replace {a} dev p0 {'nodad' if ':' in a else ''}")
    daemon.run("ip link set v40 up")
    daemon.run("ip addr replace 10.40.0.1/24 dev v40")
    daemon.run("ip neigh replace 10.1.0.77 lladdr 02:00:00:00:00:77 dev p0 nud permanent")
    ids = {i["name"]: i["id"] for i in daemon.client.entries("interface")}
    wanted = lambda: {(kind, packed, ids[name]) for name in ("p0", "p1") for kind, packed in ip_addresses(daemon, name)}  # noqa: E731

    def walked(**how):
        return {(*address(map(int, index.split(".")))[0], int(value)) for index, value in snmpd.column(f"{ADDRESS}.3", **how).items()}
    eventually(lambda: walked() == wanted(), 20, lambda: str((walked(), wanted())))
    assert len(wanted()) >= 4
    assert {key[:2] for key in walked(community="ofred")} == set(ip_addresses(daemon, "v40"))
    lengths = {}
    for index, pointer in snmpd.column(f"{ADDRESS}.5").items():                # a row of ipAddressPrefixTable, which is there
        assert pointer.startswith(f"{PREFIX}.5.")
        assert snmpd.ask("snmpget", pointer)[0][2] == "1"
        lengths[address(map(int, index.split(".")))[0]] = int(pointer.rpartition(".")[2])
    assert lengths == {**ip_addresses(daemon, "p0"), **ip_addresses(daemon, "p1")}
    key = f"{ids['p0']}.1.4.10.1.0.77"
    eventually(lambda: key in snmpd.column(f"{NEIGHBOR}.4"), 20, "the neighbor is there")
    assert snmpd.column(f"{NEIGHBOR}.4")[key].split() == ["02", "00", "00", "00", "00", "77"]
    assert (snmpd.column(f"{NEIGHBOR}.6")[key], snmpd.column(f"{NEIGHBOR}.7")[key]) == ("4", "1")   # static, reachable
    ours = {f"{ids[n['interface']]}" for n in daemon.client.entries("neighbor") if n["vr"] == "default"}
    assert {index.split(".")[0] for index in snmpd.column(f"{NEIGHBOR}.4")} == ours   # the kernel's other links are not among them


def test_nothing_can_be_set(snmp):
    daemon, snmpd = snmp
    with pytest.raises(AssertionError, match="notWritable"):
        snmpd.ask("snmpset", f"{IF}.7.1", "i", "2")
    assert daemon.client.state("snmp")["status"] == "up"


def test_a_link_that_goes_down_is_told(snmp):
    daemon, snmpd = snmp
    program = ("import socket,sys; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('127.0.0.1',1162)); print('ready',flush=True)\n"
               "while 1: print(s.recv(2000).hex(), flush=True)")
    with subprocess.Popen(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", program], stdout=subprocess.PIPE, text=True) as traps:
        try:
            assert traps.stdout.readline() == "ready\n"
            port = next(str(i["id"]) for i in daemon.client.entries("interface") if i["name"] == "p1")
            daemon.run("ip link set b1 down")
            eventually(lambda: snmpd.column(f"{IF}.8")[port] == "2", 20, "ifOperStatus")
            assert LINK_DOWN in traps.stdout.readline()
            daemon.run("ip link set b1 up")
            assert LINK_UP in traps.stdout.readline()
        finally:
            traps.kill()
    assert int(daemon.client.state("snmp")["notifications"]) >= 2


def test_an_snmpd_that_starts_again_is_found_and_off_is_off(snmp):
    daemon, snmpd = snmp
    snmpd.stop()
    eventually(lambda: daemon.client.state("snmp")["status"] == "connecting", 20, lambda: str(daemon.client.state("snmp")))
    snmpd.start()
    eventually(lambda: daemon.client.state("snmp")["status"] == "up", 20, lambda: str(daemon.client.state("snmp")))
    eventually(lambda: "v40" in snmpd.column(f"{IFX}.1").values(), 20, "snmpd answers")
    daemon.configure("delete snmp")
    assert daemon.client.state("snmp")["status"] == "off"
    eventually(lambda: "v40" not in [value for key, value in snmpd.column(f"{IFX}.1").items() if key == "3"], 20, "the kernel's own are back")
    with pytest.raises(Exception, match="expected the path of a UNIX socket"):
        daemon.configure("set snmp agentx nonsense")
    daemon.configure(f"set snmp agentx {daemon.dir}/master")
    eventually(lambda: daemon.client.state("snmp")["status"] == "up", 20, lambda: str(daemon.client.state("snmp")))
