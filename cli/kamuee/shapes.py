# SPDX-License-Identifier: BSD-3-Clause
"""The shape of each command's output with -j: one per command, for any arguments.

{} is an object with these members, [] an array. The daemon leaves out a member that it does not know. Names and
meanings are those of yang/kamuee.yang, from which FROM_SCHEMA comes; numbers are numbers, whatever their size. Rates
are per second; null where there is none yet. Only the documentation and the tests read this: it needs the source tree.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))
import schema  # noqa: E402

# Shapes that are a list or container of the schema: of the state, or of an operation's output.
FROM_SCHEMA = {
    "port": "state/port", "lag": "state/lag", "queue": "state/queue", "port-history": "state/port-history", "interface": "state/interface",
    "route": "state/routes/route", "mroute": "state/multicast/route", "label": "state/label", "neighbor": "state/neighbor",
    "nexthop": "state/nexthop", "thread": "state/thread", "punt": "state/punt", "icmp": "state/icmp",
    "ledger": "state/ledger", "ledger-vr": "state/vr/ledger", "vr": "state/vr", "capture": "state/capture", "acl": "state/acl",
    "acl-redirect": "state/acl-redirect", "address-set": "state/address-set",
    "counted-prefix": "state/counted-prefix", "policer": "state/policer", "program": "state/program", "program-table": "program-table/output/entry",
    "tunnel": "state/tunnel", "linux-tunnel": "state/linux-tunnel", "gpu": "state/gpu",
    "mirror": "state/mirror", "mirror-session": "state/mirror-session",
    "sflow": "state/sflow", "ipfix": "state/ipfix", "journal": "state/journal",
    "audit-report": "state/audit", "alarm": "state/alarm", "alarm-history": "state/alarm-history", "crash": "state/crash",
    "upgrade": "state/upgrade",
    "latency": "state/latency", "revision": "state/configuration/revision",
    "configuration-session": "state/configuration/session", "acl-rules": "acl-rules/output/rule",
    "address-set-contains": "address-set-contains/output/result", "change": "configure/output",
    "lookup": "lookup/output/result", "explain": "explain/output", "explain-at": "explain-at/output", "trace": "trace/output/passage",
    "flows": "flows/output/flow",
    "audit": "audit/output", "web": "web-address/output", "route-at": "route-at/output",
    "route-changes": "route-changes/output", "test-tap": "test-tap/output/result",
}

# Shapes that the CLI computes or composes.
OWN = {
    "port-rates": "[{name, seconds, rx-pps, tx-pps, rx-bps, tx-bps, rx-missed-pps, rx-errors-pps, tx-errors-pps}]",
    "interface-rates": "[{name, seconds, rx-pps, tx-pps, rx-bps, tx-bps, drop-pps}]",
    "route-summary": "{vr, family, rib-routes, routes, protocol [{name, routes}]}",
    "drops": "[{name, packets, severity, sentence, source, pps}]",
    "acl-lint": "{rules, all-compared, finding [{number, kind, by, until, count}]}",
    "memory": "{rss, memory, pages, region [{name, bytes, used, pages}]}",
    "version": "{version, commit, build, build-id, dpdk-version, libyang-version, cli-version}",
    "system": "{name, version, commit, build, dpdk-version, libyang-version, pid, uptime, memory, pages, rss, lookup-kernel, audits, last-audit, "
              "fib-divergence, build-id, draining}",
    "running-config": "{line []}",
    "flowspec": "[{vr, peer, flow, action, status, reason, rule [], packets, bytes, age}]",
    "monitor": "{seconds, version, uptime, rss, port [{name, rx-pps, tx-pps, rx-bps, tx-bps, status, drop-pps}], "
               "interface [{name, status, rx-pps, tx-pps, rx-bps, tx-bps, drop-pps}], "
               "thread [{name, role, core, load, pps, burst}], drop [{name, severity, sentence, pps}], "
               "table [{vr, family, routes, bytes, synced, updates-ps}], punt [{class, pps, queued, drop-pps}], "
               "latency [{input, output, packets, median, p99, p999}], "
               "queue [{port, client, bps, guarantee, most, waiting, p99, drop-pps}], alarm [{name, subject, severity, message}], "
               "held, imbalance}",
    "event": "[{event, at, port, status, vr, interface, address, mac, time, prefix, cause, from, to, by, lines, "
             "comment, change [], name, subject, severity, message, count}]",
}


def notation(node: schema.Statement) -> str:
    """A node of the schema in the notation above."""
    inner = ", ".join(f"{child.argument} {notation(child)}".rstrip()
                      for child in node.all("leaf", "leaf-list", "list", "container"))
    return {"leaf": "", "leaf-list": "[]", "list": f"[{{{inner}}}]", "container": f"{{{inner}}}",
            "output": f"{{{inner}}}"}[node.keyword]


def find(module: schema.Statement, path: str) -> schema.Statement:
    """The node of a path; the output of an operation has no name of its own."""
    operation, output, rest = path.partition("/output")
    if not output:
        return module.at(path)
    node = module.at(operation).one("output")
    return node.at(rest[1:]) if rest else node


_MODULE = schema.module()
SHAPES = {**{name: notation(find(_MODULE, path)) for name, path in FROM_SCHEMA.items()},
          "fib": "[{vr, " + notation(find(_MODULE, "state/vr/fib"))[2:], **OWN}
