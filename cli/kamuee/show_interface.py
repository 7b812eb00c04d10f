# SPDX-License-Identifier: BSD-3-Clause
"""show interface [INTERFACE] [statistics [pps|bps]]"""
from __future__ import annotations

from collections.abc import Callable

from kamuee import cleared, rates
from kamuee.context import Context
from kamuee.grammar import Match
from kamuee.leaf import Leaf, details, listing, table, words
from kamuee.render import Cell, Column, count, iec, right, si

NONE = "no interfaces; to create a port with its interface: 'set port NAME devargs DEVICE'"


def vlan(interface: dict) -> str | None:
    """The VLAN, or both of them, the outer one first: 100.10."""
    tags = [str(interface[name]) for name in ("outer-vlan", "vlan") if interface.get(name)]
    return ".".join(tags) if interface.get("vlan") else None


def tagged(form: str) -> Callable[[dict], Cell]:
    """Shows a vport's port and VLAN."""
    return lambda interface: form.format(interface.get("port", "-"), tags) if (tags := vlan(interface)) else None


def in_order(interface: dict) -> list[dict]:
    """Its addresses: IPv4, IPv6, and link-local ones last."""
    return sorted(interface.get("address", ()),
                  key=lambda address: (":" in address["ip"], address["ip"].startswith("fe80:")))


def with_length(address: dict) -> str:
    return f"{address['ip']}/{address['prefix-length']}"


def addresses(mark: str) -> Callable[[dict], Cell | list[str]]:
    """Shows the addresses that contain the mark, a line each, with their status."""
    return lambda interface: [
        with_length(address) + ", secondary" * address["secondary"] + ", tentative" * (address["status"] == "tentative")
        for address in in_order(interface) if mark in address["ip"]] or "no address"


def reverse_path(interface: dict) -> str | None:
    modes = [f"{family} {mode}" for family in ("ipv4", "ipv6")
             if (mode := interface.get(f"urpf-{family}", "off")) != "off"]
    if modes and interface.get("urpf-allow-default"):
        modes.append("default route allowed")
    return ", ".join(modes) or None


def sampled_by(interface: dict) -> str | None:
    return ", ".join(name for leaf, name in (("sflow", "sFlow"), ("ipfix", "IPFIX")) if interface.get(leaf)) or None


def if_true(text: str) -> Callable[[bool], Cell]:
    return lambda flag: text if flag else None


def traffic(way: str) -> Callable[[dict], Cell]:
    """Shows packets and bytes of a direction."""
    def shown(interface: dict) -> Cell:
        seen = cleared.grown(interface)
        if f"{way}-packets" not in seen:
            return None
        return f"{count(seen[f'{way}-packets'])} packets, {iec(seen.get(f'{way}-bytes', 0))}"
    return shown


def packets(name: str) -> Callable[[dict], Cell]:
    """Shows a counter of packets."""
    return lambda interface: count(cleared.grown(interface).get(f"{name}-packets"))


def packets_if_any(name: str) -> Callable[[dict], Cell]:
    return lambda interface: count(n) if (n := cleared.grown(interface).get(f"{name}-packets")) else None


