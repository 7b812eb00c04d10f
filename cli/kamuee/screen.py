# SPDX-License-Identifier: BSD-3-Clause
"""The monitor's screen: a sample as text for a terminal of any size; from 80x24 up with all sections.

Four sections share the lines, with up to three more if they have something to show and there is room; the last line of
a section counts what does not fit.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kamuee.render import count, duration, iec, si
from kamuee.show_latency import span
from kamuee.show_queue import wait

BARS = " ▁▂▃▄▅▆▇█"
FIXED = 6       # lines of the head, the ledger, the foot and between
NARROW = 74     # columns that all rates of a port take
RATES = (("Rx pps", "rx-pps"), ("Rx bps", "rx-bps"), ("Tx pps", "tx-pps"), ("Tx bps", "tx-bps"))
HISTORY = 240   # samples remembered for the sparklines
SEVERITY = {"attack": "red", "loss": "red", "config": "yellow"}


class Trail:
    """The received rate of each port and the changes of each table, for sparklines."""

    def __init__(self) -> None:
        self._rates: dict[str, deque[float]] = {}

    def add(self, sample: dict) -> None:
        for port in sample["port"]:
            self._add(port["name"], port["rx-pps"])
        for table in sample["table"]:
            self._add(table_key(table), table["updates-ps"])

    def _add(self, name: str, value: float | None) -> None:
        self._rates.setdefault(name, deque(maxlen=HISTORY)).append(value or 0.0)

    def line(self, name: str, width: int) -> str:
        return sparkline(list(self._rates.get(name, ()))[-width:])


def table_key(table: dict) -> str:
    return f"{table['vr']}/{table['family']}"  # no port has such a name


def sparkline(values: Sequence[float]) -> str:
    """A letter for each value, its height relative to the largest."""
    top = max(values, default=0)
    if top <= 0:
        return BARS[1] * len(values)
    return "".join(BARS[1 + round(value / top * (len(BARS) - 2))] for value in values)


def screen(sample: dict | None, trail: Trail, trouble: str, width: int, height: int) -> RenderableType:
    """The whole screen. `trouble` is the reason why there is no new sample, or ''."""
    if sample is None:
        return Group(Text(trouble or "waiting for the first sample …", style="red" if trouble else ""), foot(trouble))
    parts = [ports, threads, tables, drops]
    for part in (tables, threads):  # a small terminal shows some sections well rather than all of them counted
        if height - FIXED - 2 * len(parts) + 1 < 2 * len(parts):
            parts.remove(part)
    for name, part in (("alarm", alarms), ("interface", interfaces), ("queue", queues), ("latency", latency), ("punt", punt)):
        if sample[name] and height - FIXED - 3 * (len(parts) + 1) > 8:
            parts.insert(0 if part is alarms else len(parts), part)
    lengths = [len(sample[CONTENT[part]]) for part in parts]
    room = share(height - FIXED - 2 * len(parts) + 1, lengths)
    body = [section(sample, trail, n, width) for section, n in zip(parts, room)]
    return Group(head(sample), *body, Text(), ledger(sample), foot(trouble))


def share(room: int, wanted: Sequence[int]) -> list[int]:
    """Lines per section: at least one each, then one more in turn while there are lines and sections that want them."""
    given = [1] * len(wanted)
    left = room - len(wanted)
    while left > 0 and any(g < w for g, w in zip(given, wanted)):
        for i, wish in enumerate(wanted):
            if given[i] < wish and left > 0:
                given[i], left = given[i] + 1, left - 1
    return given


def grid(titles: Sequence[str], text_columns: int, width: int) -> Table:
    """A table without lines; the first columns are text, the others numbers."""
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), width=width, header_style="bold underline")
    for i, title in enumerate(titles):
        found.add_column(title, justify="left" if i < text_columns or not title else "right", no_wrap=True,
                         ratio=1 if i == len(titles) - 1 else None)
    return found


def cut(rows: list[list], n_lines: int, what: str) -> list[list]:
    """The rows that fit; the last line counts the rest."""
    if len(rows) <= n_lines:
        return rows
    kept = rows[:n_lines - 1]
    return [*kept, [f"… {len(rows) - len(kept)} more {what}"]]


def filled(table: Table, rows: list[list]) -> Table:
    for row in rows:
        table.add_row(*row)
    return table


def dash(value: str | None) -> str:
    return "-" if value is None else value


def ports(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    shown = RATES if width >= NARROW else RATES[::2]
    table = grid(("Port", "Status", *(title for title, _ in shown), "Drops/s", ""), 2, width)
    rows = [[port["name"], Text(port["status"] or "-", style="green" if port["status"] == "up" else "yellow"),
             *(dash(si(port[name])) for _, name in shown),
             Text(dash(si(port["drop-pps"])), style="yellow" if port["drop-pps"] else ""),
             Text(trail.line(port["name"], max(width - 66, 8)), style="cyan")] for port in sample["port"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "ports")))


def interfaces(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    shown = RATES if width >= NARROW else RATES[::2]
    table = grid(("Interface", "Status", *(title for title, _ in shown), "Drops/s", ""), 2, width)
    rows = [[one["name"], Text(one["status"] or "-", style="green" if one["status"] == "up" else "yellow"),
             *(dash(si(one[name])) for _, name in shown),
             Text(dash(si(one["drop-pps"])), style="yellow" if one["drop-pps"] else "")]
            for one in sorted(sample["interface"], key=lambda one: -((one["rx-bps"] or 0) + (one["tx-bps"] or 0)))]
    return Group(Text(), filled(table, cut(rows, n_lines, "interfaces")))


def threads(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    table = grid(("Thread", "Core", "Load", "pps", "Burst", ""), 1, width)
    rows = [[thread["name"], "any" if (thread["core"] or 0) < 0 else str(thread["core"]),
             "-" if thread["load"] is None else f"{100 * thread['load']:.0f}%", dash(si(thread["pps"])),
             "-" if thread["burst"] is None else f"{thread['burst']:.1f}", bar(thread["load"], 30)]
            for thread in sample["thread"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "threads")))


def bar(load: float | None, width: int) -> Text:
    full = round(min(load or 0.0, 1.0) * width)
    style = "red" if (load or 0) > 0.9 else "yellow" if (load or 0) > 0.7 else "green"
    return Text("█" * full, style=style) + Text("·" * (width - full), style="dim")


def tables(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    table = grid(("Table", "Family", "Prefixes", "Memory", "Updates/s", ""), 2, width)
    rows = [[entry["vr"], entry["family"], dash(count(entry["routes"])), dash(iec(entry["bytes"])),
             dash(si(entry["updates-ps"])), Text("synchronizing", style="yellow") if entry["synced"] is False else
             Text(trail.line(table_key(entry), max(width - 60, 8)), style="cyan")]
            for entry in sample["table"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "tables")))


def drops(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    table = grid(("Drops now", "/s", ""), 1, width)
    rows = [[Text(entry["name"], style=SEVERITY.get(entry["severity"] or "", "")), dash(si(entry["pps"])),
             Text(entry["sentence"] or "", style="dim", overflow="ellipsis")] for entry in sample["drop"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "reasons") or [[Text("none", style="green")]]))


def alarms(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    table = grid(("Alarm", "Severity", "Message"), 3, width)
    rows = [[Text(alarm["name"], style="bold red"), Text(alarm["severity"] or "", style="red"),
             Text(alarm["message"] or "", overflow="ellipsis")] for alarm in sample["alarm"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "alarms")))


def punt(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    table = grid(("Control plane", "pps", "Drops/s", "Waiting", ""), 1, width)
    rows = [[entry["class"], dash(si(entry["pps"])),
             Text(dash(si(entry["drop-pps"])), style="red" if entry["drop-pps"] else ""),
             dash(count(entry["queued"]))] for entry in sample["punt"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "classes")))


def latency(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    table = grid(("In", "Out", "Median", "99 %", "99.9 %", ""), 2, width)
    rows = [[pair["input"], pair["output"], *(dash(span(pair[name])) for name in ("median", "p99", "p999"))]
            for pair in sample["latency"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "pairs")))


def queues(sample: dict, trail: Trail, n_lines: int, width: int) -> RenderableType:
    table = grid(("Queue", "Client", "bps", "Guarantee", "Waiting", "99 %", "Drops/s", ""), 2, width)
    rows = [[one["port"], one["client"], dash(si(one["bps"])), dash(si(one["guarantee"])), dash(count(one["waiting"])),
             dash(wait(one["p99"])),
             Text(dash(si(one["drop-pps"])), style="yellow" if one["drop-pps"] else ""), share_bar(one, max(width - 70, 8))]
            for one in sample["queue"]]
    return Group(Text(), filled(table, cut(rows, n_lines, "clients")))


def share_bar(one: dict, width: int) -> Text:
    """The rate of a client between zero and its maximum; green up to its guarantee, which is marked by a line."""
    most = one["most"] or 1
    full, sure = (round(min((one[name] or 0) / most, 1.0) * width) for name in ("bps", "guarantee"))
    found = Text()
    for at in range(width):
        is_line = sure and at == min(sure, width - 1)
        found.append("|" if is_line else "█" if at < full else "·",
                     style="bold" if is_line else "dim" if at >= full else "green" if at < sure else "cyan")
    return found


CONTENT = {ports: "port", interfaces: "interface", queues: "queue", threads: "thread", tables: "table", drops: "drop", alarms: "alarm", punt: "punt",
           latency: "latency"}


def head(sample: dict) -> Text:
    said = Text(f"Kamuee {sample['version']}   up {dash(duration(sample['uptime']))}   memory "
                f"{dash(iec(sample['rss']))}", style="bold",
                overflow="ellipsis", no_wrap=True)
    names = ", ".join(sorted({alarm["name"] for alarm in sample["alarm"]}))
    return said + Text(f"   alarm: {names}", style="bold red") if names else said


def ledger(sample: dict) -> Text:
    """With packets in flight, the two sides of the ledger differ by the packets between two counters."""
    imbalance = sample["imbalance"]
    color = "yellow" if imbalance else "green"
    return Text(f"held {count(sample['held'])}   imbalance ") + Text(f"{imbalance:,}", color)


def foot(trouble: str) -> Text:
    return Text(trouble, style="red", overflow="ellipsis", no_wrap=True) if trouble else Text("q quits", style="dim")
