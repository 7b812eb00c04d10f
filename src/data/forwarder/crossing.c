// SPDX-License-Identifier: BSD-3-Clause
// crossing.c - passes packets through the stages again that left by a metalink or a tunnel, or came
// by a tunnel
//
// Most bursts cross within the stages: crossing_pass(). Others wait as frames in the queues of
// metalink.c, tunnel_out.c and tunnel_in.c until the flush of the burst they were in, and pass the
// stages in the same poll, until none is left. Their share of the core was charged where they came
// in (budget.h). METALINK_BURSTS_MAX ends packets that multiply.
#include "forwarder/crossing.h"

#include "forwarder/metalink.h"
#include "forwarder/record.h"
#include "forwarder/stages.h"
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

void crossing_end(struct forwarder *f)
{
    metalink_give_up(f);
    tunnel_give_up(f);
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
