# SPDX-License-Identifier: BSD-3-Clause
"""Packet programs of a virtual router: each hook, each verdict, refusals, faults, replacing under traffic."""
import os
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

from kamuee.errors import DaemonError

from conftest import ROOT
from support import Pinging, Router, assert_reaches, build_program, eventually, ping, received, receiver, send
from test_vr import OVERLAP
from wire import Wire

TYPE = 0x88b5                                     # for experiments (IEEE 802)
BOTH = pytest.mark.parametrize("family", [4, 6], ids=["ipv4", "ipv6"])
TARGET = {4: "10.2.0.2", 6: "fd00:2::2"}


@pytest.fixture(scope="module")
def lab(labs):
    lab = labs(OVERLAP, "kamuee")
    for color in ("red", "blue"):
        assert_reaches(lab[f"{color}a"], *TARGET.values())
    return lab


@pytest.fixture
def build(tmp_path):
    """Builds a program of a body of C: build("return KAMUEE_CONTINUE;", "counter seen") -> its file."""
    os.chmod(tmp_path, 0o755)
    return lambda body, declared="", name="program", **macros: build_program(tmp_path / f"{name}.so", body, declared, **macros)


@pytest.fixture(autouse=True)
def reachable(tmp_path):
    """kamueed, another user, reads what lies in the test's directory."""
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and str(directory) != "/":
            os.chmod(directory, directory.stat().st_mode | 0o055)


def load(router: Router, file: str, *settings: str, hook: str = "input", name: str = "red:x") -> None:
    router.configure(f"set program {name} vr {name.split(':')[0]} hook {hook} file {file}", *(f"set program {name} {line}" for line in settings))


def program(router: Router, name: str = "red:x") -> dict:
    return router.named("program", name)


def verdicts(router: Router | dict, name: str = "red:x") -> dict[str, int]:
    """Counters of a program, or of an answer of program(): neighbor discovery counts, too, so compared values come from one answer."""
    found = router if isinstance(router, dict) else program(router, name)
    return {entry["name"]: entry["packets"] for entry in found["verdict"]}


def counter(router: Router | dict, which: str, name: str = "red:x") -> int:
    found = router if isinstance(router, dict) else program(router, name)
    return next(entry["value"] for entry in found["counter"] if entry["name"] == which)


def arrived(lab, target: str, count: int = 50, color: str = "red", wanted: int | None = None) -> int:
    """Packets of `count` that arrive."""
    sink = receiver(lab[f"{color}b"])
    send(lab[f"{color}a"], [target], count)
    return received(sink, count if wanted is None else wanted)["distinct"]


# --- hooks ---

@BOTH
@pytest.mark.parametrize("hook", ["ether", "input", "output"])
def test_a_program_sees_the_packets_of_its_hook_and_virtual_router(lab, router, build, hook, family):
    load(router, build("count(0, 1); count(1, p->family); count(2, p->length); return KAMUEE_CONTINUE;", "counter seen; counter family; counter bytes"),
         hook=hook)
    assert arrived(lab, TARGET[family]) == 50
    assert arrived(lab, TARGET[family], color="blue") == 50
    found = program(router)
    seen = counter(found, "seen")
    assert 50 <= seen < 100
    assert counter(found, "family") >= 50 * family and counter(found, "bytes") >= 50 * 40
    assert verdicts(found)["continue"] == seen == found["packets"]


@BOTH
def test_the_window_is_the_packet_and_zeros_behind_it(lab, router, build, family):
    source = 12 if family == 4 else 8
    load(router, build("""
        int tail = 0;
        for (int i = p->readable; i < 64; i++)
            tail |= p->data[i];
        count(0, !tail); count(1, p->data[%d]); count(2, p->readable); count(3, p->length < 64 ? p->length == p->readable : p->readable == 64);
        return KAMUEE_CONTINUE;""" % source, "window 64; counter clean; counter source; counter readable; counter right"))
    ping(lab["reda"], TARGET[family], 20, extra="-s 1")
    found = eventually(lambda: (seen := program(router))["packets"] >= 20 and seen)
    n = found["packets"]
    assert n >= 20 and counter(found, "clean") == counter(found, "right") == n
    assert counter(found, "source") >= 20 * (10 if family == 4 else 0xfd)


