# SPDX-License-Identifier: BSD-3-Clause
"""show queue [PORT] [vr VR|vport INTERFACE] [class CLASS]: packets sent, waiting and dropped, by client."""
from __future__ import annotations

from collections.abc import Iterator

from kamuee.context import Context
from kamuee.errors import KamueeError
from kamuee.grammar import Match
from kamuee.leaf import Leaf, table
from kamuee.render import Cell, Column, count, fields, right, si
from kamuee.show_latency import span

NONE = "no port has a queue; to shape one: 'set port PORT queue rate 100M'"
KINDS = ("vr", "vport")
LONGEST_NS = 131_072_000


def dropped(one: dict) -> int:
    """Drops of the queue, in a class or in all classes of a client."""
    return sum(map(dropped, one["class"])) if "class" in one and isinstance(one["class"], list) \
        else sum(one.get("dropped", {}).values())


def marked(client: dict) -> int:
    return sum(part.get("marked-packets", 0) for part in client.get("class", []))


def longest(client: dict, delay: str) -> int | None:
    """The largest of its classes' delays."""
    return max((part[delay] for part in client.get("class", []) if delay in part), default=None)


def wait(ns: int | None) -> Cell:
    """A waiting time; the last bucket stands for all longer ones."""
    return None if ns is None else f"> {span(LONGEST_NS)}" if ns >= LONGEST_NS else span(ns)


def delay(name: str):
    return lambda part: wait(part.get(name))


def service(part: dict) -> Cell:
    if "weight" in part:
        return f"weight {part['weight']}"
    return f"strict {si(part['strict-rate'])}" if "strict-rate" in part else "strict"


def discipline(part: dict) -> Cell:
    return f"{part.get('discipline')}{' ecn' if part.get('ecn') and part.get('discipline') != 'tail-drop' else ''}"


CLIENT = (
    Leaf("", Column("Client"), show=lambda client: f"{client['kind']} {client['name']}"),
    Leaf("rate", right("Rate"), show=si),
    Leaf("guarantee", right("Guarantee"), show=si),
    Leaf("maximum", right("Maximum"), show=si),
    Leaf("weight", right("Weight")),
    Leaf("waiting-packets", right("Waiting"), show=count),
    Leaf("", right("99 %"), show=lambda client: wait(longest(client, "delay-p99"))),
    Leaf("", right("Dropped"), show=lambda client: count(dropped(client))),
    Leaf("", right("Marked", wide=True), show=lambda client: count(marked(client))),
    Leaf("waiting-bytes", right("Bytes", wide=True), show=count),
    Leaf("limit", right("Limit", wide=True), show=count),
    Leaf("reserve", right("Reserve", wide=True), show=count),
)
CLASS = (
    Leaf("class", right("Class")),
    Leaf("", Column("Service"), show=service),
    Leaf("", Column("Discipline"), show=discipline),
    Leaf("rate", right("Rate"), show=si),
    Leaf("waiting-packets", right("Waiting"), show=count),
    Leaf("", right("Median"), show=delay("delay-p50")),
    Leaf("", right("99 %"), show=delay("delay-p99")),
    Leaf("", right("Max", wide=True), show=delay("delay-max")),
    Leaf("", right("Dropped"), show=lambda part: count(dropped(part))),
    Leaf("marked-packets", right("Marked", wide=True), show=count),
    Leaf("sent-packets", right("Sent packets", wide=True), show=count),
    Leaf("sent-bytes", right("Sent bytes", wide=True), show=count),
    Leaf("limit", right("Limit", wide=True), show=count),
)


def show(context: Context, match: Match) -> None:
    found = context.client.one_or_all("queue", match.args.get("PORT"), "queue of port")
    queues = [narrowed(queue, match.args) for queue in found]
    check(queues, match.args)
    if context.options.json:
        context.json(queues)
    elif not queues:
        context.line(NONE)
    else:
        inside = match.args.keys() & {"PORT", "VR", "INTERFACE", "CLASS"}
        for n, queue in enumerate(queues):
            context.lines([""] if n else [])
            context.lines(head(context, queue))
            context.lines(classes(context, queue, match.args) if inside else clients_table(context, queue))


def narrowed(queue: dict, args: dict) -> dict:
    """The queue, reduced to the requested parts."""
    found = dict(queue)
    for kind, name in zip(KINDS, ("VR", "INTERFACE")):
        if args.keys() & {"VR", "INTERFACE"}:
            found[kind] = [client for client in queue.get(kind, []) if client["name"] == args.get(name)]
        if "CLASS" in args:
            found[kind] = [{**client, "class": [part for part in client.get("class", []) if part["class"] == int(args["CLASS"])]}
                           for client in found.get(kind, [])]
    return found


def clients(queue: dict) -> list[dict]:
    return [{**client, "kind": kind} for kind in KINDS for client in queue.get(kind, [])]


def check(queues: list[dict], args: dict) -> None:
    """Checks that a named client belongs to a queue."""
    for kind, name in zip(("virtual router", "sub-interface"), ("VR", "INTERFACE")):
        if name in args and not any(map(clients, queues)):
            raise KamueeError(f"no queue serves {kind} {args[name]}: it is not configured there and has sent nothing; 'show queue' lists those that have")


def head(context: Context, queue: dict) -> Iterator[str]:
    rate, wanted = queue.get("rate", 0), queue.get("configured-rate")
    whole = [(what, queue.get(leaf)) for what, leaf in (("port full", "dropped-port"), ("ring full", "dropped-ring"))]
    core = queue.get("core", -1)
    yield f"Queue of {queue['port']}" + ("" if queue.get("active") else " (not active: the port is stopped)")
    yield from fields((
        ("rate", si(rate) + (f", configured {si(wanted)}" if queue.get("lowered") and wanted else "")
         + (": the device takes less" if queue.get("lowered") else "")),
        ("core", str(core) if core >= 0 else None),
        ("waiting", f"{count(queue.get('waiting-packets', 0))} of {count(queue.get('packets', 0))} packets"),
        ("dropped", ", ".join(f"{what} {count(n)}" for what, n in whole if n) or None)), context.room)


def clients_table(context: Context, queue: dict) -> Iterator[str]:
    yield ""
    yield from table(context, CLIENT, clients(queue), "nobody has sent yet")


def is_used(part: dict) -> bool:
    return bool(part.get("sent-packets") or part.get("waiting-packets") or dropped(part))


def classes(context: Context, queue: dict, args: dict) -> Iterator[str]:
    """Each client, with its used classes; all classes of a named client."""
    named = args.keys() & {"VR", "INTERFACE", "CLASS"}
    if not clients(queue):
        yield "nobody has sent yet"
    for client in clients(queue):
        yield ""
        yield from table(context, CLIENT, [client])
        parts = [part for part in client.get("class", []) if named or is_used(part)]
        if parts:
            yield from indented(table(context, CLASS, parts))
        yield from indented(reasons(context, parts))


def reasons(context: Context, parts: list[dict]) -> Iterator[str]:
    """Drop reasons of each class."""
    said = [(f"class {part['class']} dropped", ", ".join(f"{reason.replace('-', ' ')} {count(n)}"
                                                         for reason, n in part.get("dropped", {}).items() if n))
            for part in parts if dropped(part)]
    return fields(said, context.room - 2, indent=0)


def indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {text}" for text in lines)
