# SPDX-License-Identifier: BSD-3-Clause
"""show flows: the largest flows of the router's sample; commit … flows: effects of a commit on them."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kamuee import pcap, render
from kamuee.context import Context
from kamuee.errors import UsageError
from kamuee.frames import PROTOCOLS
from kamuee.grammar import Match
from kamuee.render import Column, count, iec, percent, right

FLOWS = (Column("interface"), Column("vr", wide=True), Column("source"), Column("destination"), Column("protocol"), right("packets"),
         right("bytes"), right("share"))
KEPT = 128  # bytes of a frame: enough for its headers
FRAMES_MAX = 40000
NAMES = PROTOCOLS | {58: "icmp6"}


def show(context: Context, match: Match) -> None:
    """show flows [FLOWS] [in INTERFACE] [vr VR]"""
    args = match.args
    limit = int(args["FLOWS"]) if "FLOWS" in args else None
    found = context.client.call("flows", limit=limit, interface=args.get("INTERFACE"), vr=args.get("VR"))
    if context.options.json:
        context.json(found.get("flow", []))
        return
    rows = [[flow["interface"], flow["vr"], end(flow, "source"), end(flow, "destination"), protocol(flow), count(flow["packets"]),
             iec(flow["bytes"]), percent(flow["bytes"], found["bytes"])] for flow in found.get("flow", [])]
    context.lines(render.table(FLOWS, rows, context.room, context.wide, "no flows in the last ten minutes"))
    if rows:
        context.line(f"{len(rows)} of {found['flows']} flows; packets and bytes of the last ten minutes, estimated from samples")


def end(flow: dict, side: str) -> str:
    """An address, with the port of TCP and UDP."""
    port = flow.get(f"{side}-port")
    if not port:
        return flow[side]
    return f"[{flow[side]}]:{port}" if ":" in flow[side] else f"{flow[side]}:{port}"


def protocol(flow: dict) -> str:
    icmp = f" {flow['icmp-type']}/{flow['icmp-code']}" if "icmp-type" in flow else ""
    return NAMES.get(flow["protocol"], str(flow["protocol"])) + icmp


def wanted(args: dict[str, str]) -> dict[str, Any] | None:
    """The flows that a commit is tried on; None: on none."""
    if "flows" not in args:
        return None
    asked: dict[str, Any] = {"limit": int(args["FLOWS"])} if "FLOWS" in args else {}
    if "force" in args:
        asked["force"] = True
    if "FILE" in args:
        asked |= {"interface": args["INTERFACE"], "frame": frames(args["FILE"])}
    return asked


def frames(path: str) -> list[str]:
    try:
        with Path(path).open("rb") as file:
            found = [data[:KEPT].hex() for _, data in zip(range(FRAMES_MAX), pcap.frames(file, path)) if len(data) > 1]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if not found:
        raise UsageError(f"{path} has no frames")
    return found


def told(answer: dict) -> Iterator[str]:
    """Effects of a commit on flows."""
    flows, changed = answer["flows"], answer["changed-flows"]
    if not flows:
        yield "no flows to try: the sample is empty"
    else:
        yield (f"of {flows} flows ({iec(answer['bytes'])}) {changed} would change "
               f"({percent(answer['changed-bytes'], answer['bytes'])} of the bytes)")
    for effect in answer.get("effect", []):
        yield (f"  {effect['kind']}: {effect['flows']} flow{'s' * (effect['flows'] != 1)}, "
               f"{percent(effect['bytes'], answer['bytes'])} of the bytes: {effect['by']}")
    for flow in answer.get("example", []):
        yield (f"  e.g. in {flow['interface']}: {protocol(flow)} {end(flow, 'source')} > {end(flow, 'destination')}: "
               f"{flow['before']} -> {flow['after']}")
    if left := answer["left-out-flows"]:
        yield f"  not tried: {left} flow{'s' * (left != 1)} (multicast, or the interface has changed since)"
    for part in answer.get("not-tried", []):
        yield f"  not tried: {part}"
