// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists asked about packets; acl.c is about whom, acl_act.c what becomes of them
#ifndef FORWARDER_ACL_H
#define FORWARDER_ACL_H

#include "forwarder/state.h"
#include "table/acl.h"

// A feature: the list of the interface that each packet came in by. Survivors in order; redirected
// ones are in f->redirected.
void acl_in(struct forwarder *f, struct burst *b);
// Stage acl_out: the list of the interface that each packet's next hop leads out of. For bursts
// with IFACE_ACL_OUT.
void acl_out(struct forwarder *f, struct burst *b);

// Of one packet that does not go the way of its burst, and its layer-3 length in b->len[i]: true,
// it may go on; or it has ended.
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
    bool named; // slot[] is known
    unsigned n;
    const uint8_t *at; // places in the burst; all packets of it when n == b->n
    uint32_t slot[BURST_MAX];
    union acl_keys *key; // of places in the burst; NULL: they have not been made
};

// Slots of n keys of one family, by way of the cache if that is of use.
void acl_classify(struct forwarder *f, uint8_t family, const struct acl_group *g,
                  const union acl_keys *key, uint32_t *slot, unsigned n);
// Slots of a whole burst, from addresses alone as far as these tell; false: their keys have to be
// made.
bool acl_name_late(struct forwarder *f, struct burst *b, struct acl_group *g);
// Counts them, and does what their rules say. The mask, in the burst, of those that end.
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

// What the action asks for besides letting the packet go: why it ends, or DROP_NONE. The packet
// stays.
enum drop_reason acl_act(struct forwarder *f, struct burst *b, unsigned i,
                         const struct acl_verdict *v);
void acl_note(struct forwarder *f, const struct burst *b,
              const struct acl_verdict *v); // for who records the packet

#endif
