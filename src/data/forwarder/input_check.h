// SPDX-License-Identifier: BSD-3-Clause
// input_check.h - what interfaces do to received packets beyond routing; input_checks.c is the
// order
//
// Each check looks at the packets of the burst whose interface has its bit, drops those that fail,
// and leaves the others in order.
#ifndef FORWARDER_INPUT_CHECK_H
#define FORWARDER_INPUT_CHECK_H

#include "forwarder/state.h"
#include "table/counter.h"

void urpf(struct forwarder *f, struct burst *b);
void redirect4(struct forwarder *f, struct burst *b);
void redirect6(struct forwarder *f, struct burst *b);
void offload(struct forwarder *f, struct burst *b);

// Removes packets from the burst; the places of redirected ones (f->redirected) move up.
void checks_remove(struct forwarder *f, struct burst *b, uint64_t gone);

// As offload(), of packet i alone, b->len[i] set, which leaves the burst before input_checks.c.
void offload_one(struct forwarder *f, struct burst *b, unsigned i);
// Why packet i, shorter than the `len` bytes of its header, is dropped: `why`, or that its sender
// left splitting to a card.
enum drop_reason offload_cut(struct forwarder *f, const struct burst *b, unsigned i, uint32_t len,
                             enum drop_reason why);

#endif
