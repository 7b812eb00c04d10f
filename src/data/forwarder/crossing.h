// SPDX-License-Identifier: BSD-3-Clause
// crossing.h - packets that leave by a metalink or a tunnel, or came by a tunnel: they pass the
// stages again
#ifndef FORWARDER_CROSSING_H
#define FORWARDER_CROSSING_H

#include <string.h>

#include "forwarder/state.h"

// May some packet of b, which has next hops, leave by a metalink or a tunnel? Ids of ports without
// a device, and of LAGs, are above device ids: one comparison for most bursts.
static inline bool burst_crosses(const struct burst *b)
{
    return b->out_ports >= 1ull << PORT_TUNNEL;
}
static inline bool crossing_is_port(uint16_t port)
{
    return port >= PORT_TUNNEL && port <= PORT_METALINK;
}
_Static_assert(PORT_METALINK == PORT_TUNNEL + TUNNEL_PORTS && PORT_TUNNEL >= PORT_DEVICE_MAX,
               "port ids");
// The fast path, before packets become frames, for a plain burst: takes packets that enter tunnels
// out of b, and passes their outer packets on. Returns true if all of b has crossed a metalink and
// is to be looked up there.
bool crossing_pass(struct forwarder *f, struct burst *b);

// Queues n finished frames that leave by such a port, with their interfaces beside them.
void crossing_put(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n);
// f->n_crossing frames wait. Passes them through the stages, until none is left.
void crossing_take(struct forwarder *f);
// Passes the next one through its stages, recorded. Returns false if there is none.
bool crossing_take_recorded(struct forwarder *f);
void crossing_end(struct forwarder *f); // drops the remaining ones

// --- the queues of these frames: crossing.c takes them in the same poll, until f->n_crossing, the
// number in all of them, is 0 ---

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

// --- metalink.c: from one end of a metalink to the other (table/metalink.h) ---

// Bursts that can result from one burst: 8 hops of 64 packets, each cut into 16 fragments.
#define METALINK_BURSTS_MAX 128u

// The fast path, inside the stages: all packets of b, which are plain, have one next hop, over a
// metalink whose other end does nothing beyond routing. They are now received there and may be
// looked up again; b may be empty. Returns false if they have to take the slow path, ether_out.
bool metalink_pass(struct forwarder *f, struct burst *b);
// Moves up to `max` <= BURST_MAX of the next frames to f->rx. Returns false if there are none.
bool metalink_take(struct forwarder *f, unsigned max);

#endif
