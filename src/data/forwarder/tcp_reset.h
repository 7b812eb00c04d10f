// SPDX-License-Identifier: BSD-3-Clause
// tcp_reset.h - ending a TCP connection on behalf of the host that would not answer
#ifndef FORWARDER_TCP_RESET_H
#define FORWARDER_TCP_RESET_H

#include "forwarder/state.h"

// Packet i of b, of TCP and no later fragment, gets a reset from the address it was sent to;
// b->pkt[i] stays the caller's. Says nothing when the rules or the rate forbid it.
void tcp_reset(struct forwarder *f, struct burst *b, unsigned i);

#endif
