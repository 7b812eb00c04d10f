# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench throughput`: RFC 2544 tests of a device of your choice, with a software tester.

    kamuee bench throughput --quick                        kamueed over memif, all tests, 64 bytes and IMIX
    kamuee bench throughput --sizes 64,512,1518,imix --routes full --mix 4:60,6:40 --bidirectional
    kamuee bench throughput --peer testpmd                 the same for another device: the limit of tester and link
    kamuee bench throughput --soak 10 --routes full        a long trial at 95 % load with route changes and state
                                                           queries
"""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kamuee import render
from kamuee.context import terminal_width
from kamuee.errors import DaemonError, Unreachable
from kamuee.lab.errors import LabError
from kamuee.render import Column, right
from measure import machine, plot
from measure.program import Unavailable, bench_program, daemon, must_be_built, run_command
from measure.topology import own_namespaces
from throughput import device, frames, report, soak
from throughput.tester import NICE, Tester, TesterError
from throughput.tests import TESTS, Bench, Plan

IDEA = "RFC 2544 tests of a running router: throughput, latency, loss, bursts, recovery (root)"
QUICK_SECONDS = 0.2
QUICK_SIZES = "64,imix"
MEMIF_ENTRIES_MAX = 65536                      # DPDK's driver numbers the buffers of all rings with 16 bits
TABLE = (Column("Test"), Column("Size"), Column("Load"), right("Mpps"), right("Gb/s"), Column("Result"))


def parser() -> argparse.ArgumentParser:
    given = argparse.ArgumentParser(prog="kamuee bench throughput", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    what = given.add_argument_group("what is measured")
    what.add_argument("--peer", choices=sorted(device.PEERS), default="kamueed",
                      help="device under test (default: kamueed); external: see --ports")
    what.add_argument("--tests", metavar="LIST", default="throughput,latency,loss,back-to-back,recovery",
                      help=f"some of {', '.join(TESTS)} (default: all but reset)")
    what.add_argument("--sizes", metavar="LIST", help="frame sizes including FCS, imix, IMIX genomes or files "
                      "(default: RFC 2544's; 64,imix with --quick)")
    what.add_argument("--mix", metavar="SHARES", default="4:100",
                      help="share of each IP version in percent of the frames (default: 4:100)")
    what.add_argument("--bidirectional", action="store_true", help="both ports send at the same rate")
    what.add_argument("--routes", metavar="N|full", default="", help="number of prefixes in the device's table, or "
                      "'full' (default: 510 test networks)")
    what.add_argument("--prefixes", metavar="FILE", help="file with the prefixes for --routes")
    how = given.add_argument_group("how")
    how.add_argument("--duration", type=float, metavar="S", help="seconds per trial (default: 2; RFC 2544: 60)")
    how.add_argument("--loss-ratio", type=float, default=0.0, metavar="R", help="acceptable loss ratio (default: 0)")
    how.add_argument("--precision", type=float, default=0.01, metavar="P",
                     help="relative precision at which a search ends (default: 0.01)")
    how.add_argument("--rate", type=float, metavar="MPPS", help="use this as the throughput per direction instead of "
                     "searching for it")
    how.add_argument("--confirm", type=int, default=2, metavar="N",
                     help="additional trials that a found rate must pass (default: 2)")
    how.add_argument("--link", choices=("memif", "vhost"), default="memif",
                     help="link between tester and device (default: memif)")
    how.add_argument("--ring", type=int, default=device.RING, metavar="LOG2",
                     help="log2 of the number of ring descriptors (default: 10)")
    how.add_argument("--queues", type=int, default=1, choices=range(1, 17), metavar="N",
                     help="receive queues of each device port (default: 1)")
    how.add_argument("--idle", choices=("performance", "balanced", "powersave"), default="performance",
                     help="kamueed's 'forwarding idle' setting (default: performance)")
    how.add_argument("--ports", nargs=2, metavar="DEVARGS", help="the tester's ports (PCI address or net_…), with "
                     "--peer external")
    how.add_argument("--macs", nargs=2, metavar="MAC", default=("", ""),
                     help="MAC addresses of the external device on these ports")
    how.add_argument("--quick", action="store_true", help="short trials and few sizes, ends within 50 s")
    how.add_argument("--force", action="store_true", help="measure even if the machine is busy")
    out = given.add_argument_group("results")
    out.add_argument("--report", metavar="DIR", type=Path, help="directory for report.html, rows.csv and result.json")
    out.add_argument("--json", "-j", action="store_true", help="print JSON")
    long = given.add_argument_group("soak")
    long.add_argument("--soak", type=float, metavar="MINUTES", help="one trial of this length with route changes, "
                      "after a throughput test")
    long.add_argument("--load", type=float, default=95, metavar="PERCENT",
                      help="load in percent of the throughput (default: 95)")
    long.add_argument("--churn", type=float, default=10_000, metavar="N",
                      help="route changes per second (default: 10000; 0: none)")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    console = Console(stderr=True, highlight=False)
    return run_command("throughput", lambda: run(given, console), frames.BadFrames, device.DeviceError, TesterError,
                       LabError, DaemonError, Unreachable, plot.NoPlot, OSError, RuntimeError)


# --- options ---

def chosen_tests(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in TESTS]
    if unknown or not names:
        raise Unavailable(f"no test '{', '.join(unknown)}', expected {', '.join(TESTS)}")
    return names


def plan_of(given: argparse.Namespace) -> Plan:
    plan = Plan(loss_ratio=given.loss_ratio, precision=0.02 if given.quick else given.precision,
                confirmations=given.confirm, percent6=frames.percent6(given.mix), both=given.bidirectional)
    if given.quick:
        plan.bursts, plan.wait_ms, plan.latency_loads = 2, 50, (100, 50)
    return plan.scaled(given.duration or (QUICK_SECONDS if given.quick else plan.seconds))


def setting_of(given: argparse.Namespace, work: Path, sizes: list[frames.Frames]) -> device.Setting:
    if given.queues > 1 and given.peer not in ("kamueed", "external"):
        raise Unavailable(f"--queues works only with kamueed and external devices, not with {given.peer}: the tester "
                          "has "
                      "one receive queue")
    if given.peer == "kamueed" and given.link == "memif" and (given.queues + 1) << given.ring > MEMIF_ENTRIES_MAX:
        raise Unavailable(f"--queues {given.queues} --ring {given.ring}: the rings of all queues ({given.queues} to "
                          "the "
                      f"device, one back) have more than the {MEMIF_ENTRIES_MAX} entries that DPDK's memif supports, so "
                      "packets would overwrite each other; use fewer queues or a smaller ring")
    must_be_built(bench_program("tester"), *([daemon()] if given.peer == "kamueed" else []))
    if given.peer == "external" and not given.ports:
        raise Unavailable("--peer external needs the tester's two ports: --ports DEVARGS DEVARGS")
    if given.routes and given.peer != "kamueed":
        raise Unavailable("--routes works only with kamueed; configure the routes of another device yourself")
    if given.routes and given.routes != "full" and not given.routes.isdecimal():
        raise Unavailable(f"--routes {given.routes}: expected a number or full")
    largest = max(size for some in sizes for size in some.sizes)
    if largest > 1518 and given.link == "memif" and given.peer != "external":
        raise Unavailable(f"frames of {largest} bytes: DPDK's memif carries at most 1518; use --link vhost")
    return device.Setting(build=daemon().parent, kamueed=daemon(), work=work, cores=device.cores(), link=given.link,
                          ring=given.ring, queues=given.queues,
                          mtu=max(1500, largest - 18), idle=given.idle, both=given.bidirectional,
                          routes=given.routes or ("10000" if given.soak and given.churn and given.peer == "kamueed"
                                                  else ""),
                          prefixes=given.prefixes, churn=bool(given.soak and given.churn),
                          ports=tuple(given.ports or ("", "")), macs=tuple(given.macs))


# --- running ---

def run(given: argparse.Namespace, console: Console) -> int:
    tests, sizes = chosen_tests(given.tests), frames.of_list(given.sizes or (QUICK_SIZES if given.quick
                                                                             else ",".join(map(str, frames.RFC2544))))
    plan = plan_of(given)
    if os.geteuid():
        raise Unavailable("needs root for network namespaces and DPDK: sudo kamuee bench throughput")
    busy, _ = machine.must_be_quiet(given.force)
    own_namespaces()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped by SIGTERM"))
    with tempfile.TemporaryDirectory(prefix="ht-") as work, ExitStack() as stack:
        setting = setting_of(given, Path(work), sizes)
        result = {"started": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "machine": machine.facts(),
                  "busy_percent": round(busy, 1),
                  "forced": given.force, "quick": given.quick, "cores": device.describe(setting), "plan": {},
                  "device": {}, "rows": [], "explained": []}
        bench = stack.enter_context(connected(given, setting, sizes, plan, Voice(console, result["explained"])))
        result["device"], result["plan"] = bench.device.facts(), vars(bench.plan)
        bench.say(f"{bench.device.name}: {bench.device.idea}; {result['cores']}")
        if given.rate:
            take_rate(bench, sizes, given.rate * 1e6)
        try:
            if given.soak:
                result["rows"] += soak.run(bench, sizes[0], given, console)
            else:
                measure(bench, tests, sizes, result["rows"], console)
        except (TesterError, DaemonError, Unreachable, RuntimeError) as error:     # what was found so far is not lost
            result["failed"] = str(error)
            console.print(f"kamuee bench throughput: {error}", markup=False, soft_wrap=True)
        if "failed" not in result:
            result["losses"] = bench.device.losses()
            result["ledger"] = bench.device.ledger() if hasattr(bench.device, "ledger") else None
    publish(given, result, console)
    return 1 if "failed" in result else 0


class Voice:
    """Explanations: kept for the report, and printed above the progress bar."""

    def __init__(self, console: Console, kept: list[str]):
        self.console, self.kept, self.begun = console, kept, time.monotonic()

    def __call__(self, text: str) -> None:
        self.kept.append(text)
        self.console.print(f"[dim]{time.monotonic() - self.begun:6.1f} s[/]  {escape(text)}", soft_wrap=True)


@contextmanager
def connected(given: argparse.Namespace, setting: device.Setting, sizes: list[frames.Frames], plan: Plan, say):
    """Device and tester, running and connected; both end with the block."""
    under_test: device.Device = device.PEERS[given.peer](setting)
    tester = None
    try:
        under_test.start()
        device.keep_off(setting)
        tester = Tester(bench_program("tester", setting.build), under_test.devargs, setting.cores[0],
                        setting.work / "tester.log", setting.mtu + 18, under_test.enter, NICE, setting.queues)
        for side in device.SIDES if setting.both else (0,):
            file = setting.work / f"destinations-{side}.txt"
            file.write_text("\n".join(under_test.destinations(side)) + "\n")
            tester.port(side, under_test.macs[side], device.ours(side), file)
        under_test.ready()
        bench = Bench(under_test, tester, plan, say)
        bench.find_threads()
        warm_up(bench, sizes[0])
        yield bench
    finally:
        if tester:
            tester.stop()
        under_test.stop()


def warm_up(bench: Bench, some: frames.Frames) -> None:
    """Learning frames (RFC 2544, 23): until they come back."""
    end = time.monotonic() + device.START_S
    while True:
        r = bench.trial(some, 10_000, 0.1)
        if r["received"] and not r["lost"]:
            return
        if time.monotonic() > end:
            lost = {**bench.device.losses(), "foreign frames at the tester": r["foreign"],
                    "refused by the port": r["refused"]}
            raise Unavailable(f"of {r['attempted']} packets at 10,000 packets/s {r['received']} come back: no path "
                              "through "
                          f"{bench.device.name}? {', '.join(f'{where}: {n}' for where, n in lost.items() if n)}")


def take_rate(bench: Bench, sizes: list[frames.Frames], rate: float) -> None:
    for some in sizes:
        bench.throughput[some.name] = {"rate": rate, "top": max(rate, bench.flood(some)[0])}


def measure(bench: Bench, tests: list[str], sizes: list[frames.Frames], rows: list[dict], console: Console) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False,
                  disable=not console.is_terminal) as progress:
        # drawn only between trials, so as not to disturb them
        task = progress.add_task("", total=len(tests) * len(sizes))
        for some in sizes:
            for test in tests:
                progress.update(task, description=f"{test}, {some.name} bytes", refresh=True)
                rows += TESTS[test](bench, some)
                progress.update(task, advance=1, refresh=True)


# --- results ---

def publish(given: argparse.Namespace, result: dict, console: Console) -> None:
    if given.report:
        report.write(given.report, result)
        console.print(f"report: {given.report}/report.html, rows.csv, result.json", soft_wrap=True)
    if given.json:
        print(json.dumps(result, indent=1))
    else:
        print(*render.table(TABLE, [report.cells(row) for row in result["rows"]], terminal_width()), sep="\n")
        print(f"{result['cores']}. Gb/s includes preamble and gap (20 bytes per frame). Losses include frames refused "
              "by the device's full ring.")
