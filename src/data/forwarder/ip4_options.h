// SPDX-License-Identifier: BSD-3-Clause
// ip4_options.h - what the options of an IPv4 packet ask of a router
#ifndef FORWARDER_IP4_OPTIONS_H
#define FORWARDER_IP4_OPTIONS_H

#include "forwarder/state.h"

// The options of packet i of b, whose header is sound: why it is dropped, or DROP_NONE.
enum drop_reason ip4_options(struct forwarder *f, struct burst *b, unsigned i);

#endif
