// SPDX-License-Identifier: BSD-3-Clause
// crossing.c - passes packets through the stages again that left by a metalink or a tunnel, or came
// by a tunnel
//
// Most bursts cross within the stages: crossing_pass(). Others wait as frames in the queues of
// metalink.c, tunnel_out.c and tunnel_in.c until the flush of the burst they were in, and pass the
// stages in the same poll, until none is left. In a queue, the frame's interface is beside it, as
// if it were its tag. Their share of the core was charged where they came in (budget.h).
// METALINK_BURSTS_MAX ends packets that multiply: METALINK_FULL, TUNNEL_FULL.
#include "forwarder/crossing.h"

#include "forwarder/record.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "forwarder/tunnel.h"
#include "forwarder/tx.h"
#include "forwarder/watch.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

bool crossing_pass(struct forwarder *f, struct burst *b)
{
    if (burst_enters_tunnels(b)) {
        tunnel_pass(f, b);
        path_outer_usual(f);
        return false;
    }
    return b->out_port[0] == PORT_METALINK && metalink_pass(f, b) && b->n;
}

void crossing_put(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n)
{
    const bool metalink = port == PORT_METALINK;
    unsigned taken = frame_queue_put(f, metalink ? &f->metalink : &f->tunnel_out, pkt, n);

    for (unsigned i = 0; i < n; i++) {
        pkt[i]->ol_flags &= ~RX_TAGS;
        pkt[i]->vlan_tci = tx_iface(port, pkt[i]);
    }
    for (unsigned i = taken; i < n; i++)
        tx_drop(f, pkt[i], pkt[i]->vlan_tci, metalink ? DROP_METALINK_FULL : DROP_TUNNEL_FULL);
}

// f->rx has come by port `id`, which has no device; `port` has the interfaces.
static void inner_burst(struct forwarder *f, uint16_t id, const struct port *port)
{
    struct plan_rx_stats *stats = &forwarder_slot[f->index].rx_stats[id][0];
    bool shown = port_get(id)->watch_rx && watch_received(f, id);

    if (f->record.on) {
        record_again(f, id);
        path_recorded(f, port, stats);
    } else if (!shown || record_traced(f, id, stats)) {
        path_usual(f, port, stats);
    }
}

static void cross_once(struct forwarder *f, unsigned max)
{
    const struct port *port;

    if (metalink_take(f, max)) {
        inner_burst(f, PORT_METALINK, port_get(PORT_METALINK));
        tx_flush(f);
    }
    if ((port = tunnel_take_in(f, max))) {
        inner_burst(f, f->tunnel_in_port, port);
        tx_flush(f);
    }
    if (tunnel_take_out(f, max)) {
        f->record.on ? path_outer_recorded(f) : path_outer_usual(f);
        tx_flush(f);
    }
}

__attribute__((noinline)) void crossing_take(struct forwarder *f)
{
    const bool budget = f->budget.on;

    if (f->crossing) // the flush of a traced packet, nested in this function
        return;
    f->crossing = true;
    f->budget.on = false;
    for (unsigned k = 0; f->n_crossing && k < METALINK_BURSTS_MAX; k++)
        cross_once(f, f->record.on ? 1 : BURST_MAX);
    crossing_end(f);
    f->budget.on = budget;
    f->crossing = false;
}

// Drops the frames of a queue by which they leave.
static void give_up(struct forwarder *f, struct frame_queue *q, enum drop_reason reason)
{
    while (q->n) {
        struct rte_mbuf *m = frame_queue_next(f, q);
        tx_drop(f, m, m->vlan_tci, reason);
    }
}

void crossing_end(struct forwarder *f)
{
    give_up(f, &f->metalink, DROP_METALINK_FULL);
    give_up(f, &f->tunnel_out, DROP_TUNNEL_FULL);
    while (f->tunnel_in.n)
        tunnel_drop_in(f, frame_queue_next(f, &f->tunnel_in));
}

__attribute__((noinline, cold)) bool crossing_take_recorded(struct forwarder *f)
{
    struct plan_rx_stats nowhere = {0};
    uint16_t port = metalink_take(f, 1)    ? PORT_METALINK
                    : tunnel_take_in(f, 1) ? f->tunnel_in_port
                                           : PORT_NONE;

    if (port != PORT_NONE) {
        record_again(f, port);
        path_recorded(f, port_get(port), &nowhere);
        return true;
    }
    if (!tunnel_take_out(f, 1))
        return f->n_crossing;
    path_outer_recorded(f);
    return true;
}
