// SPDX-License-Identifier: BSD-3-Clause
// tunnel_out.c - encapsulates packets that leave by a tunnel
//
//     in     finished frames of ports of tunnels, from tx_flush (crossing.c)
//     out    f->outer4, f->outer6: the next hop is the tunnel's, so ip4_tunnel or ip6_tunnel
//            does no lookup; holding, groups, output lists, queues work as for any packet
//     exits  TUNNEL_NO_ROUTE, TUNNEL_RECURSION, TUNNEL_PROTOCOL, TUNNEL_ROOM, TUNNEL_TOO_BIG
//
// The template is stored in words of 16 bytes, so its size needs no loop; bytes before the outer
// header are meaningless. Only the varying parts are added to the header checksum.
//
// Plain packets never become frames of a port of tunnels: packets of a burst whose tunnels are of
// the same kind as the first one's are handled together, in code that is compiled for each kind
// (tunnel_pass).
//
// Most sizes need no check: the inner packet fits the interface's MTU, which is the path's MTU
// minus the outer header (ip4_fwd answers the inner sender, or fragments the inner packet). IPv6
// packets up to 1280 bytes enter in any case. If the path is known to be too narrow for them,
// routers on it may fragment the outer packet, over IPv4, or it leaves in fragments, over IPv6.
//
// ECN is copied (RFC 6040 4.1, normal mode). UDP's source port and IPv6's flow label come from the
// inner flow (RFC 7348 5, RFC 8086 3.2.1, RFC 6438).
#include "base/checksum.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/flow_hash.h"
#include "forwarder/crossing.h"
#include "forwarder/tunnel.h"
#include "forwarder/tx.h"
#include "table/iface.h"
#include "table/metalink.h"
#include "table/port.h"
#include "forwarder/forbidden.h"

#define INLINE static inline __attribute__((always_inline))
#define INNER_L2 (ETHER_HDR + VLAN_HDR) // of frames on ports of tunnels
#define ROOM (int)(TUNNEL_HEADER + 2 * ETHER_HDR + 2 * VLAN_HDR)

struct inner {         // of one frame
    uint8_t *at;       // first byte after the outer header
    const uint8_t *ip; // NULL: not IP
    uint16_t type;     // EtherType
    uint8_t tos, ttl;
};

static inline void inner_read(uint8_t *frame, uint8_t kind, struct inner *p)
{
    uint8_t *ip = frame + INNER_L2;

    p->type = load16(ip - 2);
    p->at = tunnel_is_ethernet(kind) ? ip - ETHER_HDR : ip;
    if (likely(p->type == ETHER_TYPE_IP4)) {
        p->ip = ip;
        p->tos = ip[1];
        p->ttl = ip[8];
    } else if (p->type == ETHER_TYPE_IP6) {
        p->ip = ip;
        p->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
        p->ttl = ip[7];
    } else if (p->type == ETHER_TYPE_MPLS) {
        p->ip = NULL;
        p->tos = (uint8_t)((ip[2] & 0x0e) << 4); // its class, as precedence
        p->ttl = ip[3];
    } else {
        p->ip = NULL;
        p->tos = 0xc0; // CS6: neighbor discovery, routing
        p->ttl = 64;
    }
}

// `len`: bytes of the packet from p->ip on; they are in the first segment, or it has no ports.
INLINE uint32_t inner_hash(const struct inner *p, uint32_t len)
{
    const struct flow_hash how = {.mode = FLOW_HASH_L4, .label = true};

    if (p->type == ETHER_TYPE_IP4)
        return flow_hash4(p->ip, len, len, how);
    if (p->type == ETHER_TYPE_IP6)
        return flow_hash6(p->ip, len, len, how);
    return (uint32_t)(hash_mix64(load64(p->at) ^ load32(p->at + 8)) >> 32);
}

INLINE uint8_t outer_tos(const struct tunnel *t, uint8_t inner)
{
    return t->dscp_mode == TUNNEL_DSCP_FIXED ? (uint8_t)(t->dscp << 2 | (inner & 3)) : inner;
}

