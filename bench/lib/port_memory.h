// SPDX-License-Identifier: BSD-3-Clause
// port_memory.h - ports in memory: the cost of a forwarder without the cost of a port
//
// Receive takes fresh buffers and copies a 64-byte line of prepared headers into each (port_lines:
// or a line of 128 bytes), like a NIC's DMA; transmit frees. A net_ring device lends its port id;
// its burst functions are replaced.
//
// There are two kinds. port_lines: all ports read from one table, one thread (forward_bench).
// source and sink: receive and transmit queues for several forwarders at once, which nothing else
// touches while they run. A source returns packets as fast as it is polled, or as they "arrive":
// then at most SOURCE_DEPTH wait, like a NIC's descriptors, later packets are lost while these are
// full, and each packet carries its time of arrival. Or it returns packets that another core has
// put into a ring.
#ifndef BENCH_LIB_PORT_MEMORY_H
#define BENCH_LIB_PORT_MEMORY_H

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/frame.h"

#define SOURCE_LINE FRAME_LINE
#define SOURCE_STAMP 48u // offset of the time of arrival
#define SOURCE_PORTS 4u
#define SOURCE_QUEUES 32u // per port: one per forwarder
#define SOURCE_DEPTH 1024u

struct port_lines {
    const uint8_t *line; // n_lines lines, a power of two
    uint32_t n_lines;
    uint16_t stride;   // bytes of a line: SOURCE_LINE, or twice that
    uint16_t bytes;    // per frame; 60 = a 64-byte frame without its checksum
    uint64_t ol_flags; // of each buffer
};
extern struct port_lines port_lines; // set before polling, may be changed
extern uint64_t port_lines_sent;     // packets taken by all ports

struct source {
    const uint8_t (*line)[SOURCE_LINE]; // NULL: this queue gets no packets
    uint32_t n_lines, at;
    struct rte_mempool *pool;
    struct rte_ring *ring; // packets come from this ring instead
    uint16_t burst;        // most packets at a time
    uint16_t bytes;        // per frame, without its checksum
    bool whole;            // the payload is written too
    uint64_t given;        // in packets
    // Offered load: TSC cycles between two packets; 0 = as fast as it is polled.
    double apart, next; // next: time of the next arrival
    uint32_t first, waiting;
    uint64_t offered, lost; // packets that arrived, and those lost for lack of room
    uint64_t arrived[SOURCE_DEPTH];
} __attribute__((aligned(128)));

struct sink {
    bool stamped, whole; // packets carry a time; the payload is read
    uint64_t sent;
    uint64_t delay_sum, delay_min, delay_max; // TSC cycles from arrival to transmit
    uint64_t n_delays, read;
} __attribute__((aligned(128)));

extern struct source source[SOURCE_PORTS][SOURCE_QUEUES];
extern struct sink sink[SOURCE_PORTS][SOURCE_QUEUES];

// Creates port `index` of a kind: returns its DPDK id; ends the program on failure.
uint16_t port_lines_new(unsigned index, struct rte_mempool *pool);
uint16_t source_port_new(unsigned index, struct rte_mempool *pool);
// Starts the load: `mpps` million packets per second, 0 = as fast as it is polled.
void source_start(struct source *s, double mpps);

#endif
