// SPDX-License-Identifier: BSD-3-Clause
// rib_gap.h - of which prefixes a dump of routes says nothing certain
//
// Overtaken: an event of the prefix stands in the queue just before its rows, so we do not know
// which of the two is newer (rib_sync.c).
//
// Skipped: the kernel fills a dump datagram by datagram, and goes on by counting.
// - IPv6: it walks the tree in one order: what is below a prefix before the prefix, smaller
//   addresses first. If the tree has changed between two datagrams, it begins at the root and skips
//   as many prefixes as it has shown; if one of these has been deleted, it skips others instead. So
//   rows may be missing between the last row of one datagram and the first of the next, and only if
//   something before them was deleted since the dump began. (A deletion alone does not make the
//   kernel begin again, so it counts later, too.)
// - IPv4: it walks addresses, smaller ones first, and has a list for each, of both tables and all
//   lengths, longer ones first. After a datagram that ends within such a list, it skips as many
//   routes of the list as it has passed; if one of these has been deleted, it skips others, or, if
//   none is left, some of the next address. So again rows may be missing between the two rows, and
//   only if a prefix with an address between theirs was deleted: while the first datagram was
//   filled or later, so the event stands behind the datagram before it. (An IPv4 deletion that is
//   announced but not yet made is the last event that there is, and we remember it longer.)
//
// The kernel does not report any of this. These places are the gaps: a prefix that no row showed
// and that is in no gap is not there. If a kernel walks in another order, the rows of one datagram
// show it, and everything is a gap. rib_manager's thread only.
#ifndef RIB_RIB_GAP_H
#define RIB_RIB_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"

enum rib_gap_table {
    RIB_GAP_ROUTER, // the router's own table
    RIB_GAP_LOCAL,  // the local one
    RIB_GAP_OTHER,  // another one
    RIB_GAP_TABLES
};

struct rib_gap {
    struct prefix from, to;
    enum rib_gap_end {
        RIB_GAP_BEFORE,
        RIB_GAP_WITH,
        RIB_GAP_OPEN
    } end; // before `to`, with it, or as far as the table's end
};

struct rib_gaps { // zeros: no dump
    uint8_t family;
    struct rib_gap_walk {
        bool any;          // a row came
        struct prefix far; // the row that was farthest
        VEC(struct rib_gap) gap; // in the order of the walk
    } walk[RIB_GAP_TABLES];
    uint64_t datagram;          // of the last row
    enum rib_gap_table table;   // of the last row
    bool cut;                   // a datagram of this table began, and no row has shown yet where
    bool follows;               // `row` is the one before in this table and datagram
    struct prefix row;
    // What was deleted. IPv4: since the last datagram of rows before such an event, and between
    // that one and the one before it.
    struct rib_gaps_deleted {
        bool any[RIB_GAP_TABLES]; // IPv6: in the table; in the order of the walk it begins with
        struct prefix first[RIB_GAP_TABLES];
        VEC(uint32_t) address; // IPv4
    } deleted[2];
    uint64_t deleted_since; // that datagram
    bool deleted_any;       // without a name
    bool unordered;
};

bool rib_gap_walks_before(const struct prefix *a, const struct prefix *b); // is `a` shown first?
void rib_gaps_begin(struct rib_gaps *g, uint8_t family); // the dump is asked for
void rib_gaps_fini(struct rib_gaps *g);
// An event told so; rib_gaps_deleted_any: without naming the prefixes.
void rib_gaps_deleted(struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p);
void rib_gaps_deleted_any(struct rib_gaps *g);
// A row, of the datagram of this number; NULL: it does not stand for a prefix of the tree (a cache
// entry, a route with a source).
void rib_gaps_row(struct rib_gaps *g, enum rib_gap_table table, uint64_t datagram,
                  const struct prefix *p);
// The prefix of the last rows.
void rib_gaps_overtaken(struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p);
void rib_gaps_end(struct rib_gaps *g, uint64_t datagram); // the one that says "done"
// Does the dump say nothing certain about it?
bool rib_gaps_have(const struct rib_gaps *g, enum rib_gap_table table, const struct prefix *p);
bool rib_gaps_any(const struct rib_gaps *g);
void rib_gaps_move(struct rib_gaps *to, struct rib_gaps *from);   // `from` is zeros then
void rib_gaps_narrow(struct rib_gaps *g, struct rib_gaps *other); // to both; `other` is used up

#endif
