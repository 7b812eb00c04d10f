// SPDX-License-Identifier: BSD-3-Clause
// acl_query_lint.c - the query that finds rules that never decide (acl/lint.h)
//
// A long list takes seconds, so the work is a job that queries advance: slices of SLICE_NS, each
// passed through control so that other calls run in between. A query waits at most PATIENCE_NS and
// then gets the progress; asking again continues. Findings are kept for a while, to be read in
// pages. A job works on copies of the rules, and on sets only within a slice: when the list or its
// sets change, it restarts.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/lint.h"
#include "acl_manager/acl_active.h"
#include "acl_manager/acl_query.h"
#include "base/clock.h"
#include "base/log.h"

#define SLICE_NS (20 * NS_PER_MS)
#define SLICE_RULES 500
#define PATIENCE_NS NS_PER_SECOND
#define KEPT_NS (60 * NS_PER_SECOND)
#define JOBS 4
#define BEGINNINGS 20 // restarts; then the list changes too often

struct lint_job {
    char name[ACL_NAME_MAX];
    const struct acl_content *content; // and its epoch, when the job started
    uint32_t epoch;
    unsigned beginnings;
    uint64_t asked_ns;     // 0: the job is free
    struct acl_lint *lint; // NULL: done, `row` has the findings
    size_t looked, rules;
    bool complete;
    VEC(struct acl_lint_row) row;
};
static struct lint_job jobs[JOBS];

static void job_free(struct lint_job *j)
{
    acl_lint_free(j->lint);
    vec_free(&j->row);
    memset(j, 0, sizeof *j);
}

void acl_lint_forget(bool all)
{
    uint64_t now = clock_now_ns();

    for (struct lint_job *j = jobs; j < jobs + JOBS; j++)
        if (j->asked_ns && (all || now - j->asked_ns > KEPT_NS))
            job_free(j);
}

// The list's job; otherwise a free one, or the one not queried for longest.
static struct lint_job *job_of(const char *name)
{
    struct lint_job *oldest = jobs;

    for (struct lint_job *j = jobs; j < jobs + JOBS; j++) {
        if (j->asked_ns && !strcmp(j->name, name))
            return j;
        if (j->asked_ns < oldest->asked_ns)
            oldest = j;
    }
    job_free(oldest);
    snprintf(oldest->name, sizeof oldest->name, "%s", name);
    return oldest;
}

// Equal for two rules with the same effect. Rules with options equal only themselves.
static uint32_t rule_effect(const struct acl_build *b, uint32_t slot)
{
    return b->content->action[slot].extra & ~ACL_TEMPORARY ? slot + 3
                                                           : b->content->action[slot].verb;
}

static void job_begin(struct lint_job *j, const struct acl_build *b)
{
    const struct acl_order *o = acl_build_order(b);
    struct acl_rule *r = malloc((o->n + 1) * sizeof *r);
    uint32_t *does = malloc((o->n + 1) * sizeof *does);

    bug_on(!r || !does);
    for (size_t i = 0; i < o->n; i++) {
        r[i] = *acl_rule_of(b->content->rules, (uint32_t)o->item[i]);
        does[i] = rule_effect(b, (uint32_t)o->item[i]);
    }
    acl_lint_free(j->lint);
    vec_free(&j->row);
    j->lint = acl_lint_new(r, does, o->n, b->set);
    bug_on(!j->lint);
    j->looked = 0;
    j->rules = o->n;
    j->content = b->content;
    j->epoch = b->content->epoch;
    j->beginnings++;
    free(r);
    free(does);
}

// Adds a rule without a match; adjacent ones share a row.
static void never_hit(struct lint_job *j, uint32_t number, bool next_to_last)
{
    if (next_to_last) {
        struct acl_lint_row *last = &j->row.item[j->row.n - 1];
        last->until = number;
        last->count++;
    } else {
        *vec_push(&j->row) = (struct acl_lint_row){.rule = number, .until = number, .count = 1};
    }
}

static void job_finish(struct lint_job *j, const struct acl_build *b)
{
    size_t n, at = 0;
    const struct acl_finding *f = acl_lint_findings(j->lint, &n);
    const struct acl_order *o = acl_build_order(b);
    bool run = false;

    for (size_t i = 0; i < o->n; i++) {
        uint32_t number = (uint32_t)(o->item[i] >> 32), slot = (uint32_t)o->item[i];

        if (at < n && f[at].rule == i) {
            *vec_push(&j->row) = (struct acl_lint_row){
                number, number, 1, (uint32_t)(o->item[f[at].by] >> 32), f[at].kind};
            at++;
            run = false;
        } else if (!acl_build_hits(b, slot).packets) {
            never_hit(j, number, run);
            run = true;
        } else {
            run = false;
        }
    }
    j->complete = acl_lint_complete(j->lint);
    acl_lint_free(j->lint);
    j->lint = NULL;
    j->beginnings = 0;
}

static void job_advance(struct lint_job *j, const struct acl_build *b)
{
    uint64_t stop = clock_now_ns() + SLICE_NS;
    bool done = false;

    while (!done && clock_now_ns() < stop) {
        done = acl_lint_step(j->lint, SLICE_RULES);
        j->looked += SLICE_RULES;
    }
    if (done)
        job_finish(j, b);
}

static void answer_fill(struct acl_answer *a, const struct acl_query *q, const struct lint_job *j)
{
    a->rules = j->rules;
    a->progress = j->lint ? (unsigned)(j->looked * 100 / (j->rules + SLICE_RULES)) : 100;
    a->complete = j->complete;
    for (size_t i = q->from; !j->lint && i < j->row.n && a->lint.n < q->max; i++)
        *vec_push(&a->lint) = j->row.item[i];
    if (q->from + a->lint.n < j->row.n)
        a->next = (uint32_t)(q->from + a->lint.n);
}

bool acl_lint_answer(const struct acl_query *q, const struct acl_active_list *l, uint64_t since_ns,
                     struct acl_answer *a)
{
    const struct acl_content *now = l->build->content;
    struct lint_job *j = job_of(q->name);

    j->asked_ns = clock_now_ns();
    // done, and read from the start: counters have changed, too
    if (!j->content || (j->lint ? j->content != now || j->epoch != now->epoch : !q->from))
        job_begin(j, l->build);
    if (j->beginnings > BEGINNINGS) {
        a->result = -EAGAIN;
        job_free(j);
        return false;
    }
    if (j->lint)
        job_advance(j, l->build);
    if (j->lint && clock_now_ns() - since_ns < PATIENCE_NS)
        return true;
    answer_fill(a, q, j);
    return false;
}
