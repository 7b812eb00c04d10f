# SPDX-License-Identifier: BSD-3-Clause
"""The shape of what each command prints with -j: one for each, whatever its arguments.

{} is an object with these members, [] an array. A member that the daemon does not know is left out.
Names and meanings are those of yang/kamuee.yang; numbers are numbers, whatever their size. Rates are
by the second; null where there is none yet. A test compares with the schema and with the output.
"""
from __future__ import annotations

_TRAFFIC = "rx-packets, rx-bytes, tx-packets, tx-bytes"
_INSIDE = "drop-packets, punt-packets, inject-packets, urpf-packets"
_HOP = "{interface, gateway, weight, resolved, alive, foreign}"
_COLLECTOR = "{address, port, datagrams, bytes, datagrams-lost, error}"
_PROTOCOLS = "protocol [{name, routes}]"
_FIB = ("family, engine, engine-faults, engine-rebuilds, rib-routes, routes, nodes, leaves, bytes, shared-bytes, "
        "memory-node [{node, bytes}], control-bytes, updates, " + _PROTOCOLS)
_SYSTEM = "version, dpdk-version, pid, uptime, memory, pages, rss, lookup-kernel, audits, last-audit, fib-divergence"
_WAY = "protocol, kind, nexthop, hop [{interface, gateway, weight}], more-hops"
_AUDIT = ("checked, prefixes, lookups, blocks, diverged, took, longest-pause, finding [{prefix, what}], not-followed, "
          "unfollowed [{kind, routes, example, effect}]")

_LACP = "system-priority, system, key, port-priority, port, state []"
_ALARM = "name, subject, severity, since, value, peak, count, message"

_FRAME = "port, interface, length, octets"
_PASSAGE = (f"in {{{_FRAME}}}, polled, step [{{stage, of, interface, vr, family, length, ttl, kind, "
            "lookup {destination, prefix, type, protocol, metric, node [{kind, depth, bits}], group, hash, bucket, "
            "buckets, nexthop, kind, interface, mtu, foreign, route-mtu, neighbor, neighbor-status, neighbor-mac}, "
            "acl {name, direction, interface, rule, action, neighbor-discovery, also [], nexthop, key {source, destination, "
            "protocol, source-port, destination-port, tcp-flags, dscp, part}}, "
            "icmp-error {result, type, code, word}, result, reason, sentence, source, class, "
            f"frame [{{{_FRAME}}}]}}]")

