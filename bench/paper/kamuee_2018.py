# SPDX-License-Identifier: BSD-3-Clause
"""Ohara et al., Kamuee: An IP Packet Forwarding Engine for Multi-Hundred-Gigabit Software-based Networks, IC 2018.

Four 100 GbE ports, two Xeon Platinum 8180 (2.5 GHz nominal), one to twelve forwarder cores a port, random destinations.
"""
from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from measure import plot
from measure.program import ROOT, Unavailable
from paper import Result
from paper.path import Measured, Theirs, case, cores, labels, measure, median, mpps_of, not_here, rows

NAME = "kamuee-2018"
IDEA = ("Kamuee 2018: cores per port, route settings, one flow, loss at low load, compiler levels (figures 3-6, "
        "tables 3-4).")
GHZ = 2.5
ROUTES = "600000"       # "approx. 600,000 full routes"
# Figure 3a, 64-byte frames, default4, Gb/s of four ports by cores a port: what the text of §4.2 gives.
FIGURE_3A = {1: 12.20, 12: 180.18}
FIGURE_3A_1518 = {12: 394.36}
LOOPBACK_BLACKHOLE_GBPS = 80.52     # §4.2, 64 bytes, twelve cores a port
NO_ACL_LOOPBACK_TAP_MPPS = 292.17   # §4.3, 64 bytes
FULL_ROUTE_MPPS = 111.42            # §4.3, 64 bytes, empty ACL, 127/8 a blackhole
FULL_ROUTE_512_GBPS = 349.60        # §6
# Table 3, one flow, same NUMA node: bytes -> (Mpps, latency in us: least, mean, most)
TABLE_3 = {64: (5.26, 16.66, 69.4, 692.25), 128: (4.76, 10.43, 71.95, 120.82), 256: (3.94, 12.49, 253.73, 884.24),
           512: (5.05, 4.86, 22.01, 112.36), 1024: (4.55, 5.86, 22.18, 892.35), 1518: (4.97, 10.87, 34.23, 184.03)}
# Table 4: 10 Gb/s of 64-byte frames, loss rate
TABLE_4 = {"same NUMA node": 1.86e-06, "other NUMA node": 1.27e-07}
TABLE_4_MPPS, TABLE_4_CORES = 14.88, 12
LEVELS = ("-O0", "-O1", "-O2", "-O3", "-O3 -flto")    # the last is how a release is built


def of(cores_a_port: int) -> Theirs:
    return Theirs(4 * cores_a_port, GHZ, f"{4 * cores_a_port} cores of Xeon Platinum 8180")


def run(ctx) -> Result:
    result = Result()
    cores_per_port(ctx, result)
    route_settings(ctx, result)
    one_flow(ctx, result)
    loss(ctx, result)
    if ctx.quick:
        result.notes.append("Compiler levels (figure 6) are built anew, which takes minutes: left out with --quick.")
    else:
        try:
            compiler_levels(ctx, result)
        except Unavailable as why:
            result.rows.append(not_here("figure 6", "gcc -O0 to -O3", "cycles/packet", None, str(why)))
    result.notes += [
        "One port in memory with as many forwarders as there are cores stands for each of their four 100 GbE ports; "
        "the rates of theirs are divided by all their forwarder cores. PCI settings (figure 8) and KVM (figure 7) need "
        "NICs: not here.",
        "Random destinations are unicast ones; with LoopbackTap and LoopbackBlackhole 127/8 is among them, 1 in 223. "
        "Kamuee drops it in ip4_in whatever the routes say (RFC 1812 5.3.7), so no TAP is flooded; a real blackhole "
        "route is measured beside it."]
    return result


# --- figure 3 ---

