// SPDX-License-Identifier: BSD-3-Clause
// vr.h - virtual routers
//
// A virtual router has its own IPv4 and IPv6 FIB and its own interfaces. In
// Linux it is backed by a network namespace or by a VRF table of one. Id 0 is
// "default": the main table of the namespace kamueed runs in. Written by
// control (vr_manager), and by rib_manager when it changes the FIBs' engine while
// control waits; forwarders read the two FIB pointers, once per burst.
#ifndef TABLE_VR_H
#define TABLE_VR_H

#include <stdbool.h>
#include <stdint.h>

#include "table/fib.h"
#include "table/limits.h"

#define VR_DEFAULT 0

struct vr {
    // reader: forwarder; published with rcu_publish
    struct fib *fib4, *fib6;
    uint32_t hash_seed; // of the ECMP flow hash
    // writer: rib_manager; what ICMP errors come from where the interface has no address (RFC 1812 4.3.2.4); 0 = none
    ip4_t addr4;
    uint8_t addr6[16];
    // writer's own: control
    bool used;
    uint16_t id;
    char name[32];
    char netns[64];  // name under /run/netns, "" = kamueed's own
    uint32_t table;  // kernel routing table, 254 = main
} __attribute__((aligned(64)));

int vr_table_init(void);
void vr_table_fini(void);
extern struct vr *vr_table; // [VR_MAX]

static inline struct vr *vr_get(uint16_t id)
{
    return &vr_table[id];
}

struct vr *vr_find(const char *name); // control; NULL when absent
struct vr *vr_new(const char *name);  // control; with empty FIBs; NULL with errno
void vr_free(struct vr *v);           // control; nothing refers to it any more

#endif
