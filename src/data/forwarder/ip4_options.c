// SPDX-License-Identifier: BSD-3-Clause
// ip4_options.c - handles IPv4 options
//
// Called by ip4_in, packet by packet. Source routes are refused (RFC 7126 4.3, 4.4): they let a
// sender bypass the network's routing. Record route and timestamp are dropped, ignored or filled
// in, as configured (plan_ip4_options). Router alerts (IGMP is punted by its group) and unknown
// options are ignored (RFC 2113 2, RFC 1812 4.2.2.1). For unreadable options the sender gets a
// parameter problem (RFC 1812 4.3.3.5) that points at the octet.
#include <rte_cycles.h>

#include "base/checksum.h"
#include "forwarder/flow_hash.h"
#include "forwarder/icmp.h"
#include "forwarder/checks.h"
#include "forwarder/packet.h"
#include "table/vr.h"
#include "forwarder/forbidden.h"

enum { ICMP4_PARAMETER_PROBLEM = 12 };
enum {
    OPTION_END = 0,
    OPTION_NOP = 1,
    OPTION_RECORD_ROUTE = 7,
    OPTION_TIMESTAMP = 68,
    OPTION_LOOSE_SOURCE_ROUTE = 131,
    OPTION_STRICT_SOURCE_ROUTE = 137
};
enum { TIMESTAMP_ONLY = 0, TIMESTAMP_AND_ADDRESS = 1, TIMESTAMP_PRESPECIFIED = 3 };

// Our address on the output interface (RFC 791 3.1), 0 if it is not forwarded.
static ip4_t address_of_output(const struct forwarder *f, const struct burst *b, unsigned i)
{
    const struct vr *vr = vr_get(b->vr[i]);
    const struct fib *fib = vr_fib(b->vr[i], IP4, f->node);
    ip4_t dst = load32(b->ip[i] + 16);
    uint32_t id;

    fib_find4_bulk(fib, &dst, &id, 1);
    id = nexthop_real(id);
    if (nexthop_word_kind(nexthop_word(nexthop_get(id))) == NEXTHOP_GROUP)
        id = nexthop_member(nexthop_get(id),
                            flow_hash4(b->ip[i], packet_readable(b->pkt[i], b->ip[i]), b->len[i],
                                       vr_flow_hash(vr)));
    const struct nexthop *nh = nexthop_get(id);
    if (nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_LOCAL || !nh->iface)
        return 0;
    return iface_get(nh->iface)->addr4 ? iface_get(nh->iface)->addr4 : vr->addr4;
}

// Each of these returns the faulty octet of the option, 0 = none.

static unsigned fill_record_route(uint8_t *o, ip4_t own)
{
    unsigned len = o[1], at = len >= 3 ? o[2] : 0;

    if (len < 3 || at < 4)
        return len < 3 ? 1 : 2;
    if (at > len) // full
        return 0;
    if (at + 3 > len)
        return 2;
    store32(o + at - 1, own);
    o[2] = (uint8_t)(at + 4);
    return 0;
}

static unsigned fill_timestamp(uint8_t *o, ip4_t own)
{
    unsigned len = o[1], at = len >= 4 ? o[2] : 0, kind = len >= 4 ? o[3] & 15 : 0,
             size = kind == TIMESTAMP_ONLY ? 4 : 8;
    // Milliseconds, but not since midnight, so the highest bit is set (RFC 791 3.1).
    uint32_t now = (uint32_t)(rte_rdtsc() / (rte_get_tsc_hz() / 1000)) | 1u << 31;

    if (len < 4 || at < 5)
        return len < 4 ? 1 : 2;
    if (at > len) { // full: increments the overflow count
        if (o[3] >> 4 == 15)
            return 3;
        o[3] = (uint8_t)(o[3] + 16);
        return 0;
    }
    if (kind != TIMESTAMP_ONLY && kind != TIMESTAMP_AND_ADDRESS && kind != TIMESTAMP_PRESPECIFIED)
        return 3;
    if (at + size - 1 > len)
        return 2;
    if (kind == TIMESTAMP_PRESPECIFIED && load32(o + at - 1) != own)
        return 0;
    if (kind == TIMESTAMP_AND_ADDRESS)
        store32(o + at - 1, own);
    store32(o + at - 1 + size - 4, rte_cpu_to_be_32(now));
    o[2] = (uint8_t)(at + size);
    return 0;
}

static unsigned fill_option(uint8_t *o, ip4_t own)
{
    if (!own)
        return 0;
    return o[0] == OPTION_RECORD_ROUTE ? fill_record_route(o, own) : fill_timestamp(o, own);
}

static enum drop_reason report_bad_option(struct forwarder *f, struct burst *b, unsigned i,
                                          unsigned at)
{
    b->len[i] = load16_host(b->ip[i] + 2); // the error quotes no padding of the frame
    icmp4_error(f, b, i, ICMP4_PARAMETER_PROBLEM, 0, at << 24);
    return DROP_IP4_OPTION_BAD;
}

enum drop_reason ip4_options(struct forwarder *f, struct burst *b, unsigned i)
{
    uint8_t *ip = b->ip[i], mode = __atomic_load_n(&plan_ip4_options, __ATOMIC_RELAXED);
    unsigned hlen = (ip[0] & 15) * 4u, wrong = 0;

    for (unsigned at = IP4_HDR; at < hlen && ip[at] != OPTION_END;) {
        uint8_t *o = ip + at, type = o[0];
        if (type == OPTION_NOP) {
            at++;
            continue;
        }
        if (at + 2 > hlen || o[1] < 2 || at + o[1] > hlen)
            return report_bad_option(f, b, i, at);
        if (type == OPTION_LOOSE_SOURCE_ROUTE || type == OPTION_STRICT_SOURCE_ROUTE)
            return DROP_IP4_SOURCE_ROUTE;
        if (type == OPTION_RECORD_ROUTE || type == OPTION_TIMESTAMP) {
            if (mode == IP4_OPTIONS_DROP)
                return DROP_IP4_OPTION;
            if (mode == IP4_OPTIONS_PROCESS && (wrong = fill_option(o, address_of_output(f, b, i))))
                return report_bad_option(f, b, i, at + wrong);
        }
        at += o[1];
    }
    store16(ip + 10, 0);
    store16(ip + 10, checksum(ip, hlen));
    b->hop[i] = load32(ip + 8);
    return DROP_NONE;
}
