# SPDX-License-Identifier: BSD-3-Clause
"""What the RFCs ask of a router, packet by packet, of Linux and of us.

Each case is a packet that h1 sends, and what must come of it: how often it reaches h2, and which ICMP errors
h1 gets. Where Linux does something else, the case says what and why we do not follow; docs/conformance.md,
made from these marks by tools/conformance, lists that too.

No case waits for nothing to happen: behind each packet h1 sends an echo request the same way, and when that is
answered, whatever the packet caused has happened before it.
"""
import itertools
import time
from dataclasses import dataclass, field

import pytest

from support import PATIENCE_S, assert_reaches, eventually
from wire import Wire

scapy = pytest.importorskip("scapy.all")
from scapy.all import (ICMP, IP, UDP, Ether, HBHOptUnknown, ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6PacketTooBig,   # noqa: E402
                       ICMPv6ParamProblem, ICMPv6TimeExceeded, IPOption, IPOption_LSRR, IPOption_NOP, IPOption_RR,
                       IPOption_SSRR, IPv6, Jumbo, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
                       IPv6ExtHdrRouting, Raw, RouterAlert, UDPerror)

ROUTERS = """
nodes:
  h1: $HOST(1)
  r:
    kind: $ROUTER
    interfaces: {p0: [10.1.0.1/24, "fd00:1::1/64"], p1: [10.2.0.1/24, "fd00:2::1/64"]}
    routes:
      - blackhole 10.9.1.0/24
      - prohibit 10.9.2.0/24
      - unreachable 10.9.3.0/24
      - blackhole fd00:9:1::/48
      - prohibit fd00:9:2::/48
      - unreachable fd00:9:3::/48
  h2: $HOST(2)
links:
  - [h1:eth0, r:p0]
  - {ends: [r:p1, h2:eth0], mtu: 1400}
"""
H1, R1, R2, H2 = "10.1.0.2", "10.1.0.1", "10.2.0.1", "10.2.0.2"
H1_6, R1_6, H2_6 = "fd00:1::2", "fd00:1::1", "fd00:2::2"
MARK = "kamuee-conformance-"
SETTLE_S = 0.5                                        # between two tries of the echo request
LATE_S = 3.0                                          # an error that has not come by then does not come
PORTS = range(40000, 60000)                           # source ports of the cases


@dataclass
class Came:
    """What a packet caused."""
    arrived: list = field(default_factory=list)       # packets at h2 that carry the mark, or are a piece of one
    errors: list = field(default_factory=list)        # ICMP errors at h1


class Path:
    """h1 and h2 on their wires, the router between them."""

    def __init__(self, lab):
        self.router, self.h1, self.h2 = lab["r"], Wire(lab["h1"]), Wire(lab["h2"])
        self.h1_node = lab["h1"]
        self.mac = lab["r"].ip_json("link show dev p0")[0]["address"]
        self.numbers = itertools.count(1)
        self.ports, self.port = itertools.cycle(PORTS), 0

    def close(self) -> None:
        self.h1.close()
        self.h2.close()

    def send(self, packet, to_mac: str | None = None) -> Came:
        """The packet, and behind it echo requests until one is answered."""
        ethertype = 0x86DD if is_v6(packet) else 0x0800
        data = bytes(Ether(dst=to_mac or self.mac, src=self.h1.mac, type=ethertype)) + bytes(packet)
        number, came, end = next(self.numbers), Came(), time.monotonic() + PATIENCE_S
        self.h1.send(data)
        while time.monotonic() < end:
            self.h1.send(bytes(Ether(dst=self.mac, src=self.h1.mac) / IP(src=H1, dst=H2) / ICMP(id=0x4B, seq=number)))
            if self.read_until_answered(number, came):
                self.read_arrived(came)
                return came
        raise AssertionError("the echo request behind the packet was not answered")

    def send_by_port(self, packet, to_mac: str | None = None) -> Came:
        """From a source port of its own, if it is UDP: so that late errors about earlier packets do not count."""
        self.port = next(self.ports)
        if not isinstance(packet, bytes) and UDP in packet:
            packet = packet.copy()
            packet[UDP].sport = self.port
        return self.send(packet, to_mac)

    def is_error(self, seen) -> bool:
        return is_error(seen) and not (UDPerror in seen and seen[UDPerror].sport in PORTS and seen[UDPerror].sport != self.port)

    def read_until_answered(self, number: int, came: Came) -> bool:
        until = time.monotonic() + SETTLE_S
        while (data := self.h1.take(until)) is not None:
            seen = Ether(data)
            if IP in seen and ICMP in seen and seen[IP].src == H2 and seen[ICMP].type == 0 and seen[ICMP].seq == number:
                return True
            if self.is_error(seen):
                came.errors.append(seen)
        return False

    def wait_for_error(self, came: Came) -> None:
        """Until the first error, but no longer than LATE_S."""
        until = time.monotonic() + LATE_S
        while not came.errors and (data := self.h1.take(until)) is not None:
            if self.is_error(Ether(data)):
                came.errors.append(Ether(data))

    def read_arrived(self, came: Came) -> None:
        while (data := self.h2.take(0)) is not None:
            seen = Ether(data)
            if MARK.encode() in data or (IP in seen and seen[IP].id == PIECE_ID) or (IPv6 in seen and seen[IPv6].fl == PIECE_ID):
                came.arrived.append(seen)


