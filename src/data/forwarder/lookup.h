// SPDX-License-Identifier: BSD-3-Clause
// lookup.h - a burst's destinations in the FIBs of its virtual routers, and the hash of a flow
//
// Callers give `family` as a constant: the compiler makes two loops of one text.
#ifndef FORWARDER_LOOKUP_H
#define FORWARDER_LOOKUP_H

#include "forwarder/flow_hash.h"
#include "forwarder/packet.h"
#include "forwarder/state.h"
#include "table/nexthop.h"
#include "table/vr.h"

#define FWD_INLINE static inline __attribute__((always_inline))

FWD_INLINE const struct fib *fwd_fib(const struct forwarder *f, uint16_t vr, uint8_t family)
{
    return vr_fib(vr, family, f->node);
}

// Do all packets have one destination? Each has the one of the packet before.
FWD_INLINE bool fwd_is_one_dst(const struct burst *b, uint8_t family)
{
    if (family == IP4)
        return b->n > 1 && b->dst4[0] == b->dst4[1] &&
               !memcmp(b->dst4, b->dst4 + 1, (b->n - 1) * sizeof *b->dst4);
    return b->n > 1 && !memcmp(b->dst6[0], b->dst6[1], 16) &&
           !memcmp(b->dst6, b->dst6 + 1, (b->n - 1) * sizeof *b->dst6);
}

FWD_INLINE void fwd_lookup(const struct forwarder *f, struct burst *b, uint8_t family)
{
    if (unlikely(b->mixed)) {
        const struct fib *const *of = vr_fibs(family, f->node);
        family == IP4 ? fib_find4_each(of, b->vr, b->dst4, b->nh, b->n)
                      : fib_find6_each(of, b->vr, b->dst6, b->nh, b->n);
        return;
    }
    const unsigned n = fwd_is_one_dst(b, family) ? 1 : b->n;
    const struct fib *fib = fwd_fib(f, b->vr[0], family);
    if (family == IP4)
        fib_find4_bulk(fib, b->dst4, b->nh, n);
    else
        fib_find6_bulk(fib, b->dst6, b->nh, n);
    for (unsigned i = n; i < b->n; i++)
        b->nh[i] = b->nh[0];
}

// The hash of packet i's flow.
FWD_INLINE uint32_t fwd_hash(const struct burst *b, unsigned i, uint8_t family)
{
    struct flow_hash how = vr_flow_hash(vr_get(b->vr[i]));
    uint32_t readable = packet_readable(b->pkt[i], b->ip[i]);

    return family == IP4 ? flow_hash4(b->ip[i], readable, b->len[i], how)
                         : flow_hash6(b->ip[i], readable, b->len[i], how);
}

#endif
