// SPDX-License-Identifier: BSD-3-Clause
// inject_large.h - frames of the kernel that exceed their interface's MTU
#ifndef FORWARDER_INJECT_LARGE_H
#define FORWARDER_INJECT_LARGE_H

#include "forwarder/state.h"

// Handles a frame for interface `id` that exceeds its MTU. Returns false if it may leave as it is.
bool inject_large(struct forwarder *f, struct rte_mbuf *m, uint16_t id);

#endif
