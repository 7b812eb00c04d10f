// SPDX-License-Identifier: BSD-3-Clause
// Stage ether_out: writes the new headers and appends each packet to its port's array
//
//   in     b->ip[], nh[], the results of lanes->apply_nexthops; each nh[] is an adjacency
//   out    f->tx_pkt[port], one array per port, in order; the burst is empty
//
// Labels are the third family: the top one is written where an IP packet has its TTL. Packets that
// get labels pass push_frames(), which also does what lanes->apply_nexthops() does for others: the
// neighbor is behind the next hop.
//
// The Ethernet header is copied from the adjacency in overlapping words of 8 bytes; TTL and
// checksum are written as one word; padding after the packet is cut off by setting the length. The
// port array's index is advanced without a branch, for any mix of ports. Only a burst whose packets
// all have one next hop is a special case.
//
// A core commits about one store per cycle, so stores are the main cost here, and nothing is
// written in front of the frame, which would touch another cache line. If all frames leave with as
// many tags as they came with (b->in_place), their data stays where it is; if they also keep their
// length (b->same), no more is written than a tagged frame's interface, in place of a tag (tx.h).
// Untagged frames are counted in the port's word, and by tx_flush for their interface.
#include "forwarder/label.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "forwarder/tx.h"
#include "forwarder/forbidden.h"

#define INLINE static inline __attribute__((always_inline))

// For packets of several segments. The frame now begins at `frame`.
static __rte_noinline void lengths_set_chain(struct rte_mbuf *m, const uint8_t *frame,
                                             uint32_t size)
{
    int32_t head = (int32_t)(rte_pktmbuf_mtod(m, const uint8_t *) - frame);

    m->data_len = (uint16_t)(m->data_len + head);
    m->pkt_len += (uint32_t)head;
    packet_trim(m, size);
}

INLINE unsigned hop_at_of(uint8_t family)
{
    return family == IP4 ? 8 : family == IP6 ? 4 : 0;
}

// The EtherType, as the last bytes of a word.
INLINE uint64_t type_at_end_of(uint8_t family)
{
    return (uint64_t)(family == IP4   ? ETHER_TYPE_IP4
                      : family == IP6 ? ETHER_TYPE_IP6
                                      : ETHER_TYPE_MPLS)
           << 48;
}

INLINE void lengths_set(struct rte_mbuf *m, const uint8_t *frame, uint64_t size)
{
    if (likely(m->nb_segs == 1))
        packet_set_length(m, size);
    else
        lengths_set_chain(m, frame, (uint32_t)size);
    m->data_off = (uint16_t)(frame - (uint8_t *)m->buf_addr);
}

// Pointers are kept in locals: the compiler must assume that a store into a frame changes anything.
// `l2`: header bytes of all frames, whose data stays in place; 0 = any. `resized`: with l2, some
// leave with another length, and none has several segments. `moved`: with l2, but the frames begin
// elsewhere than they did.
INLINE void write_frames(struct forwarder *f, const struct burst *b, uint8_t family, unsigned l2,
                         bool resized, bool moved)
{
    const unsigned hop_at = hop_at_of(family);
    const uint64_t type_at_end = type_at_end_of(family);
    struct counter_iface *const counter = f->counter->iface;
    uint8_t *const mark = f->used_mark;
    uint64_t *const tx_word = f->tx_word;
    struct rte_mbuf *(*const tx_pkt)[COLLECT_MAX] = f->tx_pkt;
    const uint8_t epoch = f->used_epoch;
    const unsigned n = b->n;

    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *m = b->pkt[i];
        uint32_t id = b->nh[i];
        uint64_t size = b->size[i];
        const uint8_t *end = b->header[i];
        unsigned port = b->out_port[i], head = l2 ? l2 : nexthop_word_head(b->word[i]);
        uint8_t *ip = b->ip[i], *frame = ip - head;

        if (l2 > ETHER_HDR) {
            memcpy(frame, end - head, 16);
        } else {
            store64(frame, load64(end - head));
            if (!l2) { // for an untagged frame, repeats the first bytes
                unsigned rest = RTE_MIN(head, 16u);
                store64(ip - rest, load64(end - rest));
            }
        }
        store64(ip - 8, load64(end - 8) | type_at_end); // the adjacency has zeros there
        store32(ip + hop_at, b->hop_out[i]);
        uint64_t at = tx_word[port];
        tx_pkt[port][tx_word_n(at)] = m;
        if (!l2)
            lengths_set(m, frame, size);
        else if (resized)
            packet_set_length(m, size);
        if (l2 && moved)
            m->data_off = (uint16_t)(frame - (uint8_t *)m->buf_addr);
        if (l2 == ETHER_HDR) {
            tx_word[port] = at + TX_WORD_COUNTED + (size << 32);
        } else {
            tx_word[port] = at + 1;
            m->vlan_tci = b->out_iface[i];
            counter_pair_add(&counter[b->out_iface[i]].tx_packets, size);
        }
        if (unlikely(mark[id] != epoch))
            mark[id] = epoch;
    }
    f->tx_ports |= b->out_ports;
}

