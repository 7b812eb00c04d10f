// SPDX-License-Identifier: BSD-3-Clause
// lookup.h - looks up a burst's destinations in the FIBs of its virtual routers; flow hash
//
// Callers give `family` as a constant: the compiler makes two loops from one text.
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

// Do all packets have one destination? Compares each with its predecessor.
FWD_INLINE bool fwd_is_one_dst(const struct burst *b, uint8_t family)
{
    if (family == IP4)
        return b->n > 1 && b->dst4[0] == b->dst4[1] &&
               !memcmp(b->dst4, b->dst4 + 1, (b->n - 1) * sizeof *b->dst4);
    return b->n > 1 && !memcmp(b->dst6[0], b->dst6[1], 16) &&
           !memcmp(b->dst6, b->dst6 + 1, (b->n - 1) * sizeof *b->dst6);
}

#define FEW_DST 4 // tunnel ends, servers
// Looks each destination up once, if the burst has no more than FEW_DST. Returns false if it has
// more.
bool fwd_look_up_few4(const struct fib *fib, struct burst *b);
bool fwd_look_up_few6(const struct fib *fib, struct burst *b);

// Returns the next hop to that address, of kind ADJACENCY or GROUP; 0: currently unreachable.
uint32_t fwd_nexthop_to(const struct forwarder *f, const struct ip_addr *to, uint16_t vr);

// Gives redirected packets the next hop of their rule or program, after the lookup.
void fwd_redirect(struct forwarder *f, struct burst *b);

// Is it worth looking for few destinations? One of the second four packets must have the
// destination of one of the first four, which is rare for random destinations.
FWD_INLINE bool fwd_may_have_few_dsts(const struct burst *b, uint8_t family)
{
    typedef uint32_t four __attribute__((vector_size(16)));
    four first, second, same;

    if (b->n < 2 * FEW_DST)
        return false;
    if (family == IP6) {
        first = (four){load32(b->dst6[0] + 12), load32(b->dst6[1] + 12), load32(b->dst6[2] + 12),
                       load32(b->dst6[3] + 12)};
        second = (four){load32(b->dst6[4] + 12), load32(b->dst6[5] + 12), load32(b->dst6[6] + 12),
                        load32(b->dst6[7] + 12)};
    } else {
        memcpy(&first, b->dst4, sizeof first);
        memcpy(&second, b->dst4 + 4, sizeof second);
    }
    same = (four)(first == second);
    for (unsigned k = 0; k < 3; k++) {
        second = __builtin_shufflevector(second, second, 1, 2, 3, 0);
        same |= (four)(first == second);
    }
    return same[0] | same[1] | same[2] | same[3];
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
    if (n > 1 && unlikely(fwd_may_have_few_dsts(b, family)) &&
        (family == IP4 ? fwd_look_up_few4(fib, b) : fwd_look_up_few6(fib, b)))
        return;
    if (family == IP4)
        fib_find4_bulk(fib, b->dst4, b->nh, n);
    else
        fib_find6_bulk(fib, b->dst6, b->nh, n);
    for (unsigned i = n; i < b->n; i++)
        b->nh[i] = b->nh[0];
}

// Sets nh[] as far as earlier stages have not decided it: an access list (acl_decide.c) or a
// device (table/lookaside.h) may have done the lookup, lists and programs may have redirected
// packets.
FWD_INLINE void fwd_look_up(struct forwarder *f, struct burst *b, uint8_t family)
{
    if (likely(!b->decided.looked_up))
        fwd_lookup(f, b, family);
    if (unlikely(b->decided.n_redirected))
        fwd_redirect(f, b);
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
