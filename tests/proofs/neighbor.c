// SPDX-License-Identifier: BSD-3-Clause
// neighbor.c - ARP and neighbor discovery: the frames that tap_reflect() answers
//
// Forwarders pass ARP and ND on without looking inside (ether.c, ip6.c); this is the only reader.
#include "proof.h"

#include "tap/tap_reflect.c"

void proof(void)
{
    struct rte_mbuf m;
    enum punt_class class;

    any_packet(&m, any_length(0, BYTES));
    tap_reflect(&m, &class);
}
