# SPDX-License-Identifier: BSD-3-Clause
"""show drops [all|vr VR], show ledger [vr VR]

`show drops` prints the rate of each reason since the same person's last `show drops`. The cache folder keeps what was
shown last; a restarted daemon has no last time. An administrator of a virtual router sees that one's.
"""
from __future__ import annotations

import json
import os
import time
from hashlib import sha256

from kamuee import rates, render
from kamuee.context import Context
from kamuee.errors import NotFound
from kamuee.grammar import Match
from kamuee.leaf import Leaf, table
from kamuee.render import Column, count, right, si

REASON = (
    Leaf("name", Column("Reason")),
    Leaf("packets", right("Packets"), show=count),
    Leaf("pps", right("/s"), show=si),
    Leaf("severity", Column("Severity")),
    Leaf("", Column("Meaning", wrap=True), show=lambda reason: reason.get("sentence", "") + (
        f" ({reason['source']})" if reason.get("source") else "")),
)
LEDGER = (("received from ports", "rx"), ("sent by the kernel", "inject"), ("transmitted", "tx"),
          ("given to the kernel", "punt"), ("held for a neighbor", "held"), ("dropped", "drops"),
          ("imbalance", "imbalance"))
LEDGER_VR = (("received by its interfaces", "rx"), ("sent by the kernel", "inject"),
             ("from other virtual routers", "entered"), ("transmitted", "tx"), ("given to the kernel", "punt"),
             ("to other virtual routers", "left"), ("held for a neighbor", "held"), ("dropped", "drops"),
             ("imbalance", "imbalance"))


def show(context: Context, match: Match) -> None:
    vr = match.args.get("VR")
    reasons = [] if vr else context.client.entries("drop")
    if not reasons:  # no rate: the last output was of the whole router
        found = context.client.one_or_all("vr", vr, "virtual router")
        print_reasons(context, [{**entry, "pps": None} for one in found for entry in one.get("drop", [])])
        return
    pid = context.client.state("system").get("pid")
    last = exchange(context.client.path, pid, {entry["name"]: entry["packets"] for entry in reasons})
    shown = []
    for entry in reasons:
        if entry["packets"] or "all" in match.args:
            pps = rates.rate(last["drops"].get(entry["name"]), entry["packets"], last["seconds"]) if last else None
            shown.append({**entry, "pps": pps})
    print_reasons(context, shown)
    if shown and last and not context.options.json:
        context.line()
        context.line(f"/s is the rate since the last 'show drops', {render.ago(last['seconds'])} ago")


def print_reasons(context: Context, shown: list[dict]) -> None:
    if context.options.json:
        context.json(shown)
    elif not shown:
        context.line("no packets dropped ('show drops all' lists all reasons)")
    else:
        context.lines(table(context, REASON, shown))


def exchange(socket_path: str, pid: int | None, drops: dict[str, int]) -> dict | None:
    """Stores these counters; returns those stored last for the same daemon, and their age."""
    path = os.path.join(cache_folder(), f"drops-{sha256(socket_path.encode()).hexdigest()[:12]}.json")
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    last = recall(path, pid, now)
    keep(path, {"pid": pid, "at": now, "drops": drops})
    return last


def recall(path: str, pid: int | None, now: float) -> dict | None:
    try:
        with open(path, encoding="ascii") as file:
            kept = json.load(file)
        seconds = now - kept["at"]
        if kept["pid"] == pid and seconds > 0:
            return {"drops": kept["drops"], "seconds": seconds}
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def keep(path: str, value: dict) -> None:
    """If the folder cannot be written, there are no rates."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="ascii") as file:
            json.dump(value, file)
        os.replace(file.name, path)
    except OSError:
        pass


def cache_folder() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "kamuee")


def ledger(context: Context, match: Match) -> None:
    vr = match.args.get("VR")
    try:
        found = None if vr else context.client.state("ledger")
    except NotFound:  # an administrator of a virtual router sees that one's
        found = None
    if found is None:
        found = next((one["ledger"] for one in context.client.one_or_all("vr", vr, "virtual router")), {})
    if context.options.json:
        context.json(found)
        return
    sides = LEDGER_VR if "entered" in found else LEDGER
    size = max(len(count(found.get(name, 0)) or "") for _, name in sides)
    context.lines(render.fields([(what, (count(found.get(name, 0)) or "").rjust(size)) for what, name in sides],
                                context.room))
    context.line()
    if found.get("imbalance", 0) == 0 and sides is LEDGER_VR:
        context.line("rx + inject + entered = tx + punt + left + held + drops: all accounted for")
    elif found.get("imbalance", 0) == 0:
        context.line("rx + inject = tx + punt + held + drops: every packet is accounted for")
    else:
        context.line("the two sides differ: packets in flight if traffic is flowing, a fault if not")
