// SPDX-License-Identifier: BSD-3-Clause
// page.h - a replay port's counters and orders, in a file that the runner maps too
//
// Each queue's counters are written by the core that polls it and read by anybody at any time:
// 64-bit stores that never go backwards. Orders are written by the runner and read once a call.
// bench/replay/page.py has the same layout.
#ifndef REPLAY_PAGE_H
#define REPLAY_PAGE_H

#include <stdint.h>

#define PAGE_MAGIC 0x3150524b // "KRP1"
#define QUEUE_MAX 16

// What can be wrong with a frame. Order and names: page.py.
enum fault {
    FAULT_LENGTH,   // cut, grown, or in several buffers
    FAULT_MAC,      // source is not the port's own
    FAULT_TTL,      // not one less
    FAULT_CHECKSUM, // of the IPv4 header
    FAULT_PAYLOAD,  // by the UDP checksum, which covers addresses, ports and payload
    FAULT_HOP,      // destination MAC is not that of the next hop
    FAULT_PORT,     // right next hop, wrong port
    FAULT_VLAN,     // no tag, or not that of the virtual router it came in by
    N_FAULTS
};

struct page_rx {
    uint64_t packets, bytes, calls, empty; // empty: calls that gave nothing
    uint64_t no_buffer,
        missed; // packets: the pool was empty; no free descriptor at the offered rate
    uint64_t pad[2];
} __attribute__((aligned(64)));

struct page_tx {
    uint64_t packets, bytes, calls;
    uint64_t verified, foreign; // foreign: of those looked at, what we did not make (ARP, ICMP of
                                // the program's own)
    uint64_t fault[N_FAULTS];
    uint64_t pad[3];
} __attribute__((aligned(64)));

struct page {
    uint32_t magic, n_queues;
    uint64_t tsc_hz;
    uint32_t n_prefixes4, n_prefixes6;
    // orders
    uint32_t held;   // 1: receive gives nothing
    uint32_t verify; // 0, 1, 2: up to what the devargs prepared
    uint64_t rate;   // packets/s of each queue, 0 = flood
    uint64_t pad[3];
    struct page_rx rx[QUEUE_MAX];
    struct page_tx tx[QUEUE_MAX];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct page_rx) == 64 && sizeof(struct page_tx) == 128, "page.py");
_Static_assert(sizeof(struct page) == 64 + QUEUE_MAX * (64 + 128), "page.py");

#endif
