# SPDX-License-Identifier: BSD-3-Clause
"""The path of a packet through the stages, as text, for explain and trace.

A step is a block: the stage's name, then what it found and did, a sentence on each line.
"""
from __future__ import annotations

import textwrap
from collections.abc import Iterator

from kamuee import frames
from kamuee.render import labels

INDENT, NAME = 2, 12
KINDS = {"plain": "plain", "odd": "odd: needs further checks",
         "local": "may be delivered here, not forwarded"}


def told(passage: dict, width: int) -> Iterator[str]:
    """The lines of one packet's trace."""
    arrived = passage["in"]
    where = arrived.get("port") or arrived.get("interface") or "?"
    yield from wrapped(f"{where}: {frame_text(arrived)}", width, 0, INDENT)
    if passage.get("polled") is False:
        yield from wrapped(f"no forwarder is polling {where} now: this is what would happen if one were", width,
                           INDENT, INDENT)
    of = "packet"
    for step in passage.get("step", []):
        if step["of"] != of:
            of = step["of"]
            yield "error to the sender:"
        yield from block(step["stage"], list(sentences(step)), width)
    yield from wrapped(f"=> {verdict(passage)}", width, 0, 3)


def wrapped(text: str, width: int, first: int, rest: int) -> Iterator[str]:
    yield from textwrap.wrap(text, width, initial_indent=" " * first, subsequent_indent=" " * rest,
                             break_on_hyphens=False)


def block(name: str, lines: list[str], width: int) -> Iterator[str]:
    margin = " " * (INDENT + NAME)
    for n, line in enumerate(lines):
        head = f"{'':{INDENT}}{name:{NAME}}" if n == 0 else margin
        yield from textwrap.wrap(line, width, initial_indent=head, subsequent_indent=margin + "  ",
                                 break_on_hyphens=False)


def frame_text(frame: dict) -> str:
    return ", ".join([f"{frame['length']:,} bytes", *frames.described(bytes.fromhex(frame.get("octets", "")))])


def sentences(step: dict) -> Iterator[str]:
    """Findings of the step, then its actions."""
    if step["stage"] == "ether_in":
        yield from arrived(step)
    if "lookup" in step:
        yield from lookup(step["lookup"], step.get("vr", "default"))
    police = step.get("police", {})
    if police.get("direction") == "in":
        yield from policer(police)
    if "acl" in step:
        yield from access_list(step["acl"])
    if police.get("direction") == "out":
        yield from policer(police)
    if "program" in step:
        yield from program(step["program"])
    yield from error(step)
    yield from end(step)


def arrived(step: dict) -> Iterator[str]:
    where = "no interface"
    if "interface" in step:
        where = f"interface {step['interface']}, virtual router {step.get('vr', '?')}"
    family = step.get("family", "").replace("ip", "IP")
    yield f"{where}; {family}, {KINDS[step['kind']]}" if family and "kind" in step else where


def lookup(found: dict, vr: str) -> Iterator[str]:
    if "prefix" in found:
        metric = f", metric {found['metric']}" if found.get("metric") else ""
        kind = "" if found.get("type", "unicast") == "unicast" else f"{found['type']}, "
        of = f", of virtual router {found['imported-from']}" if "imported-from" in found else ""
        yield f"{found['destination']}: route {found['prefix']} ({kind}{found['protocol']}{metric}{of})"
    else:
        yield f"{found['destination']}: the {'FIB' if 'waiting-prefix' in found else 'RIB'} has no route"
    if "waiting-prefix" in found:
        words = "set forwarding budget" if vr == "default" else f"set vr {vr} budget"
        yield (f"route {found['waiting-prefix']} waits outside the FIB, since the virtual router's budget "
               f"'{found['waiting-for']}' is used up; raise it: {words} {found['waiting-for']} N")
    if found.get("node"):
        yield "nodes: " + ", ".join(map(node, found["node"]))
    if "gpu" in found:
        yield f"looked up by the CPU, since the packet is followed; for others GPU {found['gpu']}: {found['gpu-activity']}"
    if "group" in found:
        yield (f"next hop {found['group']}: group; hash 0x{found['hash']:08x} is bucket {found['bucket']} of "
               f"{found['buckets']}: member {found['nexthop']}")
    if "foreign" in found:
        yield f"{found['foreign']} is not an interface of kamueed; packets that Linux would send there are rejected"
    if found["nexthop"]:
        yield f"next hop {found['nexthop']}: {', '.join(hop(found))}"


def node(entry: dict) -> str:
    if not entry["bits"]:
        return entry["kind"]
    last = entry["depth"] + entry["bits"]
    return f"{entry['kind']} /{last}"


def hop(found: dict) -> Iterator[str]:
    yield found["kind"]
    if "interface" in found:
        yield f"on {found['interface']}"
    if "route-mtu" in found and found["route-mtu"] < found.get("mtu", 65536):
        yield (f"MTU {found['route-mtu']} from the route"
               + (f" ({found['mtu']} on the interface)" if "mtu" in found else ""))
    elif "mtu" in found:
        yield f"MTU {found['mtu']}"
    if "labels" in found:
        yield f"encap mpls {labels(found['labels'])}"
    if "neighbor" in found:
        mac = f" {found['neighbor-mac']}" if "neighbor-mac" in found else ""
        yield f"neighbor {found['neighbor']}{mac} ({found['neighbor-status']})"


def policer(said: dict) -> Iterator[str]:
    does = {"pass": "passes", "drop": "dropped", "remark": f"DSCP becomes {said.get('remark-dscp')}"}[said["action"]]
    yield (f"policer {said.get('policer', '?')}, {said['direction']} at {said.get('interface', '?')}: "
           f"{said['color']}: {does}")


