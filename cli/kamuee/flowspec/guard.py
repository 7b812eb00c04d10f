# SPDX-License-Identifier: BSD-3-Clause
"""Keeps rules off the sessions that control this router: its BGP, SSH and RESTCONF.

A flow is the product of its components, and so is a session. They share a packet exactly if they share a value of each
component, so this is a proof, not a sample. Components that sessions do not fix (TCP flags, length, DSCP, fragment) count
as shared.
"""
from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from functools import lru_cache

from kamuee.flowspec.flow import (DESTINATION, FROM_PORT, MEMORY, PORT, PROTOCOL, SOURCE, TO_PORT, Flow, Prefix, Ranges, common, mask, ranges)
from kamuee.flowspec.setup import Protected

ANY: Ranges = [(0, 65535)]
WITH_PORTS = (6, 17)


def holds(flow: Flow, component: int, address: str | None) -> bool:
    """Does the flow's prefix contain the address?"""
    found = flow.get(component)
    if not isinstance(found, Prefix) or address is None:
        return True
    return (found.value ^ number(address)[1]) & mask(flow.family, found) == 0


@lru_cache(MEMORY)
def number(address: str) -> tuple[int, int]:
    """Its family and value."""
    found = ipaddress.ip_address(address)
    return found.version, int(found)


def ways(one: Protected) -> Iterator[tuple[Ranges, Ranges]]:
    """(source ports, destination ports) of its packets to this router: either side may have opened the session."""
    if one.port is None:
        yield ANY, ANY
    else:
        yield ANY, [(one.port, one.port)]
        yield [(one.port, one.port)], ANY


def touches(flow: Flow, one: Protected) -> bool:
    known = one.local or one.remote
    if known and number(known)[0] != flow.family:
        return False
    if not holds(flow, DESTINATION, one.local) or not holds(flow, SOURCE, one.remote):
        return False
    if not common(ranges(flow, PROTOCOL), [(one.protocol, one.protocol)]):
        return False
    if one.protocol not in WITH_PORTS:
        return not any(flow.get(kind) for kind in (PORT, TO_PORT, FROM_PORT))
    either, to, from_ = (ranges(flow, kind) for kind in (PORT, TO_PORT, FROM_PORT))
    for source, destination in ways(one):
        source, destination = common(source, from_), common(destination, to)
        if source and destination and (common(source, either) or common(destination, either)):
            return True
    return False


def touched(flow: Flow, protected: Iterable[Protected]) -> Protected | None:
    """The first session that the flow has a packet of."""
    near: dict[str | None, bool] = {}       # many sessions share an address of ours
    for one in protected:
        if one.local not in near:
            near[one.local] = holds(flow, DESTINATION, one.local)
        if near[one.local] and touches(flow, one):
            return one
    return None
