// SPDX-License-Identifier: BSD-3-Clause
// pass.c - the fast path of a queue: no packet waits at the port, and the port has credit
//
// Most packets of a port that is not full take it. They bypass all lists and calendars, and are
// charged to the port, the maximum of the client and the rate of a strict class. Guarantees and
// shares matter only while other packets wait.
#include "queue/queue_priv.h"

// May the client send when no other client waits? A client of weight 0 has only its guarantee.
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
    if (i) // the wait was zero
        count_of(q, p[i - 1].client, p[i - 1].class)->wait[0]++;
    return i;
}
