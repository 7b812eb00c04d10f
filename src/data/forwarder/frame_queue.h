// SPDX-License-Identifier: BSD-3-Clause
// frame_queue.h - queues of frames that leave by a port without a device and stay in the forwarder
//
// crossing.c takes them in the same poll, until f->n_crossing, the number in all queues, is 0.
#ifndef FORWARDER_FRAME_QUEUE_H
#define FORWARDER_FRAME_QUEUE_H

#include <string.h>

#include "forwarder/state.h"

_Static_assert((FRAME_QUEUE_ROOM & (FRAME_QUEUE_ROOM - 1)) == 0, "a mask");

// Returns how many of the n frames it had room for.
static inline unsigned frame_queue_put(struct forwarder *f, struct frame_queue *q,
                                       struct rte_mbuf **pkt, unsigned n)
{
    unsigned taken = RTE_MIN(n, FRAME_QUEUE_ROOM - q->n);
    unsigned at = (q->head + q->n) % FRAME_QUEUE_ROOM;
    unsigned straight = RTE_MIN(taken, FRAME_QUEUE_ROOM - at);

    memcpy(q->pkt + at, pkt, straight * sizeof *pkt);
    memcpy(q->pkt, pkt + straight, (taken - straight) * sizeof *pkt);
    q->n += taken;
    f->n_crossing += taken;
    return taken;
}

// Takes the oldest frame. The queue must not be empty.
static inline struct rte_mbuf *frame_queue_next(struct forwarder *f, struct frame_queue *q)
{
    struct rte_mbuf *m = q->pkt[q->head];

    q->head = (q->head + 1) % FRAME_QUEUE_ROOM;
    q->n--;
    f->n_crossing--;
    return m;
}

// Takes at most `max` frames, oldest first. Returns the number.
static inline unsigned frame_queue_take(struct forwarder *f, struct frame_queue *q,
                                        struct rte_mbuf **pkt, unsigned max)
{
    unsigned n = RTE_MIN(q->n, max), straight = RTE_MIN(n, FRAME_QUEUE_ROOM - q->head);

    memcpy(pkt, q->pkt + q->head, straight * sizeof *pkt);
    memcpy(pkt + straight, q->pkt, (n - straight) * sizeof *pkt);
    q->head = (q->head + n) % FRAME_QUEUE_ROOM;
    q->n -= n;
    f->n_crossing -= n;
    return n;
}

#endif
