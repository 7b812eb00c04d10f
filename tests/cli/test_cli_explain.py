# SPDX-License-Identifier: BSD-3-Clause
"""explain, trace: what the daemon is asked, and what is printed of its answer, at 80 columns.

packet_traces.py holds kamueed's answers. UPDATE=1 writes the golden texts anew.
"""
import json
from pathlib import Path

import pytest

from conftest import assert_golden
from kamuee import frames, pcap
from kamuee.errors import UsageError

from packet_traces import PASSAGES

HERE = Path(__file__).parent
LINE = ("explain", "in", "p0", "src", "10.1.0.2", "dst", "203.0.113.9")
FRAME = bytes.fromhex("020000000002020000000001") + b"\x08\x00" + bytes(46)


@pytest.fixture
def answers(daemon):
    daemon.operations["explain"] = lambda given: PASSAGES["member"]
    return daemon


def asked(daemon):
    assert daemon.asked[-1][:2] == ("POST", "explain")
    return daemon.asked[-1][2]


@pytest.mark.parametrize("name", PASSAGES)
def test_text_is_the_golden_one_and_fits_80_columns(kamuee, daemon, name):
    daemon.operations["explain"] = lambda given: PASSAGES[name]
    assert_golden(kamuee(*LINE), f"explain_{name}")


def test_the_words_of_a_packet_stand_in_any_order(kamuee, answers):
    assert kamuee("explain", "in", "p0", "dport", "80", "dst", "10.0.0.1", "more", "ttl", "9", "src", "10.0.0.2", "df", "proto",
                  "tcp", "fragment", "16", "tos", "0xb8", "vlan", "40", "size", "1000", "from-mac",
                  "02:00:00:00:00:09").code == 0
    assert asked(answers) == {
        "interface": "p0", "destination-port": 80, "destination": "10.0.0.1", "more-fragments": True, "ttl": 9,
        "source": "10.0.0.2", "df": True, "protocol": "tcp", "fragment-offset": 16, "tos": 184, "vlan": 40, "size": 1000,
        "source-mac": "02:00:00:00:00:09"}


@pytest.mark.parametrize("words, expected", [
    ("explain in p0", "not complete"), ("explain in p0 src 10.0.0.1", "source and a destination"),
    ("explain in p0 src 10.0.0.1 dst 10.0.0.2 ttl 256", "'256' is not expected"),
    ("explain in p0 src 10.0.0.1 dst 10.0.0.2 fragment 4", "multiple of 8"),
    ("explain in p0 hex 012", "'012' is not expected"), ("explain in p0 pcap /nowhere", "No such file"),
])
def test_wrong_words_are_refused_before_the_daemon_is_asked(kamuee, answers, words, expected):
    result = kamuee(*words.split())
    assert result.code == 2 and expected in result.err
    assert not answers.asked


def test_a_frame_is_given_in_hexadecimal_digits(kamuee, answers):
    assert kamuee("explain", "in", "p0", "hex", "0A0b").code == 0
    assert asked(answers) == {"interface": "p0", "frame": "0a0b"}


def block(kind, body):
    size = (12 + len(body)).to_bytes(4, "little")
    return kind.to_bytes(4, "little") + size + body + size


def enhanced(data):
    words = [0, 0, 0, len(data), len(data)]
    return block(6, b"".join(word.to_bytes(4, "little") for word in words) + data + bytes(-len(data) % 4))


PCAPNG = (block(0x0A0D0D0A, bytes.fromhex("4d3c2b1a01000000ffffffffffffffff")) + block(1, bytes.fromhex("0100000000000000"))
          + enhanced(b"\x01" * 61) + block(5, bytes(8)) + enhanced(FRAME))
CLASSIC = {order: (0xa1b2c3d4.to_bytes(4, order) + bytes(16) + (1).to_bytes(4, order)
                   + b"".join(bytes(8) + len(data).to_bytes(4, order) * 2 + data for data in (b"\x01" * 61, FRAME)))
           for order in ("little", "big")}


@pytest.mark.parametrize("content", [PCAPNG, *CLASSIC.values()])
def test_a_frame_comes_out_of_a_file(kamuee, answers, tmp_path, content):
    file = tmp_path / "x"
    file.write_bytes(content)
    assert kamuee("explain", "in", "p0", "pcap", str(file)).code == 0
    assert asked(answers)["frame"] == "01" * 61
    assert kamuee("explain", "in", "p0", "pcap", str(file), "frame", "2").code == 0
    assert asked(answers)["frame"] == FRAME.hex()
    result = kamuee("explain", "in", "p0", "pcap", str(file), "frame", "3")
    assert result.code == 2 and "has 2 frames, not 3" in result.err


@pytest.mark.parametrize("content, word", [
    (b"", "neither"), (b"hello, world", "neither"), (CLASSIC["little"][:10], "header"), (CLASSIC["little"][:60], "truncated"),
    (CLASSIC["little"][:20] + b"\x71" + CLASSIC["little"][21:], "link type 113"), (PCAPNG[:-20], "truncated"),
    (PCAPNG[:28] + enhanced(FRAME), "Ethernet")])
