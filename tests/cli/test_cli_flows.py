# SPDX-License-Identifier: BSD-3-Clause
"""show flows, and the effects of a commit on flows."""
import struct

import pytest

FLOW = {"interface": "p0", "vr": "default", "source": "10.1.0.2", "destination": "198.51.100.7", "protocol": 6, "tos": 0,
        "source-port": 51544, "destination-port": 8443, "packets": "4800", "bytes": "7000000", "idle": 3}
PING = {"interface": "p0", "vr": "red", "source": "2001:db8::1", "destination": "2001:db8:1::1", "protocol": 58, "tos": 0,
        "icmp-type": 128, "icmp-code": 0, "packets": "16", "bytes": "1344", "idle": 3}
EFFECTS = {"flows": 48213, "bytes": "7001344", "changed-flows": 2, "changed-bytes": "7001344", "left-out-flows": 1,
           "effect": [{"kind": "dropped", "by": "dropped by acl edge rule 20", "flows": 1, "bytes": "7000000"},
                      {"kind": "vr", "by": "vr red", "flows": 1, "bytes": "1344"}],
           "example": [{**FLOW, "kind": "dropped", "before": "sent by p1, class 0, tos 0", "after": "dropped by acl edge rule 20"}],
           "not-tried": ["port p2"]}


@pytest.fixture
def asked(daemon):
    """What the daemon was asked: (operation, input)."""
    asked = []

    def answers(name, answer):
        def run(given):
            asked.append((name, given))
            return answer
        daemon.operations[name] = run
    answers("flows", {"flow": [FLOW, PING], "flows": 48213, "bytes": "7001344"})
    answers("session-open", {"session": 1, "other": []})
    answers("configure", {"change": ["set interface p0 acl in edge"], "flows": EFFECTS})
    answers("session-close", None)
    return asked


def test_the_largest_flows_with_their_share(kamuee, asked):
    said = kamuee("show", "flows", "2", "in", "p0").out
    assert asked == [("flows", {"limit": 2, "interface": "p0"})]
    lines = said.splitlines()
    assert lines[1].split() == ["p0", "10.1.0.2:51544", "198.51.100.7:8443", "tcp", "4,800", "6.68", "MiB", "100.0%"]
    assert "icmp6 128/0" in lines[2]
    assert lines[-1] == "2 of 48213 flows; packets and bytes of the last ten minutes, estimated from samples"


def test_no_flows_are_said(kamuee, asked, daemon):
    daemon.operations["flows"] = lambda given: {"flows": 0, "bytes": "0"}
    assert kamuee("show", "flows").out == "no flows in the last ten minutes\n"


def script(tmp_path, *lines):
    file = tmp_path / "script"
    file.write_text("\n".join(["configure", *lines, "exit discard", ""]))
    return str(file)


def test_a_checked_commit_tells_its_effects(kamuee, asked, tmp_path):
    said = kamuee("-f", script(tmp_path, "commit check flows limit 10")).out
    assert [given for name, given in asked if name == "configure"] == [{"session": 1, "check": True, "flows": {"limit": 10}, "confirm": True}]
    assert [line for line in said.splitlines() if line.startswith((" ", "of "))] == [
        "of 48213 flows (6.68 MiB) 2 would change (100.0% of the bytes)",
        "  dropped: 1 flow, 100.0% of the bytes: dropped by acl edge rule 20",
        "  vr: 1 flow, 0.0% of the bytes: vr red",
        "  e.g. in p0: tcp 10.1.0.2:51544 > 198.51.100.7:8443: sent by p1, class 0, tos 0 -> dropped by acl edge rule 20",
        "  not tried: 1 flow (multicast, or the interface has changed since)", "  not tried: port p2"]


def test_a_capture_goes_to_the_daemon(kamuee, asked, tmp_path):
    file = tmp_path / "x.pcap"
    frames = [bytes(60), bytes([1]) * 200]
    file.write_bytes(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
                     + b"".join(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame for frame in frames))
    kamuee("-f", script(tmp_path, f"commit flows in p0 pcap {file} force"))
    assert [given["flows"] for name, given in asked if name == "configure"] == [
        {"force": True, "interface": "p0", "frame": ["00" * 60, "01" * 128]}]
    file.write_bytes(file.read_bytes()[:24])
    result = kamuee("-f", script(tmp_path, f"commit flows in p0 pcap {file}"))
    assert result.code and "has no frames" in result.err


def test_an_empty_sample_is_said(kamuee, asked, daemon, tmp_path):
    empty = {**EFFECTS, "flows": 0, "bytes": "0", "changed-flows": 0, "changed-bytes": "0", "left-out-flows": 0, "effect": [], "example": [], "not-tried": []}
    daemon.operations["configure"] = lambda given: {"change": ["set interface p0 acl in edge"], "flows": empty}
    assert kamuee("-f", script(tmp_path, "commit check flows")).out.splitlines().count("no flows to try: the sample is empty") == 1
