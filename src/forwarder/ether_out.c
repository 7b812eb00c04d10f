// SPDX-License-Identifier: BSD-3-Clause
// Stage ether_out: the new Ethernet header, and the way to the port
//
//   in     b->ip[], len[], nh[], word[]: each nh[] an adjacency
//   out    f->tx_pkt[port], one array per port, in order; the burst is empty
//
// The header is copied from the adjacency as two overlapping 8-byte words (12
// bytes untagged, 16 with a VLAN tag, without asking which) and the EtherType;
// Ethernet padding behind the packet is cut off by setting the length. The port
// array's index is bumped without a branch: no grouping by port, no comparison with
// the packet before.
#include "forwarder/forwarder_priv.h"
#include "forwarder/packet.h"
#include "forwarder/forbidden.h"

// Segments beyond the first: rare, so apart.
static __rte_noinline void out_chain(struct rte_mbuf *m, uint16_t head, uint32_t len)
{
    m->data_off = (uint16_t)(m->data_off - head);
    m->data_len = (uint16_t)(m->data_len + head);
    m->pkt_len += head;
    packet_trim(m, len);
}

// Pointers that do not change are held in locals: the compiler must assume that a store into a frame changes anything else.
static inline __attribute__((always_inline)) void out(struct forwarder *f, const struct burst *b, uint16_t type)
{
    struct counter_iface *const counter = f->counter->iface;
    const struct nexthop *const table = nexthop_table;
    uint8_t *const mark = f->used_mark;
    uint16_t *const tx_n = f->tx_n;
    struct rte_mbuf *(*const tx_pkt)[COLLECT_MAX] = f->tx_pkt;
    const uint8_t epoch = f->used_epoch;
    const unsigned n = b->n;

    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = b->pkt[i];
        uint32_t id = b->nh[i];
        const struct nexthop *nh = &table[id];
        const uint8_t *rewrite = nexthop_rewrite(nh, b->word[i]);
        uint32_t rewrite_len = nh->rewrite_len, head = rewrite_len + 2, len = b->len[i] + head;
        uint8_t *frame = b->ip[i] - head;
        unsigned port = nh->port;

        store64(frame, load64(rewrite));
        store64(frame + rewrite_len - 8, load64(rewrite + rewrite_len - 8));
        store16(frame + rewrite_len, type);
        if (likely(m->nb_segs == 1)) {
            m->data_off = (uint16_t)(frame - (uint8_t *)m->buf_addr);
            m->data_len = (uint16_t)len;
            m->pkt_len = len;
        } else {
            out_chain(m, (uint16_t)(rte_pktmbuf_mtod(m, uint8_t *) - frame), len);
        }
        struct counter_iface *c = &counter[nh->iface];
        c->tx_packets++;
        c->tx_bytes += len;
        tx_pkt[port][tx_n[port]++] = m;
        if (unlikely(mark[id] != epoch))
            mark[id] = epoch;
    }
}

void ether_out(struct forwarder *f, struct burst *b)
{
    if (f->tx_queued + b->n > COLLECT_MAX)
        tx_flush(f);
    if (b->family == IP4)
        out(f, b, ETHER_TYPE_IP4);
    else
        out(f, b, ETHER_TYPE_IP6);
    f->tx_queued += b->n;
    b->n = 0;
}
