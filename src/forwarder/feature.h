// SPDX-License-Identifier: BSD-3-Clause
// feature.h - the input features, each its own file; features.c is their order
//
// Each looks at the packets of the burst whose interface has it: drops what may not go on, and leaves the rest in order.
#ifndef FORWARDER_FEATURE_H
#define FORWARDER_FEATURE_H

#include "forwarder/state.h"

void urpf(struct forwarder *f, struct burst *b);
void redirect4(struct forwarder *f, struct burst *b);
void redirect6(struct forwarder *f, struct burst *b);

#endif
