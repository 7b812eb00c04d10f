// SPDX-License-Identifier: BSD-3-Clause
// journal.h - what the FIB's routes were: every change of them, in a ring of bounded size
//
// A record is 40 bytes: when, which prefix, from which next hop to which, who made the route, why
// it changed. A next hop in the journal is what an id of the next-hop table stood for at that
// time, legs and all; equal ones are stored once and counted. When the legs of a group change, no
// prefix does: then there is one record of the next hop. So undoing records, newest first, leads
// from today's table to that of any time since the oldest record (journal_query.c).
//
// rib_manager writes it, at each change that reaches the FIB (rib_fib.c) and whenever an id gets
// another meaning (journal_describe.c). Control asks through rib_manager's mailbox. Cost: some 3 %
// of what rib_manager does for a change.
#ifndef RIB_JOURNAL_H
#define RIB_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"

enum journal_cause { // why a route changed
    JOURNAL_KERNEL,   // the kernel announced it
    JOURNAL_LINK,     // a link, an address or a next-hop object changed
    JOURNAL_NEIGHBOR, // a host on a link came or went
    JOURNAL_RESYNC,   // a dump after lost events, or one that verifies
    JOURNAL_AUDIT,    // an audit repaired it
    JOURNAL_IMPORT,   // another virtual router's route, which is imported, changed
    JOURNAL_CAUSES
};

#define JOURNAL_LEGS 16 // kept of one next hop

struct journal_leg {
    char iface[16];
    struct ip_addr gateway; // family 0 = on link
    uint16_t weight;
};

struct journal_nexthop {
    uint32_t nexthop; // id it had
    uint8_t kind;     // enum nexthop_kind; a gateway's is ADJACENCY, resolved or not
    uint8_t n_legs;
    uint16_t n_more; // legs not kept
    struct journal_leg leg[JOURNAL_LEGS];
};

// --- writer: rib_manager ---
int journal_init(void); // 0 or -errno
void journal_fini(void);
// 0 = nothing is kept; the newest records stay. 0, or -ENOMEM and nothing changed.
int journal_resize(uint32_t mib);
void journal_because(enum journal_cause c);    // of the records from now on
void journal_new_moment(void);                 // the next record looks at the clock again
void journal_loaded(uint16_t vr, uint8_t family); // a table came as a whole: its history begins now
bool journal_knows(uint32_t nexthop);
// What an id means now. `n_legs` may be more than JOURNAL_LEGS. Said again with other legs, it is a
// record.
void journal_describe(uint16_t vr, uint32_t nexthop, uint8_t kind, const struct journal_leg *leg,
                      unsigned n_legs);
void journal_forget(uint32_t nexthop); // the id is free
// The FIB's entry for p changed. Both ids are described; 0 = no route.
void journal_route(uint16_t vr, const struct prefix *p, uint32_t was, uint8_t was_protocol,
                   uint32_t is, uint8_t protocol);

// --- journal_describe.c: what ids mean, for rib_manager ---
struct hop_set;
struct rib_vr;
void journal_describe_group(struct rib_vr *v, const struct hop_set *s); // a group's legs changed
// Hops of the route's path; NULL: p is a neighbor of its own.
void journal_describe_nexthop(struct rib_vr *v, const struct hop_set *s, const struct prefix *p,
                              uint32_t nexthop);

// --- control, asking: the answer comes as a call on the control loop ---
struct journal_query {
    int vr;         // -1 = all
    uint8_t family; // 0 = both, and next hops
    enum { JOURNAL_ALL, JOURNAL_EXACT, JOURNAL_LONGER, JOURNAL_COVERING } match;
    struct prefix prefix;
    uint64_t from_ns;  // CLOCK_MONOTONIC: as far back as this
    unsigned limit;    // rows, newest first
    uint64_t from;     // of journal_tail: number of the first record, UINT64_MAX = only the end
    uint64_t before;   // of journal_changes: number of the record to begin behind; 0 = the newest
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
    uint64_t since_ns;   // wall clock: the journal reaches back so far, for what was asked
    bool reached, cut;   // it reaches back to from_ns; there were more rows than the limit
    VEC(struct journal_row) row;
    VEC(struct journal_nexthop) nexthop;
    bool found;          // of journal_at: there was a route
    struct prefix prefix;
    uint8_t protocol;
    uint32_t is;
    uint64_t next; // where to go on: the next journal_tail's `from`, journal_changes' `before`
    uint64_t lost; // of journal_tail: records beyond the limit
};

// All: 0 or -errno. The answer is freed when `done` returns.
int journal_changes(const struct journal_query *q,
                    void (*done)(void *ctx, const struct journal_answer *a), void *ctx);
// Longest match (JOURNAL_COVERING, prefix = host) or exact prefix as it was at from_ns; vr and
// family are given.
int journal_at(const struct journal_query *q,
               void (*done)(void *ctx, const struct journal_answer *a), void *ctx);

// What was written since record `from`, oldest first; of more than the limit the newest ones.
int journal_tail(const struct journal_query *q,
                 void (*done)(void *ctx, const struct journal_answer *a), void *ctx);

// What outlives a planned stop: the newest `limit` rows, newest first, and such rows of an earlier
// process put before ours. Rows that are too old for this boot's clock are left out. Both wait for
// rib_manager: 0 or -errno; the caller frees the vectors of the answer.
int journal_save(unsigned limit, struct journal_answer *a);
int journal_restore(const struct journal_answer *a);

struct journal_stats {
    uint32_t mib;
    uint64_t room, records, changes; // records: capacity, present, written
    uint64_t since_ns;               // wall clock of the oldest; 0 = none
    uint64_t nexthops, nexthop_bytes;
    uint64_t nexthops_refused; // no space for their legs, only their kind was kept
};
void journal_stats(struct journal_stats *s); // rib_manager
int journal_ask_stats(void (*done)(void *ctx, const struct journal_stats *s), void *ctx); // control

const char *journal_cause_name(enum journal_cause c);

#endif
