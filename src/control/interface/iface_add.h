// SPDX-License-Identifier: BSD-3-Clause
// iface_add.h - parts of iface_manager.c for the files that complete it
//
// metalink_ends.c and tunnel_ends.c add interfaces of their kind; iface_follow.c recreates TAPs.
// Control role.
#ifndef INTERFACE_IFACE_ADD_H
#define INTERFACE_IFACE_ADD_H

#include <stddef.h>

#include "table/iface.h"

// Adds an interface like `wish`, with its TAP in virtual router `vr` ("" or NULL: the default one);
// packets find it only once it is complete. If `wish` has an ifindex, the interface uses that Linux
// device unchanged instead of a TAP. Returns 0; or -errno with a message in `err` and nothing left
// behind.
int iface_add(const struct iface *wish, enum iface_kind kind, uint16_t mtu_wanted, const char *vr,
              char *err, size_t err_size);
void iface_update_carrier(struct iface *i); // recomputes the carrier after a possible change
void iface_recreate_tap(struct iface *i);   // the TAP was deleted, or moved to another namespace

#endif
