# SPDX-License-Identifier: BSD-3-Clause
"""PTF tests of a router, in the way of public ones: packets into a port, packets expected from others.

Run by tests/e2e/test_ptf.py, which builds the lab: port N of PTF is the host 10.N.0.2 (fd00:N::2, MAC 02:00:00:00:0N:02) on the
router's port N with the address 10.N.0.1 (fd00:N::1); 198.51.100.0/24 and 2001:db8:100::/48 are behind hosts 2 and 3 alike.
The test parameter `macs` lists the router's MACs, one for each port.
"""
import ptf
import ptf.testutils as tu
from ptf.base_tests import BaseTest
from ptf.mask import Mask
from scapy.all import ARP, IP, TCP, Ether, IPv6, Raw

PORTS = range(4)
FLOWS = 32


def host(port: int, v6: bool = False) -> str:
    return f"fd00:{port}::2" if v6 else f"10.{port}.0.2"


def host_mac(port: int) -> str:
    return f"02:00:00:00:0{port}:02"


class RouterTest(BaseTest):
    def setUp(self):
        super().setUp()
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        self.macs = tu.test_params_get()["macs"].split(",")

    def tcp(self, target: str, ttl: int = 64, sport: int = 1234, source: int = 0):
        """What host `source` sends to `target`."""
        make = tu.simple_tcpv6_packet if ":" in target else tu.simple_tcp_packet
        names = ("ipv6_src", "ipv6_dst", "ipv6_hlim") if ":" in target else ("ip_src", "ip_dst", "ip_ttl")
        return make(eth_dst=self.macs[source], eth_src=host_mac(source), tcp_sport=sport,
                    **dict(zip(names, (host(source, ":" in target), target, ttl))))

    def forwarded(self, packet, port: int):
        """The same as it leaves by `port`, to the host there."""
        out = packet.copy()
        out[Ether].src, out[Ether].dst = self.macs[port], host_mac(port)
        if IPv6 in out:
            out[IPv6].hlim -= 1
        else:
            out[IP].ttl -= 1
            del out[IP].chksum
        return Ether(bytes(out))


class EveryPortReachesEveryOther(RouterTest):
    def runTest(self):
        for source in PORTS:
            for port in PORTS:
                for v6 in (False, True):
                    if source != port:
                        packet = self.tcp(host(port, v6), source=source)
                        tu.send_packet(self, source, packet)
                        tu.verify_packet(self, self.forwarded(packet, port), port)


class EcmpSpreadsFlowsAndKeepsEachOnOnePort(RouterTest):
    def runTest(self):
        for target in ("198.51.100.9", "2001:db8:100::9"):
            used = {}
            for flow in range(FLOWS):
                packet = self.tcp(target, sport=2000 + flow)
                for _ in range(2):
                    tu.send_packet(self, 0, packet)
                    port = self.which(packet, (2, 3))
                    self.assertEqual(used.setdefault(flow, port), port)
            self.assertEqual(set(used.values()), {2, 3}, "all flows on one port")

    def which(self, packet, ports) -> int:
        wanted = {port: bytes(self.forwarded(packet, port)) for port in ports}
        while True:
            found = tu.dp_poll(self, timeout=2)
            self.assertTrue(hasattr(found, "packet"), f"it came out of none of {ports}")
            if wanted.get(found.port) == bytes(found.packet):
                return found.port


class TheRouterAnswersArp(RouterTest):
    def runTest(self):
        for port in PORTS:
            ask = tu.simple_arp_packet(eth_src=host_mac(port), ip_snd=host(port), ip_tgt=f"10.{port}.0.1", hw_snd=host_mac(port))
            tu.send_packet(self, port, ask)
            answer = Mask(Ether(src=self.macs[port], dst=host_mac(port)) / ARP(
                op=2, hwsrc=self.macs[port], psrc=f"10.{port}.0.1", hwdst=host_mac(port), pdst=host(port)), ignore_extra_bytes=True)
            tu.verify_packet(self, answer, port)


class TtlThatRunsOutIsTold(RouterTest):
    def runTest(self):
        head = Ether(src=self.macs[0], dst=host_mac(0))
        tu.send_packet(self, 0, self.tcp(host(1), ttl=1))
        told = Mask(head / IP(src="10.0.0.1", dst=host(0), proto=1) / Raw(b"\x0b\x00"), ignore_extra_bytes=True)
        for name in ("tos", "len", "id", "flags", "frag", "ttl", "chksum"):
            told.set_do_not_care_packet(IP, name)
        tu.verify_packet(self, told, 0)

        tu.send_packet(self, 0, self.tcp(host(1, True), ttl=1))
        told = Mask(head / IPv6(src="fd00:0::1", dst=host(0, True), nh=58) / Raw(b"\x03\x00"), ignore_extra_bytes=True)
        for name in ("tc", "fl", "plen", "hlim"):
            told.set_do_not_care_packet(IPv6, name)
        tu.verify_packet(self, told, 0)


class WhatMustNotPassDoesNot(RouterTest):
    def runTest(self):
        bad = [self.tcp(host(1)) for _ in range(5)]
        bad[0][IP].src = "127.0.0.1"
        bad[1][IP].chksum = 0x1234
        bad[2][IP].ttl = 0
        bad[3][Ether].dst = "02:00:00:00:99:99"
        bad[4][IP].dst = "203.0.113.1"
        for packet in bad:
            packet[TCP].dport = 6666
            tu.send_packet(self, 0, packet)
        good = self.tcp(host(1), sport=7777)
        tu.send_packet(self, 0, good)
        seen = [Ether(data) for data in self.until(self.forwarded(good, 1), 1)]
        self.assertFalse([packet.summary() for packet in seen if TCP in packet and packet[TCP].dport == 6666])

    def until(self, wanted, port: int) -> list[bytes]:
        """All packets of a port up to the wanted one: what was sent before it has come before it."""
        seen = []
        while not seen or seen[-1] != bytes(wanted):
            found = tu.dp_poll(self, port_number=port, timeout=2)
            self.assertTrue(hasattr(found, "packet"), "the good packet did not come")
            seen.append(bytes(found.packet))
        return seen
