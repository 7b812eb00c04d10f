// SPDX-License-Identifier: BSD-3-Clause
// packet_trace_json.h - what became of a packet (table/packet_trace.h), as JSON; control role
//
// The steps are what the forwarder has recorded. To each lookup comes what rib_manager knows of it
// now: the route and who made it, the neighbor behind the next hop. That takes a call or two on the
// loop, so the end is told by `done`.
#ifndef FEATURE_PASSAGE_TELL_H
#define FEATURE_PASSAGE_TELL_H

#include "base/jwrite.h"
#include "table/packet_trace.h"

// Writes the members of the grouping `passage` of kamuee.yang into the object that is open in *j,
// then calls done(ctx). `p` and `j` stay until then.
void packet_trace_json(const struct packet_trace *p, struct jwrite *j, void (*done)(void *ctx),
                       void *ctx);

#endif
