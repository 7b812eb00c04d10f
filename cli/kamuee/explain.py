# SPDX-License-Identifier: BSD-3-Clause
"""explain in INTERFACE …: how a packet would be forwarded; kamueed runs its stages without effect."""
from __future__ import annotations

from kamuee import packet_trace, pcap
from kamuee.context import Context
from kamuee.errors import UsageError
from kamuee.grammar import Match

NUMBERS = {"VLAN": "vlan", "OUTERVLAN": "outer-vlan", "SPORT": "source-port", "DPORT": "destination-port",
           "ICMPTYPE": "icmp-type", "TTL": "ttl", "SIZE": "size", "TOS": "tos", "OFFSET": "fragment-offset",
           "LABEL": "flow-label"}
WORDS = {"SOURCE": "source", "DESTINATION": "destination", "IPPROTO": "protocol", "TOMAC": "destination-mac",
         "FROMMAC": "source-mac"}
FLAGS = {"df": "df", "more": "more-fragments"}
LARGEST = 16018


def run(context: Context, match: Match) -> None:
    found = context.client.call("explain", interface=match.args["INTERFACE"], **packet(match.args))
    if context.options.json:
        context.json(found)
    else:
        context.lines(packet_trace.told(found, context.room))


def packet(args: dict[str, str]) -> dict:
    """The packet for kamueed: the bytes of a frame, or its fields."""
    if "HEX" in args:
        return {"frame": args["HEX"].lower()}
    if "FILE" in args:
        data = pcap.frame(args["FILE"], int(args.get("FRAME", "1"), 0))
        if not 0 < len(data) <= LARGEST:
            raise UsageError(f"{args['FILE']}: the frame is {len(data)} bytes long; expected 1 to {LARGEST}")
        return {"frame": data.hex()}
    if "SOURCE" not in args or "DESTINATION" not in args:
        raise UsageError("a packet needs a source and a destination\nexpected: src ADDRESS dst ADDRESS")
    if int(args.get("OFFSET", "0"), 0) % 8:
        raise UsageError("fragment: the offset must be a multiple of 8 bytes")
    return ({leaf: int(args[name], 0) for name, leaf in NUMBERS.items() if name in args}
            | {leaf: args[name] for name, leaf in WORDS.items() if name in args}
            | {leaf: True for name, leaf in FLAGS.items() if name in args})
