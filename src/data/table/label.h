// SPDX-License-Identifier: BSD-3-Clause
// label.h - labels (RFC 3032): what to do with a packet, by its top label
//
// Each virtual router has a table, a flat array by label that is as long as its highest label
// needs. A label's next hop is ENCAP (table/nexthop.h), or a group of them. The reserved labels
// 0..15 are in no table; the forwarder knows what they mean.
//
// A label that is swapped, or popped, needs one load: its word has all that its next hop says,
// which never changes.
//
// Written by rib_manager, read by every forwarder, once per burst and virtual router:
//
//     t = label_table(vr)               label_set(vr, label, next hop)
//     word = label_find(t, label)       label_set(vr, label, 0), --- RCU ---> nexthop_free
#ifndef TABLE_LABEL_H
#define TABLE_LABEL_H

#include <stdint.h>

#include "core/rcu.h"
#include "table/limits.h"
#include "table/nexthop.h"

#define LABEL_MAX (1u << 20)
#define LABEL_FIRST 16u // those below are reserved

enum label_reserved {
    LABEL_IP4_NULL = 0,
    LABEL_ROUTER_ALERT = 1,
    LABEL_IP6_NULL = 2,
    LABEL_IMPLICIT_NULL = 3,
    LABEL_ENTROPY = 7, // the next one is an entropy label (RFC 6790)
};

struct label_table {
    struct rcu_retired retired;
    uint32_t n; // power of two, or 0
    uint64_t word[];
};

// A label's word: bits 0-17 id of its next hop, 0 = unknown label; 24-39 the next hop behind the
// new label or the last one, or the virtual router that looks the packet up; 40-63 the new label as
// an entry in network order, or enum nexthop_encap_flag.
#define LABEL_IDS (1u << 18)
#define LABEL_SWAP (1u << 18) // none of them: as the next hop says
#define LABEL_POP (1u << 19)  // into a lookup
#define LABEL_BARE (1u << 20) // pop to a next hop
_Static_assert(NEXTHOP_ALL_MAX <= LABEL_IDS, "the word holds any next-hop id");

static inline uint32_t label_word_id(uint64_t word)
{
    return word & (LABEL_IDS - 1);
}
static inline uint16_t label_word_to(uint64_t word) // next hop, or virtual router
{
    return (uint16_t)(word >> 24);
}
static inline uint32_t label_word_new(uint64_t word) // label, or flags
{
    return (uint32_t)(word >> 40);
}
// Of a label with that next hop.
static inline uint64_t label_word_of(uint32_t id)
{
    const struct nexthop *nh = nexthop_get(id);
    const struct nexthop_encap *e = &nh->encap;
    const bool encap = nexthop_word_kind(nexthop_word(nh)) == NEXTHOP_ENCAP,
               any = !(e->flags & (NEXTHOP_ENCAP_IP4 | NEXTHOP_ENCAP_IP6));

    if (encap && e->n == 1 && e->via)
        return id | LABEL_SWAP | (uint64_t)e->via << 24 | (uint64_t)e->label_be[0] << 40;
    if (encap && !e->n && any)
        return id | (e->via ? LABEL_BARE | (uint64_t)e->via << 24
                            : LABEL_POP | (uint64_t)e->vr << 24) |
               (uint64_t)e->flags << 40;
    return id;
}
// By virtual router; never NULL.
extern struct label_table *label_root[VR_MAX];

// --- reader: forwarder, inside a burst ---
static inline const struct label_table *label_table(uint16_t vr)
{
    return rcu_load(&label_root[vr]);
}

static inline uint64_t label_find(const struct label_table *t, uint32_t label)
{
    return label < t->n ? __atomic_load_n(&t->word[label], __ATOMIC_ACQUIRE) : 0;
}

// --- writer: rib_manager ---
int label_set(uint16_t vr, uint32_t label, uint32_t nexthop); // 0 removes it; 0 or -ENOMEM
uint32_t label_get(uint16_t vr, uint32_t label);              // next-hop id, 0 = unknown label
uint32_t label_count(uint16_t vr);
void label_table_drop(uint16_t vr); // the virtual router ends

#endif
