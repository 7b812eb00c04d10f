// SPDX-License-Identifier: BSD-3-Clause
// program.h - packet programs of virtual routers (program/set.h) among the stages
#ifndef FORWARDER_PROGRAM_H
#define FORWARDER_PROGRAM_H

#include "forwarder/state.h"
#include "program/set.h"

// Input checks: the programs at hook ether, and input, of the virtual router that each packet came
// to. Survivors in order; those that go to a next hop are also in f->redirected.
void program_ether(struct forwarder *f, struct burst *b);
void program_input(struct forwarder *f, struct burst *b);
// Both, for one packet that leaves its burst before input_checks.c, b->len[i] set. False: it has
// left.
bool program_in_one(struct forwarder *f, struct burst *b, unsigned i);
// Hook output, of the virtual router that each packet leaves by. Belongs to acl_out.
void program_out(struct forwarder *f, struct burst *b);
// Of one that leaves by `iface`: why it is dropped, or DROP_NONE. It stays.
enum drop_reason program_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);

// Hook ether-type: takes a frame whose EtherType, in host order, is a program's. False: it is no
// program's.
bool program_type_take(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, uint8_t *type_at);
// Runs the programs of f->typed. Survivors have an Ethernet header of 14 bytes in front of ip[].
void program_types(struct forwarder *f);

#endif
