// SPDX-License-Identifier: BSD-3-Clause
// multicast.h - between multicast.c, which finds the route, and multicast_out.c, which makes the copies
#ifndef FORWARDER_MULTICAST_H
#define FORWARDER_MULTICAST_H

#include "forwarder/forwarder_priv.h"
#include "table/multicast.h"

// Ends packet i: a copy by each output that takes it.
void multicast_out(struct forwarder *f, struct burst *b, unsigned i, const struct multicast_entry *r);

// A copy that was not made ends, too: the ledger has it among those that came to be.
static inline void drop_uncopied(struct forwarder *f, uint16_t iface, enum drop_reason reason)
{
    f->counter->drop[reason]++;
    f->counter->iface[iface].drop_packets++;
}

#endif
