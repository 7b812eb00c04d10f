// SPDX-License-Identifier: BSD-3-Clause
// replay.h - shared by the parts of the replay driver
//
//     net_replay.c  the DPDK device: operations, receive and transmit
//     option.c      its devargs
//     page.h        counters and orders, shared with the runner
//     route.c       the routes file: its own trie, independent of every program under test
//     traffic.c     the packets, as lines that receive copies
//     verify.c      checks forwarded frames
//
// Everything is allocated when the port is configured; afterwards only queues and the page change.
#ifndef REPLAY_H
#define REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "page.h"

#define LINE 64u   // bytes: unit of copying, as a NIC writes cache lines
#define HOP_NONE UINT16_MAX

enum pattern { PATTERN_UNIFORM, PATTERN_PREFIX, PATTERN_FLOW };

struct option {
    uint64_t entries;   // packets of the port's table, a power of two
    uint64_t seed;
    unsigned size;      // bytes of a frame on the wire, FCS included
    unsigned families;  // 4, 6 or 46
    unsigned pattern;   // enum pattern
    unsigned vlan_low, vlan_high; // 0 = untagged
    unsigned hops;      // next hops of the routes file
    unsigned ports, index;        // ports of the program, and index of this one
    unsigned ring, verify, checksum_good, fast_free;
    uint64_t rate;      // packets/s per queue, 0 = as fast as they are taken
    unsigned held;      // start without traffic
    char routes[256], page[256];
    struct rte_ether_addr mac;
};

// Fills in defaults and devargs. -EINVAL after a message.
int option_parse(struct option *o, const char *devargs);

// --- route.c ---

struct route_prefix {
    uint8_t address[16]; // left-aligned
    uint8_t len;         // bits
};

struct route_family {
    struct route_prefix *prefix;
    uint32_t n, n_room;
    struct route_node *node; // the trie; [0] is its root if there is a route
    uint32_t n_nodes, n_nodes_room;
};

struct route_table {
    struct route_family ip4, ip6;
};

// Reads "PREFIX [HOP]" lines; without HOP, prefix i of a family has next hop i % hops. A repeated
// prefix keeps its first next hop. All ports of the process that name the same file share the
// table. NULL after a message.
struct route_table *route_table_get(const char *path, unsigned hops);
void route_table_put(struct route_table *t);

// Next hop of the longest matching prefix, HOP_NONE if there is none. `bits` is 32 or 128.
uint16_t route_find(const struct route_family *f, const uint8_t *address, unsigned bits);

// --- traffic.c ---

struct traffic {
    uint8_t *line;      // entries x stride bytes
    uint8_t *family;    // of each entry: 0 IPv4, 1 IPv6; NULL if all are the same
    uint64_t mask;      // entries - 1
    uint32_t stride;    // bytes: LINE or 2 * LINE
    size_t bytes;
    uint16_t length[2]; // of a frame without FCS, by family
};

int traffic_make(struct traffic *t, const struct option *o, const struct route_table *routes);
void traffic_free(struct traffic *t);
void traffic_set_mac(struct traffic *t, const struct rte_ether_addr *mac); // of the receiver

// Sum of 16-bit words in network order, folded: 0xffff for a header with a right checksum.
uint16_t traffic_sum(const void *data, unsigned bytes, uint32_t sum);
uint32_t traffic_pseudo_header(const uint8_t *ip, bool is_ip6, unsigned udp_bytes);

// --- verify.c ---

void verify_frame(const struct option *o, const struct route_table *routes,
                  const struct rte_mbuf *m, struct page_tx *count);

#define SAY(...) fprintf(stderr, "net_replay: " __VA_ARGS__)

#endif
