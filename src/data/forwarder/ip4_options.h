// SPDX-License-Identifier: BSD-3-Clause
// ip4_options.h - handles IPv4 options
#ifndef FORWARDER_IP4_OPTIONS_H
#define FORWARDER_IP4_OPTIONS_H

#include "forwarder/state.h"

// Handles the options of packet i of b, whose header is sound. Returns a drop reason, or DROP_NONE.
enum drop_reason ip4_options(struct forwarder *f, struct burst *b, unsigned i);

#endif