// Bytes of the outer header: a constant for kinds without a key.
INLINE unsigned size_of(const struct tunnel *t, uint8_t kind, uint8_t family)
{
    const unsigned l3 = family == IP4 ? IP4_HDR : IP6_HDR;

    return kind == TUNNEL_IPIP ? l3 : kind == TUNNEL_VXLAN ? l3 + 16 : t->size;
}

INLINE void finish4(uint8_t *ip, const struct tunnel *t, const struct inner *p, uint32_t len,
                    uint8_t kind)
{
    const uint8_t *header = t->header + TUNNEL_HEADER - size_of(t, kind, IP4);
    const uint32_t len_be = rte_cpu_to_be_16((uint16_t)len), tos = outer_tos(t, p->tos);
    uint32_t ttl_proto = 0; // as in memory

    if (kind == TUNNEL_IPIP)
        ttl_proto = (p->type == ETHER_TYPE_IP4 ? 4u : 41u) << 8;
    if (!t->ttl)
        ttl_proto |= p->ttl;
    store32(ip, 0x45 | tos << 8 | len_be << 16);
    const uint32_t sum = checksum_finish(t->sum + len_be + (tos << 8) + ttl_proto);
    store32(ip + 8, load16(header + 8) | ttl_proto | sum << 16);
}

INLINE void finish6(uint8_t *ip, const struct tunnel *t, const struct inner *p, uint32_t len,
                    uint8_t kind, uint32_t hash)
{
    const uint8_t tos = outer_tos(t, p->tos);

    store32(ip, rte_cpu_to_be_32(0x60000000u | (uint32_t)tos << 20 | hash >> 12));
    store16(ip + 4, rte_cpu_to_be_16((uint16_t)(len - IP6_HDR)));
    if (kind == TUNNEL_IPIP)
        ip[6] = p->type == ETHER_TYPE_IP4 ? 4 : 41;
    if (!t->ttl)
        ip[7] = p->ttl;
}

// Checksum of everything after the IPv6 header: `len` bytes from UDP on.
static __rte_noinline void udp6_checksum(struct rte_mbuf *m, uint8_t *ip, uint32_t len)
{
    uint32_t sum = checksum_pseudo6(ip + 8, ip + 24, len, PROTO_UDP);
    uint32_t at = packet_l2_len(m, ip) + IP6_HDR;

    for (struct rte_mbuf *s = m; s; s = s->next, at = 0) // all sizes but the last are even
        sum = checksum_add(sum, rte_pktmbuf_mtod(s, uint8_t *) + at, s->data_len - at);
    uint16_t value = checksum_finish(sum);
    store16(ip + IP6_HDR + 6, value ? value : 0xffff);
}

INLINE void finish_shim(uint8_t *at, const struct inner *p, uint32_t len, uint8_t kind,
                        uint32_t hash)
{
    if (tunnel_is_udp(kind)) { // 49152..65535
        store16(at, rte_cpu_to_be_16((uint16_t)(0xc000 | hash >> 18)));
        store16(at + 4, rte_cpu_to_be_16((uint16_t)len));
        at += 8;
    }
    if (kind == TUNNEL_GRE || kind == TUNNEL_GRE_UDP)
        store16(at + 2, p->type);
}

// Bytes of the template that are stored: a constant for a constant kind.
INLINE unsigned template_room(uint8_t kind, uint8_t family)
{
    const unsigned n = (family == IP4 ? IP4_HDR : IP6_HDR) + (tunnel_is_udp(kind) ? 8 : 0) +
                       (kind == TUNNEL_IPIP ? 0 : 8);

    return (n + 15) / 16 * 16;
}

