// SPDX-License-Identifier: BSD-3-Clause
// inner.c - headers inside ICMP: the flow that an error quotes, and packets that may cause an error
#include "proof.h"

#include "forwarder/flow_quote.c"
#include "forwarder/icmp_error.c"

void proof(void)
{
    bool four = nondet_bool();
    unsigned head = four ? IP4_HDR : IP6_HDR, n = any_length(head, BYTES);
    uint8_t *ip = any_bytes(n);
    uint32_t len = nondet_u32();
    struct flow_hash how = {.mode = nondet_u8(), .label = nondet_bool()};

    flow_hash_ip(four ? IP4 : IP6, ip, n, len, how);
    if (four) {
        assume((ip[0] & 15) >= 5 && (ip[0] & 15) * 4u <= n);
        icmp4_may_be_answered(ip, n);
    } else {
        icmp6_may_be_error(ip, n);
    }
}
