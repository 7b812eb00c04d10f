# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench restart`: how long forwarding pauses when kamueed is killed and started at once.

The kernel keeps the routes and the TAPs; traffic at a steady rate counts what is lost meanwhile. Blocked is what was
lost by what was offered in a second, as CSIT has it: the sender's view, whatever the router thinks of itself.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kamuee import render
from kamuee.context import terminal_width
from kamuee.errors import DaemonError, Unreachable
from kamuee.lab import flows
from kamuee.lab.errors import LabError
from kamuee.render import Column, right
from measure.context import Context
from measure.daemon import Kamueed
from measure.goal import GOALS, Goal
from measure.program import Unavailable, daemon, must_be_built, run_command, write_table
from measure.topology import own_namespaces, star
from throughput import device, frames
from throughput.tester import TesterError

IDEA = "how long forwarding pauses when kamueed is killed and started at once (root)"
AF_PACKET, MEMIF = "af_packet", "memif"
PORTS = (AF_PACKET, MEMIF)
QUICK_ROUTES = 100_000
PER_S = 2000                 # packets offered: few, so that two cores suffice
BEFORE_S, SECONDS = 1.0, 12.0
FLOWS = 4
TARGETS = ("198.51.100.1", "2001:db8:100::1")
SYNCED_S = 60
TABLE = (Column("Case"), Column("Port"), right("Routes"), right("Blocked ms"), right("Lost"), right("Imbalance"),
         right("Audit"))


