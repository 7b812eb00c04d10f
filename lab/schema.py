# SPDX-License-Identifier: BSD-3-Clause
"""What a lab file may say, checked and turned into plain data.

    nodes: {NAME: {kind: host|router|kamuee|vm|feed, ...}}     links: [[NODE:INTERFACE, NODE:INTERFACE], ...]

docs/features/lab.md describes the keys. Everything is checked here, before anything is built: names,
addresses, that links join existing nodes, that every interface is linked, that an interface is linked
once. The rest of the package trusts what it gets.

Names. A node's name has no '-', a lab's name may have: so the namespace LAB-NODE splits in one way only,
and two labs never meet. Further namespaces of a node are LAB-NODE.wire and LAB-NODE.VR.
"""
import re
from dataclasses import dataclass, field

from kamuee.lab.document import Value, parse
from kamuee.lab.errors import LabError
from kamuee.lab.vm.machine import CARDS, MEMORY_MIB

KINDS = ("host", "router", "kamuee", "vm", "feed")
ROUTERS = ("router", "kamuee", "vm")
VM_PORTS_MOST = 16               # root ports of the machine's bus
TPIDS = ("0x88a8", "0x8100")     # of outer tags; the kernel knows no other
DAEMONS = ("none", "frr", "bird")
FRR_DAEMONS = ("staticd", "bgpd", "ospfd", "ospf6d", "ripd", "ripngd", "isisd", "bfdd", "pimd", "vrrpd")
LAB_NAME = r"[a-z0-9][a-z0-9-]{0,23}"
NODE_NAME = r"[a-z][a-z0-9]{0,14}"
# A port's name leaves room for the 'w' at the start of its wire's name.
INTERFACE_NAME = r"[a-z][a-zA-Z0-9_-]{0,13}"

COMMON_KEYS = ("kind", "interfaces", "routes", "sysctl")
KEYS = {
    "host": COMMON_KEYS + ("vlan", "outer_vlan", "tpid"),
    "router": COMMON_KEYS + ("daemon", "daemons", "config", "asn", "router_id", "neighbors", "networks",
                             "ospf", "rip", "feed", "vrs"),
    "kamuee": COMMON_KEYS + ("daemon", "daemons", "config", "asn", "router_id", "neighbors", "networks",
                             "ospf", "rip", "feed", "vrs", "set", "memory"),
    "vm": COMMON_KEYS + ("daemon", "daemons", "config", "asn", "router_id", "neighbors", "networks",
                         "ospf", "rip", "feed", "set", "cards", "memory", "image"),
    "feed": COMMON_KEYS + ("asn", "peer", "next_hop_v6", "prefixes", "mrt", "generate", "routes_count",
                           "share", "seed", "hold"),
}
FEED_KEYS = ("asn", "prefixes", "mrt", "generate", "routes_count", "share", "seed")


@dataclass
class Interface:
    name: str
    addresses: list[str] = field(default_factory=list)
    vlan: int | None = None         # a sub-interface: 802.1Q tag ...
    port: str | None = None         # ... on this port
    outer_vlan: int | None = None   # QinQ: a second tag in front ...
    tpid: str = TPIDS[0]            # ... of this type
    vr: str | None = None           # virtual router that it belongs to; None is the default one
    mac: str | None = None
    members: list[str] = field(default_factory=list)    # a LAG of these


@dataclass
class Neighbor:
    address: str
    asn: int
    families: list[str]
    options: list[str] = field(default_factory=list)


@dataclass
class FeedSource:
    """The table a feed announces."""
    prefixes: str | None = None
    mrt: str | None = None
    generate: bool = False
    n_routes: int | None = None
    share: float = 1.0
    seed: int = 1


@dataclass
class Vr:
    """A virtual router; with a configuration, an FRR of its own."""
    routes: list[str] = field(default_factory=list)
    config: str | None = None


@dataclass
class Node:
    name: str
    kind: str
    where: Value
    interfaces: dict[str, Interface] = field(default_factory=dict)
    routes: list[str] = field(default_factory=list)
    sysctl: dict[str, str] = field(default_factory=dict)
    vlan: int | None = None
    outer_vlan: int | None = None
    tpid: str = TPIDS[0]
    daemon: str = "none"
    daemons: list[str] = field(default_factory=list)
    config: str | None = None
    asn: int | None = None
    router_id: str | None = None
    neighbors: list[Neighbor] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    ospf: list[str] = field(default_factory=list)
    rip: list[str] = field(default_factory=list)
    vrs: dict[str, Vr] = field(default_factory=dict)
    set_lines: list[str] = field(default_factory=list)
    memory_mib: int = 256
    cards: str = "e1000e"
    image: str | None = None
    peer: str | None = None
    next_hop_v6: str | None = None
    hold_s: int = 90
    feed: FeedSource | None = None

    def ports(self) -> list[Interface]:
        """The interfaces that are links, in the order of the file."""
        return [interface for interface in self.interfaces.values() if interface.vlan is None and not interface.members]

    def members(self) -> set[str]:
        """Ports in LAGs: they have no interface of their own."""
        return {name for interface in self.interfaces.values() for name in interface.members}

    def first_address(self, v6: bool = False) -> str | None:
        """The first address of the family, without its length."""
        for interface in self.interfaces.values():
            for address in interface.addresses:
                if (":" in address) == v6:
                    return address.partition("/")[0]
        return None


