# SPDX-License-Identifier: BSD-3-Clause
"""capture passes the daemon's bytes on and asks for what was typed."""
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
    assert kamuee("show", "capture").out == "no capture runs\n"
