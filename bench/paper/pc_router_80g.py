# SPDX-License-Identifier: BSD-3-Clause
"""Ohara et al., Revealing the Necessary Conditions to Achieve 80Gbps High-Speed PC Router, AINTEC 2015.

l3fwd with Poptrie between four 40 GbE ports, one parameter changed at a time. Traffic enters at ports 0 and 3 and
leaves by 1 and 2; a port has two (core, queue) pairs, so that four cores of 3.1 GHz work for 80 Gb/s.
"""
from __future__ import annotations

from measure import plot
from paper import Result, Row
from paper.path import SIZES, Measured, Theirs, alternate, case, cores, measure, median, not_here, rows

NAME = "2015-80g"
IDEA = "80 Gb/s PC router: one parameter off at a time (RSS, queues, pages, burst), LPM against Poptrie (figures 2-5)."
FOUR = Theirs(4, 3.1, "4 cores of a Xeon E5-2687W v3")
TWO = Theirs(2, 3.1, "2 cores of a Xeon E5-2687W v3")
LIMIT_GBPS = 80.0
PRINTED_LIMIT_MPPS = {64: 119.05, 96: 86.21}        # §5.5: the limit of 80 Gb/s
CORE1_128_GBPS = 59.17                              # §5.5: one (core, queue) pair a port
POPTRIE_NTT_GBPS = 79.198                           # §5.7, random traffic; the ports' shares are uneven
LPM_NTT_GBPS = 80.0                                 # §5.7, 128-byte frames
ENGINES = {"Poptrie": "poptrie", "Poptrie, scalar": "poptrie-scalar", "LPM": "lpm", "LPMnoSSE": "lpm-nosimd",
           "DIR-24-8 (rte_fib)": "dir24_8"}
BURSTS = (1, 2, 4, 8, 16, 32, 64)
QUEUES = (1, 2, 4, 8)


