// SPDX-License-Identifier: BSD-3-Clause
// Stage rx: takes a burst from one receive queue
//
//   in     port, queue of the plan
//   out    f->rx: the packets and where their frames begin, prefetched
//
// Counts the ledger's rx and the queue's statistics, in bytes as the driver delivers frames (no
// FCS, no stripped VLAN tag).
#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

unsigned rx(struct forwarder *f, uint16_t port, uint16_t queue)
{
    unsigned n = rte_eth_rx_burst(port, queue, f->rx.pkt, BURST_MAX);

    for (unsigned i = 0; i < n; i++) {
        f->rx.frame[i] = rte_pktmbuf_mtod(f->rx.pkt[i], uint8_t *);
        rte_prefetch0(f->rx.frame[i]);
    }
    f->rx.n = n;
    if (n) {
        f->counter->rx += n;
        f->counter->bursts++;
    }
    return n;
}
