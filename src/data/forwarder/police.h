// SPDX-License-Identifier: BSD-3-Clause
// police.h - policers of interfaces: police_in is an input check (input_checks.c), police_out and
// police_out_one belong to what decides about leaving packets (acl.h)
#ifndef FORWARDER_POLICE_H
#define FORWARDER_POLICE_H

#include "forwarder/state.h"

// Colors the packets whose interface has a policer, drops or remarks what it says. Survivors in
// order.
void police_in(struct forwarder *f, struct burst *b);
// The same by the interface that each leaves by, nexthop_word_iface(b->word[i]).
void police_out(struct forwarder *f, struct burst *b);
// Of one packet that leaves its burst before input_checks.c, b->len[i] set: why it is dropped, or
// DROP_NONE. It stays.
enum drop_reason police_in_one(struct forwarder *f, struct burst *b, unsigned i);
// The same of one that leaves by that interface.
enum drop_reason police_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);

#endif