def test_metadata_say_by_which_interface_and_when(lab, router, build):
    load(router, build("count(0, p->interface); count(1, p->time > 0 && !p->hash && p->ether_type == 0x0800); return 0;", "counter index; counter right"))
    ping(lab["reda"], "10.2.0.2", 1)
    found = program(router)
    seen = found["packets"]
    assert counter(found, "right") == seen >= 1
    indexes = {entry["name"]: entry["index"] for entry in router.entries("interface") if "index" in entry} if seen else {}
    if indexes:
        assert counter(found, "index") in {indexes["p0"] * k + indexes["p1"] * (seen - k) for k in range(seen + 1)}


# --- verdicts ---

@BOTH
@pytest.mark.parametrize("hook", ["ether", "input", "output"])
def test_drop_has_the_reasons_of_the_program(lab, router, build, hook, family):
    proto = "p->data[9] == 17" if family == 4 else "p->data[6] == 17"
    load(router, build(f"return {proto} && p->family == {family} ? KAMUEE_VERDICT(KAMUEE_DROP, 1) : KAMUEE_CONTINUE;", "reason never; reason udp"), hook=hook)
    before = router.dropped("program_drop")
    assert arrived(lab, TARGET[family], wanted=0) == 0
    reasons = eventually(lambda: (found := {r["name"]: r["packets"] for r in program(router)["reason"]})["udp"] == 50 and found)
    assert reasons == {"never": 0, "udp": 50} and router.dropped("program_drop") - before == 50 == verdicts(router)["drop"]
    assert arrived(lab, TARGET[family], color="blue") == 50
    assert 'kamuee_program_packets_total{program="red:x",vr="red",verdict="drop"} 50' in router.metrics()


@BOTH
def test_changed_bytes_arrive_and_the_ip_checksum_is_right(lab, router, build, family):
    """DSCP 46 in place of 0: only a packet with a right checksum reaches the receiver."""
    body = "p->data[1] = 46 << 2; p->changed = 2;" if family == 4 else "p->data[0] = 0x6b; p->data[1] = 0x80; p->changed = 2;"
    for hook in ("ether", "input", "output"):
        load(router, build(f"if (p->family == {family}) {{ {body} }} return KAMUEE_CONTINUE;", name=hook), hook=hook)
        router.configure(f"set acl seen rule 10 permit udp to any port 7000 dscp ef", "set acl seen default permit", "set interface p1 acl out seen")
        assert arrived(lab, TARGET[family]) == 50
        if hook != "output":
            assert router.hits("seen")[10] == 50
        router.configure("delete interface p1 acl", "delete acl seen", "delete program red:x")


def test_a_new_destination_is_looked_up(lab, router, build):
    """198.51.100.1, an address of redb's lo, in place of 198.51.100.9, which is nowhere; the UDP checksum is given up."""
    load(router, build("if (p->family == 4 && p->data[16] == 198) { p->data[19] = 1; p->data[26] = p->data[27] = 0; p->changed = 28; } return 0;"))
    sink = receiver(lab["redb"])
    send(lab["reda"], ["198.51.100.9"], 30)
    assert received(sink, 30)["distinct"] == 30


def test_next_hop_takes_the_packets_there(lab, router, build):
    """203.0.113.1 has no route: it reaches redb by the next hop alone."""
    load(router, build("return p->family == 4 && p->data[16] == 203 ? KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 7) : KAMUEE_CONTINUE;"), "next-hop 7 address 10.2.0.2")
    lab["redb"].run("ip addr add 203.0.113.1/32 dev lo")
    eventually(lambda: arrived(lab, "203.0.113.1", 10) == 10)
    assert verdicts(router)["next-hop"] >= 10
    lab["redb"].run("ip addr del 203.0.113.1/32 dev lo")


def test_a_packet_that_is_dropped_after_its_verdict_takes_its_next_hop_along(lab, router, build):
    """Hook ether sends every other packet to another next hop, back to its sender; a list drops them; the ones between pass."""
    load(router, build("return p->family == 4 && p->data[16] == 203 ? KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 7) : KAMUEE_CONTINUE;"),
         "next-hop 7 address 10.1.0.2", hook="ether")
    router.configure("set acl no rule 10 deny ip from any to 203.0.113.0/24", "set acl no default permit", "set interface p0 acl in no")
    sink = receiver(lab["redb"])
    send(lab["reda"], ["203.0.113.1", "10.2.0.2"], 4000, per_s=100_000)
    assert received(sink, 2000)["distinct"] == 2000
    assert router.hits("no")[10] == 2000 == verdicts(router)["next-hop"]
    router.configure("delete interface p0 acl", "delete acl no")


