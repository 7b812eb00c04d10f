// SPDX-License-Identifier: BSD-3-Clause
// program_send.h - where packet programs send packets: next hops, and frames of any EtherType
#ifndef FORWARDER_PROGRAM_SEND_H
#define FORWARDER_PROGRAM_SEND_H

#include "forwarder/state.h"
#include "program/set.h"

// No program may send frames of it: VLAN tags, slow protocols, flow control, lengths. Host order.
bool frame_type_is_refused(uint16_t type);
// Packet i of b begins `adjust` bytes later, behind an Ethernet header without tags of that
// EtherType. False: no room in front of it.
bool frame_move(struct burst *b, unsigned i, int adjust, uint16_t type);
// Packet i of b, a frame with an Ethernet header of 14 bytes, leaves for the next hop of table/
// acl_target.h. False: nothing there can take it.
bool frame_send_to(struct forwarder *f, struct burst *b, unsigned i, uint16_t next_hop);
// The same as a broadcast frame out of the interface of the packet's virtual router that has this
// index in the kernel. `in` remembers the last one.
bool frame_send_out(struct forwarder *f, struct burst *b, unsigned i, struct program_instance *in,
                    uint32_t ifindex);
// An IP packet takes that next hop in place of its own after the lookup.
bool packet_redirect(struct forwarder *f, const struct burst *b, unsigned i, uint16_t next_hop);

#endif
