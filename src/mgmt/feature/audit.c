// SPDX-License-Identifier: BSD-3-Clause
// audit.c - audits of the FIB against the kernel's routes; the last audit of each virtual router
//
// rib_manager audits. State and operation ask it and answer later; the metrics come from its
// totals, so a scrape does not wait.
#include <string.h>

#include "base/clock.h"
#include "config/feature_config.h"
#include "feature/vr.h"
#include "http/refuse.h"
#include "interface/kernel_state.h"
#include "mgmt/feature.h"
#include "restconf/column.h"
#include "restconf/metrics.h"
#include "restconf/operation.h"
#include "restconf/state.h"
#include "rib/rib_manager.h"
#include "table/vr.h"

static const struct column interval_columns[] = {COLUMN_ITSELF(uint32_t, "interval"), // 0 = never
                                                 {0}};

static int set_interval(const struct step *s, const void *from, const void *to, char *err,
                        size_t n)
{
    rib_manager_set_audit_interval(*(const uint32_t *)to);
    return 0;
}

static const struct feature_config audit_config = {
    .part_size = sizeof(uint32_t),
    .values =
        (const struct feature_value[]){{.phase = PHASE_SETTINGS, .step = {"", set_interval},
                                        .size = sizeof(uint32_t), .begins = true,
                                        .read = columns_read, .inside = "fib-audit",
                                        .columns = interval_columns,
                                        .initial = &(const uint32_t){300}},
                                       {0}},
};

// --- state ---------------------------------------------------------------------------------------

static const struct {
    const char *word, *sentence;
} unfollowed_kinds[UNFOLLOWED_KIND_N] = {
#define UNFOLLOWED(name, word, counts, sentence) {word, sentence},
#include "rib/unfollowed.def"
#undef UNFOLLOWED
};

static void write_unfollowed(struct jwrite *j, const struct rib_unfollowed *u)
{
    jwrite_u64(j, "not-followed", u->n);
    jwrite_begin(j, "unfollowed", '[');
    for (unsigned k = 0; k < UNFOLLOWED_KIND_N; k++) {
        if (!u->of[k].n)
            continue;
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "kind", unfollowed_kinds[k].word);
        jwrite_u64(j, "routes", u->of[k].n);
        jwrite_string(j, "example", u->of[k].example);
        jwrite_string(j, "effect", unfollowed_kinds[k].sentence);
        jwrite_end(j, '}');
    }
    jwrite_end(j, ']');
}

static const struct column finding_columns[] = {
    COLUMN(struct rib_finding, prefix, "prefix"),
    COLUMN(struct rib_finding, what, "what"),
    {0}};

static void write_report(struct jwrite *j, const struct rib_audit_report *r)
{
    jwrite_u64(j, "checked", r->checked);
    jwrite_u64(j, "prefixes", r->prefixes);
    jwrite_u64(j, "lookups", r->lookups);
    jwrite_u64(j, "blocks", r->blocks);
    jwrite_u64(j, "diverged", r->diverged);
    jwrite_int(j, "took", (int64_t)(r->took_ns / NS_PER_MS));
    jwrite_int(j, "longest-pause", (int64_t)(r->longest_ns / NS_PER_US));
    columns_list(j, "finding", finding_columns, r->finding, r->n_findings, sizeof *r->finding);
    write_unfollowed(j, &r->unfollowed);
}

static void write_audit_state(void *ctx, const struct rib_audit_report *r)
{
    struct show *s = ctx;
    struct jwrite *j = &s->out;
    const struct vr *v = vr_get((uint16_t)s->cursor);

    if (v->used && !r->result) { // the virtual router may have been deleted meanwhile
        jwrite_begin(j, NULL, '{');
        jwrite_string(j, "vr", v->name);
        jwrite_u64(j, "audits", r->runs);
        if (r->ended_ns)
            jwrite_u64(j, "ended", (clock_now_ns() - r->ended_ns) / NS_PER_SECOND);
        write_report(j, r);
        jwrite_u64(j, "fib-divergence", r->total);
        jwrite_end(j, '}');
    }
    vr_show_next(s);
}

static int ask_report(struct show *s)
{
    return rib_manager_audit_report((uint16_t)s->cursor, write_audit_state, s);
}

static int ask_audit(struct show *s)
{
    return vr_show_each(s, ask_report);
}

static void write_kernel_state(void *ctx, const struct kernel_state *s)
{
    struct jwrite *j = ctx;

    jwrite_begin(j, NULL, '{');
    jwrite_string(j, "subject", s->subject);
    jwrite_string(j, "attribute", s->attribute);
    jwrite_string(j, "what", s->sentence);
    jwrite_end(j, '}');
}

static void send_report(void *ctx, const struct rib_audit_report *r)
{
    struct http *h = ctx;
    struct jwrite j;

    if (r->result) {
        http_refuse(h, 409, "resource-denied", "the audit could not be finished: %s; try again",
                    strerror(-r->result));
    } else {
        output_begin(&j, &(struct text){0});
        write_report(&j, r);
        jwrite_begin(&j, "kernel-state", '[');
        kernel_state_each(write_kernel_state, &j);
        jwrite_end(&j, ']');
        output_send(h, &j);
    }
}

static void run_audit(struct http *h, const struct lyd_node *op)
{
    const struct vr *v = vr_of_input(h, op);

    if (!v)
        return;
    int r = rib_manager_audit(v->id, send_report, h);
    if (r)
        http_refuse_busy(h, "rib_manager", r);
}

static void write_audit_metrics(struct metrics *m, const void *kept)
{
    uint64_t last_ns = __atomic_load_n(&rib_audit_totals.last_ns, __ATOMIC_RELAXED);

    metric_family(m, METRIC_COUNTER, "audits", "audits", "Audits run, for all virtual routers.");
    metric_u64(m, __atomic_load_n(&rib_audit_totals.runs, __ATOMIC_RELAXED), NULL);
    metric_family(m, METRIC_COUNTER, "fib_divergence_prefixes", "prefixes",
                  "Prefixes that audits found different between kernel, RIB and FIB, and repaired: "
                  "expected 0.");
    metric_u64(m, __atomic_load_n(&rib_audit_totals.fib_divergence, __ATOMIC_RELAXED), NULL);
    if (!last_ns)
        return;
    metric_family(m, METRIC_GAUGE, "audit_age_seconds", "seconds",
                  "Time since the last audit ended.");
    metric_real(m, (double)(clock_now_ns() - last_ns) / 1e9, NULL);
}

const struct feature audit_feature = {
    "audit",
    .config = &audit_config,
    .state = (const struct feature_state[]){{"audit", .ask = ask_audit}, {0}},
    .operations = (const struct feature_operation[]){{"audit", .run = run_audit}, {0}},
    .metrics = &(const struct feature_metrics){.write = write_audit_metrics},
};
