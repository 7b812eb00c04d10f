# SPDX-License-Identifier: BSD-3-Clause
"""What a packet program executes, and which memory it uses: program_count under valgrind's lackey, which tells each address."""
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from commands.program import make
from measure.program import Unavailable

PACKETS = 32
IP4 = "4500003c000040004006{checksum}0a00000114000001"         # 60 bytes, TCP
SYN = "03e8005000000001000000005002200000000000" + "00" * 20
IP = IP4.format(checksum="12be") + SYN
# hook, the packet from the program's first byte on, entries of its tables
EXAMPLES = {
    "noop": ("input", IP, ()),
    "dscp": ("input", IP, ("class:0=3", "mark:0=11")),
    "syn-guard": ("ether", IP, ("limit:0=4294967295",)),
    "sampled-mirror": ("ether", IP, ("rate:1=4",)),
    "label-switch": ("ether-type", "00064140" + IP, (f"label:100={1 | 77 << 8 | 5 << 32}",)),
    "source-route": ("ether-type", "03040000070809" + "00" * 13 + IP, ()),
}


@dataclass
class Counted:
    """Of one packet."""
    bytes: int
    instructions: float
    loads: float
    stores: float
    packet: float       # of both, to the packet's bytes


def count(ctx, name: str) -> Counted:
    hook, packet, entries = EXAMPLES[name]
    trace = Path(ctx.work) / f"lackey-{name}"
    with ctx.step(f"counting what program {name} does"):
        file = make("tenant", name, Path(ctx.work))
        argv = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--basic-counts=no", f"--log-file={trace}", ctx.program("program_count"), file,
                str(PACKETS), hook, packet, *entries]
        try:
            where = ctx.run_json(argv, timeout_s=300)
        except FileNotFoundError as error:
            raise Unavailable("valgrind is not installed: apt-get install valgrind") from error
    with trace.open() as lines:
        return parse_lackey(lines, where, len(packet) // 2)


def parse_lackey(lines: Iterable[str], where: dict, size: int) -> Counted:
    """`I  ADDRESS,SIZE` an instruction; ` L`, ` S`, ` M` a load, a store, both. What lies between the last two stores to the mark is measured."""
    slots, stride, data = where["slots"], where["stride"], where["data"]
    kept: list[tuple[str, int]] = []
    last: list[tuple[str, int]] = []
    for line in lines:
        kind, _, rest = line.strip().partition(" ")
        if kind not in ("I", "L", "S", "M") or "," not in rest:
            continue
        address = int(rest.split(",")[0], 16)
        if kind == "S" and address == where["mark"]:
            last, kept = kept, []
        else:
            kept.append((kind, address))
    loads, stores = sum(kind in "LM" for kind, _ in last), sum(kind in "SM" for kind, _ in last)
    packet = sum((1 + (kind == "M")) for kind, address in last
                 if kind != "I" and 0 <= address - slots < stride * where["packets"] and (address - slots) % stride >= data)
    instructions = sum(kind == "I" for kind, _ in last)
    if not instructions:
        raise Unavailable("lackey's trace has no marks")
    n = where["packets"]
    return Counted(size, instructions / n, loads / n, stores / n, packet / n)
