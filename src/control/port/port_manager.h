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

#endif
