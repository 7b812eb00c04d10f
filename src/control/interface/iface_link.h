// SPDX-License-Identifier: BSD-3-Clause
// iface_link.h - the links of ports and the resulting carrier of interfaces
//
// Used by iface_manager.c, which reports the links of ports and sets the carrier of TAPs. Control
// role.
#ifndef INTERFACE_IFACE_LINK_H
#define INTERFACE_IFACE_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct iface;
struct tap;

// Returns the other end of a metalink; NULL while there is none.
struct iface *iface_manager_peer(const struct iface *end);
// Returns the carrier that the interface should have: that of its port, or of a metalink's other
// end.
bool iface_link_carrier(const struct iface *i);
void iface_link_update_up(struct iface *i); // updates the flag that forwarders read

void iface_link_forget(uint16_t id); // the interface is deleted

void iface_link_new_port(uint16_t port);
void iface_link_set_port(uint16_t port, bool up); // as reported by the device
void iface_link_port_moved(uint16_t from, uint16_t to);

// If the TAP of a former process still has carrier, so has the interface until its port reports.
void iface_link_presume(struct iface *i, const struct tap *tap);
bool iface_link_is_presumed(uint16_t port);

#endif
