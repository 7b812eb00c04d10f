// SPDX-License-Identifier: BSD-3-Clause
// rib_iface.h - tells control what the operator does to an interface's TAP with iproute2
#ifndef RIB_RIB_IFACE_H
#define RIB_RIB_IFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "netlink/netlink.h"
#include "table/iface.h"

struct iface_kernel_event {
    uint16_t vr, iface; // iface: of that link when it was told, 0 = none
    int ifindex;
    bool gone;
    char master[16];    // bridge, bond, VRF … that it has been put into, "" = none
    uint32_t vrf_table; // of that one; 0: it is no VRF
    bool has_vrf;       // some VRF device has the table of the virtual router
    unsigned n_macs; // macvlans that stand on it, are up and have addresses; more than IFACE_MACS:
                     // mac[] has the first
    uint64_t mac[IFACE_MACS]; // theirs, as iface_mac_word() has them
    char vlan_device[16]; // a VLAN device of Linux that stands on it, "" = none
    uint16_t vlan;        // of that one
    bool settings;  // look at its sysctls (ifindex <= 0: at those of all), and nothing else is told
                    // here
    char upper[16]; // with `settings`: not its own, but those of the device of this name that
                    // stands on it
};

// Control, before its loop runs: `fn` is called on that loop. Without it there are no reports.
void rib_iface_set_event(void (*fn)(const struct iface_kernel_event *e));

struct iface_tunnel_event { // a tunnel that somebody made with `ip link add` has come or changed
    uint16_t vr;            // which has the namespace's main table
    bool gone;
    struct netlink_link link;
    char master[16]; // bridge, bond, VRF … that it has been put into, "" = none
    char dev[16];    // by which its outer packets go, "" = any, or not known
};

void rib_iface_set_tunnel_event(void (*fn)(const struct iface_tunnel_event *e)); // likewise

#endif
