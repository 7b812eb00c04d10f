// SPDX-License-Identifier: BSD-3-Clause
// show_interface.c - interfaces: where they belong, addresses, counters
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "show/show.h"
#include "table/counter.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"

static void write_address(struct jwrite *j, uint8_t family, const void *bytes)
{
    static const uint8_t none[16];
    size_t n = family == IP4 ? 4 : 16;
    struct ip_addr a = {.family = family};

    memcpy(a.b, bytes, n);
    if (memcmp(a.b, none, n))
        jwrite_ip(j, NULL, &a);
}

static void write_counters(struct jwrite *j, const struct counter_iface *c)
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

static void write_statistics(struct jwrite *j, uint16_t id)
{
    const struct counter_cleared *cleared = counter_cleared_iface(id);
    struct counter_iface c;

    counter_sum_iface(id, &c);
    jwrite_begin(j, "statistics", '{');
    jwrite_time(j, "since", counter_since_iface(id));
    write_counters(j, &c);
    jwrite_end(j, '}');
    if (!cleared->wall_ns)
        return;
    jwrite_begin(j, "cleared", '{');
    jwrite_time(j, "time", cleared->wall_ns);
    write_counters(j, &cleared->at);
    jwrite_end(j, '}');
}

static void write_policy(struct jwrite *j, const struct iface_policy *p)
{
    static const char *const mode[] = {"off", "loose", "strict", "feasible"};

    jwrite_string(j, "urpf-ipv4", mode[p->urpf[0] & URPF_MODE]);
    jwrite_string(j, "urpf-ipv6", mode[p->urpf[1] & URPF_MODE]);
    jwrite_bool(j, "urpf-allow-default", (p->urpf[0] | p->urpf[1]) & URPF_ALLOW_DEFAULT);
    jwrite_bool(j, "redirect", p->redirect);
    jwrite_bool(j, "directed-broadcast", p->directed_broadcast);
}

static void write_interface(struct jwrite *j, const struct iface *i)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", i->name);
    jwrite_int(j, "id", i->id);
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
    jwrite_int(j, "mtu", i->mtu);
    jwrite_int(j, "ifindex", i->ifindex);
    jwrite_begin(j, "address", '[');
    write_address(j, IP4, &i->addr4);
    write_address(j, IP6, i->addr6);
    write_address(j, IP6, i->addr6_ll);
    jwrite_end(j, ']');
    write_policy(j, &i->policy);
    write_statistics(j, i->id);
    jwrite_end(j, '}');
}

int show_interface(struct show *s)
{
    jwrite_begin(&s->out, s->name, '[');
    for (unsigned id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get((uint16_t)id);

        if (i->kind != IFACE_NONE && (!s->key[0] || !strcmp(s->key[0], i->name)))
            write_interface(&s->out, i);
    }
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}
