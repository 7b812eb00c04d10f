// SPDX-License-Identifier: BSD-3-Clause
// rib_gap.h - prefixes for which a route dump is not conclusive
//
// Overtaken: an event of the prefix stands in the queue just before its rows, so either of the two
// may be newer (rib_sync.c).
//
// Skipped: the kernel fills a dump datagram by datagram, and finds its place again by counting.
// - IPv6: the kernel walks the tree in a fixed order: longer prefixes before the prefix that covers
//   them, smaller addresses first. If the tree changed between two datagrams, it starts at the root
//   and skips as many prefixes as it has shown; if one of these was deleted, it skips others
//   instead. So rows may be missing between the last row of one datagram and the first of the next,
//   but only if a prefix before them was deleted since the dump began. (A deletion alone does not
//   restart the walk, so it matters later, too.)
// - IPv4: the kernel walks addresses, smaller ones first. Each address has one list for both tables
//   and all lengths, longer ones first. After a datagram that ends within such a list, the kernel
//   skips as many routes of the list as it has passed; if one of these was deleted, it skips
//   others, or, if none is left, some of the next address. So again rows may be missing between the
//   two rows, but only if a prefix with an address between theirs was deleted while the first
//   datagram was filled or later; the event then stands behind the datagram before it. (An IPv4
//   deletion that is announced but not yet made is always the latest event, so we remember it
//   longer.)
//
// The kernel does not report any of this. These places are the gaps: a prefix without a row and
// outside every gap does not exist. If a kernel walks in another order, the rows of one datagram
// reveal it, and everything becomes a gap. rib_manager's thread only.
#ifndef RIB_RIB_GAP_H
#define RIB_RIB_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"

enum rib_gap_table {
    RIB_GAP_ROUTER, // the router's own table
    RIB_GAP_LOCAL,  // the local table
    RIB_GAP_OTHER,  // another table
    RIB_GAP_TABLES
};

struct rib_gap {
    struct prefix from, to;
    enum rib_gap_end {
        RIB_GAP_BEFORE,
        RIB_GAP_WITH,
        RIB_GAP_OPEN
    } end; // before `to`, including it, or to the end of the table
};

struct rib_gaps { // zeros: no dump
    uint8_t family;
    struct rib_gap_walk {
        bool any;          // a row came
        struct prefix far; // farthest row
        VEC(struct rib_gap) gap; // in the order of the walk
    } walk[RIB_GAP_TABLES];
    uint64_t datagram;          // of the last row
    enum rib_gap_table table;   // of the last row
    bool cut;                   // a datagram of this table began; its position is not known yet
    bool follows;               // `row` is the previous row of this table and datagram
    struct prefix row;
    // Deletions. IPv4: since the last datagram of rows before such an event, and between that
    // datagram and its predecessor.
    struct rib_gaps_deleted {
        bool any[RIB_GAP_TABLES]; // IPv6: any in the table; first[]: first of them in walk order
        struct prefix first[RIB_GAP_TABLES];
        VEC(uint32_t) address; // IPv4
    } deleted[2];
    uint64_t deleted_since; // number of that datagram
    bool deleted_any;       // deletions of unnamed prefixes
    bool unordered;
};

bool rib_gap_walks_before(const struct prefix *a, const struct prefix *b); // does `a` come first?
void rib_gaps_begin(struct rib_gaps *g, uint8_t family); // the dump is requested
void rib_gaps_fini(struct rib_gaps *g);
// An event announced a deletion; rib_gaps_deleted_any: without naming the prefix.
void rib_gaps_deleted(struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p);
void rib_gaps_deleted_any(struct rib_gaps *g);
// A row of the datagram with this number; NULL: the row is not a prefix of the tree (a cache entry,
// a route with a source).
void rib_gaps_row(struct rib_gaps *g, enum rib_gap_table table, uint64_t datagram,
                  const struct prefix *p);
// Marks the prefix of the last rows as overtaken.
void rib_gaps_overtaken(struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p);
void rib_gaps_end(struct rib_gaps *g, uint64_t datagram); // the datagram with the "done" message
// Is the dump inconclusive for the prefix?
bool rib_gaps_have(const struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p);
bool rib_gaps_any(const struct rib_gaps *g);
void rib_gaps_move(struct rib_gaps *to, struct rib_gaps *from);   // Leaves `from` zeroed
void rib_gaps_narrow(struct rib_gaps *g, struct rib_gaps *other); // intersects; uses up `other`

#endif
