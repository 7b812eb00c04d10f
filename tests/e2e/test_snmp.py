# SPDX-License-Identifier: BSD-3-Clause
"""SNMP: a real snmpd, asked by net-snmp's own tools, has our interfaces and our routes by kamuee-snmp, and hears of links."""
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

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
"""


def left_out():
    """The modules of snmpd that the package leaves out."""
    return re.search(r"^ExecStart=/.* -I (\S+)", (ROOT / "deploy/snmp/snmpd.service.d/kamuee.conf").read_text(), re.MULTILINE)[1]


class Subagent:
    """kamuee-snmp between the two."""

    def __init__(self, daemon):
        self.daemon, self.process = daemon, None
        self.log = daemon.dir / "snmp-log"

    def start(self):
        program = Path(self.daemon.binary).parent / "src" / "mgmt" / "snmp" / "kamuee-snmp"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.daemon.name}", program, "--socket", self.daemon.socket,
                 "--agentx", f"{self.daemon.dir}/master"], stdout=log, stderr=log)
        return self

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(10) == 0
        self.process = None


class Snmpd:
    """snmpd in the daemon's namespace; it tells our receiver at port 1162 of traps."""

    def __init__(self, daemon):
        self.daemon, self.process = daemon, None
        self.config = daemon.dir / "snmpd.conf"
        self.config.write_text(
            f"rwcommunity public\nagentaddress udp:127.0.0.1:1161\nmaster agentx\nagentXSocket {daemon.dir}/master\nagentXPerms 0777 0755\n"
            "agentXTimeout 5\n"     # as deploy/snmp/snmpd.conf.d/kamuee.conf has it
            "com2sec -Cn red reds default ofred\ngroup reds v2c reds\nview all included .1\n"
            "access reds red any noauth exact all none none\ntrap2sink 127.0.0.1:1162 public\n")

    def start(self):
        self.process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.daemon.name}", "env", "MIBS=", f"SNMP_PERSISTENT_DIR={self.daemon.dir}/persistent",
             "snmpd", "-f", "-Ln", "-C", "-c", str(self.config), "-I", left_out()])
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

    def tried(self, oid):
        """A column, or nothing while it cannot be had."""
        try:
            return self.column(oid)
        except AssertionError:
            return {}

    def asked(self, oid):
        """A value, or None while it cannot be had."""
        try:
            return self.ask("snmpget", oid)[0][2]
        except AssertionError:
            return None

    def column(self, oid, **how):
        return {name[len(oid) + 1:]: value.strip('"') for name, _, value in self.ask("snmpbulkwalk", oid, **how)}


@pytest.fixture(scope="module")
def snmp(kamueed):
    daemon = Daemon(kamueed, "e2e-snmp")
    snmpd, subagent = Snmpd(daemon), Subagent(daemon)
    snmpd.subagent = subagent
    try:
        subagent.start()                                    # before both that it connects
        eventually(lambda: "does not answer" in subagent.log.read_text(), 20, "it is told that there is no kamueed yet")
        daemon.start(CONFIG.format(dir=daemon.dir))
        snmpd.start()
        eventually(lambda: "p0" in snmpd.column(f"{IFX}.1").values() and "ifTable", 20, lambda: subagent.log.read_text())
        eventually(lambda: "port p0" in snmpd.column(f"{IF}.2").values(), 20, lambda: subagent.log.read_text())
        yield daemon, snmpd
    finally:
        subagent.stop()
        snmpd.stop()
        daemon.end()


def numbers(daemon):
    """ifIndex of each of our interfaces."""
    return {i["name"]: i["if-index"] for i in daemon.client.entries("interface")}


def links(daemon):
    """Linux's interfaces in the namespace: name to ifindex."""
    return {link["ifname"]: link["ifindex"] for link in json.loads(daemon.run("ip -j link"))}


