// SPDX-License-Identifier: BSD-3-Clause
// port.h - ports as forwarders see them: DPDK's, and LAGs
//
// Written by control (port_manager, iface_manager), read by every forwarder. The index is DPDK's
// port id, or a LAG's. Entries never move; fields that a forwarder reads change by single atomic
// stores, or while the port is in no plan.
#ifndef TABLE_PORT_H
#define TABLE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "table/limits.h"

struct port_queue;

struct port {
    // reader: forwarder
    uint16_t mtu;   // bytes of layer 3
    bool fast_free; // takes only whole buffers of exchange_pool with a single reference
                    // (MBUF_FAST_FREE); see exchange_mixed
    bool offload;   // its packets may need work that senders left to a NIC: unfinished checksums,
                    // segments to be cut
    uint8_t lag;    // id of its LAG, 0 = not a member
    uint8_t super;  // sends super-packets whole: SUPER_TCP, SUPER_UDP (table/super.h)
    uint32_t watch_rx, watch_tx; // watches of its frames: bits of table/watch.h
    union {
        uint16_t untagged; // iface id of untagged frames (the port's own interface), 0 = none
        uint16_t vlan_iface[4096]; // VLAN id of the only tag -> iface id, 0 = none. 0 is not a
                                   // VLAN, only a priority (802.1Q 9.6)
    };
    uint16_t outer_row[4096]; // VLAN id of the outer of two tags -> row of port_inner[], 0 = none
    // writer only: control
    bool used, started;
    bool collects;            // a member: its frames lead to the interfaces of its LAG
    char name[32];            // operator's name, e.g. "p0"
    struct port_queue *queue; // NULL: sends directly
};

int port_table_init(void);
void port_table_fini(void);
extern struct port *port_table;      // [PORT_MAX]
extern uint16_t (*port_inner)[4096]; // [OUTER_VLAN_MAX]: inner VLAN id -> iface id, 0 = none; row 0
                                     // leads nowhere

static inline struct port *port_get(uint16_t id)
{
    return &port_table[id];
}

// The interface of frames with these VLAN ids; 0 = none. outer 0: one tag; both 0: untagged, or a
// priority tag.
static inline uint16_t port_iface(const struct port *p, uint16_t outer, uint16_t vlan)
{
    return outer ? port_inner[p->outer_row[outer]][vlan] : p->vlan_iface[vlan];
}

// --- control ---
// Directs frames of `p` with these VLAN ids to interface `id`, 0 = nowhere. 0, or -ENOSPC: no free
// row.
int port_lead(struct port *p, uint16_t outer, uint16_t vlan, uint16_t id);
// After reopening its device: directs all frames as before.
void port_lead_as(struct port *p, const struct port *before);
// Directs frames of member `p` to the interfaces of its LAG, now and later; off: nowhere.
void port_collect(struct port *p, bool on);

// --- link aggregation: which member sends a frame ---
//
// A LAG is an entry of the port table without a device, with one of the last LAG_MAX ids. Its
// members are ports (struct port's `lag`). The flow hash of a frame picks one of LAG_BUCKETS
// buckets, each of which holds a member's id. Written byte by byte (lag/lag_active.c): each bucket
// is valid by itself. Read by every forwarder with a frame for it.

#define LAG_BUCKETS 64
#define LAG_NO_MEMBER 0xff // in a bucket: drop reason LAG_NO_MEMBER

struct lag {
    // reader: forwarder
    uint8_t bucket[LAG_BUCKETS]; // port id of a member
    bool lacp;                   // accepts LACPDUs
    uint8_t system[6];           // our LACP system id: LACPDUs with it have looped back to us
} __attribute__((aligned(64)));

extern struct lag lag_table[LAG_MAX];

static inline bool lag_is(uint16_t port)
{
    return port >= LAG_FIRST;
}

static inline struct lag *lag_get(uint16_t port)
{
    return &lag_table[port - LAG_FIRST];
}

// Returns the member for a flow. Mixes the hash again, because an ECMP group has chosen by some of
// its bits.
static inline uint8_t lag_member(uint16_t port, uint32_t flow_hash)
{
    return __atomic_load_n(&lag_get(port)->bucket[hash_mix64(flow_hash) % LAG_BUCKETS],
                           __ATOMIC_RELAXED);
}

// --- control ---
// Distributes the buckets evenly over these members, changing as few as possible.
void lag_share(struct lag *lag, const uint8_t *member, unsigned n);

#endif
