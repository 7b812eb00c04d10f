# SPDX-License-Identifier: BSD-3-Clause
"""Han et al., Building a Single-Box 100 Gbps Software Router, 2010 (PacketShader's group).

Receiving, sending and forwarding measured separately; under 200 CPU cycles a packet by batching, buffers without
per-packet allocation, prefetching and no false sharing, against RouteBricks' 1,229.
"""
from __future__ import annotations

from commands import gpu
from measure import plot
from measure.program import Unavailable
from paper import Result
from paper.path import case, cores, count, labels, measure, median, not_here

NAME = "packetshader"
IDEA = ("A single-box 100 Gb/s router: rx only, tx only, forwarding; the budget of a packet against 200 and 1,229 "
        "cycles (figures 3-5).")
ROUTEBRICKS_CYCLES = 1229       # §II.A
PACKETSHADER_CYCLES = 200       # §II.A: "under 200"
LINE_MPPS = 149.0               # §II.A: 64-byte frames at 100 Gb/s
ROUTEBRICKS_GHZ, PACKETSHADER_GHZ = 277.0, 30.0     # §II.A: what 100 Gb/s of 64-byte frames need, in all
# Figures 3 to 5, what the text of §II.B says, Gb/s of 60, 80 and 40 that the NICs have
FIGURES = {"figure 3": {"rx": 30.0, "tx": 50.0, "forward": 20.0}, "figure 4": {"rx": 60.0, "tx": 80.0, "forward": 40.0},
           "figure 5": {"rx": 40.0, "tx": 40.0, "forward": 30.0}}
SIZES = (64, 128, 256, 512, 1024, 1518)
WORDS = {"rx": "receiving only", "tx": "sending only", "forward": "forwarding"}
BURSTS = (1, 2, 4, 8, 16, 32, 64)


def run(ctx) -> Result:
    result = Result()
    separately(ctx, result)
    budget(ctx, result)
    instructions(ctx, result)
    lookups_on_gpu(ctx, result)
    result.notes += [
        "Ports in memory: receiving takes a buffer and writes a header line into it (with `payload`, the whole frame), "
        "sending reads (with `payload`, all of it) and gives the buffer back. There are no descriptors, PCIe links or "
        "I/O hubs, which were the paper's limits; CPUs were not: \"in all of our experiments, CPUs are not the "
        "bottleneck\".",
        "The payload stays in the caches (the same few hundred buffers go round), so memory bandwidth, the paper's "
        "second limit, is not reached: 400 Gb/s of it are needed for 100 Gb/s forwarded.",
        "277 GHz for RouteBricks is the paper's number; 149 Mpps of 1,229 cycles are 183 GHz."]
    return result


# --- figures 3 to 5 ---

def separately(ctx, result: Result) -> None:
    sizes = (64, 512, 1518) if ctx.quick else SIZES
    keys = {"rx": {"mode": "rx", "table": "default4"}, "tx": {"mode": "tx", "table": "default4"},
            "forward": {"table": "full"}}
    named = {(mode, size, whole): case(**keys[mode], bytes=size, whole=whole) for mode in keys for size in sizes
             for whole in (0, 1)}
    cross = case(table="full", pattern="cross")
    found = measure(ctx, [*named.values(), cross])
    for figure, printed in FIGURES.items():
        for mode, rate in printed.items():
            result.row(figure, f"{WORDS[mode]}, 64 B; ours: a core", "Gb/s", rate, found.gbps(named[mode, 64, 0], 64),
                       "theirs: all cores, limited by the I/O hubs")
    for (mode, size, whole), name in named.items():
        what = f"{WORDS[mode]}, {size} B{', payload' if whole else ''}"
        result.row("figure 3", what, "cycles/packet", None, found.cycles(name))
        result.row("figure 3", what, "Gb/s a core", None, found.gbps(name, size))
    result.row("figure 4", "forwarding, 64 B, crossing ports", "cycles/packet", None, found.cycles(cross))
    result.rows.append(not_here("figure 4", "forwarding, node-crossing", "Gb/s", FIGURES["figure 4"]["forward"],
                                "needs two NUMA nodes; theirs: little degradation"))
    result.charts.append(plot.Lines("Packet I/O of one core, payload written and read (as figures 3-5)", "frame, bytes",
                                    "Gb/s", {WORDS[mode]: [(size, median(found.gbps(named[mode, size, 1], size)))
                                                   for size in sizes]
                                     for mode in keys}))


# --- the budget ---

