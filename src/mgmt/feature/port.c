// SPDX-License-Identifier: BSD-3-Clause
// metrics_port.c - ports, their receive queues, and interfaces
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vec.h"
#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "port/port_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/plan.h"
#include "table/port.h"
#include "table/vr.h"

struct field { // a counter among others of a struct
    const char *name, *unit, *help;
    size_t at;
};

static uint64_t field_of(const void *base, const struct field *f)
{
    uint64_t value;

    __builtin_memcpy(&value, (const char *)base + f->at, sizeof value);
    return value;
}

// --- ports --------------------------------------------------------------------------------------

static void write_port_state(struct metrics *m, const struct port_state *p, unsigned n)
{
    metric_family(m, METRIC_GAUGE, "port_up", "", "1: the port is started and its link is up.");
    for (unsigned i = 0; i < n; i++)
        metric_u64(m, p[i].started && p[i].link_up, "port", p[i].config.name, NULL);
    metric_family(m, METRIC_COUNTER, "port_link_changes", "changes",
                  "Link state changes while the port was started.");
    for (unsigned i = 0; i < n; i++)
        metric_u64(m, port_manager_link_changes(p[i].config.name), "port", p[i].config.name, NULL);
    metric_family(m, METRIC_INFO, "port", "", "Driver and device arguments of the port.");
    for (unsigned i = 0; i < n; i++)
        metric_u64(m, 1, "port", p[i].config.name, "driver", p[i].driver, "devargs",
                   p[i].config.devargs, NULL);
}

// Of the ports that are LAGs, in families of their own, or of those that are none: a packet of a
// LAG is one of a member, too, and counts once in a sum over ports.
static void write_traffic(struct metrics *m, const struct port_state *p, unsigned n, bool lag)
{
#define FIELD(member, what, unit, help)                                                            \
    {                                                                                              \
        what, unit, help, offsetof(struct port_state, statistics.member)                           \
    }
    static const struct field field[] = {
        FIELD(rx_packets, "rx_packets", "packets", "Packets received by the device."),
        FIELD(rx_bytes, "rx_bytes", "bytes", "Bytes received by the device."),
        FIELD(tx_packets, "tx_packets", "packets", "Packets sent by the device."),
        FIELD(tx_bytes, "tx_bytes", "bytes", "Bytes sent by the device."),
        FIELD(rx_missed, "rx_missed_packets", "packets",
              "Packets the device dropped because its receive queue was full: forwarders were too "
              "slow."),
        FIELD(rx_errors, "rx_errors_packets", "packets", "Packets received with errors."),
        FIELD(rx_no_buffer, "rx_no_buffer_packets", "packets",
              "Packets the device dropped because it had no free buffer."),
        FIELD(tx_errors, "tx_errors_packets", "packets", "Packets the device failed to send."),
        FIELD(checksum_completed, "checksum_completed_packets", "packets",
              "Packets with an incomplete checksum (offload), which the router completed."),
        FIELD(offload_cut, "offload_cut_packets", "packets",
              "Segments longer than the link's MTU (sender's segmentation offload), dropped."),
    };
#undef FIELD

    const char *kind = lag ? "lag" : "port";
    char name[64];

    snprintf(name, sizeof name, "%s_speed_bytes_per_second", kind);
    metric_family(m, METRIC_GAUGE, name, "",
                  "Link speed, or the sum of all members in use, in bytes per second (bit rate / "
                  "8); 0: unknown.");
    for (unsigned i = 0; i < n; i++)
        if (lag == !!p[i].config.lag.mode)
            metric_u64(m, p[i].speed_mbps * 1000000ull / 8, kind, p[i].config.name, NULL);
    for (unsigned f = 0; f < sizeof field / sizeof *field; f++) {
        snprintf(name, sizeof name, "%s_%s", kind, field[f].name);
        metric_family(m, METRIC_COUNTER, name, field[f].unit, field[f].help);
        for (unsigned i = 0; i < n; i++)
            if (lag == !!p[i].config.lag.mode)
                metric_u64(m, field_of(&p[i], &field[f]), kind, p[i].config.name, NULL);
    }
}