def test_next_hop_without_a_way_drops(lab, router, build):
    load(router, build("return p->family == 4 ? KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 0) : 0;"), "next-hop 0 address 192.0.2.99")
    before = router.dropped("program_no_way")
    send(lab["reda"], ["10.2.0.2"], 20)
    eventually(lambda: router.dropped("program_no_way") - before >= 20 and program(router)["no-way"] >= 20)


def test_class_punt_and_mirror(lab, router, build):
    router.configure("set mirror-session copies to tap mon0")
    load(router, build("return p->family != 4 || p->data[9] != 17 ? 0 : p->data[19] == 2 ? KAMUEE_MIRROR : KAMUEE_PUNT;"), "mirror-session copies")
    assert arrived(lab, "10.2.0.2") == 50
    assert eventually(lambda: router.entries("mirror-session")[0]["sent"] == 50) and verdicts(router)["mirror"] == 50
    load(router, build("return p->family == 4 && p->data[9] == 17 ? KAMUEE_PUNT : KAMUEE_CONTINUE;", name="punt"))
    before = {entry["class"]: entry["passed"] for entry in router.entries("punt")}
    send(lab["reda"], ["192.0.2.200"], 50)         # the kernel has no route for it, either
    eventually(lambda: verdicts(router)["punt"] == 50)
    eventually(lambda: sum(entry["passed"] - before[entry["class"]] for entry in router.entries("punt")) >= 50)
    load(router, build("return KAMUEE_VERDICT(KAMUEE_CLASS, 5);", name="class"))
    assert arrived(lab, "10.2.0.2") == 50 and verdicts(router)["class"] >= 50
    router.configure("delete program red:x", "delete mirror-session copies")


@pytest.mark.parametrize("hook", ["ether", "input", "output"])
def test_explain_tells_the_verdict_and_counts_nothing(lab, router, build, hook):
    # Neighbor discovery of the hosts may pass meanwhile: it has a counter of its own.
    load(router, build("if (p->family != 4 || p->data[16] != 10 || p->data[17] != 2) { count(1, 1); return KAMUEE_CONTINUE; }"
                       "count(0, 1); put(0, 1, 1); return p->data[9] == 17 ? KAMUEE_VERDICT(KAMUEE_DROP, 1) : KAMUEE_CONTINUE;",
                       "counter seen; counter others; reason never; reason udp; table hash t 10"), hook=hook)
    ask = {"interface": "p0", "source": "10.1.0.2", "destination": "10.2.0.2"}
    passage = router.call("explain", **ask, protocol="udp", destination_port=7000)
    said = next(step["program"] for step in passage["step"] if "program" in step)
    assert said == {"name": "red:x", "hook": hook, "verdict": "drop", "argument": 1}
    assert passage["step"][-1]["reason"] == "program_drop"
    said = next(step["program"] for step in router.call("explain", **ask, protocol="icmp")["step"] if "program" in step)
    assert said == {"name": "red:x", "hook": hook, "verdict": "continue"}
    found = program(router)
    assert counter(found, "seen") == 0 and counter(found, "others") == found["packets"]
    assert router.call("program-table", name="red:x", table="t").get("entry", []) == []


# --- frames of another EtherType ---

class Wires:
    def __init__(self, lab, router: Router, color: str = "red"):
        self.a, self.b = Wire(lab[f"{color}a"]), Wire(lab[f"{color}b"])
        ports = {entry["name"]: entry["mac"] for entry in router.entries("interface")}
        self.router = bytes.fromhex(ports["p0" if color == "red" else "p2"].replace(":", ""))

    def send(self, payload: bytes, type: int = TYPE) -> None:
        self.a.send(self.router + bytes.fromhex(self.a.mac.replace(":", "")) + struct.pack("!H", type) + payload.ljust(46, b"\0"))

    def took(self, type: int = TYPE, within_s: float = 5) -> bytes | None:
        until = time.monotonic() + within_s
        while frame := self.b.take(until):
            if frame[12:14] == struct.pack("!H", type):
                return frame
        return None

    def close(self) -> None:
        self.a.close()
        self.b.close()


@pytest.fixture
def wires(lab, router):
    wires = Wires(lab, router)
    yield wires
    wires.close()


