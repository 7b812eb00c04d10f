// SPDX-License-Identifier: BSD-3-Clause
// lag.h - link aggregation: by which member a frame leaves
//
// A LAG is an entry of the port table without a device: its id is one of the last LAG_MAX. Its
// members are ports (struct port's `lag`). The hash of a frame's flow chooses one of LAG_BUCKETS
// buckets, each of which holds a member's id.
//
// Written by control (port/lag_active.c), byte by byte: each bucket alone is right. Read by every
// forwarder that has a frame for it.
#ifndef TABLE_LAG_H
#define TABLE_LAG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "table/limits.h"

#define LAG_BUCKETS 64
#define LAG_NO_MEMBER 0xff // in a bucket: drop LAG_NO_MEMBER

struct lag {
    // reader: forwarder
    uint8_t bucket[LAG_BUCKETS]; // port id of a member
    bool lacp;                   // LACPDUs are taken
    uint8_t system[6]; // our system of LACP: LACPDUs that say they are from it have come back to us
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

// The member by which a flow leaves. The hash is mixed once more: an ECMP group has chosen by some
// of its bits.
static inline uint8_t lag_member(uint16_t port, uint32_t flow_hash)
{
    return __atomic_load_n(&lag_get(port)->bucket[hash_mix64(flow_hash) % LAG_BUCKETS],
                           __ATOMIC_RELAXED);
}

// --- control ---
// Shares the buckets evenly among these members; as few buckets as possible change.
void lag_share(struct lag *lag, const uint8_t *member, unsigned n);

#endif
