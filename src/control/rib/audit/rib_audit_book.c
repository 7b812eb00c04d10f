// SPDX-License-Identifier: BSD-3-Clause
// rib_audit_book.c - notifications to the audit from the rest of rib_manager
//
// Code that changes the FIB updates the sums; code that finds a difference reports it here.
#include <stdlib.h>

#include "base/hash.h"
#include "base/log.h"
#include "rib/vr.h"

// --- sums ---

static uint64_t hash_of(const struct prefix *p)
{
    return hash_bytes(p->b, p->family == IP4 ? 4 : 16, p->len);
}

unsigned rib_block_of(const struct prefix *p)
{
    return (unsigned)(hash_of(p) % RIB_BLOCKS);
}

uint64_t rib_block_term(const struct prefix *p, uint32_t nexthop)
{
    return nexthop ? hash_mix64(hash_of(p) + nexthop) : 0;
}

void rib_audit_changed(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t was,
                       uint32_t is)
{
    struct rib_audit *a = &v->audit;
    uint64_t h = hash_of(p),
             change = (is ? hash_mix64(h + is) : 0) - (was ? hash_mix64(h + was) : 0);
    unsigned block = (unsigned)(h % RIB_BLOCKS);

    if (!r->sum)
        r->sum = calloc(RIB_BLOCKS, sizeof *r->sum);
    bug_on(!r->sum);
    r->sum[block] += change;
    if (a->step == AUDIT_FIB && a->begun && a->family6 == (p->family == IP6) &&
        prefix_compare(p, &a->cursor) <= 0)
        a->seen[block] += change;
}

void rib_audit_forget(struct rib *r)
{
    free(r->sum);
    r->sum = NULL;
}

void rib_audit_restart(struct rib_vr *v, uint8_t family)
{
    struct rib_audit *a = &v->audit;

    if (a->step < AUDIT_FIB || a->family6 != (family == IP6))
        return;
    a->step = AUDIT_FIB;
    a->begun = false;
}

// --- findings ---

void rib_audit_finding(struct rib_vr *v, const struct prefix *p, const char *what)
{
    struct rib_audit_report *r = &v->audit.now;
    char text[PREFIX_TEXT_MAX];

    if (!rib_audit_running(&v->audit))
        return;
    if (r->n_findings < RIB_FINDINGS)
        r->finding[r->n_findings++] = (struct rib_finding){*p, what};
    if (v->audit.step != AUDIT_KERNEL) // those are counted at the end of the dump
        r->diverged++;
    log_debug("rib: audit: differs: vr=%u prefix=%s what=\"%s\"", v->id, prefix_format(p, text),
              what);
}

void rib_audit_explained(struct rib_vr *v, const struct prefix *p)
{
    struct rib_audit_report *r = &v->audit.now;

    for (unsigned i = 0; v->audit.step == AUDIT_KERNEL && i < r->n_findings; i++)
        if (prefix_equal(&r->finding[i].prefix, p))
            r->finding[i--] = r->finding[--r->n_findings];
}
