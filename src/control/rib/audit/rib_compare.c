// SPDX-License-Identifier: BSD-3-Clause
// rib_compare.c - the slices of an audit: RIB against FIB, FIB against the forwarders' lookup
//
// A comparison looks at a single moment, on the only thread that changes the compared tables, so
// changes between two slices do no harm. The position is kept as a prefix (a->cursor).
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "rib/journal.h"
#include "rib/rib_manager.h"
#include "rib/vr.h"
#include "table/fib.h"

#define SLICE_NS (500 * NS_PER_US)
#define PER_LOOK 64     // prefixes between two clock readings
#define PER_WALK 1024   // FIB prefixes added up between two clock readings
#define SURPLUS_MAX 64  // prefixes repaired in one go
#define SAMPLE 16       // a periodic audit looks up one in so many prefixes

// --- fib: sum of its prefixes; blocks: surplus or wrong prefixes of the FIB ---

struct piece { // of a walk of the FIB
    struct rib_vr *v;
    struct rib *r;
    unsigned looked, n;
    struct prefix surplus[SURPLUS_MAX];
};

static int add_up(void *ctx, const struct prefix *p, uint32_t nexthop)
{
    struct piece *w = ctx;
    struct rib_audit *a = &w->v->audit;

    a->seen[rib_block_of(p)] += rib_block_term(p, nexthop);
    a->cursor = *p;
    a->now.prefixes++;
    return ++w->looked == PER_WALK;
}

static uint32_t installed_nexthop(const struct rib *r, const struct prefix *p)
{
    uint32_t node = rib_trie_find(&r->trie, p);

    return node ? rib_trie_at(&r->trie, node)->nexthop : 0;
}

static int find_surplus(void *ctx, const struct prefix *p, uint32_t nexthop)
{
    struct piece *w = ctx;

    w->v->audit.cursor = *p;
    if (w->v->audit.differs[rib_block_of(p)] && installed_nexthop(w->r, p) != nexthop)
        w->surplus[w->n++] = *p;
    return ++w->looked == PER_WALK || w->n == SURPLUS_MAX;
}

static void sums_begin(struct rib_audit *a)
{
    if (!a->seen) {
        a->seen = malloc(RIB_BLOCKS * sizeof *a->seen);
        a->differs = malloc(RIB_BLOCKS * sizeof *a->differs);
        bug_on(!a->seen || !a->differs);
    }
    memset(a->seen, 0, RIB_BLOCKS * sizeof *a->seen);
}

void rib_compare_sums(struct rib_vr *v, struct rib *r)
{
    struct rib_audit *a = &v->audit;

    if (!a->seen) // there was no FIB to walk
        sums_begin(a);
    a->n_differs = 0;
    for (unsigned i = 0; i < RIB_BLOCKS; i++) {
        a->differs[i] = a->seen[i] != (r->sum ? r->sum[i] : 0);
        a->n_differs += a->differs[i];
    }
    a->now.blocks += a->n_differs;
    a->sample = 0;
}

static void repair_fib(struct rib_vr *v, struct rib *r, const struct prefix *p, uint32_t want)
{
    struct fib *fib = rib_fib(v, r->trie.family);

    if (!(want ? fib_set(fib, p, want) : fib_del(fib, p))) {
        rib_tunnel_note(v->id, p);
        v->changed = true;
    }
}

static bool slice_fib(struct rib_vr *v, struct rib *r, uint64_t until)
{
    struct rib_audit *a = &v->audit;
    bool adds = a->step == AUDIT_FIB;
    int more;

    if (adds && !a->begun)
        sums_begin(a);
    do {
        struct piece w = {.v = v, .r = r};

        more = fib_walk(rib_fib(v, r->trie.family), a->begun ? &a->cursor : NULL,
                        adds ? add_up : find_surplus, &w);
        a->begun = true;
        for (unsigned i = 0; i < w.n; i++) {
            uint32_t want = installed_nexthop(r, &w.surplus[i]);

            rib_audit_finding(v, &w.surplus[i],
                              want ? "the FIB had a different next hop"
                                   : "in the FIB but not in the RIB");
            repair_fib(v, r, &w.surplus[i], want);
        }
    } while (more && clock_now_ns() < until);
    return more;
}

// --- routes: best candidate, forwarders' lookup ---

