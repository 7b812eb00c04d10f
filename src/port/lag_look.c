// SPDX-License-Identifier: BSD-3-Clause
// lag_look.c - what there is to see of LAGs: state, members, statistics
#include <errno.h>

#include "base/clock.h"
#include "core/thread.h"
#include "port/lag_port.h"

static void add(struct port_statistics *sum, const struct port_statistics *s)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)s;

    _Static_assert(sizeof *s % sizeof *from == 0, "all are counters");
    for (size_t i = 0; i < sizeof *s / sizeof *from; i++)
        to[i] += from[i];
}

int lag_port_state(const char *name, struct port_state *s)
{
    struct lag_port *l = lag_port_find(name);
    struct port_state m;

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return -ENOENT;
    *s = (struct port_state){.config = l->wish, .id = lag_port_id(l), .driver = "lag", .started = l->wish.enabled, .link_up = l->up,
                             .full_duplex = true, .mtu_max = l->wish.mtu, .socket = -1,
                             .cleared_wall_ns = l->cleared_wall_ns, .cleared = l->cleared};
    memcpy(s->mac, l->mac, sizeof s->mac);
    for_each_member (l, p) {
        if (port_manager_state(p->wish.name, &m))
            continue;
        s->speed_mbps += p->lag_active ? m.speed_mbps : 0;
        add(&s->statistics, &m.statistics);
    }
    return 0;
}

void lag_clear(const char *name)
{
    struct lag_port *l = lag_port_find(name);
    struct port_state s;

    lag_port_state(name, &s);
    l->cleared_wall_ns = clock_wall_ns();
    l->cleared = s.statistics;
}

uint64_t lag_link_changes(const char *name)
{
    const struct lag_port *l = lag_port_find(name);

    return l ? l->link_changes : 0;
}

unsigned lag_list(char (*name)[16], unsigned max)
{
    unsigned n = 0;

    for_each_lag(l)
        if (n < max)
            memcpy(name[n++], l->wish.name, sizeof *name);
    return n;
}

int lag_state(const char *name, struct lag_state *s)
{
    struct lag_port *l = lag_port_find(name);

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return -ENOENT;
    *s = (struct lag_state){.config = l->wish, .up = l->up, .n_active = l->n_active, .link_changes = l->link_changes};
    memcpy(s->mac, l->mac, sizeof s->mac);
    for_each_member (l, p) {
        const char *reason = lag_reason(l, p);
        s->n_members++;
        s->n_ready += !reason[0] || !strcmp(reason, "standby");
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
        m[n] = (struct lag_member_state){.link_up = p->link_up, .active = p->lag_active, .reason = lag_reason(l, p), .changes = p->lag_changes,
                                         .lacp = p->lacp};
        memcpy(m[n++].name, p->wish.name, sizeof m->name);
    }
    return n;
}
