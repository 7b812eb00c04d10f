# SPDX-License-Identifier: BSD-3-Clause
"""capture passes the daemon's bytes on and requests exactly the typed capture."""
import signal
import struct
import threading
import time

import pytest

FRAMES = bytes(range(256)) * 300


@pytest.fixture
def asked(daemon):
    daemon.operations["capture"] = lambda given: FRAMES
    return lambda: daemon.asked[-1][2]


def test_frames_go_to_the_file_as_they_come(kamuee, asked, tmp_path):
    file = tmp_path / "x.pcapng"
    result = kamuee("capture", "rx", "drop", "port", "p0", "filter", "udp port 53", "count", "7", "snaplen", "128",
                    "write", str(file))
    assert (result.code, result.out) == (0, "")
    assert file.read_bytes() == FRAMES
    assert asked() == {"point": ["rx", "drop"], "port": "p0", "filter": "udp port 53", "count": 7, "snaplen": 128}


def test_frames_go_to_a_pipe(program, asked):
    process = program(["capture", "interface", "v40", "write", "-"])
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (0, FRAMES), err
    assert asked() == {"interface": "v40"}


def test_frames_do_not_go_to_a_terminal(terminal, asked):
    found = terminal("capture", "rx")
    found.until("tcpdump -n -r -")


@pytest.mark.parametrize("words, told", [
    ("snaplen 63", "expected 64 to 9728"), ("snaplen x", "expected 64 to 9728"), ("count 0", "expected 1 to"),
    ("write /nowhere/x", "cannot write /nowhere/x"), ("port p0 interface p0", "'interface' is not expected here")])
def test_what_is_not_valid_is_refused_before_anything_is_asked(kamuee, daemon, asked, words, told):
    result = kamuee("capture", "rx", *words.split())
    assert result.code == 2 and told in result.err
    assert not daemon.asked


def test_no_captures_are_said_to_be_none(kamuee, daemon):
    daemon.state["capture"] = []
    assert kamuee("show", "capture").out == "no capture is running\n"


def packet(n, missed=None):
    """An enhanced packet block with n bytes of frame; with epb_dropcount when some were missed before it."""
    options = struct.pack("<HHQHH", 4, 8, missed, 0, 0) if missed is not None else b""
    body = struct.pack("<IIIII", 0, 0, 0, n, n) + bytes((n + 3) // 4 * 4) + options
    length = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", 6) + length + body + length


def test_how_many_frames_there_were_is_told_at_the_end(kamuee, daemon, tmp_path):
    head = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    data = head + b"".join(packet(n, missed) for n, missed in ((60, None), (61, 3), (1500, 0), (64, 4)))
    daemon.operations["capture"] = lambda given: data * 40
    result = kamuee("capture", "rx", "write", str(tmp_path / "x"))
    assert (result.code, result.err) == (0, "160 frames captured, 280 missed\n")


def test_after_ctrl_c_only_frames_in_the_file_are_captured(program, daemon, tmp_path):
    """kamueed sent 200 frames, of which the connection still holds 197."""
    file, end = tmp_path / "x", threading.Event()

    def running(given):
        yield packet(60) * 3
        end.wait(60)
    daemon.operations["capture"] = running
    daemon.state["capture"] = [{"id": 0, "sent": "200", "missed": "7"}]
    process = program(["capture", "rx", "write", str(file)])
    end_s = time.monotonic() + 20
    while not file.exists() or file.stat().st_size < 3 * len(packet(60)):
        assert time.monotonic() < end_s, "the frames are not in the file"
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[1] == b"3 frames captured, 204 missed\n"
    end.set()
