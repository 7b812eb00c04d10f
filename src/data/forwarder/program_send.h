// SPDX-License-Identifier: BSD-3-Clause
// program_send.h - sends packets for packet programs: to next hops, and as frames of any EtherType
#ifndef FORWARDER_PROGRAM_SEND_H
#define FORWARDER_PROGRAM_SEND_H

#include "forwarder/state.h"
#include "program/set.h"

// EtherTypes that programs may not send: VLAN tags, slow protocols, flow control, lengths. Host
// order.
bool frame_type_is_refused(uint16_t type);
// Moves the start of packet i of b by `adjust` bytes, after an untagged Ethernet header with that
// EtherType. Returns false if there is no room in front.
bool frame_move(struct burst *b, unsigned i, int adjust, uint16_t type);
// Sends packet i of b, a frame with an Ethernet header of 14 bytes, to the next hop of
// table/acl_target.h. Returns false if it cannot be sent there.
bool frame_send_to(struct forwarder *f, struct burst *b, unsigned i, uint16_t next_hop);
// The same as a broadcast frame out of the interface with this kernel index in the packet's virtual
// router. `in` caches the last one.
bool frame_send_out(struct forwarder *f, struct burst *b, unsigned i, struct program_instance *in,
                    uint32_t ifindex);
// Makes an IP packet use that next hop after the lookup, in place of its own.
bool packet_redirect(struct forwarder *f, struct burst *b, unsigned i, uint16_t next_hop);

#endif
