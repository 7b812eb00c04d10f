// SPDX-License-Identifier: BSD-3-Clause
// audit.h - compares the FIB with the kernel; finds, counts, names and repairs differences
//
// An audit of a virtual router runs in steps. Each step runs in slices of at most half a
// millisecond, so that rib_manager's other work continues:
//
//     kernel    dump everything (rib_sync.c) and compare the kernel with the RIB
//     fib       add up the FIB's prefixes per block and compare with the sums kept at each
//               installation
//     surplus   compare the blocks whose sums differ, prefix by prefix
//     routes    walk the RIB: is the best candidate of each prefix installed? For a sample (for
//               all prefixes on demand), do addresses in and beside the prefix lead to the right
//               next hop by the forwarders' own lookup?
//
// A sum adds hashes of (prefix, next hop), so a change subtracts one term and adds another: sums
// stay right while routes change. A change behind the cursor of a walk also updates the walk's sum.
// So no step compares two moments. Runs on rib_manager's thread; control sees copies.
#ifndef RIB_AUDIT_H
#define RIB_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/vec.h"
#include "rib/rib_manager.h"

#define RIB_BLOCKS 512 // of prefixes, by hash; about 2,000 per block with a full table

struct rib;
struct rib_vr;

enum rib_audit_step { AUDIT_IDLE, AUDIT_KERNEL, AUDIT_FIB, AUDIT_SURPLUS, AUDIT_ROUTES };

struct rib_audit {
    enum rib_audit_step step;
    bool asked;                // by command: full speed, looks up every prefix
    bool begun, family6;       // cursor is valid; family being walked
    struct prefix cursor;      // last prefix examined
    uint64_t *seen; // [RIB_BLOCKS] sums of the FIB walk; NULL while none runs
    bool *differs;  // [RIB_BLOCKS]
    unsigned n_differs;
    uint32_t sample;    // counts down to the next sampled prefix
    bool broken_lookup; // a lookup was wrong: rebuild the structure
    struct rib_audit_report now, last;
    uint64_t begin_ns, next_ns; // next periodic audit
    VEC(struct rib_asker {
        void (*done)(void *ctx, const struct rib_audit_report *r);
        void *ctx;
    }) asker; // the running audit serves the first n_askers of them
    size_t n_askers;
};

static inline bool rib_audit_running(const struct rib_audit *a)
{
    return a->step != AUDIT_IDLE;
}

// --- rib_audit_book.c: notifications from the rest of rib_manager ---
// The FIB entry changed from one next hop to another, also by loading.
void rib_audit_changed(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t was,
                       uint32_t is);
void rib_audit_forget(struct rib *r);                     // the FIB is empty again
void rib_audit_restart(struct rib_vr *v, uint8_t family); // new FIB: restart its walk
void rib_audit_finding(struct rib_vr *v, const struct prefix *p, const char *what);
void rib_audit_explained(struct rib_vr *v, const struct prefix *p); // by an event
unsigned rib_block_of(const struct prefix *p);
uint64_t rib_block_term(const struct prefix *p, uint32_t nexthop); // its term of the block's sum

// --- rib_compare.c: slices ---
// Compares some prefixes behind a->cursor in the step a->step; false when none are left.
bool rib_compare_slice(struct rib_vr *v, struct rib *r);
void rib_compare_sums(struct rib_vr *v, struct rib *r); // after AUDIT_FIB: find differing blocks
void rib_compare_end(struct rib_vr *v, struct rib *r);  // after AUDIT_ROUTES: rebuild a broken FIB

// --- rib_audit.c: course of an audit ---
void rib_audit_dump_begins(struct rib_vr *v); // discard the findings of a broken dump
void rib_audit_kernel_done(struct rib_vr *v, uint64_t rows, uint64_t diverged);
// Runs a slice if one is due; true: call again soon.
bool rib_audit_slice(struct rib_vr *v, bool tick);
void rib_audit_took(struct rib_vr *v, uint64_t ns); // duration of a turn of rib_manager
void rib_audit_ask(struct rib_vr *v, void (*done)(void *ctx, const struct rib_audit_report *r),
                   void *ctx);
void rib_audit_end(struct rib_vr *v);          // the router goes: answer the waiting callers
void rib_audit_interval(uint64_t interval_ns); // between periodic audits; 0 = none
uint64_t rib_audit_interval_ns(void);

#endif