INTERFACE = (  # in the order of the details
    Leaf("name", Column("Interface")),
    Leaf("status", Column("Status"), at=1),
    Leaf("description", Column("Description", wide=True), label=True, at=8),
    Leaf("kind", label=True),
    Leaf("", Column("VLAN"), show=tagged("{}.{}"), at=2),
    Leaf("", label="port", show=lambda interface: tagged("{}, VLAN {}")(interface) or interface.get("port")),
    Leaf("", label="other end", show=lambda interface: f"{interface['peer']}, virtual router {interface.get('peer-vr', '?')}"
         if "peer" in interface else None),
    Leaf("tpid", label="outer tag"),
    Leaf("vr", Column("VR"), "virtual router", at=3),
    Leaf("mac", Column("MAC", wide=True), "MAC", at=5),
    Leaf("accepted-mac", label="virtual MACs", show=words),
    Leaf("mtu", right("MTU", wide=True), "MTU", at=4),
    Leaf("ifindex", right("Ifindex", wide=True), at=6),
    Leaf("ifindex", label="TAP", show="ifindex {}".format),
    Leaf("", Column("Addresses", wrap=True), show=lambda interface: words(map(with_length, in_order(interface))), at=7),
    Leaf("", label="IPv4", show=addresses(".")),
    Leaf("", label="IPv6", show=addresses(":")),
    Leaf("", label="reverse path", show=reverse_path),
    Leaf("redirect", label="redirects", show=if_true("sent")),
    Leaf("", label="sampled by", show=sampled_by),
    Leaf("directed-broadcast", label="directed broadcast", show=if_true("forwarded")),
    Leaf("fast-reroute", label="fast reroute", show=if_true("by the default route")),
    Leaf("pcp", label="class by priority", show=lambda classes: ", ".join(f"{one['pcp']} -> {one['class']}" for one in classes)),
    Leaf("", label="received", show=traffic("rx")),
    Leaf("", label="sent", show=traffic("tx")),
    Leaf("", label="dropped", show=packets("drop")),
    Leaf("", label="uRPF drops",
         show=lambda interface: packets("urpf")(interface) if reverse_path(interface) else None),
    Leaf("", label="unknown VLAN", show=packets_if_any("vlan-unknown")),
    Leaf("", label="to kernel", show=packets("punt")),
    Leaf("", label="from kernel", show=packets("inject")),
    Leaf("", label="cleared", show=lambda interface: cleared.when(interface) or "never"),
)
COUNTERS = (  # of cleared.grown()
    Leaf("name", Column("Interface")),
    *(Leaf(f"{name}-packets", right(title), show=count) for name, title in (
        ("rx", "Rx packets"), ("tx", "Tx packets"), ("drop", "Drops"), ("punt", "To kernel"),
        ("inject", "From kernel"))),
    Leaf("rx-bytes", right("Rx bytes", wide=True), show=iec),
    Leaf("tx-bytes", right("Tx bytes", wide=True), show=iec),
)
# Rates of measured(): each counter and its factor.
MEASURED = {"rx-pps": ("rx-packets", 1), "tx-pps": ("tx-packets", 1), "rx-bps": ("rx-bytes", 8), "tx-bps": ("tx-bytes", 8),
            "drop-pps": ("drop-packets", 1)}
RATES = {
    "pps": (Leaf("name", Column("Interface")), Leaf("rx-pps", right("Rx pps"), show=si), Leaf("tx-pps", right("Tx pps"), show=si),
            Leaf("drop-pps", right("Drops/s"), show=si)),
    "bps": (Leaf("name", Column("Interface")), Leaf("rx-bps", right("Rx bps"), show=si), Leaf("tx-bps", right("Tx bps"), show=si)),
}


def show(context: Context, match: Match) -> None:
    name = match.args.get("INTERFACE")
    interfaces = context.client.one_or_all("interface", name, "interface")
    if context.options.json or not match.args.keys() & {"statistics", "INTERFACE"}:
        listing(context, INTERFACE, interfaces, NONE)
    elif "statistics" in match.args:
        context.lines(table(context, COUNTERS, map(cleared.named_counters, interfaces), NONE))
        context.lines(cleared.note(interfaces))
    else:
        context.line(f"Interface {name} is {interfaces[0].get('status', 'unknown')}")
        context.lines(details(context, INTERFACE, interfaces[0]))


def show_rates(context: Context, match: Match) -> None:
    """Two samples, a second apart."""
    name, kind = match.args.get("INTERFACE"), "pps" if "pps" in match.args else "bps"
    before, after, seconds = rates.two_looks(context, lambda: rates.named(context.client.one_or_all("interface", name, "interface")))
    found = [measured(before.get(interface, {}), now, seconds) for interface, now in after.items()]
    if context.options.json:
        context.json(found)
    else:
        context.lines(table(context, RATES[kind], found, NONE))


def measured(before: dict, after: dict, seconds: float) -> dict:
    """Rates of one interface per second; bits count frames without their checksum."""
    was, now = before.get("statistics", {}), after.get("statistics", {})
    found = {"name": after["name"], "seconds": round(seconds, 3)}
    for name, (counter, factor) in MEASURED.items():
        rate = rates.rate(was.get(counter), now.get(counter), seconds)
        found[name] = None if rate is None else factor * rate
    return found
