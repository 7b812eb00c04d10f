# SPDX-License-Identifier: BSD-3-Clause
"""explain … at TIME: what explain said before a change is what it says about that time afterwards; and what it does not know."""
import json
import struct
import subprocess
import sys
import time
from datetime import datetime

import pytest

from kamuee.client import Client

from conftest import ROOT
from support import assert_reaches, eventually, link_up

LAB = """
nodes:
  h1: $HOST(1)
  h2: $HOST(2)
  far:
    kind: host
    interfaces:
      eth0: [10.9.0.2/24, "fd00:9::2/64"]
    routes: [default via 10.9.0.1, "default via fd00:9::1"]
  r:
    kind: kamuee
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.2.0.1/24, "fd00:2::1/64"]
      p2: [10.9.0.1/24, "fd00:9::1/64"]
links:
  - [h1:eth0, r:p0]
  - [h2:eth0, r:p1]
  - [r:p2, far:eth0]
"""
PACKETS = ([{"source": "10.1.0.2", "destination": "203.0.113.9", "source-port": 1000 + n} for n in range(12)]
           + [{"source": "10.1.0.2", "destination": "198.51.100.1", "protocol": "tcp"},
              {"source": "10.1.0.2", "destination": "10.2.0.2"}, {"source": "10.1.0.2", "destination": "10.9.0.2", "ttl": 1},
              {"source": "fd00:1::2", "destination": "2001:db8:7::1"}, {"source": "fd00:1::2", "destination": "fd00:2::2"}])
OWN = ("lookup", "interface", "vr", "result", "reason", "acl", "icmp-error", "frame", "family", "ttl", "length")


@pytest.fixture(scope="module")
def lab(labs, kamueed):
    lab = labs(LAB)
    lab["r"].ip("route add 203.0.113.0/24 nexthop via 10.2.0.2 nexthop via 10.9.0.2")
    lab["r"].ip("-6 route add 2001:db8:7::/48 via fd00:2::2")
    assert_reaches(lab["h1"], "10.2.0.2", "10.9.0.2", "fd00:2::2", "fd00:9::2")
    return lab


@pytest.fixture
def client(lab):
    return Client(str(lab["r"].socket))


def steps(passage: dict) -> list[dict]:
    """What explain and explain-at have in common: without the lookup's nodes, and what rib_manager knows now."""
    found = []
    for step in passage["step"]:
        silent = step["stage"] in ("features_in", "features_out", "checks_out", "acl_in", "acl_out") and step["result"] == "on" and "acl" not in step
        if silent or step["stage"] in ("ether_in", "ip4_in", "ip6_in"):     # a trial passes the checks in any case
            continue
        error = step["of"] == "icmp-error"     # each has another IP identification
        step = {name: step[name] for name in OWN if name in step and not (error and name == "frame")}
        if "lookup" in step:
            step["lookup"] = {name: value for name, value in step["lookup"].items()
                              if name not in ("node", "type", "metric", "neighbor-status")}
            if step["lookup"].get("neighbor") == step["lookup"]["destination"]:     # then the FIB's host route is told, now the RIB's
                del step["lookup"]["prefix"], step["lookup"]["protocol"]
        found.append(step)
    return found


def now(client) -> list[list[dict]]:
    return [steps(client.call("explain", interface="p0", **packet)) for packet in PACKETS]


class Moment:
    """A time, and what explain said then. Nothing may change meanwhile."""

    def __init__(self, client):
        self.client = client

        def settled() -> bool:
            time.sleep(0.3)
            self.said, self.at = now(client), time.monotonic()
            time.sleep(0.3)
            return now(client) == self.said
        eventually(settled, what="a moment at which nothing changes")

    def ask(self, **given) -> dict:
        return self.client.call("explain-at", interface="p0", ago=str(round((time.monotonic() - self.at) * 1000)), **given)

    def check(self) -> None:
        for packet, said in zip(PACKETS, self.said):
            answer = self.ask(**packet)
            assert "unknown" not in answer and "unknown" not in answer["packet"][0], answer
            assert steps(answer["packet"][0]) == said, packet


def configure(client, *lines: str) -> None:
    client.call("configure", line=list(lines))


def test_each_earlier_time_is_told_as_it_was(lab, client):
    moments = [Moment(client)]
    lab["r"].ip("route add 198.51.100.0/24 via 10.2.0.2 mtu 1400")
    moments.append(Moment(client))
    lab["r"].ip("route replace 198.51.100.0/24 via 10.9.0.2 proto bgp")
    moments.append(Moment(client))
    configure(client, "set acl edge rule 10 deny udp from any to 203.0.113.0/24 port 33434", "set interface p0 acl in edge")
    moments.append(Moment(client))
    configure(client, "set acl edge rule 10 permit ip from any to any", "set acl edge default permit", "set interface p0 urpf ipv4 strict")
    moments.append(Moment(client))
    configure(client, "delete interface p0 acl", "delete acl edge", "delete interface p0 urpf")
    lab["h2"].ip("link set eth0 address 02:00:00:00:77:77")
    lab["r"].ip("neigh flush dev p1")
    assert_reaches(lab["h1"], "10.2.0.2")
    moments.append(Moment(client))
    lab["far"].ip("link set eth0 down")
    eventually(lambda: now(client) != moments[-1].said)
    moments.append(Moment(client))
    lab["r"].ip("route del 198.51.100.0/24")
    lab["r"].ip("-6 route replace blackhole 2001:db8:7::/48")
    link_up(lab["far"], "eth0")
    lab["far"].ip("route replace default via 10.9.0.1")
    assert_reaches(lab["h1"], "10.9.0.2")
    moments.append(Moment(client))
    for moment in moments:
        moment.check()
    assert len({json.dumps(moment.said) for moment in moments}) == len(moments)


