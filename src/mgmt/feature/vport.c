// SPDX-License-Identifier: BSD-3-Clause
// vport.c - sub-interfaces
//
// A vport stays while its tags and its port stay; otherwise it is deleted and created again. MTUs
// shrink before the ports change and grow afterwards, so that a vport's MTU is never above its
// port's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/feature_config.h"
#include "config/leaf.h"
#include "interface/iface_manager.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "yang/config_tree.h"

// --- reading -------------------------------------------------------------------------------------

static uint16_t read_tpid(const struct lyd_node *first)
{
    const char *v = config_value(first, "tpid");

    return v ? (uint16_t)strtoul(v, NULL, 16) : 0x88a8;
}

static void read_vport(struct model *m, void *row, const struct lyd_node *entry)
{
    struct model_vport *v = row;
    const struct lyd_node *first = lyd_child(entry);

    leaf_copy(v->name, sizeof v->name, first, "name", "");
    leaf_copy(v->port, sizeof v->port, first, "port", "");
    v->tags.vlan = (uint16_t)leaf_number(first, "vlan", 0);
    v->tags.outer = (uint16_t)leaf_number(first, "outer-vlan", 0);
    v->tags.tpid = v->tags.outer ? read_tpid(first) : 0;
    v->has_tpid = config_value(first, "tpid");
    v->mtu = (uint16_t)leaf_number(first, "mtu", 0);
}

static void inherit_from_port(struct model *m)
{
    vec_foreach (&model_vports(m)->vport, v) {
        const struct model_port *p = model_find_port(m, v->port);

        if (!v->mtu && p)
            v->mtu = p->config.mtu;
    }
}

// --- rules ---------------------------------------------------------------------------------------

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
    const struct model_vports *all = model_vports(m);
    const struct model_vport **by = model_sorted_in(&all->vport, compare_vlan);

    for (size_t i = 1; i < all->vport.n; i++) {
        // Report the later of the two lines.
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

static void check_vport(const struct model *m, const void *row, struct errors *e)
{
    const struct model_vport *v = row;
    const struct model_port *p = model_find_port(m, v->port);

    if (model_find_port(m, v->name))
        errors_add(e, v->line,
                   "vport %s: the name belongs to a port, expected another name (e.g. %s.%u)",
                   v->name, v->port, v->tags.vlan);
    if (v->has_tpid && !v->tags.outer)
        errors_add(e, v->line,
                   "vport %s: 'tpid' is the type of an outer tag, expected an 'outer-vlan' as well",
                   v->name);
    if (p && v->mtu > p->config.mtu)
        errors_add(e, v->line,
                   "vport %s: 'mtu' is '%u', expected at most %u, the mtu of port %s", v->name,
                   v->mtu, p->config.mtu, v->port);
    if (p && p->config.member_of[0])
        errors_add(e, v->line,
                   "vport %s: port '%s' is a member of %s and has no sub-interfaces, expected "
                   "'port %s'",
                   v->name, v->port, p->config.member_of, p->config.member_of);
}

// --- steps ---------------------------------------------------------------------------------------

static int run_vport(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_vport *v = to;

    if (from)
        return iface_manager_del(s->name, err, n);
    return iface_manager_add_vport(s->name, v->port, v->tags, v->mtu, v->vr, err, n);
}

static int run_mtu(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    return iface_manager_set_mtu(s->name, ((const struct model_vport *)to)->mtu, err, n);
}

static const struct step_kind mtu_kind = {"vport", run_mtu};

static void plan_mtu(struct change *c, bool larger)
{
    vec_foreach (&model_vports(c->to)->vport, v) {
        const struct model_vport *old = model_find_vport(c->from, v->name);

        if (vport_stays(c, v->name) && (larger ? v->mtu > old->mtu : v->mtu < old->mtu))
            step_add(c, &mtu_kind, v->name, old, v, v->line);
    }
}

static void plan_shrink(struct change *c)
{
    plan_mtu(c, false);
}

static void plan_grow(struct change *c)
{
    plan_mtu(c, true);
}

static const struct feature_config vport_config = {
    .part_size = sizeof(struct model_vports),
    .lists =
        (const struct feature_list[]){
            {.node = "vport",
             LIST_ROWS(struct model_vports, vport),
             .read = read_vport,
             .check = check_vport,
             LIST_STEP(struct model_vport, "vport", run_vport),
             .remove = PHASE_REMOVE_VPORTS,
             .add = PHASE_ADD_VPORTS,
             .stays = vport_stays},
            {0}},
    .resolve = inherit_from_port,
    .check = check_unique_vlan,
    .phases = (const struct feature_phase[]){{PHASE_SHRINK_VPORTS, plan_shrink},
                                             {PHASE_GROW_VPORTS, plan_grow},
                                             {0}},
};

const struct feature vport_feature = {.name = "vport", .config = &vport_config};
