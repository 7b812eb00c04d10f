// SPDX-License-Identifier: BSD-3-Clause
// icmp.c - limits of our own ICMP messages, and the number of suppressed messages
#include "config/feature_config.h"
#include "config/leaf.h"
#include "feature/saved_state.h"
#include "mgmt/feature.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/counter.h"
#include "table/counter_restore.h"
#include "table/icmp.h"

static void read_icmp(struct model *m, const struct lyd_node *tree, const struct model *known,
                      struct errors *e)
{
    const struct lyd_node *first = leaf_inside(tree, NULL, "icmp");
    struct icmp_limit *l = m->part[FEATURE_icmp];

    *l = icmp_limit_default;
    l->per_s = (uint32_t)leaf_number(first, "rate", l->per_s);
    l->burst = (uint32_t)leaf_number(first, "burst", l->burst);
    l->total_per_s = (uint32_t)leaf_number(first, "total-rate", l->total_per_s);
    l->total_burst = (uint32_t)leaf_number(first, "total-burst", l->total_burst);
}

static int set_limit(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    icmp_limit_set(to);
    return 0;
}

static void plan_icmp(struct change *c)
{
    static const struct step_kind limit = {"", set_limit};

    step_add_value(c, &limit, c->from->part[FEATURE_icmp], c->to->part[FEATURE_icmp],
                   sizeof(struct icmp_limit));
}

static const struct feature_config icmp_config = {
    .part_size = sizeof(struct icmp_limit),
    .read = read_icmp,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_icmp}, {0}},
};

// --- state ---------------------------------------------------------------------------------------

static int show_icmp(struct show *s)
{
    struct jwrite *j = &s->out;
    struct icmp_limit l = icmp_limit_now();
    struct counter_icmp c = counter_sum_icmp();

    jwrite_begin(j, s->name, '{');
    jwrite_int(j, "rate", l.per_s);
    jwrite_int(j, "burst", l.burst);
    jwrite_int(j, "total-rate", l.total_per_s);
    jwrite_int(j, "total-burst", l.total_burst);
    jwrite_u64(j, "sent", c.sent);
    jwrite_u64(j, "limited", c.limited);
    jwrite_u64(j, "forbidden", c.forbidden);
    jwrite_end(j, '}');
    return SHOW_NOW;
}

static void write_icmp_metrics(struct metrics *m, const void *kept)
{
    struct counter_icmp c = counter_sum_icmp();

    metric_family(m, METRIC_COUNTER, "icmp_errors", "errors",
                  "ICMP errors the router generated: sent; suppressed by the rate limit (limited); "
                  "not allowed for such a packet (forbidden).");
    metric_u64(m, c.sent, "result", "sent", NULL);
    metric_u64(m, c.limited, "result", "limited", NULL);
    metric_u64(m, c.forbidden, "result", "forbidden", NULL);
}

// --- state kept over a stop ----------------------------------------------------------------------

static const char *const count_key[] = {"sent", "limited", "forbidden"};

static json_t *save_icmp(void)
{
    struct counter_icmp c = counter_sum_icmp();

    return saved_object(count_key, 3, (const uint64_t[]){c.sent, c.limited, c.forbidden});
}

static const char *restore_icmp(const json_t *part, bool apply)
{
    uint64_t v[3];

    if (!saved_numbers(part, count_key, 3, v))
        return "a number is missing";
    if (apply)
        counter_restore_icmp(&(struct counter_icmp){v[0], v[1], v[2]});
    return NULL;
}

const struct feature icmp_feature = {
    "icmp",
    .config = &icmp_config,
    .saved = &(const struct feature_saved){save_icmp, restore_icmp},
    .state = (const struct feature_state[]){{"icmp", .write = show_icmp}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_icmp_metrics},
};
