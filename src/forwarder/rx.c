// SPDX-License-Identifier: BSD-3-Clause
// Stage rx: take a burst from one receive queue.
//
//   in     port, queue of the plan
//   out    f->in4.pkt[0..n), headers of the first packets on their way into the cache
//
// Counts the ledger's rx and the queue's own statistics; bytes are those of the
// frames as the driver hands them over (no FCS, no stripped VLAN tag).
#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "forwarder/forwarder_priv.h"
#include "forwarder/forbidden.h"

#define PREFETCH_FIRST 8u // ether_in prefetches the rest, as far ahead as this

unsigned rx(struct forwarder *f, uint16_t port, uint16_t queue)
{
    unsigned n = rte_eth_rx_burst(port, queue, f->in4.pkt, BURST_MAX);

    for (unsigned i = 0; i < n && i < PREFETCH_FIRST; i++)
        rte_prefetch0(rte_pktmbuf_mtod(f->in4.pkt[i], void *));
    if (n) {
        f->counter->rx += n;
        f->counter->bursts++;
    }
    return n;
}
