// SPDX-License-Identifier: BSD-3-Clause
// lag.c - LAGs: members in use, reasons why others are not, and LACP state
//
// A LAG's port counters are in port.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "event/event.h"
#include "lag/lag_manager.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// --- configuration -------------------------------------------------------------------------------

// Explicit leaf that only a port with a device may have; NULL if there is none.
static const char *device_leaf_of(const struct lyd_node *first)
{
    static const char *const leaf[] = {"force",     "namespace",      "rx-queues",
                                       "tx-queues", "rx-descriptors", "tx-descriptors",
                                       "rx-mode",   "promiscuous"};

    for (const struct lyd_node *n = first; n; n = n->next)
        for (size_t i = 0; i < sizeof leaf / sizeof *leaf; i++)
            if (!(n->flags & LYD_DEFAULT) && !strcmp(n->schema->name, leaf[i]))
                return leaf[i];
    return NULL;
}

static void read_members(struct model_port *p, const struct lyd_node *lag,
                         const struct lysc_node *schema)
{
    leaf_foreach (lag, schema, "member", member)
        if (p->n_members < LAG_MEMBER_MAX) {
            snprintf(p->member[p->n_members], sizeof p->member[0], "%s", lyd_get_value(member));
            p->member_line[p->n_members++] = config_line_of(member);
        }
}

static const char *const lag_modes[] = {"", "lacp", "active-backup"};
static const char *const rates[] = {"fast", "slow"}, *const activities[] = {"active", "passive"};
static const struct column lag_columns[] = {
    COLUMN_WORD(struct lag_config, mode, "mode", lag_modes),
    COLUMN(struct lag_config, min_links, "min-links"),
    COLUMN(struct lag_config, primary, "primary", .any = true),
    {0}};
static const struct column lacp_leaves[] = {
    COLUMN_WORD(struct lag_config, slow, "rate", rates),
    COLUMN_WORD(struct lag_config, passive, "activity", activities),
    COLUMN(struct lag_config, system_priority, "system-priority"),
    {0}};

// A LAG is a port without a device that has a container `lag`.
static void read_lag(struct model *m, void *part, const struct lyd_node *entry)
{
    struct model_port *p = model_find_port(m, config_value(lyd_child(entry), "name"));
    const struct lysc_node *schema = yang_child(entry->schema, "lag", true);
    const struct lyd_node *of = config_find(lyd_child(entry), schema, NULL), *lag = lyd_child(of);
    struct lag_config *c = &p->config.lag;

    if (!lag || of->flags & LYD_DEFAULT || p->config.devargs[0])
        return;
    columns_read(lag, lag_columns, c);
    columns_read(leaf_inside(lag, schema, "lacp"), lacp_leaves, c);
    read_members(p, lag, schema);
    p->given = device_leaf_of(lyd_child(entry));
}

static void bind_members(struct model *m)
{
    vec_foreach (&model_ports(m)->port, lag)
        for (unsigned i = 0; i < lag->n_members; i++) {
            struct model_port *p = model_find_port(m, lag->member[i]);

            if (p && !p->config.member_of[0] && !p->config.lag.mode)
                memcpy(p->config.member_of, lag->config.name, sizeof p->config.member_of);
        }
}

// --- rules ---------------------------------------------------------------------------------------

static void check_member(const struct model_port *lag, const struct model_port *p, unsigned line,
                         struct errors *e)
{
    const char *name = p->config.name, *of = lag->config.name;

    if (p->config.lag.mode)
        errors_add(e, line,
                   "port %s: lag member '%s' is a LAG itself, expected a port with a device", of,
                   name);
    else if (strcmp(p->config.member_of, of))
        errors_add(
            e, line,
            "port %s: lag member '%s' already belongs to %s, expected a port of no other LAG", of,
            name, p->config.member_of);
    if (p->config.mtu != lag->config.mtu)
        errors_add(e, line,
                   "port %s: lag member '%s' has mtu %u and the LAG %u, expected one for all: 'set "
                   "port %s mtu %u'",
                   of, name, p->config.mtu, lag->config.mtu, name, lag->config.mtu);
    if (p->config.has_mac)
        errors_add(e, line,
                   "port %s: lag member '%s' has a mac, expected none: 'delete port %s mac', 'set "
                   "port %s mac …'",
                   of, name, name, of);
}