@dataclass
class Link:
    ends: tuple[tuple[str, str], tuple[str, str]]      # (node, interface) twice
    mtu: int
    where: Value


@dataclass
class Spec:
    name: str
    file: str
    nodes: dict[str, Node]
    links: list[Link]
    text: str                       # the YAML it was read from

    def mtu_of(self, node: str, interface: str) -> int:
        return next(link.mtu for link in self.links if (node, interface) in link.ends)


def load(path: str, name: str | None = None) -> Spec:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise LabError(f"{path}: cannot read the lab file: {error.strerror}") from None
    return load_text(text, path, name)


def load_text(text: str, file: str, name: str | None = None) -> Spec:
    root = parse(text, file)
    top = root.mapping(("name", "nodes", "links"))
    if "nodes" not in top:
        raise root.error("the key 'nodes' is missing")
    expected = "1 to 24 of a-z, 0-9 and '-', starting with a letter or digit"
    if name is None and "name" in top:
        name = top["name"].name(LAB_NAME, expected)
    elif name is None:
        raise root.error("the lab has no name: write 'name: NAME' or give --name NAME")
    elif not re.fullmatch(LAB_NAME, name):
        raise LabError(f"--name {name}: expected {expected}")
    nodes = {}
    for key, value in top["nodes"].mapping().items():
        nodes[key] = _node(key, value)
    links = [_link(value, nodes) for value in top["links"].items()] if "links" in top else []
    for node in list(nodes.values()):
        if node.kind in ROUTERS and node.feed is not None:
            _expand_feed(node, nodes, links)
    _check_links(nodes, links)
    return Spec(name, file, nodes, links, text)


# --- nodes ---

def _node(name: str, value: Value) -> Node:
    if not re.fullmatch(NODE_NAME, name):
        raise value.error("a node's name is 1 to 15 of a-z and 0-9, starting with a letter")
    entries = value.mapping()
    if "kind" not in entries:
        raise value.error(f"the key 'kind' is missing; expected one of: {', '.join(KINDS)}")
    kind = entries["kind"].choice(KINDS)
    for key, entry in entries.items():
        if key not in KEYS[kind]:
            raise entry.error(f"unknown key for a {kind}; expected one of: {', '.join(KEYS[kind])}")
    node = Node(name, kind, value)
    if "vrs" in entries:
        _vrs(node, entries.pop("vrs"))
    if "interfaces" in entries:
        for key, entry in entries["interfaces"].mapping().items():
            node.interfaces[key] = _interface(node, key, entry)
    _check_ports(node)
    simple = {
        "routes": lambda v: v.texts(),
        "sysctl": lambda v: {key: item.text() for key, item in v.mapping().items()},
        "vlan": lambda v: v.integer(1, 4094),
        "outer_vlan": lambda v: v.integer(1, 4094),
        "tpid": lambda v: v.choice(TPIDS),
        "daemon": lambda v: v.choice(DAEMONS),
        "daemons": lambda v: [item.choice(FRR_DAEMONS) for item in v.items()],
        "config": lambda v: v.text(),
        "asn": lambda v: v.integer(1, 4294967295),
        "router_id": lambda v: v.address(),
        "neighbors": lambda v: [_neighbor(item) for item in v.items()],
        "networks": lambda v: [item.prefix() for item in v.items()],
        "cards": lambda v: v.choice(tuple(CARDS)),
        "image": lambda v: v.text(),
        "peer": lambda v: v.address(),
        "next_hop_v6": lambda v: v.address(),
    }
    for key, read in simple.items():
        if key in entries:
            setattr(node, key, read(entries[key]))
    for key in ("ospf", "rip"):
        if key in entries:
            setattr(node, key, [_interface_of(node, item) for item in entries[key].items()])
    if "set" in entries:
        node.set_lines = entries["set"].texts()
    if "memory" in entries:
        node.memory_mib = entries["memory"].integer(MEMORY_MIB if kind == "vm" else 64, 65536)
    elif kind == "vm":
        node.memory_mib = MEMORY_MIB
    if "hold" in entries:
        node.hold_s = entries["hold"].integer(3, 65535)
    if "feed" in entries:
        node.feed = _feed_source(entries["feed"].mapping(FEED_KEYS))
    if kind == "feed":
        node.feed = _feed_source(entries)
    _check_needs(node)
    return node


