// SPDX-License-Identifier: BSD-3-Clause
// past.c - earlier contents of table entries (past.h)
//
// A copy is in two lists, both in order of time: of all copies, whose first is the next to go, and
// of its entry's copies.
#include "table/past.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "table/limits.h"

struct copy {
    struct copy *next, *next_of_id;
    uint64_t time_ns;
    uint32_t id, n;
    uint8_t bytes[];
};

static struct past {
    struct ends {
        struct copy *first, *last;
    } all, *of_id; // [NEXTHOP_ALL_MAX]
    size_t limit, bytes;
    uint64_t since_ns;
} past[PAST_TABLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void shrink(struct past *p)
{
    for (struct copy *c; p->bytes > p->limit; free(c)) {
        c = p->all.first;
        p->since_ns = c->time_ns;
        p->all.first = c->next;
        p->of_id[c->id].first = c->next_of_id;
        p->bytes -= sizeof *c + c->n;
    }
}

void past_limit(enum past_table t, size_t bytes)
{
    struct past *p = &past[t];

    pthread_mutex_lock(&lock);
    if (!p->limit)
        p->since_ns = clock_now_ns();
    if (!p->of_id)
        p->of_id = calloc(NEXTHOP_ALL_MAX, sizeof *p->of_id);
    bug_on(!p->of_id);
    p->limit = bytes;
    shrink(p);
    pthread_mutex_unlock(&lock);
}

static void append(struct ends *e, struct copy **next, struct copy *c)
{
    *(e->first ? next : &e->first) = c;
    e->last = c;
}

void past_keep(enum past_table t, uint32_t id, const void *entry, size_t n)
{
    struct past *p = &past[t];

    if (!p->limit)
        return;
    struct copy *c = malloc(sizeof *c + n);
    bug_on(!c);
    *c = (struct copy){.id = id, .n = (uint32_t)n};
    memcpy(c->bytes, entry, n);
    pthread_mutex_lock(&lock);
    c->time_ns = clock_now_ns();
    append(&p->all, &p->all.last->next, c);
    append(&p->of_id[id], &p->of_id[id].last->next_of_id, c);
    p->bytes += sizeof *c + n;
    shrink(p);
    pthread_mutex_unlock(&lock);
}

int past_find(enum past_table t, uint32_t id, uint64_t at_ns, void *to, size_t size)
{
    struct past *p = &past[t];
    int r = -ENODATA;

    pthread_mutex_lock(&lock);
    if (p->limit && at_ns >= p->since_ns) {
        const struct copy *c = p->of_id[id].first;
        while (c && c->time_ns <= at_ns)
            c = c->next_of_id;
        if (c)
            memcpy(to, c->bytes, c->n < size ? c->n : size);
        r = c != NULL;
    }
    pthread_mutex_unlock(&lock);
    return r;
}
