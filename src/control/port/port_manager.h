// SPDX-License-Identifier: BSD-3-Clause
// port_manager.h - attaching, configuring, starting and stopping DPDK ports
// Writes table/port.h. Attaching, detaching, starting or stopping a port does not disturb the
// others: the port first leaves every forwarder's plan, and a grace period passes. Called by the
// steps of a change and by readers of the state; control role. An int is 0 or -errno with a message
// in `err`; a failed call changes nothing.
#ifndef PORT_PORT_MANAGER_H
#define PORT_PORT_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/port_config.h"
#include "table/counter.h"

struct event_base;

// Attaches and configures, and starts when enabled.
int port_manager_attach(const struct port_config *cfg, char *err, size_t err_size);
int port_manager_detach(const char *name, char *err, size_t err_size);
// Changes the port while it runs if possible (mtu, promiscuous, mac, enabled), else reopens only
// this port.
int port_manager_change(const struct port_config *cfg, char *err, size_t err_size);

// The operator gave the port's TAP another MAC: the device takes it, unless one is configured.
int port_manager_follow_mac(const char *name, const uint8_t mac[6], char *err, size_t err_size);
// The MACs of its interfaces changed: makes the device promiscuous if needed.
void port_manager_update_filter(uint16_t port);

// DPDK's own statistics of the device.
struct port_statistics {
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, rx_missed, rx_errors, rx_no_buffer,
        tx_errors;
    uint64_t checksum_completed, offload_cut; // counted by us: struct counter_offload
};

struct port_state {
    struct port_config config; // as applied: 0 replaced by the chosen value
    uint16_t id;
    char driver[32];
    bool started, link_up, full_duplex;
    char why[240]; // reason why it is down or would not start again; "": unknown
    enum port_rx_mode rx_mode; // in force
    uint32_t speed_mbps;       // 0 = unknown
    uint8_t mac[6];
    uint16_t max_rx_queues, max_tx_queues, mtu_max;
    uint64_t rss_hf, rx_offloads, tx_offloads; // in force (DPDK bits)
    int socket;
    struct port_statistics statistics;
    uint64_t cleared_wall_ns;       // since 1970; 0: never since the device was opened
    struct port_statistics cleared; // their values at that time; `statistics` only grows
};
int port_manager_state(const char *name, struct port_state *s); // 0 or -ENOENT
unsigned port_manager_list(char (*name)[16], unsigned max); // attached ports in order of attachment
// Names and values of the device's extended statistics.
int port_manager_xstats(const char *name, void (*fn)(void *ctx, const char *stat, uint64_t value),
                        void *ctx);

// fn is called at each change of a port's link; NULL: no callback.
void port_manager_on_link(void (*fn)(const char *port, bool up));

// Readers subtract the present statistics from now on. Returns 0 or -ENOENT.
int port_manager_clear(const char *name);

// Continues the counters of an earlier process: adds them until the device is opened again.
void port_manager_restore(const char *name, const struct port_statistics *before);

struct counter_offload port_manager_offload(const char *name); // since its device was opened
uint64_t port_manager_link_changes(const char *name);          // while the port was started
// True if the port should have carrier but has none. Stopped ports do not count, nor ports whose
// interface (of a member: its LAG's interface) is set down in Linux.
bool port_manager_is_down(const char *name);
// Temperature of the device or its optical module; -ENODATA: unknown.
int port_manager_temperature(const char *name, int *celsius);

int port_manager_init(void);
void port_manager_fini(void);

#endif