def test_a_protocol_of_ones_own_crosses_the_router(lab, router, build, wires):
    """A label is taken off, the next one chooses the next hop; IPv4 goes on beside it, in this virtual router and the other."""
    load(router, build("p->data[4] = 'x'; p->adjust = 4; p->data[0] = 'y'; p->changed = 1; count(0, 1); return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 1);",
                       "counter seen"), f"ether-type {TYPE:#06x}", "next-hop 1 address 10.2.0.2", hook="ether-type")
    assert_reaches(lab["reda"], "10.2.0.2")
    for _ in range(50):
        wires.send(b"ABCDEFGH")
        if frame := wires.took(within_s=0.2):
            break
    assert frame and frame[:6] == bytes.fromhex(wires.b.mac.replace(":", "")) and frame[14:18] == b"yFGH"
    blue = Wires(lab, router, "blue")
    before = router.dropped("ether_type_unknown")
    blue.send(b"ABCDEFGH")
    eventually(lambda: router.dropped("ether_type_unknown") == before + 1)
    blue.close()
    found = program(router)
    assert counter(found, "seen") == found["packets"] >= 1
    assert_reaches(lab["reda"], "10.2.0.2")
    assert_reaches(lab["bluea"], "10.2.0.2")


def test_a_label_in_front_of_ip_is_taken_off_and_the_packet_routed(lab, router, build, wires):
    load(router, build("p->adjust = 4; p->ether_type = 0x0800; return KAMUEE_CONTINUE;"), f"ether-type {TYPE:#06x}", hook="ether-type")
    sink = receiver(lab["redb"])
    from scapy.all import IP, UDP, Raw
    for i in range(20):
        wires.send(b"labl" + bytes(IP(src="10.1.0.2", dst="10.2.0.2") / UDP(sport=1, dport=7000) / Raw(struct.pack("!I", i).ljust(64, b"\0"))))
    assert received(sink, 20)["packets"] == 20


def test_a_label_put_in_front_of_ip_and_taken_off_again(lab, router, build, wires):
    load(router, build("if (p->family != 4 || p->data[9] != 17) return 0;"
                       "for (int i = 24; i--;) p->data[i + 4] = p->data[i]; p->data[0] = 'l'; p->data[1] = 'a'; p->data[2] = 'b'; p->data[3] = 'e';"
                       f"p->adjust = -4; p->changed = 28; p->ether_type = {TYPE}; return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 0);"), "next-hop 0 address 10.2.0.2")
    assert_reaches(lab["reda"], "10.2.0.2")
    for _ in range(50):
        send(lab["reda"], ["10.2.0.2"], 1)
        if frame := wires.took(within_s=0.2):
            break
    assert frame and frame[14:19] == b"labe\x45"


def test_redirect_leaves_by_an_interface_of_the_own_virtual_router_only(lab, router, build, wires):
    index = {name: lab["r"].vrs[color].ip_json(f"link show dev {name}")[0]["ifindex"] for name, color in (("p1", "red"), ("p3", "blue"))}
    load(router, build(f"return KAMUEE_VERDICT(KAMUEE_REDIRECT, {index['p1']});"), f"ether-type {TYPE:#06x}", hook="ether-type")
    wires.send(b"hello")
    frame = wires.took()
    assert frame and frame[:6] == b"\xff" * 6 and frame[14:19] == b"hello"
    load(router, build(f"return KAMUEE_VERDICT(KAMUEE_REDIRECT, {index['p3'] + 1000});", name="other"), f"ether-type {TYPE:#06x}", hook="ether-type")
    before = router.dropped("program_no_way")
    wires.send(b"hello")
    eventually(lambda: router.dropped("program_no_way") == before + 1)


# --- faults ---

FAULTS = [("trap", "input", "return TRAP;"),
          ("verdict", "input", "return 99;"),
          ("verdict", "input", "return KAMUEE_VERDICT(KAMUEE_CLASS, 8);"),
          ("verdict", "input", "return KAMUEE_VERDICT(KAMUEE_DROP, 1);"),
          ("verdict", "input", "return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 3);"),
          ("verdict", "input", "return KAMUEE_MIRROR;"),
          ("verdict", "output", "return KAMUEE_PUNT;"),
          ("change", "input", "p->changed = 129; return 0;"),
          ("change", "input", "p->readable = 128; p->length = 1500; p->changed = 120; return 0;"),
          ("change", "input", "p->adjust = 4; return 0;"),
          ("change", "input", "p->ether_type = 0x8100; p->changed = 1; return 0;"),
          ("change", "input", "p->data[3]++; p->changed = 4; return 0;"),
          ("change", "input", "p->data[p->family == 4 ? 8 : 7] = 255; p->changed = 40; return 0;"),
          ("change", "input", "p->data[p->family == 4 ? 16 : 24] = 255; p->changed = 40; return 0;")]