def _check_needs(node: Node) -> None:
    """Keys that need another key."""
    if node.kind == "feed" and (node.asn is None or node.peer is None):
        raise node.where.error("a feed needs asn (its AS number) and peer (the neighbor's address)")
    generated = node.asn or node.neighbors or node.networks or node.ospf or node.rip
    if node.kind == "vm" and node.daemon == "bird":
        raise node.where.error("nodes of kind vm support only FRR: use 'daemon: frr'")
    if node.kind in ROUTERS:
        if node.daemon == "none" and (node.config or generated):
            raise node.where.error("routing is configured but there is no daemon: add 'daemon: frr' or "
                                   "'daemon: bird'")
        if (node.neighbors or node.networks) and node.asn is None:
            raise node.where.error("neighbors and networks need asn, the AS number of this router")
        if node.config is not None and generated:
            raise node.where.error("give either config (the daemon's own text) or the keys asn, "
                                   "neighbors, networks, ospf, rip; not both")


def _vrs(node: Node, value: Value) -> None:
    for name, entry in value.mapping().items():
        if not re.fullmatch(NODE_NAME, name) or name in ("wire", "default"):
            raise entry.error("a virtual router's name is 1 to 15 of a-z and 0-9, and neither 'wire' nor "
                              "'default'")
        keys = entry.mapping(("routes", "config")) if entry.is_mapping() else {}
        node.vrs[name] = Vr(keys["routes"].texts() if "routes" in keys else [], keys["config"].text() if "config" in keys else None)


