# SPDX-License-Identifier: BSD-3-Clause
"""Each example of a packet program matches its page: exact verdicts and bytes, on frames made here."""
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from packet_program import EXAMPLES, PROGRAM, ether, ip4, ip6, run, short, tcp, verdicts

pytestmark = pytest.mark.skipif(not PROGRAM.exists() or not all(map(shutil.which, ("wasm2c", "clang"))),
                                reason="needs a built kamuee-program, wabt and clang")


def data(result: dict) -> list[bytes]:
    return [bytes.fromhex(p["data"]) for p in result["packets"]]


@pytest.mark.parametrize("name", sorted(p.stem for p in EXAMPLES.glob("*.c")))
def test_it_is_built(tmp_path, name):
    done = run("build", EXAMPLES / f"{name}.c", "-o", tmp_path / "x.so")
    assert done.returncode == 0, done.stderr


def test_noop_lets_everything_pass(tmp_path):
    result = verdicts(tmp_path, EXAMPLES / "noop.c", [ether(0x800, ip4()), ether(0x86dd, ip6())] * 40)
    assert short(result) == [("continue",)] * 80
    assert {p["changed"] for p in result["packets"]} == {0}


def test_dscp_gives_the_class_and_marks(tmp_path):
    frames = [ether(0x800, ip4(tos=46 << 2 | 1)), ether(0x86dd, ip6(traffic_class=10 << 2 | 2)), ether(0x800, ip4(tos=12 << 2)), ether(0x800, ip4())]
    result = verdicts(tmp_path, EXAMPLES / "dscp.c", frames, "--table", "class:46=5", "--table", "class:10=3", "--table", "mark:10=23",
                      "--table", "mark:46=1", "--table", "mark:12=13")
    assert short(result) == [("class", 5), ("class", 3), ("class", 0), ("class", 0)]
    assert data(result) == [ip4(tos=0 << 2 | 1), ip6(traffic_class=22 << 2 | 2), ip4(tos=12 << 2), ip4()]
    assert result["counters"] == {"marked": "2"}     # 12 is marked with what it has


def test_syn_guard_stops_a_source_after_its_limit_and_no_other(tmp_path):
    flood, other, ack = (ether(0x800, ip4(src=s, proto=6, data=tcp(f))) for s, f in (("10.9.9.9", 2), ("10.1.1.1", 2), ("10.9.9.9", 0x12)))
    six = ether(0x86dd, ip6(proto=6, data=tcp(2)))
    fragment = bytearray(ip4(src="10.9.9.9", proto=6, data=tcp(2)))
    fragment[7] = 9
    frames = [flood] * 5 + [other, ack, six, ether(0x800, bytes(fragment)), ether(0x800, ip4())] + [flood]
    result = verdicts(tmp_path, EXAMPLES / "syn-guard.c", frames, "--table", "limit:0=3")
    assert short(result) == [("continue",)] * 3 + [("drop", "syn-flood")] * 2 + [("continue",)] * 5 + [("drop", "syn-flood")]
    assert result["counters"] == {"syn": "8", "dropped": "3", "table-full": "0"}
    result = verdicts(tmp_path, EXAMPLES / "syn-guard.c", [flood] * 6, "--table", "limit:0=3", step_ns=600_000_000)
    assert result["verdicts"]["drop"] == "0"         # 3.6 s: never four within 2^30 ns


def test_sampled_mirror_takes_one_packet_in_so_many(tmp_path):
    frames = [ether(0x800, ip4())] * 10
    assert [v[0] for v in short(verdicts(tmp_path, EXAMPLES / "sampled-mirror.c", frames, "--table", "rate:1=4"))] == \
        ["continue"] * 3 + ["mirror"] + ["continue"] * 3 + ["mirror"] + ["continue"] * 2
    result = verdicts(tmp_path, EXAMPLES / "sampled-mirror.c", frames)
    assert result["verdicts"]["mirror"] == "0"
    flows = [ether(0x800, ip4(dst=f"10.0.{n}.1")) for n in range(200)] * 2
    result = verdicts(tmp_path, EXAMPLES / "sampled-mirror.c", flows, "--table", "rate:0=8")
    chosen = [v[0] == "mirror" for v in short(result)]
    assert 5 < sum(chosen[:200]) < 60 and chosen[:200] == chosen[200:]      # whole flows
    assert result["counters"]["mirrored"] == str(sum(chosen))