def program(said: dict) -> Iterator[str]:
    argument = f" {said['argument']}" if "argument" in said else ""
    does = f"off after a fault ({said['fault']})" if "fault" in said else f"{said['verdict']}{argument}"
    yield f"program {said.get('name', '?')}, hook {said['hook']}: {does}"


def access_list(said: dict) -> Iterator[str]:
    rule = f"rule {said['rule']}" if said["rule"] else "no rule matches: the default"
    also = "".join(f", {word}" for word in said.get("also", []))
    hop = f" to next hop {said['nexthop']} while it is resolved" if "nexthop" in said else ""
    marks = f", class {said['class']}" if "class" in said else ""
    marks += f", DSCP becomes {said['remark-dscp']}" if "remark-dscp" in said else ""
    yield (f"access list {said['name']}, {said['direction']} at {said.get('interface', '?')}: {rule}: "
           f"{said['action']}{also}{hop}{marks}")
    if "key" in said:
        yield f"compared: {', '.join(asked_about(said['key']))}"
    if said.get("neighbor-discovery"):
        yield "neighbor discovery always passes"


def asked_about(key: dict) -> Iterator[str]:
    """The fields that were compared with the rules."""
    icmp = key["protocol"] in (1, 58)
    has_ports = not icmp and (key.get("source-port") or key.get("destination-port"))
    source, destination = key["source"], key["destination"]
    if has_ports:
        yield f"{source} port {key['source-port']} to {destination} port {key['destination-port']}"
    else:
        yield f"{source} to {destination}"
    yield f"protocol {key['protocol']}"
    if icmp and "source-port" in key:
        yield f"type {key['source-port']} code {key['destination-port']}"
    if key["protocol"] == 6 and "tcp-flags" in key:
        yield f"TCP flags {flag_names(key['tcp-flags'])}"
    if key["dscp"]:
        yield f"DSCP {key['dscp']}"
    if key["part"] != "whole":
        yield "first fragment" if key["part"] == "first-fragment" else "later fragment, without ports"


def flag_names(flags: int) -> str:
    names = ("FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR")
    return " ".join(name for bit, name in enumerate(names) if flags >> bit & 1) or "none"


def error(step: dict) -> Iterator[str]:
    asked = step.get("icmp-error")
    if not asked:
        return
    if asked["result"] == "sent":
        text = f"the sender gets: ICMP {frames.icmp(step.get('family', 'ipv4'), asked['type'], asked['code'])}"
        yield text + (f", MTU {asked['word']}" if is_mtu(step, asked) else "")
    elif asked["result"] == "reset":
        yield "the sender gets: TCP reset"
    elif asked["result"] == "limited":
        yield "no error to the sender: ICMP rate limit reached"
    else:
        yield "no error to the sender: not allowed for this packet, or no source address"


def is_mtu(step: dict, asked: dict) -> bool:
    return (step.get("family"), asked["type"], asked["code"]) in (("ipv4", 3, 4), ("ipv6", 2, 0))


def end(step: dict) -> Iterator[str]:
    result, left = step["result"], step.get("frame", [])
    if result == "on":
        if step["stage"] != "ether_in":
            yield "continues"
    elif result == "local":
        yield "continues, but only for local delivery"
    elif result == "dropped":
        yield f"dropped: {reason(step)}"
    elif result == "held":
        yield "held until the neighbor is resolved"
    elif result == "punted":
        yield f"to the TAP of {left[0].get('interface', '?') if left else '?'}, class {step['class']}"
    elif len(left) > 1:
        yield f"sent in {len(left)} frames"
    for n, frame in enumerate(left if result in ("sent", "on") else [], 1):
        number = f"{n}. " if len(left) > 1 else ""
        yield f"{number}out of {place(frame)}: {frame_text(frame)}"
        if "queue" in frame:
            yield queue_text(frame["queue"])


def queue_text(queue: dict) -> str:
    owner = f"vport {queue['vport']}" if "vport" in queue else f"vr {queue.get('vr', '?')}"
    waiting = int(queue["waiting-packets"])
    before = f"behind {waiting} packets ({int(queue['waiting-bytes'])} bytes)" if waiting else "nothing waits before it"
    return f"queue of {owner}, class {queue['class']}: " + ("full, it would be dropped" if queue["full"] else before)


def place(frame: dict) -> str:
    port, interface = frame.get("port", "?"), frame.get("interface")
    return f"{port}, interface {interface}" if interface and interface != port else port


def reason(step: dict) -> str:
    return f"{step['sentence']} ({', '.join(filter(None, [step['reason'], step.get('source')]))})"


def verdict(passage: dict) -> str:
    """The packet's end in one sentence."""
    steps = [step for step in passage.get("step", []) if step["of"] == "packet"]
    if not steps:
        return "no steps recorded"
    last = steps[-1]
    left = last.get("frame", [])
    if last["result"] == "sent":
        ways = sorted({place(frame) for frame in left})
        return f"sent on {', '.join(ways)}" + (f" in {len(left)} frames" if len(left) > 1 else "")
    if last["result"] == "punted":
        tap = left[0].get("interface", "?") if left else "?"
        return f"to the kernel through the TAP of {tap}, class {last['class']}"
    if last["result"] == "held":
        return "held until the neighbor is resolved"
    if last["result"] == "dropped":
        told_it = any(step.get("icmp-error", {}).get("result") in ("sent", "reset") for step in steps)
        return f"dropped: {last['reason']}" + ("; the sender gets an error" if told_it else "")
    return "continues"
