# SPDX-License-Identifier: BSD-3-Clause
"""One long trial at a share of the throughput while routes change and state is asked for: does a packet get lost, and
when?

The changes are withdrawals and announcements of random prefixes by netlink (route_install --mode flap); state is
asked for as `kamuee show` and a metrics scraper do it: every page by RESTCONF, in a loop, and a whole `kamuee` process
now and then. All of it runs off the device's core. Packets go to the changing prefixes; while one is withdrawn they
follow the default route, which leads to the same port. With both directions that cannot be, so there they go to the
test networks, which do not change.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from kamuee.errors import DaemonError, Unreachable
from measure.program import DIE_WITH_US, ROOT
from throughput.frames import Frames
from throughput.tester import NICE, prefer
from throughput.tests import Bench, in_us, need_throughput, nothing

PAGES = ("system", "port", "interface", "thread", "ledger", "drop", "vr=default")
PAUSE_S = 0.2                       # between two rounds of pages
COMMAND_S = 5.0                     # between two processes of kamuee
COMMANDS = (("show", "port"), ("show", "fib"), ("show", "drops"), ("show", "thread"))


class Asking(threading.Thread):
    """Requests every page again and again; counts answers and failures."""

    def __init__(self, client, socket):
        super().__init__(daemon=True)
        self.client, self.socket = client, socket
        self.ended = threading.Event()
        self.answers = self.failures = self.commands = 0
        self.slowest_s = 0.0

    def run(self) -> None:
        due = time.monotonic()
        number = 0
        while not self.ended.wait(PAUSE_S):
            for page in PAGES:
                self._ask(page)
            if time.monotonic() > due:
                self._command(COMMANDS[number % len(COMMANDS)])
                number, due = number + 1, time.monotonic() + COMMAND_S

    def _ask(self, page: str) -> None:
        begun = time.monotonic()
        try:
            self.client.state(page)
            self.answers += 1
        except (DaemonError, Unreachable, OSError):
            self.failures += 1
        self.slowest_s = max(self.slowest_s, time.monotonic() - begun)

    def _command(self, words: tuple[str, ...]) -> None:
        done = subprocess.run([sys.executable, "-m", "kamuee", "--socket", str(self.socket), *words, "-j"],
                              capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT / "cli")})
        self.commands += 1
        self.failures += done.returncode != 0


@contextmanager
def churn(bench: Bench, per_second: float, seconds: float):
    """Route changes in the device's kernel for a time; afterwards the yielded dict has the results."""
    found: dict = {}
    if not per_second or not getattr(bench.device, "groups", None):
        yield found
        return
    argv = bench.device.route_install("flap", "--rate", str(per_second), "--seconds", str(seconds))
    ns = bench.device.ns
    proc = subprocess.Popen(ns.argv([*DIE_WITH_US, *map(str, argv)]), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)
    # as the tester: where both share a core, a tenth of it makes 5,000 changes a second
    prefer(proc.pid, NICE)
    try:
        yield found
        out, err = proc.communicate(timeout=60)
        found.update(json.loads(out) if out.strip() else {"failed": err.strip()})
    finally:
        if proc.poll() is None:
            proc.kill()
            proc.wait()


def run(bench: Bench, frames: Frames, given: argparse.Namespace, console: Console) -> list[dict]:
    seconds = given.soak * 60
    base = need_throughput(bench, frames)
    rows = [] if given.rate else [{name: value for name, value in base.items() if name not in ("rate", "top")}]
    if not base["rate"]:
        return rows + nothing(bench, frames, "soak")
    rate = base["rate"] * given.load / 100
    kamueed = getattr(bench.device, "daemon", None)
    asking = Asking(kamueed.client, kamueed.socket) if kamueed else None
    losses, ledger, waited = bench.device.losses(), bench.device.ledger() if kamueed else 0, bench.waited()
    bench.say(f"soak: {rate / 1e6:.4g} Mpps per direction for {given.soak:g} min, {given.churn:g} route changes/s")
    if asking:
        asking.start()
    with churn(bench, given.churn, seconds) as changes:
        r, kept_ms = long_trial(bench, frames, rate, seconds, console)
    if asking:
        asking.ended.set()
        asking.join()
    r = bench.summed(r, waited)
    return rows + [row_of(bench, frames, given, rate, r, kept_ms, losses, ledger, asking, changes)]


