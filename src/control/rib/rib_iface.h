// SPDX-License-Identifier: BSD-3-Clause
// rib_iface.h - reports to control the operator's iproute2 changes to an interface's TAP
#ifndef RIB_RIB_IFACE_H
#define RIB_RIB_IFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "netlink/netlink.h"
#include "table/iface.h"

struct iface_kernel_event {
    uint16_t vr, iface; // iface: id of that link at the time of the report, 0 = none
    int ifindex;
    bool gone;
    char master[16];    // bridge, bond, VRF … that contains it, "" = none
    uint32_t vrf_table; // table of that VRF; 0: not a VRF
    bool has_vrf;       // some VRF device has the table of the virtual router
    unsigned n_macs; // macvlans on it that are up and have addresses; if more than IFACE_MACS,
                     // mac[] has the first
    uint64_t mac[IFACE_MACS]; // their MACs in the format of iface_mac_word()
    char vlan_device[16]; // Linux VLAN device on top of it, "" = none
    uint16_t vlan;        // of vlan_device
    bool settings;  // check its sysctls (ifindex <= 0: "all"); the other fields are unset
    char upper[16]; // with `settings`: name of the device on top of it to check instead
};

// Control, before its loop runs: `fn` is called on that loop. Without it there are no reports.
void rib_iface_set_event(void (*fn)(const struct iface_kernel_event *e));

struct iface_tunnel_event { // a tunnel made with `ip link add` came or changed
    uint16_t vr;            // router with the namespace's main table
    bool gone;
    struct netlink_link link;
    char master[16]; // bridge, bond, VRF … that contains it, "" = none
    char dev[16];    // device for outer packets, "" = any, or not known
};

void rib_iface_set_tunnel_event(void (*fn)(const struct iface_tunnel_event *e)); // likewise

#endif
