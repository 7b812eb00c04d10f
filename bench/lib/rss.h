// SPDX-License-Identifier: BSD-3-Clause
// rss.h - the papers' traffic, spread over receive queues as RSS does it
#ifndef BENCH_LIB_RSS_H
#define BENCH_LIB_RSS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/table.h"
#include "lib/port_memory.h"

#define TRAFFIC_LINES (1u << 17) // prepared packets per port; then from the start again

enum traffic_pattern {
    TRAFFIC_STRAIGHT, // port 0 to 1.0.0.0/24, port 3 to 1.0.4.0/24
    TRAFFIC_CROSS,    // the other way round
    TRAFFIC_RANDOM,   // any unicast address
    TRAFFIC_LOOPBACK, // any address of 1.0.0.0 to 223.255.255.255, 127.0.0.0/8 too
    TRAFFIC_PREFIX,   // any address with a route in the table
    TRAFFIC_FLOWS,    // as many addresses as there are flows
    TRAFFIC_PORTS,    // one pair of addresses, any UDP port
    TRAFFIC_PATTERNS
};
extern const char *const traffic_pattern_name[TRAFFIC_PATTERNS];

// Input of the NIC's hash (Toeplitz, the key of all drivers): nothing, addresses, or also UDP
// ports.
enum traffic_rss { TRAFFIC_RSS_NONE, TRAFFIC_RSS_IP, TRAFFIC_RSS_ALL, TRAFFIC_RSS_N };
extern const char *const traffic_rss_name[TRAFFIC_RSS_N];

struct traffic_of {
    enum traffic_pattern pattern;
    enum traffic_rss rss;
    unsigned flows, bytes; // bytes of a frame, with checksum
};

// Writes TRAFFIC_LINES header lines for `port`, grouped by queue: queue q has n_of[q] lines from
// line[first_of[q]] on.
void traffic_lines(const struct traffic_of *t, const struct table *routes, unsigned port,
                   unsigned n_queues, uint8_t (*line)[SOURCE_LINE], uint32_t *first_of,
                   uint32_t *n_of);

#endif
