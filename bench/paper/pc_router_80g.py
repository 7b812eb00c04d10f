# SPDX-License-Identifier: BSD-3-Clause
"""Ohara et al., Revealing the Necessary Conditions to Achieve 80Gbps High-Speed PC Router, AINTEC 2015.

l3fwd with Poptrie between four 40 GbE ports, one parameter changed at a time. Traffic enters at ports 0 and 3 and
leaves by 1 and 2; a port has two (core, queue) pairs, so that four cores of 3.1 GHz work for 80 Gb/s.
"""
from __future__ import annotations

from measure import plot
from paper import Result, Row
from paper.path import SIZES, Measured, Theirs, alternate, case, cores, gbps, measure, median, mpps_of, not_here, rows

NAME = "2015-80g"
IDEA = "80 Gb/s PC router: one parameter off at a time (RSS, queues, pages, burst), LPM against Poptrie (figures 2-5)."
FOUR = Theirs(4, 3.1, "4 cores of a Xeon E5-2687W v3")
TWO = Theirs(2, 3.1, "2 cores of a Xeon E5-2687W v3")
LIMIT_GBPS = 80.0
PRINTED_LIMIT_MPPS = {64: 119.05, 96: 86.21}        # §5.5: the limit of 80 Gb/s
CORE1_128_GBPS = 59.17                              # §5.5: one (core, queue) pair a port
POPTRIE_NTT_GBPS = 79.198                           # §5.7, random traffic; the ports' shares are uneven
LPM_NTT_GBPS = 80.0                                 # §5.7, 128-byte frames
PRINTED_LOOKUP = {"Poptrie": POPTRIE_NTT_GBPS, "Poptrie, no SIMD": POPTRIE_NTT_GBPS, "LPM": LPM_NTT_GBPS}
LOOKUP_NOTES = {"LPMnoSSE": "the paper: below wire rate at 128 B", "Poptrie, no SIMD": "the paper's Poptrie had none "
                "either", "DIR-24-8 (rte_fib)": "the structure of LPM in DPDK's newer library"}
ENGINES = {"Poptrie": ("poptrie", True), "Poptrie, no SIMD": ("poptrie", False), "LPM": ("lpm", True),
           "LPMnoSSE": ("lpm", False), "DIR-24-8 (rte_fib)": ("dir24_8", True), "DIR-24-8, no SIMD": ("dir24_8", False)}
SIMD = {True: (), False: ("--simd", "64")}
BURSTS = (1, 2, 4, 8, 16, 32, 64)
QUEUES = (1, 2, 4, 8)


def run(ctx) -> Result:
    result = Result()
    parameters(ctx, result)
    burst_and_queues(ctx, result)
    pages(ctx, result)
    lookups(ctx, result)
    result.notes += [
        "Ports in memory instead of NICs: a receive queue gives as many packets as it is asked for, so what is "
        "measured is the forwarder, not a NIC or PCIe; there is no wire to be the limit, and Gb/s are what the packets "
        "would take on one.",
        "Payload is not written or read here, so Gb/s grow with the size while Mpps stay: the paper's curves bend "
        "because its NICs end at 40 Gb/s each. `kamuee bench paper diversified` sweeps the size with payload that is "
        "copied.",
        "linx and ntt are made up, of the same number of routes; ntt has 16,140 longer than /24. Unlike there, an "
        "address without a route leaves by two halves of the address space in the table, not by a bit of the address.",
        "l3fwd itself, the paper's program, on the same machine: kamuee bench forward --peer l3fwd"]
    return result


# --- figures 2 and 3 ---

def settings() -> dict[str, dict]:
    """The paper's labels. Two pairs a port need two cores; with four, there are two receiving ports as in the paper."""
    ports = 2 if cores() >= 4 else 1
    found = {"Core1": {"ports": ports, "queues": 1, "threads": ports, "rss": "all"}}
    if cores() >= 2:
        found["DPDK+Poptrie"] = {"ports": ports, "queues": 2, "threads": 2 * ports, "rss": "all"}
        found["NoRSSOpt"] = {"ports": ports, "queues": 2, "threads": 2 * ports, "rss": "none"}
    return found


