// SPDX-License-Identifier: BSD-3-Clause
// ip4.c - any IPv4 packet that is not plain: header, addresses, class when punted
//
// option.c has the options.
#include "proof.h"

#include "forwarder/ip4_in.c"
#define punt_ip punt_ip_unused
#include "forwarder/punt.c"
#undef punt_ip

static struct forwarder f;
static struct counter_block counters;
static struct iface ifaces[IFACE_MAX];

struct iface *iface_table = ifaces;
struct vr_budget vr_budgets[VR_MAX];

// Only the class depends on the packet.
void punt_ip(struct forwarder *to, struct rte_mbuf *m, const uint8_t *ip, uint16_t iface,
             uint8_t family)
{
    punt_class_of_ip(m, ip, family);
}

enum drop_reason ip4_options(struct forwarder *to, struct burst *b, unsigned i)
{
    uint8_t reason = nondet_u8();

    assume(reason < DROP_N);
    return reason;
}

bool checks_in_one(struct forwarder *to, struct burst *b, unsigned i)
{
    return nondet_bool();
}

enum drop_reason offload_cut(struct forwarder *to, const struct burst *b, unsigned i, uint32_t len,
                             enum drop_reason why)
{
    return why;
}

void multicast(struct forwarder *to, struct burst *b, unsigned i)
{
}

static void any_one(struct burst *b, enum burst_kind kind)
{
    struct rte_mbuf m;
    unsigned n = any_length(ETHER_HDR + IP4_HDR, BYTES);

    any_packet(&m, n);
    b->kind = kind;
    b->family = f.local4.family = IP4;
    b->n = 1;
    b->pkt[0] = &m;
    b->ip[0] = rte_pktmbuf_mtod(&m, uint8_t *) + ETHER_HDR;
    b->len[0] = (uint16_t)(m.pkt_len - ETHER_HDR);
    if (check_packet(&f, b, 0)) {
        claim(load16_host(b->ip[0] + 2) <= m.pkt_len - ETHER_HDR);
        claim((b->ip[0][0] & 15) * 4u <= n - ETHER_HDR);
    }
}

void proof(void)
{
    f.counter = &counters;
    if (nondet_bool())
        any_one(&f.odd4, BURST_TRANSIT);
    else
        any_one(&f.local4, BURST_LOCAL);
}
