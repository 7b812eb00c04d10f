// SPDX-License-Identifier: BSD-3-Clause
// metrics_lag.c - LAGs and their members; what a LAG counts as a port is in metrics_port.c
#include <string.h>

#include "base/vec.h"
#include "restconf/metric.h"
#include "restconf/metrics.h"
#include "port/lag_manager.h"

struct member {
    const char *lag;
    bool lacp;
    struct lag_member_state is;
};

struct lags {
    unsigned n;
    struct lag_state lag[LAG_MAX];
    VEC(struct member) member;
};

static void look(struct lags *all)
{
    char name[LAG_MAX][16];
    unsigned n = lag_list(name, LAG_MAX);
    struct lag_member_state is[LAG_MEMBER_MAX];

    for (unsigned i = 0; i < n; i++) {
        struct lag_state *l = &all->lag[all->n];
        if (lag_state(name[i], l))
            continue;
        all->n++;
        unsigned members = lag_members(name[i], is, LAG_MEMBER_MAX);
        for (unsigned k = 0; k < members; k++)
            *vec_push(&all->member) =
                (struct member){l->config.name, l->config.lag.mode == LAG_MODE_LACP, is[k]};
    }
}

static void write_lags(struct metrics *m, const struct lags *all)
{
    metric_family(m, METRIC_GAUGE, "lag_members", "", "Configured members of the LAG.");
    for (unsigned i = 0; i < all->n; i++)
        metric_u64(m, all->lag[i].n_members, "lag", all->lag[i].config.name, NULL);
    metric_family(m, METRIC_GAUGE, "lag_active_members", "", "Members of the LAG in use.");
    for (unsigned i = 0; i < all->n; i++)
        metric_u64(m, all->lag[i].n_active, "lag", all->lag[i].config.name, NULL);
}

// 1 for the word that holds, 0 for the others.
static void write_word(struct metrics *m, const struct member *p, const char *label,
                       const char *word, const char *holds)
{
    metric_u64(m, !strcmp(word, holds), "lag", p->lag, "port", p->is.name, label, word, NULL);
}

static void write_lacp(struct metrics *m, const struct lags *all)
{
    metric_family(m, METRIC_GAUGE, "lag_member_lacp_receive", "",
                  "State of the LACP receive machine of the member: 1 for the current state.");
    vec_foreach (&all->member, p)
        for (enum lacp_rx rx = LACP_RX_DISABLED; p->lacp && rx <= LACP_RX_CURRENT; rx++)
            write_word(m, p, "receive", lacp_rx_name(rx), lacp_rx_name(p->is.lacp.rx));
    metric_family(m, METRIC_GAUGE, "lag_member_lacp_mux", "",
                  "State of the LACP mux machine of the member: 1 for the current state.");
    vec_foreach (&all->member, p)
        for (enum lacp_mux mux = LACP_DETACHED; p->lacp && mux <= LACP_MUX_DISTRIBUTING; mux++)
            write_word(m, p, "mux", lacp_mux_name(mux), lacp_mux_name(p->is.lacp.mux));
    metric_family(m, METRIC_COUNTER, "lag_member_rx_lacpdus", "lacpdus",
                  "LACPDUs received by the member.");
    vec_foreach (&all->member, p)
        if (p->lacp)
            metric_u64(m, p->is.lacp.rx_pdus, "lag", p->lag, "port", p->is.name, NULL);
    metric_family(m, METRIC_COUNTER, "lag_member_tx_lacpdus", "lacpdus",
                  "LACPDUs sent by the member.");
    vec_foreach (&all->member, p)
        if (p->lacp)
            metric_u64(m, p->is.lacp.tx_pdus, "lag", p->lag, "port", p->is.name, NULL);
}

static void write_members(struct metrics *m, const struct lags *all)
{
    static const char *const status[] = {"active", "standby", "inactive"};

    metric_family(m, METRIC_GAUGE, "lag_member_status", "",
                  "Status of the member: 1 for the current status.");
    vec_foreach (&all->member, p)
        for (unsigned i = 0; i < sizeof status / sizeof *status; i++)
            write_word(m, p, "status", status[i], p->is.status);
    metric_family(m, METRIC_COUNTER, "lag_member_changes", "changes",
                  "Status changes of the member.");
    vec_foreach (&all->member, p)
        metric_u64(m, p->is.changes, "lag", p->lag, "port", p->is.name, NULL);
}

void metrics_lag(struct metrics *m)
{
    struct lags *all = calloc(1, sizeof *all);

    bug_on(!all);
    look(all);
    write_lags(m, all);
    write_members(m, all);
    write_lacp(m, all);
    vec_free(&all->member);
    free(all);
}
