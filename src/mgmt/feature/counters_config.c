// SPDX-License-Identifier: BSD-3-Clause
// counters_config.c - next hops and prefixes whose packets are counted, by the configuration
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "feature/vr.h"
#include "rib/rib_manager.h"
#include "table/nexthop_count.h"
#include "yang/config_tree.h"

struct model_counted { // a prefix whose packets are counted
    char vr[16];
    struct prefix prefix;
    unsigned line;
};

struct model_counters {
    bool nexthop;
    VEC(struct model_counted) prefix; // in the order of the configuration
};

static struct model_counters *counters_of(const struct model *m)
{
    return m->part[FEATURE_counters];
}

static void read_prefix(struct model *m, const struct lyd_node *entry)
{
    struct model_counted *c = vec_push(&counters_of(m)->prefix);
    const struct lyd_node *first = lyd_child(entry);

    *c = (struct model_counted){.line = leaf_line(entry, NULL)};
    leaf_copy(c->vr, sizeof c->vr, first, "vr", "");
    bug_on(prefix_parse(config_value(first, "prefix"), &c->prefix,
                        false)); // libyang has zeroed the bits behind its length
}

static void read_counters(struct model *m, const struct lyd_node *tree, const struct model *known,
                          struct errors *e)
{
    counters_of(m)->nexthop = leaf_true(leaf_inside(tree, NULL, "counters"), "nexthop");
    model_read_list(m, tree, "counters", "prefix", read_prefix);
}

static void free_counters(struct model *m)
{
    vec_free(&counters_of(m)->prefix);
}

// --- steps ---------------------------------------------------------------------------------------

static int set_nexthop(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    if (!nexthop_count_set(*(const bool *)to))
        return 0;
    snprintf(err, n, "counters nexthop: no memory for the counters of next hops");
    return -ENOMEM;
}

static int run_prefix(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct model_counted *c = to ? to : from;
    int e = to ? rib_manager_counted_add(c->vr, &c->prefix)
               : rib_manager_counted_del(c->vr, &c->prefix);

    if (e == -ENOSPC)
        snprintf(err, n, "at most %u prefixes can be counted", PREFIX_COUNT_MAX - 1);
    else if (e)
        snprintf(err, n, "%s", strerror(-e));
    return e;
}

static const struct step_kind nexthop_kind = {"", set_nexthop},
                              prefix_kind = {"counters prefix", run_prefix};

static bool has_prefix(const struct model *m, const struct model_counted *wanted)
{
    vec_foreach (&counters_of(m)->prefix, c)
        if (prefix_equal(&c->prefix, &wanted->prefix) && !strcmp(c->vr, wanted->vr))
            return true;
    return false;
}

static void plan_nexthop(struct change *c)
{
    step_add_value(c, &nexthop_kind, &counters_of(c->from)->nexthop, &counters_of(c->to)->nexthop,
                   sizeof(bool));
}

static void plan_remove(struct change *c)
{
    vec_foreach (&counters_of(c->from)->prefix, p)
        if (!vr_stays(c, p->vr) || !has_prefix(c->to, p))
            step_add(c, &prefix_kind, "", p, NULL, 0);
}

static void plan_add(struct change *c)
{
    vec_foreach (&counters_of(c->to)->prefix, p)
        if (!vr_stays(c, p->vr) || !has_prefix(c->from, p))
            step_add(c, &prefix_kind, "", NULL, p, p->line);
}

const struct feature_config counters_config = {
    .part_size = sizeof(struct model_counters),
    .read = read_counters,
    .free = free_counters,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_nexthop},
                                             {PHASE_REMOVE_USERS, plan_remove},
                                             {PHASE_ADD_USERS, plan_add},
                                             {0}},
};
