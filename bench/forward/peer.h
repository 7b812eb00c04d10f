// SPDX-License-Identifier: BSD-3-Clause
// peer.h - a minimal IPv4 forwarder on DPDK's own FIB, for comparison
#ifndef BENCH_FORWARD_PEER_H
#define BENCH_FORWARD_PEER_H

#include "lib/table.h"

// Routes of `t`, whose values are next hops 1..n, on 4 ports. 0 or -1.
int peer_make(const struct table *t, const uint16_t *ports, unsigned n_next_hops);
unsigned peer_poll(void); // packets forwarded

#endif
