// SPDX-License-Identifier: BSD-3-Clause
// forwarding.c - settings of all forwarders, and the ledger
#include "feature/model.h"
#include "feature/forwarding.h"

#include "config/feature_config.h"
#include "config/leaf.h"
#include "feature/saved_state.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/state.h"
#include "table/counter.h"
#include "table/counter_restore.h"
#include "table/plan.h"
#include "thread/thread_manager.h"
#include "yang/yang.h"

// --- configuration -------------------------------------------------------------------------------

struct model_forwarding {
    enum idle_mode idle;
    uint8_t ip4_options; // enum ip4_options
    struct acl_binding acls;
};

static const struct model_forwarding *forwarding_of(const struct model *m)
{
    return m->part[FEATURE_forwarding];
}

const struct acl_binding *model_default_acls(const struct model *m)
{
    return &forwarding_of(m)->acls;
}

static void read_forwarding(struct model *m, const struct lyd_node *tree,
                            const struct model *known, struct errors *e)
{
    static const char *const idles[] = {"performance", "balanced", "powersave"};
    static const char *const options[] = {"drop", "ignore", "process"};
    const struct lyd_node *first = leaf_inside(tree, NULL, "forwarding");
    struct model_forwarding *f = m->part[FEATURE_forwarding];
    int idle = leaf_word(first, "idle", idles, 3);
    int option = leaf_word(first, "ipv4-options", options, 3);

    f->idle = idle < 0 ? IDLE_BALANCED : (enum idle_mode)idle;
    f->ip4_options = option < 0 ? IP4_OPTIONS_DROP : (uint8_t)option;
    f->acls = acl_binding_read(first, yang_child(NULL, "forwarding", true));
}

static void check_forwarding(const struct model *m, struct errors *e)
{
    acl_binding_check(model_default_acls(m), model_acls(m), "forwarding", "", 0, e);
}

static int set_idle(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    thread_manager_set_idle(*(const enum idle_mode *)to);
    return 0;
}

static int set_ip4_options(const struct step *s, const void *from, const void *to, char *err,
                           size_t n)
{
    __atomic_store_n(&plan_ip4_options, *(const uint8_t *)to, __ATOMIC_RELAXED);
    return 0;
}

static void plan_forwarding(struct change *c)
{
    static const struct step_kind idle = {"", set_idle}, ip4_options = {"", set_ip4_options};
    const struct model_forwarding *a = forwarding_of(c->from), *b = forwarding_of(c->to);

    step_add_value(c, &idle, &a->idle, &b->idle, sizeof a->idle);
    step_add_value(c, &ip4_options, &a->ip4_options, &b->ip4_options, sizeof a->ip4_options);
}

static void begin_forwarding(const struct model *empty)
{
    thread_manager_set_idle(forwarding_of(empty)->idle);
}

static const struct feature_config forwarding_config = {
    .part_size = sizeof(struct model_forwarding),
    .read = read_forwarding,
    .check = check_forwarding,
    .begin = begin_forwarding,
    .phases = (const struct feature_phase[]){{PHASE_SETTINGS, plan_forwarding}, {0}},
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

static int show_ledger(struct show *s)
{
    struct jwrite *j = &s->out;
    struct ledger l;

    ledger_read(&l, LEDGER_TRIES);
    jwrite_begin(j, s->name, '{');
    columns_write(j, side_columns, &l);
    columns_write(j, rest_columns, &l);
    jwrite_end(j, '}');
    return SHOW_NOW;
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

static json_t *save_drops(uint64_t held)
{
    json_t *o = json_object();

    for (int r = DROP_NONE + 1; r < DROP_N; r++) {
        uint64_t n = counter_sum_drop(r) + (r == DROP_TX_NO_QUEUE ? held : 0);
        if (n)
            json_object_set_new(o, drop_info[r].name, json_integer((json_int_t)n));
    }
    return o;
}

// Held packets are counted as dropped, since the ports stop. An unbalanced ledger, which is a bug
// and an alarm, is not kept.
static json_t *save_ledger(void)
{
    struct ledger l;

    ledger_read(&l, SAVE_TRIES);
    if (l.imbalance)
        return NULL;
    json_t *o = columns_save(side_columns, &l);
    json_object_set_new(o, "drop", save_drops(l.held));
    return o;
}

static const char *restore_ledger(const json_t *part, bool apply)
{
    uint64_t drop[DROP_N] = {0}, ended;
    struct ledger l = {0};
    const json_t *drops = json_object_get(part, "drop");

    if (!columns_restore(part, side_columns, &l) || !json_is_object(drops))
        return "the ledger is not whole";
    ended = l.tx + l.punt;
    for (int r = DROP_NONE + 1; r < DROP_N; r++) {
        if (json_object_get(drops, drop_info[r].name) &&
            !saved_number(drops, drop_info[r].name, &drop[r]))
            return "a drop reason has no number";
        ended += drop[r];
    }
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
    .state = (const struct feature_state[]){{"ledger", .write = show_ledger}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_ledger_metrics},
};
