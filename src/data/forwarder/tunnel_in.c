// SPDX-License-Identifier: BSD-3-Clause
// tunnel_in.c - decapsulates packets of tunnels that are addressed to us
//
//   in     packets of fwd.c whose next hop is ourselves
//   out    f->rx, received by the tunnel's interface: path.c passes it through all stages from
//          ether_in on, in this poll; martians, lists, uRPF as for any packet
//   exits  TUNNEL_SOURCE, TUNNEL_HEADER, TUNNEL_FRAGMENT, TUNNEL_CHECKSUM, TUNNEL_ECN,
//          TUNNEL_PROTOCOL, TUNNEL_FULL
//
// A packet belongs to the tunnel with its addresses, outer virtual router and key. If there is
// none, but some tunnel of its kind ends at its destination, it is dropped; otherwise it goes to
// the kernel.
//
// The inner ECN field is set by RFC 6040 figure 4. Outer fragments are not reassembled.
//
// The first packet of a tunnel is parsed step by step, and serves as a pattern for others
// (tunnel_alike.h). Frames wait without the tunnel's tag. If all frames are of one tunnel, they are
// received by a port with that tunnel as its only interface; if several tunnels are mixed, the tag
// is beside the frame, as with ports that strip tags; it is put into the frame if there is a watch.
#include "base/checksum.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/crossing.h"
#include "forwarder/label.h"
#include "forwarder/remark.h"
#include "forwarder/tags.h"
#include "forwarder/tunnel.h"
#include "table/metalink.h"
#include "forwarder/forbidden.h"

#define RX_FLAGS (RX_TAGS | RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)

enum { GRE_C = 0x80, GRE_K = 0x20, GRE_S = 0x10, VXLAN_I = 0x08 };

struct outer {              // of one packet
    const uint8_t *ip, *at; // at: first unparsed byte
    uint32_t whole;         // bytes of the packet from there on
    uint32_t left;          // readable bytes from there on
    uint8_t proto, tos;
    uint16_t type; // EtherType of the inner packet; 0: an Ethernet frame
    bool fragment, later; // a fragment; not the first one
    bool keyed;
    const uint8_t *udp; // with a checksum, or NULL
    const uint8_t *gre; // with a checksum, or NULL
    const uint8_t *shim; // header after IP and UDP, or NULL
    struct tunnel_key id;
};

static void outer_pass(struct outer *o, uint32_t n)
{
    o->at += n;
    o->left -= n;
    o->whole -= n;
}

// Sets the packet's end to `n` bytes after o->at.
static void outer_end(struct outer *o, uint32_t n)
{
    o->whole = n;
    o->left = RTE_MIN(o->left, n);
}

static void read4(struct outer *o, const uint8_t *ip)
{
    uint32_t hlen = (ip[0] & 15) * 4u;

    o->proto = ip[9];
    o->tos = ip[1];
    o->fragment = load16(ip + 6) & RTE_BE16(0x3fff);
    o->later = load16(ip + 6) & RTE_BE16(0x1fff);
    outer_end(o, load16_host(ip + 2));
    memcpy(o->id.remote, ip + 12, 4);
    memcpy(o->id.local, ip + 16, 4);
    outer_pass(o, hlen);
}

// Would a node that does not know the options skip them (RFC 8200 4.2)? The tunnel encapsulation
// limit, which Linux sends, is skippable.
static bool options_are_skipped(const uint8_t *header, uint32_t size)
{
    for (uint32_t at = 2; at < size; at += header[at] ? 2u + header[at + 1] : 1u)
        if (header[at] & 0xc0 || (header[at] && (at + 2 > size || at + 2u + header[at + 1] > size)))
            return false;
    return true;
}

// Skips hop-by-hop and destination options. The kernel handles other options.
static void pass_options(struct outer *o)
{
    for (bool first = true; (o->proto == PROTO_HOPOPTS && first) || o->proto == PROTO_DSTOPTS;
         first = false) {
        const uint32_t size = o->left >= 8 ? 8u * (o->at[1] + 1u) : UINT32_MAX;
        if (size > o->left || !options_are_skipped(o->at, size))
            return;
        o->proto = o->at[0];
        outer_pass(o, size);
    }
}