def is_v6(packet) -> bool:
    return isinstance(packet, IPv6) or bytes(packet)[0] >> 4 == 6


def is_error(seen) -> bool:
    """An ICMP error of the router; h2's own errors about packets that reached it do not count."""
    if IP in seen and ICMP in seen:
        return seen[ICMP].type in (3, 4, 5, 11, 12) and seen[IP].src != H2
    kinds = (ICMPv6DestUnreach, ICMPv6PacketTooBig, ICMPv6TimeExceeded, ICMPv6ParamProblem)
    return IPv6 in seen and seen[IPv6].src != H2_6 and any(kind in seen for kind in kinds)


def told(seen) -> tuple:
    """An error in short: type, code."""
    if IP in seen:
        return seen[ICMP].type, seen[ICMP].code
    message = seen[IPv6].payload
    return message.type, message.code


# --- the packets ---

PIECE_ID = 0x7A7A
TEXT = (MARK + "x" * 20).encode()
BIG = (MARK + "y" * 1421).encode()                   # too big for the way out in both families, not for h1's wire


def v4(payload=None, text: bytes = TEXT, **fields):
    return IP(**{"src": H1, "dst": H2, "id": PIECE_ID - 1, **fields}) / (payload or UDP(sport=1000, dport=2000)) / Raw(text)


def v6(payload=None, text: bytes = TEXT, **fields):
    return IPv6(**{"src": H1_6, "dst": H2_6, **fields}) / (payload or UDP(sport=1000, dport=2000)) / Raw(text)


def piece(offset: int, more: bool, **fields):
    """A fragment of UDP."""
    return IP(src=H1, dst=H2, id=PIECE_ID, proto=17, frag=offset, flags="MF" if more else 0, **fields) / Raw(TEXT + b"z" * 7)


def damaged(at: int, value: int, packet=None) -> bytes:
    """The packet with one byte changed, and the header checksum right again."""
    data = bytearray(bytes(packet or v4()))
    data[at] = value
    hlen = max(20, (data[0] & 15) * 4)
    data[10:12] = b"\0\0"
    total = sum(int.from_bytes(data[i:i + 2], "big") for i in range(0, min(hlen, len(data)), 2))
    total = (total & 0xFFFF) + (total >> 16)
    total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    data[10:12] = total.to_bytes(2, "big")
    return bytes(data)


def damaged6(at: int, value: int) -> bytes:
    data = bytearray(bytes(v6()))
    data[at] = value
    return bytes(data)


def icmp_error4():
    return ICMP(type=3, code=1) / IP(src=H2, dst=H1) / UDP()


# --- the cases ---

BROADCAST = "ff:ff:ff:ff:ff:ff"
PASSES, SILENCE = (1, []), (0, [])
NOT_LOOKED_UP = ("Linux looks every source up; we do so only with `set interface NAME urpf` (RFC 3704), and drop without a lookup only "
                 "addresses that no host may have")
# Linux sends this error only if it has told the sender nothing else for a second.
NO_ROUTE = "Linux tells the sender that there is no route; we drop these addresses in silence, as other martians"
NOBODY_ELSE = "Linux forwards class E; nobody else on the Internet does (RFC 6890)"