def label(value: int, ttl: int = 64, bottom: bool = True, tc: int = 3) -> bytes:
    return struct.pack("!I", value << 12 | tc << 9 | bottom << 8 | ttl)


def test_labels_are_swapped_popped_and_refused(tmp_path):
    packets = [label(100) + ip4(), label(200) + ip6(), label(300) + ip4(), label(200, 9, False) + label(7, 200) + ip4(),
               label(300, bottom=False) + label(7) + ip4(), label(999) + ip4(), label(100, ttl=1) + ip4(), label(200) + bytes(40)]
    result = verdicts(tmp_path, EXAMPLES / "label-switch.c", [ether(0x8847, p) for p in packets], "--hook", "ether-type",
                      "--table", f"label:100={1 | 77 << 8 | 5 << 32}", "--table", f"label:200={2 | 6 << 32}", "--table", "label:300=3")
    assert short(result) == [("next-hop", 5), ("next-hop", 6), ("continue",), ("next-hop", 6), ("drop", "not-ip"), ("drop", "unknown"),
                             ("drop", "expired"), ("drop", "not-ip")]
    kinds = [p["ether-type"] for p in result["packets"]]
    assert kinds[:4] == [0x8847, 0x86dd, 0x800, 0x8847]
    padded = [d.rstrip(b"\0") for d in data(result)]
    assert padded[0] == label(77, 63) + ip4() and padded[1] == ip6().rstrip(b"\0") and padded[2] == ip4()
    assert padded[3] == label(7, 8) + ip4()
    assert result["counters"] == {"swapped": "1", "popped": "5"}


def test_a_source_route_is_followed_hop_by_hop(tmp_path):
    def header(left: int, hops: bytes, version: int = 4) -> bytes:
        return bytes([left, version, 0, 0]) + hops.ljust(16, b"\0")

    frames = [ether(0x88b5, p) for p in (header(3, b"\7\x08\x09") + ip4(), header(0, b"") + ip4(), header(0, b"", 6) + ip6(), header(16, b"\7") + ip4(),
                                         header(1, b"\7", 5) + ip4())]
    short_frame = ether(0x88b5, b"")[:14 + 10]
    result = verdicts(tmp_path, EXAMPLES / "source-route.c", [*frames, short_frame], "--hook", "ether-type")
    assert short(result) == [("next-hop", 7), ("continue",), ("continue",), ("drop", "bad-header"), ("drop", "bad-header"), ("drop", "short")]
    assert data(result)[0].rstrip(b"\0") == header(2, b"\x08\x09") + ip4()
    assert data(result)[1].rstrip(b"\0") == ip4() and data(result)[2].rstrip(b"\0") == ip6()
    assert [p["ether-type"] for p in result["packets"][:3]] == [0x88b5, 0x800, 0x86dd]
    assert result["counters"] == {"forwarded": "1", "arrived": "2"}


def rust_target() -> bool:
    done = shutil.which("rustc") and subprocess.run(["rustc", "--print", "target-libdir", "--target", "wasm32v1-none"], capture_output=True, text=True)
    return bool(done) and done.returncode == 0 and Path(done.stdout.strip()).is_dir()


@pytest.mark.skipif(not rust_target(), reason="needs rustc with target wasm32v1-none")
def test_rust_makes_programs_as_well(tmp_path):
    subprocess.run(["rustc", "--target", "wasm32v1-none", "-C", "opt-level=2", "-C", "panic=abort", "-C",
                    "link-args=--no-entry -zstack-size=4096 --initial-memory=65536 --max-memory=65536", "--crate-type", "cdylib",
                    EXAMPLES / "dscp.rs", "-o", tmp_path / "dscp.wasm"], check=True, timeout=60)
    result = verdicts(tmp_path, tmp_path / "dscp.wasm", [ether(0x800, ip4(tos=46 << 2)), ether(0x86dd, ip6(traffic_class=10 << 2))],
                      "--table", "class:46=5", "--table", "class:10=3")
    assert short(result) == [("class", 5), ("class", 3)]
