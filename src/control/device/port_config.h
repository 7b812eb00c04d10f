// SPDX-License-Identifier: BSD-3-Clause
// port_config.h - the configuration of a port, with a device or a LAG
//
// Made by the steps of a change; read by the port's device, port_manager and lag_manager.
#ifndef DEVICE_PORT_CONFIG_H
#define DEVICE_PORT_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// How a sleeping forwarder notices packets: the receive queue wakes it, or it polls.
enum port_rx_mode { PORT_RX_INTERRUPT, PORT_RX_POLL };
static inline const char *port_rx_mode_name(enum port_rx_mode m) // as in the configuration
{
    return m == PORT_RX_POLL ? "poll" : "interrupt";
}

enum lag_mode { LAG_MODE_NONE /* no LAG */, LAG_MODE_LACP, LAG_MODE_ACTIVE_BACKUP };
static inline const char *lag_mode_name(enum lag_mode m) // as in the configuration
{
    return m == LAG_MODE_LACP ? "lacp" : "active-backup";
}
struct lag_config {
    enum lag_mode mode;
    uint8_t min_links;  // fewer active members: its link is down
    char primary[16];   // active-backup: the preferred member, "" = none
    bool slow, passive; // LACP: one LACPDU every 30 s; lets the partner speak first
    uint16_t system_priority;
};

struct port_config {
    char name[16]; // also of the interface and its TAP
    char vr[16];   // virtual router of the interface; the default one if it does not exist
    struct lag_config lag;
    char member_of[16];        // its LAG, then it has no interface; "" = none
    char kernel_interface[16]; // behind it; "" = none
    char devargs[256]; // DPDK device: "net_af_packet0,iface=eth1", "0000:3b:00.0", "net_memif0,…"
    char netns[64];    // namespace of the device's kernel interface, "" = ours
    uint16_t rx_queues, tx_queues;           // 0 = chosen
    uint16_t rx_descriptors, tx_descriptors; // 0 = chosen
    uint16_t mtu;                            // bytes of layer 3, 68..9600
    enum port_rx_mode rx_mode;               // PORT_RX_INTERRUPT: where the driver can
    bool promiscuous;
    bool has_mac;
    uint8_t mac[6];
    bool enabled; // started
};

// Do both name the same hardware or kernel interface, with whatever driver?
static inline bool port_config_same_device(const struct port_config *a, const struct port_config *b)
{
    if (a->lag.mode || b->lag.mode)
        return false;
    bool kernel = a->kernel_interface[0] || b->kernel_interface[0];

    return !strcmp(a->netns, b->netns) &&
           (kernel ? !strcmp(a->kernel_interface, b->kernel_interface)
                   : !strcmp(a->devargs, b->devargs));
}

#endif
