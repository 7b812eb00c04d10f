// SPDX-License-Identifier: BSD-3-Clause
// police.c - policers of interfaces (table/policer.h), and classes by 802.1p priority
//
//   in     packets with sound headers; at the output with the next hop that takes them
//   out    packets that pass, in the same order, perhaps with another DSCP
//   exits  POLICED_IN, POLICED_OUT
//
// An input policer sees all IP packets of its interface, before access lists, including packets for
// us: it limits the sender's rate, whatever happens to the packets. An output policer sees
// forwarded packets, after access lists. Like access lists, neither sees non-IP frames, packets
// that the kernel sends by a TAP, and our own ICMP errors. Neighbor discovery of the link is
// counted but never dropped on input, just as ARP is not seen.

#include "forwarder/acl.h"
#include "forwarder/checks.h"
#include "forwarder/drop.h"
#include "forwarder/remark.h"
#include "table/packet_class.h"
#include "table/policer.h"
#include "forwarder/forbidden.h"

static void count_color(struct forwarder *f, const struct burst *b, unsigned i, uint16_t iface,
                        enum policer_direction d, enum policer_color color)
{
    struct policer_count *c = &policer_counts[f->index][iface][d];

    if (f->dry)
        return;
    c->packets[color]++;
    c->bytes[color] += b->len[i];
}

// Applies the policer to packet i; returns false if it was dropped.
static bool passes_policer(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface,
                           enum policer_direction d)
{
    struct policer_meter *m = policer_meter_of(iface, d);
    enum policer_color came = POLICER_GREEN, color;

    if (policer_byte(&m->color_aware))
        came = policer_color_of_dscp(remark_dscp_of(b->ip[i], b->family));
    color = policer_color_of(m, b->len[i], came, f->now, f->dry);
    count_color(f, b, i, iface, d, color);
    if (f->record.on)
        f->record.police =
            (struct packet_trace_police){iface_get(iface)->id, d == POLICER_OUT, (uint8_t)color,
                                         policer_byte(&m->action[color]),
                                         policer_byte(&m->dscp[color])};
    switch (policer_byte(&m->action[color])) {
    case POLICER_PASS:
        return true;
    case POLICER_REMARK:
        packet_remark(b, i, policer_byte(&m->dscp[color]));
        return true;
    default:
        return d == POLICER_IN && acl_is_neighbor_discovery(b, i);
    }
}

// Has the interface the policer? Acquire, partner: iface_bind_police.
static bool has_policer(uint16_t iface, enum iface_police which)
{
    return __atomic_load_n(&iface_get(iface)->police, __ATOMIC_ACQUIRE) & which;
}

// Priority of the VLAN tag that the packet came with, -1: none.
static int priority_of(const struct rte_mbuf *m, const uint8_t *ip)
{
    if (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)
        return m->vlan_tci >> 13;
    return packet_l2_len(m, ip) >= ETHER_HDR + VLAN_HDR ? ip[-4] >> 5 : -1;
}

static void class_by_priority(struct burst *b, unsigned i)
{
    const struct iface *iface = iface_get(b->iface[i]);
    int priority = priority_of(b->pkt[i], b->ip[i]);
    uint32_t given = priority < 0 ? 0 : iface->policy.pcp_class >> 4 * priority & 15;

    if (given & IFACE_PCP_GIVEN)
        packet_class_set(b->pkt[i], given & 7);
}

static void drop_policed(struct forwarder *f, struct burst *b, uint64_t gone, enum drop_reason why)
{
    for (uint64_t left = gone; left; left &= left - 1)
        packet_drop_of(f, b, (unsigned)__builtin_ctzll(left), why);
    if (gone)
        burst_remove(b, gone);
}

void police_in(struct forwarder *f, struct burst *b)
{
    uint64_t gone = 0;

    for (unsigned i = 0; i < b->n; i++) {
        if (has_policer(b->iface[i], IFACE_PCP_CLASS))
            class_by_priority(b, i);
        if (has_policer(b->iface[i], IFACE_POLICE_IN) &&
            !passes_policer(f, b, i, b->iface[i], POLICER_IN))
            gone |= 1ull << i;
    }
    drop_policed(f, b, gone, DROP_POLICED_IN);
}

void police_out(struct forwarder *f, struct burst *b)
{
    uint64_t gone = 0;

    for (unsigned i = 0; i < b->n; i++) {
        uint16_t iface = nexthop_word_iface(b->word[i]);
        if (has_policer(iface, IFACE_POLICE_OUT) && !passes_policer(f, b, i, iface, POLICER_OUT))
            gone |= 1ull << i;
    }
    drop_policed(f, b, gone, DROP_POLICED_OUT);
}

enum drop_reason police_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface,
                            enum policer_direction d)
{
    const bool in = d == POLICER_IN;

    return !has_policer(iface, in ? IFACE_POLICE_IN : IFACE_POLICE_OUT) ||
                   passes_policer(f, b, i, iface, d)
               ? DROP_NONE
               : in ? DROP_POLICED_IN : DROP_POLICED_OUT;
}
