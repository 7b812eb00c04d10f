// SPDX-License-Identifier: BSD-3-Clause
// client.c - where a client waits: its tags, the calendars and the ring of shares
//
// A client without waiting packets is in no list. A client with packets is in the calendar of
// guarantees by its S (if it has a guarantee) and in the ring of shares (if it has a weight); or,
// while its L is in the future, only in the calendar of maxima. Without a maximum, L is never in
// the future.
#include "queue/queue_priv.h"

#define UNPARK_MAX 32u // in one call

static void share_join(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    if (!v->quantum || v->next != CALENDAR_NONE)
        return;
    if (q->share == CALENDAR_NONE) {
        v->next = v->prev = q->share = id;
        return;
    }
    v->next = q->share; // before the current one: last in turn
    v->prev = q->client[q->share].prev;
    q->client[v->prev].next = id;
    q->client[v->next].prev = id;
}

static void share_leave(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    if (v->next == CALENDAR_NONE)
        return;
    if (q->share == id)
        q->share = v->next == id ? CALENDAR_NONE : v->next;
    q->client[v->prev].next = v->next;
    q->client[v->next].prev = v->prev;
    v->next = v->prev = CALENDAR_NONE;
}

static void calendars_leave(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    if (v->waits & CLIENT_GUARANTEED)
        calendar_remove(&q->guarantee, id);
    if (v->waits & CLIENT_PARKED)
        calendar_remove(&q->maximum, id);
    v->waits = 0;
}

void queue_client_place(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    calendars_leave(q, id);
    if (!is_over(q, v->l)) {
        share_leave(q, id);
        calendar_put(&q->maximum, id, v->l);
        v->waits = CLIENT_PARKED;
        return;
    }
    share_join(q, id);
    if (v->per_byte_g) {
        calendar_put(&q->guarantee, id, v->s);
        v->waits = CLIENT_GUARANTEED;
    }
}

void queue_client_idle(struct queue_manager *q, uint16_t id)
{
    calendars_leave(q, id);
    share_leave(q, id);
}

void queue_client_wake(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    v->s = tag_after_idle(q, v->s, v->per_byte_g);
    v->l = tag_after_idle(q, v->l, v->per_byte_m);
    v->deficit = v->deficit < 0 ? v->deficit : 0; // bytes sent beyond a turn stay owed
    queue_client_place(q, id);
}

// Is the time within the span, or before it?
static bool is_within(const struct calendar *c, uint64_t time, uint64_t span)
{
    return !calendar_is_after(c, time >> c->shift, span);
}

void queue_client_unpark(struct queue_manager *q)
{
    uint64_t span, here = q->now >> q->maximum.shift;

    for (unsigned i = 0; i < UNPARK_MAX; i++) {
        uint16_t id = calendar_first(&q->maximum, q->now, &span);

        if (id == CALENDAR_NONE || calendar_is_after(&q->maximum, span, here))
            return;
        if (!is_over(q, q->client[id].l) && is_within(&q->maximum, q->client[id].l, span))
            return; // later in this very bucket
        queue_client_place(q, id); // L may have been beyond the calendar's end: parks it again
    }
}

uint16_t queue_guaranteed_next(struct queue_manager *q)
{
    uint64_t span, here = q->now >> q->guarantee.shift;

    for (;;) {
        uint16_t id = calendar_first(&q->guarantee, q->now, &span);

        if (id == CALENDAR_NONE || is_over(q, q->client[id].s))
            return id;
        if (calendar_is_after(&q->guarantee, span, here) ||
            is_within(&q->guarantee, q->client[id].s, span))
            return CALENDAR_NONE;
        calendar_remove(&q->guarantee, id); // S was beyond the calendar's end
        calendar_put(&q->guarantee, id, q->client[id].s);
    }
}

uint16_t queue_share_next(struct queue_manager *q)
{
    if (q->share == CALENDAR_NONE)
        return CALENDAR_NONE;
    for (;; q->share = q->client[q->share].next) {
        struct client *v = &q->client[q->share];

        if (v->deficit > 0 || (v->deficit += (int32_t)v->quantum) > 0)
            return q->share;
    }
}

// Sets *due to the start of the calendar's first bucket with items, if that is earlier.
static void due_earlier(struct queue_manager *q, struct calendar *c, uint64_t *due, bool *found)
{
    uint64_t span;

    if (calendar_first(c, q->now, &span) == CALENDAR_NONE)
        return;
    if (!*found || (int64_t)((span << c->shift) - *due) < 0)
        *due = span << c->shift;
    *found = true;
}

uint64_t queue_due_time(struct queue_manager *q)
{
    uint64_t due = q->free_at;
    bool found = false;

    if (!q->packets)
        return QUEUE_NEVER;
    if (q->share == CALENDAR_NONE) {
        due_earlier(q, &q->guarantee, &due, &found);
        due_earlier(q, &q->maximum, &due, &found);
        due = (int64_t)(q->free_at - due) > 0 ? q->free_at : due;
    }
    return due == QUEUE_NEVER ? due - 1 : due;
}
