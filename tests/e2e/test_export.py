# SPDX-License-Identifier: BSD-3-Clause
"""sFlow, read by a reader of its own (sflow.py), and IPFIX, collected by nfdump's nfcapd."""
import json
import re
import signal
import socket
import struct
import subprocess

import pytest

import sflow
from daemon import Daemon
from support import eventually

CONFIG = """
set port p0 devargs net_af_packet0,iface=a0
set port p1 devargs net_af_packet1,iface=a1
set vport v40 port p0 vlan 40
set interface p0 sflow true
set interface p0 ipfix true
set interface v40 sflow true
"""
LISTEN = """import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)     # SO_RCVBUFFORCE
s.bind(('127.0.0.1', int(sys.argv[1]))); s.settimeout(0.5); print('ready', flush=True)
while True:
    try: print(s.recv(65536).hex(), flush=True)
    except TimeoutError: print(flush=True)
"""
SEND = """import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('b0', 0))
for line in sys.stdin: s.send(bytes.fromhex(line))
"""


def ip_checksum(header):
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    return ~(total % 65535) & 0xffff


def udp4(mac, source, target, sport, dport, size, tag=b""):
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + size, 0, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(target))
    ip = ip[:10] + struct.pack("!H", ip_checksum(ip)) + ip[12:]
    return mac + b"\x02\0\0\0\0\x99" + tag + b"\x08\0" + ip + struct.pack("!HHHH", sport, dport, 8 + size, 0) + bytes(size)


def udp6(mac, source, target, sport, dport, size):
    return (mac + b"\x02\0\0\0\0\x99\x86\xdd" + struct.pack("!IHBB", 0x60000000, 8 + size, 17, 64)
            + socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, target)
            + struct.pack("!HHHH", sport, dport, 8 + size, 1) + bytes(size))


class Collector:
    """The datagrams that come to a UDP port of loopback in the daemon's namespace."""

    def __init__(self, daemon, port):
        self.process = subprocess.Popen(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", LISTEN, str(port)],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def datagrams(self, enough):
        """All until `enough(datagrams)`."""
        found = []

        def more():
            line = self.process.stdout.readline().strip()
            if line:
                found.append(sflow.datagram(bytes.fromhex(line)))
            return enough(found)
        eventually(more, 20, lambda: str(found)[:2000], step_s=0)
        return found


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "e2e-export") as daemon:
        daemon.start(CONFIG)
        for i in range(3):
            daemon.run(f"sysctl -q net.ipv6.conf.b{i}.disable_ipv6=1")     # says nothing of its own
        for line in ("addr add 10.1.0.1/24 dev p0", "addr add 10.2.0.1/24 dev p1", "-6 addr add fd00:2::1/64 dev p1 nodad",
                     "neigh replace 10.2.0.2 lladdr 02:00:00:00:00:22 dev p1", "neigh replace fd00:2::2 lladdr 02:00:00:00:00:22 dev p1",
                     "route replace 203.0.113.0/24 via 10.2.0.2", "-6 route replace 2001:db8::/32 via fd00:2::2",
                     "route replace blackhole 198.18.0.0/15"):
            daemon.run(f"ip {line}")
        eventually(lambda: daemon.client.call("lookup", address=["203.0.113.9"])["result"][0]["kind"] == "adjacency", 20, "the next hop")
        eventually(lambda: daemon.client.call("lookup", address=["2001:db8::9"])["result"][0]["kind"] == "adjacency", 20, "the next hop")
        yield daemon


def mac(daemon):
    return bytes.fromhex(next(i["mac"] for i in daemon.client.entries("interface") if i["name"] == "p0").replace(":", ""))


def ids(daemon):
    return {i["name"]: i["if-index"] for i in daemon.client.entries("interface")}


def send(daemon, frames):
    subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", SEND], check=True, text=True,
                   input="\n".join(f.hex() for f in frames))


def flows_of(datagrams):
    return [f for d in datagrams for f in d["flow"]]