@pytest.mark.parametrize("fault, hook, body", FAULTS, ids=[f"{f}{i}" for i, (f, _, _) in enumerate(FAULTS)])
def test_a_fault_switches_the_program_off_and_only_its_virtual_router_suffers(lab, router, build, fault, hook, body):
    load(router, build(body), hook=hook)
    before = router.dropped("program_fault")
    send(lab["reda"], ["10.2.0.2"], 20)
    found = eventually(lambda: (p := program(router))["status"] == "off" and p)
    assert found["fault"] == fault and found["threads-off"] == 1 and found["faults"] == 1
    assert eventually(lambda: router.dropped("program_fault") - before >= 20) and arrived(lab, "10.2.0.2", color="blue") == 50
    assert eventually(lambda: [(a["subject"], a["severity"]) for a in router.entries("alarm") if a["name"] == "program-fault"]) == [("red:x", "major")]
    router.configure("set program red:x on-fault pass")           # loads it again
    assert arrived(lab, "10.2.0.2") == 50
    assert program(router)["status"] == "off"
    load(router, build("return 0;"), hook=hook)                    # the file has changed under it: not seen yet
    router.call("program-replace", name="red:x")
    assert arrived(lab, "10.2.0.2") == 50 and program(router)["status"] == "running"
    eventually(lambda: not [a for a in router.entries("alarm") if a["name"] == "program-fault"])


# --- replacing, order, tables ---

def test_replacing_under_traffic_loses_nothing_and_keeps_counters_and_tables(lab, router, build):
    file = build("count(0, 1); put(0, 5, 77); return 0;", "counter seen; table hash kept 100")
    load(router, file)
    assert_reaches(lab["reda"], "10.2.0.2")
    pinging = Pinging(lab["reda"], "10.2.0.2", 0.002)
    for k in range(10):
        build(f"count(0, 1); return 0; /* {k} */", "counter seen; table hash kept 100")
        router.call("program-replace", name="red:x")
    result = pinging.stop(200)
    assert result.lost == 0
    found = program(router)
    assert found["loads"] == 11 and counter(found, "seen") == found["packets"] >= 400
    assert router.call("program-table", name="red:x", table="kept") == {"entry": [{"key": 5, "value": 77}]}


def test_a_program_that_cannot_be_loaded_leaves_the_old_one_running(lab, router, build):
    file = build("count(0, 1); return 0;", "counter seen")
    load(router, file)
    build("return 0;", "window 7")
    with pytest.raises(DaemonError, match="window '7'"):
        router.call("program-replace", name="red:x")
    assert arrived(lab, "10.2.0.2") == 50 and counter(router, "seen") >= 50


def test_programs_run_in_their_order_until_one_ends_the_packet(lab, router, build):
    load(router, build("count(0, 1); return p->family == 4 && p->data[9] == 17 ? KAMUEE_DROP : 0;", "counter seen", name="second"), "order 20")
    load(router, build("count(0, 1); return 0;", "counter seen", name="first"), "order 10", name="red:y")
    load(router, build("count(0, 1); return 0;", "counter seen", name="third"), "order 30", name="red:a")
    assert arrived(lab, "10.2.0.2", wanted=0) == 0
    seen = {entry["name"]: counter(entry, "seen") for entry in router.entries("program")}
    assert seen["red:y"] == seen["red:x"] >= 50 and seen["red:a"] == seen["red:y"] - 50
    assert [p["name"] for p in router.entries("program")] == ["red:y", "red:x", "red:a"]


def test_tables_are_filled_by_the_operator_and_read_by_the_program(lab, router, build):
    load(router, build("uint64_t v = get(0, p->family == 4 ? p->data[19] : 0); return v == ~0ull ? KAMUEE_CONTINUE : KAMUEE_DROP;",
                       "table hash blocked 10 read-only; table array other 4"))
    assert arrived(lab, "10.2.0.2") == 50
    router.call("program-table-set", name="red:x", table="blocked", key="2", value="1")
    assert router.call("program-table", name="red:x", table="blocked") == {"entry": [{"key": 2, "value": 1}]}
    assert arrived(lab, "10.2.0.2", wanted=0) == 0
    router.call("program-table-set", name="red:x", table="blocked", key="2")
    assert arrived(lab, "10.2.0.2") == 50
    with pytest.raises(DaemonError, match="expected 0 to 3"):
        router.call("program-table-set", name="red:x", table="other", key="4", value="1")
    with pytest.raises(DaemonError, match="no table 'none'"):
        router.call("program-table", name="red:x", table="none")