static void read6(struct outer *o, const uint8_t *ip)
{
    o->proto = ip[6];
    o->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    outer_end(o, load16_host(ip + 4) + IP6_HDR);
    memcpy(o->id.remote, ip + 8, 16);
    memcpy(o->id.local, ip + 24, 16);
    outer_pass(o, IP6_HDR);
    pass_options(o);
    if (o->proto == PROTO_FRAGMENT && o->left >= 8) {
        const uint8_t *header = o->at;
        o->fragment = load16(header + 2) & RTE_BE16(0xfff9); // else it is a whole packet (RFC 6946)
        o->later = load16(header + 2) & RTE_BE16(0xfff8);
        o->proto = header[0];
        outer_pass(o, 8);
    }
}

// Kind of tunnel, if any. With UDP, only the first fragment tells it.
static uint8_t kind_of(const struct outer *o)
{
    if (o->proto == PROTO_IP4 || o->proto == PROTO_IP6)
        return TUNNEL_IPIP;
    if (o->proto == PROTO_GRE)
        return TUNNEL_GRE;
    if (o->proto != PROTO_UDP || o->left < 8 || o->later)
        return TUNNEL_NONE;
    uint16_t port = load16_host(o->at + 2);
    return port == TUNNEL_PORT_VXLAN ? TUNNEL_VXLAN
           : port == TUNNEL_PORT_GRE ? TUNNEL_GRE_UDP
                                     : TUNNEL_NONE;
}

// Accepts version 0, and only the flags of RFC 2784 and 2890.
static bool read_gre(struct outer *o)
{
    const uint8_t *gre = o->at;
    uint8_t flags = o->left >= 4 ? gre[0] : 0xff;
    uint32_t n = 4 + (flags & GRE_C ? 4 : 0) + (flags & GRE_K ? 4 : 0) + (flags & GRE_S ? 4 : 0);

    o->shim = gre;
    if (flags & ~(GRE_C | GRE_K | GRE_S) || gre[1] & 7 || o->left < n)
        return false;
    o->type = load16(gre + 2);
    o->keyed = flags & GRE_K;
    o->gre = flags & GRE_C ? gre : NULL;
    if (o->keyed)
        o->id.key = rte_be_to_cpu_32(load32(gre + (flags & GRE_C ? 8 : 4)));
    outer_pass(o, n);
    return true;
}

static bool read_vxlan(struct outer *o)
{
    if (o->left < 8 || !(o->at[0] & VXLAN_I))
        return false;
    o->shim = o->at;
    o->id.key = rte_be_to_cpu_32(load32(o->at + 4)) >> 8;
    outer_pass(o, 8);
    return true;
}

static bool read_udp(struct outer *o)
{
    uint32_t len = load16_host(o->at + 4);

    if (len < 8 || len > o->whole)
        return false;
    o->udp = o->at;
    outer_end(o, len);
    outer_pass(o, 8);
    return o->id.kind == TUNNEL_VXLAN ? read_vxlan(o) : read_gre(o);
}

static bool read_shim(struct outer *o)
{
    if (o->id.kind == TUNNEL_IPIP) {
        o->type = o->proto == PROTO_IP4 ? ETHER_TYPE_IP4 : ETHER_TYPE_IP6;
        return true;
    }
    return tunnel_is_udp(o->id.kind) ? read_udp(o) : read_gre(o);
}

// --- checksums ---

static uint32_t sum_from(const struct rte_mbuf *m, const uint8_t *from, uint32_t len, uint32_t sum)
{
    uint32_t at = (uint32_t)(from - rte_pktmbuf_mtod(m, const uint8_t *));

    for (; m && len; m = m->next, at = 0) {
        uint32_t n = RTE_MIN(len, m->data_len - at);
        sum = checksum_add(sum, rte_pktmbuf_mtod(m, const uint8_t *) + at, n);
        len -= n;
    }
    return sum;
}

