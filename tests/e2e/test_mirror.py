# SPDX-License-Identifier: BSD-3-Clause
"""Port mirrors: tcpdump on the TAP, and a host behind the other port, see what the wire saw."""
import signal
import subprocess

import pytest

from support import assert_no_loss, eventually, received, receiver, send, two_hosts

LAB = two_hosts(interfaces=["p2: [10.3.0.1/24]"], nodes="  ids: {kind: host, interfaces: {eth0: [10.3.0.2/24]}}",
                links=["r:p2, ids:eth0"])
TARGETS = ("10.2.0.2", "fd00:2::2")


class Dump:
    """tcpdump of UDP port 7000 at a device."""

    def __init__(self, node, device, path, *more):
        self.path, said = path, path.with_suffix(".said")
        self.proc = node.popen(["tcpdump", "-U", "-i", device, *more, "-w", str(path), "udp", "port", "7000"], log=str(said))
        eventually(lambda: "listening" in said.read_text(), 10, "tcpdump listens")

    def frames(self):
        said = subprocess.run(["tcpdump", "-n", "-e", "-x", "-t", "-r", str(self.path)], check=True, capture_output=True, text=True)
        return said.stdout.replace("\n\t", " ").splitlines()

    def end(self, n):
        eventually(lambda: len(self.frames()) >= n, 20, lambda: f"{n} frames, there are {len(self.frames())}")
        self.proc.send_signal(signal.SIGINT)
        self.proc.wait(10)
        return self.frames()


def udp_flows(lab):
    """500 packets through the router, all of which arrive."""
    sink = receiver(lab["h2"])
    send(lab["h1"], ["10.2.0.2", "fd00:2::2"], 500, flows=5, per_s=1000, size=300)
    assert received(sink, 500)["distinct"] == 500


@pytest.mark.parametrize("where", ["tap mon0", "port p2"])
@pytest.mark.parametrize("direction, port, host, way", [("rx", "p0", "h1", "out"), ("tx", "p1", "h2", "in")])
def test_a_mirror_shows_what_is_on_the_wire(lab, router, tmp_path, where, direction, port, host, way):
    router.configure(f"set port {port} mirror {direction} to {where}")
    there = Dump(lab["r"], "mon0", tmp_path / "there.pcap") if "mon0" in where else Dump(lab["ids"], "eth0", tmp_path / "there.pcap")
    lab["h1"].run("ethtool -K eth0 tx off")         # otherwise its own dump has checksums that nobody has computed yet
    wire = Dump(lab[host], "eth0", tmp_path / "wire.pcap", "-Q", way)
    udp_flows(lab)
    assert there.end(500) == wire.end(500)
    mirror = router.entries("mirror")[0]
    assert mirror["missed"] == 0 and mirror["sent"] >= 500


def test_both_directions_and_two_ports_may_share_a_tap(lab, router, tmp_path):
    router.configure("set port p0 mirror both to tap mon0", "set port p1 mirror both to tap mon0")
    there = Dump(lab["r"], "mon0", tmp_path / "there.pcap")
    udp_flows(lab)
    assert len(there.end(1000)) == 1000


def test_the_tap_comes_and_goes_with_its_mirrors(lab, router):
    assert not lab["r"].namespace.has_link("mon0")
    router.configure("set port p0 mirror rx to tap mon0", "set port p1 mirror tx to tap mon0")
    assert lab["r"].namespace.has_link("mon0")
    router.configure("delete port p0 mirror rx")
    assert lab["r"].namespace.has_link("mon0")
    router.configure("delete port p1 mirror tx")
    assert not lab["r"].namespace.has_link("mon0") and router.entries("mirror") == []


def test_a_tap_that_nobody_reads_costs_no_packet(lab, router):
    router.configure("set port p0 mirror both to tap mon0")
    udp_flows(lab)
    assert_no_loss(lab["h1"], "10.2.0.2", 100)
    assert_no_loss(lab["h1"], "fd00:2::2", 100)


@pytest.mark.parametrize("lines, told", [
    (["set port p0 mirror rx to port p0"], "to the port itself"),
    (["set port p0 mirror rx to port p2", "set port p2 mirror tx to port p1"], "which is itself mirrored"),
    (["set port p0 mirror rx to port p9"], "p9"),
    (["set port p0 mirror rx to tap p1"], "belongs to an interface"),
    (["set port p0 mirror rx to tap mon0", "set port p0 mirror both to tap mon1"], "would copy frames twice"),
    (["set port p0 mirror rx to tap mon0", "set port p0 mirror rx to port p2"], "either 'to port' or 'to tap'"),
])
def test_loops_and_contradictions_are_refused(router, lines, told):
    with pytest.raises(Exception, match=told):
        router.configure(*lines)
    assert router.entries("mirror") == []
