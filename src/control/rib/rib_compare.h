// SPDX-License-Identifier: BSD-3-Clause
// rib_compare.h - the slices of an audit, for rib_audit.c; rib_manager
#ifndef RIB_RIB_COMPARE_H
#define RIB_RIB_COMPARE_H

#include "rib/rib.h"

// Some prefixes of the step that a->step names, behind a->cursor; false when there are no more.
bool rib_compare_slice(struct rib_vr *v, struct rib *r);
void rib_compare_sums(struct rib_vr *v, struct rib *r); // after AUDIT_FIB: which blocks differ
void rib_compare_end(
    struct rib_vr *v,
    struct rib *r); // after AUDIT_ROUTES: a structure that looks up wrongly is made anew

#endif
