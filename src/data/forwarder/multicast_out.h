// SPDX-License-Identifier: BSD-3-Clause
// multicast_out.h - sends the copies of a multicast packet by its route
#ifndef FORWARDER_MULTICAST_OUT_H
#define FORWARDER_MULTICAST_OUT_H

#include "forwarder/state.h"
#include "table/multicast.h"

// Ends packet i: sends a copy by each output that takes it.
void multicast_out(struct forwarder *f, struct burst *b, unsigned i,
                   const struct multicast_entry *r);

#endif