// Writes the outer header in front of p->at. m has the lengths of the outer frame. `len`,
// `inner_len`: bytes from the outer and from the inner IP header on. kind and family are t's.
INLINE void encapsulate(struct rte_mbuf *m, const struct tunnel *t, const struct inner *p,
                        uint32_t len, uint32_t inner_len, uint8_t kind, uint8_t family)
{
    uint8_t *ip = p->at - size_of(t, kind, family);
    const unsigned room = template_room(kind, family), l3 = family == IP4 ? IP4_HDR : IP6_HDR;
    const uint32_t hash = tunnel_is_udp(kind) || family == IP6 ? inner_hash(p, inner_len) : 0;

    memcpy(p->at - room, t->header + TUNNEL_HEADER - room, room);
    finish_shim(ip + l3, p, len - l3, kind, hash);
    if (family == IP4)
        finish4(ip, t, p, len, kind);
    else
        finish6(ip, t, p, len, kind, hash);
    if (family == IP6 && tunnel_is_udp(kind) && unlikely(!t->zero_checksum))
        udp6_checksum(m, ip, len - IP6_HDR);
    metalink_hops_set(m, metalink_hops(m) + 1);
}

// Adds packet m, with its outer header, to its burst.
INLINE void outer_add(struct forwarder *f, struct rte_mbuf *m, const struct tunnel *t, uint8_t *ip,
                      uint32_t nexthop, uint8_t family)
{
    struct burst *b = family == IP4 ? &f->outer4 : &f->outer6;
    unsigned i = b->n++;

    b->pkt[i] = m;
    b->ip[i] = ip;
    b->nh[i] = nexthop;
    b->iface[i] = t->iface;
    b->vr[i] = t->id.vr;
    b->len[i] = (uint16_t)(m->pkt_len - ETHER_HDR);
    b->size[i] = (uint16_t)m->pkt_len;
    if (family == IP4) {
        b->hop[i] = load32(ip + 8);
        b->dst4[i] = load32(ip + 16);
    } else {
        b->hop[i] = load32(ip + 4);
        memcpy(b->dst6[i], ip + 24, 16);
    }
}

// --- outer packets that are too large for their path ---

#define PIECES_MAX 4u

// Without DF the identification matters (RFC 6864 4.1); forwarders may use equal ones, as in any
// host.
static void outer_allow_fragments(struct forwarder *f, uint8_t *ip)
{
    store16(ip + 4, rte_cpu_to_be_16((uint16_t)f->outer_id++));
    store16(ip + 6, 0);
    store16(ip + 10, 0);
    store16(ip + 10, checksum(ip, IP4_HDR));
}

static void outer_add_pieces(struct forwarder *f, struct rte_mbuf *m, const struct tunnel *t,
                             uint8_t *ip, uint32_t nexthop)
{
    struct rte_mbuf *piece[PIECES_MAX];
    uint32_t id = (uint32_t)f->index << 24 | (f->outer_id++ & 0xffffff);
    int n = fragment6_cut(m, ip, t->path_mtu, id, piece, PIECES_MAX);

    if (n <= 0) {
        tx_drop(f, m, t->iface, n ? DROP_TX_NO_BUFFER : DROP_TUNNEL_TOO_BIG);
        return;
    }
    count_copies(f, t->iface, (unsigned)n - 1);
    for (int k = 0; k < n; k++)
        outer_add(f, piece[k], t, rte_pktmbuf_mtod_offset(piece[k], uint8_t *, ETHER_HDR), nexthop,
                  IP6);
    packet_end(f, m, 0);
}

static __rte_noinline void outer_add_large(struct forwarder *f, struct rte_mbuf *m,
                                           const struct tunnel *t, uint8_t *ip, uint32_t nexthop)
{
    if (t->id.family == IP6) {
        outer_add_pieces(f, m, t, ip, nexthop);
        return;
    }
    outer_allow_fragments(f, ip);
    outer_add(f, m, t, ip, nexthop, IP4);
}

// --- tunnel encapsulation limit (RFC 2473 4.1.1) ---

#define LIMIT_HDR 8u // ROOM, counted from the frame on the port of tunnels, includes this much

