// SPDX-License-Identifier: BSD-3-Clause
// managed_port.h - the ports with a device, for the files of ports and of LAGs
//
// Control role.
#ifndef PORT_MANAGED_PORT_H
#define PORT_MANAGED_PORT_H

#include "base/vec.h"
#include "device/port_device.h"
#include "port/port_state.h"

struct carrier;
struct lag_member; // lag/lag_port.h

struct managed_port {
    struct port_config wish; // as configured, 0 = choose
    struct port_device device;
    // False while the card is gone, and if neither the new nor the old configuration worked.
    bool open;
    bool gone;          // the card was pulled out; opened again when it is back
    unsigned n_returns; // attempts to open it again
    bool leaves;        // the kernel wants the card back
    bool started, link_up;
    bool has_kernel_mac; // the operator changed its TAP's MAC; in force until a MAC is configured
    uint8_t kernel_mac[6];
    bool waiting; // enabled, not started: no program is at the other end of its socket yet
    unsigned n_silent, n_patient; // polls without link since its start; restarted after n_patient
    uint64_t link_changes;        // while started
    struct counter_offload offload_before; // counters of its DPDK port when it was opened
    uint64_t cleared_wall_ns;              // when the operator cleared the statistics
    struct port_statistics cleared;        // their values at that time
    struct port_statistics before;         // counted by an earlier process
    struct carrier *carrier;               // of its kernel interface, if any
    // Only for members of a LAG, whose files own them.
    struct lag_member *lag;             // freed with the port
    struct port_statistics lag_counted; // statistics that the LAG's already contain
};

extern struct managed {
    VEC(struct managed_port *) port; // in order of attachment
} managed;
struct managed_port *managed_port_find(const char *name);

// LAGs are ports without a device: counterparts of the functions in port_manager.h.
struct lag_port {
    struct port_config wish;
    bool used, up, has_mac;
    uint8_t mac[6];
    char active[16]; // active-backup: the member in use, "" = none
    unsigned n_active;
    uint64_t link_changes;
    unsigned announcements;
    uint64_t announce_ns;
    struct port_statistics statistics;
    uint64_t cleared_wall_ns;
    struct port_statistics cleared;
};
extern const struct port_lags {
    struct lag_member *(*new_member)(void);
    struct lag_port *(*find)(const char *name);
    int (*attach)(const struct port_config *cfg, char *err, size_t err_size);
    int (*detach)(struct lag_port *l, char *err, size_t err_size);
    int (*change)(struct lag_port *l, const struct port_config *cfg, char *err, size_t err_size);
    void (*set_mac)(struct lag_port *l, const uint8_t mac[6]);
    int (*state)(struct lag_port *l, struct port_state *s);
    unsigned (*list)(char (*name)[16], unsigned max);
} *port_lags; // lag_manager.c sets it before the first port

// Reads the link and announces a change.
void managed_port_update_link(struct managed_port *p);
// Tells the listener of port_manager_on_link, also for a LAG.
void managed_port_announce(const char *port, bool up);

// Reopens the device with another configuration; interface, TAP and sub-interfaces stay.
int managed_port_reopen(struct managed_port *p, const struct port_config *cfg, char *err,
                        size_t err_size);

// Starts it, or makes it wait for the other end of its socket.
int managed_port_start(struct managed_port *p, char *err, size_t err_size);
void managed_port_stop(struct managed_port *p);

// The card leaves the machine: closes the device, because the kernel waits for that. Interface, TAP
// and sub-interfaces stay.
void managed_port_lose(struct managed_port *p);

// port_stats.c. Returns false and zeros if the device has no statistics.
bool managed_port_statistics(struct managed_port *p, struct port_statistics *s);

#endif
