# SPDX-License-Identifier: BSD-3-Clause
"""Does a peer have the traffic that its flow is about? RFC 8955 6 and RFC 9117 4.1, by the routes that kamueed forwards with.

kamueed knows no AS paths. The peer counts as the originator of a unicast route whose gateways are all addresses of the
peer: its own, or those named in its line of the file.
"""
from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from kamuee.client import Client, key
from kamuee.flowspec.event import Attributes, Session
from kamuee.flowspec.flow import DESTINATION, Flow, Prefix, text, width
from kamuee.flowspec.setup import Peer

TOGETHER = 500      # addresses of one question


def first_as(session: Session | None, of: Attributes) -> str:
    """RFC 8955 6, RFC 9117 4.2: an external peer's path begins with its AS."""
    if not session or not session.peer_as or session.local_as == session.peer_as:
        return ""
    if of.path and of.path[0] == session.peer_as:
        return ""
    return f"its AS path does not begin with the peer's AS {session.peer_as}"


class Validator:
    """Answers for many flows, with few questions."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def check(self, vr: str, asked: Iterable[tuple[Peer, Flow, Attributes]]) -> dict[tuple[str, Flow], str]:
        """The reason for each that is not valid; '' for the others."""
        found: dict[tuple[str, Flow], str] = {}
        hosts: dict[str, list[tuple[Peer, Flow]]] = {}
        prefixes: dict[tuple[str, Prefix], str] = {}
        for peer, flow, attributes in asked:
            destination = flow.get(DESTINATION)
            if not isinstance(destination, Prefix):
                found[peer.address, flow] = "it has no destination prefix"
            elif not attributes.path:       # RFC 9117 4.1 b 2: from within this AS
                found[peer.address, flow] = ""
            elif destination.length == width(flow.family) and not destination.offset:
                hosts.setdefault(text(flow.family, DESTINATION, destination).partition("/")[0], []).append((peer, flow))
            else:
                if (peer.address, destination) not in prefixes:
                    prefixes[peer.address, destination] = self.prefix(vr, peer, flow, destination)
                found[peer.address, flow] = prefixes[peer.address, destination]
        addresses = list(hosts)
        for at in range(0, len(addresses), TOGETHER):
            answer = self.client.call("lookup", vr=vr, address=addresses[at:at + TOGETHER])
            by_address = {row["address"]: row for row in answer.get("result", ())}
            for address in addresses[at:at + TOGETHER]:
                for peer, flow in hosts[address]:
                    found[peer.address, flow] = judge(peer, by_address.get(address))
        return found

    def prefix(self, vr: str, peer: Peer, flow: Flow, destination: Prefix) -> str:
        written = text(flow.family, DESTINATION, destination).partition(" ")[0]
        path = f"routes={key(vr, f'ipv{flow.family}')}"
        best = [row for row in self.client.rows(path, "route", {"prefix": written, "match": "longest"}) if row.get("active")]
        if why := judge(peer, best[0] if best else None):
            return why
        for row in self.client.rows(path, "route", {"prefix": written, "match": "longer"}):
            if row.get("active") and (why := judge(peer, row)):
                return f"more specific route {row.get('prefix')}: {why}"
        return ""


def judge(peer: Peer, row: dict | None) -> str:
    if not row or not (row.get("prefix") or row.get("kind")):
        return "there is no unicast route to its destination"
    gateways = {str(ipaddress.ip_address(hop["gateway"].partition("%")[0])) if "gateway" in hop else "" for hop in row.get("hop", ())}
    if not gateways and "gateway" in row:
        gateways = {row["gateway"]}
    if gateways and gateways <= {peer.address, *peer.nexthops}:
        return ""
    others = ", ".join(sorted(gateways - {peer.address, *peer.nexthops, ""})) or "no gateway"
    return f"the route to its destination leads to {others}, not to the peer"