static void check_lag(const struct model *m, const struct model_port *lag, struct errors *e)
{
    const struct lag_config *c = &lag->config.lag;
    const char *name = lag->config.name;
    bool primary = !c->primary[0];

    for (unsigned k = 0; k < lag->n_members; k++) {
        const struct model_port *p = model_find_port(m, lag->member[k]);

        if (p) // otherwise the schema reports it
            check_member(lag, p, lag->member_line[k], e);
        primary |= !strcmp(lag->member[k], c->primary);
    }
    if (!lag->n_members)
        errors_add(
            e, lag->line,
            "port %s: a LAG without members, expected at least one: 'set port %s lag member PORT'",
            name, name);
    if (lag->given)
        errors_add(e, lag->line, "port %s: '%s' belongs to a LAG's members: set it there",
                   name, lag->given);
    if (!primary)
        errors_add(e, lag->line,
                   "port %s: lag primary '%s' is not a member, expected one of its members", name,
                   c->primary);
    if (c->primary[0] && c->mode != LAG_MODE_ACTIVE_BACKUP)
        errors_add(
            e, lag->line,
            "port %s: 'lag primary' is for mode active-backup, with LACP all members are used",
            name);
    if (c->min_links > 1 && c->mode == LAG_MODE_ACTIVE_BACKUP)
        errors_add(e, lag->line,
                   "port %s: 'lag min-links' is %u, but with active-backup one member is used: "
                   "delete it, or set mode lacp",
                   name, c->min_links);
    else if (lag->n_members && c->min_links > lag->n_members)
        errors_add(e, lag->line,
                   "port %s: 'lag min-links' is %u, expected at most %u, the number of its members",
                   name, c->min_links, lag->n_members);
}

static void check_lags(const struct model *m, struct errors *e)
{
    vec_foreach (&model_ports(m)->port, p)
        if (p->config.lag.mode)
            check_lag(m, p, e);
}

static const struct feature_config lag_config = {
    .lists = (const struct feature_list[]){{.node = "port", .read = read_lag}, {0}},
    .resolve = bind_members,
    .check = check_lags,
};

// --- state ---------------------------------------------------------------------------------------

static const struct column side_columns[] = {
    COLUMN(struct lacp_side, system_priority, "system-priority"),
    COLUMN(struct lacp_side, system, "system"),
    COLUMN(struct lacp_side, key, "key"),
    COLUMN(struct lacp_side, port_priority, "port-priority"),
    COLUMN(struct lacp_side, port, "port"),
    {0}};

static void write_lacp_side(struct jwrite *j, const char *name, const struct lacp_side *s)
{
    static const char *const flag[] = {"activity",        "short-timeout", "aggregation",
                                       "synchronization", "collecting",    "distributing",
                                       "defaulted",       "expired"};

    jwrite_begin(j, name, '{');
    columns_write(j, side_columns, s);
    jwrite_begin(j, "state", '[');
    for (unsigned i = 0; i < sizeof flag / sizeof *flag; i++)
        if (s->state >> i & 1)
            jwrite_string(j, NULL, flag[i]);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static const struct column change_columns[] = {
    COUNTER(struct lag_member_state, changes, "changes", "changes",
            "Status changes of the member."),
    {0}};
static const struct column lacp_columns[] = {
    COUNTER(struct lag_member_state, lacp.rx_pdus, "rx-lacpdus", "lacpdus",
            "LACPDUs received by the member."),
    COUNTER(struct lag_member_state, lacp.tx_pdus, "tx-lacpdus", "lacpdus",
            "LACPDUs sent by the member."),
    {0}};

static void write_member_state(struct jwrite *j, const struct lag_member_state *m, bool lacp)
{
    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", m->name);
    jwrite_string(j, "status", m->status);
    jwrite_string_any(j, "reason", m->reason);
    jwrite_string(j, "link", m->link_up ? "up" : "down");
    columns_write(j, change_columns, m);
    if (lacp) {
        jwrite_begin(j, "lacp", '{');
        jwrite_string(j, "receive", lacp_rx_name(m->lacp.rx));
        jwrite_string(j, "mux", lacp_mux_name(m->lacp.mux));
        columns_write(j, lacp_columns, m);
        write_lacp_side(j, "actor", &m->lacp.actor);
        write_lacp_side(j, "partner", &m->lacp.partner);
        jwrite_end(j, '}');
    }
    jwrite_end(j, '}');
}

static void write_lag_state(struct jwrite *j, const struct lag_state *s)
{
    const struct lag_config *c = &s->config.lag;
    struct lag_member_state member[LAG_MEMBER_MAX];
    unsigned n = lag_members(s->config.name, member, LAG_MEMBER_MAX);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", s->config.name);
    jwrite_string(j, "status", !s->config.enabled ? "stopped" : s->up ? "up" : "down");
    columns_write(j, lag_columns, c);
    jwrite_mac(j, "mac", s->mac);
    jwrite_int(j, "active-members", s->n_active);
    if (c->mode == LAG_MODE_LACP)
        jwrite_string(j, "rate", c->slow ? "slow" : "fast");
    jwrite_begin(j, "member", '[');
    for (unsigned i = 0; i < n; i++)
        write_member_state(j, &member[i], c->mode == LAG_MODE_LACP);
    jwrite_end(j, ']');
    jwrite_end(j, '}');
}

static void list_lags(struct show *s)
{
    char name[LAG_MAX][16];
    unsigned n = lag_list(name, LAG_MAX);
    struct lag_state l;

    for (unsigned i = 0; i < n; i++)
        if (show_wants(s, name[i]) && !lag_state(name[i], &l))
            write_lag_state(&s->out, &l);
}

// --- metrics -------------------------------------------------------------------------------------

struct lag_member_row {
    const char *lag;
    bool lacp;
    struct lag_member_state is;
};

struct lags {
    unsigned n;
    struct lag_state lag[LAG_MAX];
    VEC(struct lag_member_row) member;
};

static void read_lags(struct lags *all)
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
                (struct lag_member_row){l->config.name, l->config.lag.mode == LAG_MODE_LACP, is[k]};
    }
}