def test_sflow_has_each_packet_at_rate_1_and_says_where_it_goes(daemon):
    to, n = mac(daemon), ids(daemon)
    tag = b"\x81\0" + struct.pack("!H", 3 << 13 | 40)
    frames = [udp4(to, "10.1.0.9", "203.0.113.9", 1000 + i, 2000, 100) for i in range(150)]
    frames += [udp6(to, "fd00:1::9", "2001:db8::9", 5, 6, 300), udp4(to, "10.1.0.9", "198.18.0.1", 1, 2, 10),
               udp4(to, "10.1.0.9", "10.2.0.2", 3, 4, 60, tag), udp4(to, "10.1.0.9", "192.0.2.1", 7, 8, 60)]
    with Collector(daemon, 6343) as collector:
        daemon.configure("set sflow collector 127.0.0.1", "set sflow sample-rate 1", "set sflow polling-interval 1")
        send(daemon, frames)
        wanted = {f[:128] for f in frames}

        def counters(datagrams):
            return [c for d in datagrams for c in d["counters"]]
        found = collector.datagrams(lambda d: len([f for f in flows_of(d) if f["header"] in wanted]) >= len(frames) and len(counters(d)) >= 4
                                    and any(c["index"] == n["p0"] and c["in packets"] >= 150 for c in counters(d)))
    flows = [f for f in flows_of(found) if f["header"] in wanted]
    by = {f["header"]: f for f in flows}
    assert len(flows) == len(by) == len(frames)
    for frame in frames[:150]:
        f = by[frame[:128]]
        assert (f["input"], f["output"], f["source"], f["rate"]) == (n["p0"], n["p1"], n["p0"], 1)
        assert (f["length"], f["stripped"]) == (len(frame) + 4, 4)
        assert (f["next hop"], f["source bits"], f["destination bits"]) == ("10.2.0.2", 24, 24)
    six, hole, tagged, lost = (by[frame[:128]] for frame in frames[150:])
    assert (six["next hop"], six["destination bits"], six["output"]) == ("fd00:2::2", 32, n["p1"])
    assert hole["output"] >> 30 == 1 and hole["destination bits"] == 15
    assert (tagged["input"], tagged["vlan"], tagged["priority"]) == (n["v40"], 40, 3)
    assert (tagged["next hop"], tagged["output"]) == ("0.0.0.0", n["p1"])     # on link
    assert lost["output"] == 0
    assert [d["sequence"] for d in found] == list(range(found[0]["sequence"], found[0]["sequence"] + len(found)))
    own = [f["sequence"] for f in flows_of(found) if f["source"] == n["p0"]]
    assert own == list(range(own[0], own[0] + len(own)))
    assert {c["index"] for c in counters(found)} == {n["p0"], n["v40"]}
    assert all(c["status"] == 3 and c["in multicast"] == 0xffffffff for c in counters(found))
    state = daemon.client.state("sflow")
    assert state["status"] == "up" and state["agent-address"] == "127.0.0.1" and state["interface"] == ["p0", "v40"]
    assert int(state["samples"]) >= len(frames) and int(state["samples-missed"]) == 0
    daemon.configure("delete sflow")


def test_sflow_sends_as_much_of_a_packet_as_is_configured(daemon):
    frame = udp4(mac(daemon), "10.1.0.9", "203.0.113.9", 9, 9, 300)
    with Collector(daemon, 6343) as collector:
        daemon.configure("set sflow collector 127.0.0.1", "set sflow sample-rate 1", "set sflow header-size 64")
        send(daemon, [frame])
        found = flows_of(collector.datagrams(lambda d: any(f["header"] == frame[:64] for f in flows_of(d))))
    daemon.configure("delete sflow")
    assert max(len(f["header"]) for f in found) == 64


def test_a_collector_that_is_not_there_is_told_of_and_harms_nobody(daemon):
    daemon.configure("set sflow collector 192.0.2.99", "set sflow collector 127.0.0.1 port 9999", "set sflow polling-interval 1")

    def collectors():
        return {c["address"]: c for c in daemon.client.state("sflow")["collector"]}
    eventually(lambda: int(collectors()["192.0.2.99"]["datagrams-lost"]) > 0 and int(collectors()["127.0.0.1"]["datagrams-lost"]) > 0, 20,
               lambda: str(collectors()))
    assert "unreachable" in collectors()["192.0.2.99"]["error"]
    daemon.configure("delete sflow")
    assert daemon.client.state("sflow")["status"] == "off"
    for line, told in (("set sflow collector collector.example", "IPv4 or IPv6 address"), ("set sflow sample-rate 0", "sample-rate"),
                       ("set ipfix collector 127.0.0.1 port 70000", "port")):
        with pytest.raises(Exception, match=told):
            daemon.configure(line)


