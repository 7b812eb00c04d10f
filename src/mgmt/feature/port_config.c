// SPDX-License-Identifier: BSD-3-Clause
// model_interface.c - ports, vports and interfaces of a configuration: read, and judged by what the
// schema cannot say
#include "model/model_interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "model/model_acl.h"
#include "model/model_leaf.h"
#include "port/devargs.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

// A leaf that somebody has set and only a port with a device may have; NULL: none.
static const char *given_of_device(const struct lyd_node *first)
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

// A LAG is a port without a device that has a container `lag`; its members are bound when all ports
// are read.
static void read_lag(struct model_port *p, const struct lyd_node *entry)
{
    const struct lysc_node *lag_schema = yang_child(entry->schema, "lag", true);
    const struct lyd_node *of = config_find(lyd_child(entry), lag_schema, NULL),
                          *lag = lyd_child(of);
    struct lag_config *c = &p->config.lag;
    struct lyd_nodes v = {0};

    if (!lag || of->flags & LYD_DEFAULT || p->config.devargs[0])
        return;
    const struct lyd_node *lacp = leaf_inside(lag, lag_schema, "lacp");
    c->mode = leaf_word(lag, "mode", (const char *[]){"lacp", "active-backup"}, 2) == 1
                  ? LAG_MODE_ACTIVE_BACKUP
                  : LAG_MODE_LACP;
    c->min_links = (uint8_t)leaf_number(lag, "min-links", 1);
    leaf_copy(c->primary, sizeof c->primary, lag, "primary", "");
    c->slow = leaf_word(lacp, "rate", (const char *[]){"fast", "slow"}, 2) == 1;
    c->passive = leaf_word(lacp, "activity", (const char *[]){"active", "passive"}, 2) == 1;
    c->system_priority = (uint16_t)leaf_number(lacp, "system-priority", 32768);
    config_children(lag, yang_child(lag_schema, "member", true), &v);
    for (size_t i = 0; i < v.n && i < LAG_MEMBER_MAX; i++) {
        snprintf(p->member[p->n_members], sizeof p->member[0], "%s", lyd_get_value(v.item[i]));
        p->member_line[p->n_members++] = config_line_of(v.item[i]);
    }
    free(v.item);
}

void model_read_port(struct model *m, const struct lyd_node *entry)
{
    struct model_port *p = vec_push(&m->port);
    struct port_config *c = &p->config;
    const struct lyd_node *first = lyd_child(entry);
    const char *mac = config_value(first, "mac");

    memset(p, 0, sizeof *p);
    leaf_copy(c->name, sizeof c->name, first, "name", "");
    leaf_copy(c->kernel_interface, sizeof c->kernel_interface, first, "kernel-interface", "");
    leaf_copy(c->devargs, sizeof c->devargs, first, "devargs", "");
    if (c->kernel_interface[0]) // named after the port: no two devices have one name
        snprintf(c->devargs, sizeof c->devargs, "net_af_packet-%s,iface=%s", c->name,
                 c->kernel_interface);
    else
        devargs_netdev(c->devargs, c->kernel_interface, sizeof c->kernel_interface);
    read_lag(p, entry);
    p->force = leaf_true(first, "force");
    leaf_copy(c->netns, sizeof c->netns, first, "namespace", "");
    c->rx_queues = (uint16_t)leaf_number(first, "rx-queues", 0);
    c->tx_queues = (uint16_t)leaf_number(first, "tx-queues", 0);
    c->rx_descriptors = (uint16_t)leaf_number(first, "rx-descriptors", 0);
    c->tx_descriptors = (uint16_t)leaf_number(first, "tx-descriptors", 0);
    c->mtu = (uint16_t)leaf_number(first, "mtu", 1500);
    c->rx_mode = leaf_word(first, "rx-mode", (const char *[]){"interrupt", "poll"}, 2) == 1
                     ? PORT_RX_POLL
                     : PORT_RX_INTERRUPT;
    c->promiscuous = leaf_true(first, "promiscuous");
    c->enabled = leaf_true(first, "enabled");
    c->has_mac = mac && !text_parse_mac(mac, c->mac);
    snprintf(p->vr, sizeof p->vr, VR_DEFAULT_NAME);
    p->line = leaf_line(entry, config_value(first, "devargs") ? "devargs" : "kernel-interface");
    p->given = c->lag.mode ? given_of_device(first) : NULL;
}

