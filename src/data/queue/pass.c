// SPDX-License-Identifier: BSD-3-Clause
// pass.c - the fast path of a queue: nobody waits at the port, and it has credit
//
// Most packets of a port that is not full take it. They go through no list and no calendar, and are
// charged to the port, the client's maximum and a strict class's rate. Guarantees and shares matter
// only while others wait.
#include "queue/queue_priv.h"

// One that has a right without others: a client of weight 0 has its guarantee alone.
static bool may_pass(const struct queue_manager *q, const struct client *v,
                     const struct class_queue *c, uint32_t len)
{
    return v->quantum && len <= v->limit && len <= c->limit &&
           (!v->per_byte_m || is_over(q, tag_after_idle(q, v->l, v->per_byte_m)));
}

unsigned queue_pass(struct queue_manager *q, const struct queue_packet *p, unsigned n, uint64_t now)
{
    unsigned i;

    queue_clock_set(q, now);
    if (q->packets)
        return 0;
    queue_credit_limit(q);
    for (i = 0; i < n && is_over(q, q->free_at); i++) {
        struct client *v = &q->client[p[i].client];
        struct class_queue *c = &v->class[p[i].class];
        uint32_t len = p[i].len;

        if (unlikely(!may_pass(q, v, c, len)))
            break;
        q->free_at += time_of_bytes(q->per_byte, len);
        if (v->per_byte_m)
            v->l = tag_after_idle(q, v->l, v->per_byte_m) + time_of_bytes(v->per_byte_m, len);
        if (unlikely(c->flags & CLASS_LIMITED))
            queue_class_charge(q, c->aqm, len);
        c->sent_packets++;
        c->sent_bytes += len;
    }
    if (i) // its wait was none
        count_of(q, p[i - 1].client, p[i - 1].class)->wait[0]++;
    return i;
}
