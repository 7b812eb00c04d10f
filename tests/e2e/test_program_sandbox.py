# SPDX-License-Identifier: BSD-3-Clause
"""Packet programs as tenants have them, from C through WebAssembly (docs/adr/0023): they work, and what is hostile harms only its own virtual router.

tests/e2e/test_program.py has each hook and verdict, with objects that no sandbox is in.
"""
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from support import eventually, send
from test_program import arrived, counter, lab, load, program, reachable, verdicts  # noqa: F401

PROGRAM = Path(os.environ.get("KAMUEED", ROOT / "build/kamueed")).parent / "compiler/kamuee-program"
pytestmark = pytest.mark.skipif(not all(map(shutil.which, ("wasm2c", "clang"))), reason="needs wabt and clang")


@pytest.fixture
def build(tmp_path):
    """A source in C, or a file of one -> its object."""
    def make(source: str | Path, name: str = "x") -> str:
        if isinstance(source, str):
            (tmp_path / f"{name}.c").write_text(f"#include <kamuee/program.h>\n{source}\n")
            source = tmp_path / f"{name}.c"
        subprocess.run([PROGRAM, "build", source, "-o", tmp_path / f"{name}.so"], check=True, timeout=60)
        return str(tmp_path / f"{name}.so")
    return make


def test_dscp_of_the_examples_counts_and_classifies(lab, router, build):  # noqa: F811
    load(router, build(ROOT / "programs/examples/dscp.c"))
    router.call("program-table-set", name="red:x", table="mark", key="0", value="11")
    assert arrived(lab, "10.2.0.2") == 50
    eventually(lambda: verdicts(router)["class"] >= 50 and counter(router, "marked") >= 50, what="packets of DSCP 0, marked with 10")
    assert program(router)["instructions"] in (240, 245)        # by clang 19, by clang 14


def test_a_program_with_a_loop_sums_up_what_it_sees(lab, router, build):  # noqa: F811
    """The sum of 20 bytes of each IPv4 header, by a loop that pays."""
    load(router, build("""KAMUEE_DECLARE("counter sum; counter seen");
        uint32_t packet(struct kamuee_packet *p) {
            uint32_t sum = 0;
            if (p->data[0] >> 4 != 4)
                return KAMUEE_CONTINUE;
            for (uint32_t i = 0; i < (p->data[0] & 15u) * 4; i++)
                sum += p->data[i];
            kamuee_count(0, sum > 0), kamuee_count(1, 1);
            return KAMUEE_CONTINUE; }"""))
    assert arrived(lab, "10.2.0.2") == 50
    eventually(lambda: counter(found := program(router), "sum") == counter(found, "seen") >= 50)
    assert program(router)["instructions"] == 4096 and program(router)["status"] == "running"


HOSTILE = {
    "forever": "for (;;) p->data[p->time++ & 127] = 1;",
    "division by zero": "return 7u % p->reserved;",
    "a table that is not there": "kamuee_get(3, 1);",
    "a counter that is not there": "kamuee_count(1000000, 1);",
    "unreachable": "__builtin_trap();",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_trap_in_the_sandbox_stops_the_program_and_only_its_virtual_router_suffers(lab, router, build, what):  # noqa: F811
    load(router, build("uint32_t packet(struct kamuee_packet *p) { %s return 0; }" % HOSTILE[what]))
    before = router.dropped("program_fault")
    send(lab["reda"], ["10.2.0.2"], 20)
    found = eventually(lambda: (p := program(router))["status"] == "off" and p)
    assert found["fault"] == "trap"
    assert eventually(lambda: router.dropped("program_fault") - before >= 20) and arrived(lab, "10.2.0.2", color="blue") == 50


def test_who_writes_everywhere_harms_nobody(lab, router, build):  # noqa: F811
    """Every byte of its memory, all slots and all they say, again and again: its own packets are changed or dropped; blue's pass."""
    load(router, build("""uint32_t at;
        uint32_t packet(struct kamuee_packet *p) {
            for (uint32_t i = 0; i < 200; i++, at += 8)
                *(volatile uint64_t *)(uintptr_t)at = 0xffffffffffffffff;
            return KAMUEE_CONTINUE; }"""), "on-fault pass")
    for _ in range(3):
        send(lab["reda"], ["10.2.0.2"], 200)
        assert arrived(lab, "10.2.0.2", color="blue") == 50
    eventually(lambda: program(router)["packets"] > 0 or program(router)["status"] == "off")
