// SPDX-License-Identifier: BSD-3-Clause
// rib_audit.c - the course of an audit, and its report (steps: audit.h)
//
// A periodic audit gets one slice per tick, some percent of the thread; an audit on demand
// continues in every turn. While paths are dirty it compares no routes, because they are about to
// change.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "rib/vr.h"

static uint64_t interval_ns;
struct rib_audit_totals rib_audit_totals;

// --- report ---

static void log_report(const struct rib_vr *v)
{
    const struct rib_audit_report *r = &v->audit.last;
    char text[PREFIX_TEXT_MAX];

    if (!r->diverged) {
        log_info("rib: audit: no differences: vr=%u rows=%llu prefixes=%llu lookups=%llu ms=%llu "
                 "longest_us=%llu",
                 v->id, (unsigned long long)r->checked, (unsigned long long)r->prefixes,
                 (unsigned long long)r->lookups, (unsigned long long)(r->took_ns / NS_PER_MS),
                 (unsigned long long)(r->longest_ns / NS_PER_US));
        return;
    }
    log_warning("rib: audit: FIB differed from the kernel, repaired: vr=%u fib_divergence=%llu "
                "rows=%llu prefixes=%llu lookups=%llu",
                v->id, (unsigned long long)r->diverged, (unsigned long long)r->checked,
                (unsigned long long)r->prefixes, (unsigned long long)r->lookups);
    for (unsigned i = 0; i < r->n_findings; i++)
        log_warning("rib: audit: finding: vr=%u prefix=%s what=\"%s\"", v->id,
                    prefix_format(&r->finding[i].prefix, text), r->finding[i].what);
}

// --- course ---

static void begin_audit(struct rib_vr *v, bool asked)
{
    struct rib_audit *a = &v->audit;

    a->step = AUDIT_KERNEL;
    a->asked = asked;
    a->n_askers = a->asker.n;
    a->begin_ns = clock_now_ns();
    a->now = (struct rib_audit_report){0};
    rib_sync_want(v, RIB_STAGES_ALL, 0);
}

static void sums_free(struct rib_audit *a)
{
    free(a->seen);
    free(a->differs);
    a->seen = NULL;
    a->differs = NULL;
}

static void end_audit(struct rib_vr *v)
{
    struct rib_audit *a = &v->audit;
    uint64_t now = clock_now_ns();

    a->now.took_ns = now - a->begin_ns;
    a->now.ended_ns = now;
    a->now.runs = a->last.runs + 1;
    a->now.total = a->last.total + a->now.diverged;
    a->last = a->now;
    a->step = AUDIT_IDLE;
    sums_free(a);
    a->next_ns = now + interval_ns;
    __atomic_fetch_add(&rib_audit_totals.runs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&rib_audit_totals.fib_divergence, a->last.diverged, __ATOMIC_RELAXED);
    __atomic_store_n(&rib_audit_totals.last_ns, now, __ATOMIC_RELAXED);
    log_report(v);
    for (size_t i = 0; i < a->n_askers; i++)
        a->asker.item[i].done(a->asker.item[i].ctx, &a->last);
    if (a->n_askers)
        memmove(a->asker.item, a->asker.item + a->n_askers,
                (a->asker.n - a->n_askers) * sizeof *a->asker.item);
    a->asker.n -= a->n_askers;
    a->n_askers = 0;
    if (a->asker.n)
        begin_audit(v, true);
}

void rib_audit_dump_begins(struct rib_vr *v)
{
    if (v->audit.step == AUDIT_KERNEL)
        v->audit.now.n_findings = 0;
}

void rib_audit_kernel_done(struct rib_vr *v, uint64_t rows, uint64_t diverged)
{
    struct rib_audit *a = &v->audit;

    if (a->step != AUDIT_KERNEL)
        return;
    a->now.checked = rows;
    a->now.diverged = diverged;
    a->step = AUDIT_FIB;
    a->begun = a->family6 = false;
}

// The step is done: go to the next one.
static void next_step(struct rib_vr *v)
{
    struct rib_audit *a = &v->audit;

    a->begun = false;
    switch (a->step) {
    case AUDIT_FIB:
        rib_compare_sums(v, &v->rib[a->family6]);
        a->step = a->n_differs ? AUDIT_SURPLUS : AUDIT_ROUTES;
        break;
    case AUDIT_SURPLUS: a->step = AUDIT_ROUTES; break;
    default:
        rib_compare_end(v, &v->rib[a->family6]);
        a->step = AUDIT_FIB;
        if (a->family6) {
            rib_label_compare(v);
            end_audit(v);
        } else {
            a->family6 = true;
        }
        break;
    }
}

static bool is_due(const struct rib_vr *v, uint64_t now)
{
    return interval_ns && v->synced && v->audit.next_ns <= now && v->sync.stage < 0 &&
           !v->sync.ending && !v->sync.want;
}

bool rib_audit_slice(struct rib_vr *v, bool tick)
{
    struct rib_audit *a = &v->audit;

    if (a->step == AUDIT_IDLE) {
        if (tick && is_due(v, clock_now_ns()))
            begin_audit(v, false);
        return false;
    }
    if (a->step == AUDIT_KERNEL || (!a->asked && !tick) || rib_sync_running(v) || v->dirty.n)
        return false;
    uint64_t began = clock_now_ns();
    if (v->rib[a->family6].deferred || !rib_compare_slice(v, &v->rib[a->family6]))
        next_step(v);
    rib_audit_took(v, clock_now_ns() - began);
    return a->asked && a->step > AUDIT_KERNEL;
}

void rib_audit_took(struct rib_vr *v, uint64_t ns)
{
    if (rib_audit_running(&v->audit) && ns > v->audit.now.longest_ns)
        v->audit.now.longest_ns = ns;
}

void rib_audit_ask(struct rib_vr *v, void (*done)(void *ctx, const struct rib_audit_report *r),
                   void *ctx)
{
    *vec_push(&v->audit.asker) = (struct rib_asker){done, ctx};
    if (v->audit.step == AUDIT_IDLE)
        begin_audit(v, true);
    else
        v->audit.asked = true; // the running audit speeds up; this caller gets the next one
}

void rib_audit_end(struct rib_vr *v)
{
    struct rib_audit_report none = {.result = -ENOTCONN};

    for (size_t i = 0; i < v->audit.asker.n; i++)
        v->audit.asker.item[i].done(v->audit.asker.item[i].ctx, &none);
    vec_free(&v->audit.asker);
    sums_free(&v->audit);
}

void rib_audit_interval(uint64_t ns)
{
    uint64_t now = clock_now_ns();

    if (ns == interval_ns)
        return;
    interval_ns = ns;
    rib_vr_each (v)
        v->audit.next_ns = now + ns;
}

uint64_t rib_audit_interval_ns(void)
{
    return interval_ns;
}
