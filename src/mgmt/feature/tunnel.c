// SPDX-License-Identifier: BSD-3-Clause
// tunnel.c - tunnels: interfaces whose packets travel inside packets of another network
//
// A tunnel is an ordinary interface in the virtual router of `interface NAME vr`. A change of kind,
// end, key, outer virtual router, TTL or DSCP deletes it and creates it again.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ip.h"
#include "config/config_running.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "interface/iface_manager.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/state.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"
#include "tunnel/tunnel_linux.h"
#include "yang/config_tree.h"

// --- reading -------------------------------------------------------------------------------------

static uint8_t read_end(uint8_t to[16], const struct lyd_node *first, const char *leaf)
{
    const char *text = config_value(first, leaf);
    struct ip_addr a;

    if (!text || ip_parse(text, &a)) // the schema reports it
        return IP_NONE;
    memcpy(to, a.b, a.family == IP4 ? 4 : 16);
    return a.family;
}

static void read_dscp(struct model_tunnel *t, const char *text)
{
    if (!text || !strcmp(text, "copy"))
        return;
    t->settings.dscp_mode = !strcmp(text, "uniform") ? TUNNEL_DSCP_UNIFORM : TUNNEL_DSCP_FIXED;
    if (t->settings.dscp_mode == TUNNEL_DSCP_FIXED)
        t->settings.dscp = (uint8_t)strtoul(text, NULL, 10);
}

static void read_settings(struct model_tunnel *t, const struct lyd_node *first)
{
    static const char *const kinds[] = {"ipip", "gre", "gre-udp", "vxlan"};
    struct tunnel_settings *s = &t->settings;
    const char *ttl = config_value(first, "ttl");

    s->id.kind = (uint8_t)(TUNNEL_IPIP + leaf_word(first, "kind", kinds, 4));
    s->id.family = read_end(s->id.local, first, "local");
    uint8_t remote = read_end(s->id.remote, first, "remote");
    t->two_families = s->id.family && remote && s->id.family != remote;
    if (s->id.family != remote) // or an end is missing, which is a separate error
        s->id.family = IP_NONE;
    t->has_key = s->keyed = config_value(first, "key");
    t->has_vni = config_value(first, "vni");
    s->id.key = (uint32_t)leaf_number(first, t->has_vni ? "vni" : "key", 0);
    s->ttl = ttl && !strcmp(ttl, "copy") ? 0 : (uint8_t)leaf_number(first, "ttl", 64);
    read_dscp(t, config_value(first, "dscp"));
    s->zero_checksum = leaf_true(first, "zero-checksum");
}

static void read_tunnel(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_tunnel *t = row;
    const struct lyd_node *first = lyd_child(entry);

    leaf_copy(t->name, sizeof t->name, first, "name", "");
    leaf_copy(t->outer_vr, sizeof t->outer_vr, first, "vr", VR_DEFAULT_NAME);
    read_settings(t, first);
    t->mtu = (uint16_t)leaf_number(first, "mtu", 0);
}

// --- rules ---------------------------------------------------------------------------------------

static void check_name(const struct model *m, const struct model_tunnel *t, struct errors *e)
{
    const char *of = model_find_port(m, t->name)             ? "a port"
                     : model_find_vport(m, t->name)          ? "a vport"
                     : model_find_metalink(m, t->name, NULL) ? "an end of a metalink"
                                                             : NULL;

    if (of)
        errors_add(e, t->line, "tunnel %s: the name belongs to %s, expected another name", t->name,
                   of);
}

static void check_key(const struct model_tunnel *t, struct errors *e)
{
    bool vxlan = t->settings.id.kind == TUNNEL_VXLAN,
         gre = t->settings.id.kind == TUNNEL_GRE || t->settings.id.kind == TUNNEL_GRE_UDP;

    if (vxlan && !t->has_vni)
        errors_add(e, t->line, "tunnel %s: kind vxlan needs a 'vni'", t->name);
    if (!vxlan && t->has_vni)
        errors_add(e, t->line, "tunnel %s: 'vni' is for kind vxlan only, expected none", t->name);
    if (!gre && t->has_key)
        errors_add(e, t->line, "tunnel %s: 'key' is for kinds gre and gre-udp only, expected none",
                   t->name);
}

static void check_tunnel(const struct model *m, const void *row, struct errors *e)
{
    const struct model_tunnel *t = row;

    check_name(m, t, e);
    check_key(t, e);
    if (t->two_families)
        errors_add(e, t->line,
                   "tunnel %s: 'local' and 'remote' are of different families, expected two IPv4 "
                   "or two IPv6 addresses",
                   t->name);
}

static int compare_packets(const void *x, const void *y)
{
    const struct model_tunnel *a = *(const struct model_tunnel *const *)x,
                              *b = *(const struct model_tunnel *const *)y;
    int by_id = memcmp(&a->settings.id, &b->settings.id, sizeof a->settings.id),
        by_vr = strcmp(a->outer_vr, b->outer_vr);

    return by_id ? by_id : by_vr ? by_vr : (a > b) - (a < b);
}