def parameters(ctx, result: Result) -> None:
    known = settings()
    named = {(label, size): case(table="linx", pattern="straight", bytes=size, **keys)
             for label, keys in known.items() for size in (SIZES if not ctx.quick else (64, 128, 512, 1518))}
    cross = {label: case(table="linx", pattern="cross", bytes=128, **keys) for label, keys in known.items()}
    found = measure(ctx, [*named.values(), *cross.values()])
    printed = {"DPDK+Poptrie": (LIMIT_GBPS, FOUR), "Core1": (CORE1_128_GBPS, TWO), "NoRSSOpt": (CORE1_128_GBPS, TWO)}
    for label in known:
        there, theirs = printed[label]
        note = {"NoRSSOpt": "the paper: almost as Core1"}.get(label, "")
        result.rows += rows("figure 2", f"{label}, straight, linx, 128 B", found, named[label, 128], 128, theirs, there,
                            note=note)
        result.rows += rows("§5.6", f"{label}, cross-cpus, linx, 128 B", found, cross[label], 128, theirs, there,
                            note="the paper: no difference to straight")
        result.rows += rows("figure 3", f"{label}, straight, linx, 64 B", found, named[label, 64], 64)
    for what in ("DPDK+Poptrie", "NoRSSOpt"):
        if what not in known:
            result.rows.append(not_here("figure 2", what, "Gb/s", printed[what][0],
                                        "two (core, queue) pairs need two cores"))
    result.rows.append(not_here("figure 2", "ExtTagOff, 128 B", "Gb/s", None,
                                "no PCI device between the packets and us; theirs lost 6-7 Gb/s. `show port` checks "
                                "the flag of a NIC"))
    result.rows.append(not_here("§4.5", "Max_Read_Request_Size 4096", "Gb/s", None,
                                "no PCI device; no difference there"))
    sizes = sorted({size for _, size in named})
    result.charts += bps_and_pps("Straight traffic on linx",
                                 {label: [(size, median(found.mpps(named[label, size]))) for size in sizes]
                                  for label in known},
                                 ("figure 2", "figure 3"))


def bps_and_pps(title: str, pps: dict[str, list[tuple[int, float]]], figures: tuple[str, str]) -> list[plot.Lines]:
    """Both pictures of the paper from Mpps by size, with the limit that its wires set."""
    sizes = [size for size, _ in next(iter(pps.values()))]
    bps = {label: [(size, gbps(rate, size)) for size, rate in points] for label, points in pps.items()}
    theirs = "paper: 80 Gb/s limit"
    return [plot.Lines(f"{title} (bps), as {figures[0]}", "frame, bytes", "Gb/s",
                       {**bps, theirs: [(size, LIMIT_GBPS) for size in sizes]}, dashed=(theirs,)),
            plot.Lines(f"{title} (pps), as {figures[1]}", "frame, bytes", "Mpps",
                       {**pps, theirs: [(size, mpps_of(LIMIT_GBPS, size)) for size in sizes]}, dashed=(theirs,))]


# --- one parameter at a time that the figures do not have ---

def burst_and_queues(ctx, result: Result) -> None:
    bursts = {n: case(table="linx", pattern="random", burst=n) for n in BURSTS}
    queues = {n: case(table="linx", pattern="random", queues=n) for n in QUEUES}
    spread = {label: case(table="linx", pattern="ports", ports=1, queues=2, threads=2, rss=label)
              for label in ("ip", "all")}
    found = measure(ctx, [*bursts.values(), *queues.values(), *(spread.values() if cores() >= 2 else ())])
    for n, name in bursts.items():
        result.rows += rows("§4.7", f"bursts of {n}, random, linx, 64 B", found, name, 64)[1:]
    for n, name in queues.items():
        result.rows += rows("§4.3", f"one core polls {n} queue{'s' if n > 1 else ''} a port, random, linx, 64 B", found,
                            name, 64)[1:]
    for label, name in spread.items() if cores() >= 2 else ():
        result.rows += rows("§4.2", f"one pair of addresses, any UDP port, RSS on {label}, 2 queues, 2 cores, 64 B",
                            found, name, 64,
                            note="what the default ETH_RSS_IP does to such traffic" if label == "ip" else "")[:2]
    result.charts.append(plot.Lines("What a small burst costs (random, linx, 64 B)", "packets a burst", "cycles/packet",
                                    {"kamuee": [(n, median(found.cycles(name))) for n, name in bursts.items()]},
                                    log_x=True))


