// SPDX-License-Identifier: BSD-3-Clause
// journal.h - history of the FIB's routes: each change, in a ring of bounded size
//
// A record takes 44 bytes: time, prefix, old and new next hop, protocol of the route, cause. The
// journal copies a next hop as it was in the next-hop table at that time, legs included; equal ones
// are stored once and counted. When the legs of a group change, no prefix changes; the journal then
// writes one record for the next hop. So undoing records, newest first, leads from today's table
// back to any time since the oldest record (journal_query.c).
//
// rib_manager writes the journal at each change that reaches the FIB (rib_fib.c) and whenever an id
// changes its meaning (journal_describe.c). Control asks through rib_manager's mailbox. Cost: about
// 3 % of rib_manager's work for a change.
#ifndef RIB_JOURNAL_H
#define RIB_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/label_stack.h"
#include "base/vec.h"

enum journal_cause { // why a route changed
    JOURNAL_KERNEL,   // the kernel announced it
    JOURNAL_LINK,     // a link, an address or a next-hop object changed
    JOURNAL_NEIGHBOR, // a host on a link came or went
    JOURNAL_RESYNC,   // dump after lost events, or verification
    JOURNAL_AUDIT,    // an audit repaired it
    JOURNAL_IMPORT,   // an imported route changed in its source
    JOURNAL_CAUSES
};

#define JOURNAL_LEGS 16 // kept per next hop

struct journal_leg {
    char iface[16];
    struct ip_addr gateway; // family 0 = on link
    struct label_stack labels;
    uint16_t weight;
};

struct journal_nexthop {
    uint32_t nexthop; // its id at that time
    uint8_t kind;     // enum nexthop_kind; ADJACENCY for a gateway, resolved or not
    uint8_t n_legs;
    uint16_t n_more; // legs not kept
    struct journal_leg leg[JOURNAL_LEGS];
};

// --- writer: rib_manager ---
int journal_init(void); // 0 or -errno
void journal_fini(void);
// 0 = keep nothing; resizing keeps the newest records. Returns 0, or -ENOMEM and changes nothing.
int journal_resize(uint32_t mib);
void journal_because(enum journal_cause c);    // cause of all records from now on
void journal_new_moment(void);                 // the next record reads the clock again
bool journal_knows(uint32_t nexthop);
// Meaning of an id from now on. `n_legs` may exceed JOURNAL_LEGS. Calling it again with other legs
// writes a record.
void journal_describe(uint16_t vr, uint32_t nexthop, uint8_t kind, const struct journal_leg *leg,
                      unsigned n_legs);
void journal_forget(uint32_t nexthop); // the id is free
// The FIB entry of p changed. Both ids, without alias, must be described; 0 = no route.
void journal_route(uint16_t vr, const struct prefix *p, uint32_t was, uint8_t was_protocol,
                   uint32_t is, uint8_t protocol);

// --- journal_describe.c: meaning of ids, for rib_manager ---
struct hop_set;
struct rib_vr;
void journal_describe_group(struct rib_vr *v, const struct hop_set *s); // a group's legs changed
// `s`: hops of the route's path; NULL if p is a neighbor's own host route.
void journal_describe_nexthop(struct rib_vr *v, const struct hop_set *s, const struct prefix *p,
                              uint32_t nexthop);

// --- queries from control: the answer arrives as a call on the control loop ---
struct journal_query {
    int vr;         // -1 = all
    uint8_t family; // 0 = both, and next hops
    enum { JOURNAL_ALL, JOURNAL_EXACT, JOURNAL_LONGER, JOURNAL_COVERING } match;
    struct prefix prefix;
    uint64_t from_ns;  // CLOCK_MONOTONIC: oldest time wanted
    unsigned limit;    // rows, newest first
    uint64_t from;     // journal_tail: number of the first record, UINT64_MAX = only the end
    uint64_t before;   // journal_changes: number of the record to begin behind; 0 = the newest
};

struct journal_row {
    uint64_t wall_ns; // since 1970
    uint16_t vr;
    struct prefix prefix; // family 0 = the next hop changed
    uint8_t cause, was_protocol, protocol;
    uint32_t was, is; // 1 + index in nexthop[]; 0 = no route
};

struct journal_answer {
    int result;          // -errno
    uint64_t since_ns;   // wall clock: the journal covers this query since then
    bool reached, cut;   // covers from_ns; there were more rows than the limit
    VEC(struct journal_row) row;
    VEC(struct journal_nexthop) nexthop;
    bool found;          // journal_at: there was a route
    struct prefix prefix;
    uint8_t protocol;
    uint32_t is;
    uint32_t leaf;       // next-hop id that the FIB had, maybe of an alias
    uint64_t next; // where to continue: `from` of journal_tail, `before` of journal_changes
    uint64_t lost; // journal_tail: records beyond the limit
};

// All: 0 or -errno. The answer is freed when `done` returns;
// `done` may take its vectors.
int journal_changes(const struct journal_query *q,
                    void (*done)(void *ctx, struct journal_answer *a), void *ctx);
// Longest match (JOURNAL_COVERING, prefix = host) or exact prefix as of from_ns; vr and family must
// be set.
int journal_at(const struct journal_query *q,
               void (*done)(void *ctx, struct journal_answer *a), void *ctx);

// The same, at once: rib_manager. The caller frees the vectors of the answer.
void journal_at_now(const struct journal_query *q, struct journal_answer *a);

// Records since record `from`, oldest first; keeps the newest ones if the limit is exceeded.
int journal_tail(const struct journal_query *q,
                 void (*done)(void *ctx, struct journal_answer *a), void *ctx);

// Saved across a planned stop: journal_save() returns the newest `limit` rows, newest first;
// journal_restore() inserts rows of an earlier process before ours. Rows older than this boot's
// clock are left out. Both wait for rib_manager and return 0 or -errno; the caller frees the
// vectors of the answer.
int journal_save(unsigned limit, struct journal_answer *a);
int journal_restore(const struct journal_answer *a);

struct journal_stats {
    uint32_t mib;
    uint64_t room, records, changes; // records: capacity, present, written
    uint64_t since_ns;               // wall clock of the oldest; 0 = none
    uint64_t nexthops, nexthop_bytes;
    uint64_t nexthops_refused; // out of space for legs, only the kind was kept
};
void journal_stats(struct journal_stats *s); // rib_manager
int journal_ask_stats(void (*done)(void *ctx, const struct journal_stats *s), void *ctx); // control

const char *journal_cause_name(enum journal_cause c);

#endif
