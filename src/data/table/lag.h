// SPDX-License-Identifier: BSD-3-Clause
// lag.h - link aggregation: which member sends a frame
//
// A LAG is an entry of the port table without a device, with one of the last LAG_MAX ids. Its
// members are ports (struct port's `lag`). The flow hash of a frame picks one of LAG_BUCKETS
// buckets, each of which holds a member's id.
//
// Written by control (lag/lag_active.c), byte by byte: each bucket is valid by itself. Read by
// every forwarder with a frame for it.
#ifndef TABLE_LAG_H
#define TABLE_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "table/limits.h"

#define LAG_BUCKETS 64
#define LAG_NO_MEMBER 0xff // in a bucket: drop reason LAG_NO_MEMBER

struct lag {
    // reader: forwarder
    uint8_t bucket[LAG_BUCKETS]; // port id of a member
    bool lacp;                   // accepts LACPDUs
    uint8_t system[6]; // our LACP system id: LACPDUs with it have looped back to us
} __attribute__((aligned(64)));

extern struct lag lag_table[LAG_MAX];

static inline bool lag_is(uint16_t port)
{
    return port >= LAG_FIRST;
}

static inline struct lag *lag_get(uint16_t port)
{
    return &lag_table[port - LAG_FIRST];
}

// Returns the member for a flow. Mixes the hash again, because an ECMP group has chosen by some of
// its bits.
static inline uint8_t lag_member(uint16_t port, uint32_t flow_hash)
{
    return __atomic_load_n(&lag_get(port)->bucket[hash_mix64(flow_hash) % LAG_BUCKETS],
                           __ATOMIC_RELAXED);
}

// --- control ---
// Distributes the buckets evenly over these members, changing as few as possible.
void lag_share(struct lag *lag, const uint8_t *member, unsigned n);

#endif