static uint16_t read_tpid(const struct lyd_node *first)
{
    const char *v = config_value(first, "tpid");

    return v ? (uint16_t)strtoul(v, NULL, 16) : 0x88a8;
}

void model_read_vport(struct model *m, const struct lyd_node *entry)
{
    struct model_vport *v = vec_push(&m->vport);
    const struct lyd_node *first = lyd_child(entry);

    memset(v, 0, sizeof *v);
    leaf_copy(v->name, sizeof v->name, first, "name", "");
    leaf_copy(v->port, sizeof v->port, first, "port", "");
    v->tags.vlan = (uint16_t)leaf_number(first, "vlan", 0);
    v->tags.outer = (uint16_t)leaf_number(first, "outer-vlan", 0);
    v->tags.tpid = v->tags.outer ? read_tpid(first) : 0;
    v->has_tpid = config_value(first, "tpid");
    v->mtu = (uint16_t)leaf_number(first, "mtu", 0);
    snprintf(v->vr, sizeof v->vr, VR_DEFAULT_NAME);
    v->line = leaf_line(entry, NULL);
}

static uint8_t read_urpf(const struct lyd_node *first, const char *family)
{
    static const char *const modes[] = {"off", "loose", "strict", "feasible"};
    int mode = leaf_word(first, family, modes, 4);

    return mode <= 0
               ? URPF_OFF
               : (uint8_t)(mode | (leaf_true(first, "allow-default") ? URPF_ALLOW_DEFAULT : 0));
}

static void read_policy(struct iface_policy *p, const struct lyd_node *entry)
{
    const struct lyd_node *urpf = leaf_inside(lyd_child(entry), entry->schema, "urpf");

    p->urpf[0] = read_urpf(urpf, "ipv4");
    p->urpf[1] = read_urpf(urpf, "ipv6");
    p->redirect = leaf_true(lyd_child(entry), "redirect");
    p->directed_broadcast = leaf_true(lyd_child(entry), "directed-broadcast");
    p->sample = (uint8_t)((leaf_true(lyd_child(entry), "sflow") ? IFACE_SAMPLE_SFLOW : 0) |
                          (leaf_true(lyd_child(entry), "ipfix") ? IFACE_SAMPLE_IPFIX : 0));
}

void model_read_interface(struct model *m, const struct lyd_node *entry)
{
    struct model_interface *i = vec_push(&m->interface);
    const struct lyd_node *first = lyd_child(entry);

    memset(i, 0, sizeof *i);
    leaf_copy(i->name, sizeof i->name, first, "name", "");
    leaf_copy(i->vr, sizeof i->vr, first, "vr", VR_DEFAULT_NAME);
    i->line = leaf_line(entry, "vr");
    leaf_copy(i->description, sizeof i->description, first, "description", "");
    read_policy(&i->policy, entry);
    i->acls = model_read_binding(first, entry->schema);
    i->policy_line = leaf_line(entry, NULL);
}

// Puts each interface's virtual router and policy where apply looks for them.
static void bind_policies(struct model *m)
{
    vec_foreach (&m->interface, i) {
        struct model_port *p = model_find_port(m, i->name);
        struct model_vport *v = model_find_vport(m, i->name);

        if (p) {
            memcpy(p->vr, i->vr, sizeof p->vr);
            p->vr_line = i->line;
            memcpy(p->description, i->description, sizeof p->description);
            p->policy = i->policy;
            p->acls = i->acls;
            p->policy_line = i->policy_line;
        }
        if (v) {
            memcpy(v->vr, i->vr, sizeof v->vr);
            v->vr_line = i->line;
            memcpy(v->description, i->description, sizeof v->description);
            v->policy = i->policy;
            v->acls = i->acls;
            v->policy_line = i->policy_line;
        }
    }
}

static void inherit_mtu(struct model *m)
{
    vec_foreach (&m->vport, v) {
        const struct model_port *p = model_find_port(m, v->port);

        if (!v->mtu && p)
            v->mtu = p->config.mtu;
    }
}

