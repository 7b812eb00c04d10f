// SPDX-License-Identifier: BSD-3-Clause
// page.h - a replay port's counters and orders, in a file that the runner also maps
//
// The core that polls a queue writes its counters, and anyone may read them at any time: 64-bit
// stores that never go back. The runner writes orders, which are read once per call.
// bench/replay/page.py has the same layout.
#ifndef REPLAY_PAGE_H
#define REPLAY_PAGE_H

#include <stdint.h>

#define PAGE_MAGIC 0x3150524b // "KRP1"
#define QUEUE_MAX 16

// Faults of a frame. Order and names as in page.py.
enum fault {
    FAULT_LENGTH,   // truncated, grown, or in several buffers
    FAULT_MAC,      // source is not the port
    FAULT_TTL,      // not decremented by one
    FAULT_CHECKSUM, // of the IPv4 header
    FAULT_PAYLOAD,  // by the UDP checksum, which covers addresses, ports and payload
    FAULT_HOP,      // destination MAC is not the next hop's
    FAULT_PORT,     // right next hop, wrong port
    FAULT_VLAN,     // no tag, or not the tag of the virtual router of its arrival
    N_FAULTS
};

struct page_rx {
    uint64_t packets, bytes, calls, empty; // empty: calls without packets
    uint64_t no_buffer,
        missed; // packets: pool empty, or no free descriptor at the offered rate
    uint64_t pad[2];
} __attribute__((aligned(64)));

struct page_tx {
    uint64_t packets, bytes, calls;
    uint64_t verified, foreign; // foreign: checked frames that are not ours (ARP, ICMP of
                                // the program)
    uint64_t fault[N_FAULTS];
    uint64_t pad[3];
} __attribute__((aligned(64)));

struct page {
    uint32_t magic, n_queues;
    uint64_t tsc_hz;
    uint32_t n_prefixes4, n_prefixes6;
    // Orders.
    uint32_t held;   // 1: receive returns no packets
    uint32_t verify; // 0, 1, 2: up to the devargs' level
    uint64_t rate;   // packets/s per queue, 0 = flood
    uint64_t pad[3];
    struct page_rx rx[QUEUE_MAX];
    struct page_tx tx[QUEUE_MAX];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct page_rx) == 64 && sizeof(struct page_tx) == 128, "page.py");
_Static_assert(sizeof(struct page) == 64 + QUEUE_MAX * (64 + 128), "page.py");

#endif