def long_trial(bench: Bench, frames: Frames, rate: float, seconds: float, console: Console) -> tuple[dict, list[float]]:
    """The result, and for how many ms of each second the device was preempted."""
    kept_ms, before = [], device_waited(bench)
    columns = (TextColumn("soak"), BarColumn(), TextColumn("{task.fields[text]}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, auto_refresh=False,
                  disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=seconds, text="")

        def live(now: dict) -> None:
            nonlocal before
            after = device_waited(bench)
            kept_ms.append(after - before)
            before = after
            progress.update(task, completed=now["live"],
                            text=f"{now['received'] / 1e6:,.0f} M packets, {now['lost']:,} lost", refresh=True)
        result = bench.tester.trial(live, rate=f"{rate:.3f}", seconds=seconds, sizes=",".join(map(str, frames.sizes)),
                                    wait_ms=2000, percent6=bench.plan.percent6, histogram=0,
                                    **{"from": "both" if bench.plan.both else 0})
    return result, kept_ms


def device_waited(bench: Bench) -> float:
    return sum(ms for whose, ms in bench.waited().items() if whose.startswith("device"))


def apart(lost_at: list[list], kept_ms: dict[int, float], fills_ms: float) -> tuple[int, int]:
    """Packets lost while the device was kept from its core for longer than its ring bridges, and others. The kernel
    tells what the hypervisor took in steps of its clock, so up to a second late: the second after counts too."""
    kept = others = 0
    for at, inside, refused, *_ in lost_at:
        if max(kept_ms.get(int(at), 0.0), kept_ms.get(int(at) + 1, 0.0)) > fills_ms:
            kept += inside + refused
        else:
            others += inside + refused
    return kept, others


def row_of(bench: Bench, frames: Frames, given: argparse.Namespace, rate: float, r: dict, kept_ms: list[float],
           losses: dict, ledger: int, asking: Asking | None, changes: dict) -> dict:
    """Every second in which a packet was lost: [second, lost inside the device, refused by its ring, ms the device was
    kept from its core]."""
    after = bench.device.losses()
    kept = dict(enumerate(kept_ms))
    lost_at = sorted([at, inside, refused, round(kept.get(int(at), 0.0), 1)] for d in r["directions"]
                     for at, inside, refused in d["lost_at"])
    counted = {where: n - losses.get(where, 0) for where, n in after.items() if n != losses.get(where, 0)}
    worst = max(r["directions"], key=lambda d: d["latency_ns"].get("p99.9", 0))
    for at, inside, refused, ms in lost_at[:50]:
        bench.say(f"soak: second {at:.0f}: {inside:,} packets lost, {refused:,} refused by the device's full ring; it "
                  f"was off its core for {ms:g} ms")
    ring_ms = 1000 * bench.device.setting.holds() / rate
    while_kept, others = apart(lost_at, kept, ring_ms)
    bench.say(f"soak: {r['lost']:,} of {r['attempted']:,} lost, {changes.get('per_second', 0):,.0f} route changes/s; "
              f"{while_kept:,} of them in seconds in which other threads or the hypervisor kept the device from its "
              f"core for more than the {ring_ms:.2g} ms that its ring bridges ({sum(kept_ms):,.0f} ms in all), "
              f"{others:,} in others")
    return bench.row("soak", frames, minutes=given.soak, load=given.load, mpps=rate * bench.directions / 1e6,
                     offered_mpps=sum(d["offered_pps"] for d in r["directions"]) / 1e6, attempted=r["attempted"],
                     lost=r["lost"], lost_while_kept=while_kept, lost_otherwise=others, kept_ms=round(sum(kept_ms), 1),
                     ratio=r["lost"] / max(1, r["attempted"]), lost_at=lost_at, device_counts=counted,
                     ledger_difference=(bench.device.ledger() - ledger) if asking else None, disturbed=r["disturbed"]
                     if r["lost"] else "", latency_us=in_us(worst["latency_ns"]), jitter_us=in_us(worst["jitter_ns"]),
                     changes_per_s=changes.get("per_second"),
                     changes_failed=changes.get("failed"), answers=asking.answers if asking else 0,
                     commands=asking.commands if asking else 0,
                     answers_failed=asking.failures if asking else 0, slowest_answer_s=round(asking.slowest_s, 3)
                     if asking else None,
                     unseen=r["unseen"], reordered=r["reordered"], duplicated=r["duplicated"], corrupted=r["corrupted"])
