// SPDX-License-Identifier: BSD-3-Clause
// acl.h - access lists: acl.c selects the list, acl_decide.c the rule, acl_act.c acts on it
#ifndef FORWARDER_ACL_H
#define FORWARDER_ACL_H

#include "acl/cache.h"
#include "forwarder/state.h"
#include "table/acl.h"

// An input check with the list of each packet's input interface. Survivors in order.
void acl_in(struct forwarder *f, struct burst *b);
// An output check with the list of each packet's output interface, nexthop_word_iface(b->word[i]).
void acl_out(struct forwarder *f, struct burst *b);

// For one packet that leaves its burst, with b->len[i] set, and the input or output list of
// `iface`: a drop reason, or DROP_NONE. The packet stays.
enum drop_reason acl_one(struct forwarder *f, struct burst *b, unsigned i, uint16_t iface,
                         bool out);

// --- acl_decide.c ---

static inline enum acl_family acl_family_of(const struct burst *b)
{
    return b->family == IP4 ? ACL_IP4 : ACL_IP6;
}

static inline struct acl_asked acl_asked_of(const struct acl_content *c, uint16_t list)
{
    // Acquire, partner: acl_changed. A cache entry of this epoch is up to date.
    return (struct acl_asked){c->rules, list, __atomic_load_n(&c->epoch, __ATOMIC_ACQUIRE)};
}

// The verdict cache of lists with this content, NULL: none.
static inline struct acl_cache *acl_cache_for(const struct forwarder *f,
                                              const struct acl_content *c)
{
    return c->cached ? f->acl_cache : NULL;
}

union acl_keys {
    struct acl_key4 four[BURST_MAX];
    struct acl_key6 six[BURST_MAX];
};

struct acl_group { // packets with the same list
    const struct acl_content *c;
    uint16_t list;
    bool out;
    bool matched; // slot[] is filled in
    unsigned n;
    const uint8_t *at; // indexes into the burst; all of its packets when n == b->n
    uint32_t slot[BURST_MAX];
    union acl_keys *key; // indexed like the burst; NULL: not made yet
};

// Finds the slots of a whole burst, mostly by addresses. Returns false if keys have to be made.
bool acl_match_by_address(struct forwarder *f, struct burst *b, struct acl_group *g);
// Counts the packets and applies their rules. Returns the mask, in the burst, of packets that end.
uint64_t acl_decide(struct forwarder *f, struct burst *b, struct acl_group *g);

// --- acl_act.c ---

struct acl_verdict { // of one packet
    const struct acl_content *c;
    uint32_t place; // index in the content's arrays
    uint16_t list;
    uint16_t iface; // interface with the list
    bool out;
    const void *key; // struct acl_key4 or acl_key6
};

// Applies a rule beyond a plain permit. Returns the reason why the packet ends, or DROP_NONE. The
// packet stays.
enum drop_reason acl_act(struct forwarder *f, struct burst *b, unsigned i,
                         const struct acl_verdict *v);
// Is it a solicitation or advertisement of the link? Input lists never drop these.
bool acl_is_neighbor_discovery(const struct burst *b, unsigned i);
// Writes the verdict into f->record.
void acl_record(struct forwarder *f, const struct burst *b, const struct acl_verdict *v);

// --- acl_key.c: the keys that lists compare, from packet headers ---

// For packets whose IP header is sound and in the first segment. Returns false if the packet has no
// key, because it ends or is cut within the headers that a rule may examine (RFC 1858, RFC 3128,
// RFC 7112): no one can tell which rule it matches.
bool acl_key4(const struct burst *b, unsigned i, struct acl_key4 *k);
bool acl_key6(const struct burst *b, unsigned i, struct acl_key6 *k);
// Makes the keys of all packets of the burst. Returns a bit for each packet without a key.
uint64_t acl_keys4(const struct burst *b, struct acl_key4 *k);
uint64_t acl_keys6(const struct burst *b, struct acl_key6 *k);

// Copies the source addresses of the burst (uint32_t or uint8_t[16] each). Returns false if some
// packet has options or extension headers, is a fragment, or ends early, so that all keys have to
// be made.
bool acl_sources(const struct burst *b, void *src);

#endif
