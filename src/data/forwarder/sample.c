// SPDX-License-Identifier: BSD-3-Clause
// sample.c - watch_sample(): one packet in so many, for flow exporters (table/watch.h)
//
//   in     frames as received, which stay unchanged
//   out    copies in the watch's slots, each with its next hop: one lookup per sample
//   exits  none
//
// The number of packets to skip is random and independent of the traffic, so that no pattern in it
// is sampled always or never (sFlow version 5, 3.1; RFC 5475 5.2). Skipping costs a subtraction per
// burst.
#include "base/hash.h"
#include "forwarder/label.h"
#include "forwarder/lookup.h"
#include "forwarder/tags.h"
#include "forwarder/watch.h"
#include "forwarder/forbidden.h"

// Draws the number of packets to skip: 0 to 2 * (every - 1), uniformly, so every - 1 on average.
static uint32_t draw_skip(struct sampling *s)
{
    s->dice += 0x9e3779b97f4a7c15u;
    return (uint32_t)((hash_mix64(s->dice) >> 32) * (2ull * s->every - 1) >> 32);
}

static void sampling_start(struct sampling *s, const struct watch *w, unsigned forwarder)
{
    s->seed = w->seed;
    s->dice = hash_mix64(w->seed + forwarder);
    s->every = w->every;
    s->skip = draw_skip(s);
}

// The next hop of a packet without Ethernet header; 0: none.
static uint32_t look_up(const struct forwarder *f, uint16_t vr, uint16_t type, const uint8_t *ip,
                        uint32_t readable, struct ip_addr *dst)
{
    const struct flow_hash how = vr_flow_hash(vr_get(vr));
    const bool six = type == ETHER_TYPE_IP6;
    uint32_t nh, hash;

    if (type == ETHER_TYPE_MPLS && readable >= LABEL_HDR) {
        nh = label_word_id(label_find(label_table(vr), label_load(ip) >> 12));
        hash = label_hash(ip, readable, readable, how);
    } else if ((six || type == ETHER_TYPE_IP4) && readable >= (six ? IP6_HDR : IP4_HDR)) {
        uint32_t len = six ? IP6_HDR + (uint32_t)load16_host(ip + 4) : load16_host(ip + 2);
        dst->family = six ? IP6 : IP4;
        memcpy(dst->b, ip + (six ? 24 : 16), six ? 16 : 4);
        hash = flow_hash_ip(dst->family, ip, readable, RTE_MIN(len, readable), how);
        nh = nexthop_real(fib_find(fwd_fib(f, vr, dst->family), dst));
    } else {
        return 0;
    }
    return nexthop_word_kind(nexthop_word(nexthop_get(nh))) == NEXTHOP_GROUP
               ? nexthop_member(nexthop_get(nh), hash)
               : nh;
}

// Finds the packet's next hop, whether or not the packet will be forwarded.
static void find_nexthop(const struct forwarder *f, const struct rte_mbuf *m, struct watch_tag *tag)
{
    struct tags tags;
    const uint8_t *type = m->data_len >= ETHER_HDR ? tags_read(m, true, &tags) : NULL;
    struct ip_addr dst = {0};

    if (!type)
        return;
    uint32_t nh = look_up(f, iface_get(tag->iface)->vr, load16(type), type + 2,
                          packet_readable(m, type + 2), &dst);
    uint64_t word = nexthop_word(nexthop_get(nh));
    tag->way = nexthop_word_kind(word);
    tag->out = nexthop_word_iface(word);
    if (tag->way == NEXTHOP_ENCAP)
        nh = nexthop_get(nh)->encap.via;
    if (!ip_equal(&nexthop_address[nh], &dst))
        tag->gateway = nexthop_address[nh];
}

static void take_sample(struct forwarder *f, unsigned index, uint16_t port, struct rte_mbuf *m)
{
    struct watch_tag tag = {.port = port, .iface = iface_of_frame(port_get(port), m, true)};

    const struct watch *w = &watch_table[index];

    if (!tag.iface || (!w->flows && !(iface_get(tag.iface)->policy.sample & w->sample)))
        return;
    find_nexthop(f, m, &tag);
    f->punted |= watch_copy(index, WATCH_RX, &m, &tag, 1) && watch_table[index].wakes;
}

void watch_sample(struct forwarder *f, uint16_t port, uint32_t bits)
{
    const unsigned n = f->rx.n;

    for (; bits; bits &= bits - 1) {
        unsigned index = (unsigned)__builtin_ctz(bits), at = 0;
        struct sampling *s = &f->sampling[index];
        const struct watch *w = &watch_table[index];
        if (unlikely(s->seed != w->seed || s->every != w->every))
            sampling_start(s, w, f->index);
        for (; s->skip < n - at; s->skip = draw_skip(s)) {
            at += s->skip;
            take_sample(f, index, port, f->rx.pkt[at++]);
        }
        s->skip -= n - at;
    }
}
