// SPDX-License-Identifier: BSD-3-Clause
// metrics_rib.c - virtual routers: RIB, FIB, next hops, neighbors, netlink; audits
#include <stddef.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/protocol.h"
#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/limits.h"
#include "table/nexthop.h"
#include "table/vr.h"

struct field { // of struct rib_stats: a number of each virtual router, or one of each family
    enum metric_type type;
    const char *name, *unit, *help;
    size_t at, at6; // at6 0: of both families
};

#define ONE(member, type, name, unit, help)                                                        \
    {                                                                                              \
        type, name, unit, help, offsetof(struct rib_stats, member), 0                              \
    }
#define TWO(member, type, name, unit, help)                                                        \
    {                                                                                              \
        type, name, unit, help, offsetof(struct rib_stats, member##4),                             \
            offsetof(struct rib_stats, member##6)                                                  \
    }
static const struct field field[] = {
    TWO(routes, METRIC_GAUGE, "rib_routes", "routes",
        "Routes in the RIB, including inactive ones."),
    TWO(fib_routes, METRIC_GAUGE, "fib_routes", "routes", "Prefixes in the FIB."),
    TWO(fib_nodes, METRIC_GAUGE, "fib_nodes", "nodes", "Internal nodes of the FIB."),
    TWO(fib_leaves, METRIC_GAUGE, "fib_leaves", "leaves", "Leaves of the FIB."),
    TWO(fib_bytes, METRIC_GAUGE, "fib_bytes", "bytes", "FIB memory that forwarders read."),
    TWO(fib_shared_bytes, METRIC_GAUGE, "fib_shared_bytes", "bytes",
        "Part of fib_bytes shared with FIBs of other virtual routers; each counts it."),
    TWO(fib_control_bytes, METRIC_GAUGE, "fib_control_bytes", "bytes",
        "FIB memory that only rib_manager reads."),
    TWO(updates, METRIC_COUNTER, "fib_updates", "updates", "Changes to the FIB."),
    TWO(engine_faults, METRIC_COUNTER, "fib_engine_faults", "faults",
        "Changes the FIB engine refused; each was repaired."),
    ONE(messages, METRIC_COUNTER, "netlink_messages", "messages",
        "Netlink notifications received from the kernel."),
    ONE(batches, METRIC_COUNTER, "netlink_batches", "batches",
        "Batches of netlink notifications, each ending in one FIB commit."),
    ONE(overruns, METRIC_COUNTER, "netlink_overruns", "overruns",
        "Netlink socket overruns (ENOBUFS): the kernel dropped notifications."),
    ONE(resyncs, METRIC_COUNTER, "netlink_resyncs", "resyncs",
        "Dumps of the kernel's tables after an overrun or for verification."),
    ONE(diverged, METRIC_COUNTER, "rib_diverged_prefixes", "prefixes",
        "Prefixes that a dump showed to differ from the RIB."),
    ONE(neighbors, METRIC_GAUGE, "neighbors", "", "Neighbors in the table (ARP and ND)."),
    ONE(held, METRIC_GAUGE, "neighbor_held_packets", "packets",
        "Packets held until their neighbor is resolved."),
    ONE(rib_bytes, METRIC_GAUGE, "rib_bytes", "bytes", "Memory used by the RIB."),
};

static uint64_t at(const struct rib_stats *s, size_t offset)
{
    uint64_t value;

    __builtin_memcpy(&value, (const char *)s + offset, sizeof value);
    return value;
}

static void write_fields(struct metrics *m, const struct metrics_vr *vr, unsigned n)
{
    for (unsigned f = 0; f < sizeof field / sizeof *field; f++) {
        metric_family(m, field[f].type, field[f].name, field[f].unit, field[f].help);
        for (unsigned i = 0; i < n; i++) {
            if (!field[f].at6) {
                metric_u64(m, at(&vr[i].stats, field[f].at), "vr", vr[i].name, NULL);
                continue;
            }
            metric_u64(m, at(&vr[i].stats, field[f].at), "vr", vr[i].name, "family", "ipv4", NULL);
            metric_u64(m, at(&vr[i].stats, field[f].at6), "vr", vr[i].name, "family", "ipv6", NULL);
        }
    }
}

static void write_protocols(struct metrics *m, const char *vr, const char *family,
                            const uint64_t routes[256])
{
    char buf[PROTOCOL_NAME_SIZE];

    for (unsigned p = 0; p < 256; p++)
        if (routes[p])
            metric_u64(m, routes[p], "vr", vr, "family", family, "protocol", protocol_name(p, buf),
                       NULL);
}

static void write_audits(struct metrics *m)
{
    uint64_t last_ns = __atomic_load_n(&rib_audit_totals.last_ns, __ATOMIC_RELAXED);

    metric_family(m, METRIC_COUNTER, "audits", "audits", "Audits run, for all virtual routers.");
    metric_u64(m, __atomic_load_n(&rib_audit_totals.runs, __ATOMIC_RELAXED), NULL);
    metric_family(m, METRIC_COUNTER, "fib_divergence_prefixes", "prefixes",
                  "Prefixes that audits found different between kernel, RIB and FIB, and repaired: "
                  "expected 0.");
    metric_u64(m, __atomic_load_n(&rib_audit_totals.fib_divergence, __ATOMIC_RELAXED), NULL);
    if (!last_ns)
        return;
    metric_family(m, METRIC_GAUGE, "audit_age_seconds", "seconds",
                  "Time since the last audit ended.");
    metric_real(m, (double)(clock_now_ns() - last_ns) / 1e9, NULL);
}

void metrics_rib(struct metrics *m, const struct metrics_vr *vr, unsigned n)
{
    metric_family(m, METRIC_GAUGE, "vr_synced", "", "1: the kernel's tables have been read.");
    for (unsigned i = 0; i < n; i++)
        metric_u64(m, vr[i].stats.synced, "vr", vr[i].name, NULL);
    write_fields(m, vr, n);
    metric_family(m, METRIC_GAUGE, "rib_protocol_routes", "routes",
                  "Routes in the RIB, by protocol.");
    for (unsigned i = 0; i < n; i++) {
        write_protocols(m, vr[i].name, "ipv4", vr[i].stats.by_protocol4);
        write_protocols(m, vr[i].name, "ipv6", vr[i].stats.by_protocol6);
    }
    metric_family(m, METRIC_GAUGE, "nexthops", "", "Next hops in the table, including groups.");
    metric_u64(m, nexthop_used(), NULL);
    metric_family(m, METRIC_GAUGE, "nexthops_max", "", "Size of the next-hop table.");
    metric_u64(m, NEXTHOP_MAX, NULL);
    write_audits(m);
}

static void each_nexthop(struct metrics *m, const struct nexthop_row *row, unsigned n, bool bytes)
{
    char id[12], gateway[IP_TEXT_MAX];

    for (unsigned i = 0; i < n; i++) {
        snprintf(id, sizeof id, "%u", row[i].id);
        metric_u64(m, bytes ? row[i].sent_bytes : row[i].sent_packets, "nexthop", id, "iface",
                   row[i].iface, "gateway",
                   row[i].gateway.family ? ip_format(&row[i].gateway, gateway) : "", NULL);
    }
}

static void each_counted(struct metrics *m, const struct counted_row *row, unsigned n, bool bytes)
{
    char prefix[PREFIX_TEXT_MAX];

    for (unsigned i = 0; i < n; i++)
        if (vr_get(row[i].vr)->used)
            metric_u64(m, bytes ? row[i].bytes : row[i].packets, "vr", vr_get(row[i].vr)->name,
                       "prefix", prefix_format(&row[i].prefix, prefix), NULL);
}

void metrics_counted(struct metrics *m, const struct counted_row *row, unsigned n)
{
    if (!n)
        return;
    metric_family(
        m, METRIC_COUNTER, "prefix_packets", "packets",
        "Packets whose longest match was this prefix, for prefixes with counters enabled.");
    each_counted(m, row, n, false);
    metric_family(m, METRIC_COUNTER, "prefix_bytes", "bytes", "Bytes of those IP packets.");
    each_counted(m, row, n, true);
}

void metrics_nexthop(struct metrics *m, const struct nexthop_row *row, unsigned n)
{
    if (!n)
        return;
    metric_family(m, METRIC_COUNTER, "nexthop_sent_packets", "packets",
                  "Packets sent to the next hop.");
    each_nexthop(m, row, n, false);
    metric_family(m, METRIC_COUNTER, "nexthop_sent_bytes", "bytes",
                  "Bytes of frames sent to the next hop.");
    each_nexthop(m, row, n, true);
}