def cores_per_port(ctx, result: Result) -> None:
    sizes = (64, 512, 1518)
    names = {(n, size): case(table="default4", pattern="random", ports=1, queues=n, threads=n, bytes=size)
             for n in range(1, cores() + 1) for size in sizes}
    found = measure(ctx, names.values())
    for (n, size), name in names.items():
        printed = {64: FIGURE_3A, 1518: FIGURE_3A_1518}.get(size, {}).get(n)
        result.rows += rows("figure 3a", f"{n}C/P, default4, {size} B", found, name, size, of(n) if printed else None,
                            printed, note="theirs: four ports" if printed else "")
    if cores() < 12:
        for size, printed in ((64, FIGURE_3A[12]), (1518, FIGURE_3A_1518[12])):
            each = mpps_of(printed, size) / 48
            result.row("figure 3a", f"12C/P, default4, {size} B; ours: {cores()}C/P", "Mpps a core", each,
                       [mpps / cores() for mpps in found.mpps(names[cores(), size])], f"{of(12).what}: {printed} Gb/s")
    ours = {f"{size} B": [(n, median(found.mpps(names[n, size]))) for n in range(1, cores() + 1)] for size in sizes}
    theirs = {"paper, 64 B, a port": [(n, mpps_of(rate, 64) / 4) for n, rate in FIGURE_3A.items()]}
    result.charts.append(plot.Lines("Cores per port, default4 (as figure 3a)", "cores a port", "Mpps a port",
                                    {**ours, **theirs}, dashed=tuple(theirs)))


# --- figures 4 and 5 ---

def route_settings(ctx, result: Result) -> None:
    full = {"table": ROUTES, "pattern": "random"}
    names = {"LoopbackTap, empty ACL": (case(table="default4", pattern="loopback", acl="empty"), of(12), FIGURE_3A[12],
                                        None, ""),
             "LoopbackBlackhole, empty ACL": (case(table="default4", pattern="loopback", acl="empty"), of(12),
                                              LOOPBACK_BLACKHOLE_GBPS,
                                              None, "the same packets here: 127/8 is dropped before the lookup"),
             "blackhole of 9/8": (case(table="bhole4", pattern="random"), None, None, None,
                                  "1 packet in 222, found by lookup"),
             "no 127/8 in the traffic": (case(table="default4", pattern="random"), None, None, None, ""),
             "NoACL-LoopbackTap": (case(table="default4", pattern="loopback"), of(12), None, NO_ACL_LOOPBACK_TAP_MPPS,
                                   ""),
             "FullRoute-LoopbackBlackhole, empty ACL": (case(**{**full, "pattern": "loopback"}, acl="empty"), of(12),
                                                        None, FULL_ROUTE_MPPS, ""),
             "FullRoute-LoopbackBlackhole, no ACL": (case(**{**full, "pattern": "loopback"}), None, None, None, ""),
             "FullRoute, addresses of its prefixes": (case(**{**full, "pattern": "prefix"}), None, None, None, ""),
             "a full table of today": (case(table="full", pattern="prefix"), None, None, None, "")}
    large = case(**{**full, "pattern": "loopback"}, bytes=512, acl="empty")
    found = measure(ctx, [name for name, *_ in names.values()] + [large])
    for label, (name, theirs, rate, mpps, note) in names.items():
        result.rows += rows("figure 4" if mpps is None else "figure 5", f"{label}, 64 B", found, name, 64, theirs, rate,
                            mpps, note)
    result.rows += rows("figure 4", "FullRoute-LoopbackBlackhole, empty ACL, 512 B", found, large, 512, of(12),
                        FULL_ROUTE_512_GBPS)
    result.charts.append(plot.Bars("Route settings, 64 B (as figures 4 and 5)", "Mpps a core", labels(names),
                                   {"kamuee": [median(found.mpps(name)) for name, *_ in names.values()],
                                    "paper, of 48 cores": [(mpps or (mpps_of(rate, 64) if rate else None)) and
                                                           (mpps or mpps_of(rate, 64)) / 48
                                                           for _, _, rate, mpps, _ in names.values()]}))


# --- table 3 ---

def one_flow(ctx, result: Result) -> None:
    flood = {size: case(table="default4", pattern="flows", flows=1, ports=1, bytes=size) for size in TABLE_3}
    offered = {size: case(table="default4", pattern="flows", flows=1, ports=1, bytes=size,
                          mpps=f"{mpps_of(100, size):.3f}")
               for size in TABLE_3}
    half = {size: case(table="default4", pattern="flows", flows=1, ports=1, bytes=size,
                       mpps=f"{TABLE_3[size][0] / 2:.3f}")
            for size in TABLE_3}
    found = measure(ctx, [*flood.values(), *offered.values(), *half.values()])
    for size, (mpps, *latency) in TABLE_3.items():
        result.rows += rows("table 3", f"one flow, {size} B", found, flood[size], size, Theirs(1, GHZ, "one core"),
                            None, mpps)
        for what, number, there in zip(("least", "mean", "most"), range(3), latency):
            result.row("table 3", f"one flow, {size} B, 100 Gb/s offered: {what} latency", "us", there,
                       delays(found, offered[size], number), "theirs: through two NICs and the tester")
        result.row("table 3", f"one flow, {size} B, half of their rate offered: mean latency", "us", None,
                   delays(found, half[size], 1))
    result.notes.append("Latency is from a packet's arrival in a queue of 1,024 descriptors to tx: with more offered "
                        "than one core forwards the queue is always full, so it is 1,024 packets' time, as in the "
                        "paper's small frames. Latency and loss contain every moment that the operating system takes "
                        "the core away.")
    result.charts.append(plot.Bars("One flow on one core (as table 3)", "Mpps", [f"{size} B" for size in TABLE_3],
                                   {"kamuee": [median(found.mpps(flood[size])) for size in TABLE_3],
                                    "paper": [mpps for mpps, *_ in TABLE_3.values()]}))


