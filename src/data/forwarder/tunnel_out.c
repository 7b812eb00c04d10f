// SPDX-License-Identifier: BSD-3-Clause
// tunnel_out.c - what leaves by a tunnel gets its outer header
//
//     in     finished frames of ports of tunnels, from tx_flush; their tag says which tunnel
//     out    f->outer4, f->outer6: the next hop is the tunnel's, so ip4_tunnel or ip6_tunnel
//            looks nothing up; holding, groups, output lists, queues are as for any packet
//     exits  TUNNEL_NO_ROUTE, TUNNEL_RECURSION, TUNNEL_PROTOCOL, TUNNEL_ROOM, TUNNEL_FULL
//
// All 64 bytes of the template are stored in front of the inner packet, so the header's size needs
// no loop; bytes before the outer header mean nothing. Of the header checksum only what differs
// between packets is added.
//
// Sizes need no check: the inner packet fits the interface's MTU, which is that of the path less
// the outer header (ip4_fwd answers the inner sender, or fragments the inner packet).
//
// ECN is copied (RFC 6040 4.1, normal mode). UDP's source port and IPv6's flow label come from the
// inner flow (RFC 7348 5, RFC 8086 3.2.1, RFC 6438).
#include "base/checksum.h"
#include "forwarder/drop.h"
#include "forwarder/flow_hash.h"
#include "forwarder/frame_queue.h"
#include "forwarder/tunnel.h"
#include "forwarder/tx.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

#define INNER_L2 (ETHER_HDR + VLAN_HDR) // of frames of ports of tunnels
#define ROOM (int)(TUNNEL_HEADER + 2 * ETHER_HDR + 2 * VLAN_HDR)

// The frame waits, with the tunnel's number beside it.
void tunnel_put(struct forwarder *f, uint16_t port, struct rte_mbuf **pkt, unsigned n)
{
    unsigned taken = frame_queue_put(f, &f->tunnel_out, pkt, n);

    for (unsigned i = 0; i < taken; i++) {
        const uint8_t *frame = rte_pktmbuf_mtod(pkt[i], const uint8_t *);
        pkt[i]->vlan_tci = tunnel_number(port, load16_host(frame + 14) & 0xfff);
    }
    if (unlikely(taken < n))
        tx_drop(f, port, pkt + taken, n - taken, DROP_TUNNEL_FULL);
}

struct inner {         // of one frame
    uint8_t *at;       // what follows the outer header
    const uint8_t *ip; // NULL: it is no IP packet
    uint16_t type;     // EtherType
    uint8_t tos, ttl;
};

// Takes the tag off.
static inline void inner_read(uint8_t *frame, const struct tunnel *t, struct inner *p)
{
    uint8_t *ip = frame + INNER_L2;

    p->type = load16(frame + 16);
    p->at = ip;
    if (tunnel_is_ethernet(t->kind)) {
        uint64_t dst = load64(frame);
        uint32_t src = load32(frame + 8);
        p->at = frame + VLAN_HDR;
        store64(p->at, dst);
        store32(p->at + 8, src);
    }
    if (likely(p->type == ETHER_TYPE_IP4)) {
        p->ip = ip;
        p->tos = ip[1];
        p->ttl = ip[8];
    } else if (p->type == ETHER_TYPE_IP6) {
        p->ip = ip;
        p->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
        p->ttl = ip[7];
    } else {
        p->ip = NULL;
        p->tos = 0xc0; // CS6: neighbor discovery, routing
        p->ttl = 64;
    }
}

static inline uint32_t inner_hash(const struct inner *p, const struct rte_mbuf *m)
{
    uint32_t readable = m->data_len;

    if (p->type == ETHER_TYPE_IP4)
        return flow_hash4(p->ip, readable, readable, flow_hash_default);
    if (p->type == ETHER_TYPE_IP6)
        return flow_hash6(p->ip, readable, readable, flow_hash_default);
    return (uint32_t)(hash_mix64(load64(p->at) ^ load32(p->at + 8)) >> 32);
}

static inline uint8_t outer_tos(const struct tunnel *t, uint8_t inner)
{
    return t->dscp_mode == TUNNEL_DSCP_FIXED ? (uint8_t)(t->dscp << 2 | (inner & 3)) : inner;
}

static inline void finish4(uint8_t *ip, const struct tunnel *t, const struct inner *p, uint32_t len)
{
    const uint16_t len_be = rte_cpu_to_be_16((uint16_t)len);
    const uint8_t tos = outer_tos(t, p->tos);
    uint16_t ttl_proto = 0; // as in memory

    if (t->kind == TUNNEL_IPIP)
        ttl_proto = (uint16_t)((p->type == ETHER_TYPE_IP4 ? 4 : 41) << 8);
    if (!t->ttl)
        ttl_proto |= p->ttl;
    ip[1] = tos;
    store16(ip + 2, len_be);
    store16(ip + 8, load16(t->header + TUNNEL_HEADER - t->size + 8) | ttl_proto);
    store16(ip + 10, checksum_finish(t->sum + len_be + ((uint32_t)tos << 8) + ttl_proto));
}