static void write_lag_families(struct metrics *m, const struct lags *all)
{
    metric_family(m, METRIC_GAUGE, "lag_members", "", "Configured members of the LAG.");
    for (unsigned i = 0; i < all->n; i++)
        metric_u64(m, all->lag[i].n_members, "lag", all->lag[i].config.name, NULL);
    metric_family(m, METRIC_GAUGE, "lag_active_members", "", "Members of the LAG in use.");
    for (unsigned i = 0; i < all->n; i++)
        metric_u64(m, all->lag[i].n_active, "lag", all->lag[i].config.name, NULL);
}

// Writes 1 for the word that applies, 0 for the others.
static void write_state_set(struct metrics *m, const struct lag_member_row *p, const char *label,
                            const char *word, const char *holds)
{
    metric_u64(m, !strcmp(word, holds), "lag", p->lag, "port", p->is.name, label, word, NULL);
}

static void write_lacp_families(struct metrics *m, const struct lags *all)
{
    metric_family(m, METRIC_GAUGE, "lag_member_lacp_receive", "",
                  "State of the LACP receive machine of the member: 1 for the current state.");
    vec_foreach (&all->member, p)
        for (enum lacp_rx rx = LACP_RX_DISABLED; p->lacp && rx <= LACP_RX_CURRENT; rx++)
            write_state_set(m, p, "receive", lacp_rx_name(rx), lacp_rx_name(p->is.lacp.rx));
    metric_family(m, METRIC_GAUGE, "lag_member_lacp_mux", "",
                  "State of the LACP mux machine of the member: 1 for the current state.");
    vec_foreach (&all->member, p)
        for (enum lacp_mux mux = LACP_DETACHED; p->lacp && mux <= LACP_MUX_DISTRIBUTING; mux++)
            write_state_set(m, p, "mux", lacp_mux_name(mux), lacp_mux_name(p->is.lacp.mux));
    for (const struct column *c = lacp_columns; (c = column_family(m, "lag_member", c)); c++)
        vec_foreach (&all->member, p)
            if (p->lacp)
                column_metric(m, c, &p->is, "lag", p->lag, "port", p->is.name, NULL);
}

static void write_member_families(struct metrics *m, const struct lags *all)
{
    static const char *const status[] = {"active", "standby", "inactive"};

    metric_family(m, METRIC_GAUGE, "lag_member_status", "",
                  "Status of the member: 1 for the current status.");
    vec_foreach (&all->member, p)
        for (unsigned i = 0; i < sizeof status / sizeof *status; i++)
            write_state_set(m, p, "status", status[i], p->is.status);
    for (const struct column *c = change_columns; (c = column_family(m, "lag_member", c)); c++)
        vec_foreach (&all->member, p)
            column_metric(m, c, &p->is, "lag", p->lag, "port", p->is.name, NULL);
}

static void write_lag_metrics(struct metrics *m, const void *kept)
{
    struct lags *all = calloc(1, sizeof *all);

    bug_on(!all);
    read_lags(all);
    write_lag_families(m, all);
    write_member_families(m, all);
    write_lacp_families(m, all);
    vec_free(&all->member);
    free(all);
}

// --- events --------------------------------------------------------------------------------------

static void publish_member(const char *lag, const char *port, const char *status,
                           const char *reason)
{
    json_t *body = json_pack("{s:s, s:s, s:s}", "lag", lag, "port", port, "status", status);

    if (reason[0])
        json_object_set_new(body, "reason", json_string(reason));
    event_publish("lag-member-change", body);
}

static void want_member_events(bool on)
{
    lag_on_member(on ? publish_member : NULL);
}

const struct feature lag_feature = {
    "lag",
    .config = &lag_config,
    .state = (const struct feature_state[]){{"lag", .list = list_lags}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_lag_metrics},
    .events = &(const struct feature_events){.want = want_member_events},
};
