// SPDX-License-Identifier: BSD-3-Clause
// label.h - packets with labels: label stack entries (RFC 3032 2.1), their hash, and the functions
// of label_in.c, label_push.c and label_error.c
//
// A burst of packets with labels has family LABELS: ip[] is the top entry, and hop[] its word,
// whose TTL lanes->apply_nexthops() checks and lowers like a hop limit, so hop_out[] is the entry
// to send.
#ifndef FORWARDER_LABEL_H
#define FORWARDER_LABEL_H

#include "forwarder/flow_hash.h"
#include "forwarder/state.h"
#include "table/label.h"

#define LABEL_DEPTH 16u // entries of a stack, as far as anything reads it
#define LABEL_HASHED 8u // entries that the flow hash reads

// An entry in host order: label 20 bits, traffic class 3, bottom of stack 1, TTL 8.
enum { ENTRY_CLASS = 0xe00, ENTRY_BOTTOM = 0x100, ENTRY_TTL = 0xff };

static inline uint32_t label_load(const uint8_t *at)
{
    return rte_be_to_cpu_32(load32(at));
}

static inline void label_store(uint8_t *at, uint32_t entry)
{
    store32(at, rte_cpu_to_be_32(entry));
}

// Does the TTL pass between the labels and the packet below (RFC 3443 uniform model)?
static inline bool is_uniform(uint8_t encap_flags, uint16_t vr)
{
    return encap_flags & (NEXTHOP_ENCAP_UNIFORM | NEXTHOP_ENCAP_PIPE)
               ? encap_flags & NEXTHOP_ENCAP_UNIFORM
               : vr_mpls(vr).ttl_propagate;
}

struct label_stack {      // of one packet
    const uint8_t *below; // after its bottom
    unsigned n;           // entries
    uint8_t family;       // of an IP packet below, whose fixed header can be read; IP_NONE: other
};
// Looks for the bottom from `at` on, of which `readable` bytes can be read. Returns false if there
// is none within LABEL_DEPTH.
bool stack_read(const uint8_t *at, uint32_t readable, struct label_stack *s);

// Hash of the flow of a packet with labels: of its entropy label (RFC 6790), or of the IP packet
// below, or else of its labels. `len`: bytes of the packet from `at` on.
uint32_t label_hash(const uint8_t *at, uint32_t readable, uint32_t len, struct flow_hash how);

// Is its whole packet, as far as its header says, in the first segment's `readable` bytes and the
// `len` bytes of the packet?
enum drop_reason label_check_ip(const uint8_t *ip, uint8_t family, uint32_t readable, uint32_t len);

// Result of labels_in for a packet that stays: in dst6[], for counters and errors.
struct label_done {
    uint32_t id;    // of the next hop that a label named: its operation
    uint32_t ended; // labels that it took off; they are still in the frame, above the present ones
};
static inline void label_set_done(struct burst *b, unsigned i, struct label_done done)
{
    memcpy(b->dst6[i], &done, sizeof done);
}
static inline struct label_done label_done(const struct burst *b, unsigned i)
{
    struct label_done done;

    memcpy(&done, b->dst6[i], sizeof done);
    return done;
}

// --- label_in.c: stage labels_in ---
// Packets of b that leave with labels stay, for ether_out; the others join in4, in6, odd4, odd6
// (lookup by their virtual router) or bare4, bare6 (next hop known), or exit.
void labels_in(struct forwarder *f, struct burst *b);

// --- ether_out.c ---
// Writes the TTL of packet i, which is IP, and the labels of e in front of it. Returns the top one.
uint8_t *labels_put(struct burst *b, unsigned i, const struct nexthop_encap *e);

// --- label_push.c ---
// `out`: packets of b that their next hops do not take as they are, with all whose next hop is
// ENCAP. Sends these, or passes them to their exits. Returns the mask of the others.
uint64_t label_push(struct forwarder *f, struct burst *b, uint64_t out);
// Sends the packets of p, whose next hops are ENCAP, regardless of their size. `lower`: their TTL
// is still to be lowered.
void label_send(struct forwarder *f, struct burst *p, bool lower);
// Packets of b, with labels, come back from neigh_manager; b keeps all that can be sent.
void label_resume(struct forwarder *f, struct burst *b);

// --- label_error.c ---
// Exits of packets with labels whose next hop does not take them: hop_out[] is the top entry that
// they would have had.
void label_leave(struct forwarder *f, struct burst *b, uint64_t out);
// The TTL of packet i has expired where its labels end: drops it, and vr informs its sender.
void label_expire(struct forwarder *f, struct burst *b, unsigned i, uint16_t vr);

#endif
