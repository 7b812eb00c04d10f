// SPDX-License-Identifier: BSD-3-Clause
// address_bucket.h - more rules than few: a packet is compared with those on its source's bucket
// and on its destination's
//
// Each rule is put down by one of its addresses, where it meets the fewer others. For each prefix
// that some rule was put down by there is a bucket: all rules of that prefix and of those around
// it, sorted by number, 16 in a block (lane.h). A table for each side (address_bucket_net.h) finds
// the bucket of an address; what matches on either is found by comparing, and the lower number
// wins. A packet whose addresses have no bucket ends after these two looks. Rules from any to any
// are on all buckets of one side, that of all other addresses included.
//
// Beside the tuples of the same rules (classifier.h), which serve where there are too few or too
// many, where a bucket would be too long, all of them would take too much, or rules under tuples
// name address sets.
//
// A change makes the buckets of the prefix and of those inside it anew, aside, each published by
// one store; a deleted rule is only marked. A packet looks at one bucket of each side, so it meets
// a rule or does not. When there is no room left, readers go back to tuples and the list makes a
// new core, with new buckets.
#ifndef ACL_ADDRESS_BUCKET_H
#define ACL_ADDRESS_BUCKET_H

#include "acl/arena.h"
#include "acl/classifier.h"
#include "acl/lane.h"
#include "acl/address_bucket_net.h"

#define BUCKET_BLOCKS_BITS 4u
#define BUCKET_BLOCKS ((1u << BUCKET_BLOCKS_BITS) - 1) // of a bucket
#define BUCKET_WORDS LANE_WORDS(ACL_IP4)
// behind a block's rows: each lane's number << 32 | slot
#define BUCKET_NAMES (LANE_COUNT * sizeof(uint64_t))
#define BUCKET_UNIT (LANE_ROWS(BUCKET_WORDS) * sizeof(lane_row) + BUCKET_NAMES)

struct bucket_garbage { // waits for a grace period
    uint64_t epoch;
    uint32_t ref, n;
};

struct address_buckets {
    // readers; by side
    struct nets nets[2];
    // [number of the prefix] first block << SHELF_BLOCKS_BITS | blocks; [0]: of all other addresses
    uint32_t *place[2];
    uint8_t *block;
    bool behind_prefilter; // they are many: whom tuple indexes keep out is not looked for here
    // writer
    struct arena arena;
    size_t bytes;                   // mapped: all but garbage
    struct bucket_garbage *garbage; // [garbage_from, n_garbage), by epoch
    uint32_t garbage_from, n_garbage, garbage_room;
};

// Of the core's rules under tuples. NULL: it does not pay, does not fit into so many bytes (0 = no
// limit), or there is no memory.
struct address_buckets *address_buckets_new(const struct acl_config *cfg,
                                            const struct classifier *c,
                                            const struct classifier_rules *r, const uint8_t *tuple,
                                            size_t max_bytes);
void address_buckets_free(const struct acl_config *cfg, struct address_buckets *s);
uint64_t address_buckets_bytes(const struct address_buckets *s); // what readers may touch
uint64_t address_buckets_writer_bytes(const struct address_buckets *s);
// the most rules that a packet is compared with
uint32_t address_buckets_longest(const struct address_buckets *s);

// 0; or -ENOSPC, -ENOMEM: some buckets lack the rule, nobody may be sent here any more.
int address_buckets_add(struct address_buckets *s, const struct acl_rule *r, uint32_t slot,
                        uint64_t epoch);
void address_buckets_del(struct address_buckets *s, const struct acl_rule *r, uint32_t slot);
void address_buckets_reclaim(struct address_buckets *s, uint64_t epoch);
int address_buckets_check(const struct address_buckets *s, const struct classifier *c,
                          const struct classifier_rules *r, const uint8_t *tuple, char *why,
                          size_t n);

static inline lane_row *bucket_rows(const struct address_buckets *s, uint32_t ref)
{
    return (lane_row *)(s->block + ref * BUCKET_UNIT);
}

#endif
