# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench restart`: how long forwarding pauses when kamueed is killed and started at once, or upgraded.

The kernel keeps the routes and the TAPs; traffic at a steady rate counts what is lost meanwhile. Blocked is what was
lost by what was offered in a second, as CSIT has it: the sender's view, whatever the router thinks of itself.
"""
from __future__ import annotations

import argparse
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kamuee.errors import DaemonError, Unreachable
from kamuee.lab import flows
from kamuee.lab.errors import LabError
from kamuee.lab.netns import is_running
from kamuee.render import Column, right
from measure.context import Context
from measure.daemon import Kamueed
from measure.cases import command_parser, print_rows
from measure.goal import Goal
from measure.program import Unavailable, daemon, must_be_built, run_command, wait_until, write_table
from measure.topology import own_namespaces, star
from throughput import device, frames
from throughput.tester import TesterError

IDEA = "how long forwarding pauses when kamueed is killed and started at once, or upgraded (root)"
AF_PACKET, MEMIF = "af_packet", "memif"
PORTS = (AF_PACKET, MEMIF)
KILL, UPGRADE = "kill", "upgrade"
CASES = (KILL, UPGRADE)
QUICK_ROUTES = 100_000
PER_S = 2000                 # packets offered: few, so that two cores suffice
BEFORE_S, SECONDS = 1.0, {KILL: 12.0, UPGRADE: 40.0}    # an upgrade reads and compares tables before it switches
FLOWS = 4
TARGETS = ("198.51.100.1", "2001:db8:100::1")
SYNCED_S = 60
TABLE = (Column("Case"), Column("Port"), right("Routes"), right("Blocked ms"), right("Lost"), right("Imbalance"),
         right("Audit"))


def parser() -> argparse.ArgumentParser:
    given = command_parser("restart", __doc__, f"{QUICK_ROUTES:,} routes, one round")
    given.add_argument("--port", choices=PORTS, action="append", help="only this kind of port (default: all)")
    given.add_argument("--case", choices=CASES, action="append", help="only this case (default: all)")
    given.add_argument("--rounds", type=int, metavar="N", help="kills and upgrades each, of which the median counts (default: 3; 1 with "
                       "--quick)")
    given.add_argument("--routes", type=int, metavar="N", help="a table of so many routes in place of the full one")
    given.add_argument("--prefixes", metavar="FILE", help="full routing table, one prefix per line (may be gzipped)")
    return given


def main(argv: list[str]) -> int:
    given = parser().parse_args(argv)
    return run_command("restart", lambda: run(given), LabError, DaemonError, Unreachable, TesterError,
                       device.DeviceError, RuntimeError, AssertionError)


def run(given: argparse.Namespace) -> int:
    print_rows(measured(given), [], ALL_GOALS, given.json, TABLE, cells)
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
        try:
            return [row_of(port, case, found) for port in given.port or PORTS
                    for case, found in ways[port](Path(work), table, rounds, given.case or CASES).items()]
        finally:
            end_upgraded()


def row_of(port: str, case: str, kills: list[dict]) -> dict:
    """One row of several kills or upgrades: the median pause with its losses, and the worst values that must be 0."""
    middle = sorted(kills, key=lambda kill: kill["blocked_ms"])[(len(kills) - 1) // 2]
    return {"case": case, "port": port, "routes": middle["routes"],
            "blocked_ms": round(statistics.median_low(kill["blocked_ms"] for kill in kills), 1),
            "lost": middle["lost"], "imbalance": max((kill["imbalance"] for kill in kills), key=abs),
            "audit_differences": max(kill["audit_differences"] for kill in kills),
            "each_ms": [round(kill["blocked_ms"], 1) for kill in kills]}


def kill_of(kamueed: Kamueed, blocked_ms: float, lost: int) -> dict:
    """The result of a kill, with the state after it."""
    client = kamueed.client
    found = client.call("audit")
    return {"blocked_ms": blocked_ms, "lost": lost, "routes": kamueed.routes()[1],
            "imbalance": client.state("ledger")["imbalance"], "audit_differences": found["diverged"]}


def kill_and_start(kamueed: Kamueed) -> None:
    kamueed.proc.kill()
    kamueed.proc.wait()
    kamueed.start()


def upgrade(kamueed: Kamueed) -> None:
    """To the same program; the new process is not our child, and kamueed.proc ends."""
    kamueed.client.call("upgrade")
    found = upgraded(kamueed)
    if found["phase"] != "done":
        raise RuntimeError(f"not upgraded: {found.get('why')}")
    upgraded_pids.append(int((kamueed.run_dir / "kamueed.lock").read_text()))


upgraded_pids: list[int] = []       # nobody else ends them


def end_upgraded() -> None:
    for pid in upgraded_pids:
        if is_running(pid):
            os.kill(pid, signal.SIGTERM)
            wait_until(lambda: not is_running(pid), "the upgraded kamueed does not stop", SYNCED_S)
    upgraded_pids.clear()


def must_be_in_time(begun: float, case: str) -> None:
    """The case must end before the traffic does: nothing is measured after the last packet."""
    if time.monotonic() - begun > SECONDS[case] - 1:
        raise RuntimeError(f"the {case} took longer than the traffic, {SECONDS[case]:.0f} s: is the machine busy?")


def upgraded(kamueed: Kamueed) -> dict:
    end = time.monotonic() + SYNCED_S
    while time.monotonic() < end:
        try:
            found = kamueed.client.state("upgrade")
            if found["phase"] in ("done", "failed"):
                return found
        except Unreachable:
            pass
        time.sleep(0.05)
    raise RuntimeError("the upgrade does not end")


# --- hosts on veths ---

def by_af_packet(work: Path, table: Path, rounds: int, cases: Sequence[str]) -> dict[str, list[dict]]:
    ctx = Context(daemon().parent, daemon(), rounds, False, str(table), work)
    with star("kamueed", ctx) as lab:
        lab.install("add")
        far = lab.hosts["a"]
        far.add_addresses("lo", [f"{TARGETS[0]}/32", f"{TARGETS[1]}/128"])
        lab.router.ip_batch([f"route replace {TARGETS[0]}/32 via 10.90.1.2"])
        lab.router.ip_batch([f"route replace {TARGETS[1]}/128 via fd90:1::2"], v6=True)
        for target in TARGETS:
            lab.ping(lab.hosts["src"], target)
        return {case: [af_packet_kill(lab, far, case) for _ in range(rounds)] for case in cases}


def af_packet_kill(lab, far, case: str) -> dict:
    traffic = flows.Traffic(lab.hosts["src"], far, list(TARGETS), FLOWS, PER_S, SECONDS[case])
    begun = time.monotonic()
    time.sleep(BEFORE_S)
    (kill_and_start if case == KILL else upgrade)(lab.kamueed)
    must_be_in_time(begun, case)
    lost = sum(len(flow["lost"]) for flow in traffic.result().values())
    return kill_of(lab.kamueed, 1e3 * lost / PER_S, lost)


# --- the tester by memif ---

class Kept(device.KamueedDevice):
    """Killed and started; the kernel's state remains."""

    def restart(self) -> None:
        self.proc.kill()
        self.proc.wait()
        for side in device.SIDES:
            self.socket(side).unlink(missing_ok=True)
        os.sched_setaffinity(0, self.setting.allowed)
        self.daemon.start()
        device.keep_off(self.setting)
        self.proc = self.daemon.proc


