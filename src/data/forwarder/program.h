// SPDX-License-Identifier: BSD-3-Clause
// program.h - runs packet programs of virtual routers (program/set.h) in the stages
#ifndef FORWARDER_PROGRAM_H
#define FORWARDER_PROGRAM_H

#include "forwarder/state.h"
#include "program/set.h"

// Input checks: programs at hooks ether and input of each packet's virtual router. Survivors in
// order.
void program_ether(struct forwarder *f, struct burst *b);
void program_input(struct forwarder *f, struct burst *b);
// Both, for one packet that leaves its burst, with b->len[i] set. Returns false if it has left.
bool program_in_one(struct forwarder *f, struct burst *b, unsigned i);
// An output check: hook output, of each packet's output virtual router.
void program_out(struct forwarder *f, struct burst *b);
// The same for a packet that leaves by `iface`: returns a drop reason, or DROP_NONE. The packet
// stays.
enum drop_reason program_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);

// Hook ether-type: takes a frame whose EtherType (host order) belongs to a program. Returns false
// if there is none.
bool program_type_take(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, uint8_t *type_at);
// Runs the programs of f->typed. Survivors have an Ethernet header of 14 bytes before ip[].
void program_types(struct forwarder *f);

#endif