// Like write_frames() for untagged frames in place with a common next hop: the header stays in
// registers. If the next hop's word has changed between packets, the first one is still valid.
INLINE void write_frames_one_hop(struct forwarder *f, const struct burst *b, uint8_t family,
                                 bool resized)
{
    const unsigned hop_at = hop_at_of(family), n = b->n, port = b->out_port[0];
    const uint8_t *end = b->header[0];
    const uint64_t first = load64(end - ETHER_HDR);
    const uint64_t last = load64(end - 8) | type_at_end_of(family);
    uint64_t at = f->tx_word[port], bytes = 0;

    for (unsigned i = 0; i < n; i++) {
        uint8_t *ip = b->ip[i];
        store64(ip - ETHER_HDR, first);
        store64(ip - 8, last);
        store32(ip + hop_at, b->hop_out[i]);
        if (resized)
            packet_set_length(b->pkt[i], b->size[i]);
        bytes += b->size[i];
    }
    memcpy(f->tx_pkt[port] + tx_word_n(at), b->pkt, n * sizeof *b->pkt);
    f->tx_word[port] = at + n * TX_WORD_COUNTED + (bytes << 32);
    f->tx_ports |= 1ull << port;
    if (f->used_mark[b->nh[0]] != f->used_epoch)
        f->used_mark[b->nh[0]] = f->used_epoch;
}

// Do all packets have one next hop? Compares each with its predecessor.
INLINE bool is_one_hop(const struct burst *b)
{
    return b->n > 1 && b->nh[0] == b->nh[1] &&
           !memcmp(b->nh, b->nh + 1, (b->n - 1) * sizeof *b->nh);
}

INLINE void write_in_place(struct forwarder *f, const struct burst *b, uint8_t family, unsigned l2)
{
    if (l2 == ETHER_HDR && is_one_hop(b))
        b->same ? write_frames_one_hop(f, b, family, false)
                : write_frames_one_hop(f, b, family, true);
    else if (b->same)
        write_frames(f, b, family, l2, false, false);
    else
        write_frames(f, b, family, l2, true, false);
}

INLINE void write_family(struct forwarder *f, const struct burst *b, uint8_t family)
{
    const bool in_place = b->same || (b->in_place && !b->chained);

    if (likely(in_place && b->l2 == ETHER_HDR))
        write_in_place(f, b, family, ETHER_HDR);
    else if (in_place && b->l2 == ETHER_HDR + VLAN_HDR)
        write_in_place(f, b, family, ETHER_HDR + VLAN_HDR);
    else if (in_place && b->l2 == ETHER_HDR + 2 * VLAN_HDR)
        write_in_place(f, b, family, ETHER_HDR + 2 * VLAN_HDR);
    else
        write_frames(f, b, family, 0, true, false);
}

