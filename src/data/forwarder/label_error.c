// SPDX-License-Identifier: BSD-3-Clause
// label_error.c - exits of packets with labels, and the errors about them
//
//   exits  hold; MPLS_TTL, MPLS_TOO_BIG, NEIGH_FAILED, BLACKHOLE, UNREACHABLE; too big but
//          fragmentable -> fragments of the IPv4 packet below, each with the labels (RFC 3032 3.4)
//
// An ICMP error is about the IP packet below the labels, and has the labels as they came (RFC
// 4950), by the rules of icmp_error.c. This router need not know a way to the sender, so the error
// goes on to the end of the path that the packet was on, with the labels that the packet would have
// got and full TTLs (RFC 3032 2.3.2). Where labels end in a lookup, that virtual router sends it.
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/label.h"
#include "forwarder/stages.h"
#include "forwarder/forbidden.h"

enum error { EXPIRED, TOO_BIG, UNREACHABLE };
static const struct {
    uint8_t type, code;
} error4[] = {[EXPIRED] = {11, 0}, [TOO_BIG] = {3, 4}, [UNREACHABLE] = {3, 1}},
  error6[] = {[EXPIRED] = {3, 0}, [TOO_BIG] = {2, 0}, [UNREACHABLE] = {1, 3}};

// Labels of a packet made here: new ones, and below them the others of the packet it is about.
struct labels {
    uint32_t top[NEXTHOP_LABEL_MAX]; // entries
    unsigned n;
    const uint8_t *others;
    uint32_t others_bytes;
};

// Is packet i still as received? Else its top entry is not in the frame, but only in hop_out[].
// *ended: labels that were taken off are in the frame in front of it.
static const struct nexthop_encap *operation_of(const struct forwarder *f, const struct burst *b,
                                                unsigned i, unsigned *ended)
{
    *ended = 0;
    if (b != &f->labels)
        return NULL;
    const struct label_done done = label_done(b, i);
    *ended = done.ended;
    return &nexthop_get(done.id)->encap;
}

// The error about the IP packet below the labels `s` of packet i. It shows the last `n` labels that
// came; NULL: no error.
static struct rte_mbuf *make_error(struct forwarder *f, struct burst *b, unsigned i,
                                   const struct label_stack *s, uint16_t vr, enum error e,
                                   uint32_t word, unsigned n)
{
    struct burst *one = &f->piece;
    uint8_t *ip = (uint8_t *)(uintptr_t)s->below;
    const uint32_t len = b->len[i] - (uint32_t)(ip - b->ip[i]);

    if (burst_is_own(b) || s->family == IP_NONE ||
        label_check_ip(ip, s->family, packet_readable(b->pkt[i], ip), len))
        return NULL;
    burst_reset(one);
    one->kind = BURST_TRANSIT;
    one->family = s->family;
    burst_add(one, b->pkt[i], ip, b->iface[i]);
    one->vr[0] = vr;
    one->len[0] =
        s->family == IP4 ? load16_host(ip + 2) : (uint16_t)(load16_host(ip + 4) + IP6_HDR);
    const uint8_t type = s->family == IP4 ? error4[e].type : error6[e].type,
                  code = s->family == IP4 ? error4[e].code : error6[e].code;
    return icmp_error_labels(f, one, 0, type, code, word, s->below - n * LABEL_HDR, n);
}

// Puts labels in front of m, with full TTLs if `fresh`. Returns the top one; NULL: no room.
static uint8_t *put_labels(struct rte_mbuf *m, const struct labels *l, bool fresh)
{
    const uint32_t bytes = l->n * LABEL_HDR + l->others_bytes;
    uint8_t *top = (uint8_t *)rte_pktmbuf_prepend(m, (uint16_t)bytes), *at = top;

    if (!top)
        return NULL;
    for (unsigned k = 0; k < l->n; k++, at += LABEL_HDR)
        label_store(at, l->top[k]);
    memcpy(at, l->others, l->others_bytes);
    for (at = top; fresh && at < top + bytes; at += LABEL_HDR)
        at[3] = UINT8_MAX;
    return top;
}

