# SPDX-License-Identifier: BSD-3-Clause
"""Every command there is, as data.

Matching, '?', TAB, usage errors, shell completion and the table in docs/features/cli.md come from
here. To add a command: a line in COMMANDS, a sentence for each new word in WORDS, a shape in
shapes.py if it prints JSON, and a function `f(context, match)` that does it.
"""
from __future__ import annotations

from kamuee.arguments import accepts
from kamuee.grammar import Command, Grammar

_ROUTE = "[PREFIX|ADDRESS|longer-prefixes PREFIX|protocol PROTOCOL|type TYPE] [vr VR]"

COMMANDS = (
    Command("show port [PORT] [statistics]", "ports: state and device; counters", "show_port:show", json="port"),
    Command("show port [PORT] statistics (pps|bps)", "packets or bits per second of ports, over one second",
            "show_port:show_rates", json="port-rates"),
    Command("show interface [INTERFACE] [statistics]",
            "interfaces: state, virtual router, addresses; counters", "show_interface:show", json="interface"),
    Command(f"show ipv4 route {_ROUTE}", "IPv4 routes of the RIB; * marks what the FIB uses", "show_route:ipv4",
            json="route"),
    Command(f"show ipv6 route {_ROUTE}", "IPv6 routes of the RIB; * marks what the FIB uses", "show_route:ipv6",
            json="route"),
    Command("show ipv4 route summary [vr VR]", "how many IPv4 routes, by protocol", "show_route:summary4",
            json="route-summary"),
    Command("show ipv6 route summary [vr VR]", "how many IPv6 routes, by protocol", "show_route:summary6",
            json="route-summary"),
    Command("show neighbor [vr VR]", "neighbours: MAC, state, packets that wait", "show_neighbor:show",
            json="neighbor"),
    Command("show thread [statistics|stages|queues]",
            "threads: role, core, load; counters; cycles a packet by stage; queues", "show_thread:show", json="thread"),
    Command("show drops [all]", "dropped packets by reason; 'all' shows reasons that never happened too",
            "show_drops:show", json="drops"),
    Command("show punt", "packets to the control plane by class: limits, passed, dropped", "show_punt:show",
            json="punt"),
    Command("show icmp", "ICMP errors of the router: limits, sent, withheld", "show_punt:icmp", json="icmp"),
    Command("show ledger", "the zero-loss ledger: what came in against what went out", "show_drops:ledger",
            json="ledger"),
    Command("show fib [vr VR]", "forwarding tables: prefixes, nodes, memory, updates", "show_fib:show", json="fib"),
    Command("show vr [VR]", "virtual routers and their link to the kernel", "show_fib:vr", json="vr"),
    Command("show memory", "memory by region", "show_system:memory", json="memory"),
    Command("show version", "versions of kamueed and DPDK", "show_system:version", json="version"),
    Command("show system", "the daemon: up time, memory, lookup kernel", "show_system:system", json="system"),
    Command("show running-config", "the running configuration as set lines", "configure:running", json="running-config"),
    Command("monitor", "live screen of rates, drops, load, tables; q quits", "monitor:run", json="monitor"),
    Command("set LINE…", "add to or change the running configuration; --check only validates", "configure:apply",
            json="change"),
    Command("delete LINE…", "take from the running configuration; --check only validates", "configure:apply",
            json="change"),
    Command("save", "write the running configuration to the configuration file", "configure:save"),
    Command("write file", "the same as save", "configure:save"),
    Command("port attach NAME DEVARGS [namespace NS]", "attach a device as a port, now", "operate:port_attach"),
    Command("port detach PORT", "stop and remove a port with its interface and vports", "operate:port_detach"),
    Command("port start PORT", "start a port", "operate:port_start"),
    Command("port stop PORT", "stop a port; it keeps its configuration", "operate:port_stop"),
    Command("lookup ADDRESS [vr VR]", "what the FIB does with a destination", "operate:lookup", json="lookup"),
    Command("audit [vr VR]", "compare kernel, RIB and FIB; heal differences", "operate:audit", json="audit"),
    Command("test tap [INTERFACE]", "open TCP, UDP and raw sockets through TAPs; do they work?", "test_tap:run",
            json="test-tap"),
    Command("shutdown", "stop kamueed cleanly (must be typed in full)", "operate:shutdown", exact=True),
    Command("lab [ARGS…]", "topologies of network namespaces: kamuee lab --help", "dispatch:lab"),
    Command("demo [ARGS…]", "the demonstration: kamuee demo --help", "dispatch:demo"),
    Command("bench [ARGS…]", "measure lookups, forwarding, convergence: kamuee bench --help", "dispatch:bench"),
    Command("completion (bash|zsh)", "print the completion script of a shell", "dispatch:completion"),
    Command("help", "this list", "dispatch:help_"),
    Command("exit", "leave the command line", "dispatch:leave"),
    Command("quit", "leave the command line", "dispatch:leave"),
)

# What a keyword means: 'two words' where it depends on the word before it.
WORDS = {
    "show": "look at state", "port": "DPDK ports", "show port": "DPDK ports",
    "interface": "interfaces: ports and vports", "statistics": "counters",
    "pps": "packets per second, over one second", "bps": "bits per second, over one second",
    "ipv4": "IPv4", "ipv6": "IPv6", "route": "routes of the RIB", "summary": "how many, by protocol",
    "longer-prefixes": "a prefix and all within it", "protocol": "routes made by one protocol",
    "type": "routes of one type", "vr": "of one virtual router", "show vr": "virtual routers",
    "neighbor": "neighbours (ARP and ND)", "thread": "threads and forwarders",
    "stages": "cycles a packet by stage, bursts by size", "queues": "receive queues: how many packets wait",
    "drops": "dropped packets by reason", "all": "also reasons that never happened",
    "punt": "packets to the control plane", "icmp": "ICMP errors of the router",
    "ledger": "the zero-loss ledger", "fib": "forwarding tables", "memory": "memory by region",
    "version": "versions", "system": "the daemon", "running-config": "the running configuration",
    "monitor": "live screen", "set": "change the configuration", "delete": "take from the configuration",
    "save": "keep the running configuration", "write": "keep the running configuration",
    "file": "to the configuration file", "attach": "attach a device as a port", "detach": "remove a port",
    "start": "start a port", "stop": "stop a port", "namespace": "where the device's kernel interface lives",
    "lookup": "what the FIB does with a destination", "audit": "compare kernel, RIB and FIB",
    "test": "self-tests", "tap": "sockets through TAPs",
    "shutdown": "stop kamueed (type it in full)", "lab": "topologies of namespaces", "demo": "the demonstration",
    "bench": "measure lookups, forwarding, convergence",
    "completion": "completion script of a shell", "bash": "for bash", "zsh": "for zsh",
    "help": "list of commands", "exit": "leave", "quit": "leave",
}


def meaning(word: str, before: str = "") -> str:
    """What the keyword means after the word `before`."""
    return WORDS.get(f"{before} {word}") or WORDS[word]


def grammar() -> Grammar:
    return Grammar(COMMANDS, accepts)