def budget(ctx, result: Result) -> None:
    named = {"ports": case(mode="io", table="full"), "lookup": case(mode="lookup", table="full"),
             "all": case(table="full"), "one": case(table="full", pattern="flows", flows=1)}
    bursts = {n: case(table="full", burst=n) for n in BURSTS}
    found = measure(ctx, [*named.values(), *bursts.values()])
    total, ports, lookup = (found.cycles(named[key]) for key in ("all", "ports", "lookup"))
    rest = [a - p - k for a, p, k in zip(total, ports, lookup)]
    parts = {"ports and buffers (rx to tx unseen)": ports, "lookup, full table (alone)": lookup, "the rest": rest}
    for what, cycles in parts.items():
        result.row("§II.A", f"budget: {what}", "cycles/packet", None, cycles)
    stages = found.stages(named["all"])
    for stage, cycles in stages.items():
        result.row("§II.A", f"stage {stage}", "cycles/packet", None, cycles,
                   "as `show thread stages`: of bursts that are timed")
    result.row("§II.A", "forwarding a packet, full table (PacketShader)", "cycles/packet", PACKETSHADER_CYCLES, total,
               "theirs: \"under 200\"")
    result.row("§II.A", "forwarding a packet, full table (RouteBricks)", "cycles/packet", ROUTEBRICKS_CYCLES, total)
    result.row("§II.A", "forwarding a packet, one flow", "cycles/packet", None, found.cycles(named["one"]))
    for label, printed in (("RouteBricks", ROUTEBRICKS_GHZ), ("PacketShader", PACKETSHADER_GHZ)):
        result.row("§II.A", f"CPU for 100 Gb/s of 64 B ({label})", "GHz", printed, [LINE_MPPS * c / 1e3 for c in total])
    for n, name in bursts.items():
        result.row("§II.A", f"bursts of {n}, full table", "cycles/packet", None, found.cycles(name))
    if cores() >= 2:
        shared(ctx, result)
    result.charts += [
        plot.Bars("The budget of a packet, 64 B, full table", "cycles/packet",
                  labels([*stages, "all", "paper: PacketShader", "paper: RouteBricks"]),
                  {"cycles": [*map(median, stages.values()), median(total), PACKETSHADER_CYCLES, ROUTEBRICKS_CYCLES]}),
        plot.Lines("Batching", "packets a burst", "cycles/packet",
                   {"kamuee": [(n, median(found.cycles(name))) for n, name in bursts.items()],
                    "paper: PacketShader": [(n, PACKETSHADER_CYCLES) for n in BURSTS]}, log_x=True,
                   dashed=("paper: PacketShader",))]


def shared(ctx, result: Result) -> None:
    """False sharing would show here: the same work on one core and on several at once."""
    names = {n: case(table="full", threads=n, ports=1, queues=n) for n in (1, cores())}
    found = measure(ctx, names.values())
    for n, name in names.items():
        result.row("§II.A", f"{n} core{'s' if n > 1 else ''} at once, full table", "cycles/packet", None,
                   found.cycles(name))


def lookups_on_gpu(ctx, result: Result) -> None:
    """The computing power that the paper proposes to buy: what a lookup costs the CPU that leaves it to a GPU."""
    what = "a lookup"
    try:
        found = ctx.run_json([ctx.program("gpu_bench"), "--json", *["--quick"] * ctx.quick])
    except RuntimeError:
        result.rows.append(not_here("§II.A", f"{what} left to a GPU", "cycles/packet", None,
                                    "no GPU here; `kamuee bench gpu --emulated` tries the path without one"))
        return
    for tables, rows in gpu.sized(found).items():
        row = gpu.best(rows)
        of = f"{tables:.0f} table{'s' * (tables != 1)}"
        result.row("§II.A", f"{what}, {of}, by the CPU", "cycles/packet", None, [row["cpu_cycles"]])
        result.row("§II.A", f"{what}, {of}, left to a GPU", "cycles/packet", None, [row["offload_cycles"]],
                   f"age p99 {row['age_p99_us']:.0f} µs; {'pays' if gpu.pays(row) else 'loses'}")


def instructions(ctx, result: Result) -> None:
    try:
        counted = count(ctx, case(table="full"))
    except Unavailable as why:
        result.notes.append(f"Instructions by function: {why}")
        return
    result.row("§II.A", "instructions of a packet", "instructions/packet", None, [counted.events["Ir"]],
               "callgrind (AVX2)")
    for function, number in counted.functions.items():
        if number >= 1:
            result.row("§II.A", f"instructions in {function}", "instructions/packet", None, [number],
                       "callgrind (AVX2)")