def case(name, rfc, packet, expected, linux=None, why="", to_mac=None):
    """A row: (RFC, section, level[, only this part]) or None, a packet, (times at h2, errors at h1); `linux`: Linux's behavior, if it differs."""
    marks = [pytest.mark.rfc(*rfc[:3], **({"only": rfc[3]} if rfc[3:] else {}))] if rfc else []
    marks += [pytest.mark.differs(why)] if linux else []
    assert bool(linux) == bool(why), name
    return pytest.param(packet, expected, linux or expected, to_mac, id=name, marks=marks)


CASES = [
    # IPv4 header
    case("a_plain_packet_passes", ("1812", "5.2.1", "MUST"), v4(), PASSES),
    case("a_wrong_checksum_is_dropped", ("1812", "5.2.2", "MUST"), v4(chksum=0x1234), SILENCE),
    case("version_5_is_dropped", ("1812", "5.2.2", "MUST"), damaged(0, 0x55), SILENCE),
    case("a_header_length_below_20_is_dropped", ("1812", "5.2.2", "MUST"), damaged(0, 0x44), SILENCE),
    case("a_total_length_beyond_the_frame_is_dropped", ("1812", "5.2.2", "MUST"), damaged(2, 0x05), SILENCE),
    case("a_total_length_below_the_header_is_dropped", ("1812", "5.2.2", "MUST"), damaged(3, 19), SILENCE),
    case("ttl_1_is_not_forwarded_and_the_sender_told", ("1812", "5.3.1", "MUST"), v4(ttl=1), (0, [(11, 0)])),
    case("ttl_0_is_not_forwarded", ("1812", "5.3.1", "MUST"), v4(ttl=0), (0, [(11, 0)])),
    case("ttl_2_passes", ("1812", "5.3.1", "MUST"), v4(ttl=2), PASSES),
    # addresses
    *[case(f"a_packet_from_{src}_is_dropped", ("1812", "5.3.7", "SHOULD NOT"), v4(src=src), SILENCE)
      for src in ("0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255")],
    case("a_packet_from_0.1.2.3_is_dropped", ("1812", "5.3.7", "SHOULD NOT"), v4(src="0.1.2.3"), SILENCE, linux=PASSES,
         why="Linux takes 0.0.0.0 only for no source; RFC 6890 2.2.2 says that of 0.0.0.0/8"),
    case("a_packet_from_240.0.0.1_is_dropped", ("1812", "5.3.7", "SHOULD NOT"), v4(src="240.0.0.1"), SILENCE,
         linux=PASSES, why=NOBODY_ELSE),
    case("a_packet_to_0.1.2.3_is_dropped", ("1812", "5.3.7", "MUST NOT"), v4(dst="0.1.2.3"), SILENCE, linux=(0, [(3, 0)]), why=NO_ROUTE),
    *[case(f"a_packet_to_{dst}_is_dropped", ("1812", "5.3.7", "SHOULD NOT"), v4(dst=dst), SILENCE)
      for dst in ("127.0.0.1", "127.255.255.254")],
    case("a_packet_to_240.0.0.1_is_dropped", ("1812", "5.3.7", "MUST NOT"), v4(dst="240.0.0.1"), SILENCE, linux=(0, [(3, 0)]), why=NO_ROUTE),
    case("a_packet_from_a_link_local_address_does_not_leave_its_link", ("3927", "2.7", "MUST NOT"), v4(src="169.254.1.1"), SILENCE,
         linux=PASSES, why="Linux forwards 169.254/16 like any other address"),
    case("multicast_is_not_forwarded_without_a_tree", ("1812", "5.2.1.3", "MUST"), v4(dst="239.1.1.1"), SILENCE,
         to_mac="01:00:5e:01:01:01"),
    case("limited_broadcast_is_not_forwarded", ("1812", "5.3.5.1", "MUST"), v4(dst="255.255.255.255"), SILENCE, to_mac=BROADCAST),
    case("directed_broadcast_is_not_forwarded", ("2644", "3", "MUST"), v4(dst="10.2.0.255"), SILENCE),
    case("unicast_in_a_broadcast_frame_is_not_forwarded", ("1812", "5.3.4", "MUST"), v4(), SILENCE, to_mac=BROADCAST),
    case("a_packet_from_an_address_of_ours_passes", ("1812", "5.3.8", "SHOULD"), v4(src=R2), PASSES, linux=SILENCE, why=NOT_LOOKED_UP),
    case("an_echo_request_to_the_broadcast_address_of_our_link_is_not_answered", ("2644", "3", "MUST"), v4(ICMP(), dst="10.1.0.255"),
         SILENCE),
    *[case(f"a_packet_from_{src}_passes", ("6890", "2.2.2", "SHOULD"), v4(src=src), PASSES) for src in ("192.0.2.1", "198.18.0.1", "100.64.0.1")],
    # unreachable
    case("no_route_is_told_as_net_unreachable", ("1812", "5.2.7.1", "MUST"), v4(dst="203.0.113.1"), (0, [(3, 0)])),
    case("a_blackhole_is_silent", ("5635", "3", "MAY"), v4(dst="10.9.1.1"), SILENCE),
    case("a_prohibited_route_is_told", ("1812", "5.2.7.1", "SHOULD"), v4(dst="10.9.2.1"), (0, [(3, 13)])),
    case("an_unreachable_route_is_told", ("1812", "5.2.7.1", "SHOULD"), v4(dst="10.9.3.1"), (0, [(3, 1)])),
    # packets about which no error is sent
    case("no_error_about_an_icmp_error", ("1812", "4.3.2.7", "MUST"), v4(icmp_error4(), ttl=1), SILENCE),
    case("an_error_about_an_echo_request", ("1812", "4.3.2.7", "MUST"), v4(ICMP(), ttl=1), (0, [(11, 0)])),
    case("no_error_about_a_later_fragment", ("1812", "4.3.2.7", "MUST"), piece(100, False, ttl=1), SILENCE),
    case("an_error_about_a_first_fragment", ("1812", "4.3.2.7", "MUST"), piece(0, True, ttl=1), (0, [(11, 0)])),
    case("no_error_about_a_multicast_packet", ("1812", "4.3.2.7", "MUST"), v4(dst="239.1.1.1", ttl=1), SILENCE,
         to_mac="01:00:5e:01:01:01"),
    case("no_error_about_a_broadcast_frame", ("1812", "4.3.2.7", "MUST"), v4(ttl=1), SILENCE, to_mac=BROADCAST),
    case("no_error_to_a_martian_source", ("1812", "4.3.2.7", "MUST"), v4(src="127.0.0.1", ttl=1), SILENCE),
    # size
    case("too_big_with_df_is_told", ("1191", "4", "MUST"), v4(text=BIG, flags="DF"), (0, [(3, 4)])),
    case("too_big_without_df_arrives_in_pieces", ("791", "3.2", "MUST"), v4(text=BIG, id=PIECE_ID), (2, [])),
    case("a_packet_without_a_payload_passes", ("791", "3.1", "MUST"), bytes(IP(src=H1, dst=H2, id=PIECE_ID, proto=17)), PASSES),
    case("a_packet_with_the_reserved_flag_passes", ("791", "3.1", "MUST"), v4(flags="evil"), PASSES),
    case("a_fragment_with_df_passes", ("791", "3.2", "MUST"), v4(flags="DF+MF"), PASSES),
    case("a_fragment_beyond_65535_bytes_is_the_receivers_affair", ("791", "3.2", "MUST"), piece(8190, False), PASSES),
    case("a_fragment_of_the_sender_passes", ("791", "3.2", "MUST"), piece(10, True), PASSES),
    # options
    case("an_option_that_means_nothing_passes", ("1812", "4.2.2.1", "MUST"), v4(options=[IPOption_NOP()] * 4), PASSES),
    case("an_option_that_nobody_knows_passes", ("1812", "4.2.2.1", "MUST"),
         v4(options=[IPOption(b"\x5e\x04\x00\x00")]), PASSES),
    case("a_router_alert_passes", ("2113", "2", "MUST", "as a router that does not know the option"), v4(options=[IPOption(b"\x94\x04\x00\x00")]), PASSES),
    case("what_is_behind_the_end_of_the_options_is_not_read", ("791", "3.1", "MUST"), v4(options=[IPOption(b"\x00\x83\xff\xff")]), PASSES),
    case("a_timestamp_is_dropped_unless_configured", ("7126", "4.7", "SHOULD"), v4(options=[IPOption(b"\x44\x0c\x05\x00" + bytes(8))]),
         SILENCE, linux=PASSES, why="Linux stamps; `set forwarding ipv4-options process` does too"),
    case("a_loose_source_route_is_refused", ("7126", "4.3", "SHOULD"), v4(options=[IPOption_LSRR(routers=[H2])]), SILENCE),
    case("a_strict_source_route_is_refused", ("7126", "4.4", "SHOULD"), v4(options=[IPOption_SSRR(routers=[H2])]), SILENCE),
    case("record_route_is_dropped_unless_configured", ("7126", "4.5", "SHOULD"),
         v4(options=[IPOption_RR(routers=["0.0.0.0"] * 2)]), SILENCE,
         linux=PASSES, why="Linux records the route; `set forwarding ipv4-options process` does too"),
    case("an_option_longer_than_the_header_is_a_parameter_problem", ("1812", "4.3.3.5", "MUST"),
         v4(options=[IPOption(b"\x5e\x0f\x00\x00")]), (0, [(12, 0)])),
    # to the router itself
    case("a_closed_port_of_ours_is_told", ("1812", "5.2.7.1", "SHOULD"), v4(UDP(dport=9), dst=R1), (0, [(3, 3)])),
    case("ttl_1_to_ourselves_is_delivered", ("1812", "5.3.1", "MUST"), v4(UDP(dport=9), dst=R1, ttl=1), (0, [(3, 3)])),
    case("our_address_of_another_interface_answers", ("1812", "5.2.3", "MUST"), v4(UDP(dport=9), dst=R2), (0, [(3, 3)])),
    # IPv6
    case("a_plain_ipv6_packet_passes", ("8200", "3", "MUST"), v6(), PASSES),
    case("ipv6_of_version_5_is_dropped", ("8200", "3", "MUST"), damaged6(0, 0x50), SILENCE),
    case("an_ipv6_payload_beyond_the_frame_is_dropped", ("8200", "3", "MUST"), damaged6(4, 0x05), SILENCE),
    case("hop_limit_1_is_not_forwarded_and_the_sender_told", ("8200", "3", "MUST"), v6(hlim=1), (0, [(3, 0)])),
    case("hop_limit_2_passes", ("8200", "3", "MUST"), v6(hlim=2), PASSES),
    *[case(f"an_ipv6_packet_from_{src}_is_dropped", ("4291", section, "MUST"), v6(src=src), SILENCE)
      for src, section in (("::1", "2.5.3"), ("ff0e::1", "2.7"))],
    case("an_ipv6_packet_from_nowhere_is_dropped", ("4291", "2.5.2", "MUST"), v6(src="::"), SILENCE),
    case("an_ipv6_packet_from_a_mapped_address_is_dropped", ("6890", "2.2.3", "SHOULD"), v6(src="::ffff:10.1.0.2"), SILENCE,
         linux=PASSES, why="Linux forwards mapped addresses like others; they are never on a wire (RFC 6890 2.2.3)"),
    case("an_ipv6_packet_to_nowhere_is_dropped", ("4291", "2.5.2", "MUST"), v6(dst="::"), SILENCE,
         linux=(0, [(1, 0)]), why="Linux tells the sender that there is no route; we drop the unspecified address in silence, as other martians"),
    case("a_link_local_source_does_not_leave_its_link", ("4291", "2.5.6", "MUST"), v6(src="fe80::77"), (0, [(1, 2)]),
         linux=SILENCE, why="Linux resolves fe80::77 first, in vain; we answer to the MAC address that sent the frame"),
    case("ipv6_to_the_loopback_address_is_dropped", ("4291", "2.5.3", "MUST"), v6(dst="::1"), SILENCE),
    case("ipv6_multicast_is_not_forwarded_without_a_tree", None, v6(dst="ff0e::77"), SILENCE,
         to_mac="33:33:00:00:00:77"),
    case("ipv6_unicast_in_a_multicast_frame_is_not_forwarded", ("1812", "5.3.4", "MUST"), v6(), SILENCE, to_mac="33:33:00:00:00:01"),
    case("no_ipv6_route_is_told", ("4443", "3.1", "SHOULD"), v6(dst="2001:db8:77::1"), (0, [(1, 0)])),
    case("an_ipv6_blackhole_is_silent", ("5635", "3", "MAY"), v6(dst="fd00:9:1::1"), SILENCE),
    case("a_prohibited_ipv6_route_is_told", ("4443", "3.1", "SHOULD"), v6(dst="fd00:9:2::1"), (0, [(1, 1)])),
    case("an_unreachable_ipv6_route_is_told", ("4443", "3.1", "SHOULD"), v6(dst="fd00:9:3::1"), (0, [(1, 0)])),
    case("ipv6_too_big_is_told", ("4443", "3.2", "MUST"), v6(text=BIG), (0, [(2, 0)])),
    case("no_error_about_an_icmpv6_error", ("4443", "2.4e", "MUST"), v6(ICMPv6DestUnreach(), hlim=1), SILENCE),
    case("an_error_about_an_icmpv6_echo_request", ("4443", "2.4e", "MUST"), v6(ICMPv6EchoRequest(), hlim=1), (0, [(3, 0)])),
    case("no_error_about_an_ipv6_multicast_packet", ("4443", "2.4e", "MUST"), v6(dst="ff0e::77", hlim=1), SILENCE,
         to_mac="33:33:00:00:00:77"),
    case("no_error_about_ipv6_in_a_multicast_frame", ("4443", "2.4e", "MUST"), v6(hlim=1), SILENCE, to_mac="33:33:00:00:00:01"),
    case("destination_options_pass_unread", ("8200", "4", "MUST"), v6(IPv6ExtHdrDestOpt() / UDP(dport=2000)), PASSES),
    case("hop_by_hop_options_pass", ("8200", "4.3", "SHOULD"), v6(IPv6ExtHdrHopByHop() / UDP(dport=2000)), PASSES),
    case("a_jumbo_payload_is_refused", ("2675", "3", "MAY"),
         v6(IPv6ExtHdrHopByHop(options=[Jumbo(jumboplen=70000)]) / UDP(dport=2000), plen=0), SILENCE),
    case("ipv6_without_a_payload_passes", ("8200", "4.7", "MUST"), IPv6(src=H1_6, dst=H2_6, nh=59, fl=PIECE_ID), PASSES),
    case("an_atomic_fragment_passes_as_it_is", ("8200", "4.5", "MUST"), v6(IPv6ExtHdrFragment(offset=0, m=0, nh=17) / UDP(dport=2000)), PASSES),
    case("an_error_about_a_later_ipv6_fragment", ("4443", "2.4e", "MUST"), v6(IPv6ExtHdrFragment(offset=9, m=1, nh=17), hlim=1), (0, [(3, 0)])),
    case("no_error_about_what_may_be_an_icmpv6_error_in_a_later_fragment", ("4443", "2.4e", "MUST"),
         v6(IPv6ExtHdrFragment(offset=9, m=0, nh=58), hlim=1), SILENCE,
         linux=(0, [(3, 0)]), why="Linux takes a later fragment of ICMPv6 for no error; it may well be the rest of one"),
    case("no_error_about_an_icmpv6_error_behind_extension_headers", ("4443", "2.4e", "MUST"),
         v6(IPv6ExtHdrDestOpt() / ICMPv6DestUnreach(), hlim=1), SILENCE),
    case("a_routing_header_on_its_way_passes_unread", ("8200", "4.4", "MUST"),
         v6(IPv6ExtHdrRouting(addresses=["2001:db8::1"], segleft=1) / UDP(dport=2000)), PASSES),
    case("a_router_alert_in_ipv6_passes", ("2711", "2.1", "MUST", "as a router that does not know the option"),
         v6(IPv6ExtHdrHopByHop(options=[RouterAlert(value=0)]) / UDP(dport=2000)), PASSES),
    case("hop_by_hop_options_that_nobody_knows_are_left_to_the_hosts", ("8200", "4", "MAY"),
         v6(IPv6ExtHdrHopByHop(options=[HBHOptUnknown(otype=0x9E, optdata=b"abcd")]) / UDP(dport=2000)), PASSES,
         linux=(0, [(4, 2)]), why="RFC 8200 4 lets a router that is not configured for them pass hop-by-hop options by; Linux reads them"),
    case("an_ipv6_fragment_passes", ("8200", "4.5", "MUST"), v6(IPv6ExtHdrFragment(offset=9, m=1, nh=17)), PASSES),
    case("a_closed_ipv6_port_of_ours_is_told", ("4443", "3.1", "SHOULD"), v6(UDP(dport=9), dst=R1_6), (0, [(1, 4)])),
    case("an_unknown_next_header_to_us_is_a_parameter_problem", ("8200", "4", "SHOULD"),
         v6(Raw(b""), dst=R1_6, nh=253), (0, [(4, 1)])),
    case("a_type_0_routing_header_to_us_is_refused", ("5095", "3", "MUST"),
         v6(IPv6ExtHdrRouting(addresses=[H2_6], segleft=1) / UDP(dport=2000), dst=R1_6), (0, [(4, 0)])),
]