// --- the stage, for plain packets, for labels, and for frames that begin elsewhere ---

INLINE void make_room(struct forwarder *f, const struct burst *b)
{
    if (f->tx_queued + b->n > COLLECT_MAX)
        tx_flush(f);
}

INLINE void appended(struct forwarder *f, struct burst *b)
{
    f->tx_queued += b->n;
    b->n = 0;
}

void ether_out(struct forwarder *f, struct burst *b)
{
    make_room(f, b);
    if (b->family == IP4)
        write_family(f, b, IP4);
    else
        write_family(f, b, IP6);
    appended(f, b);
}

void ether_out_labels(struct forwarder *f, struct burst *b)
{
    make_room(f, b);
    write_family(f, b, LABELS);
    appended(f, b);
}

INLINE void write_moved(struct forwarder *f, const struct burst *b, uint8_t family)
{
    if (likely(b->in_place && b->l2 == ETHER_HDR && !b->chained))
        write_frames(f, b, family, ETHER_HDR, true, true);
    else
        write_frames(f, b, family, 0, true, false);
}

void ether_out_moved(struct forwarder *f, struct burst *b)
{
    make_room(f, b);
    if (b->family == IP4)
        write_moved(f, b, IP4);
    else
        write_moved(f, b, IP6);
    appended(f, b);
}

// --- packets that get labels ---

// The TTL of new labels, in front of a packet that leaves with `ttl`.
INLINE uint8_t ttl_of_labels(const struct nexthop_encap *e, uint16_t vr, uint8_t ttl)
{
    const uint8_t flags = __atomic_load_n(&e->flags, __ATOMIC_RELAXED); // again: keeps no register

    return is_uniform(flags, vr) ? ttl : e->ttl ? e->ttl : vr_mpls(vr).default_ttl;
}

// Writes the labels of e, `bytes` long, in front of an IP packet, two at a time, the last ones
// first: with an odd number, also four bytes in front of the top one.
INLINE void labels_write(const struct nexthop_encap *e, size_t bytes, uint8_t *ip, uint8_t family,
                         uint8_t ttl)
{
    const uint32_t class = family == IP4 ? (ip[1] & 0xe0u) << 4 : (ip[0] & 0x0eu) << 8,
                   bottom = rte_cpu_to_be_32(ENTRY_BOTTOM);
    const uint64_t last = rte_cpu_to_be_32(class | ENTRY_BOTTOM | ttl), two = (last << 32) + last;
    const uint8_t *label = (const uint8_t *)e->label_be;

    store64(ip - 8, load64(label + bytes - 8) | (two - bottom));
    for (size_t at = 8; at < sizeof e->label_be && unlikely(at < bytes); at += 8)
        store64(ip - at - 8,
                load64(label + bytes - at - 8) | (two - bottom - ((uint64_t)bottom << 32)));
}

uint8_t *labels_put(struct burst *b, unsigned i, const struct nexthop_encap *e)
{
    const uint32_t hop = b->hop_out[i];
    const uint8_t ttl = b->family == IP4 ? (uint8_t)hop : (uint8_t)(hop >> 24);

    store32(b->ip[i] + hop_at_of(b->family), hop);
    labels_write(e, e->n * LABEL_HDR, b->ip[i], b->family, ttl_of_labels(e, b->vr[i], ttl));
    return b->ip[i] - e->n * LABEL_HDR;
}

// Cuts padding off packets of several segments.
static __rte_noinline void chains_trim(const struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (b->pkt[i]->nb_segs > 1 && nexthop_get(b->nh[i])->kind == NEXTHOP_ENCAP)
            packet_trim(b->pkt[i], packet_l2_len(b->pkt[i], b->ip[i]) + b->len[i]);
}

typedef uint64_t header_end __attribute__((vector_size(16)));

