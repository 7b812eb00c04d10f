// SPDX-License-Identifier: BSD-3-Clause
// chain.c - extension headers of any IPv6 packet, and what follows the headers of any packet
//
// Callers have checked that the IP header lies in the first segment, with all its options.
#include "proof.h"

#include "forwarder/acl_key.c"
#include "forwarder/offload.c"
#undef HEADERS_READ
#include "forwarder/tcp_reset.c"

static struct iface ifaces[IFACE_MAX];

struct iface *iface_table = ifaces;

// Bytes of several segments, copied to one place, or NULL: the packet is shorter.
const void *__rte_pktmbuf_read(const struct rte_mbuf *m, uint32_t off, uint32_t len, void *buf)
{
    claim(len <= HEADERS_READ);
    __CPROVER_havoc_slice(buf, len);
    return nondet_bool() ? buf : NULL;
}

void proof(void)
{
    static struct burst b;
    struct rte_mbuf m;
    bool four = nondet_bool();
    unsigned head = four ? IP4_HDR : IP6_HDR, n = any_length(head, BYTES);
    uint8_t *ip = any_packet(&m, n);

    b.family = four ? IP4 : IP6;
    b.pkt[0] = &m;
    b.ip[0] = ip;
    b.len[0] = nondet_u16();
    assume(b.len[0] >= head && b.len[0] <= m.pkt_len);
    assume(!four || ((ip[0] & 15) >= 5 && (ip[0] & 15) * 4u <= n && (ip[0] & 15) * 4u <= b.len[0]));
    if (four) {
        struct acl_key4 k;
        acl_key4(&b, 0, &k);
    } else {
        struct acl_key6 k;
        acl_key6(&b, 0, &k);
    }
    struct segment s;
    read_segment(&b, 0, &s);
    struct l4 l;
    if (find_l4(ip, b.family, RTE_MIN(n, (uint32_t)b.len[0]), &l))
        claim(l.sum_at + 2 <= n);
}