static void bind_members(struct model *m)
{
    vec_foreach (&m->port, lag)
        for (unsigned i = 0; i < lag->n_members; i++) {
            struct model_port *p = model_find_port(m, lag->member[i]);

            if (p && !p->config.member_of[0] && !p->config.lag.mode)
                memcpy(p->config.member_of, lag->config.name, sizeof p->config.member_of);
        }
}

void model_bind_interfaces(struct model *m)
{
    bind_members(m);
    bind_policies(m);
    inherit_mtu(m);
}

// --- rules ---------------------------------------------------------------------------------------

static void check_interfaces(const struct model *m, struct errors *e)
{
    vec_foreach (&m->interface, i) {
        if (model_find_port(m, i->name) || model_find_vport(m, i->name))
            continue;
        if (i->line)
            errors_add(e, i->line,
                       "interface %s: no such interface, expected the name of a port or vport",
                       i->name);
        else
            errors_add(e, 0,
                       "interface %s: no port or vport has this name: configure one, or delete "
                       "'interface %s' too",
                       i->name, i->name);
    }
}

static int compare_vlan(const void *pa, const void *pb)
{
    const struct model_vport *a = *(const struct model_vport *const *)pa,
                             *b = *(const struct model_vport *const *)pb;
    int d = strcmp(a->port, b->port);

    return d                                ? d
           : a->tags.outer != b->tags.outer ? a->tags.outer - b->tags.outer
                                            : a->tags.vlan - b->tags.vlan;
}

// "vlan '7'", or "outer-vlan '100' vlan '7'".
static const char *vlan_words(const struct model_vport *v, char *buf, size_t n)
{
    if (v->tags.outer)
        snprintf(buf, n, "outer-vlan '%u' vlan '%u'", v->tags.outer, v->tags.vlan);
    else
        snprintf(buf, n, "vlan '%u'", v->tags.vlan);
    return buf;
}

static void check_unique_vlan(const struct model *m, struct errors *e)
{
    const struct model_vport **by = malloc((m->vport.n + 1) * sizeof *by);

    bug_on(!by);
    for (size_t i = 0; i < m->vport.n; i++)
        by[i] = &m->vport.item[i];
    qsort(by, m->vport.n, sizeof *by, compare_vlan);
    for (size_t i = 1; i < m->vport.n; i++) {
        // Blame the later line of the two.
        const struct model_vport *a = by[i - 1], *b = by[i];
        char words[48];

        if (compare_vlan(&a, &b))
            continue;
        if (a->line > b->line)
            a = by[i], b = by[i - 1];
        errors_add(
            e, b->line,
            "vport %s: port '%s' %s already belongs to vport %s, expected another VLAN",
            b->name, b->port, vlan_words(b, words, sizeof words), a->name);
    }
    free(by);
}

static void check_vports(const struct model *m, struct errors *e)
{
    vec_foreach (&m->vport, v) {
        const struct model_port *p = model_find_port(m, v->port);

        if (model_find_port(m, v->name))
            errors_add(e, v->line,
                       "vport %s: the name belongs to a port, expected another name (e.g. %s.%u)",
                       v->name, v->port, v->tags.vlan);
        if (v->has_tpid && !v->tags.outer)
            errors_add(
                e, v->line,
                "vport %s: 'tpid' is the type of an outer tag, expected an 'outer-vlan' as well",
                v->name);
        if (p && v->mtu > p->config.mtu)
            errors_add(e, v->line,
                       "vport %s: 'mtu' is '%u', expected at most %u, the mtu of port %s", v->name,
                       v->mtu, p->config.mtu, v->port);
    }
    check_unique_vlan(m, e);
}

