// SPDX-License-Identifier: BSD-3-Clause
// punt.c - packets to the control plane, by class
//
// The part is the array of limits, one for each class, with the defaults of table/punt.c where
// nothing is configured; any difference sets all of them again.
#include "base/log.h"
#include "config/feature_config.h"
#include "config/leaf.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "saved/saved_state.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/punt.h"

static const struct column limit_columns[] = {
    COLUMN(struct punt_limit, per_s, "rate"),
    COLUMN(struct punt_limit, burst, "burst"),
    COLUMN(struct punt_limit, queue, "queue"),
    {0}};
static const struct column count_columns[] = {
    COUNTER(struct counter_punt, passed, "passed", "packets",
            "Packets passed to the kernel for the control plane."),
    COUNTER(struct counter_punt, policed, "policed", "packets",
            "Packets for the control plane dropped because they exceeded the rate limit."),
    COUNTER(struct counter_punt, full, "queue-full", "packets",
            "Packets for the control plane dropped because the queue to the kernel was full.",
            .saved = "full"),
    {0}};

static void read_class(struct model *m, void *part, const struct lyd_node *entry)
{
    const struct lyd_node *first = lyd_child(entry);
    int class = leaf_word(first, "class", punt_class_name, PUNT_CLASS_N);

    bug_on(class < 0);
    columns_read(first, limit_columns, (struct punt_limit *)part + class);
}

static int set_limits(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    for (unsigned class = 0; class < PUNT_CLASS_N; class ++)
        punt_policy_set(class, (const struct punt_limit *)to + class);
    return 0;
}

static const struct feature_config punt_config = {
    .part_size = sizeof punt_limit_default,
    .lists = (const struct feature_list[]){{.node = "punt", .read = read_class}, {0}},
    .values = (const struct feature_value[]){{PHASE_SETTINGS, {"", set_limits},
                                              .size = sizeof punt_limit_default,
                                              .initial = punt_limit_default},
                                             {0}},
};

// --- state ---------------------------------------------------------------------------------------

static unsigned queued_packets(enum punt_class class)
{
    return exchange_punt[class] ? rte_ring_count(exchange_punt[class]) : 0;
}

static void write_punt_class(struct jwrite *j, enum punt_class class)
{
    struct counter_punt c = counter_sum_punt(class);

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "class", punt_class_name[class]);
    columns_write(j, limit_columns, &punt_policy[class].limit);
    jwrite_int(j, "queued", queued_packets(class));
    columns_write(j, count_columns, &c);
    jwrite_end(j, '}');
}

static void list_classes(struct show *s)
{
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        if (show_wants(s, punt_class_name[c]))
            write_punt_class(&s->out, c);
}

static void write_punt_metrics(struct metrics *m, const void *kept)
{
    struct counter_punt sum[PUNT_CLASS_N];

    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        sum[c] = counter_sum_punt(c);
    for (const struct column *c = count_columns; (c = column_family(m, "punt", c)); c++)
        for (unsigned i = 0; i < PUNT_CLASS_N; i++)
            column_metric(m, c, &sum[i], "class", punt_class_name[i], NULL);
    metric_family(m, METRIC_GAUGE, "punt_queued_packets", "packets",
                  "Packets in the queue to the kernel.");
    for (unsigned c = 0; c < PUNT_CLASS_N; c++)
        metric_u64(m, queued_packets(c), "class", punt_class_name[c], NULL);
}

// --- state kept over a stop ----------------------------------------------------------------------

static json_t *save_punt(void)
{
    json_t *o = json_object();

    for (unsigned c = 0; c < PUNT_CLASS_N; c++) {
        struct counter_punt sum = counter_sum_punt(c);
        json_object_set_new(o, punt_class_name[c], columns_save(count_columns, &sum));
    }
    return o;
}

static const char *restore_punt(const json_t *part, bool apply)
{
    struct counter_punt sum;

    for (unsigned c = 0; c < PUNT_CLASS_N; c++) {
        const json_t *of = json_object_get(part, punt_class_name[c]);
        if (!of)
            continue;
        if (!columns_restore(of, count_columns, &sum))
            return "a class lacks a number";
        if (apply)
            counter_restore_punt(c, &sum);
    }
    return NULL;
}

const struct feature punt_feature = {
    "punt",
    .config = &punt_config,
    .saved = &(const struct feature_saved){save_punt, restore_punt},
    .state = (const struct feature_state[]){{"punt", .list = list_classes}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_punt_metrics},
};
