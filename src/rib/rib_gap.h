// SPDX-License-Identifier: BSD-3-Clause
// rib_gap.h - which routes a dump of IPv6 may have skipped
//
// The kernel fills a dump datagram by datagram, each under the lock of its
// table, and walks the tree in one order: what is below a prefix before the
// prefix, smaller addresses first. When the tree has changed between two of
// them it begins at the root and skips as many prefixes as it has shown; had
// one of these been deleted, it skips others too, and does not say so. Which
// ones can be told: those between the last row of the one datagram and the
// first of the next (a gap), and only if something before them was deleted
// since the dump began. What no row showed and what is in no gap is not there.
//
// Should a kernel walk in another order, then that is seen in the rows of one
// datagram, and everything is a gap. Of one thread, rib_manager.
#ifndef RIB_RIB_GAP_H
#define RIB_RIB_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"

enum rib_gap_table {
    RIB_GAP_ROUTER, // the router's own table
    RIB_GAP_LOCAL,  // the local one
    RIB_GAP_OTHER,  // nobody asks
    RIB_GAP_TABLES
};

struct rib_gap {
    struct prefix from, to; // from it on, and as far as this one or, `open`, the table's end
    bool open;
};

struct rib_gaps { // zeros: no dump
    struct rib_gap_walk {
        bool any;          // a row came
        struct prefix far; // the row that was farthest
        VEC(struct rib_gap) gap; // in the order of the walk
    } walk[RIB_GAP_TABLES];
    uint64_t datagram;          // of the last row
    enum rib_gap_table table;   // of the last row
    bool cut;                   // a datagram of this table began, and no row has told yet where
    bool follows;               // `row` is the one before in this table and datagram
    struct prefix row;
    bool deleted, deleted_any;  // something was deleted: `first`, or nobody knows what
    struct prefix first;        // of what was deleted, in the order of the walk
    bool unordered;
};

void rib_gaps_begin(struct rib_gaps *g); // the dump is asked for
void rib_gaps_fini(struct rib_gaps *g);
void rib_gaps_deleted(struct rib_gaps *g, const struct prefix *p); // an event told so; NULL: prefixes that it does not name
// A row, of the datagram of this number; NULL: it does not stand for a prefix of the tree (a cache entry, a route with a source).
void rib_gaps_row(struct rib_gaps *g, enum rib_gap_table table, uint64_t datagram, const struct prefix *p);
void rib_gaps_end(struct rib_gaps *g, uint64_t datagram); // that which tells that the dump is done
bool rib_gaps_have(const struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p); // may it have been skipped?

#endif
