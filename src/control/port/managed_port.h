// SPDX-License-Identifier: BSD-3-Clause
// managed_port.h - ports as port_manager.c, port_link.c and port_stats.c share them; control role
#ifndef PORT_MANAGED_PORT_H
#define PORT_MANAGED_PORT_H

#include "base/vec.h"
#include "port/lacp.h"
#include "port/port_device.h"
#include "port/port_manager.h"

struct carrier;

struct managed_port {
    struct port_config wish; // as asked for, zeroes and all
    struct port_device device;
    bool open; // false only when a change failed and the device did not even come back as it was,
               // and while it is gone
    bool gone; // the card was pulled out; opened again when it is back
    unsigned n_returns; // tries to do so
    bool leaves;        // the card is to be given back
    bool started, link_up;
    bool has_kernel_mac; // somebody gave its TAP another MAC, which holds until one is configured
    uint8_t kernel_mac[6];
    bool waiting; // enabled, not started: nobody is at the other end of its socket yet
    unsigned n_silent, n_patient; // looks at its link since it was started without one; after so
                                  // many it is started again
    uint64_t link_changes; // while started
    struct counter_offload
        offload_before;             // what its DPDK port had counted when the device was opened
    uint64_t cleared_wall_ns;       // of the statistics
    struct port_statistics cleared; // what they were then
    struct carrier *carrier; // of its kernel interface, if any
    // of a member of a LAG: lag_port.h's
    struct lacp_port lacp;
    bool lag_active, lag_changed; // in use; since the last look
    bool lag_kept;                // its LACPDUs are sent on while control is busy
    uint64_t lag_changes, lag_changed_ns;
    struct port_statistics lag_counted; // what its statistics were when the LAG's grew by theirs
};

extern struct managed {
    VEC(struct managed_port *) port; // in order of attachment
} managed;
struct managed_port *managed_port_find(const char *name);

// Opens the device again with another configuration; interface, TAP and sub-interfaces stay.
int managed_port_reopen(struct managed_port *p, const struct port_config *cfg, char *err,
                        size_t err_size);

int managed_port_start(struct managed_port *p, char *err, size_t err_size); // or lets it wait
void managed_port_stop(struct managed_port *p);

// Its card leaves the machine: closes it, or the kernel waits for us. Interface, TAP and
// sub-interfaces stay.
void managed_port_lose(struct managed_port *p);
// port_stats.c
bool managed_port_statistics(
    struct managed_port *p,
    struct port_statistics *s); // false: the device does not tell, and they are 0

// port_link.c
void port_link_subscribe(
    struct managed_port *p); // to what driver and kernel say of the link, since its device is open
void port_link_unsubscribe(struct managed_port *p);
void port_link_update(struct managed_port *p); // and tells who has to know, when it changed
int port_link_init(struct event_base *loop); // from now on links are looked at again and again
void port_link_fini(void);

#endif