def by_memif(work: Path, table: Path, rounds: int, cases: Sequence[str]) -> dict[str, list[dict]]:
    from commands import throughput                                  # imports rich, which --port af_packet need not have
    given = throughput.parser().parse_args(["--routes", "full", "--prefixes", str(table), "--idle", "balanced"])
    sizes = frames.of_list("64")
    setting = throughput.setting_of(given, work, sizes)
    device.PEERS["kept"] = Kept
    given.peer = "kept"
    with throughput.connected(given, setting, sizes, throughput.plan_of(given), lambda text: None) as bench:
        return {case: [memif_kill(bench, sizes[0], case) for _ in range(rounds)] for case in cases}


def memif_kill(bench, sent: frames.Frames, case: str) -> dict:
    before = bench.waited()
    bench.tester.begin(rate=f"{PER_S:.3f}", seconds=SECONDS[case], sizes=",".join(map(str, sent.sizes)), percent6=0,
                       **{"from": 0})
    begun = time.monotonic()
    time.sleep(BEFORE_S)
    if case == KILL:
        bench.device.restart()
    else:
        upgrade(bench.device.daemon)
    must_be_in_time(begun, case)
    bench.find_threads()
    result = bench.summed(bench.tester.end(), before)
    return kill_of(bench.device.daemon, 1e3 * result["lost"] / PER_S, result["lost"])


# --- goals ---

def worst(key: str, case: str = "", port: str = "") -> Callable[[dict], float | None]:
    return lambda found: max((abs(row[key]) for row in found["rows"]
                              if case in ("", row["case"]) and port in ("", row["port"])), default=None)


ALL_GOALS = (
    Goal("kill to the first packet forwarded right", "ms", 1500, 800, worst("blocked_ms", KILL), at_most=True),
    Goal("upgrade, blocked time, memif", "ms", 500, 50, worst("blocked_ms", UPGRADE, MEMIF), at_most=True),
    Goal("upgrade, blocked time, af_packet", "ms", 50, 0, worst("blocked_ms", UPGRADE, AF_PACKET), at_most=True),
    Goal("ledger imbalance", "packets", 0, 0, worst("imbalance"), at_most=True),
    Goal("audit differences", "", 0, 0, worst("audit_differences"), at_most=True),
)