def _interface(node: Node, name: str, value: Value) -> Interface:
    if not re.fullmatch(INTERFACE_NAME, name) or name == "lo" and node.kind == "feed":
        raise value.error("an interface's name is 1 to 14 letters, digits, '_' or '-'")
    if value.is_list():
        return Interface(name, [item.interface_address() for item in value.items()])
    entries = value.mapping(("addresses", "vlan", "outer_vlan", "tpid", "port", "vr", "mac", "members"))
    interface = Interface(name)
    if "addresses" in entries:
        interface.addresses = [item.interface_address() for item in entries["addresses"].items()]
    if "mac" in entries:
        interface.mac = entries["mac"].name(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", "a MAC address")
    if "vr" in entries:
        interface.vr = entries["vr"].text()
        if interface.vr not in node.vrs:
            raise entries["vr"].error(f"no virtual router '{interface.vr}': add it to vrs of this node")
    if "members" in entries:
        if node.kind not in ("kamuee", "vm"):
            raise value.error("only nodes of kind kamuee or vm can have LAGs")
        interface.members = entries["members"].texts()
    if "vlan" in entries or "port" in entries:
        if "vlan" not in entries or "port" not in entries:
            raise value.error("a sub-interface needs both vlan and port")
        if node.kind not in ROUTERS:
            raise value.error("only routers have sub-interfaces; for a host on a VLAN, set 'vlan: N' "
                              "on the node")
        interface.vlan = entries["vlan"].integer(1, 4094)
        interface.port = entries["port"].text()
        if "outer_vlan" in entries:
            interface.outer_vlan = entries["outer_vlan"].integer(1, 4094)
        if "tpid" in entries:
            interface.tpid = entries["tpid"].choice(TPIDS)
    return interface


def _check_ports(node: Node) -> None:
    for interface in node.interfaces.values():
        port = interface.port
        if port is not None and (port not in node.interfaces or node.interfaces[port].port):
            raise node.where.error(f"interface {interface.name}: no port '{port}' in this node")
        for member in interface.members:
            other = node.interfaces.get(member)
            if other is None or other.port or other.members or other.addresses:
                raise node.where.error(f"interface {interface.name}: '{member}' is no port without addresses of this "
                                       f"node")


def _interface_of(node: Node, value: Value) -> str:
    name = value.text()
    if name not in node.interfaces and name != "lo":
        raise value.error(f"no interface '{name}' in this node")
    return name


def _neighbor(value: Value) -> Neighbor:
    entries = value.mapping(("address", "asn", "families", "options"))
    for key in ("address", "asn"):
        if key not in entries:
            raise value.error(f"the key '{key}' is missing")
    address = entries["address"].address()
    families = ["ipv6" if ":" in address else "ipv4"]
    if "families" in entries:
        families = [item.choice(("ipv4", "ipv6")) for item in entries["families"].items()]
    options = entries["options"].texts() if "options" in entries else []
    return Neighbor(address, entries["asn"].integer(1, 4294967295), families, options)


def _feed_source(entries: dict[str, Value]) -> FeedSource:
    source = FeedSource()
    sources = [key for key in ("prefixes", "mrt", "generate") if key in entries]
    if len(sources) > 1:
        raise entries[sources[1]].error(f"give only one of prefixes, mrt, generate ({sources[0]} is given)")
    if "prefixes" in entries:
        source.prefixes = entries["prefixes"].text()
    if "mrt" in entries:
        source.mrt = entries["mrt"].text()
    if "generate" in entries:
        source.generate = entries["generate"].boolean()
    if "routes_count" in entries:
        source.n_routes = entries["routes_count"].integer(1, 4_000_000)
    if "share" in entries:
        source.share = entries["share"].fraction()
    if "seed" in entries:
        source.seed = entries["seed"].integer(0, 2**31)
    return source


# --- links ---

def _end(value: Value, nodes: dict[str, Node]) -> tuple[str, str]:
    node_name, colon, interface = value.text().partition(":")
    if not colon or not interface:
        raise value.error(f"expected NODE:INTERFACE, found '{value.text()}'")
    if node_name not in nodes:
        raise value.error(f"no node '{node_name}'; there are: {', '.join(nodes)}")
    node = nodes[node_name]
    if interface not in node.interfaces:
        node.interfaces[interface] = _interface(node, interface, Value(
            parse("[]", value.file).node, value.file, value.path))
    if interface == "lo" or node.interfaces[interface].port is not None:
        raise value.error(f"{interface} of {node_name} cannot be linked: link its port instead")
    return node_name, interface


def _link(value: Value, nodes: dict[str, Node]) -> Link:
    mtu = 1500
    ends = value
    if value.is_mapping():
        entries = value.mapping(("ends", "mtu"))
        if "ends" not in entries:
            raise value.error("the key 'ends' is missing; expected [NODE:INTERFACE, NODE:INTERFACE]")
        ends = entries["ends"]
        if "mtu" in entries:
            mtu = entries["mtu"].integer(68, 65535)
    items = ends.items()
    if len(items) != 2:
        raise ends.error(f"a link has two ends, found {len(items)}")
    return Link((_end(items[0], nodes), _end(items[1], nodes)), mtu, value)


def _check_links(nodes: dict[str, Node], links: list[Link]) -> None:
    linked: dict[tuple[str, str], Link] = {}
    for link in links:
        for end in link.ends:
            if end in linked:
                raise link.where.error(f"{end[0]}:{end[1]} is already linked, in line {linked[end].where.line}")
            linked[end] = link
        if all(nodes[name].kind == "vm" for name, _ in link.ends):
            raise link.where.error("a vm can be linked only to a node in a namespace: put a node of kind router "
                                   "between two vms")
    for node in nodes.values():
        ports = sum(port.name != "lo" for port in node.ports())
        if node.kind == "vm" and ports > VM_PORTS_MOST:
            raise node.where.error(f"a vm has at most {VM_PORTS_MOST} ports, found {ports}")
        for interface in node.ports():
            if interface.name != "lo" and (node.name, interface.name) not in linked:
                raise node.where.error(f"interface {interface.name} is not in any link; add "
                                       f"[{node.name}:{interface.name}, NODE:INTERFACE] to links")


def _expand_feed(node: Node, nodes: dict[str, Node], links: list[Link]) -> None:
    """`feed:` of a router is short for a feed node behind it, its link and the BGP session."""
    name = node.name + "feed"
    if name in nodes:
        raise node.where.error(f"feed needs the node name '{name}', which is taken")
    if node.config is not None:
        raise node.where.error("feed works with a generated configuration; with config, write a node of "
                               "kind feed and its neighbor yourself")
    index = sum(1 for other in nodes.values() if other.kind == "feed")
    v4, v6 = f"100.127.{index}", f"fd00:feed:{index:x}"
    asn = 64900 + index
    node.interfaces["feed"] = Interface("feed", [f"{v4}.1/24", f"{v6}::1/64"])
    node.neighbors.insert(0, Neighbor(f"{v4}.2", asn, ["ipv4", "ipv6"]))
    source, node.feed = node.feed, None
    nodes[name] = Node(name, "feed", node.where, {"eth0": Interface("eth0", [f"{v4}.2/24", f"{v6}::2/64"])},
                       asn=asn, peer=f"{v4}.1", next_hop_v6=f"{v6}::2", feed=source)
    links.append(Link(((name, "eth0"), (node.name, "feed")), 1500, node.where))
