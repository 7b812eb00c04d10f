// SPDX-License-Identifier: BSD-3-Clause
// acl_meter.h - rate limits of the police action, in bytes of layer 3 or in packets
//
// Token buckets (token_bucket.h), shared by all forwarders. Written by acl_manager; ids
// start at 1 and are reused after a grace period.
#ifndef TABLE_ACL_METER_H
#define TABLE_ACL_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "table/token_bucket.h"

#define ACL_METER_MAX 4096
#define ACL_METER_SHIFT 16

struct acl_meter {
    uint64_t per_byte; // ticks per byte, times 2^ACL_METER_SHIFT
    uint64_t per_packet; // ticks; one of the two is 0
    uint64_t depth;    // ticks in a full bucket
    uint64_t full_at;  // written by forwarders
    // writer only
    uint8_t state;
    uint32_t sharers; // holders beyond the first
    uint64_t ticket;
} __attribute__((aligned(64)));
extern struct acl_meter acl_meter_table[ACL_METER_MAX];

// --- writer: acl_manager ---
uint16_t
acl_meter_new(uint64_t kbps,
              uint64_t burst_bytes); // starts full; id, or 0: none free, or no rate or burst
uint16_t acl_meter_new_of_packets(uint32_t per_s, uint32_t burst);
void acl_meter_share(uint16_t id);                           // another holder
void acl_meter_free(uint16_t id);                            // no published action may name it

// --- forwarder: may `bytes` pass at TSC `now`? `dry`: takes no tokens ---
static inline bool acl_meter_passes(uint16_t id, uint32_t bytes, uint64_t now, bool dry)
{
    struct acl_meter *m = &acl_meter_table[id];
    uint64_t cost = (m->per_byte * bytes >> ACL_METER_SHIFT) + m->per_packet, until;

    now = token_bucket_ticks(now);
    until = now + m->depth - cost;
    if (cost > m->depth)
        return false;
    return dry ? __atomic_load_n(&m->full_at, __ATOMIC_RELAXED) <= until
               : token_bucket_take_cost(&m->full_at, cost, until, now);
}

#endif
