// SPDX-License-Identifier: BSD-3-Clause
// iface_link.h - the links of ports, and by them the carrier of interfaces
//
// Below iface_manager.c, which says what a port has reported, and tells a TAP its carrier. Control
// role.
#ifndef PORT_IFACE_LINK_H
#define PORT_IFACE_LINK_H

#include <stdbool.h>
#include <stdint.h>

struct iface;
struct tap;

// What its carrier has to be: that of its port, or of a metalink's other end.
bool iface_link_carrier(const struct iface *i);
void iface_link_update_up(struct iface *i); // the flag that forwarders look at, by i->carrier

// When that flag changed last, or the interface was made: wall clock.
uint64_t iface_link_changed_ns(uint16_t id);
void iface_link_forget(uint16_t id); // it is deleted
// A former process knew since when; heeded while the flag is what it was.
void iface_link_restore(uint16_t id, bool up, uint64_t changed_ns);

void iface_link_new_port(uint16_t port);
void iface_link_set_port(uint16_t port, bool up); // as the device has reported
void iface_link_port_moved(uint16_t from, uint16_t to);

// The TAP of a former process had carrier: so has the interface, until its port reports.
void iface_link_presume(struct iface *i, const struct tap *tap);
bool iface_link_is_presumed(uint16_t port);

#endif
