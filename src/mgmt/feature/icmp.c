// SPDX-License-Identifier: BSD-3-Clause
// icmp.c - limits of our own ICMP messages, and the number of suppressed messages
//
// One table of columns serves configuration and state, another state, metrics and saved counters.
// The limits themselves are token buckets of the forwarder (table/icmp.h).
#include "config/feature_config.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "saved/saved_state.h"
#include "table/counter.h"
#include "table/icmp.h"

static const struct column limit_columns[] = {
    COLUMN(struct icmp_limit, per_s, "rate"),
    COLUMN(struct icmp_limit, burst, "burst"),
    COLUMN(struct icmp_limit, total_per_s, "total-rate"),
    COLUMN(struct icmp_limit, total_burst, "total-burst"),
    {0}};
static const struct column count_columns[] = {
    COLUMN(struct counter_icmp, sent, "sent"),
    COLUMN(struct counter_icmp, limited, "limited"),
    COLUMN(struct counter_icmp, forbidden, "forbidden"),
    {0}};

static int set_limit(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    icmp_limit_set(to);
    return 0;
}

static const struct feature_config icmp_config = {
    .part_size = sizeof(struct icmp_limit),
    .values =
        (const struct feature_value[]){{.phase = PHASE_SETTINGS, .step = {"", set_limit},
                                        .size = sizeof(struct icmp_limit), .read = columns_read,
                                        .inside = "icmp", .columns = limit_columns,
                                        .initial = &icmp_limit_default},
                                       {0}},
};

// --- state ---------------------------------------------------------------------------------------

static void write_icmp(struct jwrite *j)
{
    struct icmp_limit l = icmp_limit_now();
    struct counter_icmp c = counter_sum_icmp();

    columns_write(j, limit_columns, &l);
    columns_write(j, count_columns, &c);
}

static void write_icmp_metrics(struct metrics *m, const void *kept)
{
    struct counter_icmp sum = counter_sum_icmp();

    metric_family(m, METRIC_COUNTER, "icmp_errors", "errors",
                  "ICMP errors the router generated: sent; suppressed by the rate limit (limited); "
                  "not allowed for such a packet (forbidden).");
    for (const struct column *c = count_columns; c->name; c++)
        column_metric(m, c, &sum, "result", c->name, NULL);
}

// --- state kept over a stop ----------------------------------------------------------------------

static json_t *save_icmp(void)
{
    struct counter_icmp c = counter_sum_icmp();

    return columns_save(count_columns, &c);
}

static const char *restore_icmp(const json_t *part, bool apply)
{
    struct counter_icmp c;

    if (!columns_restore(part, count_columns, &c))
        return "a number is missing";
    if (apply)
        counter_restore_icmp(&c);
    return NULL;
}

const struct feature icmp_feature = {
    "icmp",
    .config = &icmp_config,
    .saved = &(const struct feature_saved){save_icmp, restore_icmp},
    .state = (const struct feature_state[]){{"icmp", .object = write_icmp}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_icmp_metrics},
};