// The limit of the inner packet, 0: none. Packets with a limit of 0 do not come here, except from
// the kernel.
static uint8_t outer_limit(const struct tunnel *t, const struct inner *p, uint32_t inner_len)
{
    if (t->id.family != IP6 || p->type != ETHER_TYPE_IP6 || !tunnel_limit_may_be(p->ip[6]))
        return 0;
    const uint32_t at = tunnel_limit_at(p->ip, inner_len);
    return at ? p->ip[at] : 0;
}

// Inserts destination options after the outer header, which then begins earlier.
static uint8_t *put_limit(struct rte_mbuf *m, uint8_t *ip, uint8_t limit)
{
    uint8_t *to = memmove(ip - LIMIT_HDR, ip, IP6_HDR);
    const uint8_t options[LIMIT_HDR] = {to[6], 0, 4, 1, limit, 1, 1, 0};

    memcpy(to + IP6_HDR, options, LIMIT_HDR);
    to[6] = PROTO_DSTOPTS;
    store16(to + 4, rte_cpu_to_be_16((uint16_t)(load16_host(to + 4) + LIMIT_HDR)));
    m->data_off = (uint16_t)(m->data_off - LIMIT_HDR);
    m->data_len = (uint16_t)(m->data_len + LIMIT_HDR);
    m->pkt_len += LIMIT_HDR;
    return to;
}

// Removes the tag of a frame whose type stays where it is.
static inline void remove_tag(uint8_t *frame)
{
    const uint64_t dst = load64(frame);
    const uint32_t src = load32(frame + 8);

    store64(frame + VLAN_HDR, dst);
    store32(frame + VLAN_HDR + 8, src);
}

// Encapsulates a frame of a port of tunnels. The outer frame begins where its Ethernet header will
// be, so that ether_out need not move it.
static void encapsulate_frame(struct forwarder *f, struct rte_mbuf *m, const struct tunnel *t,
                              const struct inner *p, uint32_t nexthop)
{
    uint8_t *ip = p->at - t->size;
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
    const int32_t more = (int32_t)(frame - ip) + (int32_t)ETHER_HDR;
    const uint32_t inner_len = m->data_len - INNER_L2;
    const uint8_t limit = outer_limit(t, p, inner_len);

    if (tunnel_is_ethernet(t->id.kind))
        remove_tag(frame);
    m->data_off = (uint16_t)(m->data_off - more);
    m->data_len = (uint16_t)(m->data_len + more);
    m->pkt_len += (uint32_t)more;
    encapsulate(m, t, p, m->pkt_len - ETHER_HDR, inner_len, t->id.kind, t->id.family);
    if (limit)
        ip = put_limit(m, ip, limit - 1);
    if (unlikely(m->pkt_len - ETHER_HDR > __atomic_load_n(&t->path_mtu, __ATOMIC_RELAXED)))
        outer_add_large(f, m, t, ip, nexthop);
    else
        outer_add(f, m, t, ip, nexthop, t->id.family);
}

// Reason why no outer header can be written in front of `at`.
static inline enum drop_reason refusal_of_buffer(const struct rte_mbuf *m, const uint8_t *at)
{
    if (unlikely(metalink_hops(m) >= METALINK_HOPS_MAX))
        return DROP_TUNNEL_RECURSION;
    if (unlikely(at - (const uint8_t *)m->buf_addr < ROOM || rte_mbuf_refcnt_read(m) > 1 ||
                 !RTE_MBUF_DIRECT(m)))
        return DROP_TUNNEL_ROOM;
    return DROP_NONE;
}

// Reason why the frame cannot go into the tunnel.
static inline enum drop_reason refusal(const struct rte_mbuf *m, const struct tunnel *t,
                                       uint32_t nexthop, const struct inner *p)
{
    if (unlikely(__atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) == TUNNEL_NONE))
        return DROP_IFACE_DOWN;
    if (unlikely(!nexthop))
        return __atomic_load_n(&t->state, __ATOMIC_RELAXED) == TUNNEL_RECURSION
                   ? DROP_TUNNEL_RECURSION
                   : DROP_TUNNEL_NO_ROUTE;
    if (unlikely(!p->ip && !tunnel_is_ethernet(t->kind)) &&
        (p->type != ETHER_TYPE_MPLS || t->kind == TUNNEL_IPIP))
        return DROP_TUNNEL_PROTOCOL;
    return refusal_of_buffer(m, rte_pktmbuf_mtod(m, const uint8_t *));
}