@pytest.fixture(scope="module")
def path(labs, kind):
    lab = labs(ROUTERS, kind)
    assert_reaches(lab["h1"], H2, H2_6)
    # The tests count packets, so the rate limits must not matter.
    if kind == "kamuee":
        from kamuee.lab import measure
        measure.client(lab["r"]).call("configure", line=["set icmp rate 100000 burst 1000 total-rate 100000 total-burst 1000"])
    for name in ("net.ipv4.icmp_ratelimit", "net.ipv6.icmp.ratelimit"):
        lab["r"].namespace.sysctl({name: "0"})
    found = Path(lab)
    yield found
    found.close()


@pytest.mark.parametrize("packet, expected, linux, to_mac", CASES)
def test_packet(path, kind, packet, expected, linux, to_mac):
    n_arrived, errors = expected if kind == "kamuee" else linux
    came = path.send_by_port(packet, to_mac)
    if errors and not came.errors:                     # an error of the kernel behind our TAP takes its own time
        path.wait_for_error(came)
    if errors and not came.errors:                     # and Linux limits some errors by a rate that cannot be set
        came = eventually(lambda: (again := path.send_by_port(packet, to_mac)).errors and again, PATIENCE_S, "an ICMP error", SETTLE_S)
    assert sorted(map(told, came.errors)) == errors, came.errors
    assert len(came.arrived) == n_arrived, [seen.summary() for seen in came.arrived]


