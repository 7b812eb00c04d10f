# SPDX-License-Identifier: BSD-3-Clause
"""explain tells the truth about packets, on real routes, groups, VLANs and virtual routers."""
import subprocess
import sys
from pathlib import Path

import pytest

from kamuee.client import Client

from support import assert_reaches, eventually, received, receiver, send

LAB = """
nodes:
  h1: $HOST(1)
  tagged: $VLAN4(40)
  red: $HOST4(1)
  far:
    kind: host
    interfaces:
      p1: [10.12.1.2/24, "fd00:12::2/64"]
      p2: [10.12.2.2/24, "fd00:13::2/64"]
      lo: [198.51.100.1/32, "2001:db8:100::1/128"]
    routes: [default via 10.12.1.1, "default via fd00:12::1"]
  r:
    kind: kamuee
    vrs: {red: {}}
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.12.1.1/24, "fd00:12::1/64"]
      p2: [10.12.2.1/24, "fd00:13::1/64"]
      p3: []
      p4: {vr: red, addresses: [10.1.0.1/24]}
      v40: {vlan: 40, port: p3, addresses: [10.40.0.1/24]}
links:
  - [h1:eth0, r:p0]
  - [r:p1, far:p1]
  - [r:p2, far:p2]
  - [tagged:eth0, r:p3]
  - [red:eth0, r:p4]
"""
ROUTES = ["198.51.100.0/24 proto bgp nexthop via 10.12.1.2 dev p1 nexthop via 10.12.2.2 dev p2",
          "2001:db8:100::/48 nexthop via fd00:12::2 dev p1 nexthop via fd00:13::2 dev p2",
          "203.0.113.0/24 proto static via 10.12.1.2", "192.0.2.0/24 dev p1", "blackhole 100.64.0.0/10",
          "unreachable 100.65.0.0/16"]
N_FLOWS = 24


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    for route in ROUTES:
        lab["r"].ip(f"route add {route}")
    assert_reaches(lab["h1"], "10.12.1.2", "10.12.2.2", "fd00:12::2", "fd00:13::2", "198.51.100.1", "2001:db8:100::1")
    assert_reaches(lab["tagged"], "10.12.1.2")
    lab["h1"].run("sysctl -qw net.ipv6.auto_flowlabels=0")  # a label of its own choice would be part of the flow
    return lab


@pytest.fixture
def explain(lab):
    client = Client(str(lab["r"].socket))

    def ask(interface="p0", **given):
        return client.call("explain", interface=interface, **given)
    return ask


def last(passage, of="packet"):
    return [step for step in passage["step"] if step["of"] == of][-1]


def looked_up(passage, of="packet"):
    return next(step["lookup"] for step in passage["step"] if step["of"] == of and "lookup" in step)


def test_a_route_its_gateway_and_the_frame_that_leaves(lab, explain):
    passage = explain(source="10.1.0.2", destination="203.0.113.9", ttl=9)
    found, sent = looked_up(passage), last(passage)
    assert (found["prefix"], found["protocol"], found["kind"], found["interface"]) == (
        "203.0.113.0/24", "static", "adjacency", "p1")
    assert (found["neighbor"], found["mtu"]) == ("10.12.1.2", 1500)
    assert [node["kind"] for node in found["node"]][0] == "directory"
    frame = bytes.fromhex(sent["frame"][0]["octets"])
    assert sent["frame"][0]["port"] == "p1"
    assert frame[:6] == bytes.fromhex(found["neighbor-mac"].replace(":", ""))
    assert frame[22] == 8 and frame[30:34] == bytes([203, 0, 113, 9])
    assert passage["polled"] is True


@pytest.mark.parametrize("source, target", [("10.1.0.2", "198.51.100.1"), ("fd00:1::2", "2001:db8:100::1")])
def test_each_flow_takes_the_member_that_explain_names(lab, explain, source, target):
    ways = {}
    for sport in range(20000, 20000 + N_FLOWS):
        passage = explain(source=source, destination=target, protocol="udp", source_port=sport, destination_port=7000)
        found = looked_up(passage)
        assert found["bucket"] == found["hash"] % found["buckets"]
        ways[sport] = last(passage)["frame"][0]["port"]
    assert set(ways.values()) == {"p1", "p2"}
    for way in ("p1", "p2"):
        ports = [str(sport) for sport, by in ways.items() if by == way]
        counting = receiver(lab["far"])
        lab["h1"].run([sys.executable, "-c", FLOWS, target, *ports])
        assert received(counting, len(ports))["interfaces"] == {way: len(ports)}


# One numbered packet as of stream.py from each source port.
FLOWS = """
import socket, struct, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
for n, port in enumerate(sys.argv[2:]):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.bind(("", int(port)))
        s.sendto(struct.pack("!Q", n) + bytes(56), (sys.argv[1], 7000))
"""


def test_drops_and_the_errors_about_them(lab, explain):
    none = explain(source="10.1.0.2", destination="8.8.8.8")
    assert (last(none)["reason"], last(none)["source"]) == ("ip4_no_route", "RFC 1812 5.2.4")
    error = last(none)["icmp-error"]
    assert (error["result"], error["type"], error["code"]) == ("sent", 3, 0)
    answer = bytes.fromhex(last(none, "icmp-error")["frame"][0]["octets"])
    assert answer[26:34] == bytes([10, 1, 0, 1, 10, 1, 0, 2])

    assert last(explain(source="10.1.0.2", destination="100.64.1.1"))["reason"] == "blackhole"
    refused = last(explain(source="10.1.0.2", destination="100.65.1.1"))
    assert (refused["reason"], refused["icmp-error"]["code"]) == ("unreachable", 1)
    expired = last(explain(source="fd00:1::2", destination="2001:db8:100::1", ttl=1))
    assert (expired["reason"], expired["icmp-error"]["type"]) == ("ip6_hop_limit", 3)
    big = last(explain(source="10.1.0.2", destination="203.0.113.9", size=1501, df=True))
    assert (big["reason"], big["icmp-error"]["code"], big["icmp-error"]["word"]) == ("ip4_too_big", 4, 1500)
    assert last(explain(source="127.0.0.1", destination="203.0.113.9"))["reason"] == "ip4_martian_src"
    assert last(explain(source="10.1.0.2", destination="203.0.113.9", vlan=77))["reason"] == "vlan_unknown"


