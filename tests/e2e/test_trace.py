# SPDX-License-Identifier: BSD-3-Clause
"""trace: its reports of real packets match the hosts' view, and it ends by itself."""
import json
import socket
import subprocess
from pathlib import Path

import pytest

from kamuee.client import Client

from support import Pinging, assert_no_loss, assert_reaches, eventually, ping, received, receiver, send, two_hosts

PROGRAM = Path(__file__).resolve().parents[2] / "kamuee"
LAB = two_hosts(interfaces=["p2: []", "v40: {vlan: 40, port: p2, addresses: [10.40.0.1/24]}"], nodes="""
  tagged: $VLAN4(40)
""", links=["tagged:eth0, r:p2"])
TARGETS = ("10.2.0.2", "fd00:2::2")


@pytest.fixture(scope="module")
def lab(lab):
    assert_reaches(lab["tagged"], "10.2.0.2")
    return lab


@pytest.fixture
def trace(lab):
    """Starts a trace and waits until it runs; result() gives what it told."""
    running = []

    def start(line):
        process = subprocess.Popen([PROGRAM, "--socket", str(lab["r"].socket), "trace", *line, "-j"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        eventually(lambda: process.poll() is not None or is_busy(lab), what="the trace runs")
        return process
    yield start
    for process in running:
        process.kill()
        process.communicate()
    eventually(lambda: not is_busy(lab), what="no trace runs")


def is_busy(lab):
    """A trace runs: it has its memory."""
    return any(region["name"] == "trace" for region in Client(str(lab["r"].socket)).state("system")["region"])


def result(process):
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    return json.loads(out)


def last(passage):
    return [step for step in passage["step"] if step["of"] == "packet"][-1]


def test_pings_are_traced_on_their_way(lab, trace):
    process = trace(["in", "p0", "filter", "icmp and dst 10.2.0.2", "count", "3"])
    assert_no_loss(lab["h1"], "10.2.0.2", 20)
    found = result(process)
    assert len(found) == 3 and [passage["time"] for passage in found] == sorted(passage["time"] for passage in found)
    for passage in found:
        assert passage["in"]["port"] == "p0"
        assert [step["stage"] for step in passage["step"]] == ["ether_in", "ip4_fwd", "ether_out"]
        assert passage["step"][1]["lookup"]["prefix"] == "10.2.0.0/24"
        assert passage["step"][1]["lookup"]["neighbor"] == "10.2.0.2"
        sent = last(passage)["frame"][0]
        came, went = bytes.fromhex(passage["in"]["octets"]), bytes.fromhex(sent["octets"])
        assert sent["port"] == "p1" and went[26:] == came[26:] and went[22] == came[22] - 1
    numbers = [bytes.fromhex(passage["in"]["octets"])[40:42] for passage in found]
    assert numbers == sorted(numbers)


def test_an_expired_packet_and_the_error_about_it(lab, trace):
    process = trace(["in", "p0", "filter", "dst host fd00:2::2 and ip6[7] == 1", "count", "1"])  # MLD reports have hop limit 1, too
    eventually(lambda: "Time exceeded" in ping(lab["h1"], "fd00:2::2", 1, extra="-t 1").said, 20, "the sender is told")
    (passage,) = result(process)
    assert (last(passage)["reason"], last(passage)["icmp-error"]["result"]) == ("ip6_hop_limit", "sent")
    error = [step for step in passage["step"] if step["of"] == "icmp-error"][-1]
    assert (error["result"], error["frame"][0]["port"]) == ("sent", "p0")


def test_what_is_for_the_router_is_told_with_its_class(lab, trace):
    process = trace(["in", "p0", "filter", "icmp and dst 10.1.0.1", "count", "2"])
    assert ping(lab["h1"], "10.1.0.1", 10).received
    for passage in result(process):
        assert (last(passage)["result"], last(passage)["class"]) == ("punted", "icmp")


def test_a_port_means_all_its_frames_and_a_vport_its_own(lab, trace):
    for name in ("v40", "p2"):
        process = trace(["in", name, "filter", "(icmp and dst 10.2.0.2) or (vlan and icmp and dst 10.2.0.2)", "count", "1"])
        assert_no_loss(lab["tagged"], "10.2.0.2", 10)
        (passage,) = result(process)
        assert passage["step"][0]["interface"] == "v40"
        assert last(passage)["frame"][0]["port"] == "p1"


def test_tracing_every_packet_of_a_stream_loses_none_and_keeps_their_order(lab, trace):
    process = trace(["in", "p0", "filter", "udp port 7000", "count", "1000"])
    counting = receiver(lab["h2"])
    send(lab["h1"], ["10.2.0.2"], 2000, per_s=4000)
    assert received(counting, 2000)["distinct"] == 2000
    found = result(process)
    assert len(found) == 1000
    numbers = [int.from_bytes(bytes.fromhex(passage["in"]["octets"])[42:50], "big") for passage in found]
    assert numbers == sorted(numbers)


def post(lab, operation: str, given: dict) -> tuple[int, dict]:
    """Status and body of an operation's answer, as they are on the wire."""
    body = json.dumps({"kamuee:input": given})
    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(str(lab["r"].socket))
        wire.sendall(f"POST /restconf/operations/kamuee:{operation} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                     f"Content-Type: application/yang-data+json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        head, _, said = wire.makefile("rb").read().partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(said)


def test_four_at_once_and_the_fifth_is_refused(lab, trace):
    processes = [trace(["in", name, "filter", f"icmp and (dst {to})", "count", str(count)]) for name, to, count in
                 (("p0", "10.2.0.2", 23), ("p0", "10.2.0.2", 25), ("p1", "10.1.0.2", 24), ("p1", "203.0.113.1", 22))]
    eventually(lambda: all(f"count={count} " in Path(lab["r"].log).read_text() for count in (22, 23, 24, 25)), what="four traces run")
    for interface in ("p0", "p1"):
        status, body = post(lab, "trace", {"interface": interface})
        (error,) = body["ietf-restconf:errors"]["error"]
        assert (status, error["error-tag"]) == (409, "in-use") and "4 are running" in error["error-message"]
    assert_no_loss(lab["h1"], "10.2.0.2", 30)
    told = [result(process) for process in processes[:3]]
    assert [len(passages) for passages in told] == [23, 25, 24]
    same = [[(passage["in"], passage["step"]) for passage in passages[:23]] for passages in told[:2]]
    assert same[0] == same[1]
    assert {passage["in"]["interface"] for passage in told[2]} == {"p1"}
    assert processes[3].poll() is None
    assert post(lab, "trace", {"interface": "none"})[0] == 404
    assert result(trace(["in", "p0", "filter", "ether proto 0x9999", "seconds", "1"])) == []  # the way is free again


def test_it_ends_when_its_time_is_over(lab, trace):
    process = trace(["in", "p0", "filter", "ether proto 0x9999", "seconds", "2"])
    assert result(process) == []


def test_it_ends_when_its_client_dies(lab, trace):
    process = trace(["in", "p0", "filter", "icmp", "count", "1000", "seconds", "600"])
    pinging = Pinging(lab["h1"], "10.2.0.2")
    eventually(lambda: is_busy(lab))
    process.kill()
    eventually(lambda: not is_busy(lab), what="the trace ends with its client")
    assert pinging.stop(200).lost == 0


def test_clients_that_die_while_they_are_told(lab, trace):
    pinging = Pinging(lab["h1"], "10.2.0.2")
    for _ in range(10):
        process = trace(["in", "p0", "count", "1000", "seconds", "600"])
        process.kill()
        eventually(lambda: not is_busy(lab), what="the trace ends with its client")
    assert pinging.stop(200).lost == 0


def test_text_and_refusals(lab):
    def run(*words):
        return subprocess.run([PROGRAM, "--socket", str(lab["r"].socket), "trace", *words], capture_output=True, text=True)
    assert run("in", "p0", "filter", "ether proto 0x9999", "seconds", "1").stdout == "no matching packet was received\n"
    wrong = run("in", "p0", "filter", "udp prot 53")
    assert wrong.returncode == 1 and "pcap-filter(7)" in wrong.stderr
    assert "no interface 'p9'" in run("in", "p9").stderr
    pinging = Pinging(lab["h1"], "10.2.0.2")
    said = run("in", "p0", "filter", "icmp", "count", "1").stdout
    pinging.stop()
    assert said.startswith("1. ") and said.endswith("=> sent on p1\n")
    eventually(lambda: Client(str(lab["r"].socket)).entries("capture") == [], 10, "no capture is left")