@pytest.mark.rfc("1812", "5.3.1", "MUST")
@pytest.mark.rfc("1812", "4.2.2.5", "MUST")
def test_ttl_falls_by_one_and_the_checksum_is_right(path):
    seen = path.send(v4(ttl=33)).arrived[0]
    assert seen[IP].ttl == 32
    right = IP(bytes(seen[IP]))
    del right.chksum
    assert IP(bytes(right)).chksum == seen[IP].chksum


@pytest.mark.rfc("2474", "3", "SHOULD")
@pytest.mark.rfc("3168", "5", "MUST")
@pytest.mark.rfc("6437", "3", "MUST NOT")
def test_traffic_class_and_flow_label_pass_unchanged(path):
    assert path.send(v4(tos=0xB9)).arrived[0][IP].tos == 0xB9
    seen = path.send(v6(tc=0xB9, fl=0xABCDE)).arrived[0]
    assert (seen[IPv6].tc, seen[IPv6].fl, seen[IPv6].hlim) == (0xB9, 0xABCDE, 63)


@pytest.mark.rfc("894", "3", "MUST")
def test_padding_of_the_frame_is_no_part_of_the_packet(path):
    """What lies behind the packet is not passed on: 60 bytes behind a packet of 66."""
    seen = path.send(bytes(v4()) + b"padding!" * 8).arrived[0]
    assert b"padding!" not in bytes(seen)