# --- refusals ---

def test_files_that_others_may_change_are_refused(lab, router, build, tmp_path):
    file = build("return 0;")
    os.chmod(file, 0o666)
    with pytest.raises(DaemonError, match="others than root and kamueed's user may change it"):
        load(router, file)
    os.chmod(file, 0o644)
    os.chown(file, 12345, 12345)
    with pytest.raises(DaemonError, match="others than root"):
        load(router, file)
    assert router.entries("program") == []


def test_what_is_no_program_is_refused(lab, router, build, tmp_path):
    text = tmp_path / "text.so"
    text.write_text("no object")
    with pytest.raises(DaemonError, match="no shared object"):
        load(router, str(text))
    with pytest.raises(DaemonError, match="another version"):
        load(router, build("return 0;", ABI=99))
    with pytest.raises(DaemonError, match="cannot be read|no such file|No such file"):
        load(router, str(tmp_path / "none.so"))
    with pytest.raises(DaemonError, match="needs 'ether-type'"):
        load(router, build("return 0;", name="a"), hook="ether-type")
    with pytest.raises(DaemonError, match="0x0800 is IPv4"):
        load(router, build("return 0;", name="b"), "ether-type 0x0800", hook="ether-type")
    with pytest.raises(DaemonError, match="expected no 'next-hop'"):
        load(router, build("return 0;", name="c"), "next-hop 1 address 10.2.0.2", hook="output")
    assert router.entries("program") == []


# --- what kamuee-program builds ---

HELPER = Path(os.environ.get("KAMUEED", ROOT / "build/kamueed")).resolve().parent / "compiler/kamuee-program"


@pytest.fixture
def tenant(tmp_path):
    """Builds a tenant's object from C, by WebAssembly."""
    if not HELPER.exists() or not all(map(shutil.which, ("clang", "wasm2c", "wasm-ld"))):
        pytest.skip("no kamuee-program, or no clang, lld and wabt")

    def make(body: str, declared: str = "window 64") -> str:
        source, file = tmp_path / "tenant.c", tmp_path / "tenant.so"
        source.write_text(f'#include <kamuee/program.h>\nKAMUEE_DECLARE("{declared}");\nuint32_t packet(struct kamuee_packet *p)\n{{\n{body}\n}}\n')
        subprocess.run([str(HELPER), "build", str(source), "-o", str(file)], check=True)
        file.chmod(0o644)
        return str(file)
    return make


@BOTH
@pytest.mark.parametrize("hook", ["ether", "input", "output"])
def test_a_tenants_object_sees_counts_and_decides(lab, router, tenant, hook, family):
    load(router, tenant("kamuee_count(0, 1); kamuee_put(0, p->family, p->length);"
                        "return p->data[p->family == 4 ? 9 : 6] == 17 ? KAMUEE_VERDICT(KAMUEE_DROP, 0) : KAMUEE_VERDICT(KAMUEE_CLASS, 5);",
                        "window 64; counter seen; reason udp; table hash last 10"), hook=hook)
    assert_reaches(lab["reda"], TARGET[family])
    assert arrived(lab, TARGET[family], wanted=0) == 0
    eventually(lambda: {r["name"]: r["packets"] for r in program(router)["reason"]} == {"udp": 50})
    found = program(router)
    assert counter(found, "seen") == found["packets"] == verdicts(found)["drop"] + verdicts(found)["class"]
    assert {entry["key"] for entry in router.call("program-table", name="red:x", table="last")["entry"]} >= {family}


@pytest.mark.parametrize("body", ["return 100 / (p->length >> 20);",
                                  "uint32_t h = 1; for (uint32_t i = 0; i < p->length * 1000; i++) h = h * 31 ^ p->data[i & 31]; return h == 7;",
                                  "return KAMUEE_VERDICT(KAMUEE_CLASS, 99);"], ids=["division", "loop", "verdict"])
def test_a_tenants_fault_stays_in_its_virtual_router(lab, router, tenant, body):
    load(router, tenant(body))
    send(lab["reda"], ["10.2.0.2"], 20)
    found = eventually(lambda: (p := program(router))["status"] == "off" and p)
    assert found["fault"] == ("verdict" if "VERDICT" in body else "trap")
    assert arrived(lab, "10.2.0.2", color="blue") == 50
    assert arrived(lab, "10.2.0.2", wanted=0) == 0
    router.configure("set program red:x on-fault pass")
    assert arrived(lab, "10.2.0.2") == 50
