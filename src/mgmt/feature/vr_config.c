// SPDX-License-Identifier: BSD-3-Clause
// model_vr.c - virtual routers of a configuration: read, and judged by what the schema cannot say
#include "model/model_vr.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "model/model_acl.h"
#include "model/model_leaf.h"
#include "yang/config_tree.h"

uint8_t model_read_engine(const struct lyd_node *first, uint8_t absent)
{
    const char *v = config_value(first, "fib-engine");

    for (unsigned e = 0; v && e < FIB_ENGINES; e++)
        if (!strcmp(v, fib_engine_name((enum fib_engine)e)))
            return (uint8_t)e;
    return absent;
}

struct flow_hash model_read_flow_hash(const struct lyd_node *first, struct flow_hash absent)
{
    const char *mode = config_value(first, "flow-hash"), *label = config_value(first, "flow-label");
    struct flow_hash h = absent;

    for (unsigned m = 0; mode && flow_hash_name(m); m++)
        if (!strcmp(mode, flow_hash_name(m)))
            h.mode = (uint8_t)m;
    if (label)
        h.label = !strcmp(label, "true");
    h.seed = (uint32_t)leaf_number(first, "flow-hash-seed", absent.seed);
    return h;
}

// The settings' seed and the name make one that no other virtual router has: a packet that passes
// two of them is not to be split alike by both.
static uint32_t seed_of_name(uint32_t seed, const char *name)
{
    uint32_t own = seed ? (uint32_t)hash_bytes(name, strlen(name), seed) : 0;

    return own || !seed ? own : 1;
}

void model_read_vr(struct model *m, const struct lyd_node *entry)
{
    struct model_vr *v = vec_push(&m->vr);
    const struct lyd_node *first = lyd_child(entry);

    memset(v, 0, sizeof *v);
    leaf_copy(v->name, sizeof v->name, first, "name", "");
    leaf_copy(v->netns, sizeof v->netns, first, "namespace", "");
    v->table = (uint32_t)leaf_number(first, "table", 254);
    v->engine = model_read_engine(first, m->settings.engine);
    struct flow_hash inherited = m->settings.flow_hash;
    inherited.seed = seed_of_name(inherited.seed, v->name);
    v->flow_hash = model_read_flow_hash(first, inherited);
    v->line = leaf_line(entry, "namespace");
    v->engine_line = leaf_line(entry, "fib-engine");
    v->acls = model_read_binding(first, entry->schema);
}

static int compare_backing(const void *pa, const void *pb)
{
    const struct model_vr *a = *(const struct model_vr *const *)pa,
                          *b = *(const struct model_vr *const *)pb;
    int d = strcmp(a->netns, b->netns);

    return d ? d : a->table != b->table ? (a->table < b->table ? -1 : 1) : a < b ? -1 : a > b;
}

// Two virtual routers of one kernel table would fight over its routes.
static void check_unique_backing(const struct model *m, struct errors *e)
{
    const struct model_vr **by = malloc((m->vr.n + 1) * sizeof *by);

    bug_on(!by);
    for (size_t i = 0; i < m->vr.n; i++)
        by[i] = &m->vr.item[i];
    qsort(by, m->vr.n, sizeof *by, compare_backing);
    for (size_t i = 1; i < m->vr.n; i++)
        if (!strcmp(by[i - 1]->netns, by[i]->netns) && by[i - 1]->table == by[i]->table)
            errors_add(e, by[i]->line,
                       "vr %s: expected another 'namespace' or 'table' than those of vr %s",
                       by[i]->name, by[i - 1]->name);
    free(by);
}

void model_check_vrs(const struct model *m, struct errors *e)
{
    vec_foreach (&m->vr, v)
        if (!v->netns[0] && v->table == 254)
            errors_add(e, v->line,
                       "vr %s: expected its own 'namespace' or 'table': the main table of "
                       "kamueed's namespace belongs to '" VR_DEFAULT_NAME "'",
                       v->name);
    check_unique_backing(m, e);
}
