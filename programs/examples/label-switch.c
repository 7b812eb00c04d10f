// SPDX-License-Identifier: BSD-3-Clause
// label-switch.c - switching by a label of 20 bits in front of the IP packet, as MPLS does
//
// Hook ether-type with 0x8847: data begin with label stack entries of RFC 3032, 32 bits each:
// label 20, traffic class 3, bottom of stack 1, TTL 8. Table `label`: by label, what to do with it:
//
//     SWAP | label << 8 | next hop << 32      another label takes its place
//     POP | next hop << 32                    it goes; what is below leaves by the next hop
//     LOCAL                                   it goes; the IP packet below is routed here
#include <kamuee/program.h>

KAMUEE_DECLARE("window 64; counter swapped; counter popped; "
               "reason short; reason unknown; reason expired; reason not-ip; "
               "table hash label 65536 read-only");

enum { SWAPPED, POPPED };
enum { SHORT, UNKNOWN, EXPIRED, NOT_IP };
enum { SWAP = 1, POP, LOCAL };
#define BOTTOM 0x100u

static uint32_t read32(const uint8_t *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void write32(uint8_t *b, uint32_t v)
{
    b[0] = (uint8_t)(v >> 24), b[1] = (uint8_t)(v >> 16), b[2] = (uint8_t)(v >> 8),
    b[3] = (uint8_t)v;
}

// The entry goes. What is below has its TTL: the label's, one less (RFC 3443, uniform).
static uint32_t pop(struct kamuee_packet *p, uint32_t entry, uint64_t act)
{
    uint32_t next_hop = (uint32_t)(act >> 32) & 255;

    p->adjust = 4;
    kamuee_count(POPPED, 1);
    if (!(entry & BOTTOM)) {
        if ((act & 255) == LOCAL)
            return KAMUEE_VERDICT(KAMUEE_DROP, NOT_IP);
        write32(p->data, (read32(p->data + 4) & ~255u) | ((entry & 255) - 1));
        p->changed = 4;
        return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, next_hop);
    }
    uint32_t version = p->data[4] >> 4;
    if (version != 4 && version != 6)
        return KAMUEE_VERDICT(KAMUEE_DROP, NOT_IP);
    p->ether_type = version == 4 ? 0x0800 : 0x86dd;
    return (act & 255) == LOCAL ? KAMUEE_CONTINUE : KAMUEE_VERDICT(KAMUEE_NEXT_HOP, next_hop);
}

uint32_t packet(struct kamuee_packet *p)
{
    if (p->readable < 8)
        return KAMUEE_VERDICT(KAMUEE_DROP, SHORT);
    uint32_t entry = read32(p->data);
    uint64_t act = kamuee_get(0, entry >> 12);
    if (act == ~UINT64_C(0))
        return KAMUEE_VERDICT(KAMUEE_DROP, UNKNOWN);
    if ((entry & 255) <= 1)
        return KAMUEE_VERDICT(KAMUEE_DROP, EXPIRED);
    if ((act & 255) != SWAP)
        return pop(p, entry, act);
    write32(p->data, (uint32_t)(act >> 8 & 0xfffff) << 12 | (entry & 0xf00) | ((entry & 255) - 1));
    p->changed = 4;
    kamuee_count(SWAPPED, 1);
    return KAMUEE_VERDICT(KAMUEE_NEXT_HOP, (uint32_t)(act >> 32) & 255);
}
