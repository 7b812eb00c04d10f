// SPDX-License-Identifier: BSD-3-Clause
// forwarding.c - settings of all forwarders, and the ledger
//
// The counters of the ledger are read until two readings agree, at most LEDGER_TRIES times; under
// traffic they never do, and the imbalance shows the packets between two counters. Only a balanced
// ledger is saved over a stop.
#include "config/feature_config.h"
#include "config/leaf.h"
#include "feature/drop.h"
#include "mgmt/feature.h"
#include "model/model.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "saved/saved_state.h"
#include "table/counter.h"
#include "table/plan.h"
#include "thread/thread_manager.h"
#include "yang/yang.h"

// --- configuration -------------------------------------------------------------------------------

static const char *const idles[] = {"performance", "balanced", "powersave"};
static const char *const options[] = {"drop", "ignore", "process"};
static const struct column forwarding_columns[] = {
    COLUMN_WORD(struct model_forwarding, idle, "idle", idles),
    COLUMN_WORD(struct model_forwarding, ip4_options, "ipv4-options", options),
    {0}};

static void read_forwarding(struct model *m, const struct lyd_node *tree,
                            const struct model *known, struct errors *e)
{
    const struct lyd_node *first = leaf_inside(tree, NULL, "forwarding");
    struct model_forwarding *f = m->part[FEATURE_forwarding];

    *f = (struct model_forwarding){.idle = IDLE_BALANCED, .ip4_options = IP4_OPTIONS_DROP};
    columns_read(first, forwarding_columns, f);
    f->acls = acl_binding_read(first, yang_child(NULL, "forwarding", true));
}

static void check_forwarding(const struct model *m, struct errors *e)
{
    acl_binding_check(model_default_acls(m), model_acls(m), "forwarding", "", 0, e);
}

static int set_idle(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    thread_manager_set_idle(*(const uint8_t *)to);
    return 0;
}

static int set_ip4_options(const struct step *s, const void *from, const void *to, char *err,
                           size_t n)
{
    __atomic_store_n(&plan_ip4_options, *(const uint8_t *)to, __ATOMIC_RELAXED);
    return 0;
}

static const struct feature_config forwarding_config = {
    .part_size = sizeof(struct model_forwarding),
    .read = read_forwarding,
    .values =
        (const struct feature_value[]){
            {PHASE_SETTINGS,
             {"", set_idle},
             PART_VALUE(struct model_forwarding, idle),
             .begins = true},
            {PHASE_SETTINGS,
             {"", set_ip4_options},
             PART_VALUE(struct model_forwarding, ip4_options)},
            {0}},
    .check = check_forwarding,
};

// --- state ---------------------------------------------------------------------------------------

static const struct column side_columns[] = {
    COLUMN(struct ledger, rx, "rx"),
    COLUMN(struct ledger, inject, "inject"),
    COLUMN(struct ledger, tx, "tx"),
    COLUMN(struct ledger, punt, "punt"),
    {0}};
static const struct column rest_columns[] = {
    GAUGE(struct ledger, held, "held", "packets",
          "Packets now inside the router: in rings, hold queues and unsent bursts."),
    COLUMN(struct ledger, drops, "drops"),
    GAUGE(struct ledger, imbalance, "imbalance", "packets",
          "Difference between the two sides of the ledger: 0 without traffic; under traffic, "
          "packets between two counters.",
          .family = "ledger_imbalance_packets"),
    {0}};

#define LEDGER_TRIES 20 // reads of the counters until two agree; under traffic they never do

static void write_ledger(struct jwrite *j)
{
    struct ledger l;

    ledger_read(&l, LEDGER_TRIES);
    columns_write(j, side_columns, &l);
    columns_write(j, rest_columns, &l);
}

static void write_ledger_metrics(struct metrics *m, const void *kept)
{
    struct ledger l;

    ledger_read(&l, LEDGER_TRIES);
    metric_family(
        m, METRIC_COUNTER, "ledger_packets", "packets",
        "Packets by where they came from and went: rx + inject = tx + punt + held + drops.");
    for (const struct column *c = side_columns; c->name; c++)
        column_metric(m, c, &l, "side", c->name, NULL);
    metric_u64(m, l.drops, "side", "drops", NULL);
    for (const struct column *c = rest_columns; (c = column_family(m, "", c)); c++)
        column_metric(m, c, &l, NULL);
}

// --- state kept over a stop: the ledger ----------------------------------------------------------

#define SAVE_TRIES 1000

// An unbalanced ledger, which is a bug and an alarm, is not kept.
static json_t *save_ledger(void)
{
    struct ledger l;

    ledger_read(&l, SAVE_TRIES);
    if (l.imbalance)
        return NULL;
    json_t *drops = json_object();
    drop_save(drops, -1, l.held);
    json_t *o = columns_save(side_columns, &l);
    json_object_set_new(o, "drop", drops);
    return o;
}

static const char *restore_ledger(const json_t *part, bool apply)
{
    uint64_t drop[DROP_N], ended;
    struct ledger l = {0};
    const json_t *drops = json_object_get(part, "drop");

    if (!columns_restore(part, side_columns, &l) || !json_is_object(drops))
        return "the ledger is not whole";
    if (!drop_restore(drops, drop))
        return "a drop reason has no number";
    ended = l.tx + l.punt;
    for (int r = DROP_NONE + 1; r < DROP_N; r++)
        ended += drop[r];
    if (l.rx + l.inject != ended)
        return "the ledger does not balance";
    if (apply)
        counter_restore_ledger(&l, drop);
    return NULL;
}

const struct feature forwarding_feature = {
    "forwarding",
    .config = &forwarding_config,
    .saved = &(const struct feature_saved){save_ledger, restore_ledger},
    .state = (const struct feature_state[]){{"ledger", .object = write_ledger}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_ledger_metrics},
};