@pytest.mark.rfc("4443", "3.1", "MUST")
def test_a_destination_beyond_the_scope_of_the_source_is_told(path):
    own = next(address["local"] for address in path.h1_node.ip_json("-6 address show dev eth0")[0]["addr_info"]
               if address["local"].startswith("fe80"))
    came = path.send(v6(src=own))
    if not came.errors:                                # Linux resolves h1's address first
        path.wait_for_error(came)
    assert list(map(told, came.errors)) == [(1, 2)] and not came.arrived
    assert came.errors[0][IPv6].src.startswith("fe80") and came.errors[0][IPv6].dst == own


@pytest.mark.rfc("1812", "4.3.2.5", "SHOULD")
@pytest.mark.rfc("1812", "4.3.2.3", "SHOULD")
def test_an_error_comes_from_the_incoming_interface_with_precedence_6_and_quotes_576_bytes(path):
    sent = v4(ttl=1, text=BIG[:1000])
    error = path.send(sent).errors[0]
    assert error[IP].src == R1
    assert error[IP].tos >> 5 == 6
    assert error[IP].len == 576
    quote = bytes(error[ICMP].payload)
    assert quote == bytes(sent)[:len(quote)]


@pytest.mark.rfc("1191", "4", "MUST")
def test_too_big_names_the_mtu_of_the_next_hop(path):
    assert path.send(v4(text=BIG, flags="DF")).errors[0][ICMP].nexthopmtu == 1400