// Two tunnels must differ in a field that packets carry.
static void check_distinct(const struct model *m, struct errors *e)
{
    const struct model_tunnels *all = model_tunnels(m);
    const struct model_tunnel **t = model_sorted_in(&all->tunnel, compare_packets);

    for (size_t k = 1; k < all->tunnel.n; k++)
        if (!memcmp(&t[k - 1]->settings.id, &t[k]->settings.id, sizeof t[k]->settings.id) &&
            !strcmp(t[k - 1]->outer_vr, t[k]->outer_vr))
            errors_add(e, t[k]->line,
                       "tunnel %s: tunnel %s has the same kind, ends, virtual router and key or "
                       "VNI, expected another",
                       t[k]->name, t[k - 1]->name);
    free(t);
}

// --- steps ---------------------------------------------------------------------------------------

static int run_tunnel(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_tunnel *t = to;

    if (from && to)
        return iface_manager_set_tunnel_mtu(s->name, t->mtu, err, n);
    if (from)
        return iface_manager_del(s->name, err, n);
    return iface_manager_add_tunnel(s->name, t->outer_vr, &t->settings, t->mtu, t->vr, err, n);
}

// --- completion ----------------------------------------------------------------------------------

static void each_tunnel(name_fn *fn, void *ctx)
{
    vec_foreach (&model_tunnels(config_model())->tunnel, t)
        fn(ctx, t->name, tunnel_kind_name(t->settings.id.kind));
}

static const struct feature_config tunnel_config = {
    .part_size = sizeof(struct model_tunnels),
    .lists =
        (const struct feature_list[]){
            {.node = "tunnel",
             LIST_ROWS(struct model_tunnels, tunnel),
             .read = read_tunnel,
             .check = check_tunnel,
             LIST_STEP(struct model_tunnel, "tunnel", run_tunnel),
             .remove = PHASE_REMOVE_VPORTS,
             .add = PHASE_ADD_VPORTS,
             .stays = tunnel_stays,
             LIST_VALUE(struct model_tunnel, mtu)},
            {0}},
    .check = check_distinct,
    .names = (const struct feature_names[]){{"tunnel", each_tunnel}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

static void write_end(struct jwrite *j, const char *name, const uint8_t end[16], uint8_t family)
{
    struct ip_addr a = {.family = family};

    memcpy(a.b, end, sizeof a.b);
    jwrite_ip(j, name, &a);
}

static void write_tunnel(struct jwrite *j, const struct iface *i)
{
    static const char *const state[] = {"up", "no-route", "recursion"};
    const struct tunnel *t = tunnel_get(tunnel_of_iface(i));
    uint16_t path = __atomic_load_n(&t->path_mtu, __ATOMIC_RELAXED);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "name", i->name);
    jwrite_string(j, "kind", tunnel_kind_name(t->id.kind));
    jwrite_string(j, "made-by", t->by_linux ? "linux" : "config");
    write_end(j, "local", t->id.local, t->id.family);
    write_end(j, "remote", t->id.remote, t->id.family);
    jwrite_string(j, "vr", vr_get(t->id.vr)->name);
    jwrite_string(j, "interface-vr", vr_get(i->vr)->name);
    if (t->keyed)
        jwrite_int(j, "key", t->id.key);
    if (t->id.kind == TUNNEL_VXLAN)
        jwrite_int(j, "vni", t->id.key);
    jwrite_string(j, "status", state[__atomic_load_n(&t->state, __ATOMIC_RELAXED)]);
    jwrite_int(j, "nexthop", __atomic_load_n(&t->nexthop, __ATOMIC_RELAXED));
    jwrite_int(j, "overhead", tunnel_overhead(t->id.kind, t->id.family, t->keyed));
    if (path != TUNNEL_PATH_ANY)
        jwrite_int(j, "path-mtu", path);
    jwrite_int(j, "mtu", i->mtu);
    jwrite_end(j, '}');
}

static void list_tunnels(struct show *s)
{
    iface_each (i)
        if (i->kind == IFACE_TUNNEL && show_wants(s, i->name))
            write_tunnel(&s->out, i);
}

static void write_left(void *ctx, const struct tunnel_left *t)
{
    struct show *s = ctx;

    if (!show_wants(s, t->vr))
        return;
    jwrite_begin(&s->out, NULL, '{');
    jwrite_string(&s->out, "vr", t->vr);
    jwrite_string(&s->out, "name", t->name);
    jwrite_string(&s->out, "kind", t->kind);
    jwrite_string(&s->out, "reason", t->reason);
    jwrite_end(&s->out, '}');
}

static void list_left(struct show *s)
{
    tunnel_linux_each_left(write_left, s);
}

const struct feature tunnel_feature = {
    .name = "tunnel",
    .config = &tunnel_config,
    .state = (const struct feature_state[]){{"tunnel", .list = list_tunnels},
                                            {"linux-tunnel", .list = list_left},
                                            {0}},
};
