# SPDX-License-Identifier: BSD-3-Clause
"""Current names for TAB: ports, interfaces, virtual routers, access lists, network namespaces."""
from __future__ import annotations

import os

from kamuee.arguments import Argument
from kamuee.client import Client
from kamuee.errors import KamueeError

NAMESPACES = "/run/netns"


def values(client: Client, argument: Argument) -> list[str]:
    """Possible values of the argument; nothing if the daemon cannot be asked."""
    if argument.values:
        return list(argument.values)
    if argument.source in ("port", "interface", "vr", "acl", "address-set", "alarm", "program", "gpu"):
        try:
            return list(dict.fromkeys(entry["name"] for entry in client.entries(argument.source)))
        except KamueeError:
            return []
    if argument.source == "netns":
        return sorted(os.listdir(NAMESPACES)) if os.path.isdir(NAMESPACES) else []
    return []