@pytest.mark.rfc("4443", "3.2", "MUST")
@pytest.mark.rfc("4443", "2.4c", "MUST")
def test_ipv6_too_big_names_the_mtu_and_is_no_longer_than_1280_bytes(path):
    error = path.send(v6(text=BIG)).errors[0]
    assert error[ICMPv6PacketTooBig].mtu == 1400
    assert error[IPv6].plen + 40 == 1280
    assert error[IPv6].src == R1_6


@pytest.mark.rfc("791", "3.2", "MUST")
def test_the_pieces_of_a_packet_are_the_packet(path):
    sent = v4(text=BIG, id=PIECE_ID)
    pieces = sorted(path.send(sent).arrived, key=lambda seen: seen[IP].frag)
    assert all(seen[IP].len <= 1400 for seen in pieces)
    assert b"".join(bytes(seen[IP].payload)[:seen[IP].len - 20] for seen in pieces) == bytes(sent)[20:]
    assert [bool(seen[IP].flags.MF) for seen in pieces] == [True, False]


@pytest.mark.rfc("791", "3.2", "MUST")
def test_a_fragment_that_is_cut_again_keeps_its_place(path):
    """The first of two fragments of the sender is too big for the way out: its last piece still has MF."""
    first = IP(src=H1, dst=H2, id=PIECE_ID, proto=17, flags="MF", frag=50) / Raw(b"w" * 1464)
    pieces = sorted(path.send(first).arrived, key=lambda seen: seen[IP].frag)
    assert len(pieces) == 2
    assert pieces[0][IP].frag == 50
    assert pieces[1][IP].frag == 50 + (pieces[0][IP].len - 20) // 8
    assert all(seen[IP].flags.MF for seen in pieces)