class Nfcapd:
    """nfdump's collector in the daemon's namespace."""

    def __init__(self, daemon, path):
        path.chmod(0o777)
        self.path, said = path, path / "said"
        with said.open("w") as log:
            self.process = subprocess.Popen(["ip", "netns", "exec", daemon.name, "nfcapd", "-p", "4739", "-b", "127.0.0.1", "-t", "3600",
                                             "-w", str(path)], stdout=log, stderr=log)
        eventually(lambda: "4739" in daemon.run("ss -lun"), 20, said.read_text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)

    def flows(self):
        """{(destination, port): flow}"""
        said = subprocess.run(["nfdump", "-q", "-R", str(self.path), "-o", "json"], capture_output=True, text=True, check=True).stdout
        flows = json.loads("[" + re.sub(r"}[\s,]*{", "},{", said.strip().strip("[],")) + "]")
        return {(f.get("dst4_addr") or f.get("dst6_addr"), f["dst_port"]): f for f in flows}


def collect(daemon, path, frames, rate, flows):
    with Nfcapd(daemon, path) as nfcapd:
        daemon.configure("set ipfix collector 127.0.0.1", f"set ipfix sample-rate {rate}", "set ipfix inactive-timeout 1", "set ipfix flows 16")
        before = int(daemon.client.state("ipfix")["flows"])
        send(daemon, frames)
        eventually(lambda: int(daemon.client.state("ipfix")["flows"]) >= before + flows and daemon.client.state("ipfix")["flows-now"] == 0, 20,
                   lambda: str(daemon.client.state("ipfix")))
        state = daemon.client.state("ipfix")
        assert int(state["collector"][0]["datagrams"]) >= 2 and int(state["samples-missed"]) == 0
        daemon.configure("delete ipfix")
        assert daemon.client.state("ipfix")["status"] == "off"
    return nfcapd.flows()


def by_nfcapd(rate: int) -> int:
    """What nfcapd multiplies counts by: 1.7.1 does not."""
    said = subprocess.run(["nfcapd", "-V"], capture_output=True, text=True, check=True).stdout
    return rate if tuple(map(int, re.search(r"(\d+)\.(\d+)\.(\d+)", said).groups())) > (1, 7, 1) else 1


def test_ipfix_is_read_by_nfdump(daemon, tmp_path):
    to, n = mac(daemon), ids(daemon)
    frames = [udp4(to, "10.1.0.9", "203.0.113.9", 1111, 2222, 100)] * 120 + [udp4(to, "10.1.0.9", "203.0.113.10", 1111, 53, 72)] * 60
    frames += [udp6(to, "fd00:1::9", "2001:db8::9", 333, 444, 300)] * 30
    by = collect(daemon, tmp_path, frames, 1, 3)
    first, second, six = by["203.0.113.9", 2222], by["203.0.113.10", 53], by["2001:db8::9", 444]
    assert (first["in_packets"], first["in_bytes"]) == (120, 120 * 128)
    assert (second["in_packets"], second["in_bytes"]) == (60, 60 * 100)
    assert (six["in_packets"], six["in_bytes"]) == (30, 30 * 348)
    assert (first["src4_addr"], first["src_port"], first["proto"]) == ("10.1.0.9", 1111, 17)
    assert (first["input_snmp"], first["output_snmp"], first["ip4_next_hop"]) == (n["p0"], n["p1"], "10.2.0.2")
    assert first["first"] <= first["last"]


def test_a_flow_counts_one_packet_in_so_many(daemon, tmp_path):
    frames = [udp4(mac(daemon), "10.1.0.9", "203.0.113.9", 1111, 2222, 100)] * 1000
    flow = collect(daemon, tmp_path, frames, 4, 1)["203.0.113.9", 2222]
    # 250 samples at distances uniform in 1..7: standard deviation 7.9 samples; seven of them
    assert abs(flow["in_packets"] / by_nfcapd(4) - 250) < 56 and flow["in_bytes"] == flow["in_packets"] * 128