def pages(ctx, result: Result) -> None:
    name = case(table="linx", pattern="random")
    large, small = alternate(ctx, [name], [(), ("--small-pages",)])
    kind = "huge pages" if large.huge else "transparent huge pages for tables (no huge pages are reserved here)"
    result.rows += rows("§4.4", f"{kind}, random, linx, 64 B", large, name, 64,
                        note="the paper: 1 GiB and 2 MiB alike")[1:]
    result.rows += rows("§4.4", "4 KiB pages only, random, linx, 64 B", small, name, 64, note="not possible there")[1:]


# --- figures 4 and 5 ---

def lookups(ctx, result: Result) -> None:
    """rte_lpm refuses more than 150,000 routes here (it loads them for minutes), so all engines get a part of ntt, and
    those that take it the whole of it too. Without SIMD means all of the program, as with l3fwd's build option."""
    sizes, part = ((64, 128), 8) if ctx.quick else (SIZES, 4)
    ntt, linx = f"ntt/{part}", f"linx/{part}"
    kinds = dict.fromkeys(engine for engine, _ in ENGINES.values())
    named = {(engine, size): case(engine=engine, table=ntt, pattern="random", bytes=size) for engine in kinds
             for size in sizes}
    whole = {engine: case(engine=engine, table="ntt", pattern="random", bytes=128) for engine in kinds
             if engine != "lpm"}
    other = {engine: case(engine=engine, table=linx, pattern="random", bytes=128) for engine in kinds if not ctx.quick}
    alone = {engine: case(mode="lookup", engine=engine, table=ntt, pattern="random") for engine in kinds}
    cases = [*named.values(), *whole.values(), *other.values(), *alone.values()]
    found = dict(zip(SIMD, alternate(ctx, cases, list(SIMD.values()))))
    for label, (engine, simd) in ENGINES.items():
        theirs = PRINTED_LOOKUP.get(label)
        result.rows += rows("figure 4", f"{label}, random, 1/{part} of ntt, 128 B", found[simd], named[engine, 128],
                            128, theirs and FOUR, theirs, note=LOOKUP_NOTES.get(label, ""))
        if engine in whole:
            result.rows += rows("figure 4", f"{label}, random, ntt, 128 B", found[simd], whole[engine], 128,
                                theirs and FOUR, theirs)
        if engine in other:
            result.rows += rows("§5.7", f"{label}, random, 1/{part} of linx, 128 B", found[simd], other[engine], 128)
        result.row("figure 5", f"{label}, lookup alone, random, 1/{part} of ntt", "cycles/packet", None,
                   found[simd].cycles(alone[engine]))
    for engine in kinds:
        fib = found[True].fibs[ntt, engine]
        of = f"{engine}, {fib['routes']:,} routes"
        quote = {"lpm": ("the paper: \"loading of the large routes in LPM is slow\"",
                         "the paper: \"prohibitive\"")}.get(engine, ("", ""))
        result.rows += [Row("§5.7", f"loading: {of}", "ms", None, [fib["load_ms"]], quote[0]),
                        Row("§5.7", f"memory: {of}", "MB", None, [fib["bytes"] / 1e6], quote[1])]
    result.charts += lookup_charts(part, named, found)


def lookup_charts(part: int, named: dict, found: dict[bool, Measured]) -> list[plot.Lines]:
    sizes = sorted({size for _, size in named})
    pps = {label: [(size, median(found[simd].mpps(named[engine, size]))) for size in sizes]
           for label, (engine, simd) in ENGINES.items()}
    return bps_and_pps(f"Random traffic, 1/{part} of ntt", pps, ("figure 4", "figure 5"))
