// SPDX-License-Identifier: BSD-3-Clause
// cross.h - packets that leave by another virtual router than the one they came in by
//
// A packet belongs to the virtual router of b->iface[] until it leaves: by a route that another one
// has lent (an import, a leaked route), or in a tunnel, that is another one's interface. There it
// leaves one ledger and enters the other (table/ledger_vr.h), just before its output counts it.
// Whoever calls ether_out() or tx_frame() calls this first; path.c only if there can be any.
#ifndef FORWARDER_CROSS_H
#define FORWARDER_CROSS_H

#include "forwarder/state.h"

static inline void packet_cross(struct forwarder *f, uint16_t in, uint16_t out)
{
    counter_cross(f->counter, iface_get(in)->vr, iface_get(out)->vr);
}

static inline void burst_cross(struct forwarder *f, const struct burst *b)
{
    for (unsigned i = 0; i < b->n; i++)
        packet_cross(f, b->iface[i], b->out_iface[i]);
}

#endif
