// SPDX-License-Identifier: BSD-3-Clause
// exit.c - fwd_exit(): packets that their next hop cannot take as they are
//
// One packet at a time, in this order: our address -> punt; a subnet's broadcast address -> punt,
// broadcast, or drop; blackhole -> drop; TTL expired -> ICMP time exceeded; not resolved -> hold;
// larger than the MTU -> fragments, or ICMP too big, or into a tunnel in spite of that; anything
// else -> ICMP unreachable with the code in `refusal`. A dropped packet keeps its own reason,
// whether or not the ICMP error could be sent.
#include "forwarder/checks.h"
#include "forwarder/cross.h"
#include "forwarder/drop.h"
#include "forwarder/exits.h"
#include "forwarder/icmp.h"
#include "forwarder/label.h"
#include "forwarder/packet.h"
#include "forwarder/stages.h"
#include "forwarder/tags.h"
#include "forwarder/watch.h"
#include "table/iface.h"
#include "forwarder/forbidden.h"

enum { ICMP4_UNREACHABLE = 3, ICMP4_TIME_EXCEEDED = 11 };
enum { ICMP6_UNREACHABLE = 1, ICMP6_TOO_BIG = 2, ICMP6_TIME_EXCEEDED = 3 };
enum { ICMP4_CODE_FRAG_NEEDED = 4 };

// Codes of ICMP type 3 (RFC 1812 5.2.7.1) and of ICMPv6 type 1 (RFC 4443 3.1).
static const struct refusal {
    uint8_t code4, code6;
    uint8_t reason4, reason6;
} refusal[NEXTHOP_KIND_N] = {
    [NEXTHOP_NONE] = {0 /* net */, 0 /* no route */, DROP_IP4_NO_ROUTE, DROP_IP6_NO_ROUTE},
    [NEXTHOP_NO_ROUTE] = {0, 0, DROP_IP4_NO_ROUTE, DROP_IP6_NO_ROUTE},
    [NEXTHOP_GROUP] = {0, 0, DROP_ECMP_EMPTY, DROP_ECMP_EMPTY},
    [NEXTHOP_UNREACHABLE] = {1 /* host */, 0 /* no route */, DROP_UNREACHABLE, DROP_UNREACHABLE},
    [NEXTHOP_PROHIBIT] = {13 /* administratively */, 1 /* same */, DROP_PROHIBIT, DROP_PROHIBIT},
    [NEXTHOP_FAILED] = {1 /* host */, 3 /* address */, DROP_NEIGH_FAILED, DROP_NEIGH_FAILED},
};

static void refuse_packet(struct forwarder *f, struct burst *b, unsigned i, enum nexthop_kind kind)
{
    const struct refusal *r = &refusal[kind];

    if (b->family == IP4) {
        icmp4_error(f, b, i, ICMP4_UNREACHABLE, r->code4, 0);
        packet_drop_of(f, b, i, r->reason4);
    } else {
        icmp6_error(f, b, i, ICMP6_UNREACHABLE, r->code6, 0);
        packet_drop_of(f, b, i, r->reason6);
    }
}

static void expire_packet(struct forwarder *f, struct burst *b, unsigned i)
{
    if (b->family == IP4) {
        icmp4_error(f, b, i, ICMP4_TIME_EXCEEDED, 0, 0);
        packet_drop_of(f, b, i, DROP_IP4_TTL);
    } else {
        icmp6_error(f, b, i, ICMP6_TIME_EXCEEDED, 0, 0);
        packet_drop_of(f, b, i, DROP_IP6_HOP_LIMIT);
    }
}

void exit_send(struct forwarder *f, const struct burst *b, unsigned i)
{
    struct burst *one = &f->fragment;

    burst_reset(one);
    one->family = b->family;
    unsigned at = burst_add(one, b->pkt[i], b->ip[i], b->iface[i]);
    one->len[at] = b->len[i];
    one->size[at] = 0;
    one->nh[at] = b->nh[i];
    one->word[at] = 0;
    if (unlikely(nexthop_word_kind(nexthop_word(nexthop_get(b->nh[i]))) == NEXTHOP_ENCAP)) {
        label_send(f, one, !burst_ttl_is_final(b));
        return;
    }
    // Sets the inputs of ether_out; the verdict is already known.
    (void)f->lanes->apply_nexthops(one, !burst_ttl_is_final(b));
    burst_cross(f, one);
    ether_out(f, one);
}

