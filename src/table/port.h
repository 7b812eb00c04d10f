// SPDX-License-Identifier: BSD-3-Clause
// port.h - DPDK ports as forwarders see them
//
// Written by control (port_manager, iface_manager), read by every forwarder.
// The index is DPDK's port id. A port's descriptor array never moves; fields a
// forwarder reads change by single atomic stores while the port is in no
// forwarder's plan, or one word at a time.
#ifndef TABLE_PORT_H
#define TABLE_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "table/limits.h"

struct port {
    // reader: forwarder
    uint16_t untagged;         // iface id of untagged frames (the port's own interface), 0 = none
    uint16_t mtu;              // bytes of layer 3
    bool fast_free;            // takes only whole buffers of exchange_pool with one owner (MBUF_FAST_FREE); see exchange_mixed
    uint16_t vlan_iface[4096]; // 802.1Q VLAN id -> iface id, 0 = none
    // writer's own: control
    bool used, started;
    char name[32]; // operator's name, e.g. "p0"
};

int port_table_init(void);
void port_table_fini(void);
extern struct port *port_table; // [PORT_MAX]

static inline struct port *port_get(uint16_t id)
{
    return &port_table[id];
}

#endif
