#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts what a packet costs at each commit, unchanged by a busy machine, and draws it: bench/curve.tsv, docs/curve.md.

    bench/curve.py measure [--build BUILD]      this tree: adds its row, or replaces it (root for kamueed's rows)
    bench/curve.py back N [--work DIRECTORY]    N earlier commits, evenly spaced since the first that can be measured; of each, the
                                                programs of the measures of --only are built
    bench/curve.py check                        exit code 1 if a count changed by 2 % or more within the last three rows
    bench/curve.py page                         the page and its picture

Instructions are exact: callgrind counts them, on the CPU that valgrind plays (AVX2). Ratios to peers come from one run, with the
least and the most of its rounds. Rows of earlier commits lack measures that their benchmarks do not have.
"""
import argparse
import json
import math
import mmap
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLE, PAGE, PICTURE = ROOT / "bench/curve.tsv", ROOT / "docs/curve.md", ROOT / "docs/images/curve.svg"
CHANGE, LATEST = 0.02, 3
WARM_POLLS, POLLS = 100, 1000
ROUTES = "20000"
FLAGS = ["-Dbuildtype=release", "-Db_lto=true"]
FLAGS_LATER = ["-Dbench_lto=true"]      # where the commit has the option
SECONDS_MAX = 7200                      # of one command, on a busy machine
ALLOCATIONS_C = Path(__file__).parent / "curve/allocations.c"
LICENSE = "SPDX-License-Identifier" + ": BSD-3-Clause"        # of the files that it writes


class Missing(Exception):
    """The measure is not possible with this build."""


# --- what is measured ---

def run(*command: object, **options) -> str:
    try:
        return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=SECONDS_MAX,
                              **options).stdout
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or getattr(error, "stdout", None) or str(error)
        lines = (said if isinstance(said, str) else str(error)).strip().split("\n")
        raise Missing(([line for line in lines if not line.startswith("==")] or lines)[-1]) from error  # == is of valgrind


def callgrind(function: str, *command: object) -> tuple[int, str]:
    """Instructions of a function with what it calls, and what the program printed."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        said = run("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", f"--toggle-collect={function}", *command)
        count = int(re.findall(r"(?m)^(?:totals|summary): (\d+)", out.read_text(errors="replace"))[-1])
    if not count:
        raise Missing(f"there is no {function}")
    return count, said


def forwarding(case: str, *more: str) -> Callable[[Path], float]:
    def measure(build: Path) -> float:
        count, said = callgrind("forward_poll", build / "bench/forward_bench", "--routes", ROUTES, "--rounds", "1", *more,
                                "--only", f"={case}", "--polls", POLLS)
        packets = int(re.findall(rf"(?m)^{re.escape(case)} +(\d+) packets", said)[-1])
        return count / (packets * (POLLS + WARM_POLLS) / POLLS)
    return measure


def lookup(table: str) -> Callable[[Path], float]:
    def measure(build: Path) -> float:
        count, said = callgrind("path_measured", build / "bench/path_bench", "--small-pages", "--rounds", "1", "--packets", 20000,
                                f"mode=lookup,engine=poptrie,table={table},pattern=random")
        return count / json.loads(said)["cases"][0]["trials"][0]["packets"]
    return measure


def program(build: Path) -> float:
    """Instructions that the program `dscp` adds to a packet, from runs with one and with two virtual routers that have it."""
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "dscp.so"
        run(build / "compiler/kamuee-program", "build", build.parent / "programs/examples/dscp.c", "-o", built)
        counts = [callgrind("forwarder_poll", build / "bench/program_bench", "--rounds", "1", "--polls", POLLS, "--json", *[f"native:dscp:{built}"] * n)[0]
                  for n in (1, 2)]
    none = 2 * counts[0] - counts[1]
    return (counts[1] - counts[0] - none) / (64 * POLLS)


def table_bytes(family: str) -> Callable[[Path], float]:
    def measure(build: Path) -> float:
        answer = json.loads(run(build / "bench/fib_bench", "--json", "--family", family, "--table", ROUTES, "--next-hops", "64", "--rounds", "1",
                                "--patterns", "uniform", "--engines", "poptrie"))
        return answer["rows"][0]["bytes"]
    return measure


def started(build: Path) -> tuple[float, float]:
    """Allocations, and resident kilobytes, of a kamueed without ports when it is ready."""
    if os.geteuid():
        raise Missing("not root")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("cc", "-shared", "-fPIC", "-O1", "-o", folder / "allocations.so", ALLOCATIONS_C)
        (folder / "count").write_bytes(bytes(mmap.PAGESIZE))
        (folder / "conf").write_text("set memory 128\nset huge-pages never\nset forwarding idle powersave\n")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as said:
            said.bind(str(folder / "notify"))
            said.settimeout(60)
            with open(folder / "log", "w") as log:
                kamueed = subprocess.Popen(
                    ["unshare", "--net", build / "kamueed", "--config", folder / "conf", "--run-dir", folder / "run"], stdout=log, stderr=log,
                    env={**os.environ, "NOTIFY_SOCKET": str(folder / "notify"), "LD_PRELOAD": str(folder / "allocations.so"),
                         "ALLOCATIONS": str(folder / "count")})
            try:
                while b"READY=1" not in said.recv(4096):
                    pass
                resident = int(re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{kamueed.pid}/status").read_text())[1])
                return int.from_bytes((folder / "count").read_bytes()[:8], sys.byteorder), resident
            except (OSError, TimeoutError) as error:
                raise Missing(f"kamueed did not start: {(folder / 'log').read_text()[-300:]}") from error
            finally:
                kamueed.terminate()
                kamueed.wait(60)


def ratio_of(values: list[float]) -> tuple[float, float, float]:
    return median(values), min(values), max(values)


def lookup_ratio(pattern: str) -> Callable[[Path], tuple[float, float, float]]:
    def measure(build: Path) -> tuple[float, float, float]:
        answer = json.loads(run(build / "bench/fib_bench", "--json", "--family", "4", "--table", "100000", "--next-hops", "64",
                                "--rounds", "11", "--patterns", pattern))
        series = {row["variant"]: row["values"] for row in answer["results"]}
        ours, peer = (max((name for name in series if name.startswith(engine)), key=lambda name: median(series[name])) for engine in ("poptrie", "rte_fib"))
        return ratio_of([a / b for a, b in zip(series[ours], series[peer])])
    return measure


def forward_ratio(build: Path) -> tuple[float, float, float]:
    answer = json.loads(run(build / "bench/forward_bench", "--json", "--routes", "100000", "--rounds", "11", "--only", "IPv4 full table"))
    series = {(row["what"], row["variant"]): row["values"] for row in answer["results"]}
    what = "forward 64 B, IPv4 full table"
    return ratio_of([b / a for a, b in zip(series[what, "kamueed"], series[what, "minimal forwarder on rte_fib"])])


def acl_ratio(build: Path) -> tuple[float, float, float]:
    rows = json.loads(run(build / "bench/acl_bench", "--json", "--quick", "--sets", "acl:4:1000", "--traffic", "scatter"))["rows"]
    row = next(row for row in rows if row["engine"] == "list")
    return row["ratio"], row["ratio_min"], row["ratio_max"]


def queue_ratio(build: Path) -> tuple[float, float, float]:
    rows = json.loads(run(build / "bench/queue_bench", "--json", "--quick", "--only", "classes"))["rows"]
    ours, peer = (next(row["cycles"] for row in rows if row["engine"] == engine and row["vrs"] == 16) for engine in ("kamuee", "rte_sched"))
    return ratio_of([a / b for a, b in zip(ours, peer)])


class Metric(NamedTuple):
    name: str
    unit: str
    what: str
    measure: Callable
    programs: str           # of the build
    exact: bool = True


FORWARD = "bench/forward_bench"
TUNNELS = "IPv4 full table, {} 4 VXLAN tunnels"
METRICS = [
    Metric("ipv4", "instructions", "IPv4, random destinations", forwarding("IPv4 full table"), FORWARD),
    Metric("ipv4-one-flow", "instructions", "IPv4, one flow", forwarding("IPv4 one flow"), FORWARD),
    Metric("ipv6", "instructions", "IPv6, random destinations", forwarding("IPv6 full table"), FORWARD),
    Metric("acl", "instructions", "10,000 rules and a million blocked addresses", forwarding("IPv4 full table, acl-full", "--acl"), FORWARD),
    Metric("queue", "instructions", "16 virtual routers by one shaped port", forwarding("IPv4 full table, 16 virtual routers by one port, shaped", "--queue"),
           FORWARD),
    Metric("tunnel-in", "instructions", "into four VXLAN tunnels", forwarding(TUNNELS.format("into"), "--tunnel"), FORWARD),
    Metric("tunnel-out", "instructions", "out of four VXLAN tunnels", forwarding(TUNNELS.format("out of"), "--tunnel"), FORWARD),
    Metric("program", "instructions", "added by the program `dscp`", program, "bench/program_bench compiler/kamuee-program"),
    Metric("lookup", "instructions", "an IPv4 lookup", lookup(ROUTES), "bench/path_bench"),
    Metric("table4", "bytes", "20,000 IPv4 routes", table_bytes("4"), "bench/fib_bench"),
    Metric("table6", "bytes", "20,000 IPv6 routes", table_bytes("6"), "bench/fib_bench"),
    Metric("allocations", "calls", "allocations until kamueed is ready", lambda build: started(build)[0], "kamueed"),
    Metric("resident", "KB", "memory of a kamueed without ports", lambda build: started(build)[1], "kamueed"),
    Metric("forward-ratio", "ratio", "speed ÷ a minimal forwarder on rte_fib", forward_ratio, FORWARD, False),
    Metric("lookup-ratio", "ratio", "lookups ÷ rte_fib, random", lookup_ratio("uniform"), "bench/fib_bench", False),
    Metric("prefix-ratio", "ratio", "lookups ÷ rte_fib, inside prefixes", lookup_ratio("prefix"), "bench/fib_bench", False),
    Metric("acl-ratio", "ratio", "1,000 rules, scattered packets, ÷ rte_acl", acl_ratio, "bench/acl_bench", False),
    Metric("queue-ratio", "ratio", "cycles of 16 clients' queues ÷ rte_sched", queue_ratio, "bench/queue_bench", False),
]
COLUMNS = ["commit", "date", "subject", *(metric.name for metric in METRICS)]


def text(value: float | tuple[float, ...]) -> str:
    if isinstance(value, tuple):
        return "/".join(f"{part:.3f}" for part in value)
    return f"{value:.2f}".rstrip("0").rstrip(".")


def measured(build: Path, only: list[str] | None = None) -> dict[str, str]:
    found = {}
    for metric in METRICS:
        if only and metric.name not in only:
            continue
        begun = time.monotonic()
        try:
            found[metric.name] = text(metric.measure(build))
        except (Missing, KeyError, IndexError, StopIteration, ValueError) as error:
            found[metric.name] = ""
            print(f"  {metric.name}: not measured: {error}", flush=True)
            continue
        print(f"  {metric.name}: {found[metric.name]} {metric.unit}, {time.monotonic() - begun:.0f} s", flush=True)
    return found


# --- the table ---

def read_rows() -> list[dict[str, str]]:
    lines = TABLE.read_text().splitlines() if TABLE.exists() else []
    lines = [line for line in lines if not line.startswith("#")]
    return [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]] if lines else []


def write_row(row: dict[str, str]) -> None:
    rows = {old["commit"]: old for old in read_rows()}
    rows[row["commit"]] = {**rows.get(row["commit"], {}), **row}
    order = git("rev-list", "--reverse", "HEAD").split()
    place = {commit[:10]: at for at, commit in enumerate(order)}
    lines = ["\t".join(each.get(column, "") for column in COLUMNS)
             for each in sorted(rows.values(), key=lambda each: place.get(each["commit"], len(order)))]
    TABLE.write_text("\n".join([f"# {LICENSE}", "\t".join(COLUMNS), *lines]) + "\n")


def git(*words: str, tree: Path = ROOT) -> str:
    return subprocess.run(["git", "-C", tree, *words], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def measure_tree(tree: Path, build: Path, only: list[str] | None = None) -> None:
    commit, date, subject = git("log", "-1", "--format=%h%x09%cs%x09%s", "--abbrev=10", tree=tree).split("\t")
    print(f"{commit} {subject}", flush=True)
    found = measured(build, only)
    if any(found.values()):
        write_row({"commit": commit, "date": date, "subject": subject, **found})


def earlier(n: int) -> list[str]:
    """Commits, evenly spaced, since forward_bench has --routes."""
    first = git("log", "--reverse", "--format=%H", '-SOPTION_TEXT("routes"', "--", "bench/forward/forward_bench.c").split()[0]
    having = set(git("rev-list", "--ancestry-path", f"{first}..HEAD").split())
    commits = [commit for commit in git("rev-list", "--reverse", "--first-parent", "--no-merges", f"{first}..HEAD").split() if commit in having]
    return [commits[round(k * (len(commits) - 1) / n)] for k in range(n)]


def go_back(n: int, work: Path, only: list[str] | None) -> None:
    have = {row["commit"] for row in read_rows()}
    for commit in earlier(n):
        if commit[:10] in have:
            continue
        print(f"building {commit[:10]}", flush=True)
        tree = work / "tree"
        shutil.rmtree(work, ignore_errors=True)
        git("worktree", "prune")
        git("worktree", "add", "-q", "--detach", str(tree), commit)
        try:
            build_programs(tree, only)
            measure_tree(tree, tree / "build", only)
        except Missing as error:
            print(f"{commit[:10]}: not built: {error}", flush=True)
        finally:
            git("worktree", "remove", "--force", str(tree))


def build_programs(tree: Path, only: list[str] | None) -> None:
    """The programs of those measures, as far as the commit has them."""
    options = (tree / "meson_options.txt").read_text()
    run("meson", "setup", tree / "build", *FLAGS, *(flag for flag in FLAGS_LATER if f"'{flag[2:].split('=')[0]}'" in options), cwd=tree)
    programs = {program for metric in METRICS if not only or metric.name in only for program in metric.programs.split()}
    there = {target["filename"][0] for target in json.loads(run("meson", "introspect", "--targets", tree / "build"))}
    run("ninja", "-C", tree / "build", *sorted(program for program in programs if str(tree / "build" / program) in there))


# --- changes ---

def numbers(rows: list[dict[str, str]], metric: Metric) -> list[tuple[int, float]]:
    return [(at, float(row[metric.name].split("/")[0])) for at, row in enumerate(rows) if row.get(metric.name)]


def steps(series: list[float], exact: bool) -> list[int]:
    """Where a new level begins: the description of least length, as levels and the rows' distances from them, in nats.

    Rows are normal around a level, by 0.3 %; ratios, by what their neighbors differ. A level costs its place and its height.
    """
    x = [math.log(value) for value in series]
    n = len(x)
    noise = 0.003 if exact else max(0.01, median([abs(b - a) for a, b in zip(x, x[1:])] or [0]))
    level = 2 * math.log(max(n, 2))
    best, begin = [0.0] + [math.inf] * n, [0] * (n + 1)
    for end in range(1, n + 1):
        for start in range(end):
            mean = sum(x[start:end]) / (end - start)
            cost = best[start] + level + sum((value - mean) ** 2 for value in x[start:end]) / (2 * noise ** 2)
            if cost < best[end]:
                best[end], begin[end] = cost, start
    found, end = [], n
    while end and begin[end]:
        end = begin[end]
        found.append(end)
    return found[::-1]


class Change(NamedTuple):
    metric: Metric
    row: int
    by: float


def changes(rows: list[dict[str, str]]) -> list[Change]:
    found = []
    for metric in METRICS:
        known = numbers(rows, metric)
        series = [value for _, value in known]
        begins = [0, *steps(series, metric.exact), len(series)]
        for before, at, after in zip(begins, begins[1:], begins[2:]):
            by = median(series[at:after]) / median(series[before:at]) - 1
            if abs(by) >= CHANGE:
                found.append(Change(metric, known[at][0], by))
    return sorted(found, key=lambda change: -change.row)


def told(change: Change, rows: list[dict[str, str]]) -> str:
    row = rows[change.row]
    return f"{change.metric.name}: {change.by:+.1%} at {row['commit']} ({row['date']}, {row['subject']})"


# --- the page ---

HEAD = """<!-- SPDX-License-Identifier: BSD-3-Clause -->
# The curve

How does the cost of a packet move from commit to commit? `make curve` adds a row for this commit to [curve.tsv](../bench/curve.tsv) and writes this page.
Instructions are counted by callgrind, so a busy machine does not change them; its CPU has AVX2. Ratios come from one run, and have the machine's spread.

![Each measure by commit](images/curve.svg)

| measure | unit | first | last | |
|---|---|--:|--:|---|
"""
WIDTH, HEIGHT, ACROSS = 220, 90, 3


def picture(rows: list[dict[str, str]]) -> str:
    """Small multiples, from 0."""
    parts = []
    down = -(-len(METRICS) // ACROSS)
    for k, metric in enumerate(METRICS):
        known = numbers(rows, metric)
        left, top = k % ACROSS * (WIDTH + 20) + 10, k // ACROSS * (HEIGHT + 40) + 10
        parts.append(f'<text x="{left}" y="{top + 10}" class="name">{metric.name}, {metric.unit}</text>'
                     f'<path d="M{left} {top + 20 + HEIGHT}h{WIDTH}" class="axis"/>')
        if not known:
            continue
        most = max(value for _, value in known)
        points = [(left + WIDTH * (at + 0.5) / len(rows), top + 20 + HEIGHT * (1 - value / most * 0.9)) for at, value in known]
        parts.append(f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6"/>' for x, y in points]
        parts.append(f'<text x="{left + WIDTH}" y="{top + 10}" text-anchor="end">{text(known[-1][1])}</text>')
    width, height = ACROSS * (WIDTH + 20), down * (HEIGHT + 40) + 10
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">\n'
            f"<!-- {LICENSE} -->\n"
            "<style>.name{font-weight:bold} .axis{stroke:#999} polyline{fill:none;stroke:#1565c0;stroke-width:1.5} circle{fill:#1565c0}</style>\n"
            f'<rect width="{width}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def page() -> None:
    rows = read_rows()
    lines = [HEAD.rstrip()]
    for metric in METRICS:
        if known := numbers(rows, metric):
            first, last = known[0][1], known[-1][1]
            lines.append(f"| {metric.what} | {metric.unit} | {text(first)} | {text(last)} | {last / first - 1:+.1%} |")
    lines += ["", f"Commits: {len(rows)}, from {rows[0]['date']} to {rows[-1]['date']}.", "", "## Changes of 2 % or more",
              "A new level begins where it shortens the description of a series (minimum description length); its commit is the first measured one.", "",
              "| measure | change | commit | |", "|---|--:|---|---|"]
    for change in changes(rows):
        row = rows[change.row]
        lines.append(f"| {change.metric.name} | {change.by:+.1%} | {row['commit']} | {row['date']}, {row['subject'].replace('|', '/')} |")
    PAGE.write_text("\n".join(lines) + "\n")
    PICTURE.write_text(picture(rows))


def check() -> int:
    rows = read_rows()
    recent = [change for change in changes(rows) if change.metric.exact and change.row >= len(rows) - LATEST]
    print(*(told(change, rows) for change in recent), sep="\n") if recent else print("curve: no change of 2 % or more within the last three rows")
    return bool(recent)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("task", choices=("measure", "back", "check", "page"))
    parser.add_argument("n", nargs="?", type=int, default=50, metavar="N")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--work", type=Path, default=ROOT / "build-curve")
    parser.add_argument("--only", nargs="+", metavar="MEASURE", choices=[metric.name for metric in METRICS])
    given = parser.parse_args()
    if given.task == "measure":
        measure_tree(ROOT, given.build.resolve(), given.only)
    if given.task == "back":
        go_back(given.n, given.work.resolve(), given.only)
    if given.task in ("measure", "back", "page"):
        page()
    return check() if given.task in ("measure", "check") else 0


if __name__ == "__main__":
    sys.exit(main())
