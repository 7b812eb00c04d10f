// SPDX-License-Identifier: BSD-3-Clause
// port_memory.h - ports in memory: what a forwarder costs without what a port costs
//
// Receiving takes fresh buffers and copies a 64-byte line of ready headers into each (port_lines:
// or one of 128 bytes), as a NIC's DMA would; sending frees. A net_ring device lends its port id,
// its burst functions are replaced.
//
// Two kinds. port_lines: all ports read on in one table, one thread (forward_bench). source and
// sink: receive and transmit queues for several forwarders at once, which nobody else touches while
// they run. A source gives packets as fast as it is asked, or as they "arrive": then at most
// SOURCE_DEPTH wait, as in the descriptors of a NIC, what comes when they are full is lost, and
// each packet carries its time of arrival. Or it hands out what another core has put into a ring.
#ifndef BENCH_LIB_PORT_MEMORY_H
#define BENCH_LIB_PORT_MEMORY_H

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/frame.h"

#define SOURCE_LINE FRAME_LINE
#define SOURCE_STAMP 48u // where the time of arrival goes
#define SOURCE_PORTS 4u
#define SOURCE_QUEUES 32u // of each port: one for each forwarder
#define SOURCE_DEPTH 1024u

struct port_lines {
    const uint8_t *line; // n_lines of them, a power of two
    uint32_t n_lines;
    uint16_t stride;   // bytes of a line: SOURCE_LINE, or twice as many
    uint16_t bytes;    // of each frame, 60 = a 64-byte frame without its checksum
    uint64_t ol_flags; // of each buffer
};
extern struct port_lines port_lines; // set before polling, changed at will
extern uint64_t port_lines_sent;     // packets taken by all ports

struct source {
    const uint8_t (*line)[SOURCE_LINE]; // NULL: this queue gets nothing
    uint32_t n_lines, at;
    struct rte_mempool *pool;
    struct rte_ring *ring; // packets come from there instead
    uint16_t burst;        // at most so many at a time
    uint16_t bytes;        // of each frame, without its checksum
    bool whole;            // the payload is written too
    uint64_t given;        // packets
    // an offered load: TSC cycles between two packets; 0 = as fast as it is asked
    double apart, next; // next: the time of arrival of the first packet that has not arrived
    uint32_t first, waiting;
    uint64_t offered, lost; // packets that arrived, and those of them that found no room
    uint64_t arrived[SOURCE_DEPTH];
} __attribute__((aligned(128)));

struct sink {
    bool stamped, whole; // packets carry a time; their payload is read
    uint64_t sent;
    uint64_t delay_sum, delay_min, delay_max; // TSC cycles from arrival to here
    uint64_t n_delays, read;
} __attribute__((aligned(128)));

extern struct source source[SOURCE_PORTS][SOURCE_QUEUES];
extern struct sink sink[SOURCE_PORTS][SOURCE_QUEUES];

// Port `index` of one kind or the other: its DPDK id; ends the program where there is none.
uint16_t port_lines_new(unsigned index, struct rte_mempool *pool);
uint16_t source_port_new(unsigned index, struct rte_mempool *pool);
// The load begins now: `mpps` million packets a second, 0 = as fast as it is asked.
void source_start(struct source *s, double mpps);

#endif
