// SPDX-License-Identifier: BSD-3-Clause
// iface.h - interfaces: a port's own one, or an 802.1Q sub-interface (vport)
//
// An interface is what has a TAP, a virtual router and addresses. Written by
// control (iface_manager), except `addr4`/`addr6`/`addr6_ll`, the addresses that ICMP
// errors are sent from, which rib_manager writes; read by every forwarder.
// Ids start at 1 and are reused only after a grace period.
#ifndef TABLE_IFACE_H
#define TABLE_IFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "table/limits.h"

enum iface_kind { IFACE_NONE, IFACE_PORT, IFACE_VPORT };

struct iface {
    // reader: forwarder
    uint8_t kind; // enum iface_kind
    uint8_t up;   // admin up (kernel's IFF_UP on the TAP) and carrier of the port
    uint8_t mac[6];
    uint16_t id, port, vlan /* 0 = untagged */, vr;
    uint16_t mtu; // bytes of layer 3
    // writer: rib_manager; network order, 0 = none; single words or read only for ICMP errors
    ip4_t addr4;
    uint8_t addr6[16];    // a global address
    uint8_t addr6_ll[16]; // the link-local address
    // writer's own: control
    char name[16];
    int ifindex;          // of the TAP in the vr's namespace, 0 = no TAP yet
    bool admin_up, carrier;
} __attribute__((aligned(64)));

int iface_table_init(void);
void iface_table_fini(void);
extern struct iface *iface_table; // [IFACE_MAX]

static inline struct iface *iface_get(uint16_t id)
{
    return &iface_table[id];
}

// --- control ---
struct iface *iface_find_name(const char *name); // NULL when absent; any manager may call it between mailbox calls
struct iface *iface_new(const char *name);       // free id with the name set, kind still NONE; NULL when full
void iface_free(struct iface *i);                // id becomes free after a grace period

// --- any manager ---
struct iface *iface_find_ifindex(uint16_t vr, int ifindex);

#endif
