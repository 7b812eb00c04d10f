// SPDX-License-Identifier: BSD-3-Clause
// lag_config.c - LAGs of a configuration: ports without a device that have members
#include "feature/lag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/feature_config.h"
#include "config/leaf.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// A leaf that somebody has set and only a port with a device may have; NULL: none.
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
    struct lyd_nodes v = {0};

    config_children(lag, yang_child(schema, "member", true), &v);
    for (size_t i = 0; i < v.n && i < LAG_MEMBER_MAX; i++) {
        snprintf(p->member[p->n_members], sizeof p->member[0], "%s", lyd_get_value(v.item[i]));
        p->member_line[p->n_members++] = config_line_of(v.item[i]);
    }
    free(v.item);
}

// A LAG is a port without a device that has a container `lag`.
void lag_read(struct model_port *p, const struct lyd_node *entry)
{
    const struct lysc_node *schema = yang_child(entry->schema, "lag", true);
    const struct lyd_node *of = config_find(lyd_child(entry), schema, NULL), *lag = lyd_child(of);
    struct lag_config *c = &p->config.lag;

    if (!lag || of->flags & LYD_DEFAULT || p->config.devargs[0])
        return;
    const struct lyd_node *lacp = leaf_inside(lag, schema, "lacp");
    c->mode = leaf_word(lag, "mode", (const char *[]){"lacp", "active-backup"}, 2) == 1
                  ? LAG_MODE_ACTIVE_BACKUP
                  : LAG_MODE_LACP;
    c->min_links = (uint8_t)leaf_number(lag, "min-links", 1);
    leaf_copy(c->primary, sizeof c->primary, lag, "primary", "");
    c->slow = leaf_word(lacp, "rate", (const char *[]){"fast", "slow"}, 2) == 1;
    c->passive = leaf_word(lacp, "activity", (const char *[]){"active", "passive"}, 2) == 1;
    c->system_priority = (uint16_t)leaf_number(lacp, "system-priority", 32768);
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

        if (p) // else the schema says so
            check_member(lag, p, lag->member_line[k], e);
        primary |= !strcmp(lag->member[k], c->primary);
    }
    if (!lag->n_members)
        errors_add(
            e, lag->line,
            "port %s: a LAG without members, expected at least one: 'set port %s lag member PORT'",
            name, name);
    if (lag->given)
        errors_add(e, lag->line, "port %s: '%s' is a matter of a LAG's members, expected it there",
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

const struct feature_config lag_config = {.resolve = bind_members, .check = check_lags};
