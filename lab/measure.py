# SPDX-License-Identifier: BSD-3-Clause
"""What each layer of a router knows: BGP, the kernel, kamueed's RIB and FIB.

Used by the demo and the end-to-end tests. The cheap counts (`count_*`) may be polled while a table loads; the exact
ones (`kernel_routes`, `fib_routes`, `fib_differences`) read whole tables.
"""
import json
import time
from collections.abc import Iterator

from kamuee.client import Client
from kamuee.errors import KamueeError
from kamuee.lab.kamueenode import KamueeNode
from kamuee.lab.netns import Namespace, sh
from kamuee.lab.nodes import Router

FAMILIES = ("ipv4", "ipv6")
# Types of routes that the kernel holds by prefix and that decide where a packet goes.
DECIDING = ("unicast", "blackhole", "unreachable", "prohibit")
# A route, with the same form from the kernel's dump and from ours.
Route = tuple[str, frozenset[tuple[str, str]]]


def client(node: KamueeNode) -> Client:
    return Client(str(node.socket))


# --- cheap counts ---

def count_received(node: Router, peers: list[str]) -> int:
    """Prefixes received from some neighbors."""
    summary = node.frr.json("show bgp summary")
    return sum(family.get("peers", {}).get(peer, {}).get("pfxRcd", 0)
               for family in summary.values() for peer in peers)


def count_kernel(namespace: Namespace) -> int:
    """Routes in the kernel's tables of both families, local ones among them; exact to a few."""
    n_v4, in_main = 0, False
    for line in namespace.run("cat /proc/net/fib_triestat").split("\n"):
        words = line.split()
        if line.endswith(":") and len(words) == 1:
            # As long as there are no rules, 'Main' and 'Local' are one trie that is shown twice.
            in_main = words[0] == "Main:"
        elif in_main and len(words) == 2 and words[0] == "Prefixes:":
            n_v4 = int(words[1])
    fields = namespace.run("cat /proc/net/rt6_stats").split()
    return n_v4 + int(fields[3], 16)


def fib_counts(node: KamueeNode, vr: str = "default") -> dict[str, int]:
    """{'rib': candidates, 'fib': prefixes, 'bytes': of the FIBs}, both families together."""
    entry = client(node).state(f"vr={vr}")
    entry = entry[0] if isinstance(entry, list) else entry
    fibs = entry.get("fib", [])
    return {"rib": sum(fib["rib-routes"] for fib in fibs), "fib": sum(fib["routes"] for fib in fibs),
            "bytes": sum(fib["bytes"] for fib in fibs)}


def count_messages(node: KamueeNode, vr: str = "default") -> int:
    """Messages of the kernel's about routes, links, addresses and neighbors that kamueed has read."""
    entry = client(node).state(f"vr={vr}")
    return (entry[0] if isinstance(entry, list) else entry)["messages"]


def is_synced(node: KamueeNode, vr: str = "default") -> bool:
    entry = client(node).state(f"vr={vr}")
    return bool((entry[0] if isinstance(entry, list) else entry)["synced"])


# --- the ledger ---

def ledger(node: KamueeNode) -> dict[str, int]:
    return client(node).state("ledger")


def vr_imbalances(node: KamueeNode) -> dict[str, dict[str, int]]:
    """The ledger of each virtual router whose sides differ."""
    return {vr["name"]: vr["ledger"] for vr in client(node).entries("vr") if vr["ledger"]["imbalance"]}


def drops(node: KamueeNode) -> dict[str, int]:
    """Packets by reason, where there are any."""
    return {drop["name"]: drop["packets"] for drop in client(node).entries("drop") if drop["packets"]}


def losses(client: Client) -> dict[str, int]:
    """Packets lost so far, by place: the daemon's drop reasons and its ports' counts."""
    found = {f"drop {d['name']}": d.get("packets", 0) for d in client.entries("drop")}
    for port in client.entries("port"):
        for counter in ("rx-missed", "rx-errors", "rx-no-buffer", "tx-errors"):
            found[f"{port['name']} {counter}"] = port.get("statistics", {}).get(counter, 0)
    return {where: n for where, n in found.items() if n}


def port_packets(node: KamueeNode) -> dict[str, tuple[int, int]]:
    """(received, sent) packets of each port."""
    return {port["name"]: (port["statistics"]["rx-packets"], port["statistics"]["tx-packets"])
            for port in client(node).entries("port")}


# --- whole tables ---

def canonical(prefix: str, family: str) -> str:
    """The kernel's tools write 'default' and leave out the length of host routes."""
    if prefix == "default":
        return "0.0.0.0/0" if family == "ipv4" else "::/0"
    if "/" not in prefix:
        return f"{prefix}/{32 if family == 'ipv4' else 128}"
    return prefix


def kernel_routes(namespace: Namespace, family: str, table: str = "main") -> dict[str, Route]:
    """The best route of each prefix: {prefix: (type, {(interface, gateway)})}; lowest metric wins."""
    argv = ["ip", "-n", namespace.name, "-4" if family == "ipv4" else "-6", "-j", "-N", "route", "show",
            "table", table]
    routes: dict[str, Route] = {}
    metrics: dict[str, int] = {}
    for entry in json.loads(sh(argv, timeout_s=120) or "[]"):
        kind = TYPE_NAMES.get(str(entry.get("type", "unicast")), str(entry.get("type", "unicast")))
        prefix = canonical(entry["dst"], family)
        metric = entry.get("metric", 0)
        if kind not in DECIDING or prefix in metrics and metrics[prefix] <= metric:
            continue
        metrics[prefix] = metric
        routes[prefix] = (kind, frozenset(_kernel_hops(entry)) if kind == "unicast" else frozenset())
    return routes


