// SPDX-License-Identifier: BSD-3-Clause
// lag_frame.c - sends a frame through a member of a LAG (lag_frame.h)
//
// It counts the frame as if the kernel had injected it, so that the ledger stays balanced.
#include "tap/lag_frame.h"

#include <rte_mbuf.h>
#include <string.h>

#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/plan.h"

// Without a forwarder or a buffer the frame is lost, as on a wire.
void lag_frame_send(uint16_t port, uint16_t iface, const uint8_t *frame, uint16_t n)
{
    uint8_t home = plan_home(port);
    struct counter_block *c = counter_mine();
    struct rte_mbuf *m = home < FORWARDER_MAX ? rte_pktmbuf_alloc(exchange_pool) : NULL;

    if (!m)
        return;
    memcpy(rte_pktmbuf_append(m, n), frame, n);
    *packet_meta(m) = (struct packet_meta){.port = port, .iface = iface, .kind = INJECT_TX};
    c->inject++;
    c->iface[iface].inject_packets++;
    if (rte_ring_enqueue(exchange_inject[home], m)) {
        iface_count_drop(c, iface, DROP_INJECT_RING_FULL);
        rte_pktmbuf_free(m);
        return;
    }
    c->iface[iface].tx_packets++;
    c->iface[iface].tx_bytes += n;
    waker_wake(&forwarder_slot[home].waker);
}
