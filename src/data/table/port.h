// SPDX-License-Identifier: BSD-3-Clause
// port.h - ports as forwarders see them: DPDK's, and LAGs (table/lag.h)
//
// Written by control (port_manager, iface_manager), read by every forwarder. The index is DPDK's
// port id, or a LAG's. Entries never move; fields that a forwarder reads change by single atomic
// stores, or while the port is in no plan.
#ifndef TABLE_PORT_H
#define TABLE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "table/limits.h"

struct port_queue;

struct port {
    // reader: forwarder
    uint16_t mtu;              // bytes of layer 3
    bool fast_free; // takes only whole buffers of exchange_pool with one owner (MBUF_FAST_FREE);
                    // see exchange_mixed
    bool offload;   // may hand over what its sender left to a card: checksums to be finished,
                    // segments to be cut
    uint8_t lag;               // id of the LAG that it is a member of, 0 = none
    uint32_t watch_rx, watch_tx; // who looks at its frames: bits of table/watch.h
    union {
        uint16_t untagged; // iface id of untagged frames (the port's own interface), 0 = none
        uint16_t vlan_iface[4096]; // VLAN id of the only tag -> iface id, 0 = none. 0 is no VLAN,
                                   // but a priority alone (802.1Q 9.6)
    };
    uint16_t outer_row[4096];  // VLAN id of the outer of two tags -> row of port_inner[], 0 = none
    // writer's own: control
    bool used, started;
    bool collects; // a member: its frames lead where those of its LAG do
    char name[32]; // operator's name, e.g. "p0"
    struct port_queue *queue; // NULL: sends straight
};

int port_table_init(void);
void port_table_fini(void);
extern struct port *port_table; // [PORT_MAX]
extern uint16_t (*port_inner)[4096]; // [OUTER_VLAN_MAX]: inner VLAN id -> iface id, 0 = none; row 0
                                     // leads nowhere

static inline struct port *port_get(uint16_t id)
{
    return &port_table[id];
}

// The interface of frames with these VLAN ids; 0 = none. outer 0: one tag; both 0: none, or one
// that is a priority alone.
static inline uint16_t port_iface(const struct port *p, uint16_t outer, uint16_t vlan)
{
    return outer ? port_inner[p->outer_row[outer]][vlan] : p->vlan_iface[vlan];
}

// --- control ---
// Frames of `p` with these VLAN ids lead to interface `id` from now on, 0 = nowhere. 0, or -ENOSPC:
// no row is free.
int port_lead(struct port *p, uint16_t outer, uint16_t vlan, uint16_t id);
// Its device was opened again: all frames as before.
void port_lead_as(struct port *p, const struct port *before);
// Frames of member `p` lead where those of its LAG do, now and later, or nowhere.
void port_collect(struct port *p, bool on);

#endif
