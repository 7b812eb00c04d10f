# SPDX-License-Identifier: BSD-3-Clause
"""Ohara and Yamagishi, Kamuee Zero: the Design and Implementation of Route Table for High-Performance Software Router,
2016.

Its machine: two Xeon E5-2687W v3 (3.1 GHz), four 40 GbE ports, 15 forwarder cores, a tester that offers 160 Gb/s.
Ours is whatever this runs on, so everything is per core: path_bench puts kamueed's forwarder on ports in memory
(figures 2 to 7, 9, table 3), publisher_bench puts readers of the FIB under each way of publishing (figure 8).
The figures are curves; what the text and table 3 say in numbers is what ours stands beside.
"""
from __future__ import annotations

from measure import plot
from paper import Result, Row
from paper.path import Measured, case, cores, gbps, measure, median, mpps_of, not_here

NAME = "kamuee0-rcu"
IDEA = ("Kamuee Zero: ways to publish a FIB, table sizes, paths, queues, loss against load, delay (figures 2-9, "
        "table 3).")
GHZ, CORES, OFFERED_GBPS = 3.1, 15, 160.0
# Table 3: percent of the offered 160 Gb/s that was dropped.
DROPPED = {"L3NONE": {64: 40.34, 128: 0.02, 1518: 0.03}, "L3DEFAULTS": {64: 42.16, 128: 2.13, 1518: 0.03},
           "L3BGPFULL": {64: 44.16, 128: 9.04, 1518: 7.03}}
# §4.7: SIGNAL was the fastest to synchronize, "followed by" the others in this order.
SYNCHRONIZE = ("SIGNAL", "global mutex", "per-thread mutex", "QSBR", "MB")
PAPERS_TABLE = {"table": "linx", "pattern": "random"}   # 518,231 routes, as L3BGPFULL
TABLES = {"L3NONE": {"mode": "io"}, "L3DEFAULTS": {"table": "default4", "pattern": "random"}, "L3BGPFULL": PAPERS_TABLE,
          "L3BGPFULL, today's table": {"table": "full", "pattern": "random"}}
PATHS = {"BACK": {"mode": "io"}, "STRAIGHT": {"table": "linx", "pattern": "straight"},
         "CROSS": {"table": "linx", "pattern": "cross"}}
QUEUES = (1, 2, 3, 4, 5, 6)
DELAYS = ("least delay", "average delay", "longest delay", "largest jitter")
HALF = 50


def run(ctx) -> Result:
    result = Result()
    tables(ctx, result)
    peak = paths_and_queues(ctx, result)
    loss(ctx, result, peak)
    delay(ctx, result, peak)
    publishers(ctx, result)
    result.notes += [
        f"Scaled from the paper's {CORES} cores and {OFFERED_GBPS:.0f} Gb/s to one core: its rates are divided by its "
        f"cores, its cycles are of {GHZ} GHz. Ports in memory instead of NICs: no PCIe, no wire that could be the "
        "limit.",
        "Table 3 gives the share of the offered 160 Gb/s that was dropped; at 128 and 1518 bytes the wire was the "
        "limit, not the cores.",
        "L3NONE: packets go back by the port they came from, unseen. L3BGPFULL: a generated table of the paper's "
        "518,231 routes, and today's; packets go to any unicast address."]
    return result


# --- figure 9, table 3: the size of the table ---

def their_mpps(table: str, size: int) -> float:
    """Rate per core of the packets that were not dropped."""
    return mpps_of(OFFERED_GBPS, size) * (1 - DROPPED[table.split(",")[0]][size] / 100) / CORES


def tables(ctx, result: Result) -> None:
    cases = {(name, size): case(**keys, ports=4, bytes=size) for name, keys in TABLES.items()
             for size in (64, 128, 1518)}
    found = measure(ctx, cases.values(), "--prefixes", ctx.prefixes())
    for (name, size), text in cases.items():
        theirs = their_mpps(name, size)
        if size == 64:
            result.rows += [Row("table 3", f"{name}, 64 B", "Mpps a core", theirs, found.mpps(text)),
                            Row("table 3", f"{name}, 64 B", "cycles/packet", GHZ * 1e3 / theirs, found.cycles(text))]
        else:
            result.row("table 3", f"{name}, {size} B", "Gb/s a core", gbps(theirs, size), found.gbps(text, size),
                       "theirs: limited by the wire")
    for larger, smaller in (("L3DEFAULTS", "L3NONE"), ("L3BGPFULL", "L3DEFAULTS")):
        ours = [100 * a / b for a, b in zip(found.mpps(cases[larger, 64]), found.mpps(cases[smaller, 64]))]
        result.row("figure 9", f"{larger} against {smaller}, 64 B", "% of its Mpps",
                   100 * their_mpps(larger, 64) / their_mpps(smaller, 64), ours)
    result.charts.append(plot.Bars("Figure 9: the size of the table, 64 B", "cycles a packet", list(TABLES), {
        "paper": [GHZ * 1e3 / their_mpps(name, 64) for name in TABLES],
        "ours": [median(found.cycles(cases[name, 64])) for name in TABLES]}))


