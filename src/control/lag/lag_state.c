// SPDX-License-Identifier: BSD-3-Clause
// lag_state.c - state, members and statistics of LAGs, for management
//
// A LAG's statistics are the counts of its members while they belonged to it. Each member
// stores the values that the LAG already has; the difference is added when somebody asks and before
// the device closes, so nothing is counted twice or lost.
#include <errno.h>
#include <rte_ethdev.h>

#include "base/clock.h"
#include "core/thread.h"
#include "lag/lag_port.h"

// --- the list of LAGs ---

struct lag_port lag_ports[LAG_MAX];

struct lag_port *lag_port_find(const char *name)
{
    for_each_lag (l)
        if (!strcmp(l->wish.name, name))
            return l;
    return NULL;
}

// --- statistics: packets counted by members while they belonged to the LAG ---

void lag_member_opened(struct managed_port *p)
{
    managed_port_statistics(p, &p->lag_counted);
}

void lag_member_add_statistics(struct managed_port *p)
{
    struct lag_port *l = lag_port_find(p->wish.member_of);
    struct port_statistics s;

    _Static_assert(sizeof s % sizeof(uint64_t) == 0, "all are counters");
    if (!l || !managed_port_statistics(p, &s))
        return;
    uint64_t *sum = (uint64_t *)&l->statistics, *was = (uint64_t *)&p->lag_counted;
    const uint64_t *is = (const uint64_t *)&s;
    for (size_t i = 0; i < sizeof s / sizeof *is; i++) {
        sum[i] += is[i] < was[i] ? is[i] : is[i] - was[i]; // smaller: the device counts from 0
        was[i] = is[i];
    }
}

// --- state ---

static uint32_t member_speed(struct managed_port *p)
{
    struct rte_eth_link link;
    bool known = p->lag->active && port_device_link(&p->device, &link) &&
                 link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;

    return known ? link.link_speed : 0;
}

int lag_port_state(struct lag_port *l, struct port_state *s)
{
    *s = (struct port_state){.config = l->wish,
                             .id = lag_port_id(l),
                             .driver = "lag",
                             .started = l->wish.enabled,
                             .link_up = l->up,
                             .full_duplex = true,
                             .mtu_max = l->wish.mtu,
                             .socket = -1,
                             .cleared_wall_ns = l->cleared_wall_ns,
                             .cleared = l->cleared};
    memcpy(s->mac, l->mac, sizeof s->mac);
    for_each_member (l, p) {
        lag_member_add_statistics(p);
        s->speed_mbps += member_speed(p);
    }
    s->statistics = l->statistics;
    return 0;
}

unsigned lag_list(char (*name)[16], unsigned max)
{
    unsigned n = 0;

    for_each_lag (l)
        if (n < max)
            memcpy(name[n++], l->wish.name, sizeof *name);
    return n;
}

static bool is_missing(const struct lag_port *l, const struct managed_port *p)
{
    return l->wish.enabled && p->wish.enabled && !strcmp(lag_status(l, p), "inactive") &&
           clock_now_ns() - p->lag->changed_ns >= LAG_MISSED_S * NS_PER_SECOND;
}

int lag_state(const char *name, struct lag_state *s)
{
    struct lag_port *l = lag_port_find(name);

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return -ENOENT;
    *s = (struct lag_state){
        .config = l->wish, .up = l->up, .n_active = l->n_active, .link_changes = l->link_changes};
    memcpy(s->mac, l->mac, sizeof s->mac);
    for_each_member (l, p) {
        s->n_members++;
        s->n_missing += is_missing(l, p);
    }
    return 0;
}

unsigned lag_members(const char *name, struct lag_member_state *m, unsigned max)
{
    struct lag_port *l = lag_port_find(name);
    unsigned n = 0;

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return 0;
    for_each_member (l, p) {
        if (n == max)
            break;
        m[n] = (struct lag_member_state){.link_up = p->link_up,
                                         .status = lag_status(l, p),
                                         .reason = lag_reason(l, p),
                                         .changes = p->lag->changes,
                                         .lacp = p->lag->lacp};
        memcpy(m[n++].name, p->wish.name, sizeof m->name);
    }
    return n;
}