static bool look_up(struct rib_vr *v, struct rib *r, const uint8_t *b)
{
    struct ip_addr addr = {.family = r->trie.family};
    uint32_t node, want = 0;

    memcpy(addr.b, b, r->trie.bytes);
    struct prefix host = rib_host(&addr);
    for (node = rib_trie_cover(&r->trie, &host); node && !want;
         node = rib_trie_parent(&r->trie, node))
        want = rib_trie_at(&r->trie, node)->nexthop;
    v->audit.now.lookups++;
    if (fib_find(rib_fib(v, r->trie.family), &addr) == want)
        return true;
    rib_audit_finding(v, &host, "forwarders found a different next hop");
    v->audit.broken_lookup = true;
    return false;
}

// Steps to the previous (-1) or the next (+1) address; wraps.
static void step_address(uint8_t *b, unsigned bytes, int step)
{
    for (int i = (int)bytes - 1; i >= 0; i--) {
        b[i] = (uint8_t)(b[i] + step);
        if (b[i] != (step < 0 ? 0xff : 0))
            return;
    }
}

// Looks up the first and last address of the prefix, and their outer neighbors.
static void look_around(struct rib_vr *v, struct rib *r, const struct prefix *p)
{
    uint8_t first[16], last[16], b[16];
    unsigned bytes = r->trie.bytes;

    memcpy(first, p->b, 16);
    memcpy(last, p->b, 16);
    for (unsigned i = p->len; i < bytes * 8; i++)
        last[i / 8] |= (uint8_t)(0x80 >> i % 8);
    if (!look_up(v, r, first) || !look_up(v, r, last))
        return; // one finding per prefix
    memcpy(b, first, 16);
    step_address(b, bytes, -1);
    if (!look_up(v, r, b))
        return;
    memcpy(b, last, 16);
    step_address(b, bytes, 1);
    look_up(v, r, b);
}

static void compare_node(struct rib_vr *v, struct rib *r, uint32_t node)
{
    struct rib_audit *a = &v->audit;
    struct rib_node *n = rib_trie_at(&r->trie, node);
    const struct prefix *p = &a->cursor;

    if (a->n_differs && a->differs[rib_block_of(p)] &&
        fib_get(rib_fib(v, p->family), p) != n->nexthop) {
        rib_audit_finding(v, p,
                          n->nexthop ? "missing from the FIB" : "in the FIB but not in the RIB");
        repair_fib(v, r, p, n->nexthop);
    }
    if (n->head && rib_install(v, r, node, rib_best(v, r, node)))
        rib_audit_finding(v, p, "the installed candidate was not the best");
    if (!n->nexthop || a->sample--)
        return;
    a->sample = a->asked ? 0 : SAMPLE - 1;
    look_around(v, r, p);
}

static bool slice_routes(struct rib_vr *v, struct rib *r, uint64_t until)
{
    struct rib_audit *a = &v->audit;
    uint32_t node = a->begun ? rib_trie_after(&r->trie, &a->cursor) : rib_trie_first(&r->trie);

    if (!a->begun) // periodic audits start their samples at different places
        a->sample = a->asked ? 0 : (uint32_t)(a->last.runs % SAMPLE);
    journal_because(JOURNAL_AUDIT);
    for (unsigned i = 1; node; i++) {
        a->cursor = rib_trie_prefix(&r->trie, node);
        a->begun = true;
        compare_node(v, r, node);
        node = rib_trie_next(&r->trie, node);
        if (i % PER_LOOK == 0 && clock_now_ns() >= until)
            break;
    }
    return node != 0;
}

void rib_compare_end(struct rib_vr *v, struct rib *r)
{
    uint8_t family = r->trie.family;

    if (!v->audit.broken_lookup)
        return;
    v->audit.broken_lookup = false;
    log_error("rib: audit: wrong lookups in forwarders, rebuilding the FIB: vr=%u family=ipv%u",
              v->id, family);
    if (rib_engine_set(v, family, fib_engine_of(rib_fib(v, family))))
        v->audit.now.result = -ENOMEM;
}

bool rib_compare_slice(struct rib_vr *v, struct rib *r)
{
    uint64_t until = clock_now_ns() + SLICE_NS;

    return (v->audit.step == AUDIT_ROUTES ? slice_routes : slice_fib)(v, r, until);
}
