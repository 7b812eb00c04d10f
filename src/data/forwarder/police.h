// SPDX-License-Identifier: BSD-3-Clause
// police.h - policers of interfaces: checks of input and output (checks.c)
#ifndef FORWARDER_POLICE_H
#define FORWARDER_POLICE_H

#include "forwarder/state.h"

// Colors the packets whose interface has a policer, and drops or remarks as configured. Survivors
// in order.
void police_in(struct forwarder *f, struct burst *b);
// The same by each packet's output interface, nexthop_word_iface(b->word[i]).
void police_out(struct forwarder *f, struct burst *b);
// For one packet that leaves its burst, with b->len[i] set: returns a drop reason, or DROP_NONE.
// The packet stays.
enum drop_reason police_in_one(struct forwarder *f, struct burst *b, unsigned i);
// The same for a packet that leaves by that interface.
enum drop_reason police_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);

#endif
