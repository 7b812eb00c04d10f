// SPDX-License-Identifier: BSD-3-Clause
// codel.c - drops or marks packets that waited too long (RFC 8289, 3168, 9332)
//
// RFC 8289 writes CoDel as a loop that dequeues until it sends a packet. This code judges one
// packet at a time, so that the caller gets each dropped packet and may stop after any of them;
// `state` holds the position in the loop. CODEL_DROPPED means that the last packet was dropped, and
// that the time of the next drop is set if the current packet has waited too long, too.
//
// A mark counts like a drop. A sender that ignores ECN marks runs into the limits.
#include "queue/queue_priv.h"

#define COUNT_MAX ((1u << 14) - 1)
#define INV_SQRT_BITS 24
#define RECENT 16 // intervals after which earlier drops are forgotten

// Returns 2^24 / sqrt(i), rounded to nearest, without a math library.
static uint32_t inv_sqrt(uint32_t i)
{
    uint64_t square = (1ull << (2 * INV_SQRT_BITS + 2)) / i, x = 0; // for twice the result

    for (uint64_t bit = 1ull << (INV_SQRT_BITS + 1); bit; bit >>= 1)
        if ((x + bit) * (x + bit) <= square)
            x += bit;
    return (uint32_t)((x + 1) / 2);
}

void queue_codel_init(struct queue_manager *q)
{
    for (uint32_t i = 1; i <= INV_SQRT_N; i++)
        q->inv_sqrt[i] = inv_sqrt(i);
}

// Returns interval / sqrt(count). Counts beyond the table use 1 / sqrt(4 n) = 1 / (2 sqrt(n)) and
// linear interpolation.
static uint32_t codel_pause(const struct queue_manager *q, uint32_t interval, uint32_t count)
{
    unsigned halves = 0;

    while (count >> 2 * halves >= INV_SQRT_N)
        halves++;
    uint32_t i = count >> 2 * halves, part = count - (i << 2 * halves);
    uint64_t step = (uint64_t)(q->inv_sqrt[i] - q->inv_sqrt[i + 1]) * part >> 2 * halves;
    return (uint32_t)(interval * (q->inv_sqrt[i] - step) >> (INV_SQRT_BITS + halves));
}

// Has the wait exceeded the target for a whole interval?
static bool codel_is_above(const struct aqm *a, struct codel *s, uint32_t now, uint32_t wait,
                           uint32_t behind, uint32_t frame_max)
{
    if (wait < a->target || behind <= frame_max) {
        s->first_above = 0;
        return false;
    }
    if (!s->first_above) {
        s->first_above = now + a->interval;
        s->first_above += !s->first_above; // 0 means not above
        return false;
    }
    return (int32_t)(now - s->first_above) >= 0;
}

static void codel_begin(const struct queue_manager *q, const struct aqm *a, struct codel *s,
                        uint32_t now)
{
    int32_t delta = s->count - s->last_count;
    bool recent = (int32_t)(now - s->drop_next) < (int32_t)(RECENT * a->interval);

    s->count = delta > 1 && recent ? (uint16_t)delta : 1;
    s->last_count = s->count & COUNT_MAX;
    s->drop_next = now + codel_pause(q, a->interval, s->count);
    s->state = CODEL_DROPPING;
}

// Must this packet be dropped or marked?
static bool codel_hits(const struct queue_manager *q, const struct aqm *a, struct codel *s,
                       uint32_t wait, uint32_t behind)
{
    uint32_t now = span_now(q);

    if (!codel_is_above(a, s, now, wait, behind, q->config.frame_max)) {
        s->state = CODEL_IDLE;
        return false;
    }
    if (s->state == CODEL_IDLE) {
        codel_begin(q, a, s, now);
        return true;
    }
    if (s->state == CODEL_DROPPED) {
        s->drop_next += codel_pause(q, a->interval, s->count);
        s->state = CODEL_DROPPING;
    }
    if ((int32_t)(now - s->drop_next) < 0)
        return false;
    s->count += s->count < COUNT_MAX;
    s->state = CODEL_DROPPED;
    return true;
}

enum queue_verdict queue_aqm_judge(const struct queue_manager *q, const struct class_queue *c,
                                   struct codel *state, const struct place *p, uint32_t behind)
{
    const struct aqm *a = c->aqm;
    uint32_t wait = span_now(q) - p->at;

    if (c->flags & CLASS_OLD && wait > a->limit)
        return QUEUE_DROP_OLD;
    bool hit = c->flags & CLASS_CODEL && codel_hits(q, a, state, wait, behind);
    if (a->step && place_ecn(p) == ECT1 && wait > a->step)
        return QUEUE_SEND_MARKED;
    if (!hit)
        return QUEUE_SEND;
    return a->ecn && place_ecn(p) ? QUEUE_SEND_MARKED : QUEUE_DROP_CODEL;
}

enum queue_verdict queue_aqm_take(struct queue_manager *q, struct class_queue *c, struct place *p)
{
    if (c->flags & CLASS_FLOWS && fifo_is_empty(&c->fifo))
        return queue_flow_take(q, c, p);
    *p = fifo_take(&q->pool, &c->fifo);
    return queue_aqm_judge(q, c, &c->aqm->codel, p, c->bytes - place_len(p));
}
