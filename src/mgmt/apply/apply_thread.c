// SPDX-License-Identifier: BSD-3-Clause
// apply_thread.c - steps of the assignment of queues to threads
#include "apply/apply_thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static int run_threads(const struct step *s, const void *from, const void *to, char *err, size_t n)
{
    const struct assignments *a = to;

    return thread_manager_assign(a->item, (unsigned)a->n, err, n);
}

static const struct step_kind threads_kind = {"thread", run_threads};

static bool assignments_same(const struct assignments *a, const struct assignments *b)
{
    return a->n == b->n && (!a->n || !memcmp(a->item, b->item, a->n * sizeof *a->item));
}

static bool assignment_in(const struct thread_assignment *a, const struct assignments *set)
{
    for (size_t i = 0; i < set->n; i++)
        if (!memcmp(a, &set->item[i], sizeof *a))
            return true;
    return false;
}

// What stays while ports change: the queues that are assigned before and after. An empty set would
// mean "choose yourself", so then nothing is taken away.
void plan_threads_begin(struct plan_steps *p)
{
    p->before = (struct assignments){p->from->thread.item, p->from->thread.n};
    p->after = (struct assignments){p->to->thread.item, p->to->thread.n};
    p->between.item = calloc(p->before.n + 1, sizeof *p->between.item);
    bug_on(!p->between.item);
    for (size_t i = 0; i < p->before.n; i++)
        if (assignment_in(&p->before.item[i], &p->after))
            p->between.item[p->between.n++] = p->before.item[i];
    if (!p->between.n && p->before.n) {
        p->between.n = p->before.n;
        memcpy(p->between.item, p->before.item, p->before.n * sizeof *p->before.item);
    }
}

void plan_threads_end(struct plan_steps *p)
{
    free(p->between.item);
}

void plan_threads_going(struct plan_steps *p)
{
    if (!assignments_same(&p->before, &p->between))
        step_add(p, &threads_kind, "", &p->before, &p->between, 0);
}

void plan_threads_coming(struct plan_steps *p)
{
    if (!assignments_same(&p->between, &p->after))
        step_add(p, &threads_kind, "", &p->between, &p->after,
                 p->to->thread_line.n ? p->to->thread_line.item[0] : 0);
}
