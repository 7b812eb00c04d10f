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

# What a packet is made of, in any order.
_PACKET = ("(vlan VLAN|outer-vlan OUTERVLAN|src SOURCE|dst DESTINATION|proto IPPROTO|sport SPORT|dport DPORT|icmp-type ICMPTYPE|ttl TTL|"
           "size SIZE|tos TOS|df|fragment OFFSET|more|label LABEL|to-mac TOMAC|from-mac FROMMAC)…")

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
    Command("show ipv4 route (PREFIX|ADDRESS) at TIME [vr VR]", "the IPv4 route that the FIB had at that time",
            "show_history:ipv4", json="route-at"),
    Command("show ipv6 route (PREFIX|ADDRESS) at TIME [vr VR]", "the IPv6 route that the FIB had at that time",
            "show_history:ipv6", json="route-at"),
    Command("show route changes [last DURATION] [prefix PREFIX [longer]] [vr VR]",
            "routes of the FIB that changed, oldest first; 10m unless said otherwise", "show_history:changes",
            json="route-changes"),
    Command("show journal", "memory and reach of the journal of route changes", "show_history:journal", json="journal"),
    Command("show ipv4 mroute [vr VR]", "IPv4 multicast routes: input, outputs, packets", "show_multicast:ipv4",
            json="mroute"),
    Command("show ipv6 mroute [vr VR]", "IPv6 multicast routes: input, outputs, packets", "show_multicast:ipv6",
            json="mroute"),
    Command("show neighbor [vr VR]", "neighbours: MAC, state, packets that wait", "show_neighbor:show",
            json="neighbor"),
    Command("show nexthop [ID]", "next hops: what FIBs lead to, and who uses them", "show_nexthop:show", json="nexthop"),
    Command("show nexthop-group [ID]", "groups: members, weights, buckets, packets", "show_nexthop:groups", json="nexthop"),
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
    Command("show capture", "captures that run: what they take, what they missed", "capture:show", json="capture"),
    Command("show mirror", "port mirrors: where to, what was copied, what was missed", "show_mirror:show", json="mirror"),
    Command("show snmp", "the session with the SNMP agent: what it asked, what it was told", "show_export:snmp", json="snmp"),
    Command("show audit [vr VR]", "the last audit: did kernel, RIB and FIB agree?", "show_audit:show",
            json="audit-report"),
    Command("show latency", "how long packets are inside the router, by pair of ports", "show_latency:show", json="latency"),
    Command("show alarm", "what is wrong now", "show_alarm:show", json="alarm"),
    Command("show alarm history", "alarms that are over, newest first", "show_alarm:history", json="alarm-history"),
    Command("show memory", "memory by region", "show_system:memory", json="memory"),
    Command("show version", "versions of kamueed and DPDK", "show_system:version", json="version"),
    Command("show system", "the daemon: up time, memory, lookup kernel", "show_system:system", json="system"),
    Command("show tech-support [FILE]", "everything for whoever was not there, in one archive", "tech_support:run"),
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
    Command(f"explain in INTERFACE (hex HEX|pcap FILE [frame FRAME]|{_PACKET})",
            "what would happen to this packet, step by step; nothing is counted or sent", "explain:run",
            json="explain"),
    Command("trace in INTERFACE [filter EXPRESSION] [count TRACED] [seconds SECONDS]",
            "what happens to packets that come in; ends after 10, or a minute", "trace:run",
            json="trace"),
    Command("audit [vr VR]", "compare kernel, RIB and FIB; heal differences", "show_audit:audit", json="audit"),
    Command("test tap [INTERFACE]", "open TCP, UDP and raw sockets through TAPs; do they work?", "test_tap:run",
            json="test-tap"),
    Command("capture [rx] [tx] [drop] [punt] [port PORT|interface INTERFACE] [filter EXPRESSION] [count COUNT] "
            "[snaplen BYTES] [write FILE]",
            "frames as pcapng, live; drops with their reason; Ctrl-C ends it", "capture:run"),
    Command("shutdown", "stop kamueed cleanly (must be typed in full)", "operate:shutdown", exact=True),
    Command("lab [ARGS…]", "topologies of network namespaces: kamuee lab --help", "dispatch:lab"),
    Command("demo [ARGS…]", "the demonstration: kamuee demo --help", "dispatch:demo"),
    Command("doctor [ARGS…]", "is this machine as a fast router needs it? kamuee doctor --help", "dispatch:doctor"),
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
    "mroute": "multicast routes",
    "longer-prefixes": "a prefix and all within it", "protocol": "routes made by one protocol",
    "type": "routes of one type", "at": "as it was at a time", "changes": "what changed", "last": "within this time",
    "prefix": "of one prefix", "longer": "and all within it", "journal": "the journal of route changes",
    "vr": "of one virtual router", "show vr": "virtual routers",
    "neighbor": "neighbours (ARP and ND)", "thread": "threads and forwarders",
    "nexthop": "next hops", "nexthop-group": "groups of next hops (ECMP)",
    "stages": "cycles a packet by stage, bursts by size", "queues": "receive queues: how many packets wait",
    "drops": "dropped packets by reason", "all": "also reasons that never happened",
    "punt": "packets to the control plane", "icmp": "ICMP errors of the router",
    "ledger": "the zero-loss ledger", "fib": "forwarding tables", "memory": "memory by region",
    "latency": "how long packets are inside", "alarm": "what is wrong", "history": "what was wrong",
    "version": "versions", "system": "the daemon", "running-config": "the running configuration",
    "tech-support": "an archive of state, configuration and logs", "doctor": "look at this machine",
    "monitor": "live screen", "set": "change the configuration", "delete": "take from the configuration",
    "save": "keep the running configuration", "write": "to a file: the running configuration; frames",
    "file": "to the configuration file", "attach": "attach a device as a port", "detach": "remove a port",
    "start": "start a port", "stop": "stop a port", "namespace": "where the device's kernel interface lives",
    "lookup": "what the FIB does with a destination", "audit": "compare kernel, RIB and FIB",
    "trace": "what happens to real packets", "seconds": "how long at most; 60 when left out",
    "explain": "what would happen to a packet", "in": "came in by this interface",
    "hex": "a frame in hexadecimal digits", "pcap": "a frame of a pcap or pcapng file",
    "frame": "which one, 1 is the first", "vlan": "VLAN tag of the frame",
    "outer-vlan": "outer VLAN tag of the frame", "src": "source address",
    "dst": "destination address", "proto": "tcp, udp, icmp …; udp when left out",
    "sport": "source port", "dport": "destination port", "icmp-type": "echo request when left out",
    "ttl": "TTL or hop limit; 64 when left out", "size": "bytes of the IP packet",
    "tos": "the whole octet, DSCP and ECN", "df": "do not fragment",
    "fragment": "a later fragment: its offset in bytes", "more": "more fragments follow",
    "label": "IPv6 flow label", "to-mac": "destination MAC; the interface's when left out",
    "from-mac": "source MAC", "test": "self-tests", "tap": "sockets through TAPs",
    "shutdown": "stop kamueed (type it in full)", "lab": "topologies of namespaces", "demo": "the demonstration",
    "bench": "measure lookups, forwarding, convergence",
    "mirror": "port mirrors", "snmp": "the session with the SNMP agent", "capture": "frames as pcapng",
    "show capture": "captures that run", "rx": "frames as received", "tx": "frames as sent",
    "drop": "dropped packets, with the reason", "filter": "only what an expression of pcap-filter(7) matches",
    "count": "end after so many", "snaplen": "keep at most so many bytes of each",
    "completion": "completion script of a shell", "bash": "for bash", "zsh": "for zsh",
    "help": "list of commands", "exit": "leave", "quit": "leave",
}


def meaning(word: str, before: str = "") -> str:
    """What the keyword means after the word `before`."""
    return WORDS.get(f"{before} {word}") or WORDS[word]


def grammar() -> Grammar:
    return Grammar(COMMANDS, accepts)
