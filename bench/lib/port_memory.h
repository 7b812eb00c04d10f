// SPDX-License-Identifier: BSD-3-Clause
// port_memory.h - ports in memory with queues, an offered load and a clock
//
// For the papers' experiments: several forwarders at once, each with receive and
// transmit queues of its own, which nobody else touches while it runs. A receive
// queue makes packets of ready header lines, as fast as it is asked or as they
// "arrive": then at most SOURCE_DEPTH wait, as in the descriptors of a NIC, what
// comes when they are full is lost, and each packet carries its time of arrival.
// Or it hands out what another core has put into a ring. A transmit queue counts,
// and frees.
#ifndef BENCH_PAPER_SOURCE_H
#define BENCH_PAPER_SOURCE_H

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdbool.h>
#include <stdint.h>

#define SOURCE_LINE                                                                                \
    64u // bytes of a frame that are written: Ethernet, IPv4, UDP, and where the time of arrival
        // goes
#define SOURCE_STAMP 48u // its offset in the frame
#define SOURCE_PORTS 4u
#define SOURCE_QUEUES 32u // of each port: one for each forwarder
#define SOURCE_DEPTH 1024u

struct source {
    const uint8_t (*line)[SOURCE_LINE]; // NULL: this queue gets nothing
    uint32_t n_lines, at;
    struct rte_mempool *pool;
    struct rte_ring *ring; // packets come from there instead
    uint16_t burst;        // at most so many at a time
    uint16_t bytes;        // of each frame, without its checksum
    bool whole;            // the payload is written too
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

// Makes port `index`; its DPDK id, or -1.
int source_port_new(unsigned index, struct rte_mempool *pool);
// The load begins now: `mpps` million packets a second, 0 = as fast as it is asked.
void source_start(struct source *s, double mpps);

#endif
