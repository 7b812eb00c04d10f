// SPDX-License-Identifier: BSD-3-Clause
// port_state.h - state and statistics of ports, LAGs included
//
// Written by port_stats.c and by the files of LAGs; read by management. Control role.
#ifndef PORT_PORT_STATE_H
#define PORT_PORT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/port_config.h"
#include "table/counter.h"

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

#endif