static void exit_too_big(struct forwarder *f, struct burst *b, unsigned i)
{
    const struct iface *out = iface_get(nexthop_word_iface(b->word[i]));
    uint16_t mtu = nexthop_word_mtu(b->word[i]); // of the next hop, or smaller by the route

    if (b->features & IFACE_ACL_OUT && b->kind != BURST_ORIGIN && !checks_out_one(f, b, i, out->id))
        return;
    if (b->family == IP6 && out->kind == IFACE_TUNNEL)
        mtu = RTE_MAX(mtu, IP6_MTU_MIN);
    if (b->len[i] <= mtu) { // tunnel_out.c handles the outer packet
        exit_send(f, b, i);
    } else if (b->kind == BURST_TUNNEL && (b->family == IP6 || ip4_has_df(b->ip[i]))) {
        packet_drop_of(f, b, i, DROP_TUNNEL_TOO_BIG); // the sender does not know us
    } else if (b->family == IP6) { // routers do not fragment (RFC 8200 5)
        icmp6_error(f, b, i, ICMP6_TOO_BIG, 0, mtu);
        packet_drop_of(f, b, i, DROP_IP6_TOO_BIG);
    } else if (ip4_has_df(b->ip[i])) { // RFC 1191: the error has the MTU
        icmp4_error(f, b, i, ICMP4_UNREACHABLE, ICMP4_CODE_FRAG_NEEDED, mtu);
        packet_drop_of(f, b, i, DROP_IP4_TOO_BIG);
    } else if (!fragment4(f, b, i)) {
        packet_drop_of(f, b, i, DROP_IP4_TOO_BIG);
    }
}

static void deliver_packet(struct forwarder *f, struct burst *b, unsigned i)
{
    struct rte_mbuf *m = b->pkt[i];

    if (burst_is_own(b)) { // to ourselves: the error's cause had our address as its source
        packet_drop_of(f, b, i, b->family == IP4 ? DROP_IP4_MARTIAN_SRC : DROP_IP6_MARTIAN_SRC);
        return;
    }
    if (b->kind == BURST_RESUMED) // the address became ours while the packet was held
        ether_restore(m, b->iface[i], b->family);
    punt_ip(f, m, b->ip[i], b->iface[i], b->family);
}

// Packets from elsewhere to the broadcast address of one of our subnets: if the interface of the
// subnet has `directed-broadcast` (off unless configured: RFC 2644), the packet is broadcast on the
// link; otherwise it is dropped with its own reason. It causes no error (RFC 1812 4.3.2.7), and is
// not fragmented.
static enum drop_reason why_not_broadcast(const struct burst *b, unsigned i, bool expired)
{
    uint64_t word = b->word[i];

    if (!iface_get(nexthop_word_iface(word))->policy.directed_broadcast)
        return DROP_DIRECTED_BROADCAST;
    if (burst_is_own(b)) // our error: its cause had a source that is not a host
        return DROP_IP4_MARTIAN_SRC;
    if (expired)
        return DROP_IP4_TTL;
    return nexthop_word_mtu(word) && b->len[i] > nexthop_word_mtu(word) ? DROP_IP4_TOO_BIG
                                                                        : DROP_NONE;
}

static enum drop_reason broadcast(struct forwarder *f, struct burst *b, unsigned i, bool expired)
{
    enum drop_reason why = why_not_broadcast(b, i, expired);

    if (why == DROP_NONE && b->features & IFACE_ACL_OUT)
        why = checks_out_copy(f, b, i, nexthop_word_iface(b->word[i]));
    if (why != DROP_NONE)
        return why;
    exit_send(f, b, i);
    return DROP_NONE;
}

void fwd_exit(struct forwarder *f, struct burst *b, unsigned i)
{
    enum nexthop_kind kind = nexthop_word_kind(b->word[i]);
    enum drop_reason why;
    bool expired = !burst_ttl_is_final(b) && ttl_of(b->ip[i], b->family) <= 1;

    switch (kind) {
    case NEXTHOP_LOCAL:
        deliver_packet(f, b, i);
        break;
    case NEXTHOP_BROADCAST: // from the subnet itself it is for us
        if (nexthop_word_iface(b->word[i]) == b->iface[i])
            deliver_packet(f, b, i);
        else if ((why = broadcast(f, b, i, expired)) != DROP_NONE)
            packet_drop_of(f, b, i, why);
        break;
    case NEXTHOP_BLACKHOLE:
        packet_drop_of(f, b, i, DROP_BLACKHOLE);
        break;
    case NEXTHOP_HOLD:
    case NEXTHOP_GLEAN:
        if (expired)
            expire_packet(f, b, i);
        else
            packet_hold(f, b, i);
        break;
    case NEXTHOP_ENCAP: // a segment of a super-packet, alone in b
        (void)label_push(f, b, 1ull << i);
        break;
    case NEXTHOP_ADJACENCY:
        if (expired)
            expire_packet(f, b, i);
        else
            exit_too_big(f, b, i);
        break;
    case NEXTHOP_FAILED:
        if (expired)
            expire_packet(f, b, i);
        else
            refuse_packet(f, b, i, kind);
        break;
    default: // NONE, NO_ROUTE, empty GROUP, UNREACHABLE, PROHIBIT
        refuse_packet(f, b, i, kind);
        break;
    }
}

// --- ended packets ---

void dead_flush(struct forwarder *f)
{
    if (unlikely(watch_bits(&watch_drop)))
        watch_dropped(f);
    rte_pktmbuf_free_bulk(f->dead.pkt, f->dead.n);
    f->dead.n = 0;
}
