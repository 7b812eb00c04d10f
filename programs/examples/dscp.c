// SPDX-License-Identifier: BSD-3-Clause
// dscp.c - per-customer DSCP policy: the class of each packet, and what DSCP it may carry
//
// Tables: `class` has the queue's class of each DSCP, `mark` what the customer's DSCP becomes, plus
// 1; 0: it stays. Both are the operator's to fill, per virtual router; empty: class 0, no mark.
#include <kamuee/program.h>

KAMUEE_DECLARE("window 64; counter marked; "
               "table array class 64 read-only; table array mark 64 read-only");

enum { MARKED };
enum { CLASS, MARK };

static uint32_t dscp_of(const struct kamuee_packet *p)
{
    return p->family == 4 ? p->data[1] >> 2 : (p->data[0] << 2 | p->data[1] >> 6) & 63;
}

static void set_dscp(struct kamuee_packet *p, uint32_t dscp)
{
    if (p->family == 4) {
        p->data[1] = (uint8_t)(dscp << 2 | (p->data[1] & 3)); // the router corrects the checksum
    } else {
        p->data[0] = (uint8_t)((p->data[0] & 0xf0) | dscp >> 2);
        p->data[1] = (uint8_t)((p->data[1] & 0x3f) | dscp << 6);
    }
    p->changed = 2;
    kamuee_count(MARKED, 1);
}

uint32_t packet(struct kamuee_packet *p)
{
    if (!p->family || p->readable < 20)
        return KAMUEE_CONTINUE;
    uint32_t dscp = dscp_of(p);
    uint64_t mark = kamuee_get(MARK, dscp);
    if (mark - 1 < 64 && mark - 1 != dscp)
        set_dscp(p, (uint32_t)mark - 1);
    return KAMUEE_VERDICT(KAMUEE_CLASS, kamuee_get(CLASS, dscp) & 7);
}