static bool udp_is_right(const struct rte_mbuf *m, const struct outer *o, const struct tunnel *t)
{
    uint32_t len = load16_host(o->udp + 4), sum;

    if (!load16(o->udp + 6)) // RFC 6936 5: over IPv6 only if configured
        return t->zero_checksum;
    if (o->id.family == IP6)
        sum = checksum_pseudo6(o->ip + 8, o->ip + 24, len, PROTO_UDP);
    else
        sum = checksum_add(0, o->ip + 12, 8) + (PROTO_UDP << 8) + rte_cpu_to_be_16((uint16_t)len);
    return checksum_finish(sum_from(m, o->udp, len, sum)) == 0;
}

static bool gre_is_right(const struct rte_mbuf *m, const struct outer *o)
{
    return checksum_finish(sum_from(m, o->gre, o->whole + (uint32_t)(o->at - o->gre), 0)) == 0;
}

// --- ECN, DSCP ---

#define ECN_DROP 4

// By inner field, then outer one: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
static const uint8_t ecn_of[4][4] = {{0, 0, 0, ECN_DROP}, {1, 1, 1, 3}, {2, 1, 2, 3}, {3, 3, 3, 3}};

// Sets the inner packet's ECN field, and for a uniform tunnel its DSCP. Returns false if congestion
// was marked on the way, but the sender does not support ECN.
static bool inner_mark(uint8_t *ip, bool is4, uint8_t outer, const struct tunnel *t)
{
    uint8_t tos = is4 ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4),
            ecn = ecn_of[tos & 3][outer & 3];
    uint8_t to = (uint8_t)(((t->dscp_mode == TUNNEL_DSCP_UNIFORM ? outer : tos) & 0xfc) | ecn);
    uint16_t was = load16(ip);

    if (ecn == ECN_DROP)
        return false;
    if (to == tos)
        return true;
    if (!is4) {
        ip[0] = (uint8_t)(0x60 | to >> 4);
        ip[1] = (uint8_t)((ip[1] & 0x0f) | to << 4);
        return true;
    }
    ip[1] = to;
    store16(ip + 10, remark_checksum(load16(ip + 10), was, load16(ip)));
    return true;
}

// --- the frame ---

static struct made made_of(const struct tunnel *t, uint16_t type)
{
    uint8_t header[ETHER_HDR];

    memcpy(header, t->mac, 6);
    memcpy(header + 6, t->mac, 6);
    header[11] ^= 1; // the other end
    store16(header + 12, type);
    return (struct made){load64(header), load64(header + 6)};
}

// There is room: an outer header has been in front of the packet.
static inline void make_header(uint8_t *frame, const struct made *made)
{
    store64(frame, made->first);
    store64(frame + 6, made->last);
}

// Turns the bytes from o->at on into an untagged frame.
static uint8_t *frame_of(const struct outer *o, const struct tunnel *t)
{
    uint8_t *at = (uint8_t *)(uintptr_t)o->at;
    struct made made;

    if (tunnel_is_ethernet(t->kind))
        return at;
    made = made_of(t, o->type);
    make_header(at - ETHER_HDR, &made);
    return at - ETHER_HDR;
}

// Returns the reason why the inner packet may not come in; sets its ECN field.
static enum drop_reason inner_check(struct outer *o, const struct tunnel *t)
{
    bool ethernet = tunnel_is_ethernet(t->kind);
    uint8_t *ip = (uint8_t *)(uintptr_t)o->at + (ethernet ? ETHER_HDR : 0);
    uint32_t need = (ethernet ? ETHER_HDR : 0) + (o->type == ETHER_TYPE_IP6 ? IP6_HDR : IP4_HDR);
    uint16_t type = ethernet && o->left >= ETHER_HDR ? load16(ip - 2) : o->type;

    if (ethernet && (o->left < ETHER_HDR || is_tag(type))) // RFC 7348 6.1
        return DROP_TUNNEL_HEADER;
    if (type == ETHER_TYPE_MPLS && !ethernet) // RFC 4023 3: labels have no ECN
        return o->left < LABEL_HDR ? DROP_TUNNEL_HEADER : DROP_NONE;
    if ((type != ETHER_TYPE_IP4 && type != ETHER_TYPE_IP6) || type == t->refuses_be)
        return ethernet ? DROP_NONE : DROP_TUNNEL_PROTOCOL;
    if (o->left < need || ip[0] >> 4 != (type == ETHER_TYPE_IP4 ? 4 : 6))
        return DROP_TUNNEL_HEADER;
    return inner_mark(ip, type == ETHER_TYPE_IP4, o->tos, t) ? DROP_NONE : DROP_TUNNEL_ECN;
}

