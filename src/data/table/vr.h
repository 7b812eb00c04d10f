// SPDX-License-Identifier: BSD-3-Clause
// vr.h - virtual routers
//
// A virtual router has its own IPv4 and IPv6 FIB and its own interfaces. In Linux it is a network
// namespace or a VRF table of one; id 0 is "default", the main table of kamueed's namespace.
// Written by control (vr_manager), and by rib_manager when it changes the FIBs' engine while the
// commit waits; forwarders read the two FIB pointers once per burst.
#ifndef TABLE_VR_H
#define TABLE_VR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/mem.h"
#include "core/rcu.h"
#include "table/fib.h"
#include "table/limits.h"

#define VR_DEFAULT 0

enum flow_hash_mode { FLOW_HASH_L3, FLOW_HASH_L4, FLOW_HASH_SYMMETRIC, FLOW_HASH_MODES };

// Input of the flow hash (forwarder/flow_hash.h). One word, so that no reader sees half a change.
struct flow_hash {
    uint32_t seed;
    uint8_t mode; // enum flow_hash_mode
    bool label;   // includes the IPv6 flow label
    uint16_t pad;
};
_Static_assert(sizeof(struct flow_hash) == 8, "one word");

// Of packets whose next hop says neither (enum nexthop_encap_flag). One word, like flow_hash.
struct vr_mpls {
    bool ttl_propagate;  // uniform model, else pipe (RFC 3443)
    uint8_t default_ttl; // of labels pushed by pipe
};
_Static_assert(sizeof(struct vr_mpls) == 2, "one word");

struct vr {
    // reader: forwarder; the FIBs are in vr_fibs
    struct flow_hash flow_hash;
    uint8_t cpu_weight; // weight of its share of an overloaded core; 0: 1
    struct vr_mpls mpls;
    // writer: rib_manager; source of ICMP errors if the interface has no address (RFC 1812
    // 4.3.2.4); 0 = none
    ip4_t addr4;
    uint8_t addr6[16];
    // the FIBs themselves: for rib_manager, and for lookups of threads that are not forwarders
    struct fib *fib4, *fib6;
    // writer only: control
    uint32_t random_seed; // of the flow hash, unless configured
    bool used, stopped;
    uint16_t id;
    char name[32];
    char netns[64];  // name under /run/netns, "" = kamueed's own
    uint32_t table;  // kernel routing table, 254 = main
} __attribute__((aligned(64)));

int vr_table_init(void);
void vr_table_fini(void);
extern struct vr *vr_table; // [VR_MAX]
// The FIBs by memory node and family; fib_none while one is being made or freed. Published by
// vr_publish.
extern const struct fib *vr_near[MEM_NODES_MAX][2][VR_MAX];

extern uint16_t vr_count; // virtual routers; control writes
// Are there others besides the default one?
static inline bool vr_several(void)
{
    return __atomic_load_n(&vr_count, __ATOMIC_RELAXED) > 1;
}

static inline struct vr *vr_get(uint16_t id)
{
    return &vr_table[id];
}

// The FIBs of a family of all virtual routers, by id, for a forwarder on that memory node; read
// each with rcu_load.
static inline const struct fib *const *vr_fibs(uint8_t family, unsigned node)
{
    return vr_near[node][family == IP6];
}

static inline const struct fib *vr_fib(uint16_t id, uint8_t family, unsigned node)
{
    return rcu_load(&vr_fibs(family, node)[id]);
}

static inline struct flow_hash vr_flow_hash(const struct vr *v)
{
    struct flow_hash h;

    __atomic_load(&v->flow_hash, &h, __ATOMIC_RELAXED);
    return h;
}

static inline struct vr_mpls vr_mpls(uint16_t id)
{
    struct vr_mpls m;

    __atomic_load(&vr_get(id)->mpls, &m, __ATOMIC_RELAXED);
    return m;
}

void vr_set_mpls(uint16_t id, struct vr_mpls m); // rib_manager

extern const struct flow_hash flow_hash_default; // seed 0: a random one
const char *flow_hash_name(unsigned mode); // "l3", "l4", "symmetric"; NULL beyond the last one
// Control; takes effect at once: flows may change their member.
void vr_set_flow_hash(struct vr *v, struct flow_hash h);

struct vr *vr_find(const char *name); // control; NULL when absent
struct vr *vr_new(const char *name);  // control; with empty FIBs; NULL with errno
void vr_free(struct vr *v);           // control; no references may be left
// Publishes another FIB of the family, or an empty one (NULL). Control; rib_manager while a commit
// waits.
void vr_publish(struct vr *v, uint8_t family, struct fib *f);

#endif
