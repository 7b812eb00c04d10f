// SPDX-License-Identifier: BSD-3-Clause
// source-route.c - a protocol of its own: the sender says which way a packet takes
//
// Hook ether-type with 0x88b5 (IEEE 802: local experiments). Behind the EtherType:
//
//     byte 0     hops left, 0 to 15
//     byte 1     IP version of the packet behind the header: 4 or 6
//     byte 2, 3  reserved, 0
//     4 to 19    hops: numbers of next hops, the first of those left comes next
//
// With hops left, the packet leaves by the first one, which goes from the list. Without: the header
// goes, and the IP packet behind it is routed here. A router on the way knows no route.
#include <kamuee/program.h>

KAMUEE_DECLARE("window 64; counter forwarded; counter arrived; "
               "reason short; reason bad-header");

enum { FORWARDED, ARRIVED };
enum { SHORT, BAD_HEADER };
#define HEADER 20
#define HOPS_MAX 15

static uint32_t arrive(struct kamuee_packet *p)
{
    p->ether_type = p->data[1] == 4 ? 0x0800 : 0x86dd;
    p->adjust = HEADER;
    kamuee_count(ARRIVED, 1);
    return KAMUEE_CONTINUE;
}

uint32_t packet(struct kamuee_packet *p)
{
    if (p->readable < HEADER)
        return KAMUEE_VERDICT(KAMUEE_DROP, SHORT);
    uint32_t left = p->data[0], hop = p->data[4];
    if (left > HOPS_MAX || (p->data[1] != 4 && p->data[1] != 6))
        return KAMUEE_VERDICT(KAMUEE_DROP, BAD_HEADER);
    if (!left)
        return arrive(p);
    p->data[0] = (uint8_t)(left - 1);
#pragma unroll
    for (int i = 4; i < HEADER - 1; i++)
        p->data[i] = p->data[i + 1];
    p->data[HEADER - 1] = 0;
    p->changed = HEADER;
    kamuee_count(FORWARDED, 1);
    return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, hop);
}
