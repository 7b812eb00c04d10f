# SPDX-License-Identifier: BSD-3-Clause
"""The shape of what each command prints with -j: one for each, whatever its arguments.

{} is an object with these members, [] an array. A member that the daemon does not know is left out.
Names and meanings are those of yang/kamuee.yang; numbers are numbers, whatever their size. Rates are
by the second; null where there is none yet. A test compares with the schema and with the output.
"""
from __future__ import annotations

_TRAFFIC = "rx-packets, rx-bytes, tx-packets, tx-bytes"
_HOP = "{interface, gateway, weight, resolved, alive}"
_PROTOCOLS = "protocol [{name, routes}]"
_FIB = ("family, engine, engine-faults, engine-rebuilds, rib-routes, routes, nodes, leaves, bytes, control-bytes, updates, " + _PROTOCOLS)
_SYSTEM = "version, dpdk-version, pid, uptime, memory, pages, rss, lookup-kernel"

SHAPES = {
    "port": "[{name, id, driver, devargs, namespace, status, speed, duplex, mac, mtu, rx-queues, tx-queues, "
            "rx-descriptors, tx-descriptors, socket, promiscuous, rss [], offload [], "
            f"statistics {{{_TRAFFIC}, rx-missed, rx-errors, rx-no-buffer, tx-errors, "
            "queue [{queue, rx-packets, rx-bytes, forwarder}], extended [{name, value}]}}]",
    "port-rates": "[{name, seconds, rx-pps, tx-pps, rx-bps, tx-bps, rx-missed-pps, rx-errors-pps, tx-errors-pps}]",
    "interface": "[{name, id, kind, port, vlan, vr, status, mac, mtu, ifindex, address [], "
                 f"statistics {{{_TRAFFIC}, drop-packets, punt-packets, inject-packets}}}}]",
    "route": "[{prefix, type, protocol, metric, active, nexthop, kind, "
             "hop [" + _HOP + "]}]",
    "route-summary": "{vr, family, rib-routes, routes, " + _PROTOCOLS + "}",
    "neighbor": "[{vr, interface, address, mac, status, nexthop, held, gateway, in-use}]",
    "thread": "[{name, role, core, socket, cpu-time, queue [{port, queue, packets, bytes, remote, depth, depth-max}], "
              "statistics {rx-packets, tx-packets, punt-packets, inject-packets, drop-packets, held-packets, "
              "polls, polls-idle, bursts, busy-cycles, idle-cycles}, burst-size [{packets, bursts}], "
              "stage [{name, calls, packets, cycles}]}]",
    "drops": "[{name, packets, severity, sentence, source, pps}]",
    "punt": "[{class, rate, burst, queue, queued, passed, policed, queue-full}]",
    "icmp": "{rate, burst, total-rate, total-burst, sent, limited, forbidden}",
    "ledger": "{rx, inject, tx, punt, held, drops, imbalance}",
    "fib": "[{vr, " + _FIB + "}]",
    "vr": "[{name, id, namespace, table, synced, messages, batches, overruns, resyncs, swept, diverged, rules-ignored, "
          "nexthops, neighbors, held, rib-bytes, fib [{" + _FIB + "}]}]",
    "memory": "{rss, memory, pages, region [{name, bytes, used, pages}]}",
    "version": "{version, dpdk-version, cli-version}",
    "system": "{" + _SYSTEM + "}",
    "running-config": "{line []}",
    "monitor": "{seconds, version, uptime, rss, port [{name, rx-pps, tx-pps, rx-bps, tx-bps, status, drop-pps}], "
               "thread [{name, role, core, load, pps}], drop [{name, severity, sentence, pps}], "
               "table [{vr, family, routes, bytes, synced, updates-ps}], held, imbalance}",
    "change": "{change [], note []}",
    "lookup": "[{address, prefix, nexthop, kind, interface, gateway, hop [" + _HOP + "]}]",
    "audit": "{checked, diverged}",
    "test-tap": "[{interface, family, socket, passed, reason}]",
}

# Shapes that are a list or container of the schema as it is.
FROM_STATE = {"port": "port", "interface": "interface", "route": "routes/route", "neighbor": "neighbor",
              "thread": "thread", "punt": "punt", "icmp": "icmp", "ledger": "ledger", "vr": "vr"}
