// SPDX-License-Identifier: BSD-3-Clause
// address_bucket.h - more rules than few: a packet is compared with those on its source's shelf and
// on its destination's
//
// Each rule is put down by one of its addresses, where it meets the fewer others. For each prefix
// that some rule was put down by there is a shelf: all rules of that prefix and of those around it,
// sorted by number, 16 in a block (lane.h). A table for each side (address_bucket_net.h) finds the
// shelf of an address; what matches on either is found by comparing, and the lower number wins. A
// packet whose addresses have no shelf ends after these two looks. Rules from any to any are on all
// shelves of one side, that of all other addresses included.
//
// Beside the tuples of the same rules (classifier.h), which serve where there are too few or too
// many, where a shelf would be too long, all of them would take too much, or rules under tuples
// name address sets.
//
// A change makes the shelves of the prefix and of those inside it anew, aside, each published by
// one store; a deleted rule is only marked. A packet looks at one shelf of each side, so it meets a
// rule or does not. When there is no room left, readers go back to tuples and the list makes a new
// core, with new shelves.
#ifndef ACL_ADDRESS_BUCKET_H
#define ACL_ADDRESS_BUCKET_H

#include "acl/arena.h"
#include "acl/classifier.h"
#include "acl/lane.h"
#include "acl/address_bucket_net.h"

#define SHELF_BLOCKS_BITS 4u
#define SHELF_BLOCKS ((1u << SHELF_BLOCKS_BITS) - 1) // of a shelf
#define SHELF_WORDS LANE_WORDS(ACL_IP4)
#define SHELF_NAMES                                                                                \
    (LANE_COUNT * sizeof(uint64_t)) // behind a block's rows: each lane's number << 32 | slot
#define SHELF_UNIT (LANE_ROWS(SHELF_WORDS) * sizeof(lane_row) + SHELF_NAMES)

struct shelf_garbage { // waits for a grace period
    uint64_t epoch;
    uint32_t ref, n;
};

struct shelf {
    // readers; by side
    struct nets nets[2];
    uint32_t *place[2]; // [number of the prefix] first block << SHELF_BLOCKS_BITS | blocks; [0]: of
                        // all other addresses
    uint8_t *block;
    bool behind_gates; // they are many: whom gates keep out is not looked for here
    // writer
    struct arena arena;
    size_t bytes; // mapped: all but garbage
    struct shelf_garbage *garbage; // [garbage_from, n_garbage), by epoch
    uint32_t garbage_from, n_garbage, garbage_room;
};

// Of the core's rules under tuples. NULL: it does not pay, does not fit into so many bytes (0 = no
// limit), or there is no memory.
struct shelf *shelf_new(const struct acl_config *cfg, const struct core *c,
                        const struct core_rules *r, const uint8_t *tuple, size_t max_bytes);
void shelf_free(const struct acl_config *cfg, struct shelf *s);
uint64_t shelf_bytes(const struct shelf *s);        // what readers may touch
uint64_t shelf_writer_bytes(const struct shelf *s);
uint32_t shelf_longest(const struct shelf *s); // the most rules that a packet is compared with

// 0; or -ENOSPC, -ENOMEM: some shelves lack the rule, nobody may be sent here any more.
int shelf_add(struct shelf *s, const struct acl_rule *r, uint32_t slot, uint64_t epoch);
void shelf_del(struct shelf *s, const struct acl_rule *r, uint32_t slot);
void shelf_reclaim(struct shelf *s, uint64_t epoch);
int shelf_check(const struct shelf *s, const struct core *c, const struct core_rules *r,
                const uint8_t *tuple, char *why, size_t n);

static inline lane_row *shelf_rows(const struct shelf *s, uint32_t ref)
{
    return (lane_row *)(s->block + ref * SHELF_UNIT);
}

#endif
