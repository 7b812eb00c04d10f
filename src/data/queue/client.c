// SPDX-License-Identifier: BSD-3-Clause
// client.c - where a client waits: its tags, the calendars and the ring of shares
//
// A client that has nothing waiting is in no list. One that has is in the calendar of guarantees
// by its S (if it has a guarantee) and in the ring of shares (if it has a weight); or, while its L
// is still to come, in the calendar of maxima alone.
#include "queue/queue_priv.h"

#define UNPARK_MAX 32u // of a call

static void share_join(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    if (!v->quantum || v->next != CALENDAR_NONE)
        return;
    if (q->share == CALENDAR_NONE) {
        v->next = v->prev = q->share = id;
        return;
    }
    v->next = q->share; // before whose turn it is: last
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

void queue_client_place(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    v->parked = v->per_byte_m && !is_over(q, v->l);
    if (v->parked) {
        calendar_remove(&q->guarantee, id);
        share_leave(q, id);
        calendar_remove(&q->maximum, id);
        calendar_put(&q->maximum, id, v->l);
        return;
    }
    calendar_remove(&q->maximum, id);
    share_join(q, id);
    calendar_remove(&q->guarantee, id);
    if (v->per_byte_g)
        calendar_put(&q->guarantee, id, v->s);
}

void queue_client_idle(struct queue_manager *q, uint16_t id)
{
    calendar_remove(&q->guarantee, id);
    calendar_remove(&q->maximum, id);
    share_leave(q, id);
    q->client[id].parked = false;
}

void queue_client_wake(struct queue_manager *q, uint16_t id)
{
    struct client *v = &q->client[id];

    v->s = tag_after_idle(q, v->s, v->per_byte_g);
    v->l = tag_after_idle(q, v->l, v->per_byte_m);
    v->deficit = v->deficit < 0 ? v->deficit : 0; // what was sent beyond a turn stays owed
    queue_client_place(q, id);
}

void queue_client_unpark(struct queue_manager *q)
{
    uint64_t span, here = q->now >> q->maximum.shift;

    for (unsigned i = 0; i < UNPARK_MAX; i++) {
        uint16_t id = calendar_first(&q->maximum, q->now, &span);

        if (id == CALENDAR_NONE || span > here)
            return;
        if (!is_over(q, q->client[id].l) && q->client[id].l >> q->maximum.shift <= span)
            return; // within this very bucket
        queue_client_place(q, id); // or it was beyond the end, and is parked again
    }
}

uint16_t queue_guaranteed_next(struct queue_manager *q)
{
    uint64_t span, here = q->now >> q->guarantee.shift;

    for (;;) {
        uint16_t id = calendar_first(&q->guarantee, q->now, &span);

        if (id == CALENDAR_NONE || is_over(q, q->client[id].s))
            return id;
        if (span > here || q->client[id].s >> q->guarantee.shift <= span)
            return CALENDAR_NONE;
        calendar_remove(&q->guarantee, id); // it was beyond the end when it was put
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

static uint64_t first_time(struct calendar *c, uint64_t now)
{
    uint64_t span;

    return calendar_first(c, now, &span) == CALENDAR_NONE ? UINT64_MAX : span << c->shift;
}

uint64_t queue_due_time(struct queue_manager *q)
{
    if (!q->packets)
        return QUEUE_NEVER;
    if (q->share != CALENDAR_NONE)
        return q->free_at;
    uint64_t s = first_time(&q->guarantee, q->now), l = first_time(&q->maximum, q->now);
    uint64_t due = s < l ? s : l;
    return (int64_t)(q->free_at - due) > 0 ? q->free_at : due;
}
