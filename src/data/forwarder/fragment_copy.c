// SPDX-License-Identifier: BSD-3-Clause
// fragment_copy.c - our only call of an experimental DPDK function (since 20.11)
//
// In its own file because the experimental macro also compiles DPDK's trace points, which allocate,
// into every inline function of the file.
#define ALLOW_EXPERIMENTAL_API
#include <rte_ip_frag.h>

#include "forwarder/exits.h"
#include "forwarder/forbidden.h"

int fragment4_copy(struct rte_mbuf *m, struct rte_mbuf **piece, uint16_t n_max, uint16_t mtu)
{
    return rte_ipv4_fragment_copy_nonseg_packet(m, piece, n_max, mtu, exchange_pool);
}
