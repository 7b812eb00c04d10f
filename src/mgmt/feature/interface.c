// SPDX-License-Identifier: BSD-3-Clause
// interface.c - interfaces: where they belong, addresses, counters
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "mgmt/feature.h"
#include "port/iface_manager.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"

// Of the interface, as the kernel has them: of `n` rows.
static void write_addresses(struct jwrite *j, uint16_t id, const struct address_row *row,
                            unsigned n)
{
    jwrite_begin(j, "address", '[');
    for (const struct address_row *a = row; a < row + n; a++) {
        if (a->iface != id)
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_ip(j, "ip", &a->addr);
        jwrite_int(j, "prefix-length", a->len);
        jwrite_bool(j, "secondary", a->secondary);
        jwrite_string(j, "status", a->usable ? "preferred" : "tentative");
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static void write_iface_counters(struct jwrite *j, const struct counter_iface *c)
{
    jwrite_u64(j, "rx-packets", c->rx_packets);
    jwrite_u64(j, "rx-bytes", c->rx_bytes);
    jwrite_u64(j, "tx-packets", c->tx_packets);
    jwrite_u64(j, "tx-bytes", c->tx_bytes);
    jwrite_u64(j, "drop-packets", c->drop_packets);
    jwrite_u64(j, "punt-packets", c->punt_packets);
    jwrite_u64(j, "inject-packets", c->inject_packets);
    jwrite_u64(j, "urpf-packets", c->urpf_packets);
}

static void write_iface_statistics(struct jwrite *j, uint16_t id)
{
    const struct counter_cleared *cleared = counter_cleared_iface(id);
    struct counter_iface c;

    counter_sum_iface(id, &c);
    jwrite_begin(j, "statistics", '{');
    jwrite_time(j, "since", counter_since_iface(id));
    write_iface_counters(j, &c);
    jwrite_end(j, '}');
    if (!cleared->wall_ns)
        return;
    jwrite_begin(j, "cleared", '{');
    jwrite_time(j, "time", cleared->wall_ns);
    write_iface_counters(j, &cleared->at);
    jwrite_end(j, '}');
}

static void write_policy(struct jwrite *j, const struct iface_policy *p)
{
    static const char *const mode[] = {"off", "loose", "strict", "feasible"};

    jwrite_string(j, "urpf-ipv4", mode[p->urpf[0] & URPF_MODE]);
    jwrite_string(j, "urpf-ipv6", mode[p->urpf[1] & URPF_MODE]);
    jwrite_bool(j, "urpf-allow-default", (p->urpf[0] | p->urpf[1]) & URPF_ALLOW_DEFAULT);
    jwrite_bool(j, "redirect", p->redirect);
    jwrite_bool(j, "sflow", p->sample & IFACE_SAMPLE_SFLOW);
    jwrite_bool(j, "ipfix", p->sample & IFACE_SAMPLE_IPFIX);
    jwrite_bool(j, "directed-broadcast", p->directed_broadcast);
}

static void write_macs(struct jwrite *j, const struct iface *i)
{
    uint64_t w;

    jwrite_begin(j, "accepted-mac", '[');
    for (unsigned k = 0; k < IFACE_MACS && (w = iface_macs[i->id][k]); k++)
        jwrite_mac(j, NULL, (const uint8_t *)&w);
    jwrite_end(j, ']');
}

static void write_iface_state(struct jwrite *j, const struct iface *i,
                              const struct address_row *row, unsigned n)
{
    char description[256];

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", i->name);
    jwrite_int(j, "id", i->id);
    iface_manager_description(i->id, description);
    jwrite_string_any(j, "description", description);
    jwrite_string(j, "kind", i->kind == IFACE_PORT ? "port" : "vport");
    jwrite_string(j, "port", port_get(i->port)->name);
    if (i->kind == IFACE_VPORT)
        jwrite_int(j, "vlan", i->vlan);
    if (i->outer_vlan) {
        char tpid[8];
        snprintf(tpid, sizeof tpid, "%#x", ntohs(i->tpid_be));
        jwrite_int(j, "outer-vlan", i->outer_vlan);
        jwrite_string(j, "tpid", tpid);
    }
    jwrite_string(j, "vr", vr_get(i->vr)->name);
    jwrite_string(j, "status", !i->admin_up ? "admin-down" : i->carrier ? "up" : "down");
    jwrite_mac(j, "mac", i->mac);
    write_macs(j, i);
    jwrite_int(j, "mtu", i->mtu);
    jwrite_int(j, "ifindex", i->ifindex);
    write_addresses(j, i->id, row, n);
    write_policy(j, &i->policy);
    write_iface_statistics(j, i->id);
    jwrite_end(j, '}');
}

static void write_iface_states(void *ctx, const struct address_row *row, unsigned n)
{
    struct show *s = ctx;

    jwrite_begin(&s->out, s->name, '[');
    for (unsigned id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get((uint16_t)id);

        if (i->kind != IFACE_NONE && (!s->key[0] || !strcmp(s->key[0], i->name)))
            write_iface_state(&s->out, i, row, n);
    }
    jwrite_end(&s->out, ']');
    s->done(s, 0);
}

static int show_interface(struct show *s)
{
    return show_later(s, rib_manager_addresses(-1, write_iface_states, s));
}

struct iface_row {
    const struct iface *iface;
    struct counter_iface sum;
};

static void write_iface_metrics(struct metrics *m, const void *kept)
{
#define FIELD(member, unit, help)                                                                  \
    {                                                                                              \
        "interface_" #member, unit, help, offsetof(struct counter_iface, member)                   \
    }
    static const struct {
        const char *name, *unit, *help;
        size_t at;
    } field[] = {
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
    VEC(struct iface_row) row = {0};

    for (unsigned id = 1; id < IFACE_MAX; id++) {
        if (iface_get((uint16_t)id)->kind == IFACE_NONE)
            continue;
        struct iface_row *r = vec_push(&row);
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
            metric_u64(m, metric_field(&r->sum, field[f].at), "iface", r->iface->name, "vr",
                       vr_get(r->iface->vr)->name, NULL);
    }
    vec_free(&row);
}

extern const struct feature_config interface_config;
const struct feature interface_feature = {
    "interface",
    .config = &interface_config,
    .state = (const struct feature_state[]){{"interface", .write = show_interface}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_iface_metrics},
};