@pytest.mark.rfc("791", "3.1", "MUST")
def test_only_options_with_the_copied_flag_go_into_later_fragments(path):
    copied, not_copied = b"\x94\x04\x00\x00", b"\x5e\x04\x00\x00"   # router alert; an experimental one
    sent = v4(text=BIG, id=PIECE_ID, options=[IPOption(copied), IPOption(not_copied)])
    pieces = sorted(path.send(sent).arrived, key=lambda seen: seen[IP].frag)
    heads = [bytes(seen[IP])[20:seen[IP].ihl * 4] for seen in pieces]
    assert heads[0] == copied + not_copied
    assert copied in heads[1] and not_copied not in heads[1]


def error_of(path, packet, kind):
    """The first error with a header of this kind; those about packets of earlier cases may still come."""
    def found():
        return next((error for error in path.send(packet).errors if kind(error)), None)
    return eventually(found, PATIENCE_S, "an ICMP error", SETTLE_S)


@pytest.mark.rfc("1812", "5.2.7.1", "MUST")
def test_a_host_that_does_not_answer_is_told_as_host_unreachable(path):
    error = error_of(path, v4(dst="10.2.0.77"), lambda seen: IP in seen)
    assert told(error) == (3, 1)


@pytest.mark.rfc("4443", "3.1", "SHOULD")
def test_an_ipv6_host_that_does_not_answer_is_told_as_address_unreachable(path):
    error = error_of(path, v6(dst="fd00:2::77"), lambda seen: IP not in seen)
    assert told(error) == (1, 3)


@pytest.fixture
def unnumbered(path):
    """p0 of the router has no address; its loopback device has."""
    router = path.router
    router.ip("address add 192.0.2.33/32 dev lo")
    router.ip("address del 10.1.0.1/24 dev p0")
    router.ip("route add 10.1.0.0/24 dev p0")
    yield "192.0.2.33"
    router.ip("address add 10.1.0.1/24 dev p0")
    router.ip("address del 192.0.2.33/32 dev lo")
    error_of(path, v4(ttl=1), lambda seen: IP in seen and seen[IP].src == "10.1.0.1")


@pytest.mark.rfc("1812", "4.3.2.4", "MUST")
def test_an_interface_without_an_address_borrows_the_routers(path, unnumbered):
    error = error_of(path, v4(ttl=1), lambda seen: IP in seen and seen[IP].src == unnumbered)   # control may not know the change yet
    assert told(error) == (11, 0)
