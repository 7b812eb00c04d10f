// SPDX-License-Identifier: BSD-3-Clause
// journal_priv.h - the ring and its next hops, private to this folder; rib_manager only
//
// A record is 44 bytes; a change of a route names its next hops by number. A number keeps its
// meaning as long as a record holds it.
#ifndef RIB_JOURNAL_JOURNAL_PRIV_H
#define RIB_JOURNAL_JOURNAL_PRIV_H

#include "rib/journal.h"

struct record {
    uint64_t time_ns;   // CLOCK_MONOTONIC
    uint8_t b[16];      // of the prefix
    uint32_t was, is;   // next hops, 0 = no route
    uint16_t vr;
    uint8_t len, was_protocol, protocol;
    uint8_t family; // 0 = the next hop itself
    uint8_t cause;
    uint8_t pad;
    uint16_t was_leaf, leaf; // next-hop ids in the FIB, maybe of aliases
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct record) == 44, "the size documents tell");

#define FIRST_RECORD (1ull << 40) // leaves room for records of an earlier process before it

struct ring {
    struct record *at; // [room]
    uint64_t room;
    uint64_t next;   // number of the next record, from FIRST_RECORD; record n is at[n % room]
    uint64_t oldest; // number of the oldest record kept
};
extern struct ring journal_ring;

static inline const struct record *record_at(uint64_t n)
{
    return &journal_ring.at[n % journal_ring.room];
}

// Start of the journal's knowledge about a table that was loaded at that time (0: not yet):
// monotonic ns; UINT64_MAX = none.
uint64_t journal_reach(uint64_t begin_ns);

// --- next hops by number, counted ---
void journal_nexthop_hold(uint32_t id);
void journal_nexthop_put(uint32_t id);
void journal_nexthop_copy(uint32_t id, struct journal_nexthop *to);
uint32_t journal_nexthop_top(void);            // all numbers are below it
uint32_t journal_nexthop_of(uint32_t nexthop); // current meaning of a next-hop id

#endif