SHAPES = {
    "port": "[{name, id, driver, kernel-interface, devargs, namespace, status, speed, duplex, mac, mtu, rx-queues, tx-queues, "
            "rx-descriptors, tx-descriptors, socket, rx-mode, promiscuous, rss [], offload [], "
            f"statistics {{{_TRAFFIC}, rx-missed, rx-errors, rx-no-buffer, tx-errors, checksum-completed, offload-cut, "
            "queue [{queue, rx-packets, rx-bytes, forwarder}], extended [{name, value}]}, "
            f"cleared {{time, {_TRAFFIC}, rx-missed, rx-errors, rx-no-buffer, tx-errors, checksum-completed, offload-cut}}}}]",
    "lag": "[{name, status, mode, mac, min-links, active-members, primary, rate, member [{name, status, reason, link, changes, "
           f"lacp {{receive, mux, rx-lacpdus, tx-lacpdus, actor {{{_LACP}}}, partner {{{_LACP}}}}}}}]}}]",
    "port-rates": "[{name, seconds, rx-pps, tx-pps, rx-bps, tx-bps, rx-missed-pps, rx-errors-pps, tx-errors-pps}]",
    "interface": "[{name, id, description, kind, port, vlan, outer-vlan, tpid, vr, status, mac, accepted-mac [], mtu, ifindex, "
                 "address [{ip, prefix-length, secondary, status}], urpf-ipv4, urpf-ipv6, urpf-allow-default, redirect, sflow, ipfix, "
                 "directed-broadcast, "
                 f"statistics {{since, {_TRAFFIC}, {_INSIDE}}}, cleared {{time, {_TRAFFIC}, {_INSIDE}}}}}]",
    "route": "[{prefix, type, protocol, metric, mtu, active, nexthop, kind, "
             "hop [" + _HOP + "]}]",
    "route-summary": "{vr, family, rib-routes, routes, " + _PROTOCOLS + "}",
    "mroute": "[{vr, group, source, family, origin, input, by-kernel, output [{interface, ttl}], packets, bytes, "
              "wrong-interface}]",
    "neighbor": "[{vr, interface, address, mac, status, nexthop, held, gateway, in-use}]",
    "nexthop": "[{id, kind, vr, interface, mtu, gateway, mac, references, in-use, packets, sent-packets, sent-bytes, kernel-id, buckets, "
               "member [{nexthop, interface, gateway, weight, buckets, alive}]}]",
    "thread": "[{name, role, core, socket, cpu-time, queue [{port, queue, packets, bytes, remote, rx-mode, depth, depth-max}], "
              "statistics {rx-packets, tx-packets, punt-packets, inject-packets, drop-packets, held-packets, "
              "polls, polls-idle, bursts, busy-cycles, idle-cycles}, burst-size [{packets, bursts}], "
              "stage [{name, calls, packets, cycles}]}]",
    "drops": "[{name, packets, severity, sentence, source, pps}]",
    "punt": "[{class, rate, burst, queue, queued, passed, policed, queue-full}]",
    "icmp": "{rate, burst, total-rate, total-burst, sent, limited, forbidden}",
    "ledger": "{rx, inject, tx, punt, held, drops, imbalance}",
    "fib": "[{vr, " + _FIB + "}]",
    "vr": "[{name, id, namespace, table, flow-hash, flow-label, flow-hash-seed, synced, messages, batches, overruns, resyncs, "
          "swept, diverged, rules-ignored, not-followed, "
          "nexthops, neighbors, held, rib-bytes, fib [{" + _FIB + "}]}]",
    "capture": "[{id, client, point [], port, interface, filter, snaplen, seconds, taken, bytes, sent, missed}]",
    "acl": "[{name, default, file, rules, matched-packets, matched-bytes, unmatched-packets, unmatched-bytes, unmatched-last-hit, bytes, age, "
           "bound [{interface, direction}], cost {classifier, reason, few, shelf, tuples, probes-max, probes-mean, block-max, address-only, "
           "cycles-ours, cycles-rte-acl, reader-bytes, build-time}}]",
    "acl-rules": "[{number, line, packets, bytes, last-hit}]",
    "acl-lint": "{rules, all-compared, finding [{number, kind, by, until, count}]}",
    "acl-redirect": "[{to, redirected-packets, no-way-packets}]",
    "address-set": "[{name, file, members-ipv4, members-ipv6, bytes, age}]",
    "address-set-contains": "[{address, member}]",
    "counted-prefix": "[{vr, prefix, active, nexthop, packets, bytes}]",
    "mirror": "[{port, direction, to-tap, to-port, sent, bytes, missed}]",
    "mirror-session": "[{name, to-tap, to-port, sent, bytes, missed}]",
    "snmp": "{status, master, error, trees, sessions, get, get-next, get-bulk, set-refused, variables, errors, notifications, "
            "notifications-lost}",
    "sflow": "{status, sample-rate, agent-address, interface [], samples, samples-missed, counter-samples, "
             f"collector [{_COLLECTOR}]}}",
    "ipfix": "{status, sample-rate, interface [], samples, samples-missed, samples-no-ip, flows-now, flows-max, flows, flows-no-room, "
             f"collector [{_COLLECTOR}]}}",
    "memory": "{rss, memory, pages, region [{name, bytes, used, pages}]}",
    "version": "{version, dpdk-version, cli-version}",
    "system": "{" + _SYSTEM + "}",
    "running-config": "{line []}",
    "revision": "[{back, id, time, by, comment, changes, first-change, confirmed}]",
    "configuration-session": "[{id, by, age, idle, changes}]",
    "monitor": "{seconds, version, uptime, rss, port [{name, rx-pps, tx-pps, rx-bps, tx-bps, status, drop-pps}], "
               "thread [{name, role, core, load, pps, burst}], drop [{name, severity, sentence, pps}], "
               "table [{vr, family, routes, bytes, synced, updates-ps}], punt [{class, pps, queued, drop-pps}], "
               "latency [{input, output, packets, median, p99, p999}], alarm [{name, subject, severity, message}], held, imbalance}",
    "change": "{change [], note []}",
    "lookup": "[{address, prefix, nexthop, kind, interface, gateway, hop [{interface, gateway, weight, resolved, alive}]}]",
    "explain": f"{{{_PASSAGE}}}",
    "event": ("[{event, at, port, status, vr, interface, address, mac, time, prefix, cause, from, to, by, lines, comment, change [], "
              "name, subject, severity, message, count}]"),
    "trace": f"[{{time, {_PASSAGE}}}]",
    "audit": "{" + _AUDIT + ", kernel-state [{subject, attribute, what}]}",
    "audit-report": "[{vr, audits, ended, " + _AUDIT + ", fib-divergence}]",
    "port-history": "[{name, interval, point [{time, " + _TRAFFIC + ", rx-missed}]}]",
    "latency": "[{input, output, packets, mean, median, p90, p99, p999, max, bucket [{below, packets}]}]",
    "web": "{url []}",
    "alarm": "[{" + _ALARM + ", silenced-until, silenced-by}]",
    "alarm-history": "[{" + _ALARM + ", until}]",
    "route-at": "{time, since, known, prefix, " + _WAY + "}",
    "route-changes": "{since, complete, cut, change [{time, vr, prefix, cause, from {" + _WAY + "}, to {" + _WAY + "}}]}",
    "journal": "{size, room, records, changes, since, ways, ways-cut}",
    "test-tap": "[{interface, family, socket, passed, reason}]",
}

# Shapes that are a list or container of the schema as it is.
FROM_STATE = {"port": "port", "port-history": "port-history", "interface": "interface", "route": "routes/route", "neighbor": "neighbor", "nexthop": "nexthop",
              "thread": "thread", "punt": "punt", "icmp": "icmp", "ledger": "ledger", "vr": "vr", "capture": "capture",
              "mirror": "mirror", "mirror-session": "mirror-session", "acl": "acl", "acl-redirect": "acl-redirect", "address-set": "address-set",
              "snmp": "snmp", "sflow": "sflow", "ipfix": "ipfix", "journal": "journal", "audit-report": "audit",
              "alarm": "alarm", "latency": "latency", "alarm-history": "alarm-history",
              "revision": "configuration/revision", "configuration-session": "configuration/session",
              "mroute": "multicast/route", "counted-prefix": "counted-prefix"}