def run(ctx) -> Result:
    result = Result()
    parameters(ctx, result)
    burst_and_queues(ctx, result)
    pages(ctx, result)
    lookups(ctx, result)
    result.notes += [
        "Ports in memory instead of NICs: a receive queue gives as many packets as it is asked for, so what is measured is the "
        "forwarder, not a NIC or PCIe; there is no wire to be the limit, and Gb/s are what the packets would take on one.",
        "Payload is not written or read here, so Gb/s grow with the size while Mpps stay: the paper's curves bend because its "
        "NICs end at 40 Gb/s each. `kamuee bench paper diversified` sweeps the size with payload that is copied.",
        "linx and ntt are made up, of the same number of routes; ntt has 16,140 longer than /24. Unlike there, an address "
        "without a route leaves by two halves of the address space in the table, not by a bit of the address.",
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
        result.rows += rows("figure 2", f"{label}, straight, linx, 128 B", found, named[label, 128], 128, theirs, there, note=note)
        result.rows += rows("§5.6", f"{label}, cross-cpus, linx, 128 B", found, cross[label], 128, theirs, there,
                            note="the paper: no difference to straight")
        result.rows += rows("figure 3", f"{label}, straight, linx, 64 B", found, named[label, 64], 64)
    for what in ("DPDK+Poptrie", "NoRSSOpt"):
        if what not in known:
            result.rows.append(not_here("figure 2", what, "Gb/s", printed[what][0], "two (core, queue) pairs need two cores"))
    result.rows.append(not_here("figure 2", "ExtTagOff, 128 B", "Gb/s", None, "no PCI device between the packets and us; theirs lost "
                                "6-7 Gb/s. `show port` checks the flag of a NIC"))
    result.rows.append(not_here("§4.5", "Max_Read_Request_Size 4096", "Gb/s", None, "no PCI device; no difference there"))
    result.charts += charts("Straight traffic on linx", known, named, found, ("figure 2", "figure 3"))


def charts(title: str, labels, named: dict, found: Measured, figures: tuple[str, str]) -> list[plot.Lines]:
    sizes = sorted({size for _, size in named})
    limit = [(size, LIMIT_GBPS) for size in sizes]
    pps = {label: [(size, median(found.mpps(named[label, size]))) for size in sizes] for label in labels}
    bps = {label: [(size, median(found.gbps(named[label, size], size))) for size in sizes] for label in labels}
    theirs = "paper: 80 Gb/s limit"
    return [plot.Lines(f"{title} (bps), as {figures[0]}", "frame, bytes", "Gb/s", {**bps, theirs: limit}, dashed=(theirs,)),
            plot.Lines(f"{title} (pps), as {figures[1]}", "frame, bytes", "Mpps",
                       {**pps, theirs: [(size, rate * 1e3 / ((size + 20) * 8)) for size, rate in limit]}, dashed=(theirs,))]


# --- one parameter at a time that the figures do not have ---

def burst_and_queues(ctx, result: Result) -> None:
    bursts = {n: case(table="linx", pattern="random", burst=n) for n in BURSTS}
    queues = {n: case(table="linx", pattern="random", queues=n) for n in QUEUES}
    spread = {label: case(table="linx", pattern="ports", ports=1, queues=2, threads=2, rss=label) for label in ("ip", "all")}
    found = measure(ctx, [*bursts.values(), *queues.values(), *(spread.values() if cores() >= 2 else ())])
    for n, name in bursts.items():
        result.rows += rows("§4.7", f"bursts of {n}, random, linx, 64 B", found, name, 64)[1:]
    for n, name in queues.items():
        result.rows += rows("§4.3", f"one core polls {n} queue{'s' if n > 1 else ''} a port, random, linx, 64 B", found, name, 64)[1:]
    for label, name in spread.items() if cores() >= 2 else ():
        result.rows += rows("§4.2", f"one pair of addresses, any UDP port, RSS on {label}, 2 queues, 2 cores, 64 B", found, name, 64,
                            note="what the default ETH_RSS_IP does to such traffic" if label == "ip" else "")[:2]
    result.charts.append(plot.Lines("What a small burst costs (random, linx, 64 B)", "packets a burst", "cycles/packet",
                                    {"kamuee": [(n, median(found.cycles(name))) for n, name in bursts.items()]}, log_x=True))


def pages(ctx, result: Result) -> None:
    name = case(table="linx", pattern="random")
    large, small = alternate(ctx, [name], [(), ("--small-pages",)])
    kind = "huge pages" if large.huge else "transparent huge pages for tables (no huge pages are reserved here)"
    result.rows += rows("§4.4", f"{kind}, random, linx, 64 B", large, name, 64, note="the paper: 1 GiB and 2 MiB alike")[1:]
    result.rows += rows("§4.4", "4 KiB pages only, random, linx, 64 B", small, name, 64, note="not possible there")[1:]


# --- figures 4 and 5 ---

def lookups(ctx, result: Result) -> None:
    """rte_lpm refuses more than 150,000 routes here (it loads them for minutes), so all engines get a quarter of ntt, and those
    that take it the whole of it too."""
    sizes = (64, 128) if ctx.quick else SIZES
    table = "ntt/4"
    named = {(label, size): case(engine=engine, table=table, pattern="random", bytes=size)
             for label, engine in ENGINES.items() for size in sizes}
    whole = {label: case(engine=engine, table="ntt", pattern="random", bytes=128)
             for label, engine in ENGINES.items() if "lpm" not in engine}
    linx = {label: case(engine=engine, table="linx/4", pattern="random", bytes=128) for label, engine in ENGINES.items()}
    alone = {label: case(mode="lookup", engine=engine, table=table, pattern="random") for label, engine in ENGINES.items()}
    found = measure(ctx, [*named.values(), *whole.values(), *alone.values(), *(() if ctx.quick else linx.values())])
    printed = {"Poptrie": POPTRIE_NTT_GBPS, "LPM": LPM_NTT_GBPS}
    notes = {"LPMnoSSE": "the paper: below wire rate at 128 B", "Poptrie, scalar": "the paper's Poptrie had no SIMD either",
             "DIR-24-8 (rte_fib)": "the same structure as LPM in DPDK's newer library"}
    for label in ENGINES:
        result.rows += rows("figure 4", f"{label}, random, a quarter of ntt, 128 B", found, named[label, 128], 128,
                            FOUR if label in printed else None, printed.get(label), note=notes.get(label, ""))
        if label in whole:
            result.rows += rows("figure 4", f"{label}, random, ntt, 128 B", found, whole[label], 128,
                                FOUR if label in printed else None, printed.get(label))
        if not ctx.quick:
            result.rows += rows("§5.7", f"{label}, random, a quarter of linx, 128 B", found, linx[label], 128)
        result.rows.append(Row("figure 5", f"{label}, lookup alone, random, a quarter of ntt", "cycles/packet", None,
                               found.cycles(alone[label])))
        fib = found.fibs[table, ENGINES[label]]
        result.rows.append(Row("§5.7", f"{label}, loading {fib['routes']:,} routes", "ms", None, [fib["load_ms"]],
                               "the paper: \"loading of the large routes in LPM is slow\"" if label == "LPM" else ""))
        result.rows.append(Row("§5.7", f"{label}, memory for {fib['routes']:,} routes", "MB", None, [fib["bytes"] / 1e6],
                               "the paper: \"prohibitive\"" if label == "LPM" else ""))
    result.charts += charts("Random traffic on a quarter of ntt", ENGINES, named, found, ("figure 4", "figure 5"))