# --- figures 2 to 4: paths and queues ---

def paths_and_queues(ctx, result: Result) -> float:
    """Mpps of one core with two ports and the paper's table: the whole of which figures 5 to 7 offer a part."""
    paths = {name: case(**keys) for name, keys in PATHS.items()}
    queues = {n: case(**PAPERS_TABLE, queues=n) for n in QUEUES}
    spread = {n: case(**PAPERS_TABLE, queues=n, threads=n) for n in range(1, cores() + 1)}
    found = measure(ctx, [*paths.values(), *queues.values(), *spread.values()])
    result.rows += [Row("figure 2", f"{name}, Q1, 64 B", "Mpps a core", None, found.mpps(text))
                    for name, text in paths.items()]
    result.rows.append(not_here("figure 2", "WRONGNUMA", "Mpps a core", None, "needs two NUMA nodes"))
    result.rows += [Row("figure 3", f"Q{n} on one core, 64 B", "cycles/packet", None, found.cycles(text))
                    for n, text in queues.items()]
    result.rows += [Row("figure 4", f"Q{n} on {n} core{'s' * (n > 1)}, 64 B", "Mpps", None, found.mpps(text),
                        "all cores of the machine" if n == cores() else "") for n, text in spread.items()]
    one = median(found.mpps(spread[1]))
    result.charts.append(plot.Lines("Figure 4: cores, each with a queue of both ports, 64 B", "cores", "Mpps", {
        "ours": [(n, median(found.mpps(text))) for n, text in spread.items()],
        "n times one": [(n, n * one) for n in spread]}, dashed=("n times one",)))
    return median(found.mpps(queues[1]))


# --- figure 7: loss against load ---

def offered(peak: float, percent: float, **keys) -> str:
    return case(**keys, mpps=f"{peak / 2 * percent / 100:.4f}")     # to each of two ports


def lost_percent(found: Measured, name: str) -> list[float]:
    return [100 * trial["lost"] / max(1, trial["offered"]) for trial in found.trials[name]]


def loss(ctx, result: Result, peak: float) -> None:
    step = 10 if ctx.quick else 2
    loads = {percent: offered(peak, percent, **PAPERS_TABLE) for percent in range(step, 101, step)}
    found = measure(ctx, loads.values())
    lost = {percent: lost_percent(found, text) for percent, text in loads.items()}
    lowest = [min([percent for percent in lost if lost[percent][n] > 0], default=100) for n in range(len(lost[step]))]
    result.row("figure 7c", "lowest load with loss, Q1, 64 B", "% of the peak", 1.0, [
        float(percent) for percent in lowest], f"theirs: even below 400 Mb/s of 40 Gb/s; ours in steps of {step} %")
    result.row("figure 7b", "lost though the cores suffice, 64 B", "packets/s", 1e5 / 10,
               [trial["lost"] / trial["seconds"] for trial in found.trials[loads[HALF]]],
               "theirs: 10^5 in about 10 s, from Q3 on; ours: at half of the peak")
    result.charts.append(plot.Lines("Figure 7c: loss against load, one core, 64 B", "% of the peak offered", "% lost", {
        "median": [(percent, median(values)) for percent, values in lost.items()],
        "worst round": [(percent, max(values)) for percent, values in lost.items()]}))


# --- figures 5 and 6: delay ---

def delays(trial: dict) -> dict[str, float]:
    least, average, longest = trial["delay_us"]
    return dict(zip(DELAYS, (least, average, longest, longest - least)))


