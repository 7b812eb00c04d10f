// SPDX-License-Identifier: BSD-3-Clause
// input_check.h - the input features, each its own file; input_checks.c is their order
//
// Each looks at the packets of the burst whose interface has it: drops what may not go on, and
// leaves the rest in order.
#ifndef FORWARDER_INPUT_CHECK_H
#define FORWARDER_INPUT_CHECK_H

#include "forwarder/state.h"
#include "table/counter.h"

void urpf(struct forwarder *f, struct burst *b);
void redirect4(struct forwarder *f, struct burst *b);
void redirect6(struct forwarder *f, struct burst *b);
void offload(struct forwarder *f, struct burst *b);

// Of packet i alone, b->len[i] set, for those that leave the burst before the features: as
// offload() does.
void offload_one(struct forwarder *f, struct burst *b, unsigned i);
// Why packet i, whose header says `len` bytes and which has fewer, is dropped: `why`, or that its
// sender left the cutting to a card.
enum drop_reason offload_cut(struct forwarder *f, const struct burst *b, unsigned i, uint32_t len,
                             enum drop_reason why);

#endif
