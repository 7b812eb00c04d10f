// SPDX-License-Identifier: BSD-3-Clause
// packet_trace_json.h - a packet's path through the router (table/packet_trace.h), as JSON; control
// role
//
// The forwarder has recorded the steps. rib_manager adds its present knowledge to each lookup: the
// route and its origin, and the neighbor behind the next hop. That takes a call or two on the loop;
// then `done` is called.
#ifndef PACKET_PACKET_TRACE_JSON_H
#define PACKET_PACKET_TRACE_JSON_H

#include "base/jwrite.h"
#include "table/packet_trace.h"

// Writes the members of the grouping `passage` of kamuee.yang into the object that is open in *j,
// then calls done(ctx). `p` and `j` must live until then.
void packet_trace_json(const struct packet_trace *p, struct jwrite *j, void (*done)(void *ctx),
                       void *ctx);

#endif