static enum drop_reason checks(const struct rte_mbuf *m, struct outer *o, const struct tunnel *t)
{
    if (o->udp && unlikely(load16(o->udp + 6) || o->id.family == IP6) && !udp_is_right(m, o, t))
        return DROP_TUNNEL_CHECKSUM;
    if (unlikely(o->gre) && !gre_is_right(m, o))
        return DROP_TUNNEL_CHECKSUM;
    if (metalink_hops(m) >= METALINK_HOPS_MAX)
        return DROP_TUNNEL_RECURSION;
    return inner_check(o, t);
}

// Cuts the mbuf to the frame, from `frame` to the end of the outer packet.
static void cut_packet(struct rte_mbuf *m, const uint8_t *frame, const struct outer *o)
{
    uint32_t off = (uint32_t)(frame - rte_pktmbuf_mtod(m, const uint8_t *));

    packet_trim(m, (uint32_t)(o->at - rte_pktmbuf_mtod(m, const uint8_t *)) + o->whole);
    rte_pktmbuf_adj(m, (uint16_t)off);
    m->ol_flags &= ~RX_FLAGS;
    metalink_hops_set(m, metalink_hops(m) + 1);
}

// The tunnel's interface has received it, but the queue has no room.
void tunnel_drop_in(struct forwarder *f, struct rte_mbuf *m)
{
    counter_pair_add(&f->counter->iface[m->vlan_tci].rx_packets, m->pkt_len + VLAN_HDR);
    packet_drop(f, m, m->vlan_tci, DROP_TUNNEL_FULL);
}

// Finds the tunnel with that key. Packets come in flows, so most belong to the previous one's
// tunnel; an entry with a kind is in the index.
static inline uint16_t look_up(struct forwarder *f, const struct tunnel_index *x,
                               const struct tunnel_key *k)
{
    const struct tunnel *last = tunnel_get(f->tunnel_last);
    uint16_t number;

    if (likely(__atomic_load_n(&last->kind, __ATOMIC_ACQUIRE) &&
               !memcmp(&last->id, k, sizeof *k)))
        return f->tunnel_last;
    number = tunnel_find(x, k);
    if (number)
        f->tunnel_last = number;
    return number;
}

// Returns false if it belongs to no tunnel.
static bool find_tunnel(struct forwarder *f, struct burst *b, unsigned i, struct outer *o,
                        uint16_t *number, enum drop_reason *why)
{
    const struct tunnel_index *x = rcu_load(&tunnel_index);
    const uint8_t *ip = b->ip[i];
    bool sound;

    *o = (struct outer){.ip = ip, .at = ip, .left = packet_readable(b->pkt[i], ip)};
    o->id.vr = b->vr[i];
    o->id.family = b->family;
    b->family == IP4 ? read4(o, ip) : read6(o, ip);
    o->id.kind = kind_of(o);
    if (!o->id.kind || !x)
        return false;
    const struct tunnel_key end = o->id;
    sound = !o->fragment && read_shim(o);
    *number = sound ? look_up(f, x, &o->id) : 0;
    if (!*number && !tunnel_ends(x, &end))
        return false;
    *why = o->fragment                                          ? DROP_TUNNEL_FRAGMENT
           : !sound                                             ? DROP_TUNNEL_HEADER
           : !*number || tunnel_get(*number)->keyed != o->keyed ? DROP_TUNNEL_SOURCE
                                                                : DROP_NONE;
    return true;
}

// --- packets that match a pattern ---

