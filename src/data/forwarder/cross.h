// SPDX-License-Identifier: BSD-3-Clause
// cross.h - packets that leave by another virtual router than they came in by
//
// A packet belongs to the virtual router of b->iface[] until it leaves by a route to another one
// (an import, a leaked route), or in a tunnel of another one's interface. Then it leaves one ledger
// and enters the other (table/ledger_vr.h), just before its output counts it. Callers of
// ether_out() or tx_frame() call this first; path.c only if such packets are possible.
#ifndef FORWARDER_CROSS_H
#define FORWARDER_CROSS_H

#include "forwarder/state.h"

static inline void packet_cross(struct forwarder *f, uint16_t in, uint16_t out)
{
    counter_cross(f->counter, iface_get(in)->vr, iface_get(out)->vr);
}

// Successive packets mostly cross between the same two virtual routers, and are counted together.
// Start with zeros.
struct cross_run {
    uint16_t from, to;
    uint64_t n;
};

static inline void cross_run_end(struct forwarder *f, struct cross_run *run)
{
    if (run->from == run->to)
        return;
    f->counter->vr[run->from].left += run->n;
    f->counter->vr[run->to].entered += run->n;
}

static inline __attribute__((always_inline)) void
cross_run_add(struct forwarder *f, struct cross_run *run, uint16_t from, uint16_t to)
{
    if (unlikely(from != run->from || to != run->to)) {
        cross_run_end(f, run);
        *run = (struct cross_run){from, to, 0};
    }
    run->n++;
}

static inline void burst_cross(struct forwarder *f, const struct burst *b)
{
    struct cross_run run = {0};

    for (unsigned i = 0; i < b->n; i++)
        cross_run_add(f, &run, iface_get(b->iface[i])->vr, iface_get(b->out_iface[i])->vr);
    cross_run_end(f, &run);
}

// The same for some packets.
static inline void burst_cross_of(struct forwarder *f, const struct burst *b, uint64_t of)
{
    struct cross_run run = {0};

    for (; of; of &= of - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(of);
        cross_run_add(f, &run, iface_get(b->iface[i])->vr, iface_get(b->out_iface[i])->vr);
    }
    cross_run_end(f, &run);
}

#endif