def parser() -> argparse.ArgumentParser:
    given = argparse.ArgumentParser(prog="kamuee bench restart", description=__doc__.splitlines()[0],
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--quick", action="store_true", help=f"{QUICK_ROUTES:,} routes, one round")
    given.add_argument("--port", choices=PORTS, action="append", help="only this kind of port (default: all)")
    given.add_argument("--rounds", type=int, metavar="N", help="kills, of which the median counts (default: 3; 1 with "
                       "--quick)")
    given.add_argument("--routes", type=int, metavar="N", help="a table of so many routes in place of the full one")
    given.add_argument("--prefixes", metavar="FILE", help="full routing table, one prefix per line (may be gzipped)")
    given.add_argument("--json", "-j", action="store_true", help="print JSON")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("restart", lambda: run(given), LabError, DaemonError, Unreachable, TesterError,
                       device.DeviceError, RuntimeError, AssertionError)


def run(given: argparse.Namespace) -> int:
    found = {"rows": measured(given)}
    found["goals"] = [goal.as_json(found) for goal in ALL_GOALS]
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        print(*render.table(TABLE, map(cells, found["rows"]), terminal_width()), "", sep="\n")
        print(*render.table(GOALS, (goal.cells(found) for goal in ALL_GOALS), terminal_width()), sep="\n")
    return 0


def cells(row: dict) -> list[str]:
    return [row["case"], row["port"], *(f"{row[key]:,}" for key in ("routes", "blocked_ms", "lost", "imbalance",
                                                                    "audit_differences"))]


def measured(given: argparse.Namespace) -> list[dict]:
    if os.geteuid():
        raise Unavailable("needs root for network namespaces: sudo kamuee bench restart")
    must_be_built(daemon())
    own_namespaces()
    rounds = given.rounds or (1 if given.quick else 3)
    with tempfile.TemporaryDirectory(prefix="kb-") as work:
        table = write_table(Path(work) / "table", given.prefixes,
                            given.routes or (QUICK_ROUTES if given.quick else None))
        ways = {AF_PACKET: by_af_packet, MEMIF: by_memif}
        return [row_of(port, ways[port](Path(work), table, rounds)) for port in given.port or PORTS]


def row_of(port: str, kills: list[dict]) -> dict:
    """One row of several kills: the median pause with what was lost in it, and the worst of what must be 0."""
    middle = sorted(kills, key=lambda kill: kill["blocked_ms"])[(len(kills) - 1) // 2]
    return {"case": "kill", "port": port, "routes": middle["routes"],
            "blocked_ms": round(statistics.median_low(kill["blocked_ms"] for kill in kills), 1),
            "lost": middle["lost"], "imbalance": max((kill["imbalance"] for kill in kills), key=abs),
            "audit_differences": max(kill["audit_differences"] for kill in kills),
            "each_ms": [round(kill["blocked_ms"], 1) for kill in kills]}


def kill_of(kamueed: Kamueed, blocked_ms: float, lost: int) -> dict:
    """What a kill did, with the state behind it."""
    client = kamueed.client
    found = client.call("audit")
    return {"blocked_ms": blocked_ms, "lost": lost, "routes": kamueed.routes()[1],
            "imbalance": client.state("ledger")["imbalance"], "audit_differences": found["diverged"]}


def kill_and_start(kamueed: Kamueed) -> None:
    kamueed.proc.kill()
    kamueed.proc.wait()
    kamueed.start()


# --- hosts on veths ---

def by_af_packet(work: Path, table: Path, rounds: int) -> list[dict]:
    ctx = Context(daemon().parent, daemon(), rounds, False, str(table), work)
    with star("kamueed", ctx) as lab:
        lab.install("add")
        far = lab.hosts["a"]
        far.add_addresses("lo", [f"{TARGETS[0]}/32", f"{TARGETS[1]}/128"])
        lab.router.ip_batch([f"route replace {TARGETS[0]}/32 via 10.90.1.2"])
        lab.router.ip_batch([f"route replace {TARGETS[1]}/128 via fd90:1::2"], v6=True)
        for target in TARGETS:
            lab.ping(lab.hosts["src"], target)
        return [af_packet_kill(lab, far) for _ in range(rounds)]


def af_packet_kill(lab, far) -> dict:
    traffic = flows.Traffic(lab.hosts["src"], far, list(TARGETS), FLOWS, PER_S, SECONDS)
    time.sleep(BEFORE_S)
    kill_and_start(lab.kamueed)
    lost = sum(len(flow["lost"]) for flow in traffic.result().values())
    return kill_of(lab.kamueed, 1e3 * lost / PER_S, lost)


# --- the tester by memif ---

class Kept(device.KamueedDevice):
    """Killed and started; what is in the kernel stays."""

    def restart(self) -> None:
        self.proc.kill()
        self.proc.wait()
        for side in device.SIDES:
            self.socket(side).unlink(missing_ok=True)
        os.sched_setaffinity(0, self.setting.allowed)
        self.daemon.start()
        device.keep_off(self.setting)
        self.proc = self.daemon.proc


def by_memif(work: Path, table: Path, rounds: int) -> list[dict]:
    from commands import throughput                                  # imports rich, which --port af_packet need not have
    given = throughput.parser().parse_args(["--routes", "full", "--prefixes", str(table), "--idle", "balanced"])
    sizes = frames.of_list("64")
    setting = throughput.setting_of(given, work, sizes)
    device.PEERS["kept"] = Kept
    given.peer = "kept"
    with throughput.connected(given, setting, sizes, throughput.plan_of(given), lambda text: None) as bench:
        return [memif_kill(bench, sizes[0]) for _ in range(rounds)]


def memif_kill(bench, sent: frames.Frames) -> dict:
    before = bench.waited()
    bench.tester.begin(rate=f"{PER_S:.3f}", seconds=SECONDS, sizes=",".join(map(str, sent.sizes)), percent6=0,
                       **{"from": 0})
    time.sleep(BEFORE_S)
    bench.device.restart()
    bench.find_threads()
    result = bench.summed(bench.tester.end(), before)
    return kill_of(bench.device.daemon, 1e3 * result["lost"] / PER_S, result["lost"])


# --- goals ---

def worst(key: str) -> Callable[[dict], float | None]:
    return lambda found: max((abs(row[key]) for row in found["rows"]), default=None)


ALL_GOALS = (
    Goal("kill to the first packet forwarded right", "ms", 1500, 800, worst("blocked_ms"), at_most=True),
    Goal("ledger imbalance", "packets", 0, 0, worst("imbalance"), at_most=True),
    Goal("audit differences", "", 0, 0, worst("audit_differences"), at_most=True),
)
