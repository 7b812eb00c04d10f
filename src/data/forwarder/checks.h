// SPDX-License-Identifier: BSD-3-Clause
// checks.h - what interfaces check beyond routing; checks.c has the order, stages.h the stages
//
// A check examines the packets whose interface has its bit, drops packets that fail, and leaves the
// others in order. See also acl.h and program.h.
#ifndef FORWARDER_CHECKS_H
#define FORWARDER_CHECKS_H

#include "forwarder/state.h"
#include "table/counter.h"
#include "table/policer.h"

void urpf(struct forwarder *f, struct burst *b);
void redirect4(struct forwarder *f, struct burst *b);
void redirect6(struct forwarder *f, struct burst *b);
void offload(struct forwarder *f, struct burst *b);
// Colors the packets whose interface has a policer, and drops or remarks as configured; police_out
// by each packet's output interface, nexthop_word_iface(b->word[i]).
void police_in(struct forwarder *f, struct burst *b);
void police_out(struct forwarder *f, struct burst *b);
// For one packet that leaves its burst, with b->len[i] set: returns a drop reason, or DROP_NONE.
// The packet stays.
enum drop_reason police_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface,
                            enum policer_direction d);
// Handles the options of packet i of b, whose IPv4 header is sound. Returns a drop reason, or
// DROP_NONE.
enum drop_reason ip4_options(struct forwarder *f, struct burst *b, unsigned i);

// For one packet that leaves its burst, with b->len[i] set: all checks but uRPF and redirects.
// Returns false if it was dropped, or a program has sent it elsewhere.
bool checks_in_one(struct forwarder *f, struct burst *b, unsigned i);
bool checks_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);
// Reason why a copy may not leave by that interface, or DROP_NONE. The packet stays.
enum drop_reason checks_out_copy(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);

// Like offload() for packet i alone.
void offload_one(struct forwarder *f, struct burst *b, unsigned i);
// Drop reason of packet i, which is shorter than the `len` bytes in its header: `why`, or that its
// sender left segmentation to a NIC.
enum drop_reason offload_cut(struct forwarder *f, const struct burst *b, unsigned i, uint32_t len,
                             enum drop_reason why);

#endif
