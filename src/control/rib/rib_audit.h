// SPDX-License-Identifier: BSD-3-Clause
// rib_audit.h - does the FIB say what the kernel says? Found, counted, named, repaired
//
// An audit of a virtual router has these steps, each in slices of at most
// half a millisecond; all the rest of rib_manager goes on between them:
//
//     kernel    a dump of everything (rib_sync.c): kernel against RIB
//     fib       the FIB's own prefixes, added up per block, against the sums kept while they were
//     installed blocks    prefix by prefix, those blocks whose sums differ routes    the RIB,
//     prefix by prefix: is the best candidate the one installed? And, of a sample (of all, when
//     asked for):
//               do addresses in and beside the prefix lead where they must, by the forwarders' own
//               lookup?
//
// A sum is that of a hash of (prefix, next hop), so a change adds and takes away
// one term: it is right while routes change, and a change behind the cursor
// of the walk is taken into what the walk has added up. Nothing here compares two moments.
// rib_manager alone.
#ifndef RIB_RIB_AUDIT_H
#define RIB_RIB_AUDIT_H

#include "rib/rib_audit_book.h"

void rib_audit_dump_begins(struct rib_vr *v); // what a broken dump showed does not count
void rib_audit_kernel_done(struct rib_vr *v, uint64_t rows,
                           uint64_t diverged); // a dump of everything ended
bool rib_audit_slice(struct rib_vr *v,
                     bool tick); // a slice when it is time for one; true: call again soon
void rib_audit_took(struct rib_vr *v,
                    uint64_t ns); // a turn of rib_manager during an audit lasted so long
void rib_audit_ask(struct rib_vr *v, void (*done)(void *ctx, const struct rib_audit_report *r),
                   void *ctx);
void rib_audit_end(struct rib_vr *v); // the router goes: askers are told
void rib_audit_interval(uint64_t interval_ns); // between periodic audits, 0 = none
uint64_t rib_audit_interval_ns(void);

#endif