# Numbers that `ip -N` prints for types (linux/rtnetlink.h).
TYPE_NAMES = {"1": "unicast", "2": "local", "3": "broadcast", "4": "anycast", "5": "multicast",
              "6": "blackhole", "7": "unreachable", "8": "prohibit", "9": "throw"}


def _kernel_hops(entry: dict) -> Iterator[tuple[str, str]]:
    for hop in entry.get("nexthops") or [entry]:
        if "dead" in hop.get("flags", []) or "linkdown" in hop.get("flags", []):
            continue
        yield hop.get("dev", ""), hop.get("gateway") or hop.get("via", {}).get("host", "")


def fib_routes(node: KamueeNode, family: str, vr: str = "default") -> dict[str, Route]:
    """The same from kamueed: the active routes."""
    routes: dict[str, Route] = {}
    for row in client(node).rows(f"routes={vr},{family}", "route"):
        kind = "unicast" if row["type"] == "connected" else row["type"]
        if not row.get("active") or kind not in DECIDING:
            continue
        hops = frozenset((hop.get("interface", ""), hop.get("gateway", "")) for hop in row.get("hop", [])
                         if hop.get("alive", True))
        routes[row["prefix"]] = (kind, hops if kind == "unicast" else frozenset())
    return routes


def ours(routes: dict[str, Route], interfaces: set[str]) -> dict[str, Route]:
    """The routes that a FIB can have: not those through other interfaces (such as lo), and not the link-local
    prefix, which is on every link and so no place to forward to."""
    return {prefix: route for prefix, route in routes.items() if not prefix.startswith("fe80::/")
            and (not route[1] or {interface for interface, _ in route[1]} & interfaces)}


def fib_differences(node: KamueeNode, vr: str = "default", limit: int = 10) -> list[str]:
    """Where kernel and FIB disagree, as sentences; empty when they agree."""
    namespace = node.vrs[vr] if vr != "default" else node.namespace
    interfaces = {name for name, interface in node.node.interfaces.items()
                  if (interface.vr or "default") == vr}
    found = []
    for family in FAMILIES:
        kernel = ours(kernel_routes(namespace, family), interfaces)
        fib = ours(fib_routes(node, family, vr), interfaces)
        for prefix in kernel.keys() | fib.keys():
            if kernel.get(prefix) != fib.get(prefix):
                found.append(f"{prefix}: kernel {_words(kernel.get(prefix))}, FIB {_words(fib.get(prefix))}")
    return found[:limit]


def _words(route: Route | None) -> str:
    if route is None:
        return "nothing"
    hops = ", ".join(sorted(f"{gateway or 'link'} on {interface}" for interface, gateway in route[1]))
    return f"{route[0]} {hops}".strip()


# --- single lookups ---

def kernel_lookups(namespace: Namespace, addresses: list[str]) -> dict[str, tuple[str, str]]:
    """`ip route get` for each address: {address: (interface, gateway)}; no entry where there is no route."""
    found: dict[str, tuple[str, str]] = {}
    for v6 in (False, True):
        wanted = [address for address in addresses if (":" in address) == v6]
        if not wanted:
            continue
        text = sh(["ip", "-6" if v6 else "-4", "-n", namespace.name, "-j", "-force", "-batch", "-"],
                  check=False, stdin="".join(f"route get {address}\n" for address in wanted))
        for entry in _json_values(text):
            for route in entry:
                found[route["dst"]] = (route.get("dev", ""), route.get("gateway", ""))
    return found


def fib_lookups(node: KamueeNode, addresses: list[str], vr: str = "default") -> dict[str, tuple[str, str]]:
    """The same from kamueed's FIB."""
    found: dict[str, tuple[str, str]] = {}
    for at in range(0, len(addresses), 100):
        reply = client(node).call("lookup", vr=vr, address=addresses[at:at + 100])
        for result in reply.get("result", []):
            if result.get("interface"):
                found[result["address"]] = (result["interface"], result.get("gateway", ""))
    return found


def different_lookups(node: KamueeNode, addresses: list[str], patience_s: float = 15,
                      step_s: float = 0.5) -> dict[str, tuple[object, object]]:
    """Where kernel and FIB send an address to different places: {address: (kernel, FIB)}.

    The two are read one after the other, and a route may change between. So whoever differs is asked again:
    a difference is what lasts."""
    end = time.monotonic() + patience_s
    while True:
        kernel, fib = kernel_lookups(node.namespace, addresses), fib_lookups(node, addresses)
        addresses = [address for address in addresses if kernel.get(address) != fib.get(address)]
        if not addresses or time.monotonic() > end:
            return {address: (kernel.get(address), fib.get(address)) for address in addresses}
        time.sleep(step_s)


def _json_values(text: str) -> Iterator[list]:
    """The JSON values that stand one after the other in a text."""
    decoder = json.JSONDecoder()
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return
        value, at = decoder.raw_decode(text, at)
        yield value