def test_a_link_that_was_down_or_is_down_now(lab, client):
    up = Moment(client)
    lab["h1"].ip("link set eth0 down")
    eventually(lambda: client.call("explain", interface="p0", **PACKETS[0])["step"][-1].get("reason") == "iface_down")
    up.check()
    time.sleep(0.3)
    down = time.monotonic()
    time.sleep(0.3)
    link_up(lab["h1"], "eth0")
    lab["h1"].ip("-6 route replace default via fd00:1::1")
    lab["h1"].ip("route replace default via 10.1.0.1")
    assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::2")
    found = client.call("explain-at", interface="p0", ago=str(round((time.monotonic() - down) * 1000)), **PACKETS[0])
    assert found["packet"][0]["step"][-1]["reason"] == "iface_down"


def test_what_is_not_known_is_named(lab, client):
    configure(client, "set acl edge default permit", "set interface p0 acl in edge")
    before = Moment(client)
    client.call("acl-change", name="edge", add="100 deny udp from any to 203.0.113.0/24\n")
    after = Moment(client)
    assert any("access lists" in part for part in before.ask(**PACKETS[0])["packet"][0]["unknown"])
    after.check()
    configure(client, "delete interface p0 acl", "delete acl edge")
    assert any("access lists" in part for part in after.ask(**PACKETS[0])["packet"][0]["unknown"])
    found = client.call("explain-at", interface="p0", ago=str(10 ** 9), **PACKETS[0])
    assert "packet" not in found and any("journal" in part for part in found["unknown"])
    later = Moment(client)
    configure(client, "set journal size 1")
    configure(client, "set vr late")
    later.check()
    configure(client, "set journal size 0")
    assert "next hops" in later.ask(**PACKETS[0])["unknown"][0]
    configure(client, "delete journal size", "delete vr late")
    assert "next hops" in later.ask(**PACKETS[0])["unknown"][0]


def kamuee(lab, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, str(ROOT / "kamuee"), "--socket", str(lab["r"].socket), *words],
                          capture_output=True, text=True, timeout=60)


def test_the_command_line(lab, client, tmp_path):
    words = ("explain", "in", "p0", "src", "10.1.0.2", "dst", "198.18.5.5")
    lab["r"].ip("route add 198.18.0.0/15 via 10.2.0.2")
    eventually(lambda: "sent on p1" in kamuee(lab, *words).stdout)
    time.sleep(2)
    then, clock = time.monotonic(), datetime.now()
    time.sleep(2)
    lab["r"].ip("route del 198.18.0.0/15")
    eventually(lambda: "dropped" in kamuee(lab, *words).stdout)
    for at in (f"-{round(time.monotonic() - then)}s", clock.strftime("%H:%M:%S"), clock.strftime("%Y-%m-%dT%H:%M:%S")):
        said = kamuee(lab, *words, "at", at)
        assert said.returncode == 0 and "=> sent on p1" in said.stdout, (at, said)
        assert "route 198.18.0.0/15 (boot)" in said.stdout and "neighbor 10.2.0.2" in said.stdout
    found = json.loads(kamuee(lab, "-j", *words, "at", f"-{round(time.monotonic() - then)}s").stdout)
    assert found["packet"][0]["step"][-1]["result"] == "sent"
    frame = bytes.fromhex(found["packet"][0]["in"]["octets"])
    other = frame[:30] + bytes([8, 8, 8, 8]) + frame[34:]
    file = tmp_path / "incident.pcap"
    file.write_bytes(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1) + b"".join(
        struct.pack("<IIII", 0, 0, len(data), len(data)) + data for data in (frame, other)))
    said = kamuee(lab, "explain", "in", "p0", "pcap", str(file), "at", f"-{round(time.monotonic() - then)}s")
    assert said.returncode == 0 and "FRAME" in said.stdout, said
    assert "sent on p1" in said.stdout and "dropped: " in said.stdout and "198.18.5.5" in said.stdout
    said = kamuee(lab, *words, "at", "-1d")
    assert said.returncode == 1 and "not known: " in said.stdout, said
    for at, word in (("tomorrow", "not expected"), ("2099-01-01T00:00:00", "in the future")):
        said = kamuee(lab, *words, "at", at)
        assert said.returncode == 2 and word in said.stderr, said
