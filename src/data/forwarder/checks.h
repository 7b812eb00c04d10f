// SPDX-License-Identifier: BSD-3-Clause
// checks.h - features of input interfaces beyond routing; checks.c defines their order
//
// Each check examines the packets whose interface has its bit, drops packets that fail, and leaves
// the others in order.
#ifndef FORWARDER_CHECKS_H
#define FORWARDER_CHECKS_H

#include "forwarder/state.h"
#include "table/counter.h"

void urpf(struct forwarder *f, struct burst *b);
void redirect4(struct forwarder *f, struct burst *b);
void redirect6(struct forwarder *f, struct burst *b);
void offload(struct forwarder *f, struct burst *b);

// Like offload() for packet i alone, with b->len[i] set, which leaves the burst before
// checks.c.
void offload_one(struct forwarder *f, struct burst *b, unsigned i);
// Drop reason of packet i, which is shorter than the `len` bytes in its header: `why`, or that its
// sender left segmentation to a NIC.
enum drop_reason offload_cut(struct forwarder *f, const struct burst *b, unsigned i, uint32_t len,
                             enum drop_reason why);

#endif
