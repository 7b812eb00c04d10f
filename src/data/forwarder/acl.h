// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists: acl.c chooses the list, acl_decide.c the rule, acl_act.c does what it says
#ifndef FORWARDER_ACL_H
#define FORWARDER_ACL_H

#include "forwarder/state.h"
#include "table/acl.h"

// An input check: the list of the interface that each packet came in by. Survivors in order;
// redirected ones are also in f->redirected.
void acl_in(struct forwarder *f, struct burst *b);
// The same with rules that a GPU has found, for a burst whose packets came in by one list, when it
// had that epoch. False: the list has changed since then, and the packets have been classified
// here.
bool acl_in_answered(struct forwarder *f, struct burst *b, uint16_t list, uint32_t epoch,
                     const uint32_t *rule);
// The list of the interface that packet i came in by; 0: none.
uint16_t acl_list_in(const struct burst *b, unsigned i);
// Stage acl_out: the list of the interface that each packet leaves by, then its policer. For bursts
// with IFACE_ACL_OUT, as acl_out_one and acl_out_copy.
void acl_out(struct forwarder *f, struct burst *b);

// For one packet that leaves its burst, b->len[i] set: list, policer and packet programs. False: it
// was dropped, or a program has sent it elsewhere.
bool acl_in_one(struct forwarder *f, struct burst *b, unsigned i);
bool acl_out_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);
// Why a copy of it may not leave by that interface; DROP_NONE: it may. The packet stays.
enum drop_reason acl_out_copy(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface);

// After the lookup: packets that acl_in has redirected get the next hop of their rule.
void acl_redirect(struct forwarder *f, struct burst *b);

// --- acl_decide.c ---

union acl_keys {
    struct acl_key4 four[BURST_MAX];
    struct acl_key6 six[BURST_MAX];
};

struct acl_group { // packets of one list
    const struct acl_content *c;
    uint16_t list;
    bool out;
    bool matched; // slot[] is known
    unsigned n;
    const uint8_t *at; // places in the burst; all packets of it when n == b->n
    uint32_t slot[BURST_MAX];
    union acl_keys *key; // of places in the burst; NULL: they have not been made
};

// Slots of n keys of one family, by the cache where there is one.
void acl_classify(struct forwarder *f, uint8_t family, const struct acl_group *g,
                  const union acl_keys *key, uint32_t *slot, unsigned n);
// Slots of a whole burst, by addresses as far as possible. False: keys have to be made.
bool acl_match_by_address(struct forwarder *f, struct burst *b, struct acl_group *g);
// Counts the packets and does what their rules say. The mask, in the burst, of those that end.
uint64_t acl_decide(struct forwarder *f, struct burst *b, struct acl_group *g);

// --- acl_act.c ---

struct acl_verdict { // of one packet
    const struct acl_content *c;
    uint32_t place; // in the content's arrays
    uint16_t list;
    uint16_t iface; // bound to it
    bool out;
    const void *key; // struct acl_key4 or 6
};

// Does what the rule says beyond a plain permit: why the packet ends, or DROP_NONE. The packet
// stays.
enum drop_reason acl_act(struct forwarder *f, struct burst *b, unsigned i,
                         const struct acl_verdict *v);
// A solicitation or advertisement from the link, which passes what would drop it on the way in.
bool acl_is_neighbor_discovery(const struct burst *b, unsigned i);
// Writes the verdict into f->record.
void acl_record(struct forwarder *f, const struct burst *b, const struct acl_verdict *v);

#endif