// At most 64 (the schema's max-elements): compared in pairs, as two different texts may name one
// device. The later line of the two is to blame.
static void check_unique_device(const struct model *m, struct errors *e)
{
    for (size_t i = 0; i < m->port.n; i++)
        for (size_t k = 0; k < i; k++) {
            const struct model_port *a = &m->port.item[k], *b = &m->port.item[i];

            if (!port_config_same_device(&a->config, &b->config))
                continue;
            if (a->line > b->line)
                a = &m->port.item[i], b = &m->port.item[k];
            if (b->config.kernel_interface[0]) {
                errors_add(
                    e, b->line,
                    "port %s: kernel interface %s already belongs to port %s, expected another one",
                    b->config.name, b->config.kernel_interface, a->config.name);
                continue;
            }
            errors_add(e, b->line,
                       "port %s: 'devargs' is '%s', which already belongs to port %s, expected "
                       "another device",
                       b->config.name, b->config.devargs, a->config.name);
        }
}

// What a member has that belongs to its LAG, or NULL.
static const struct model_interface *interface_of(const struct model *m, const char *name)
{
    vec_foreach (&m->interface, i)
        if (!strcmp(i->name, name))
            return i;
    return NULL;
}

static void check_member_itself(const struct model *m, const struct model_port *lag,
                                const struct model_port *p, unsigned line, struct errors *e)
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

static void check_member(const struct model *m, const struct model_port *lag, unsigned k,
                         struct errors *e)
{
    const char *name = lag->member[k], *of = lag->config.name;
    const struct model_port *p = model_find_port(m, name);
    const struct model_interface *i = interface_of(m, name);
    unsigned line = lag->member_line[k];

    if (!p)
        return; // the schema says so
    check_member_itself(m, lag, p, line, e);
    if (i)
        errors_add(
            e, i->policy_line ? i->policy_line : line,
            "interface %s: port %s is a member of %s and has no interface, expected 'interface %s'",
            name, name, of, of);
    vec_foreach (&m->vport, v)
        if (!strcmp(v->port, name))
            errors_add(e, v->line,
                       "vport %s: port '%s' is a member of %s and has no sub-interfaces, expected "
                       "'port %s'",
                       v->name, name, of, of);
    vec_foreach (&m->mirror, r)
        if (!strcmp(r->mirror.to_port, name))
            errors_add(e, r->line,
                       "mirror to port '%s': it is a member of %s, expected a port of no LAG", name,
                       of);
    vec_foreach (&m->multicast, r)
        if (!strcmp(r->route.in, name))
            errors_add(e, r->line,
                       "multicast route: interface '%s' is a member of %s, expected '%s'", name, of,
                       of);
}

static void check_lag(const struct model *m, const struct model_port *lag, struct errors *e)
{
    const struct lag_config *c = &lag->config.lag;
    const char *name = lag->config.name;
    bool primary = !c->primary[0];

    for (unsigned k = 0; k < lag->n_members; k++) {
        check_member(m, lag, k, e);
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
    vec_foreach (&m->mirror, r)
        if (!strcmp(r->mirror.to_port, name))
            errors_add(e, r->line,
                       "mirror to port '%s': it is a LAG, expected a port with a device", name);
    for (size_t i = 0; i < m->thread.n; i++)
        if (!strcmp(m->thread.item[i].port, name))
            errors_add(
                e, m->thread_line.item[i],
                "thread %d: port '%s' is a LAG, which has no queues, expected one of its members",
                m->thread.item[i].core, name);
}

static void check_ports(const struct model *m, struct errors *e)
{
    static const uint8_t zero[6];

    char why[1024];

    vec_foreach (&m->port, p) {
        if (p->config.lag.mode)
            check_lag(m, p, e);
        else if (p->config.devargs[0] && devargs_check(p->config.devargs, why, sizeof why))
            errors_add(e, p->line, "port %s: %s", p->config.name, why);
        if (p->config.has_mac && (p->config.mac[0] & 1 || !memcmp(p->config.mac, zero, 6)))
            errors_add(e, p->line,
                       "port %s: 'mac' is a multicast or zero address, expected a unicast MAC "
                       "address such as 02:00:00:00:00:01",
                       p->config.name);
        if (!strcmp(p->config.name, ".") || !strcmp(p->config.name, ".."))
            errors_add(e, p->line,
                       "port %s: Linux has no interface of this name, expected another name",
                       p->config.name);
    }
    check_unique_device(m, e);
}

void model_check_interfaces(const struct model *m, struct errors *e)
{
    check_ports(m, e);
    check_vports(m, e);
    check_interfaces(m, e);
}
