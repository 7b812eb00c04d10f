// SPDX-License-Identifier: BSD-3-Clause
// explain.h - hook for the dry run of a packet through the forwarder's stages, which management
// does not know
#ifndef FEATURE_EXPLAIN_H
#define FEATURE_EXPLAIN_H

#include "packet/explain_frame.h"
#include "table/packet_trace.h"

struct http;
struct iface;
struct lyd_node;

void explain_set_dry_run(packet_trace_explain *fn); // before management starts
packet_trace_explain *explain_dry_run(void); // NULL = not available
// UDP as from traceroute, TTL 64, from an unknown host to the interface's MAC.
struct packet_spec explain_default_packet(const struct iface *i);
// Into EXPLAIN_FRAME_ROOM bytes. Returns their number, 0: too many.
uint32_t explain_frame_of_hex(const char *text, uint8_t *frame);
// From the leaves of the input. False: the request has been refused.
bool explain_read_packet(struct http *h, const struct lyd_node *op, const struct iface *iface,
                         struct packet_spec *s);
void explain_at_run(struct http *h, const struct lyd_node *op); // explain_at.c: the operation

#endif
