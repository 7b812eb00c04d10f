// SPDX-License-Identifier: BSD-3-Clause
// ether.c - VLAN tags of any frame, its EtherType's way out, and LACPDUs
//
// ether_one() has found 14 bytes. Whether the frame belongs to an interface decides only which of
// these functions it reaches.
#include "proof.h"

#include "forwarder/exits.h"
#include "forwarder/label.h" // before a source forbids names
#include "forwarder/program.h"

#include "forwarder/tags.c"
#include "forwarder/slow_protocol.c"
#undef PDU
#include "forwarder/ether_in.c"

static struct forwarder f;
static struct counter_block counters;
static struct iface ifaces[IFACE_MAX];

struct iface *iface_table = ifaces;
struct lag nondet_lag(void);

// As the real one: takes the tags out of the frame.
void punt(struct forwarder *to, struct rte_mbuf *m, uint16_t iface, enum punt_class class)
{
    uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

    for (unsigned n = 0; is_tag(load16(frame + 12)); n++)
        frame += VLAN_HDR;
}

void proof(void)
{
    struct rte_mbuf m;
    struct tags tags;
    unsigned n = any_length(ETHER_HDR, BYTES);
    uint8_t *frame = any_packet(&m, n), *type_at = (uint8_t *)tags_read(&m, nondet_bool(), &tags);
    const struct lag lag = nondet_lag();

    tags_skip(&m);
    if (!type_at)
        return;
    claim(type_at + 2 <= frame + n);
    slow_reason(&lag, &m, type_at + 2, tags.n);
    if (is_tag(load16(type_at))) // DROP_VLAN_INNER_UNKNOWN
        return;
    f.counter = &counters;
    ether_control(&f, &m, 0, type_at);
    ether_ip(&f, &m, type_at + 2, 0, nondet_bool(), nondet_bool());
}
