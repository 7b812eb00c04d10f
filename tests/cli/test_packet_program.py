# SPDX-License-Identifier: BSD-3-Clause
"""kamuee-program refuses forbidden constructs of a packet program, by name, and its output stays within its bounds."""
import hashlib
import os
import re
import shutil
import subprocess
import sys

import pytest

from packet_program import EXAMPLES, PROGRAM, ROOT, ether, ip4, ip6, module, run, short, source, verdicts

pytestmark = pytest.mark.skipif(not PROGRAM.exists() or not all(map(shutil.which, ("wasm2c", "wat2wasm", "clang"))),
                                reason="needs a built kamuee-program, wabt and clang")

REFUSED = {
    "a loop in recursion": ("""(func $packet (param i32) (result i32) (call $a (local.get 0)))
        (func $a (param i32) (result i32) (call $packet (local.get 0)))""", r"function 2 \(a\), byte 0x\w+ \(call\): recursion: function 1"),
    "an indirect call": ("""(table 1 funcref) (type $t (func (param i32) (result i32)))
        (func $packet (param i32) (result i32) (call_indirect (type $t) (local.get 0) (i32.const 0)))""",
                         r"function 1 \(packet\): byte 0x\w+, instruction 0x11: indirect calls"),
    "a floating-point number": ("(func $packet (param i32) (result i32) (i32.trunc_f32_s (f32.const 1)))", "floating-point"),
    "memory.grow": ("(func $packet (param i32) (result i32) (memory.grow (local.get 0)))", "does not grow"),
    "a start function": ("(func $s) (start $s) (func $packet (param i32) (result i32) (local.get 0))", "start function"),
    "packet of another type": ("(func $packet (param i64) (result i32) (i32.const 0))", "not uint32_t packet"),
    "a block of two values": ("(func $packet (param i32) (result i32) (block (result i32 i32) (i32.const 1) (i32.const 2)) (i32.add))",
                              "not one integer|more than one"),
    "data where the packets lie": ('(data (i32.const 60000) "%s") (func $packet (param i32) (result i32) (i32.const 0))' % ("x" * 1000),
                                   "data at 60000, 1000 bytes"),
    "a mutable global of float": ("(global f32 (f32.const 0)) (func $packet (param i32) (result i32) (i32.const 0))", "a global that is no integer"),
    "memory.copy": ("(func $packet (param i32) (result i32) (memory.copy (i32.const 0) (i32.const 1) (i32.const 2)) (i32.const 0))", "copy in a loop"),
    "an endless way": ("(func $packet (param i32) (result i32) %s (i32.const 0))" % ("(drop (i32.div_u (local.get 0) (i32.const 3)))" * 500),
                       r"function 1 \(packet\): its longest way costs 55\d\d instructions"),
    "a dear round": ("(func $packet (param i32) (result i32) (loop %s (br_if 0 (local.get 0))) (i32.const 0))"
                     % ("(drop (i64.rem_u (i64.const 7) (i64.const 3)))" * 300), r"\(loop\): one round of this loop costs 57\d\d"),
    "too many calls in each other": ("(func $f0 (param i32) (result i32) (local.get 0))" + "".join(
        f"(func $f{n} (param i32) (result i32) (call $f{n - 1} (local.get 0)))" for n in range(1, 17))
        + "(func $packet (param i32) (result i32) (call $f16 (local.get 0)))", "more than 16 functions in each other"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_module_is_refused_by_function_instruction_and_reason(tmp_path, what):
    functions, said = REFUSED[what]
    done = run("check", module(tmp_path, functions))
    assert done.returncode == 1 and re.search(said, done.stderr), done.stderr


@pytest.mark.parametrize("whole, said", [
    ('(module (import "env" "system" (func (param i32))) (memory 1 1) {} (export "packet" (func $packet)))', "import system of env: only"),
    ('(module (import "kamuee" "charge" (func (param i32))) (memory 1 1) {} (export "packet" (func $packet)))', "not kamuee.count"),
    ('(module (import "kamuee" "get" (func (param i32 i32) (result i64))) (memory 1 1) {} (export "packet" (func $packet)))', "get: of another type"),
    ('(module (import "kamuee" "memory" (memory 1 1)) {} (export "packet" (func $packet)))', "import memory of kamuee"),
    ('(module (memory 2 2) {} (export "packet" (func $packet)))', "exactly one page"),
    ('(module (memory 0 1) {} (export "packet" (func $packet)))', "exactly one page"),
    ('(module {} (export "packet" (func $packet)))', "no memory"),
    ('(module (memory 1 1) {})', "no function packet"),
])
def test_imports_memory_and_export_are_what_they_must_be(tmp_path, whole, said):
    done = run("check", module(tmp_path, "(func $packet (param i32) (result i32) (i32.const 0))", whole))
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_what_is_no_module_is_refused(tmp_path):
    for data in (b"", b"\0asm", b"\0asm\1\0\0\0", b"\0asm\2\0\0\0" + bytes(90), os.urandom(500)):
        (tmp_path / "x.wasm").write_bytes(data)
        assert run("check", tmp_path / "x.wasm").returncode == 1


@pytest.mark.parametrize("text, said", [
    ('KAMUEE_DECLARE("table tree t 5"); uint32_t packet(struct kamuee_packet *p) { return 0; }', "hash|array"),
    ('uint32_t packet(struct kamuee_packet *p) { return not_there(p); }', "x.c:2:"),
    ('uint32_t other(struct kamuee_packet *p) { return 0; }', "packet"),
    ('#include "/etc/passwd"', "x.c:1:"),
])
def test_a_source_is_refused_with_the_compilers_words(tmp_path, text, said):
    done = run("build", source(tmp_path, text), "-o", tmp_path / "x.so")
    assert done.returncode == 1 and said in done.stderr and not (tmp_path / "x.so").exists(), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whose files nobody else reads")
def test_a_source_cannot_take_in_files_of_the_machine(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("uint32_t packet(struct kamuee_packet *p) { return 7; }\n")
    secret.chmod(0o600)
    done = run("build", source(tmp_path, f'#include "{secret}"\n'), "-o", tmp_path / "x.so")
    assert done.returncode == 1 and "return 7" not in done.stderr, done.stderr
    done = run("build", source(tmp_path, f'__asm__(".incbin \\"{secret}\\"");'), "-o", tmp_path / "x.so")
    assert done.returncode == 1, done.stderr


def test_a_compiler_that_does_not_end_is_ended(tmp_path):
    deep = "#define A(x) x x x x x x x x x x\n#define B(x) A(A(A(A(A(A(A(A(A(x)))))))))\n"
    done = run("build", source(tmp_path, f"{deep}B(int y;)\n"), "-o", tmp_path / "x.so")
    assert done.returncode == 1 and re.search("clang needs more than 10 s|clang refuses|clang ended", done.stderr), done.stderr


def test_the_same_source_gives_the_same_bits(tmp_path):
    hashes = set()
    for name in ("a.so", "b.so"):
        assert run("build", EXAMPLES / "dscp.c", "-o", tmp_path / name).returncode == 0
        hashes.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(hashes) == 1


def test_an_object_needs_no_library_and_has_no_place_to_execute_and_write(tmp_path):
    assert run("build", EXAMPLES / "syn-guard.c", "-o", tmp_path / "x.so").returncode == 0
    said = run_tool("readelf", "-d", "-l", "--dyn-syms", "-W", tmp_path / "x.so")
    assert "NEEDED" not in said and " UND" not in re.sub(r" UND *\n", "\n", said)
    assert "RWE" not in said and "GNU_RELRO" in said


def run_tool(*words) -> str:
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, check=True).stdout


FAULTS = {
    "an endless loop": "(loop (br 0))",
    "a loop in a function": "(drop (call $spin))",
    "a division by zero": "(drop (i32.div_u (i32.const 1) (i32.const 0)))",
    "the least number by -1": "(drop (i64.div_s (i64.const 0x8000000000000000) (i64.const -1)))",
    "unreachable": "(unreachable)",
    "a counter that is not declared": "(call $count (i32.const 0) (i64.const 1))",
    "a counter out of range": "(call $count (i32.const -1) (i64.const 1))",
}


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_costs_the_packet_its_verdict_and_no_other(tmp_path, what):
    """Of three packets the second one, by its DSCP, runs into it."""
    program = module(tmp_path, """(func $spin (result i32) (loop (br 0)) (i32.const 0))
      (func $packet (param i32) (result i32) (if (i32.load8_u offset=33 (local.get 0)) (then %s)) (i32.const 0))""" % FAULTS[what])
    result = verdicts(tmp_path, program, [ether(0x800, ip4(tos=t)) for t in (0, 4, 0)])
    assert [v[0] for v in short(result)] == ["continue", "fault", "continue"]


def test_a_loop_may_cost_what_is_left_and_not_one_round_more(tmp_path):
    """Sum of 1 to DSCP byte; a round costs 10, and the code outside at most 40."""
    program = module(tmp_path, """(func $packet (param i32) (result i32) (local $n i32)
      (local.set $n (i32.shl (i32.load8_u offset=33 (local.get 0)) (i32.const 2)))
      (loop $l (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if $l (i32.gt_s (local.get $n) (i32.const 0))))
      (i32.const 0))""")
    rounds = {t: short(verdicts(tmp_path, program, [ether(0x800, ip4(tos=t))]))[0][0] for t in (1, 100, 101, 102, 103, 255)}
    assert rounds[1] == rounds[100] == "continue" and rounds[103] == rounds[255] == "fault", rounds


def test_memory_is_one_page_whatever_the_address(tmp_path):
    """Addresses are cut to 16 bits: a value written at 2^32 - 8 is read at 65528, and lies in the page or its guard."""
    program = module(tmp_path, """(func $packet (param i32) (result i32)
      (i64.store (i32.const -8) (i64.const 0x0706050403020102))
      (i32.store8 offset=65535 (i32.const 1) (i32.const 0x55))
      (i64.store offset=4294967295 (i32.const -1) (i64.const -1))
      (drop (i64.load offset=4294967295 (i32.const -1)))
      (i32.or (i32.const 2) (i32.shl (i32.load8_u (i32.const 65529)) (i32.const 8))))""")
    assert short(verdicts(tmp_path, program, [ether(0x800, ip4())])) == [("class", 1)]


CHECKED = {
    "return 9;": "no such action",
    "return KAMUEE_VERDICT(KAMUEE_CLASS, 8);": "class: 0 to 7",
    "return KAMUEE_VERDICT(KAMUEE_DROP, 1);": "no such reason",
    "return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 256);": "next-hop: 0 to 255",
    "return 256;": "an unexpected argument",
    "p->changed = 65; return 0;": "changed:",
    "p->adjust = 65; return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 0);": "adjust: -64 to 64",
    "p->adjust = -65; return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 0);": "adjust: -64 to 64",
    "p->adjust = -8; p->changed = 7; return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, 0);": "all added bytes",
    "p->adjust = 1; return 0;": "only with next-hop and redirect",
    "p->ether_type = 5; return 0;": "only with next-hop and redirect",
    "p->data[2] ^= 1; p->changed = 20; return 0;": "length of an IP packet",
    "p->data[0] ^= 1; p->changed = 20; return 0;": "header length",
    "p->data[8]++; p->changed = 20; return 0;": "TTL",
}


@pytest.mark.parametrize("code", CHECKED)
def test_a_verdict_out_of_range_is_a_fault(tmp_path, code):
    """The program may write the whole window; kamueed checks its claims against its own knowledge."""
    program = source(tmp_path, 'KAMUEE_DECLARE("window 64");\nuint32_t packet(struct kamuee_packet *p) '
                     "{ p->length = p->readable = 60000; p->family = 6; %s }" % code)
    result = verdicts(tmp_path, program, [ether(0x800, ip4(data=bytes(100)))])
    assert result["packets"][0]["verdict"] == "fault" and CHECKED[code] in result["packets"][0]["why"], result


def test_prepare_runs_for_the_whole_burst_before_its_first_packet(tmp_path):
    program = source(tmp_path, """KAMUEE_DECLARE("counter early; counter late; table hash h 9");
    static unsigned prepared;
    void prepare(const struct kamuee_packet *p) { prepared++; kamuee_prefetch(0, p->length); }
    uint32_t packet(struct kamuee_packet *p) { kamuee_count(prepared == 3 ? 0 : 1, 1); return KAMUEE_CONTINUE; }""")
    result = verdicts(tmp_path, program, [ether(0x800, ip4())] * 3)
    assert short(result) == [("continue",)] * 3 and result["counters"] == {"early": "3", "late": "0"}


def test_a_fault_of_prepare_is_the_packets(tmp_path):
    program = source(tmp_path, """static unsigned zero;
    void prepare(const struct kamuee_packet *p) { if (p->length == 120) zero = p->length / zero; }
    uint32_t packet(struct kamuee_packet *p) { return KAMUEE_CONTINUE; }""")
    assert short(verdicts(tmp_path, program, [ether(0x800, ip4(data=bytes(100)))])) == [("fault",)]
    assert short(verdicts(tmp_path, program, [ether(0x800, ip4(data=bytes(90)))])) == [("continue",)]


@pytest.mark.parametrize("prepare, said", [
    ("(func $prepare (param i32) (loop (br_if 0 (local.get 0))))", r"function 2 \(prepare\): prepare\(\) may not have a loop"),
    ("(func $prepare (param i32) (result i32) (local.get 0))", "not void prepare"),
    ("(func $prepare (param i32) %s)" % ("(drop (i32.div_u (local.get 0) (i32.const 3)))" * 400), r"costs 44\d\d .*that of prepare\(\) in it"),
])
def test_a_wrong_prepare_is_refused(tmp_path, prepare, said):
    whole = '(module (memory 1 1) {} (export "packet" (func $packet)) (export "prepare" (func $prepare)))'
    done = run("check", module(tmp_path, "(func (result i32) (i32.const 0)) (func $packet (param i32) (result i32) (i32.const 0)) " + prepare, whole))
    assert done.returncode == 1 and re.search(said, done.stderr), done.stderr


def test_at_output_a_packet_has_its_way_already(tmp_path):
    program = source(tmp_path, "uint32_t packet(struct kamuee_packet *p) { return KAMUEE_PUNT; }")
    frames = [ether(0x800, ip4())]
    assert short(verdicts(tmp_path, program, frames)) == [("punt",)]
    assert short(verdicts(tmp_path, program, frames, "--hook", "output")) == [("fault",)]


def test_what_is_in_a_packet_is_what_the_page_says(tmp_path):
    """length, family, readable, class, interface: each as a verdict of its own."""
    frames = [ether(0x800, ip4(data=bytes(100))), ether(0x86dd, ip6()), ether(0x8100, b"\0\5\x08\0" + ip4(data=b"")), ether(0x806, bytes(28))]
    for field, words, want in (("length", (), [120, 48, 20]), ("family", (), [4, 6, 4]), ("readable", (), [120, 48, 20]),
                               ("class", ("--class", "5"), [5, 5, 5]), ("interface", ("--interface", "77"), [77, 77, 77]),
                               ("ether_type & 255", (), [0, 0xdd, 0])):
        program = source(tmp_path, "uint32_t packet(struct kamuee_packet *p) { return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, p->%s); }" % field)
        result = verdicts(tmp_path, program, frames, *words)
        assert [p["argument"] for p in result["packets"]] == want, field
        assert result["verdicts"]["elsewhere"] == "1"


def test_tables_answer_as_on_the_router(tmp_path):
    program = source(tmp_path, """KAMUEE_DECLARE("table hash h 2; table array a 3; table array r 1 read-only; counter wrong");
    static void is(uint64_t a, uint64_t b) { if (a != b) kamuee_count(0, 1); }
    uint32_t packet(struct kamuee_packet *p) {
        is(kamuee_get(0, 5), -1), is(kamuee_put(0, 5, 6), 0), is(kamuee_get(0, 5), 6), is(kamuee_put(0, 7, 0), 0), is(kamuee_get(0, 7), 0);
        is(kamuee_put(0, 8, 1), -1), is(kamuee_put(0, 5, -1), 0), is(kamuee_get(0, 5), -1), is(kamuee_put(0, 8, 1), 0), is(kamuee_get(0, -1), -1);
        is(kamuee_get(1, 2), 0), is(kamuee_get(1, 3), -1), is(kamuee_put(1, 3, 1), -1), is(kamuee_put(1, 2, 9), 0), is(kamuee_get(1, 2), 9);
        is(kamuee_put(2, 0, 1), -1), is(kamuee_get(2, 0), 42);
        return KAMUEE_CONTINUE; }""")
    result = verdicts(tmp_path, program, [ether(0x800, ip4())], "--table", "r:0=42")
    assert result["counters"] == {"wrong": "0"} and short(result) == [("continue",)]
    done = run("test", program, "--pcap", tmp_path / "in.pcap", "--table", "other:0=1")
    assert done.returncode == 2 and "declares no such table" in done.stderr


def test_wrong_words_say_what_may_stand_there(tmp_path):
    for words in ((), ("build",), ("build", "x.c"), ("check", "x.c", "-o", "y"), ("test", "x.c"), ("build", "x.c", "-o", "y", "--target", "tenant"),
                  ("test", "x.c", "--pcap", "y", "--hook", "z"), ("frob", "x.c")):
        done = run(*words)
        assert done.returncode == 2 and "usage: kamuee-program" in done.stderr, words
    assert "cannot be read" in run("check", tmp_path / "none.c").stderr or run("check", tmp_path / "none.c").returncode == 2


def test_a_signed_object_is_known_by_its_key_and_by_no_other(tmp_path):
    for name in ("own", "other"):
        run_tool("openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / f"{name}.pem")
        run_tool("openssl", "pkey", "-in", tmp_path / f"{name}.pem", "-pubout", "-out", tmp_path / f"{name}.pub")
    built, pub = tmp_path / "x.so", tmp_path / "own.pub"
    assert run("build", EXAMPLES / "noop.c", "-o", built).returncode == 0
    plain = built.read_bytes()
    assert "not signed" in run("verify", built, "--key", pub).stderr
    for _ in range(2):      # a second signature takes the first one's place
        assert run("sign", built, "--key", tmp_path / "own.pem").returncode == 0
        assert run("verify", built, "--key", pub).returncode == 0
        assert built.read_bytes()[:-80] == plain
    assert short(verdicts(tmp_path, built, [ether(0x800, ip4())])) == [("continue",)]       # the trailer harms nobody
    assert "not of this key" in run("verify", built, "--key", tmp_path / "other.pub").stderr
    signed = built.read_bytes()
    for at in (0, 5000, len(plain) - 1, len(plain), len(signed) - 17):
        built.write_bytes(signed[:at] + bytes([signed[at] ^ 1]) + signed[at + 1:])
        assert run("verify", built, "--key", pub).returncode == 1, at
    built.write_bytes(plain + b"x" + signed[len(plain):])
    assert run("verify", built, "--key", pub).returncode == 1
    for key, said in ((tmp_path / "none", "No such file"), (pub, "no private Ed25519 key"), (EXAMPLES / "noop.c", "no private Ed25519 key")):
        done = run("sign", built, "--key", key)
        assert done.returncode == 1 and said in done.stderr


def test_the_command_line_runs_it(tmp_path):
    kamuee = [sys.executable, ROOT / "kamuee", "program"]
    done = subprocess.run([*kamuee, "build", EXAMPLES / "noop.c", "-o", tmp_path / "x.so"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "noop.c: at most 4 instructions a packet, no loop; window 0, counters 0, reasons 0, tables 0\n"), done.stderr
    assert os.stat(tmp_path / "x.so").st_mode & 0o777 == 0o644
    assert subprocess.run([*kamuee, "check", tmp_path / "none.c"], capture_output=True, timeout=60).returncode == 2
