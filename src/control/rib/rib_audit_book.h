// SPDX-License-Identifier: BSD-3-Clause
// rib_audit_book.h - what an audit keeps of a virtual router, and how everything else informs it
// (rib_audit.h tells the steps)
//
// Written by rib_manager; control sees copies. One struct in each struct rib_vr.
#ifndef RIB_RIB_AUDIT_BOOK_H
#define RIB_RIB_AUDIT_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"
#include "rib/rib_manager.h"

#define RIB_BLOCKS 2048 // of prefixes, by hash; some 500 each with a full table

struct rib;
struct rib_vr;

enum rib_audit_step { AUDIT_IDLE, AUDIT_KERNEL, AUDIT_FIB, AUDIT_SURPLUS, AUDIT_ROUTES };

struct rib_audit {
    enum rib_audit_step step;
    bool asked;        // by command: at full speed, and every prefix is looked up
    bool begun, family6; // the cursor is valid; which family it is at
    struct prefix cursor; // the last prefix looked at
    uint64_t seen[RIB_BLOCKS]; // what the walk of the FIB has added up
    bool differs[RIB_BLOCKS];
    unsigned n_differs;
    uint32_t sample;    // of every so many prefixes one is looked up; counts down
    bool broken_lookup; // a lookup was wrong: the structure is made anew
    struct rib_audit_report now, last;
    uint64_t begin_ns, next_ns; // next periodic one
    VEC(struct rib_asker {
        void (*done)(void *ctx, const struct rib_audit_report *r);
        void *ctx;
    }) asker; // the first n_askers of them are served by the audit that is running
    size_t n_askers;
};

// Is an audit under way?
static inline bool rib_audit_running(const struct rib_audit *a)
{
    return a->step != AUDIT_IDLE;
}

// --- rib_manager ---
// The FIB's entry changed from one next hop to another: the sums follow. Also when it is loaded.
void rib_audit_changed(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t was,
                       uint32_t is);
void rib_audit_forget(struct rib *r);                          // the FIB is empty again
void rib_audit_restart(struct rib_vr *v, uint8_t family);      // another FIB: its walk begins again
void rib_audit_finding(struct rib_vr *v, const struct prefix *p, const char *what);
void rib_audit_explained(struct rib_vr *v,
                         const struct prefix *p); // an event explains what the dump showed
unsigned rib_block_of(const struct prefix *p);
uint64_t rib_block_term(const struct prefix *p,
                        uint32_t nexthop); // what a prefix adds to its block's sum

#endif
