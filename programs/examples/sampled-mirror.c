// SPDX-License-Identifier: BSD-3-Clause
// sampled-mirror.c - one packet in so many goes to the mirror session, whole flows at a time or not
//
// Table `rate`: entry 0: one flow in so many (by the flow hash; 0: none); entry 1: one packet in so
// many (by count; 0: none). A packet that both choose is mirrored once.
#include <kamuee/program.h>

KAMUEE_DECLARE("window 0; hash; counter mirrored;"
               "table array rate 2 read-only; table array since 1");

enum { MIRRORED };
enum { RATE, SINCE };

static uint32_t mirror(void)
{
    kamuee_count(MIRRORED, 1);
    return KAMUEE_MIRROR;
}

uint32_t packet(struct kamuee_packet *p)
{
    uint32_t flows = (uint32_t)kamuee_get(RATE, 0);
    uint64_t packets = kamuee_get(RATE, 1);

    if (flows && p->hash % flows == 0)
        return mirror();
    if (!packets)
        return KAMUEE_CONTINUE;
    uint64_t since = kamuee_get(SINCE, 0) + 1;
    kamuee_put(SINCE, 0, since >= packets ? 0 : since);
    return since >= packets ? mirror() : KAMUEE_CONTINUE;
}