static void labeled_add(struct forwarder *f, struct rte_mbuf *m, uint8_t *top, uint16_t iface,
                        uint32_t via)
{
    struct burst *one = &f->labeled;
    unsigned k = burst_add(one, m, top, iface);

    one->len[k] = (uint16_t)m->pkt_len;
    one->size[k] = 0;
    one->nh[k] = via;
}

static void labeled_send(struct forwarder *f)
{
    struct burst *one = &f->labeled;

    label_leave(f, one, f->lanes->apply_nexthops(one, false));
    burst_cross(f, one);
    ether_out_labels(f, one);
    burst_reset(one);
}

// Sends the error m about packet i the way that the packet would have gone.
static void send_along(struct forwarder *f, struct rte_mbuf *m, const struct burst *b, unsigned i,
                       uint8_t family, const struct labels *l)
{
    ttl_lower(rte_pktmbuf_mtod(m, uint8_t *), family);
    uint8_t *top = put_labels(m, l, true);

    if (!top) {
        rte_pktmbuf_free(m);
        return;
    }
    origin_count(f, b->iface[i]);
    burst_reset(&f->labeled);
    labeled_add(f, m, top, b->iface[i], b->nh[i]);
    labeled_send(f);
}

static void stack_others(struct labels *l, const uint8_t *from, const struct label_stack *s)
{
    l->others = from;
    l->others_bytes = (uint32_t)(s->below - from);
}

// The TTL of the label that was to be swapped, or to become the top one, has expired.
static void expire(struct forwarder *f, struct burst *b, unsigned i)
{
    unsigned ended;
    const struct nexthop_encap *e = operation_of(f, b, i, &ended);
    const uint8_t *top = b->ip[i];
    struct label_stack s;
    struct labels l = {.n = 1, .top = {rte_be_to_cpu_32(b->hop[i])}};

    if (stack_read(top, packet_readable(b->pkt[i], top), &s)) {
        stack_others(&l, top + LABEL_HDR, &s);
        if (e && e->n) {
            const uint32_t keep = label_load(top) & (ENTRY_CLASS | ENTRY_BOTTOM);
            l.n = e->n;
            for (unsigned k = 0; k < l.n; k++)
                l.top[k] =
                    rte_be_to_cpu_32(e->label_be[k]) | (k == l.n - 1 ? keep : keep & ENTRY_CLASS);
        }
        struct rte_mbuf *m = make_error(f, b, i, &s, b->vr[i], EXPIRED, 0, s.n + ended);
        if (m)
            send_along(f, m, b, i, s.family, &l);
    }
    packet_drop_of(f, b, i, DROP_MPLS_TTL);
}

void label_expire(struct forwarder *f, struct burst *b, unsigned i, uint16_t vr)
{
    struct label_stack s;

    if (stack_read(b->ip[i], packet_readable(b->pkt[i], b->ip[i]), &s)) {
        struct rte_mbuf *m = make_error(f, b, i, &s, vr, EXPIRED, 0, s.n);
        if (m)
            origin_add(f, s.family, m, b->iface[i], vr);
    }
    packet_drop_of(f, b, i, DROP_MPLS_TTL);
}

// Sends the IPv4 packet below the labels in fragments of up to `mtu` bytes. `l`: their labels.
static void send_fragments(struct forwarder *f, struct burst *b, unsigned i,
                           const struct label_stack *s, const struct labels *from, uint16_t mtu)
{
    struct rte_mbuf *m = b->pkt[i], *piece[BURST_MAX];
    uint8_t others[LABEL_DEPTH * LABEL_HDR];
    struct labels l = *from;

    memcpy(others, l.others, l.others_bytes); // fragments may overwrite them
    l.others = others;
    rte_pktmbuf_adj(m, (uint16_t)packet_l2_len(m, s->below));
    packet_trim(m, load16_host(s->below + 2));
    int n = fragment4_cut(f, b->iface[i], m, piece, mtu);
    if (n <= 0) {
        packet_drop_bare(f, m, b->iface[i], DROP_MPLS_TOO_BIG);
        return;
    }
    burst_reset(&f->labeled);
    for (int k = 0; k < n; k++) {
        uint8_t *top = put_labels(piece[k], &l, false);
        if (top)
            labeled_add(f, piece[k], top, b->iface[i], b->nh[i]);
        else
            packet_drop_bare(f, piece[k], b->iface[i], DROP_MPLS_ROOM);
    }
    packet_end(f, m, 0);
    labeled_send(f);
}