static inline void finish6(uint8_t *ip, const struct tunnel *t, const struct inner *p, uint32_t len,
                           uint32_t hash)
{
    const uint8_t tos = outer_tos(t, p->tos);

    store32(ip, rte_cpu_to_be_32(0x60000000u | (uint32_t)tos << 20 | hash >> 12));
    store16(ip + 4, rte_cpu_to_be_16((uint16_t)(len - IP6_HDR)));
    if (t->kind == TUNNEL_IPIP)
        ip[6] = p->type == ETHER_TYPE_IP4 ? 4 : 41;
    if (!t->ttl)
        ip[7] = p->ttl;
}

// Of everything behind the IPv6 header: `udp` and `len` bytes, the mbuf's from there on.
static __rte_noinline void udp6_checksum(struct rte_mbuf *m, uint8_t *ip, uint32_t len)
{
    uint32_t sum = checksum_pseudo6(ip + 8, ip + 24, len, PROTO_UDP), at = ETHER_HDR + IP6_HDR;

    for (struct rte_mbuf *s = m; s; s = s->next, at = 0) // segments have even sizes but the last
        sum = checksum_add(sum, rte_pktmbuf_mtod(s, uint8_t *) + at, s->data_len - at);
    uint16_t value = checksum_finish(sum);
    store16(ip + IP6_HDR + 6, value ? value : 0xffff);
}

static inline void finish_shim(uint8_t *ip, const struct tunnel *t, const struct inner *p,
                               uint32_t len, uint32_t hash)
{
    uint8_t *at = ip + (t->family == IP4 ? IP4_HDR : IP6_HDR);

    if (tunnel_is_udp(t->kind)) { // 49152..65535
        store16(at, rte_cpu_to_be_16((uint16_t)(0xc000 | hash >> 18)));
        store16(at + 4, rte_cpu_to_be_16((uint16_t)(len - (uint32_t)(at - ip))));
        at += 8;
    }
    if (t->kind == TUNNEL_GRE || t->kind == TUNNEL_GRE_UDP)
        store16(at + 2, p->type);
}

// Packet m, with its outer header, joins its burst.
static inline void outer_add(struct forwarder *f, struct rte_mbuf *m, const struct tunnel *t,
                             uint8_t *ip, uint32_t nexthop)
{
    struct burst *b = t->family == IP4 ? &f->outer4 : &f->outer6;
    unsigned i = b->n++;

    b->pkt[i] = m;
    b->ip[i] = ip;
    b->nh[i] = nexthop;
    b->iface[i] = t->iface;
    b->vr[i] = t->vr;
    b->len[i] = (uint16_t)(m->pkt_len - ETHER_HDR);
    b->size[i] = (uint16_t)m->pkt_len;
    b->chained |= m->nb_segs > 1;
    b->features |= iface_get(t->iface)->flags & IFACE_FEATURES;
    b->hop[i] = load32(ip + burst_hop_at(b));
    if (t->family == IP4)
        b->dst4[i] = load32(ip + 16);
    else
        memcpy(b->dst6[i], ip + 24, 16);
}

// What follows the outer header begins at p->at; the outer frame begins where its Ethernet header
// will be, so that ether_out need not move it.
static inline void encapsulate(struct forwarder *f, struct rte_mbuf *m, const struct tunnel *t,
                               const struct inner *p, uint32_t nexthop)
{
    uint8_t *ip = p->at - t->size;
    const uint32_t hash = tunnel_is_udp(t->kind) || t->family == IP6 ? inner_hash(p, m) : 0;
    const int32_t more = (int32_t)(rte_pktmbuf_mtod(m, uint8_t *) - ip) + (int32_t)ETHER_HDR;

    memcpy(p->at - TUNNEL_HEADER, t->header, TUNNEL_HEADER);
    m->data_off = (uint16_t)(m->data_off - more);
    m->data_len = (uint16_t)(m->data_len + more);
    m->pkt_len += (uint32_t)more;
    const uint32_t len = m->pkt_len - ETHER_HDR;
    finish_shim(ip, t, p, len, hash);
    if (t->family == IP4)
        finish4(ip, t, p, len);
    else
        finish6(ip, t, p, len, hash);
    if (unlikely(!t->zero_checksum && tunnel_is_udp(t->kind)))
        udp6_checksum(m, ip, len - IP6_HDR);
    metalink_hops_set(m, metalink_hops(m) + 1);
    outer_add(f, m, t, ip, nexthop);
}

// No outer header can be written in front of `at`.
static inline enum drop_reason refusal_of_buffer(const struct rte_mbuf *m, const uint8_t *at)
{
    if (unlikely(metalink_hops(m) >= METALINK_HOPS_MAX))
        return DROP_TUNNEL_RECURSION;
    if (unlikely(at - (const uint8_t *)m->buf_addr < ROOM || rte_mbuf_refcnt_read(m) > 1 ||
                 !RTE_MBUF_DIRECT(m)))
        return DROP_TUNNEL_ROOM;
    return DROP_NONE;
}

