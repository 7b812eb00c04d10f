// SPDX-License-Identifier: BSD-3-Clause
// show_lag.c - LAGs: who is in use, why the others are not, what LACP says
#include <string.h>

#include "port/lag_manager.h"
#include "restconf/state.h"

static void write_side(struct jwrite *j, const char *name, const struct lacp_side *s)
{
    static const char *const flag[] = {"activity",        "short-timeout", "aggregation",
                                       "synchronization", "collecting",    "distributing",
                                       "defaulted",       "expired"};

    jwrite_begin(j, name, '{');
    jwrite_int(j, "system-priority", s->system_priority);
    jwrite_mac(j, "system", s->system);
    jwrite_int(j, "key", s->key);
    jwrite_int(j, "port-priority", s->port_priority);
    jwrite_int(j, "port", s->port);
    jwrite_begin(j, "state", '[');
    for (unsigned i = 0; i < sizeof flag / sizeof *flag; i++)
        if (s->state >> i & 1)
            jwrite_string(j, NULL, flag[i]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void write_member(struct jwrite *j, const struct lag_member_state *m, bool lacp)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", m->name);
    jwrite_string(j, "status", m->status);
    if (m->reason[0])
        jwrite_string(j, "reason", m->reason);
    jwrite_string(j, "link", m->link_up ? "up" : "down");
    jwrite_u64(j, "changes", m->changes);
    if (lacp) {
        jwrite_begin(j, "lacp", '{');
        jwrite_string(j, "receive", lacp_rx_name(m->lacp.rx));
        jwrite_string(j, "mux", lacp_mux_name(m->lacp.mux));
        jwrite_u64(j, "rx-lacpdus", m->lacp.rx_pdus);
        jwrite_u64(j, "tx-lacpdus", m->lacp.tx_pdus);
        write_side(j, "actor", &m->lacp.actor);
        write_side(j, "partner", &m->lacp.partner);
        jwrite_end(j, '}');
    }
    jwrite_end(j, '}');
}

static void write_lag(struct jwrite *j, const struct lag_state *s)
{
    const struct lag_config *c = &s->config.lag;
    struct lag_member_state member[LAG_MEMBER_MAX];
    unsigned n = lag_members(s->config.name, member, LAG_MEMBER_MAX);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", s->config.name);
    jwrite_string(j, "status", !s->config.enabled ? "stopped" : s->up ? "up" : "down");
    jwrite_string(j, "mode", lag_mode_name(c->mode));
    jwrite_mac(j, "mac", s->mac);
    jwrite_int(j, "min-links", c->min_links);
    jwrite_int(j, "active-members", s->n_active);
    if (c->primary[0])
        jwrite_string(j, "primary", c->primary);
    if (c->mode == LAG_MODE_LACP)
        jwrite_string(j, "rate", c->slow ? "slow" : "fast");
    jwrite_begin(j, "member", '[');
    for (unsigned i = 0; i < n; i++)
        write_member(j, &member[i], c->mode == LAG_MODE_LACP);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

int show_lag(struct show *s)
{
    char name[LAG_MAX][16];
    unsigned n = lag_list(name, LAG_MAX);
    struct lag_state l;

    jwrite_begin(&s->out, s->name, '[');
    for (unsigned i = 0; i < n; i++)
        if ((!s->key[0] || !strcmp(s->key[0], name[i])) && !lag_state(name[i], &l))
            write_lag(&s->out, &l);
    jwrite_end(&s->out, ']');
    return SHOW_NOW;
}