def delays(found: Measured, name: str, number: int) -> list[float]:
    return [trial["delay_us"][number] for trial in found.trials[name] if trial["packets"]]


# --- table 4 ---

def loss(ctx, result: Result) -> None:
    """Their 14.88 Mpps went to twelve cores: as much for each of ours."""
    name = case(table="default4", pattern="random", ports=1, mpps=f"{TABLE_4_MPPS / TABLE_4_CORES:.3f}")
    found = measure(ctx, [name], rounds=3, ms=1000 if ctx.quick else 20_000)
    rates = [trial["lost"] / max(1, trial["offered"]) for trial in found.trials[name]]
    for node, printed in TABLE_4.items():
        result.row("table 4", f"10 Gb/s of 64 B, {node}: loss", "of the packets", printed, rates,
                   f"one core, {TABLE_4_MPPS / TABLE_4_CORES:.2f} Mpps, its share of theirs")


# --- figure 6 ---

def compiler_levels(ctx, result: Result) -> None:
    """LoopbackTap with each level, in turns; all built now from the same files."""
    names = {64: case(table="default4", pattern="loopback"),
             1518: case(table="default4", pattern="loopback", bytes=1518)}
    programs = {level: built(ctx, level) for level in LEVELS}
    found: dict[str, list[dict]] = {level: [] for level in programs}
    with ctx.step(f"{len(programs)} programs in turns"):
        for _ in range(ctx.rounds + 2):
            for level, program in programs.items():
                found[level].append(ctx.run_json([program, "--rounds", "1", "--ms", "100", *names.values()]))
    ours = {level: Measured(answers) for level, answers in found.items()}
    for level, measured in ours.items():
        for size, name in names.items():
            result.rows += rows("figure 6", f"gcc {level}, LoopbackTap, {size} B", measured, name, size,
                                note="the paper: -O1 and above roughly the same")
    result.charts.append(plot.Bars("Compiler optimization (as figure 6)", "cycles/packet", list(ours),
                                   {"64 B": [median(measured.cycles(names[64])) for measured in ours.values()]}))


def built(ctx, level: str) -> Path:
    """path_bench with every file at `level`: a wrapper of the compiler replaces the options of the build."""
    optimize, *lto = level.split()
    compiler, build = ctx.work / f"cc{optimize}", ctx.work / f"build{level.replace(' ', '')}"
    real = shutil.which(os.environ.get("CC", "cc"))
    if not real or not shutil.which("meson"):
        raise Unavailable("no compiler or meson installed: apt-get install build-essential meson")
    compiler.write_text("#!/bin/bash\nfor word; do [[ $word == -O* ]] || set -- \"$@\" \"$word\"; shift; done\n"
                        f"exec {real} \"$@\" {optimize}\n")
    compiler.chmod(0o755)
    with ctx.step(f"building with {level}"):
        for argv in (["meson", "setup", str(build), str(ROOT), "-Dbuildtype=release",
                      *(f"-D{option}={'true' if lto else 'false'}" for option in ("b_lto", "bench_lto"))],
                     ["ninja", "-C", str(build), "bench/path_bench"]):
            done = subprocess.run(argv, env={**os.environ, "CC": str(compiler)}, capture_output=True, text=True)
            if done.returncode:
                error = next((line for line in done.stdout.splitlines() if "error" in line), done.stderr.strip()[-200:])
                raise Unavailable(f"{level} does not build: {error}")
    return build / "bench/path_bench"