// Masks out the varying bytes of the outer IP header.
static void alike_ip(struct alike *a, uint8_t family)
{
    static const uint8_t mask4[IP4_HDR] = {[0] = 0xff, [6] = 0x3f, [7] = 0xff, [9] = 0xff,
                                           [12] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t mask6[8] = {[0] = 0xf0, [6] = 0xff};

    if (family == IP4)
        memcpy(a->mask, mask4, sizeof mask4);
    else
        memcpy(a->mask, mask6, sizeof mask6);
    a->length_at = family == IP4 ? 2 : 4;
    a->length_beside = family == IP4 ? 0 : IP6_HDR;
}

// Compares UDP's header without the entropy in its port and without its length; VXLAN's has
// reserved bits.
static void alike_udp(struct alike *a, const struct outer *o)
{
    static const uint8_t udp[8] = {[2] = 0xff, 0xff, [6] = 0xff, 0xff},
                         vxlan[8] = {[0] = VXLAN_I, [4] = 0xff, 0xff, 0xff};
    const uint32_t at = (uint32_t)(o->udp - o->ip);

    memcpy(a->mask + at, udp, sizeof udp);
    if (a->ethernet)
        memcpy(a->mask + at + 8, vxlan, sizeof vxlan);
    a->length_at = at + 4;
    a->length_beside = at;
}

// Compares the type of the inner packet and its version, at least for IP. There is room for both.
static void alike_inner(struct alike *a, uint32_t size)
{
    if (a->ethernet)
        memset(a->mask + size + 12, 0xff, 2);
    a->mask[size + (a->ethernet ? ETHER_HDR : 0)] = 0xf0;
}

// Makes a pattern from the packet of `o`, which may come in. Not for headers with checksums or
// sequence numbers.
static void alike_read(struct alike *a, const struct outer *o, uint16_t number, uint64_t valid)
{
    const struct tunnel *t = tunnel_get(number);
    const bool ethernet = tunnel_is_ethernet(t->kind);
    const bool numbered = !ethernet && o->shim && o->shim[0] & (GRE_C | GRE_S);
    const uint32_t size = (uint32_t)(o->at - o->ip), end = size + (ethernet ? ETHER_HDR : 0) + 1;
    const uint16_t type = ethernet ? load16(o->at + 12) : o->type;

    a->need = UINT32_MAX;
    if (end > (t->id.family == IP4 ? ALIKE_BYTES_4 : ALIKE_BYTES_6) || numbered ||
        (o->udp && load16(o->udp + 6)) || (type != ETHER_TYPE_IP4 && type != ETHER_TYPE_IP6))
        return;
    a->tunnel = t;
    a->iface = t->iface;
    a->valid = valid;
    a->ethernet = ethernet;
    a->four = type == ETHER_TYPE_IP4;
    a->frame = ethernet ? size : size - ETHER_HDR;
    a->hops = t->dscp_mode == TUNNEL_DSCP_UNIFORM ? 0 : METALINK_HOPS_MAX;
    memset(a->mask, 0, sizeof a->mask);
    memset(a->mask, 0xff, size);
    memcpy(a->is, o->ip, end);
    alike_ip(a, t->id.family);
    if (o->udp)
        alike_udp(a, o);
    alike_inner(a, size);
    a->need = a->frame + ETHER_HDR + (a->four ? IP4_HDR : IP6_HDR);
    a->made = made_of(t, o->type);
}

// Index of a packet's tunnel and inner family in a table of struct alike. A packet that is too
// short for the bytes read here belongs to no tunnel.
static inline unsigned alike_slot(const uint8_t *ip, uint16_t vr, bool four)
{
    const uint8_t *udp = ip + (four ? IP4_HDR : IP6_HDR), proto = ip[four ? 9 : 6];
    uint32_t is = load32(udp - 4) * 3 + load32(udp - (four ? 8 : 20)) + vr;

    if (likely(proto == PROTO_UDP))
        is += load16(udp + 2) == RTE_BE16(TUNNEL_PORT_VXLAN) ? load32(udp + 12) + load16(udp + 28)
                                                             : load16(udp + 10);
    else
        is += proto == PROTO_GRE ? load16(udp + 2) : proto;
    return is * 0x9e3779b1u >> (32 - ALIKE_BITS);
}

typedef uint64_t words __attribute__((vector_size(16)));

// All of `is` can be read: PACKET_BEHIND bytes follow any buffer, and the mask excludes them.
static inline bool is_alike(const struct alike *a, const uint8_t *ip, bool four)
{
    words differ = {0, 0}, v, is, mask;

    for (unsigned k = 0; k < (four ? ALIKE_BYTES_4 : ALIKE_BYTES_6); k += sizeof v) {
        memcpy(&v, ip + k, sizeof v);
        memcpy(&is, __builtin_assume_aligned(a->is + k, sizeof is), sizeof is);
        memcpy(&mask, __builtin_assume_aligned(a->mask + k, sizeof mask), sizeof mask);
        differ |= (v ^ is) & mask;
    }
    return !(differ[0] | differ[1]);
}

// Takes packet i if it matches the pattern, else returns NULL. It is plain and has one segment, so
// its length is the packet's, and all of it can be read.
static inline __attribute__((always_inline)) struct rte_mbuf *
take_alike(const struct burst *b, unsigned i, uint64_t valid, const struct alike *a, bool four)
{
    uint8_t *ip = b->ip[i];
    const uint32_t len = b->len[i];

    if (len < a->need || valid != a->valid || !is_alike(a, ip, four) ||
        load16_host(ip + a->length_at) + a->length_beside != len)
        return NULL;
    struct rte_mbuf *m = b->pkt[i];
    const uint32_t hops = metalink_hops(m);
    const uint8_t tos = four ? ip[1] : (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    uint8_t *frame = ip + a->frame;
    if (unlikely(hops >= a->hops || tos & 1) &&
        (hops >= METALINK_HOPS_MAX || !inner_mark(frame + ETHER_HDR, a->four, tos, a->tunnel)))
        return NULL;
    if (!a->ethernet)
        make_header(frame, &a->made);
    m->data_off = (uint16_t)(frame - (uint8_t *)m->buf_addr);
    m->pkt_len = len - a->frame;
    m->data_len = (uint16_t)m->pkt_len;
    m->ol_flags &= ~RX_FLAGS;
    metalink_hops_set(m, hops + 1);
    m->vlan_tci = a->iface;
    return m;
}

// --- taking packets ---

// Parses packet i step by step. Returns false if it belongs to no tunnel. *m: NULL if it has been
// dropped. a: pattern to fill in, used for plain packets.
static __attribute__((noinline)) bool take_one(struct forwarder *f, struct burst *b, unsigned i,
                                               struct alike *a, uint64_t valid,
                                               struct rte_mbuf **m)
{
    enum drop_reason why;
    struct outer o;
    uint16_t number;

    *m = NULL;
    if (!find_tunnel(f, b, i, &o, &number, &why))
        return false;
    why = why ? why : checks(b->pkt[i], &o, tunnel_get(number));
    if (unlikely(why)) {
        packet_drop_of(f, b, i, why);
        return true;
    }
    if (a)
        alike_read(a, &o, number, valid);
    *m = b->pkt[i];
    cut_packet(*m, frame_of(&o, tunnel_get(number)), &o);
    (*m)->vlan_tci = tunnel_get(number)->iface;
    return true;
}

// Puts taken packets into opened[0..*n). alike: patterns, for `plain` packets.
static inline __attribute__((always_inline)) uint64_t
take_burst(struct forwarder *f, struct burst *b, uint64_t of, bool four, bool plain,
           struct alike *alike, struct rte_mbuf **opened, unsigned *n)
{
    const uint32_t n_hidden = __atomic_load_n(&tunnel_n_hidden, __ATOMIC_ACQUIRE);
    uint64_t others = 0;
    unsigned taken = 0;

    for (; of; of &= of - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(of);
        const uint16_t vr = b->vr[i];
        const uint64_t valid = alike_valid(n_hidden, vr);
        struct alike *a = NULL;
        struct rte_mbuf *m = NULL;
        if (nexthop_word_kind(b->word[i]) != NEXTHOP_LOCAL) {
            others |= 1ull << i;
            continue;
        }
        if (plain) {
            a = alike + alike_slot(b->ip[i], vr, four);
            m = take_alike(b, i, valid, a, four);
        }
        if (unlikely(!m) && !take_one(f, b, i, a, valid, &m))
            others |= 1ull << i;
        if (unlikely(!m))
            continue;
        f->counter->vr[vr].opened++;
        opened[taken++] = m;
    }
    *n = taken;
    return others;
}

static __attribute__((noinline)) uint64_t take4(struct forwarder *f, struct burst *b, uint64_t of,
                                                struct alike *alike, struct rte_mbuf **opened,
                                                unsigned *n)
{
    return take_burst(f, b, of, true, true, alike, opened, n);
}

static __attribute__((noinline)) uint64_t take6(struct forwarder *f, struct burst *b, uint64_t of,
                                                struct alike *alike, struct rte_mbuf **opened,
                                                unsigned *n)
{
    return take_burst(f, b, of, false, true, alike, opened, n);
}

static __attribute__((noinline)) uint64_t take_odd(struct forwarder *f, struct burst *b,
                                                   uint64_t of, struct rte_mbuf **opened,
                                                   unsigned *n)
{
    return take_burst(f, b, of, false, false, NULL, opened, n);
}

uint64_t tunnel_take(struct forwarder *f, struct burst *b, uint64_t of)
{
    const bool plain = (b == &f->in4 || b == &f->in6) && !b->chained;
    struct rte_mbuf *opened[BURST_MAX];
    unsigned n;

    if (!plain)
        of = take_odd(f, b, of, opened, &n);
    else if (b->family == IP4)
        of = take4(f, b, of, f->alikes.of[0], opened, &n);
    else
        of = take6(f, b, of, f->alikes.of[1], opened, &n);
    for (unsigned i = frame_queue_put(f, &f->tunnel_in, opened, n); i < n; i++)
        tunnel_drop_in(f, opened[i]);
    return of;
}

// --- receiving frames ---

// Puts the tag beside the frame, and counts it as if it were in it.
static inline void tag_set(struct forwarder *f, struct rte_mbuf *m, const struct iface *iface)
{
    f->counter->iface[m->vlan_tci].rx_bytes += VLAN_HDR;
    m->vlan_tci = iface->vlan;
    m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
}

// There is room, as for a header.
static void tag_put(struct rte_mbuf *m, uint16_t vlan)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *) - VLAN_HDR;

    m->data_off = (uint16_t)(m->data_off - VLAN_HDR);
    m->data_len = (uint16_t)(m->data_len + VLAN_HDR);
    m->pkt_len += VLAN_HDR;
    memmove(frame, frame + VLAN_HDR, 12);
    store16(frame + 12, ETHER_TYPE_VLAN);
    store16(frame + 14, rte_cpu_to_be_16(vlan));
}