// `flags`: of any interface, because all have the same IFACE_ACL_OUT.
static void outer_reset(struct forwarder *f, uint16_t flags, bool chained)
{
    burst_reset(&f->outer4);
    burst_reset(&f->outer6);
    f->outer4.l2 = f->outer6.l2 = ETHER_HDR;
    f->outer4.features = f->outer6.features = flags & IFACE_ACL_OUT;
    f->outer4.chained = f->outer6.chained = chained;
}

static inline void take_one(struct forwarder *f, struct rte_mbuf *m)
{
    const struct tunnel *t = tunnel_get(tunnel_of_iface(iface_get(m->vlan_tci)));
    // Partner: tunnel_set_path.
    const uint32_t nexthop = __atomic_load_n(&t->nexthop, __ATOMIC_ACQUIRE);
    struct inner p;

    inner_read(rte_pktmbuf_mtod(m, uint8_t *), t->id.kind, &p);
    const enum drop_reason why = refusal(m, t, nexthop, &p);
    if (unlikely(why))
        tx_drop(f, m, m->vlan_tci, why);
    else
        encapsulate_frame(f, m, t, &p, nexthop);
}

bool tunnel_take_out(struct forwarder *f, unsigned max)
{
    const struct frame_queue *q = &f->tunnel_out;

    if (!q->n)
        return false;
    outer_reset(f, iface_get(q->pkt[q->head]->vlan_tci)->flags, true);
    for (unsigned n = RTE_MIN(q->n, max); n; n--) {
        if (f->outer6.n + PIECES_MAX > BURST_MAX) // the others in the next round
            break;
        take_one(f, frame_queue_next(f, &f->tunnel_out));
    }
    return true;
}

// --- the fast path ---

INLINE uint32_t outer_len(uint32_t len, const struct tunnel *t, uint8_t kind, uint8_t family)
{
    return len + size_of(t, kind, family) + (tunnel_is_ethernet(kind) ? ETHER_HDR : 0);
}

// The tunnel of packet i of b. Returns NULL if it has none of that kind and family, or takes the
// slow path.
INLINE const struct tunnel *tunnel_of(const struct burst *b, unsigned i, uint8_t kind,
                                      uint8_t family, uint8_t inner)
{
    const struct iface *iface = iface_get(b->out_iface[i]);
    const struct tunnel *t = tunnel_get(tunnel_of_iface(iface)); // of a tunnel's interface alone

    if (unlikely(!tunnel_is_port(iface->port) ||
                 __atomic_load_n(&t->kind, __ATOMIC_ACQUIRE) != kind || t->id.family != family ||
                 refusal_of_buffer(b->pkt[i], b->ip[i]) ||
                 (family == IP6 && inner == IP6 && tunnel_limit_may_be(b->ip[i][6])) ||
                 outer_len(b->len[i], t, kind, family) >
                     __atomic_load_n(&t->path_mtu, __ATOMIC_RELAXED)))
        return NULL;
    return t;
}

// Writes its Ethernet header as in a frame, without the tag.
INLINE void write_inner_ether(uint8_t *ip, const uint8_t *header, uint16_t type)
{
    store64(ip - ETHER_HDR, load64(header));
    store32(ip - ETHER_HDR + 8, load32(header + 8));
    store16(ip - 2, type);
}

