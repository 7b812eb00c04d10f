// SPDX-License-Identifier: BSD-3-Clause
// fair.c - the queue of fair.h: one list in order of arrival
//
// Taking an item walks the list for the least-used share. A share is raised to the present level
// only when it has nothing waiting, so a share that waits keeps its advantage.
#include "base/fair.h"

void fair_put(struct fair_queue *q, struct fair_item *i, struct fair_share *share)
{
    struct fair_item **last = &q->first;
    bool waits = !share;

    if (!q->first)
        q->least_ns = q->most_ns;
    i->next = NULL;
    i->share = share;
    while (*last) {
        waits = waits || (*last)->share == share;
        last = &(*last)->next;
    }
    *last = i;
    q->n++;
    if (!waits && share->used_ns < q->least_ns)
        share->used_ns = q->least_ns;
}

static bool is_before(const struct fair_item *a, const struct fair_item *b)
{
    return b->share && (!a->share || a->share->used_ns < b->share->used_ns);
}

struct fair_item *fair_take(struct fair_queue *q, bool (*may)(const struct fair_item *i))
{
    struct fair_item **best = NULL, *found;

    for (struct fair_item **i = &q->first; *i; i = &(*i)->next)
        if ((!best || is_before(*i, *best)) && (!may || may(*i)))
            best = i;
    if (!best)
        return NULL;
    found = *best;
    *best = found->next;
    q->n--;
    if (found->share && found->share->used_ns > q->least_ns)
        q->least_ns = found->share->used_ns;
    return found;
}

void fair_used(struct fair_queue *q, struct fair_share *s, uint64_t ns)
{
    if (!s)
        return;
    s->used_ns += ns;
    if (s->used_ns > q->most_ns)
        q->most_ns = s->used_ns;
}
