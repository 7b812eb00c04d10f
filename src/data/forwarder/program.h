// SPDX-License-Identifier: BSD-3-Clause
// program.h - runs packet programs of virtual routers (program/set.h) in the stages
#ifndef FORWARDER_PROGRAM_H
#define FORWARDER_PROGRAM_H

#include "forwarder/state.h"
#include "program/set.h"

// Runs the hook's programs of each packet's virtual router: at hook output that of its output,
// which nexthop_word_iface(b->word[i]) tells. Survivors in order; frames of f->typed (hook
// ether-type) then have an Ethernet header of 14 bytes before ip[].
void program_run(struct forwarder *f, struct burst *b, enum program_hook hook);
// Hooks ether and input, for one packet that leaves its burst, with b->len[i] set. Returns
// false if it has left.
bool program_in_one(struct forwarder *f, struct burst *b, unsigned i);
// Hook output, for a packet that leaves by `iface`: returns a drop reason, or DROP_NONE. The packet
// stays.
enum drop_reason program_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);

// Hook ether-type: takes a frame whose EtherType (host order) belongs to a program. Returns false
// if there is none.
bool program_type_take(struct forwarder *f, struct rte_mbuf *m, uint16_t iface, uint8_t *type_at);

// --- program_fill.c: copies packets of a burst into the slots of a program ---

struct passage { // of packets of one burst through one program
    const struct program *p;
    struct program_instance *in;
    bool alone; // the packet has left its burst
    bool row;   // indexes are at[0], at[0] + 1 ...
    unsigned n;
    uint8_t at[PROGRAM_SLOTS]; // indexes in the burst
    uint16_t readable[PROGRAM_SLOTS];
    uint32_t verdict[PROGRAM_SLOTS];
};

// Copies packets at[0] to at[n - 1] into g->in's slots; sets readable[].
void program_fill(const struct forwarder *f, const struct burst *b, struct passage *g);

// --- program_send.c: sends packets to next hops, and as frames of any EtherType ---

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