static void too_big(struct forwarder *f, struct burst *b, unsigned i)
{
    unsigned ended;
    const struct nexthop_encap *e = operation_of(f, b, i, &ended);
    const bool as_received = e && e->n <= 1;
    uint8_t *top = b->ip[i];
    struct labels l = {.n = 1, .top = {rte_be_to_cpu_32(b->hop_out[i])}};
    struct label_stack s;

    if (!as_received)
        label_store(top, l.top[0]);
    const bool sound = stack_read(top, packet_readable(b->pkt[i], top), &s);
    const uint32_t labels = sound ? s.n * LABEL_HDR : 0;
    const uint16_t mtu = (uint16_t)(nexthop_word_mtu(b->word[i]) - labels);
    const uint32_t len = b->len[i] - labels;

    if (!sound || nexthop_word_mtu(b->word[i]) <= labels || burst_is_own(b)) {
        packet_drop_of(f, b, i, DROP_MPLS_TOO_BIG);
        return;
    }
    stack_others(&l, top + LABEL_HDR, &s);
    if (s.family == IP4 && !ip4_has_df(s.below) &&
        !label_check_ip(s.below, IP4, packet_readable(b->pkt[i], s.below), len)) {
        send_fragments(f, b, i, &s, &l, mtu);
        return;
    }
    struct rte_mbuf *m =
        make_error(f, b, i, &s, b->vr[i], TOO_BIG, mtu, as_received ? s.n + ended : 0);
    if (m)
        send_along(f, m, b, i, s.family, &l);
    packet_drop_of(f, b, i, DROP_MPLS_TOO_BIG);
}

// The neighbor does not answer. Where the labels are ours, the sender gets an error as without
// them.
static void fail(struct forwarder *f, struct burst *b, unsigned i)
{
    struct label_stack s;

    if (b->kind == BURST_RESUMED && packet_meta(b->pkt[i])->pushed &&
        stack_read(b->ip[i], packet_readable(b->pkt[i], b->ip[i]), &s)) {
        struct rte_mbuf *m = make_error(f, b, i, &s, b->vr[i], UNREACHABLE, 0, 0);
        if (m)
            origin_add(f, s.family, m, b->iface[i], b->vr[i]);
    }
    packet_drop_of(f, b, i, DROP_NEIGH_FAILED);
}

static void label_exit(struct forwarder *f, struct burst *b, unsigned i)
{
    const bool expired = !burst_ttl_is_final(b) && (rte_be_to_cpu_32(b->hop[i]) & ENTRY_TTL) <= 1;

    switch (nexthop_word_kind(b->word[i])) {
    case NEXTHOP_ADJACENCY:
        expired ? expire(f, b, i) : too_big(f, b, i);
        break;
    case NEXTHOP_HOLD:
        expired ? expire(f, b, i) : packet_hold(f, b, i);
        break;
    case NEXTHOP_FAILED:
        expired ? expire(f, b, i) : fail(f, b, i);
        break;
    case NEXTHOP_BLACKHOLE:
        packet_drop_of(f, b, i, DROP_BLACKHOLE);
        break;
    default:
        packet_drop_of(f, b, i, DROP_UNREACHABLE);
        break;
    }
}

void label_leave(struct forwarder *f, struct burst *b, uint64_t out)
{
    for (uint64_t left = out; left; left &= left - 1)
        label_exit(f, b, (unsigned)__builtin_ctzll(left));
    if (out)
        burst_remove(b, out);
}
