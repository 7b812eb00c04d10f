# SPDX-License-Identifier: BSD-3-Clause
"""show port [PORT] [statistics [pps|bps]]"""
from __future__ import annotations

from collections.abc import Callable, Iterator

from kamuee import cleared, rates, render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, details, given, listing, table, words
from kamuee.render import Cell, Column, count, iec, right, si, speed

NONE = "no ports; to create one: 'set port NAME kernel-interface eth1', or 'devargs DEVICE'"


def speed_and_duplex(port: dict) -> Cell:
    return words(filter(None, [speed(port.get("speed")), port.get("duplex")]))


def both_ways(what: str) -> Callable[[dict], Cell]:
    """Shows a number of each direction."""
    return lambda port: f"{port.get(f'rx-{what}', '-')} receive, {port.get(f'tx-{what}', '-')} transmit"


def names(leaf: str) -> Callable[[dict], Cell]:
    return lambda port: words(port.get(leaf, [])) or "none"


PORT = (  # in the order of the details
    Leaf("name", Column("Port")),
    Leaf("status", Column("Status"), at=1),
    Leaf("why", label="why"),
    Leaf("kernel-interface", label="kernel interface"),
    Leaf("devargs", label="device"),
    Leaf("", Column("Device", wide=True), show=lambda port: port.get("kernel-interface") or port.get("devargs"), at=10),
    Leaf("driver", Column("Driver"), label=True, at=7),
    Leaf("namespace", Column("Namespace", wide=True), label=True, show=given, at=11),
    Leaf("id", label="DPDK port"),
    Leaf("mac", Column("MAC"), "MAC", at=6),
    Leaf("mtu", right("MTU"), "MTU", at=3),
    Leaf("speed", right("Speed"), show=speed, at=2),
    Leaf("", label="speed", show=speed_and_duplex),
    Leaf("rx-queues", right("RxQ"), at=4),
    Leaf("tx-queues", right("TxQ"), at=5),
    Leaf("", label="queues", show=both_ways("queues")),
    Leaf("", label="descriptors", show=both_ways("descriptors")),
    Leaf("queue", label="queue", show=lambda queue: f"{si(queue.get('rate'))}bit/s: 'show queue {queue['port']}'"),
    Leaf("rx-mode", Column("Rx mode", wide=True), label=True, at=8),
    Leaf("socket", right("Socket", wide=True), label=True, at=9),
    Leaf("promiscuous", label=True, show=render.yes_no),
    Leaf("", label="RSS", show=names("rss")),
    Leaf("", label="offloads", show=names("offload")),
)
COUNTERS = (  # of cleared.named_counters()
    Leaf("name", Column("Port")),
    Leaf("rx-packets", right("Rx packets"), show=count),
    Leaf("rx-bytes", right("Rx bytes"), show=iec),
    Leaf("tx-packets", right("Tx packets"), show=count),
    Leaf("tx-bytes", right("Tx bytes"), show=iec),
    Leaf("rx-missed", right("Missed"), show=count),
    Leaf("", right("Errors"), show=lambda seen: count(seen.get("rx-errors", 0) + seen.get("tx-errors", 0))),
    Leaf("rx-no-buffer", right("No buffer", wide=True), show=count),
    Leaf("checksum-completed", right("Checksums", wide=True), show=count),
    Leaf("offload-cut", right("Cut", wide=True), show=count),
)
QUEUE = (
    Leaf("queue", right("Queue")),
    Leaf("rx-packets", right("Rx packets"), show=count),
    Leaf("rx-bytes", right("Rx bytes"), show=iec),
    Leaf("forwarder", right("Forwarder")),
)
# Rates of measured(): each counter and its factor.
MEASURED = {"rx-pps": ("rx-packets", 1), "tx-pps": ("tx-packets", 1), "rx-bps": ("rx-bytes", 8),
            "tx-bps": ("tx-bytes", 8), "rx-missed-pps": ("rx-missed", 1), "rx-errors-pps": ("rx-errors", 1),
            "tx-errors-pps": ("tx-errors", 1)}
RATES = {
    "pps": (Leaf("name", Column("Port")), *(Leaf(name, right(title), show=si) for name, title in (
        ("rx-pps", "Rx pps"), ("tx-pps", "Tx pps"), ("rx-missed-pps", "Missed/s"), ("rx-errors-pps", "Rx errors/s"),
        ("tx-errors-pps", "Tx errors/s")))),
    "bps": (Leaf("name", Column("Port")), Leaf("rx-bps", right("Rx bps"), show=si),
            Leaf("tx-bps", right("Tx bps"), show=si), Leaf("rx-load", right("Rx load")),
            Leaf("tx-load", right("Tx load"))),
}


def show(context: Context, match: Match) -> None:
    name = match.args.get("PORT")
    ports = context.client.one_or_all("port", name, "port")
    if context.options.json or not match.args.keys() & {"statistics", "PORT"}:
        listing(context, PORT, ports, NONE)
    elif "statistics" in match.args:
        context.lines(table(context, COUNTERS, map(cleared.named_counters, ports), NONE))
        context.lines(cleared.note(ports))
        if name:
            context.lines(inside(context, ports[0].get("statistics", {})))
    else:
        context.line(f"Port {name} is {ports[0].get('status', 'unknown')}")
        context.lines(details(context, PORT, {**ports[0], "queue": shaped(context, name)}))


def shaped(context: Context, name: str) -> dict | None:
    """The queue of a port; None where it sends straight."""
    return next((queue for queue in context.client.entries("queue") if queue["port"] == name), None)


def inside(context: Context, seen: dict) -> Iterator[str]:
    """Counters of the queues, and other counters of the device: never cleared."""
    if queues := seen.get("queue"):
        yield from ("", *table(context, QUEUE, queues))
    offloads = [[name, count(seen[name])] for name in ("checksum-completed", "offload-cut") if seen.get(name)]
    extended = [[entry["name"], count(entry["value"])] for entry in seen.get("extended", []) if entry.get("value")]
    for left, values, rows in (("Sender offloads", "Packets", offloads), ("Counter of the device", "Value", extended)):
        if rows:
            yield from ("", *render.table((Column(left), right(values)), rows, context.room))


def show_rates(context: Context, match: Match) -> None:
    """Two samples, a second apart."""
    name, kind = match.args.get("PORT"), "pps" if "pps" in match.args else "bps"
    before, after, seconds = rates.two_looks(
        context, lambda: rates.named(context.client.one_or_all("port", name, "port")))
    found = [measured(before.get(port, {}), now, seconds) for port, now in after.items()]
    if context.options.json:
        context.json(found)
    else:
        rows = [{**port, **load(port, after[port["name"]])} for port in found]
        context.lines(table(context, RATES[kind], rows, NONE))


def measured(before: dict, after: dict, seconds: float) -> dict:
    """Rates of one port per second; bits count the frames as DPDK does."""
    was, now = before.get("statistics", {}), after.get("statistics", {})
    found = {"name": after["name"], "seconds": round(seconds, 3)}
    for name, (counter, factor) in MEASURED.items():
        rate = rates.rate(was.get(counter), now.get(counter), seconds)
        found[name] = None if rate is None else factor * rate
    return found


def load(port: dict, now: dict) -> dict:
    """The share of its link that a port uses."""
    wire = (now.get("speed") or 0) * 1e6
    return {f"{way}-load": render.percent(port[f"{way}-bps"] or 0, wire) for way in ("rx", "tx")}
