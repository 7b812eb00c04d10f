// SPDX-License-Identifier: BSD-3-Clause
// watch.c - shows frames to watches (table/watch.h)
//
// Called once per burst and port, or per batch of dropped or punted packets, only while some watch
// has its bit there. Frames stay unchanged; each watch takes copies.
#include "forwarder/packet.h"
#include "forwarder/tags.h"
#include "forwarder/watch.h"
#include "table/acl_target.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

static void show_frames(struct forwarder *f, uint32_t bits, enum watch_point point,
                  struct rte_mbuf *const *pkt, const struct watch_tag *tag, unsigned n)
{
    for (; bits; bits &= bits - 1) {
        unsigned index = (unsigned)__builtin_ctz(bits);
        const struct watch *w = &watch_table[index];
        if (w->to == WATCH_TO_PORT)
            mirror(f, index, pkt, tag, n);
        else if (w->to != WATCH_TO_TRACE && watch_copy(index, point, pkt, tag, n)) // path.c traces
            f->punted |= w->wakes;
    }
}

// Shows n <= BURST_MAX frames of one port.
static void show_port_frames(struct forwarder *f, uint32_t bits, enum watch_point point,
                             uint16_t port, struct rte_mbuf *const *pkt, unsigned n)
{
    struct watch_tag tag[BURST_MAX];

    for (unsigned i = 0; i < n; i++)
        tag[i] = (struct watch_tag){
            .port = port, .iface = iface_of_frame(port_get(port), pkt[i], point == WATCH_RX)};
    show_frames(f, bits, point, pkt, tag, n);
}

void watch_mirror(struct forwarder *f, const struct burst *b, unsigned i, uint16_t session)
{
    struct watch_tag tag = {.port = iface_get(b->iface[i])->port, .iface = b->iface[i]};
    unsigned index = f->dry ? WATCH_MAX : acl_mirror_watch(session);

    if (index < WATCH_MAX && packet_l2_len(b->pkt[i], b->ip[i]) && // a held packet has no frame
        watch_table[index].to != WATCH_TO_NOBODY)
        show_frames(f, 1u << index, WATCH_RX, &b->pkt[i], &tag, 1);
}

bool watch_received(struct forwarder *f, uint16_t port)
{
    uint32_t bits = watch_bits(&port_get(port)->watch_rx) & WATCH_ALL,
             sampling = bits & watch_bits(&watch_sampling);

    if (sampling)
        watch_sample(f, port, sampling);
    bits &= ~sampling;
    if (bits)
        show_port_frames(f, bits, WATCH_RX, port, f->rx.pkt, f->rx.n);
    return bits;
}

void watch_sent(struct forwarder *f, uint16_t port, struct rte_mbuf *const *pkt, unsigned n)
{
    uint32_t bits = watch_bits(&port_get(port)->watch_tx);

    for (unsigned i = 0; i < n; i++)
        pkt[i]->ol_flags &= ~RX_TAGS;
    for (unsigned at = 0; at < n; at += BURST_MAX)
        show_port_frames(f, bits, WATCH_TX, port, pkt + at, RTE_MIN(n - at, (unsigned)BURST_MAX));
}

static uint16_t port_of_packet(uint16_t iface, const struct rte_mbuf *m)
{
    return iface ? iface_get(iface)->port : m->port < PORT_MAX ? m->port : PORT_NONE;
}

// Packets that ended without a reason are not drops. Dropped ones may be changed: they return to
// their pool.
void watch_dropped(struct forwarder *f)
{
    struct rte_mbuf *pkt[BURST_MAX];
    struct watch_tag tag[BURST_MAX];
    unsigned n = 0;

    for (unsigned i = 0; i < f->dead.n; i++) {
        struct rte_mbuf *m = f->dead.pkt[i];
        uint32_t word = f->dead_why[i];
        uint16_t iface = word >> 8 & 0xffff;
        bool bare = word >> 24 & 1;
        if ((word & 0xff) == DROP_NONE || (bare && rte_pktmbuf_headroom(m) < ETHER_HDR))
            continue;
        if (bare)
            ether_restore(m, iface, rte_pktmbuf_mtod(m, uint8_t *)[0] >> 4 == 4 ? IP4 : IP6);
        pkt[n] = m;
        tag[n++] = (struct watch_tag){
            .port = port_of_packet(iface, m), .iface = iface, .why = word & 0xff};
        if (n == BURST_MAX) {
            show_frames(f, watch_bits(&watch_drop), WATCH_DROP, pkt, tag, n);
            n = 0;
        }
    }
    show_frames(f, watch_bits(&watch_drop), WATCH_DROP, pkt, tag, n);
}

static void show_punted(struct forwarder *f, enum punt_class class, uint32_t bits)
{
    const struct collect *c = &f->punt[class];
    struct watch_tag tag[BURST_MAX];

    for (unsigned at = 0; at < c->n; at += BURST_MAX) {
        unsigned n = RTE_MIN(c->n - at, (unsigned)BURST_MAX);
        for (unsigned i = 0; i < n; i++) {
            uint16_t iface = packet_meta(c->pkt[at + i])->iface;
            tag[i] = (struct watch_tag){.port = port_of_packet(iface, c->pkt[at + i]),
                                        .iface = iface,
                                        .why = (uint8_t) class};
        }
        show_frames(f, bits, WATCH_PUNT, c->pkt + at, tag, n);
    }
}

void watch_punted(struct forwarder *f)
{
    uint32_t bits = watch_bits(&watch_punt);

    for (unsigned class = 0; class < PUNT_CLASS_N; class++)
        show_punted(f, class, bits);
}
