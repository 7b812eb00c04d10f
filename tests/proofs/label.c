// SPDX-License-Identifier: BSD-3-Clause
// label.c - packets with labels: their stack, their flow, and the IP header below
//
// ether_in has found the top entry.
#include "proof.h"

#include "forwarder/flow_quote.c"
#include "forwarder/label_in.c"

void proof(void)
{
    const struct flow_hash how = {.mode = nondet_u8(), .label = nondet_bool()};
    unsigned n = any_length(LABEL_HDR, BYTES);
    const uint8_t *top = any_bytes(n);
    struct label_stack s;

    label_hash(top, n, nondet_u32(), how);
    if (!stack_read(top, n, &s))
        return;
    claim(s.below > top && s.below <= top + n);
    if (s.family != IP_NONE &&
        !label_check_ip(s.below, s.family, n - (uint32_t)(s.below - top), nondet_u32()))
        claim(s.below + (s.family == IP4 ? (s.below[0] & 15) * 4 : IP6_HDR) <= top + n);
}