def delay(ctx, result: Result, peak: float) -> None:
    paths = {f"Q1, {name}": offered(peak, HALF, **keys) for name, keys in PATHS.items()}
    queues = {f"Q{n}": offered(peak, HALF, **PAPERS_TABLE, queues=n) for n in QUEUES}
    found = measure(ctx, [*paths.values(), *queues.values()])
    of = {name: [delays(trial) for trial in found.trials[text]] for name, text in (paths | queues).items()}
    for name, trials in of.items():
        figure = "figure 5" if name in paths else "figure 6"
        for word in DELAYS:
            known = figure == "figure 6" and word in ("longest delay", "largest jitter")
            result.row(figure, f"{name}, half of the peak, 64 B: {word}", "µs", 1000.0 if known else None,
                       [trial[word] for trial in trials], "theirs: almost always more than this" if known else "")
    result.charts.append(plot.Lines("Figure 6: inside the router at half of the peak, 64 B", "queues a port", "µs", {
        word: [(n, median([trial[word] for trial in of[f"Q{n}"]])) for n in QUEUES] for word in DELAYS[:3]},
                                    log_y=True))
    result.notes.append("Delay: from the arrival in a receive queue (1,024 packets deep) to the transmit queue; a NIC, "
                        "its bus and the wire come on top. Largest jitter: the longest less the least. `kamuee bench "
                        "throughput` measures both through real ports.")


# --- figure 8: publication ---

def publishers(ctx, result: Result) -> None:
    argv = [ctx.program("publisher_bench"), "--json", "--prefixes", ctx.prefixes()] + (["--quick"] if ctx.quick else [])
    with ctx.step("ways to publish"):
        found = ctx.run_json(argv, timeout_s=1800)
    readers = max(1, found["cores"] - 1)        # so many leave the writer a core
    by_name: dict[str, dict[str, dict]] = {}    # publisher -> section -> row
    for row in found["rows"]:
        result.rows += rows_of_publisher(row, readers)
        if row["readers"] == readers:
            by_name.setdefault(row["publisher"], {})[row["section"]] = row
    result.rows += places([sections["packet"] for sections in by_name.values()])
    result.charts += [
        plot.Bars(f"Figure 8a: {readers} reader(s), 64 B", "Mpps a core", list(by_name), {
            f"a section for each {section}": [median(sections[section]["mpps"]) / readers
                                              for sections in by_name.values()]
            for section in ("packet", "burst")}),
        plot.Bars(f"Figure 8c: time to publish under load, {readers} reader(s), a section for each packet", "µs",
                  list(by_name), {
            p: [sections["packet"]["publication_us"][p] for sections in by_name.values()] for p in ("p50", "p99")})]
    result.notes += [
        "Figure 8: full table, the headers of 64 B packets; per packet, per burst: what a reader's section holds; a "
        f"publication every {found['publish_every_us']} µs while the time to publish is taken. The paper's forwarders "
        "entered a section for each packet; kamueed (QSBR) reports once a poll. none: protects nothing; what the "
        "readers' work costs alone.",
        "SIGNAL: the writer of liburcu 0.13 sleeps a millisecond whenever a reader has not run its handler at once."]


def rows_of_publisher(row: dict, readers: int) -> list[Row]:
    crowded = "the writer shares a core with a reader" if row["readers"] > readers else ""
    who = (f"{row['paper'] or row['publisher']} per {row['section']}, {row['readers']} "
           f"reader{'s' * (row['readers'] > 1)}")
    rows = [Row("figure 8a", who, "Mpps a core", None, [mpps / row["readers"] for mpps in row["mpps"]], crowded)]
    if not crowded:
        rows += [Row("figure 8c", f"{who}: time to publish", f"µs {p}", None, [us]) for p in ("p50", "p99", "max")
                 if (us := row["publication_us"][p]) is not None]
    return rows if row["section"] == "packet" or not crowded else []


def places(rows: list[dict]) -> list[Row]:
    """The paper's five in its order and in ours. For throughput it names only the first."""
    five = {row["paper"]: row for row in rows if row["paper"]}
    fastest = sorted(five, key=lambda name: -median(five[name]["mpps"]))
    soonest = sorted(five, key=lambda name: five[name]["publication_us"]["p50"] or 0.0)
    return [Row("figure 8a", "QSBR among the five by throughput, 64 B", "place", 1.0, [fastest.index("QSBR") + 1.0]),
            *(Row("figure 8c", f"{name} among the five by time to publish", "place", place, [soonest.index(name) + 1.0])
              for place, name in enumerate(SYNCHRONIZE, 1))]