static void each_queue(struct metrics *m, const struct port_state *p, unsigned n,
                       uint64_t (*value)(struct plan_rx_stats s))
{
    char queue[12];

    for (unsigned i = 0; i < n; i++) {
        for (uint16_t q = 0; q < p[i].config.rx_queues && q < QUEUE_MAX; q++) {
            snprintf(queue, sizeof queue, "%u", q);
            metric_u64(m, value(plan_rx_sum(p[i].id, q)), "port", p[i].config.name, "queue", queue,
                       NULL);
        }
    }
}

static uint64_t queue_packets(struct plan_rx_stats s)
{
    return s.packets;
}

static uint64_t queue_bytes(struct plan_rx_stats s)
{
    return s.bytes;
}

static uint64_t queue_depth(struct plan_rx_stats s)
{
    return s.depth;
}

static uint64_t queue_depth_max(struct plan_rx_stats s)
{
    return s.depth_max;
}

static void write_queues(struct metrics *m, const struct port_state *p, unsigned n)
{
    metric_family(m, METRIC_COUNTER, "queue_rx_packets", "packets",
                  "Packets forwarders took from the receive queue.");
    each_queue(m, p, n, queue_packets);
    metric_family(m, METRIC_COUNTER, "queue_rx_bytes", "bytes",
                  "Bytes forwarders took from the receive queue.");
    each_queue(m, p, n, queue_bytes);
    metric_family(m, METRIC_GAUGE, "queue_depth_packets", "packets",
                  "Packets waiting in the receive queue at the last sample; 0 if the driver does "
                  "not report it.");
    each_queue(m, p, n, queue_depth);
    metric_family(m, METRIC_GAUGE, "queue_depth_max_packets", "packets",
                  "Maximum of all samples of the queue depth.");
    each_queue(m, p, n, queue_depth_max);
}

void metrics_port(struct metrics *m)
{
    char name[PORT_MAX][16];
    unsigned listed = port_manager_list(name, PORT_MAX), n = 0;
    struct port_state *p = calloc(PORT_MAX, sizeof *p);

    bug_on(!p);
    for (unsigned i = 0; i < listed; i++)
        n += !port_manager_state(name[i], &p[n]);
    write_port_state(m, p, n);
    write_traffic(m, p, n, false);
    write_traffic(m, p, n, true);
    write_queues(m, p, n);
    free(p);
}

// --- interfaces ---------------------------------------------------------------------------------

struct row {
    const struct iface *iface;
    struct counter_iface sum;
};

void metrics_interface(struct metrics *m)
{
#define FIELD(member, unit, help)                                                                  \
    {                                                                                              \
        "interface_" #member, unit, help, offsetof(struct counter_iface, member)                   \
    }
    static const struct field field[] = {
        FIELD(rx_packets, "packets", "Packets received by the interface."),
        FIELD(rx_bytes, "bytes", "Bytes received by the interface."),
        FIELD(tx_packets, "packets", "Packets sent by the interface."),
        FIELD(tx_bytes, "bytes", "Bytes sent by the interface."),
        FIELD(drop_packets, "packets", "Packets of the interface dropped, for all reasons."),
        FIELD(punt_packets, "packets", "Packets passed to the kernel (punted)."),
        FIELD(inject_packets, "packets", "Packets received from the kernel (injected)."),
        FIELD(urpf_packets, "packets",
              "Packets dropped by the reverse-path check of the source; included in drop_packets."),
    };
#undef FIELD
    VEC(struct row) row = {0};

    for (unsigned id = 1; id < IFACE_MAX; id++) {
        if (iface_get((uint16_t)id)->kind == IFACE_NONE)
            continue;
        struct row *r = vec_push(&row);
        r->iface = iface_get((uint16_t)id);
        counter_sum_iface((uint16_t)id, &r->sum);
    }
    metric_family(m, METRIC_GAUGE, "interface_up", "",
                  "1: the interface is up in Linux and its port has link.");
    vec_foreach (&row, r)
        metric_u64(m, r->iface->admin_up && r->iface->carrier, "iface", r->iface->name, "vr",
                   vr_get(r->iface->vr)->name, NULL);
    for (unsigned f = 0; f < sizeof field / sizeof *field; f++) {
        metric_family(m, METRIC_COUNTER, field[f].name, field[f].unit, field[f].help);
        vec_foreach (&row, r)
            metric_u64(m, field_of(&r->sum, &field[f]), "iface", r->iface->name, "vr",
                       vr_get(r->iface->vr)->name, NULL);
    }
    vec_free(&row);
}
