// SPDX-License-Identifier: BSD-3-Clause
// lookup.c - lookups of a burst that the usual bulk lookup does not serve (lookup.h)
//
// A burst to at most FEW_DST destinations looks each up once and copies the result to its packets;
// with more destinations the caller continues with the bulk lookup. Redirected packets get their
// next hop after the lookup, because a packet to the router itself stays here.
#include "forwarder/lookup.h"
#include "forwarder/stages.h"

#include <string.h>

#include "table/acl_target.h"
#include "table/fib.h"
#include "table/trial.h"

FWD_INLINE bool look_up_few(const struct fib *fib, struct burst *b, uint8_t family)
{
    ip4_t dst4[FEW_DST + BURST_BLOCK];
    uint8_t dst6[FEW_DST + BURST_BLOCK][16], of[BURST_MAX];
    uint32_t nh[FEW_DST + BURST_BLOCK];
    unsigned n = 0;

    for (unsigned i = 0; i < b->n; i++) {
        unsigned k = 0;
        if (family == IP4)
            while (k < n && dst4[k] != b->dst4[i])
                k++;
        else
            while (k < n && memcmp(dst6[k], b->dst6[i], 16) != 0)
                k++;
        if (k == n) {
            if (n++ == FEW_DST)
                return false;
            if (family == IP4)
                dst4[k] = b->dst4[i];
            else
                memcpy(dst6[k], b->dst6[i], 16);
        }
        of[i] = (uint8_t)k;
    }
    if (family == IP4)
        fib_find4_bulk(fib, dst4, nh, n);
    else
        fib_find6_bulk(fib, dst6, nh, n);
    for (unsigned i = 0; i < b->n; i++)
        b->nh[i] = nh[of[i]];
    return true;
}

bool fwd_look_up_few4(const struct fib *fib, struct burst *b)
{
    return look_up_few(fib, b, IP4);
}

bool fwd_look_up_few6(const struct fib *fib, struct burst *b)
{
    return look_up_few(fib, b, IP6);
}

uint32_t fwd_nexthop_to(const struct forwarder *f, const struct ip_addr *to, uint16_t vr)
{
    uint32_t nh = unlikely(f->trial && f->trial->past)
                      ? trial_nexthop_to(f, to, vr)
                      : nexthop_real(fib_find(fwd_fib(f, vr, to->family), to));
    enum nexthop_kind kind = nexthop_word_kind(nexthop_word(nexthop_get(nh)));

    return kind == NEXTHOP_ADJACENCY || kind == NEXTHOP_GROUP ? nh : 0;
}

void fwd_redirect(struct forwarder *f, struct burst *b)
{
    for (unsigned k = 0; k < b->decided.n_redirected; k++) {
        const struct redirected *r = &b->redirected[k];
        if (nexthop_word_kind(nexthop_word(nexthop_get(b->nh[r->at]))) == NEXTHOP_LOCAL)
            continue; // stays ours
        b->nh[r->at] = r->nexthop;
        if (!f->dry)
            acl_redirect_counted(r->redirect, f->index, true);
    }
    b->decided.n_redirected = 0;
}