def test_files_that_are_none_are_told(tmp_path, content, word):
    file = tmp_path / "x"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=word):
        pcap.frame(str(file), 2)


@pytest.mark.parametrize("cut", range(0, 61, 3))
def test_a_frame_cut_anywhere_is_described(cut):
    for kind in ("0800", "86dd", "0806", "8100", "0026"):
        data = bytes.fromhex("ff" * 12 + kind) + bytes([0x45, 0, 0, 46, 0, 0, 0, 0, 6, 17]) + bytes(36)
        assert all(frames.described(data[:cut]))


def test_traced_packets_are_numbered(kamuee, daemon):
    daemon.operations["trace"] = lambda given: {"passage": [
        {"time": f"2026-11-21T23:04:31.40211{n}Z", **PASSAGES[name]} for n, name in enumerate(("punt", "martian"))]}
    result = kamuee("trace", "in", "p0", "filter", "icmp or udp", "count", "2", "seconds", "5")
    assert (result.code, result.err) == (0, "")
    assert daemon.asked[-1] == ("POST", "trace", {"interface": "p0", "filter": "icmp or udp", "count": 2, "seconds": 5})
    golden = [(HERE / "golden" / f"explain_{name}.txt").read_text(encoding="utf-8") for name in ("punt", "martian")]
    assert result.out == (f"1. 2026-11-21 23:04:31.402110 UTC\n{golden[0]}\n2. 2026-11-21 23:04:31.402111 UTC\n{golden[1]}")


def test_no_traced_packet_is_said(kamuee, daemon):
    daemon.operations["trace"] = lambda given: {"passage": []}
    assert kamuee("trace", "in", "p0").out == "no matching packet was received\n"
    assert json.loads(kamuee("trace", "in", "p0", "-j").out) == []


# --- at an earlier time ---

def pcap_of(path: Path, *found: bytes) -> str:
    head = (0xa1b2c3d4).to_bytes(4, "little") + bytes([2, 0, 4, 0]) + bytes(8) + (65535).to_bytes(4, "little") + bytes([1, 0, 0, 0])
    path.write_bytes(head + b"".join(bytes(8) + len(data).to_bytes(4, "little") * 2 + data for data in found))
    return str(path)


@pytest.fixture
def then(daemon):
    """Answers as many packets as were asked about."""
    def answer(given):
        packets = given.get("frame") or [None]
        return {"time": "2026-11-30T03:12:07.000Z", "as-now": ["queue of port p0"], "packet": [PASSAGES["member"] for _ in packets]}
    daemon.operations["explain-at"] = answer
    return daemon


def test_an_earlier_time_is_asked_in_milliseconds_ago(kamuee, then):
    result = kamuee(*LINE, "at", "-5m")
    path, name, given = then.asked[-1]
    assert (path, name) == ("POST", "explain-at") and given["interface"] == "p0" and given["source"] == "10.1.0.2"
    assert 300_000 <= int(given["ago"]) < 310_000
    assert result.code == 0 and result.out.startswith("at 2026-11-30 ") and "=> sent on" in result.out
    assert "changed since, so as it is now: queue of port p0" in result.out


def test_a_file_makes_a_table_and_is_asked_in_pieces(kamuee, then, tmp_path):
    file = pcap_of(tmp_path / "x.pcap", *[FRAME] * 70)
    result = kamuee("explain", "in", "p0", "pcap", file, "at", "-5m")
    assert [len(given["frame"]) for _, _, given in then.asked] == [64, 6]
    lines = result.out.splitlines()
    assert lines[1].split()[:3] == ["FRAME", "PACKET", "VERDICT"] and sum("sent on" in line for line in lines) == 70
    kamuee("explain", "in", "p0", "pcap", file, "frame", "2", "at", "-5m")
    assert then.asked[-1][2]["frame"] == [FRAME.hex()]


def test_what_is_not_known_is_an_answer_of_its_own(kamuee, daemon):
    daemon.operations["explain-at"] = lambda given: {"time": "2026-11-30T03:12:07.000Z", "packet": [{"unknown": ["routes: gone"]}]}
    result = kamuee(*LINE, "at", "-5m")
    assert result.code == 1 and "not known: routes: gone" in result.out
    daemon.operations["explain-at"] = lambda given: {"time": "2026-11-30T03:12:07.000Z", "unknown": ["configuration: gone"]}
    result = kamuee(*LINE, "at", "-5m")
    assert result.code == 1 and "not known: configuration: gone" in result.out


@pytest.mark.parametrize("word, expected", [("tomorrow", "'tomorrow' is not expected"), ("2099-01-01T00:00:00", "in the future"),
                                            ("25:00:00", "not expected"), ("-", "not expected")])
def test_a_time_that_is_none_is_refused(kamuee, then, word, expected):
    result = kamuee(*LINE, "at", word)
    assert result.code == 2 and expected in result.err and not then.asked
