# SPDX-License-Identifier: BSD-3-Clause
"""Captures: they show the frames on the wire, and nothing is left of one whose client has gone."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pcapng
from kamuee.lab import measure

from support import assert_no_loss, eventually, ping, pings, received, receiver, send, two_hosts
from wire import Wire

KAMUEE = str(Path(__file__).resolve().parents[2] / "kamuee")
LAB = two_hosts(interfaces=["v40: {vlan: 40, port: p0, addresses: [10.40.0.1/24]}"])
TARGETS = ("10.2.0.2", "fd00:2::2")


class Capture:
    """kamuee capture … write FILE in the background."""

    def __init__(self, lab, words, path, **options):
        before = len(running(lab))
        argv = [sys.executable, KAMUEE, "--socket", str(lab["r"].socket), "capture", *words]
        if path:
            argv += ["write", str(path)]
        self.lab, self.path = lab, path
        self.proc = subprocess.Popen(argv, stderr=subprocess.PIPE, **options)
        eventually(lambda: len(running(lab)) > before or self.proc.poll() is not None, 30, "the capture runs")

    def holds(self, n):
        """Waits until the file has so many frames."""
        eventually(lambda: len(self.frames()) >= n, 10, lambda: f"{n} frames: there are {len(self.frames())}")
        return self

    def frames(self):
        return pcapng.read(self.path)

    def stop(self, how=signal.SIGINT):
        """Ends it as Ctrl-C does; its last words."""
        self.proc.send_signal(how)
        said = self.proc.communicate(timeout=60)[1].decode()
        eventually(lambda: not running(self.lab), 5, "no capture is left")
        return said


def running(lab):
    return measure.client(lab["r"]).entries("capture")


def starved(lab):
    """Frames for which a port had no room, because the machine did not run its forwarder."""
    return sum(port["statistics"]["rx-missed"] for port in measure.client(lab["r"]).entries("port"))


def by_tcpdump(path):
    """tcpdump's output for a file, frame by frame, with all bytes."""
    said = subprocess.run(["tcpdump", "-n", "-e", "-x", "-t", "-r", str(path)], check=True, capture_output=True, text=True)
    return said.stdout.replace("\n\t", " ").splitlines()


def test_what_is_captured_is_what_tcpdump_sees_on_the_wire(lab, tmp_path):
    """Packet by packet: rx of p0 is what h1 sent, tx of p1 is what h2 received, while traffic flows."""
    lab["h1"].namespace.no_offloads("eth0")             # on a veth, the checksums that it would leave to a card would stay open
    for words, host, way in ((["rx", "port", "p0"], "h1", "out"), (["tx", "port", "p1"], "h2", "in")):
        wire = tmp_path / f"{host}.pcap"
        said = tmp_path / f"{host}.said"
        dump = lab[host].popen(["tcpdump", "-U", "-i", "eth0", "-Q", way, "-w", str(wire), "udp", "port", "7000"], log=str(said))
        eventually(lambda: "listening" in said.read_text(), 10, "tcpdump listens")
        capture = Capture(lab, [*words, "filter", "udp port 7000"], tmp_path / f"{host}.pcapng")
        sink = receiver(lab["h2"])                      # or ICMP errors would keep some from being sent
        send(lab["h1"], ["10.2.0.2", "fd00:2::2"], 1000, flows=7, size=300)
        assert received(sink, 1000)["distinct"] == 1000
        eventually(lambda: len(by_tcpdump(wire)) == 1000, 20, lambda: f"{len(by_tcpdump(wire))} frames of 1000 on the wire")
        capture.holds(1000)
        counted = capture.stop()
        dump.send_signal(signal.SIGINT)
        dump.wait(60)
        assert "1000 frames captured, 0 missed" in counted
        assert by_tcpdump(capture.path) == by_tcpdump(wire)
        assert {frame.interface for frame in capture.frames()} == {f"{words[2]}-{words[0]}"}
        assert {frame.direction for frame in capture.frames()} == {1 if way == "out" else 2}
        assert {frame.filter for frame in capture.frames()} == {"udp port 7000"}
        assert abs(capture.frames()[-1].time_ns / 1e9 - time.time()) < 30


def test_dropped_packets_have_their_reason(lab, tmp_path):
    # without packets that the hosts send unasked, such as MLD reports
    capture = Capture(lab, ["drop", "filter", "ip or ether proto 0x88b5"], tmp_path / "drop.pcapng")
    wire = Wire(lab["h1"])
    mac = bytes.fromhex(lab["r"].ip_json("link show dev p0")[0]["address"].replace(":", ""))
    head = mac + bytes.fromhex(wire.mac.replace(":", "")) + b"\x08\x00"
    bad_sum = head + bytes.fromhex("45000014000000004011dead0a0100020a020002") + bytes(26)
    unknown = mac + bytes(6) + b"\x88\xb5" + bytes(46)
    wire.send(bad_sum)
    wire.send(unknown)
    assert ping(lab["h1"], "203.0.113.9", 1).received == 0
    assert ping(lab["h1"], "10.2.0.2", 1, extra="-t 1").received == 0
    capture.holds(4).stop()
    wire.close()
    frames = {frame.comment.split(":")[0]: frame for frame in capture.frames()}
    assert set(frames) >= {"drop ip4_checksum", "drop ether_type_unknown", "drop ip4_no_route", "drop ip4_ttl"}
    assert frames["drop ip4_checksum"].data == bad_sum
    assert frames["drop ether_type_unknown"].data == unknown
    assert "RFC 1812" in frames["drop ip4_no_route"].comment
    assert frames["drop ip4_ttl"].data[22] == 1 and {frame.interface for frame in capture.frames()} == {"p0-drop"}


