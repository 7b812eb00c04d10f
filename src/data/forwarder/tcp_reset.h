// SPDX-License-Identifier: BSD-3-Clause
// tcp_reset.h - resets a TCP connection on behalf of a host that would not answer
#ifndef FORWARDER_TCP_RESET_H
#define FORWARDER_TCP_RESET_H

#include "forwarder/state.h"

// Sends a reset to the source of packet i of b (TCP, not a later fragment) from its destination
// address; the caller keeps b->pkt[i]. Sends nothing if the rules or the rate forbid it.
void tcp_reset(struct forwarder *f, struct burst *b, unsigned i);

#endif