def test_fragments_punts_and_waiting_for_a_neighbor(lab, explain):
    cut = last(explain(source="10.1.0.2", destination="203.0.113.9", size=4000))
    assert (cut["result"], [frame["length"] for frame in cut["frame"]]) == ("sent", [1514, 1514, 1054])
    ours = last(explain(source="10.1.0.2", destination="10.12.1.1", protocol="tcp", destination_port=179))
    assert (ours["result"], ours["class"], ours["frame"][0]["interface"]) == ("punted", "routing", "p0")
    held = explain(source="10.1.0.2", destination="192.0.2.7")
    assert (last(held)["result"], looked_up(held)["kind"]) == ("held", "glean")


def test_tags_are_taken_off_and_put_on(lab, explain):
    passage = explain("v40", source="10.40.0.2", destination="203.0.113.9")
    frame = bytes.fromhex(passage["in"]["octets"])
    assert (passage["in"]["port"], frame[12:16]) == ("p3", bytes.fromhex("81000028"))
    assert last(passage)["frame"][0]["interface"] == "p1"
    back = last(explain("p1", source="10.12.1.2", destination="10.40.0.2"))["frame"][0]
    assert (back["port"], back["interface"], back["octets"][24:32]) == ("p3", "v40", "81000028")


def test_each_virtual_router_has_its_own_answer(lab, explain):
    assert last(explain("p4", source="10.1.0.2", destination="203.0.113.9"))["reason"] == "ip4_no_route"
    step = explain("p4", source="10.1.0.2", destination="10.1.0.1")["step"][0]
    assert (step["vr"], step["interface"]) == ("red", "p4")


def test_a_captured_frame_gets_the_same_answer(lab, explain, tmp_path):
    """A host's frame, in tcpdump's format and as hexadecimal digits."""
    octets = explain(source="10.1.0.2", destination="203.0.113.9", source_port=5)["in"]["octets"]
    by_fields = explain(source="10.1.0.2", destination="203.0.113.9", source_port=5)
    assert explain(frame=octets)["step"] == by_fields["step"]
    file = tmp_path / "one.pcap"
    data = bytes.fromhex(octets)
    file.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000") + bytes(8)
                     + len(data).to_bytes(4, "little") * 2 + data)
    program = Path(__file__).resolve().parents[2] / "kamuee"
    said = subprocess.run([program, "--socket", str(lab["r"].socket), "explain", "in", "p0", "pcap", str(file)],
                          capture_output=True, text=True, check=True).stdout
    assert "203.0.113.9: route 203.0.113.0/24 (static)" in said and said.endswith("=> sent on p1\n")


def test_asking_changes_nothing(lab, explain):
    client = Client(str(lab["r"].socket))

    def counted():
        return (client.state("icmp"), {entry["name"]: entry["packets"] for entry in client.entries("drop")},
                [(entry["class"], entry["passed"]) for entry in client.entries("punt")])
    eventually(lambda: counted() == counted(), what="the router is quiet")
    before = counted()
    for _ in range(200):
        explain(source="10.1.0.2", destination="8.8.8.8")
        explain(source="10.1.0.2", destination="203.0.113.9", ttl=1)
        explain(source="10.1.0.2", destination="10.1.0.1", protocol="icmp")
    after = counted()
    assert after[0] == before[0]
    assert after[1]["ip4_no_route"] == before[1]["ip4_no_route"] and after[1]["ip4_ttl"] == before[1]["ip4_ttl"]
    assert dict(after[2])["icmp"] == dict(before[2])["icmp"]


def test_what_makes_no_packet_is_refused(lab):
    client = Client(str(lab["r"].socket))
    for given, word in [({"interface": "p9", "source": "10.1.0.2", "destination": "10.2.0.2"}, "no interface"),
                        ({"interface": "p0", "source": "10.1.0.2", "destination": "fd00::1"}, "same family"),
                        ({"interface": "p0"}, "same family"),
                        ({"interface": "p0", "frame": "012"}, "hexadecimal"),
                        ({"interface": "p0", "source": "10.1.0.2", "destination": "10.2.0.2", "protocol": "ipx"}, "protocol")]:
        with pytest.raises(Exception, match=word):
            client.call("explain", **given)


def test_a_packet_that_explain_calls_held_is_held_and_sent(lab, explain):
    """The real packet: the neighbor is solicited, and the held packet arrives."""
    lab["far"].ip("address add 10.12.1.77/24 dev p1")
    assert last(explain(source="10.1.0.2", destination="10.12.1.77"))["result"] == "held"
    assert_reaches(lab["h1"], "10.12.1.77")
    assert last(explain(source="10.1.0.2", destination="10.12.1.77"))["result"] == "sent"
    counting = receiver(lab["far"])
    send(lab["h1"], ["10.12.1.77"], 10)
    assert received(counting, 10)["distinct"] == 10
