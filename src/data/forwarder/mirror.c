// SPDX-License-Identifier: BSD-3-Clause
// mirror.c - copies frames to another port
//
//   in     frames as received or as sent, which stay unchanged; a watch that leads to a port
//   out    copies sent by that port: ledger inject and tx, or inject by another forwarder's queue
//   exits  none: without a buffer, without room in the port, or if it is too large for the port, a
//          copy is not made but counted as missed
//
// Copies are offered to the port once: a mirror never makes the original wait.
#include <rte_ethdev.h>

#include "forwarder/packet.h"
#include "forwarder/queue_stage.h"
#include "forwarder/watch.h"
#include "forwarder/forbidden.h"

#define FRAME_OVERHEAD (ETHER_HDR + 2 * VLAN_HDR)

// Restores the tag that the port stripped.
static bool tag_restore(struct rte_mbuf *m)
{
    uint16_t tci = rte_cpu_to_be_16(m->vlan_tci);
    uint8_t *frame = m->data_len < 12 ? NULL : (uint8_t *)rte_pktmbuf_prepend(m, VLAN_HDR);

    if (!frame)
        return false;
    memmove(frame, frame + VLAN_HDR, 12);
    store16(frame + 12, ETHER_TYPE_VLAN);
    store16(frame + 14, tci);
    return true;
}

static struct rte_mbuf *copy_for(const struct port *to, const struct rte_mbuf *m)
{
    struct rte_mbuf *copy = m->pkt_len <= to->mtu + FRAME_OVERHEAD
                                ? rte_pktmbuf_copy(m, exchange_pool, 0, UINT32_MAX)
                                : NULL;

    if (!copy)
        return NULL;
    if ((copy->nb_segs > 1 && to->fast_free) ||
        (copy->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED && !tag_restore(copy))) {
        rte_pktmbuf_free(copy);
        return NULL;
    }
    if (copy->nb_segs > 1)
        exchange_mix(); // it may be captured by, or sent from, another port later
    copy->ol_flags &= ~(RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
    return copy;
}

// Returns how many of the copies the port, or the forwarder that owns its queue, has taken.
static unsigned send_copies(struct forwarder *f, uint16_t port, struct rte_mbuf **copy, unsigned n)
{
    unsigned owner = f->plan ? f->plan->tx_owner[port] : PLAN_TX_NONE, sent = 0;

    if (owner == f->index) {
        sent = rte_eth_tx_burst(port, f->plan->tx_queue[port], copy, (uint16_t)n);
        f->counter->tx += sent;
    } else if (owner == PLAN_TX_QUEUE) {
        for (unsigned i = 0; i < n; i++) // the port's interface counts them, whatever their tags
            copy[i]->vlan_tci = port_get(port)->untagged;
        queue_feed(f, port, copy, n);
        sent = n;
    } else if (owner < FORWARDER_MAX) {
        for (unsigned i = 0; i < n; i++)
            *packet_meta(copy[i]) = (struct packet_meta){
                .port = port, .kind = INJECT_TX, .iface = port_get(port)->untagged};
        sent = rte_ring_enqueue_burst(exchange_inject[owner], (void **)copy, n, NULL);
        f->handed |= 1u << owner;
    }
    return sent;
}

void mirror(struct forwarder *f, unsigned index, struct rte_mbuf *const *pkt,
            const struct watch_tag *tag, unsigned n)
{
    const struct watch *w = &watch_table[index];
    struct watch_count *c = &watch_count[f->slot][index];
    uint16_t port = __atomic_load_n(&w->to_port, __ATOMIC_RELAXED);
    struct rte_mbuf *copy[BURST_MAX];
    uint32_t size[BURST_MAX];
    unsigned wanted = 0, k = 0;

    for (unsigned i = 0; i < n; i++) {
        if (!watch_wants(w, pkt[i], &tag[i]))
            continue;
        wanted++;
        copy[k] = port < PORT_MAX ? copy_for(port_get(port), pkt[i]) : NULL;
        if (copy[k])
            size[k] = copy[k]->pkt_len, k++;
    }
    unsigned sent = k ? send_copies(f, port, copy, k) : 0;
    if (sent < k)
        rte_pktmbuf_free_bulk(copy + sent, k - sent);
    c->taken += sent;
    c->missed += wanted - sent;
    if (!sent)
        return;
    struct counter_iface *iface = &f->counter->iface[port_get(port)->untagged];
    f->counter->inject += sent;
    iface->inject_packets += sent;
    iface->tx_packets += sent;
    for (unsigned i = 0; i < sent; i++) {
        iface->tx_bytes += size[i];
        c->bytes += size[i];
    }
}
