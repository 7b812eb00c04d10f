// SPDX-License-Identifier: BSD-3-Clause
// super_merge.c - received segments of a TCP flow become a super-packet, see super.h
//
// A host that cuts its data itself sends the segments of a flow one after the other. Those of one
// burst pass the router as one packet, and leave as the same segments, or whole. Unlike librte_gro,
// this keeps the size of the segments, which may not exceed what their sender chose.
//
// Joined: frames of the same headers, but for IPv4 length, identification and checksum, and for
// TCP's sequence number, PSH and checksum. In order; plain IP, which may not be fragmented (so its
// identification means nothing, RFC 6864 4); no flag but ACK and PSH; right checksums. All segments
// but the last have the same payload, and enough that the stages find all headers in one buffer.
// Packets of a flow are never reordered. The ledger counts the super-packet once.
#include <rte_byteorder.h>
#include <string.h>

#include "base/checksum.h"
#include "base/ip.h"
#include "base/ip_proto.h"
#include "forwarder/lanes.h"
#include "forwarder/super.h"
#include "forwarder/forbidden.h"

#define FLOWS 8u // of which segments are sought in a burst
#define BYTES_MOST 64000u

enum { TCP_PSH = 8, TCP_ACK = 16 };

struct train {                     // segments of a flow, which become one packet
    struct rte_mbuf *first, *last; // buffers of the packet so far
    struct super s;                // of its first segment
    uint32_t next, segments;       // sequence number of the next one
    bool closed;                   // takes no more
};

static uint32_t sequence_of(const uint8_t *tcp)
{
    uint32_t v;

    memcpy(&v, tcp + 4, 4);
    return rte_be_to_cpu_32(v);
}

static bool may_be_joined(const struct rte_mbuf *m, const struct super *s)
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *ip = frame + s->head.l3;

    return (frame[s->head.l4 + 13] & ~TCP_PSH) == TCP_ACK && m->pkt_len == s->payload + s->bytes &&
           (s->head.family == IP6 || (ip[0] == 0x45 && ip[6] == 0x40 && !checksum(ip, IP4_HDR)));
}

// Addresses and ports, one behind the other without IP options.
static bool is_of_flow(const struct train *t, const uint8_t *frame, const struct super *s)
{
    const unsigned at = s->head.l3 + (s->head.family == IP4 ? 12u : 8u);

    return t->s.head.l3 == s->head.l3 && t->s.head.l4 == s->head.l4 &&
           t->s.head.family == s->head.family &&
           !memcmp(rte_pktmbuf_mtod_offset(t->first, const uint8_t *, at), frame + at,
                   s->head.l4 + 4 - at);
}

static bool has_same_headers(const struct train *t, const uint8_t *b, const struct super *s)
{
    static const struct {
        uint8_t from, to;
    } same[2][3] = {{{0, 2}, {6, 10}, {12, 20}}, {{0, 4}, {6, 40}}}; // IPv4, IPv6
    const uint8_t *a = rte_pktmbuf_mtod(t->first, const uint8_t *);
    const unsigned l3 = s->head.l3, l4 = s->head.l4, row = s->head.family == IP6;

    for (unsigned i = 0; i < 3; i++)
        if (memcmp(a + l3 + same[row][i].from, b + l3 + same[row][i].from,
                   same[row][i].to - same[row][i].from))
            return false;
    return !memcmp(a, b, l3) && !memcmp(a + l4 + 8, b + l4 + 8, 5) && // to data offset
           !memcmp(a + l4 + 14, b + l4 + 14, 2) &&                    // window
           !memcmp(a + l4 + 18, b + l4 + 18, s->payload - l4 - 18u);
}

// Appends the segment to the flow's packet, if it continues it.
static bool join(struct train *t, struct rte_mbuf *m, const struct super *s)
{
    const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *), *tcp = frame + s->head.l4;

    if (t->closed || sequence_of(tcp) != t->next || s->bytes > t->s.bytes ||
        t->first->pkt_len + s->bytes > BYTES_MOST || s->payload != t->s.payload ||
        m->vlan_tci != t->first->vlan_tci || m->ol_flags != t->first->ol_flags ||
        !has_same_headers(t, frame, s) || !super_checksum_is_right(m, s) ||
        (t->segments == 1 && !super_checksum_is_right(t->first, &t->s)))
        return false;
    t->closed = s->bytes < t->s.bytes || tcp[13] & TCP_PSH;
    rte_pktmbuf_mtod_offset(t->first, uint8_t *, s->head.l4)[13] |= tcp[13] & TCP_PSH;
    t->next += s->bytes;
    t->segments++;
    rte_pktmbuf_adj(m, s->payload);
    t->first->pkt_len += m->pkt_len;
    t->first->nb_segs = (uint16_t)(t->first->nb_segs + m->nb_segs);
    t->last->next = m;
    t->last = rte_pktmbuf_lastseg(m);
    return true;
}

static void begin_train(struct train *t, struct rte_mbuf *m, const struct super *s)
{
    const uint8_t *tcp = rte_pktmbuf_mtod_offset(m, const uint8_t *, s->head.l4);

    *t = (struct train){.first = m,
                        .last = rte_pktmbuf_lastseg(m),
                        .s = *s,
                        .next = sequence_of(tcp) + s->bytes,
                        .segments = 1,
                        .closed =
                            tcp[13] & TCP_PSH || m->data_len < HEADERS_MAX || !may_be_joined(m, s)};
}

// Makes a super-packet of the joined segments.
static void finish_train(struct train *t)
{
    struct rte_mbuf *m = t->first;
    uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, t->s.head.l3);
    const bool four = t->s.head.family == IP4;
    uint16_t length =
        rte_cpu_to_be_16((uint16_t)(m->pkt_len - (four ? t->s.head.l3 : t->s.head.l4)));

    if (t->segments < 2)
        return;
    m->tx_offload = 0;
    m->tso_segsz = t->s.segment;
    m->ol_flags |= RTE_MBUF_F_RX_LRO;
    memcpy(ip + (four ? 2 : 4), &length, 2);
    if (!four)
        return;
    memset(ip + 10, 0, 2);
    uint16_t sum = checksum(ip, IP4_HDR);
    memcpy(ip + 10, &sum, 2);
}

void super_merge(struct forwarder *f)
{
    struct train train[FLOWS];
    unsigned n = 0, kept = 0, oldest = 0;

    for (unsigned i = 0; i < f->rx.n; i++) {
        struct rte_mbuf *m = f->rx.pkt[i];
        struct super s;
        f->rx.frame[kept] = f->rx.frame[i];
        f->rx.pkt[kept++] = m;
        if (super_is(m) || !super_read_segment(m, &s) || s.head.proto != PROTO_TCP)
            continue;
        unsigned k = 0;
        while (k < n && !is_of_flow(&train[k], f->rx.frame[i], &s))
            k++;
        if (k < n && may_be_joined(m, &s) && join(&train[k], m, &s)) {
            kept--;
            continue;
        }
        if (k == FLOWS)
            k = oldest++ % FLOWS;
        if (k < n)
            finish_train(&train[k]);
        else
            n++;
        begin_train(&train[k], m, &s);
    }
    f->counter->rx -= f->rx.n - kept;
    f->rx.n = kept;
    while (n)
        finish_train(&train[--n]);
}