// Why the frame cannot go into the tunnel.
static inline enum drop_reason refusal(const struct rte_mbuf *m, const struct tunnel *t,
                                       uint32_t nexthop, const struct inner *p)
{
    if (unlikely(!nexthop))
        return __atomic_load_n(&t->state, __ATOMIC_RELAXED) == TUNNEL_RECURSION
                   ? DROP_TUNNEL_RECURSION
                   : DROP_TUNNEL_NO_ROUTE;
    if (unlikely(!p->ip && !tunnel_is_ethernet(t->kind)))
        return DROP_TUNNEL_PROTOCOL;
    return refusal_of_buffer(m, rte_pktmbuf_mtod(m, const uint8_t *));
}

static void outer_reset(struct forwarder *f)
{
    burst_reset(&f->outer4);
    burst_reset(&f->outer6);
    f->outer4.l2 = f->outer6.l2 = ETHER_HDR;
}

static inline void take_one(struct forwarder *f, struct rte_mbuf *m)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    const struct tunnel *t = tunnel_get(m->vlan_tci);
    struct inner p;

    if (unlikely(__atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) == TUNNEL_NONE)) {
        tx_drop(f, tunnel_port(m->vlan_tci), &m, 1, DROP_IFACE_DOWN);
        return;
    }
    // Partner: tunnel_set_path.
    uint32_t nexthop = __atomic_load_n(&t->nexthop, __ATOMIC_ACQUIRE);
    p.type = load16(frame + 16);
    p.ip = p.type == ETHER_TYPE_IP4 || p.type == ETHER_TYPE_IP6 ? frame : NULL;
    enum drop_reason why = refusal(m, t, nexthop, &p);
    if (unlikely(why)) {
        tx_drop(f, tunnel_port(m->vlan_tci), &m, 1, why);
        return;
    }
    inner_read(frame, t, &p);
    encapsulate(f, m, t, &p, nexthop);
}

bool tunnel_take_out(struct forwarder *f, unsigned max)
{
    unsigned n = RTE_MIN(f->tunnel_out.n, max);

    if (!n)
        return false;
    outer_reset(f);
    for (unsigned i = 0; i < n; i++)
        take_one(f, frame_queue_next(f, &f->tunnel_out));
    return true;
}

// --- the usual case ---

static bool is_one_hop(const struct burst *b)
{
    return b->n == 1 || !memcmp(b->nh, b->nh + 1, (b->n - 1) * sizeof *b->nh);
}

// The tunnel, if it is as simple as that.
static const struct tunnel *simple_tunnel(const struct forwarder *f, const struct burst *b)
{
    const struct port *port = port_get(b->out_port[0]);
    const struct tunnel *t = tunnel_get(tunnel_of_iface(iface_get(b->out_iface[0])));

    return is_one_hop(b) && !port->watch_tx && !b->chained && !f->record.on &&
                   __atomic_load_n(&t->kind, __ATOMIC_ACQUIRE)
               ? t
               : NULL;
}

// Its Ethernet header as it would be in a frame, without the tag.
static inline void write_inner_ether(uint8_t *ip, const uint8_t *header, uint16_t type)
{
    store64(ip - ETHER_HDR, load64(header));
    store32(ip - ETHER_HDR + 8, load32(header + 8));
    store16(ip - 2, type);
}

static inline void pass_one(struct forwarder *f, struct burst *b, unsigned i,
                            const struct tunnel *t, uint32_t nexthop)
{
    const bool four = b->family == IP4;
    struct rte_mbuf *m = b->pkt[i];
    uint8_t *ip = b->ip[i];
    struct inner p = {.at = ip, .ip = ip, .type = four ? ETHER_TYPE_IP4 : ETHER_TYPE_IP6};

    store32(ip + burst_hop_at(b), b->hop_out[i]);
    p.tos = four ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    p.ttl = four ? ip[8] : ip[7];
    if (tunnel_is_ethernet(t->kind)) {
        write_inner_ether(ip, b->header[i] - nexthop_word_head(b->word[i]), p.type);
        p.at = ip - ETHER_HDR;
    }
    m->data_len = (uint16_t)(packet_l2_len(m, ip) + b->len[i]); // without padding
    m->pkt_len = m->data_len;
    encapsulate(f, m, t, &p, nexthop);
}

bool tunnel_pass(struct forwarder *f, struct burst *b)
{
    const struct tunnel *t = simple_tunnel(f, b);
    uint32_t nexthop = t ? __atomic_load_n(&t->nexthop, __ATOMIC_ACQUIRE) : 0;
    struct counter_iface *c = &f->counter->iface[b->out_iface[0]];
    uint64_t bytes = 0;

    if (!nexthop)
        return false;
    for (unsigned i = 0; i < b->n; i++)
        if (refusal_of_buffer(b->pkt[i], b->ip[i]))
            return false;
    outer_reset(f);
    for (unsigned i = 0; i < b->n; i++) {
        bytes += b->size[i];
        pass_one(f, b, i, t, nexthop);
    }
    c->tx_packets += b->n;
    c->tx_bytes += bytes;
    f->used_mark[b->nh[0]] = f->used_epoch;
    b->n = 0;
    return true;
}
