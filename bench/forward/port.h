// SPDX-License-Identifier: BSD-3-Clause
// port.h - a port whose packets come from a table in memory and go nowhere
//
// For measuring what a forwarder costs without what a port costs. Receiving
// takes fresh buffers and copies one 64-byte line of ready headers into each, as
// a NIC's DMA would; sending frees. A net_ring device lends its port id; its burst functions are
// replaced by these two. One thread.
#ifndef BENCH_FORWARD_PORT_H
#define BENCH_FORWARD_PORT_H

#include <rte_mbuf.h>
#include <stdbool.h>
#include <stdint.h>

#define REPLAY_LINE 64u // bytes of a frame that are written: headers

struct replay {
    const uint8_t (*line)[REPLAY_LINE]; // n_lines of them, a power of two
    uint32_t n_lines;
    uint16_t bytes;   // of each frame, 60 = a 64-byte frame without its checksum
    uint64_t ol_flags; // of each buffer
};

// Every port of the replay reads on in the same table: set before polling, change at will.
extern struct replay replay;
extern uint64_t replay_sent; // packets taken by all ports

uint16_t replay_port_new(unsigned index, struct rte_mempool *pool); // its port id

#endif