def rows(daemon, vr, family):
    """The routes that the daemon has in its FIB, as (prefix bytes, length, interface id, gateway bytes)."""
    ids = numbers(daemon)
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
    entries = {str(i["if-index"]): i for i in daemon.client.entries("interface")}
    assert len(entries) == 3 and all(i["if-index"] == i["ifindex"] for i in entries.values())
    all_links = links(daemon)                              # TAPs, the other ends, what else Linux has: with Linux's numbers
    assert snmpd.column(f"{IFX}.1") == {str(index): name for name, index in all_links.items()}
    assert snmpd.ask("snmpget", ".1.3.6.1.2.1.2.1.0")[0][2] == str(len(all_links))
    mtu = snmpd.column(f"{IF}.4")
    assert all(mtu[key] == str(i["mtu"]) for key, i in entries.items())
    described, type_of = snmpd.column(f"{IF}.2"), snmpd.column(f"{IF}.3")
    assert {described[key] for key in entries} == {"port p0", "port p1", "vport v40 of port p0"}
    eventually(lambda: {value for key, value in snmpd.column(f"{IF}.8").items() if key in entries} == {"1"}, 20, "all are up")
    lo, b1 = str(all_links["lo"]), str(all_links["b1"])
    assert (described[lo], type_of[lo], described[b1], type_of[b1]) == ("lo", "24", "b1", "6")
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
                   for name in ('interface_rx_packets_total{interface="p0",vr="default"}', 'port_rx_packets_total{port="p0"}')]
        ietf = re.search(r'"in-unicast-pkts":"(\d+)"', body("/restconf/data/ietf-interfaces:interfaces/interface=p0"))
        index = str(numbers(daemon)["p0"])
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
    def red() -> set:
        return {row(i) for i in snmpd.column(f"{ROUTE}.7", community="ofred")}
    # The link-local address of v40 may still be in duplicate address detection.
    eventually(lambda: red() == all_rows(daemon, "red"), 20, lambda: str(red() ^ all_rows(daemon, "red")))
    assert (socket.inet_aton("192.0.2.0"), 24) in {r[:2] for r in red()}


def ip_addresses(daemon, device):
    """Linux's addresses on a TAP: {(type, bytes of the index): prefix length}."""
    found = {}
    ids = numbers(daemon)
    for link in json.loads(daemon.run(f"ip -j addr show dev {device}")):
        for a in link["addr_info"]:
            packed = socket.inet_pton(socket.AF_INET if a["family"] == "inet" else socket.AF_INET6, a["local"])
            kind = 1 if a["family"] == "inet" else 4 if a["scope"] == "link" else 2
            found[kind, packed + (ids[device].to_bytes(4, "big") if kind == 4 else b"")] = a["prefixlen"]
    return found


def address(numbers):
    """(type, bytes), and the numbers after them."""
    kind, size, *rest = numbers
    return (kind, bytes(rest[:size])), rest[size:]


def test_addresses_and_neighbors_have_the_numbers_of_the_interfaces(snmp):
    daemon, snmpd = snmp
    for a in ("10.1.0.1/24", "10.1.0.130/25", "2001:db8:1::1/64"):
        daemon.run(f"ip addr replace {a} dev p0 {'nodad' if ':' in a else ''}")
    daemon.run("ip addr replace 192.0.2.1/24 dev b1")                          # what Linux has of its own
    daemon.run("ip link set v40 up")
    daemon.run("ip addr replace 10.40.0.1/24 dev v40")
    daemon.run("ip addr replace 10.40.0.130/25 dev v40")
    daemon.run("ip neigh replace 10.1.0.77 lladdr 02:00:00:00:00:77 dev p0 nud permanent")
    daemon.run("ip neigh replace 10.40.0.77 lladdr 02:00:00:00:40:77 dev v40 nud permanent")
    snmpd.stop()                                                               # it keeps addresses for a minute
    snmpd.start()
    eventually(lambda: "port p0" in snmpd.tried(f"{IF}.2").values(), 20, "kamuee-snmp has found it")
    ids = numbers(daemon)

    def names_of(column, **how):
        names = snmpd.column(f"{IFX}.1")
        return {index: names[value] for index, value in snmpd.column(column, **how).items()}

    eventually(lambda: {"10.1.0.1": "p0", "192.0.2.1": "b1", "10.40.0.1": "v40", "127.0.0.1": "lo"}.items()
               <= names_of(".1.3.6.1.2.1.4.20.1.2").items(), 20, "the agent's own ipAdEntIfIndex")
    assert {"1.4.10.1.0.1": "p0", "1.4.192.0.2.1": "b1", "1.4.10.40.0.1": "v40"}.items() <= names_of(f"{ADDRESS}.3").items()
    assert f"{ids['p0']}.10.1.0.77" in snmpd.column(".1.3.6.1.2.1.4.22.1.2")    # the agent's own ipNetToMediaPhysAddress

    def walked(**how):
        return {(*address(map(int, index.split(".")))[0], int(value)) for index, value in snmpd.column(f"{ADDRESS}.3", **how).items()}

    red = {"community": "ofred"}
    def wanted():
        return {(kind, packed, ids["v40"]) for kind, packed in ip_addresses(daemon, "v40")}
    assert len(wanted()) >= 2
    eventually(lambda: walked(**red) == wanted(), 20, lambda: str((walked(**red), wanted())))
    lengths = {}
    for index, pointer in snmpd.column(f"{ADDRESS}.5", **red).items():         # a row of ipAddressPrefixTable, which is there
        assert pointer.startswith(f"{PREFIX}.5.")
        assert snmpd.ask("snmpget", pointer, **red)[0][2] == "1"
        lengths[address(map(int, index.split(".")))[0]] = int(pointer.rpartition(".")[2])
    assert lengths == ip_addresses(daemon, "v40")
    key = f"{ids['v40']}.1.4.10.40.0.77"
    eventually(lambda: key in snmpd.column(f"{NEIGHBOR}.4", **red), 20, "the neighbor is there")
    assert snmpd.column(f"{NEIGHBOR}.4", **red)[key].split() == ["02", "00", "00", "00", "40", "77"]
    assert (snmpd.column(f"{NEIGHBOR}.6", **red)[key], snmpd.column(f"{NEIGHBOR}.7", **red)[key]) == ("4", "1")   # static, reachable


