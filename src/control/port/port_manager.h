// SPDX-License-Identifier: BSD-3-Clause
// port_manager.h - attaching, configuring, starting and stopping DPDK ports
//
// Writes table/port.h and DPDK's own devices. All calls: control role. A port
// that is attached, detached, started or stopped does not disturb the others:
// it leaves every forwarder's plan first, and a grace period passes.
#ifndef PORT_PORT_MANAGER_H
#define PORT_PORT_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "table/counter.h"

struct event_base;

// How the forwarder of a receive queue learns of packets after a silence: the queue wakes it, or it
// has to look.
enum port_rx_mode { PORT_RX_INTERRUPT, PORT_RX_POLL };
static inline const char *port_rx_mode_name(enum port_rx_mode m) // as in the configuration
{
    return m == PORT_RX_POLL ? "poll" : "interrupt";
}

// A port that is made of ports.
enum lag_mode { LAG_MODE_NONE /* it is none */, LAG_MODE_LACP, LAG_MODE_ACTIVE_BACKUP };
static inline const char *lag_mode_name(enum lag_mode m) // as in the configuration
{
    return m == LAG_MODE_LACP ? "lacp" : "active-backup";
}
struct lag_config {
    enum lag_mode mode;
    uint8_t min_links;    // fewer in use: its link is down
    char primary[16];     // active-backup: the member that is used whenever it can be, "" = none
    bool slow, passive;   // LACP: wants a LACPDU every 30 s; waits for the partner's
    uint16_t system_priority;
};

struct port_config {
    char name[16];       // operator's name; also the name of the interface and its TAP
    struct lag_config lag;
    char member_of[16];  // LAG that it is a member of; then it has no interface. "" = none
    char kernel_interface[16]; // that it sends and receives by; "" = none
    char devargs[256];   // DPDK device: "net_af_packet0,iface=eth1", "0000:3b:00.0", "net_memif0,…"
    char netns[64];      // namespace in which the device's own kernel interface lives, "" = ours
    uint16_t rx_queues, tx_queues;           // 0 = chosen
    uint16_t rx_descriptors, tx_descriptors; // 0 = chosen
    uint16_t mtu;                            // bytes of layer 3, 68..9600
    enum port_rx_mode rx_mode; // PORT_RX_INTERRUPT: where the driver can
    bool promiscuous;
    bool has_mac;
    uint8_t mac[6];
    bool enabled; // started
};

// Whether both are one piece of hardware, or one kernel interface, whatever it is driven by. By
// their names.
static inline bool port_config_same_device(const struct port_config *a, const struct port_config *b)
{
    if (a->lag.mode || b->lag.mode)
        return false;
    bool kernel = a->kernel_interface[0] || b->kernel_interface[0];

    return !strcmp(a->netns, b->netns) &&
           (kernel ? !strcmp(a->kernel_interface, b->kernel_interface)
                   : !strcmp(a->devargs, b->devargs));
}

// Each fills `err` with a sentence that names the thing and the remedy when it fails; nothing is
// changed then.
int port_manager_attach(const struct port_config *cfg, char *err,
                        size_t err_size); // attach + configure (+ start when enabled)
int port_manager_detach(const char *name, char *err, size_t err_size);
int port_manager_start(const char *name, char *err, size_t err_size);
int port_manager_stop(const char *name, char *err, size_t err_size);
int port_manager_set_mtu(const char *name, uint16_t mtu, char *err, size_t err_size);
// Live where possible (mtu, promiscuous, mac, enabled), otherwise by a restart of this port alone.
int port_manager_change(const struct port_config *cfg, char *err, size_t err_size);

// Somebody gave the TAP of the port another MAC: the device takes it, unless one is configured or
// it cannot.
int port_manager_follow_mac(const char *name, const uint8_t mac[6], char *err, size_t err_size);
void port_manager_update_filter(
    uint16_t port); // MACs of its interfaces have changed: frames to them have to come through

// DPDK's own statistics of the device.
struct port_statistics {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, rx_missed, rx_errors, rx_no_buffer,
        tx_errors;
    uint64_t checksum_completed, offload_cut; // by us: struct counter_offload
};

struct port_state {
    struct port_config config; // as applied, zeroes replaced by what was chosen
    uint16_t id;
    char driver[32];
    bool started, link_up, full_duplex;
    enum port_rx_mode rx_mode; // in force
    uint32_t speed_mbps; // 0 = unknown
    uint8_t mac[6];
    uint16_t max_rx_queues, max_tx_queues, mtu_max;
    uint64_t rss_hf, rx_offloads, tx_offloads; // in force (DPDK bits)
    int socket;
    struct port_statistics statistics;
    uint64_t cleared_wall_ns; // since 1970; 0: never since the device was opened
    struct port_statistics cleared; // what they were then; `statistics` only grows
};
int port_manager_state(const char *name, struct port_state *s); // 0 or -ENOENT
unsigned port_manager_list(char (*name)[16], unsigned max); // attached ports in order of attachment
// Names and values of the device's extended statistics.
int port_manager_xstats(const char *name, void (*fn)(void *ctx, const char *stat, uint64_t value),
                        void *ctx);

// Calls fn at each change of a port's link; NULL: nobody.
void port_manager_on_link(void (*fn)(const char *port, bool up));

int port_manager_clear(
    const char *name); // statistics begin anew where people read them; 0 or -ENOENT

struct counter_offload port_manager_offload(const char *name); // since its device was opened
uint64_t port_manager_link_changes(
    const char *name); // times that the carrier came or went while the port was started
int port_manager_temperature(
    const char *name,
    int *celsius); // of the device or its optical module; -ENODATA: it does not tell

int port_manager_init(struct event_base *loop); // control's
void port_manager_fini(void);

#endif