// `inner`: the family of b.
INLINE void pass_one(struct forwarder *f, const struct burst *b, unsigned i,
                     const struct tunnel *t, uint32_t nexthop, uint8_t kind, uint8_t outer,
                     uint8_t inner)
{
    const bool four = inner == IP4;
    const uint32_t hop = b->hop_out[i];
    struct rte_mbuf *m = b->pkt[i];
    uint8_t *ip = b->ip[i];
    struct inner p = {.at = ip, .ip = ip, .type = four ? ETHER_TYPE_IP4 : ETHER_TYPE_IP6};

    p.tos = four ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    p.ttl = (uint8_t)(four ? hop : hop >> 24);
    store32(ip + (four ? 8 : 4), hop);
    if (tunnel_is_ethernet(kind)) {
        write_inner_ether(ip, b->header[i] - INNER_L2, p.type);
        p.at = ip - ETHER_HDR;
    }
    uint8_t *out = p.at - size_of(t, kind, outer);
    const uint32_t len = (uint32_t)(ip - out) + b->len[i];
    m->data_off = (uint16_t)(out - ETHER_HDR - (uint8_t *)m->buf_addr);
    packet_set_length(m, len + ETHER_HDR);
    encapsulate(m, t, &p, len, b->len[i], kind, outer);
    counter_pair_add(&f->counter->iface[b->out_iface[i]].tx_packets, b->size[i]);
    f->used_mark[b->nh[i]] = f->used_epoch;
    outer_add(f, m, t, out, nexthop, outer);
}

// Returns the mask of packets that have passed.
INLINE uint64_t pass_all(struct forwarder *f, const struct burst *b, uint8_t kind, uint8_t outer,
                         uint8_t inner)
{
    uint64_t passed = 0;

    for (unsigned i = 0; i < b->n; i++) {
        const struct tunnel *t = tunnel_of(b, i, kind, outer, inner);
        // Partner: tunnel_set_path.
        const uint32_t nexthop = t ? __atomic_load_n(&t->nexthop, __ATOMIC_ACQUIRE) : 0;
        if (unlikely(!nexthop))
            continue;
        pass_one(f, b, i, t, nexthop, kind, outer, inner);
        passed |= 1ull << i;
    }
    return passed;
}

INLINE uint64_t pass_kind(struct forwarder *f, const struct burst *b, uint8_t kind, uint8_t outer)
{
    if (b->family == IP4)
        return outer == IP4 ? pass_all(f, b, kind, IP4, IP4) : pass_all(f, b, kind, IP6, IP4);
    return outer == IP4 ? pass_all(f, b, kind, IP4, IP6) : pass_all(f, b, kind, IP6, IP6);
}

// The first tunnel that a packet of b leaves by, or NULL.
static const struct tunnel *first_tunnel(const struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        if (tunnel_is_port(b->out_port[i]))
            return tunnel_get(tunnel_of_iface(iface_get(b->out_iface[i])));
    return NULL;
}

// Are there watches on the ports of tunnels?
static bool is_watched(const struct forwarder *f)
{
    bool watched = f->record.on;

    for (unsigned p = PORT_TUNNEL; p < PORT_TUNNEL + TUNNEL_PORTS; p++)
        watched |= port_get((uint16_t)p)->watch_tx != 0;
    return watched;
}

void tunnel_pass(struct forwarder *f, struct burst *b)
{
    const struct tunnel *t = first_tunnel(b);
    uint64_t passed = 0;

    if (!t || b->chained || is_watched(f))
        return;
    outer_reset(f, b->features, false);
    switch (__atomic_load_n(&t->kind, __ATOMIC_ACQUIRE)) {
    case TUNNEL_IPIP: passed = pass_kind(f, b, TUNNEL_IPIP, t->id.family); break;
    case TUNNEL_GRE: passed = pass_kind(f, b, TUNNEL_GRE, t->id.family); break;
    case TUNNEL_GRE_UDP: passed = pass_kind(f, b, TUNNEL_GRE_UDP, t->id.family); break;
    case TUNNEL_VXLAN: passed = pass_kind(f, b, TUNNEL_VXLAN, t->id.family); break;
    }
    if (passed)
        burst_remove(b, passed);
}
