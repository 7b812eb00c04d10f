# SPDX-License-Identifier: BSD-3-Clause
"""Metrics in a file, for the textfile collector of Prometheus' node_exporter. kamueed has the metrics of the lists."""
from __future__ import annotations

import os
from typing import Any

FAMILIES = (
    ("kamuee_flowspec_session_up", "gauge", "1: the BGP session with the peer is established."),
    ("kamuee_flowspec_routes", "gauge", "Flow specifications that the peer has sent, without those beyond its limit."),
    ("kamuee_flowspec_routes_max", "gauge", "Limit of routes of the peer."),
    ("kamuee_flowspec_refused_total", "counter", "Flow specifications refused since the start, by reason."),
    ("kamuee_flowspec_rules", "gauge", "Rules of flow specifications, by virtual router."),
)


def write(path: str, head: dict[str, Any]) -> None:
    found: dict[str, list[str]] = {name: [] for name, _, _ in FAMILIES}
    for peer in head["peers"]:
        labels = f'peer="{peer["peer"]}",vr="{peer["vr"]}"'
        for name, value in (("session_up", int(peer["up"])), ("routes", peer["routes"]), ("routes_max", peer["limit"])):
            found[f"kamuee_flowspec_{name}"].append(f"{{{labels}}} {value}")
        for why, n in peer["refused"].items():
            found["kamuee_flowspec_refused_total"].append(f'{{{labels},reason="{why}"}} {n}')
    for vr, rules in head["rules"].items():
        found["kamuee_flowspec_rules"].append(f'{{vr="{vr}"}} {rules}')
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        for name, kind, text in FAMILIES:
            file.write(f"# HELP {name} {text}\n# TYPE {name} {kind}\n")
            file.writelines(f"{name}{row}\n" for row in found[name])
    os.replace(f"{path}.new", path)
