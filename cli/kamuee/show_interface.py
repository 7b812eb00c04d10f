# SPDX-License-Identifier: BSD-3-Clause
"""show interface [INTERFACE] [statistics]"""
from __future__ import annotations

from collections.abc import Iterator

from kamuee import cleared, render
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.render import Cell, Column, count, iec, right
from kamuee.show_port import text

STATE = (Column("Interface"), Column("Status"), Column("VLAN"), Column("VR"), right("MTU", wide=True),
         Column("MAC", wide=True), right("Ifindex", wide=True), Column("Addresses", wrap=True), Column("Description", wide=True))
COUNTERS = (Column("Interface"), right("Rx packets"), right("Tx packets"), right("Drops"), right("To kernel"),
            right("From kernel"), right("Rx bytes", wide=True), right("Tx bytes", wide=True))
NONE = "no interfaces; to create a port with its interface: 'set port NAME devargs DEVICE'"


def show(context: Context, match: Match) -> None:
    name = match.args.get("INTERFACE")
    interfaces = context.client.one_or_all("interface", name, "interface")
    if context.options.json:
        context.json(interfaces)
    elif "statistics" in match.args:
        context.lines(render.table(COUNTERS, map(counters, interfaces), context.width, context.wide, NONE))
        context.lines(cleared.note(interfaces))
    elif name:
        context.line(f"Interface {name} is {interfaces[0].get('status', 'unknown')}")
        context.lines(render.fields(details(interfaces[0]), context.room))
    else:
        context.lines(render.table(STATE, map(state, interfaces), context.width, context.wide, NONE))


def state(interface: dict) -> list[str | None]:
    return [interface["name"], interface.get("status"), f"{interface.get('port')}.{tagged}" if (tagged := vlan(interface)) else None,
            interface.get("vr"), text(interface, "mtu"), interface.get("mac"), text(interface, "ifindex"),
            " ".join(map(with_length, in_order(interface))) or None, interface.get("description")]


def in_order(interface: dict) -> list[dict]:
    """Its addresses: IPv4, IPv6, and link-local ones last."""
    return sorted(interface.get("address", ()), key=lambda address: (":" in address["ip"], address["ip"].startswith("fe80:")))


def with_length(address: dict) -> str:
    return f"{address['ip']}/{address['prefix-length']}"


def addresses(interface: dict, family: str) -> list[str]:
    """Each with its length and what is to be said of it, a line each."""
    mark = ":" if family == "ipv6" else "."
    return [with_length(address) + ", secondary" * address["secondary"] + ", tentative" * (address["status"] == "tentative")
            for address in in_order(interface) if mark in address["ip"]]


def vlan(interface: dict) -> str | None:
    """The VLAN, or both of them, the outer one first: 100.10."""
    if not interface.get("vlan"):
        return None
    outer = interface.get("outer-vlan")
    return f"{outer}.{interface['vlan']}" if outer else text(interface, "vlan")


def counters(interface: dict) -> list[str | None]:
    seen = cleared.grown(interface)
    return [interface["name"], *(count(seen.get(f"{name}-packets")) for name in ("rx", "tx", "drop", "punt", "inject")),
            iec(seen.get("rx-bytes")), iec(seen.get("tx-bytes"))]


def details(interface: dict) -> Iterator[tuple[str, Cell | list[str]]]:
    seen = cleared.grown(interface)
    tagged = vlan(interface)
    yield "description", interface.get("description")
    yield "kind", interface.get("kind")
    yield "port", f"{interface.get('port', '-')}, VLAN {tagged}" if tagged else interface.get("port")
    yield "outer tag", interface.get("tpid")
    yield "virtual router", interface.get("vr")
    yield "MAC", interface.get("mac")
    yield "virtual MACs", " ".join(interface.get("accepted-mac", [])) or None
    yield "MTU", text(interface, "mtu")
    yield "TAP", None if interface.get("ifindex") is None else f"ifindex {interface['ifindex']}"
    yield "IPv4", addresses(interface, "ipv4") or "no address"
    yield "IPv6", addresses(interface, "ipv6") or "no address"
    yield "reverse path", reverse_path(interface)
    yield "redirects", "sent" if interface.get("redirect") else None
    yield "sampled by", ", ".join(name for leaf, name in (("sflow", "sFlow"), ("ipfix", "IPFIX")) if interface.get(leaf)) or None
    yield "directed broadcast", "forwarded" if interface.get("directed-broadcast") else None
    for way, name in (("received", "rx"), ("sent", "tx")):
        if f"{name}-packets" in seen:
            yield way, f"{count(seen[f'{name}-packets'])} packets, {iec(seen.get(f'{name}-bytes', 0))}"
    yield "dropped", count(seen.get("drop-packets"))
    if reverse_path(interface):
        yield "uRPF drops", count(seen.get("urpf-packets"))
    yield "to kernel", count(seen.get("punt-packets"))
    yield "from kernel", count(seen.get("inject-packets"))
    yield "cleared", cleared.when(interface) or "never"


def reverse_path(interface: dict) -> str | None:
    modes = [f"{family} {mode}" for family in ("ipv4", "ipv6") if (mode := interface.get(f"urpf-{family}", "off")) != "off"]
    if modes and interface.get("urpf-allow-default"):
        modes.append("default route allowed")
    return ", ".join(modes) or None
