// SPDX-License-Identifier: BSD-3-Clause
// label.h - labels (RFC 3032): what to do with a packet, by its top label
//
// Each virtual router has a table, a flat array of next hops by label that is as long as its
// highest label needs. A label's next hop is ENCAP (table/nexthop.h), or a group of them. The
// reserved labels 0..15 are in no table; the forwarder knows what they mean.
//
// Written by rib_manager, read by every forwarder, once per burst and virtual router:
//
//     t = label_table(vr)               label_set(vr, label, next hop)
//     id = label_find(t, label)         label_set(vr, label, 0), --- RCU ---> nexthop_free
#ifndef TABLE_LABEL_H
#define TABLE_LABEL_H

#include <stdint.h>

#include "core/rcu.h"
#include "table/limits.h"

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
    uint32_t nexthop[];
};
// By virtual router; never NULL.
extern struct label_table *label_root[VR_MAX];

// --- reader: forwarder, inside a burst ---
static inline const struct label_table *label_table(uint16_t vr)
{
    return rcu_load(&label_root[vr]);
}

// Next-hop id, 0 = unknown label.
static inline uint32_t label_find(const struct label_table *t, uint32_t label)
{
    return label < t->n ? __atomic_load_n(&t->nexthop[label], __ATOMIC_ACQUIRE) : 0;
}

// --- writer: rib_manager ---
int label_set(uint16_t vr, uint32_t label, uint32_t nexthop); // 0 removes it; 0 or -ENOMEM
uint32_t label_get(uint16_t vr, uint32_t label);
uint32_t label_count(uint16_t vr);
void label_table_drop(uint16_t vr); // the virtual router ends

#endif