def test_nothing_can_be_set(snmp):
    daemon, snmpd = snmp
    with pytest.raises(AssertionError, match="notWritable"):
        snmpd.ask("snmpset", f"{IF}.7.{numbers(daemon)['p0']}", "i", "2")
    assert "p0" in snmpd.column(f"{IFX}.1").values()


def test_a_text_is_ascii_and_whole(snmp):
    daemon, snmpd = snmp
    daemon.configure(f'set interface p0 description "{"x" * 63}é."')
    port = str(numbers(daemon)["p0"])
    eventually(lambda: snmpd.column(f"{IFX}.18")[port] == "x" * 63 + "?", 20, lambda: str(snmpd.column(f"{IFX}.18")))
    daemon.configure("delete interface p0 description")


def test_a_link_that_goes_down_is_told(snmp):
    daemon, snmpd = snmp
    program = ("import socket,sys; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(('127.0.0.1',1162)); print('ready',flush=True)\n"
               "while 1: print(s.recv(2000).hex(), flush=True)")
    with subprocess.Popen(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", program], stdout=subprocess.PIPE, text=True) as traps:
        try:
            assert traps.stdout.readline() == "ready\n"
            port = str(numbers(daemon)["p1"])
            daemon.run("ip link set b1 down")
            eventually(lambda: snmpd.column(f"{IF}.8")[port] == "2", 20, "ifOperStatus")
            assert LINK_DOWN in traps.stdout.readline()
            daemon.run("ip link set b1 up")
            assert LINK_UP in traps.stdout.readline()
            eventually(lambda: snmpd.column(f"{IF}.8")[port] == "1", 20, "ifOperStatus")
            daemon.run("ip link set p1 down")
            assert LINK_DOWN in traps.stdout.readline()
            daemon.run("ip link set p1 up")
            assert LINK_UP in traps.stdout.readline()
        finally:
            traps.kill()


JITTER = 200        # hundredths of a second that an answer of the agent may take on a busy machine; a time that began anew is off by 300


def ticks(snmpd, oid):
    return int(re.search(r"\((\d+)\)", snmpd.ask("snmpget", oid)[0][2])[1])


def test_times_are_those_of_the_agent(snmp):
    """sysUpTime continues over a restart of kamueed and of kamuee-snmp, and changes are dated by it."""
    daemon, snmpd = snmp
    port = str(numbers(daemon)["p1"])
    last, began = f"{IF}.9.{port}", f"{IFX}.19.{port}"

    def uptime():
        return ticks(snmpd, ".1.3.6.1.2.1.1.3.0")

    before = uptime()
    daemon.run("ip link set b1 down")
    eventually(lambda: snmpd.column(f"{IF}.8")[port] == "2", 20, "ifOperStatus")
    assert before <= ticks(snmpd, last) <= uptime()
    daemon.run("ip link set b1 up")
    eventually(lambda: snmpd.column(f"{IF}.8")[port] == "1", 20, "ifOperStatus")
    up = ticks(snmpd, last)
    assert before < up <= uptime() and up - before < 2000
    eventually(lambda: uptime() > up + 300, 20, "time passes")
    table, since = ticks(snmpd, ".1.3.6.1.2.1.31.1.5.0"), ticks(snmpd, began)
    snmpd.subagent.stop()
    snmpd.subagent.start()
    eventually(lambda: "port p1" in snmpd.column(f"{IF}.2").values(), 20, "kamuee-snmp is there again")
    assert abs(ticks(snmpd, last) - up) <= JITTER and abs(ticks(snmpd, began) - since) <= JITTER
    assert ticks(snmpd, ".1.3.6.1.2.1.31.1.5.0") > table                        # the table was the agent's own meanwhile
    table, names = ticks(snmpd, ".1.3.6.1.2.1.31.1.5.0"), snmpd.column(f"{IFX}.1")
    daemon.run("ip addr replace 10.1.0.2/24 dev b0")
    daemon.stop()
    daemon.start(daemon.file.read_text())
    eventually(lambda: snmpd.asked(f"{IF}.8.{port}") == "1", 20, "kamueed is there again")
    assert abs(ticks(snmpd, began) - since) <= JITTER and snmpd.column(f"{IFX}.1") == names   # an ordered stop: counters go on
    assert ticks(snmpd, ".1.3.6.1.2.1.31.1.5.0") == table
    killed = uptime()
    daemon.process.kill()
    daemon.process.wait(10)
    daemon.start(daemon.file.read_text())
    eventually(lambda: snmpd.asked(f"{IF}.8.{port}") == "1" and ticks(snmpd, began) >= killed, 20,   # counters begin at 0, and the manager is told
               "the new kamueed's counters are there")                               # until then the old state is served whole
    assert snmpd.column(f"{IFX}.1") == names
    eventually(lambda: ticks(snmpd, began) <= uptime(), 20, "not in the future")


def test_while_kamueed_is_away_nothing_false_is_told(snmp):
    daemon, snmpd = snmp
    eventually(lambda: "port p0" in snmpd.column(f"{IF}.2").values(), 20, "all are there")
    daemon.stop()
    try:
        def refused():
            try:
                snmpd.column(f"{IF}.2")
            except AssertionError as error:
                return "genError" in str(error)
            return False
        eventually(refused, 20, "an error, and not the TAPs with Linux's counters")
        assert snmpd.ask("snmpget", ".1.3.6.1.2.1.1.3.0")
    finally:
        daemon.start(daemon.file.read_text())
    eventually(lambda: "port p0" in snmpd.tried(f"{IF}.2").values(), 20, "all are there again")


def test_a_walk_of_all_ends_with_many_routes(snmp):
    """net-snmp's own modules read the kernel's whole table for each question; the package leaves them out."""
    daemon, snmpd = snmp
    daemon.run("ip addr replace 10.1.0.1/24 dev p0")
    batch = daemon.dir / "routes"
    batch.write_text("".join(f"route replace 20.{i >> 8}.{i & 255}.0/24 via 10.1.0.9\n" for i in range(20000)))
    daemon.run(f"ip -batch {batch}")
    eventually(lambda: len(snmpd.column(f"{ROUTE}.7", more=("-Cr50",))) > 20000, 60, "all routes are there")
    for old in ("4.21", "4.24.3", "4.24.4"):
        assert not [value for _, _, value in snmpd.ask("snmpbulkwalk", f".1.3.6.1.2.1.{old}") if "No Such" not in value]
    assert len(snmpd.ask("snmpbulkwalk", ".1.3.6.1.2.1.4", more=("-Cr50",))) > 20000 * 11
    daemon.run("ip route flush root 20.0.0.0/8")


def test_an_agent_that_starts_again_is_found(snmp):
    daemon, snmpd = snmp
    snmpd.stop()
    snmpd.start()
    eventually(lambda: "port p0" in snmpd.tried(f"{IF}.2").values(), 20, lambda: snmpd.subagent.log.read_text())
    up = ticks(snmpd, ".1.3.6.1.2.1.1.3.0")
    assert ticks(snmpd, f"{IF}.9.{numbers(daemon)['p0']}") == 0 and ticks(snmpd, ".1.3.6.1.2.1.31.1.5.0") <= up
    daemon.configure("set vr green table 200")
    eventually(lambda: "green" in str(daemon.client.entries("vr")), 20, "a virtual router more")
    snmpd.subagent.stop()
    eventually(lambda: "port p0" not in snmpd.tried(f"{IF}.2").values() and "p0" in snmpd.tried(f"{IF}.2").values(), 20,
               "the agent's own are back")
    snmpd.subagent.start()
    eventually(lambda: "port p0" in snmpd.tried(f"{IF}.2").values(), 20, "and ours again")