// Takes the oldest waiting frames, at most `max`, as long as they came by the same port. Returns
// the interface of their tunnel; 0: several.
static uint16_t take_of_port(struct forwarder *f, unsigned max)
{
    const struct frame_queue *q = &f->tunnel_in;
    const uint16_t first = q->pkt[q->head]->vlan_tci;
    unsigned n = 1, differ = 0;

    f->tunnel_in_port = iface_get(first)->port;
    for (; n < max && n < q->n; n++) {
        const uint16_t iface = q->pkt[(q->head + n) % FRAME_QUEUE_ROOM]->vlan_tci;
        if (iface_get(iface)->port != f->tunnel_in_port)
            break;
        differ |= iface ^ first;
    }
    f->rx.n = frame_queue_take(f, &f->tunnel_in, f->rx.pkt, n);
    return differ ? 0 : first;
}

const struct port *tunnel_take_in(struct forwarder *f, unsigned max)
{
    struct arrivals *a = &f->rx;

    if (!f->tunnel_in.n)
        return NULL;
    const uint16_t only = take_of_port(f, max);
    const struct port *port = port_get(f->tunnel_in_port);
    const bool watched = f->record.on || port->watch_rx;
    for (unsigned i = 0; i < a->n; i++) {
        const struct iface *iface = iface_get(a->pkt[i]->vlan_tci);
        if (watched)
            tag_put(a->pkt[i], iface->vlan);
        else if (!only)
            tag_set(f, a->pkt[i], iface);
        a->frame[i] = rte_pktmbuf_mtod(a->pkt[i], uint8_t *);
    }
    if (watched || !only)
        return port;
    f->tunnel_port.untagged = only;
    f->counter->iface[only].rx_bytes += a->n * VLAN_HDR; // as if the tag were there
    return &f->tunnel_port;
}
