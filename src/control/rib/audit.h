// SPDX-License-Identifier: BSD-3-Clause
// audit.h - does the FIB say what the kernel says? Differences are found, counted, named, repaired
//
// An audit of a virtual router takes these steps, each in slices of at most half a millisecond, so
// that the rest of rib_manager goes on:
//
//     kernel    a dump of everything (rib_sync.c): kernel against RIB
//     fib       the FIB's own prefixes, added up per block, against the sums that were kept while
//               they were installed
//     surplus   prefix by prefix, the blocks whose sums differ
//     routes    the RIB, prefix by prefix: is the best candidate installed? And for a sample (for
//               all, when asked for): do addresses in and beside the prefix lead where they must,
//               by the forwarders' own lookup?
//
// A sum adds up hashes of (prefix, next hop), so a change takes one term away and adds another:
// sums are right while routes change, and a change behind the cursor of the walk goes into what
// the walk has added up. So nothing here compares two moments. rib_manager's thread; control sees
// copies.
#ifndef RIB_AUDIT_H
#define RIB_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"
#include "rib/rib_manager.h"

#define RIB_BLOCKS 512 // of prefixes, by hash; some 2,000 each with a full table

struct rib;
struct rib_vr;

enum rib_audit_step { AUDIT_IDLE, AUDIT_KERNEL, AUDIT_FIB, AUDIT_SURPLUS, AUDIT_ROUTES };

struct rib_audit {
    enum rib_audit_step step;
    bool asked;                // by command: at full speed, and every prefix is looked up
    bool begun, family6;       // the cursor is valid; which family it is at
    struct prefix cursor;      // the last prefix looked at
    uint64_t *seen; // [RIB_BLOCKS] what the walk of the FIB has added up; NULL while none runs
    bool *differs;  // [RIB_BLOCKS] the same
    unsigned n_differs;
    uint32_t sample;    // counts down to the next prefix of the sample
    bool broken_lookup; // a lookup was wrong: the structure is made anew
    struct rib_audit_report now, last;
    uint64_t begin_ns, next_ns; // next periodic one
    VEC(struct rib_asker {
        void (*done)(void *ctx, const struct rib_audit_report *r);
        void *ctx;
    }) asker; // the first n_askers of them are served by the audit that is running
    size_t n_askers;
};

static inline bool rib_audit_running(const struct rib_audit *a)
{
    return a->step != AUDIT_IDLE;
}

// --- rib_audit_book.c: everything else informs the audit ---
// The FIB's entry changed from one next hop to another, also by loading.
void rib_audit_changed(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t was,
                       uint32_t is);
void rib_audit_forget(struct rib *r);                     // the FIB is empty again
void rib_audit_restart(struct rib_vr *v, uint8_t family); // another FIB: its walk begins again
void rib_audit_finding(struct rib_vr *v, const struct prefix *p, const char *what);
void rib_audit_explained(struct rib_vr *v, const struct prefix *p); // by an event
unsigned rib_block_of(const struct prefix *p);
uint64_t rib_block_term(const struct prefix *p, uint32_t nexthop); // of its block's sum

// --- rib_compare.c: slices ---
// Some prefixes of the step that a->step names, behind a->cursor; false when there are no more.
bool rib_compare_slice(struct rib_vr *v, struct rib *r);
void rib_compare_sums(struct rib_vr *v, struct rib *r); // after AUDIT_FIB: which blocks differ
void rib_compare_end(struct rib_vr *v, struct rib *r);  // after AUDIT_ROUTES: remakes a broken FIB

// --- rib_audit.c: the course of an audit ---
void rib_audit_dump_begins(struct rib_vr *v); // what a broken dump showed does not count
void rib_audit_kernel_done(struct rib_vr *v, uint64_t rows, uint64_t diverged);
// A slice when it is time for one; true: call again soon.
bool rib_audit_slice(struct rib_vr *v, bool tick);
void rib_audit_took(struct rib_vr *v, uint64_t ns); // a turn of rib_manager lasted so long
void rib_audit_ask(struct rib_vr *v, void (*done)(void *ctx, const struct rib_audit_report *r),
                   void *ctx);
void rib_audit_end(struct rib_vr *v);          // the router goes: answers those who wait
void rib_audit_interval(uint64_t interval_ns); // between periodic audits, 0 = none
uint64_t rib_audit_interval_ns(void);

#endif