// Without calls, and with few variables that live long, so that registers hold all of them. The
// header is written as one word, which begins two bytes in front of an untagged frame.
INLINE uint64_t push_frames(struct forwarder *f, const struct burst *b, uint8_t family, bool lower)
{
    const struct nexthop *const table = nexthop_table;
    uint8_t *const mark = f->used_mark;
    const bool uniform = !b->mixed && vr_mpls(b->vr[0]).ttl_propagate;
    const size_t n = b->n;
    uint64_t left = 0;

    for (size_t i = 0; i < n; i++) {
        const struct nexthop *nh = &table[b->nh[i]];
        const struct nexthop_encap *e = &nh->encap;
        if (unlikely(nh->kind != NEXTHOP_ENCAP)) {
            left |= 1ull << i;
            continue;
        }
        const size_t via = e->via, bytes = (size_t)e->n * LABEL_HDR;
        const uint64_t word = nexthop_word(&table[via]);
        const size_t head = nexthop_word_head(word);
        struct rte_mbuf *m = b->pkt[i];
        uint8_t *ip = b->ip[i], *top = ip - bytes;
        const ptrdiff_t off = top - (uint8_t *)m->buf_addr - (ptrdiff_t)head;
        const uint64_t len = b->len[i];
        if (unlikely(nexthop_word_kind(word) != NEXTHOP_ADJACENCY ||
                     len > nexthop_word_mtu(b->word[i]) || off < 2 ||
                     (lower && (uint8_t)(family == IP4 ? b->hop[i] : b->hop[i] >> 24) <= 1))) {
            left |= 1ull << i;
            continue;
        }
        const uint64_t whole = len + bytes + head;
        if (likely(m->nb_segs == 1)) {
            packet_set_length(m, whole);
        } else {
            m->data_len = (uint16_t)(m->data_len + m->data_off - off);
            m->pkt_len = (uint32_t)whole;
        }
        m->data_off = (uint16_t)off;
        const uint32_t hop = b->hop_out[i];
        uint8_t ttl = family == IP4 ? (uint8_t)hop : (uint8_t)(hop >> 24);
        store32(ip + hop_at_of(family), hop);
        if (unlikely(!uniform || e->flags & (NEXTHOP_ENCAP_UNIFORM | NEXTHOP_ENCAP_PIPE)))
            ttl = ttl_of_labels(e, b->vr[i], ttl);
        labels_write(e, bytes, ip, family, ttl);
        const uint8_t *end = nexthop_rewrite(&table[via], word) + NEXTHOP_REWRITE;
        const size_t port = b->out_port[i];
        const uint64_t at = f->tx_word[port], size = m->pkt_len;
        f->tx_pkt[port][tx_word_n(at)] = m;
        if (likely(head == ETHER_HDR)) {
            f->tx_word[port] = at + TX_WORD_COUNTED + (size << 32);
        } else {
            store64(top - head, load64(end - head));
            f->tx_word[port] = at + 1;
            m->vlan_tci = b->out_iface[i];
            counter_pair_add(&f->counter->iface[b->out_iface[i]].tx_packets, size);
        }
        header_end last;
        memcpy(&last, end - sizeof last, sizeof last);
        last |= (header_end){0, type_at_end_of(LABELS)}; // the adjacency has zeros there
        memcpy(top - sizeof last, &last, sizeof last);
        if (unlikely(mark[via] != f->used_epoch))
            mark[via] = f->used_epoch;
    }
    f->tx_ports |= b->out_ports;
    f->tx_queued += (uint32_t)n - (uint32_t)__builtin_popcountll(left);
    return left;
}

uint64_t ether_out_push(struct forwarder *f, const struct burst *b, bool lower)
{
    make_room(f, b);
    if (unlikely(b->chained))
        chains_trim(b);
    if (b->family == IP4)
        return lower ? push_frames(f, b, IP4, true) : push_frames(f, b, IP4, false);
    return lower ? push_frames(f, b, IP6, true) : push_frames(f, b, IP6, false);
}
