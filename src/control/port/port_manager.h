// SPDX-License-Identifier: BSD-3-Clause
// port_manager.h - attaching, configuring, starting and stopping DPDK ports
// Writes table/port.h. Attaching, detaching, starting or stopping a port does not disturb the
// others: the port first leaves every forwarder's plan, and a grace period passes. Called by the
// steps of a change; readers of the state use port_state.h. Control role. An int is 0 or -errno
// with a message in `err`; a failed call changes nothing.
#ifndef PORT_PORT_MANAGER_H
#define PORT_PORT_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/port_config.h"
#include "port/port_state.h"

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

// In an upgrade, a port for which fn returns the MAC that the old kamueed reports gets no device,
// unless both can have it open, until it is reopened. NULL: every port gets one from now on.
void port_manager_defer(const uint8_t *(*fn)(const char *port));

int port_manager_init(void);
void port_manager_fini(void);

// port_link.c: follows the links of ports, and reopens a port whose device came back. Started after
// port_manager.
struct event_base;

int port_link_init(struct event_base *loop); // starts polling all links; 0 or -errno
void port_link_fini(void);

// port_begin.c: at the start, ports forward only once there are routes. The first packet should
// find a complete FIB: without routes it would be answered with an ICMP error. So until the
// configuration is in force, no forwarder polls a port and no TAP is read. Until the kernel's
// tables are read, forwarders pass control packets and keep the others (plan_begin in plan.h). In
// an upgrade all packets wait in their queues.
int port_begin_init(struct event_base *loop); // holds all ports; call before the first one
void port_begin(void);                        // the configuration is in force
// In an upgrade, calls `fn` once the tables are read or after a minute; ports then forward only
// after port_begin_now.
void port_begin_instead(void (*fn)(bool all_read));
void port_begin_now(void);
void port_begin_fini(void);

// iface_follow.c: follows, restores or reports changes that the operator makes to TAPs.
// docs/features/kernel-state.md has a row for each attribute. rib_manager's kernel events call it.
void iface_follow_init(void);

// port_upgrade.c: ports during an upgrade, while two kamueeds have them (docs/adr/0020).
//
//     new kamueed                              old kamueed
//     port_manager_defer   before its ports
//                                              stops receiving, port_upgrade_discard
//     port_upgrade_discard, and forwards
//                                              port_upgrade_close, when nothing waits to be sent
//     port_upgrade_open
//
// A packet socket (net_af_packet) is open in both: each gets all frames, so the new kamueed
// discards the frames that came before it forwards. Any other device can be open only once: the new
// kamueed has its interface and TAP, and opens the device after the old one has closed it.
struct port_upgrade { // state of a port that the old kamueed reports to the new one
    char name[16];
    uint8_t mac[6];
    bool up;
};

void port_upgrade_each(void (*fn)(void *ctx, const struct port_upgrade *p), void *ctx);
// Discards the frames received so far, while no forwarder polls; fn gets their number and may be
// NULL.
void port_upgrade_discard(void (*fn)(const char *port, uint32_t n));
void port_upgrade_close(void);       // no forwarder runs; does not announce links down
void port_upgrade_open(void);        // opens the deferred devices

// port_history.c: each port's counters during the last hour. Records one point every ten seconds,
// always, so that a new graph has a past. At most 17 KiB per port. port_manager starts it; `show
// port-history` reads it.
#define PORT_HISTORY_EVERY_S 10
#define PORT_HISTORY_POINTS 361 // an hour has a point at either end

struct port_point {
    uint64_t wall_ns; // since 1970
    // Since the device was opened: a smaller value than before means that it was reopened.
    uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes, rx_missed;
};

// Calls fn for each point of the port, the oldest first; never for a port without points.
void port_history_each(const char *port, void (*fn)(void *ctx, const struct port_point *p),
                       void *ctx);

// Adds one point; the oldest of PORT_HISTORY_POINTS goes.
void port_history_add(const char *port, const struct port_point *p);
// Adds a point of every port, and forgets ports that were detached.
void port_history_sample(void);

int port_history_init(struct event_base *loop); // NULL: no timer
void port_history_fini(void);

#endif
