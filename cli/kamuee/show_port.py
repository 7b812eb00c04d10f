# SPDX-License-Identifier: BSD-3-Clause
"""show port [PORT] [statistics [pps|bps]]"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee import cleared, rates, render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Column, count, iec, right, si, speed

STATE = (Column("Port"), Column("Status"), right("Speed"), right("MTU"), right("RxQ"), right("TxQ"),
         Column("MAC"), Column("Driver"), Column("Rx mode", wide=True), right("Socket", wide=True), Column("Device", wide=True),
         Column("Namespace", wide=True))
COUNTERS = (Column("Port"), right("Rx packets"), right("Rx bytes"), right("Tx packets"), right("Tx bytes"),
            right("Missed"), right("Errors"), right("No buffer", wide=True),
            right("Checksums", wide=True), right("Cut", wide=True))
RATES = {
    "pps": (Column("Port"), right("Rx pps"), right("Tx pps"), right("Missed/s"), right("Rx errors/s"),
            right("Tx errors/s")),
    "bps": (Column("Port"), right("Rx bps"), right("Tx bps"), right("Rx load"), right("Tx load")),
}

NONE = "no ports; to create one: 'set port NAME kernel-interface eth1', or 'devargs DEVICE'"


def show(context: Context, match: Match) -> None:
    name = match.args.get("PORT")
    ports = context.client.one_or_all("port", name, "port")
    if context.options.json:
        context.json(ports)
    elif "statistics" in match.args:
        context.lines(render.table(COUNTERS, map(counters, ports), context.width, context.wide, NONE))
        context.lines(cleared.note(ports))
        if name:
            context.lines(inside(ports[0], context.room))
    elif name:
        context.line(f"Port {name} is {ports[0].get('status', 'unknown')}")
        context.lines(render.fields(details(ports[0]), context.room))
    else:
        context.lines(render.table(STATE, map(state, ports), context.width, context.wide, NONE))


def state(port: dict) -> list[str | None]:
    return [port["name"], port.get("status"), speed(port.get("speed")), text(port, "mtu"),
            text(port, "rx-queues"), text(port, "tx-queues"), port.get("mac"), port.get("driver"), port.get("rx-mode"),
            text(port, "socket"), port.get("kernel-interface") or port.get("devargs"), port.get("namespace") or None]


def counters(port: dict) -> list[str | None]:
    seen = cleared.grown(port)
    return [port["name"], count(seen.get("rx-packets")), iec(seen.get("rx-bytes")),
            count(seen.get("tx-packets")), iec(seen.get("tx-bytes")), count(seen.get("rx-missed")),
            count(seen.get("rx-errors", 0) + seen.get("tx-errors", 0)), count(seen.get("rx-no-buffer")),
            count(seen.get("checksum-completed")), count(seen.get("offload-cut"))]


def details(port: dict) -> Iterator[tuple[str, str | None]]:
    yield "kernel interface", port.get("kernel-interface")
    yield "device", port.get("devargs")
    yield "driver", port.get("driver")
    yield "namespace", port.get("namespace") or None
    yield "DPDK port", text(port, "id")
    yield "MAC", port.get("mac")
    yield "MTU", text(port, "mtu")
    yield "speed", " ".join(filter(None, [speed(port.get("speed")), port.get("duplex")])) or None
    yield "queues", f"{port.get('rx-queues', '-')} receive, {port.get('tx-queues', '-')} transmit"
    yield "descriptors", f"{port.get('rx-descriptors', '-')} receive, {port.get('tx-descriptors', '-')} transmit"
    yield "rx-mode", port.get("rx-mode")
    yield "socket", text(port, "socket")
    yield "promiscuous", render.yes_no(port.get("promiscuous"))
    yield "RSS", " ".join(port.get("rss", [])) or "none"
    yield "offloads", " ".join(port.get("offload", [])) or "none"


def inside(port: dict, width: int) -> Iterator[str]:
    """Counters of the queues, and what else the device counts and has counted: never cleared."""
    seen = port.get("statistics", {})
    queues = seen.get("queue", [])
    if queues:
        yield ""
        columns = (right("Queue"), right("Rx packets"), right("Rx bytes"), right("Forwarder"))
        yield from render.table(columns, [[text(q, "queue"), count(q.get("rx-packets")), iec(q.get("rx-bytes")),
                                           text(q, "forwarder")] for q in queues], width)
    left = [(name, seen[name]) for name in ("checksum-completed", "offload-cut") if seen.get(name)]
    if left:
        yield ""
        yield from render.table((Column("Sender offloads"), right("Packets")), [[name, count(value)] for name, value in left], width)
    extended = [entry for entry in seen.get("extended", []) if entry.get("value")]
    if extended:
        yield ""
        yield from render.table((Column("Counter of the device"), right("Value")),
                                [[entry["name"], count(entry["value"])] for entry in extended], width)


def show_rates(context: Context, match: Match) -> None:
    """Two looks, a second apart."""
    name, kind = match.args.get("PORT"), "pps" if "pps" in match.args else "bps"
    before, after, seconds = rates.two_looks(context, lambda: rates.named(context.client.one_or_all("port", name, "port")))
    found = [measured(before.get(port, {}), now, seconds) for port, now in after.items()]
    if context.options.json:
        context.json(found)
    else:
        row = packets if kind == "pps" else bits
        context.lines(render.table(RATES[kind], [row(port, after[port["name"]]) for port in found], context.width, none=NONE))


def measured(before: dict, after: dict, seconds: float) -> dict:
    """Rates of one port by the second; bits are those of the frames that DPDK counts."""
    was, now = before.get("statistics", {}), after.get("statistics", {})
    names = ("rx-packets", "tx-packets", "rx-bytes", "tx-bytes", "rx-missed", "rx-errors", "tx-errors")
    by = rates.per_second(was, now, names, seconds)
    return {"name": after["name"], "seconds": round(seconds, 3),
            "rx-pps": by["rx-packets"], "tx-pps": by["tx-packets"],
            "rx-bps": times8(by["rx-bytes"]), "tx-bps": times8(by["tx-bytes"]),
            "rx-missed-pps": by["rx-missed"], "rx-errors-pps": by["rx-errors"],
            "tx-errors-pps": by["tx-errors"]}


def times8(x: float | None) -> float | None:
    return None if x is None else 8 * x


def packets(port: dict, _state: dict) -> list[str | None]:
    return [port["name"], *(si(port[name]) for name in ("rx-pps", "tx-pps", "rx-missed-pps", "rx-errors-pps",
                                                        "tx-errors-pps"))]


def bits(port: dict, now: dict) -> list[str | None]:
    wire = (now.get("speed") or 0) * 1e6
    return [port["name"], si(port["rx-bps"]), si(port["tx-bps"]),
            render.percent(port["rx-bps"] or 0, wire), render.percent(port["tx-bps"] or 0, wire)]


def text(entry: dict, name: str) -> str | None:
    value = entry.get(name)
    return None if value is None else str(value)
