# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee demo`: a full BGP table through kamueed, in namespaces, with everything measured.

start    builds the lab of demo.yaml.in, follows the table through BGP, kernel, RIB and FIB, compares FIB and
         kernel, sends traffic across, says what to try next, and leaves the lab running
stop     takes it down
status   prints the summary of the running demo

The summary is also written as JSON beside the lab's state. `--router kernel` runs the same on the kernel's
own forwarding: what is measured there is what kamueed is compared with.
"""
import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from kamuee.errors import KamueeError, Unreachable
from kamuee.lab.demoplan import Summary
from kamuee.lab.errors import LabError

NEEDED = {"ip": "iproute2", "nsenter": "util-linux", "ethtool": "ethtool", "tc": "iproute2",
          "bird": "bird2", "vtysh": "frr", "iperf3": "iperf3", "traceroute": "traceroute",
          "ping": "iputils-ping"}
def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="kamuee demo", description="A full BGP table through kamueed.")
    top.add_argument("action", nargs="?", choices=("start", "stop", "status"), default="start")
    top.add_argument("--stop", action="store_const", const="stop", dest="action", help="same as stop")
    source = top.add_mutually_exclusive_group()
    source.add_argument("--prefixes", metavar="FILE", help="the table: a file of prefixes, one per line (also .gz)")
    source.add_argument("--mrt", metavar="FILE", help="the table: RIB dump of a route collector")
    top.add_argument("--routes", type=int, metavar="N", help="only N routes (default: the full table)")
    top.add_argument("--second", type=float, metavar="SHARE", help="share of the table that the second "
                     "provider announces (default: 1, or 0.1 with less than 8 GiB free)")
    top.add_argument("--router", choices=("kamueed", "kernel"), default="kamueed",
                     help="which forwarder to use; kernel: for comparison, without the VLAN")
    top.add_argument("--name", default="demo", help="name of the lab (default: demo)")
    top.add_argument("-j", "--json", action="store_true", help="print only the summary, as JSON")
    return top


def main(argv: list[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        if options.action == "stop":
            return stop(options)
        if options.action == "status":
            return status(options)
        return start(options)
    except KamueeError as error:
        print(f"kamuee demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"kamuee demo: interrupted; take it down with: kamuee demo stop --name {options.name}",
              file=sys.stderr)
        return 130


def stop(options: argparse.Namespace) -> int:
    from kamuee.lab import state
    if os.geteuid() != 0:
        raise LabError("stopping the demo needs root: use sudo")
    if options.name not in state.names():
        print("no demo is running")
        return 0
    state.load(options.name).remove()
    print("demo stopped and removed")
    return 0


def summary_file(name: str) -> Path:
    from kamuee.lab import state
    return state.base_dir() / name / "summary.json"


def status(options: argparse.Namespace) -> int:
    try:
        text = summary_file(options.name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LabError("no completed demo; to start one: kamuee demo start") from None
    if options.json:
        print(text)
        return 0
    from rich.console import Console
    print_summary(Console(highlight=False), Summary(**json.loads(text)))
    return 0


# --- start ---

def start(options: argparse.Namespace) -> int:
    from rich.console import Console

    from kamuee.lab.demorun import Demo
    check_machine(options)
    console = Console(highlight=False, quiet=options.json)
    demo = Demo(options, console)
    try:
        demo.run()
    except Unreachable as error:
        if not demo.lab:
            raise
        raise LabError(f"{error}; {demo.edge.why_silent()}; take it down with: kamuee demo stop --name {options.name}") from None
    summary_file(options.name).write_text(json.dumps(vars(demo.summary), indent=2) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(vars(demo.summary)))
    else:
        print_summary(console, demo.summary)
        print_next(console, options, demo.target)
    return 1 if demo.summary.problems else 0


def check_machine(options: argparse.Namespace) -> None:
    from kamuee.lab import kamueenode, state
    if os.geteuid() != 0:
        raise LabError("the demo creates network namespaces, which needs root: use sudo")
    missing = sorted({package for tool, package in NEEDED.items()
                      if shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is None})
    if missing:
        raise LabError(f"not installed: apt-get install {' '.join(missing)}")
    if options.name in state.names():
        raise LabError(f"a demo named {options.name} already exists; stop it: kamuee demo stop"
                       + ("" if options.name == "demo" else f" --name {options.name}"))
    if options.router == "kamueed":
        kamueenode.find_kamueed()
    if options.second is not None and not 0 < options.second <= 1:
        raise LabError("--second: expected a share above 0, at most 1")
    for path in (options.prefixes, options.mrt):
        if path and not os.path.isfile(path):
            raise LabError(f"{path}: no such file")


# --- printing ---

def print_summary(console, summary: Summary) -> None:
    from rich.table import Table
    rows = Table(title="kamuee demo", show_header=False, title_justify="left")
    rows.add_column(style="bold")
    rows.add_column()
    rows.add_row("table", f"{summary.routes:,} routes, {summary.table}; "
                 f"second provider {summary.second_share:.0%}")
    times = "   ".join(f"{layer} {seconds:.1f} s" for layer, seconds in summary.seconds_to.items())
    rows.add_row("complete in", times)
    rows.add_row("routes in", "   ".join(f"{layer} {n:,}" for layer, n in summary.counts.items()))
    if summary.fib_equals_kernel is not None:
        equal = "yes" if summary.fib_equals_kernel else "NO"
        rows.add_row("FIB = kernel", f"{equal}; {summary.lookups_compared} lookups compared, "
                     f"{summary.lookups_different} different")
        rows.add_row("FIB size", f"{summary.fib_bytes / 2**20:.1f} MiB")
    rows.add_row("memory", "   ".join(f"{name} {kib / 1024:.0f} MiB" for name, kib in summary.rss_kib.items()))
    rows.add_row("ping", "   ".join(f"{family} {ms:.2f} ms, {summary.ping_loss_percent[family]:g} % loss"
                                    for family, ms in summary.ping_ms.items()))
    for family, hops in summary.traceroute.items():
        rows.add_row(f"traceroute {family}", " > ".join(hops))
    rows.add_row("iperf3", "   ".join(f"{what} {gbps:.2f} Gb/s" for what, gbps in summary.iperf3_gbps.items()))
    rows.add_row("peak rate", f"{summary.peak_pps:,} packets/s received on all ports")
    if summary.ledger_imbalance is not None:
        rows.add_row("ledger", f"imbalance {summary.ledger_imbalance}")
    if summary.drops:
        rows.add_row("drops", "   ".join(f"{name} {n:,}" for name, n in summary.drops.items()))
    rows.add_row("kernel forwarding", summary.kernel_forwarding)
    console.print(rows)
    for problem in summary.problems:
        console.print(f"[red]problem:[/red] {problem}")


def print_next(console, options: argparse.Namespace, target: str) -> None:
    """target: an address behind the providers that answers."""
    exec_ = f"sudo ./kamuee lab exec {options.name}"
    lines = [
        ("the router's own view", f"{exec_} edge ./kamuee show ipv4 route summary"),
        ("a lookup", f"{exec_} edge ./kamuee show ipv4 route {target}"),
        ("live screen; start traffic in another window", f"{exec_} edge ./kamuee monitor"),
        ("traffic", f"{exec_} internet iperf3 -s -1 -D && {exec_} customer iperf3 -c {target} -t 30"),
        ("reason of every drop", f"{exec_} edge ./kamuee show drops"),
        ("FRR, unmodified", f"{exec_} edge vtysh -c 'show bgp summary'"),
        ("cut the first provider: traffic moves to the second at once; FRR's routes follow within a minute",
         f"{exec_} isp1 ip link set edge down"),
        ("and restore it", f"{exec_} isp1 ip link set edge up"),
        ("stop kamueed: traffic stops, because the kernel forwards nothing",
         f"sudo kill $(cat /run/kamuee-lab/{options.name}/edge/kamueed.pid)"),
        ("the end", "sudo make demo-stop" if options.name == "demo"
         else f"sudo ./kamuee demo stop --name {options.name}"),
    ]
    console.print("\n[bold]The demo is running. Try:[/bold]")
    for what, command in lines:
        if options.router == "kernel" and "kamuee " in command.replace("./kamuee lab", ""):
            continue
        console.print(f"  [dim]# {what}[/dim]\n  {command}", soft_wrap=True)
