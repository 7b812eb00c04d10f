// SPDX-License-Identifier: BSD-3-Clause
// inject_large.h - frames of the kernel that are larger than their interface takes
#ifndef FORWARDER_INJECT_LARGE_H
#define FORWARDER_INJECT_LARGE_H

#include "forwarder/state.h"

// A frame for interface `id` that is longer than its MTU. False: it may leave as it is.
bool inject_large(struct forwarder *f, struct rte_mbuf *m, uint16_t id);

#endif
