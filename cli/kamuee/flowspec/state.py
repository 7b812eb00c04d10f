# SPDX-License-Identifier: BSD-3-Clause
"""What the process remembers in a file: for its next start, and for `kamuee show flowspec`.

The first line is about the process and its sessions; each other line is a route.
"""
from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kamuee.errors import KamueeError, reason
from kamuee.flowspec.event import Attributes
from kamuee.flowspec.flow import Flow, Prefix, flow

FEW = 5000          # routes; more are written by a child, which has its own copy


@dataclass
class Route:
    """A route of a peer, as received, and what became of it."""

    attributes: Attributes
    since: float            # UNIX time
    round: int = 0          # of the peer's session in which it was last heard of
    why: str = ""           # '': accepted; else the kind of the reason
    reason: str = ""        # for people
    lines: list[str] | None = None
    unchecked: bool = False  # its destination's route is still to be looked up


def dump(peer: str, vr: str, of: Flow, route: Route, first: int | None) -> str:
    return json.dumps({"peer": peer, "vr": vr, "family": of.family, "parts": of.parts, "attributes": route.attributes,
                       "since": int(route.since), "why": route.why, "reason": route.reason, "first": first,
                       "rules": len(route.lines or ())})


def parse(told: dict[str, Any]) -> tuple[Flow, Attributes]:
    parts = [(kind, Prefix(*value) if not value or not isinstance(value[0], list) else tuple(map(tuple, value)))
             for kind, value in told["parts"]]
    actions, nexthop, path = told["attributes"]
    return flow(told["family"], parts), Attributes(tuple(map(tuple, actions)), nexthop, tuple(path))


def write(path: str, head: dict[str, Any], routes: Iterable[str]) -> None:
    new = f"{path}.new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(json.dumps(head | {"written": time.time()}) + "\n")
        file.writelines(line + "\n" for line in routes)
    os.replace(new, path)


def read(path: str) -> Iterator[dict[str, Any]]:
    """The head, then the routes."""
    try:
        with Path(path).open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    except OSError as error:
        raise KamueeError(f"{path}: {reason(error)}: it is written by 'kamuee flowspec run'") from None
    except ValueError:
        raise KamueeError(f"{path}: damaged: delete it, and start 'kamuee flowspec run' again") from None