def test_a_packet_whose_neighbor_does_not_answer_is_seen_when_it_ends(lab, tmp_path):
    capture = Capture(lab, ["drop", "filter", "host 10.2.0.77"], tmp_path / "held.pcapng")
    ping(lab["h1"], "10.2.0.77", 1, extra="-W 6")
    frames = capture.holds(1).frames()
    capture.stop()
    assert frames[0].comment.startswith("drop neigh_failed"), frames
    assert frames[0].data[12:14] == b"\x08\x00" and frames[0].data[14 + 9] == 1


def test_punted_packets_have_their_class(lab, tmp_path):
    capture = Capture(lab, ["punt", "interface", "p0", "filter", "icmp", "count", "3"], tmp_path / "punt.pcapng")
    assert pings(lab["h1"], "10.1.0.1", 3).received == 3
    assert capture.proc.wait(60) == 0
    assert [frame.comment for frame in capture.frames()] == ["punt class icmp"] * 3
    eventually(lambda: not running(lab), 5, "the capture ends with its last frame")


def test_frames_come_live_through_a_pipe_and_a_reader_that_leaves_ends_the_capture(lab):
    capture = Capture(lab, ["rx", "port", "p0", "filter", "icmp", "write", "-"], None, stdout=subprocess.PIPE)
    reader = subprocess.Popen(["tcpdump", "-n", "-l", "-r", "-"], stdin=capture.proc.stdout, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    capture.proc.stdout.close()
    ping(lab["h1"], "10.2.0.2", 1)
    assert "10.1.0.2 > 10.2.0.2: ICMP echo request" in reader.stdout.readline()
    assert running(lab)[0]["sent"] == 1
    reader.kill()
    reader.communicate()
    assert capture.proc.wait(60) == 0
    eventually(lambda: not running(lab), 5, "the capture ends with its reader")


def test_nothing_is_left_of_a_client_that_was_killed(lab, tmp_path):
    watches = lambda: [r for r in measure.client(lab["r"]).state("system")["region"] if r["name"] == "watch"]
    capture = Capture(lab, ["rx", "tx", "drop", "punt"], tmp_path / "killed.pcapng")
    assert_no_loss(lab["h1"], "10.2.0.2")
    assert len(watches()) == 1
    capture.stop(signal.SIGKILL)
    eventually(lambda: not watches(), 5, "its memory is given back")
    assert_no_loss(lab["h1"], "10.2.0.2")


def test_a_reader_that_does_not_read_costs_missed_frames_and_no_packet(lab):
    read_end, write_end = os.pipe()
    capture = Capture(lab, ["rx", "port", "p0", "write", "-"], None, stdout=write_end)
    os.close(write_end)
    sink, before = receiver(lab["h2"]), starved(lab)
    send(lab["h1"], ["10.2.0.2"], 6000, per_s=6000, size=1400)
    assert 6000 - received(sink, 6000)["distinct"] <= starved(lab) - before
    assert_no_loss(lab["h1"], "10.2.0.2")
    found = running(lab)[0]
    assert found["missed"] > 3000 and found["sent"] < 3000, found
    os.close(read_end)
    capture.proc.wait(60)
    eventually(lambda: not running(lab), 5, "the capture ends with its reader")


@pytest.mark.parametrize("words, told", [
    (["filter", "udp prot 53"], "syntax error"), (["port", "p9"], "there is no port p9"),
    (["interface", "v41"], "there is no interface v41"), (["snaplen", "9"], "expected 64 to 9728")])
def test_what_can_not_be_captured_is_refused_with_the_reason(lab, tmp_path, words, told):
    capture = Capture(lab, words, tmp_path / "no.pcapng")
    assert told in capture.proc.communicate(timeout=60)[1].decode()
    assert capture.proc.returncode in (1, 2)
    assert not running(lab)


def test_only_so_many_captures_run_at_once(lab, tmp_path):
    captures = [Capture(lab, ["rx"], tmp_path / f"{i}.pcapng") for i in range(8)]
    one_more = Capture(lab, ["rx"], tmp_path / "8.pcapng")
    assert "too many captures: at most 8" in one_more.proc.communicate(timeout=60)[1].decode()
    assert_no_loss(lab["h1"], "10.2.0.2")
    for capture in captures:
        capture.proc.kill()
        capture.proc.communicate()
    eventually(lambda: not running(lab), 5, "no capture is left")


def test_a_capture_of_an_interface_follows_it_when_it_is_made_again(lab, tmp_path):
    client = measure.client(lab["r"])
    capture = Capture(lab, ["rx", "interface", "v40"], tmp_path / "v40.pcapng")
    client.call("configure", line=["delete vport v40"])
    client.call("configure", line=["set vport v41 port p0 vlan 41", "set vport v40 port p0 vlan 40"])
    wire = Wire(lab["h1"])
    for vlan in (41, 40):
        wire.send(b"\xff" * 6 + bytes.fromhex(wire.mac.replace(":", "")) + b"\x81\x00" + vlan.to_bytes(2, "big") + b"\x88\xb5" + bytes(46))
    wire.close()
    frames = capture.holds(1).frames()
    capture.stop()
    client.call("configure", line=["delete vport v41"])
    assert [frame.data[14:16] for frame in frames] == [b"\x00\x28"]
