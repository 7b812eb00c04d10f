// SPDX-License-Identifier: BSD-3-Clause
// iface_add.h - how interfaces of each kind are made; for the files that know a kind
//
// iface_manager.c has the parts that all kinds share; metalink_ends.c uses them. Control role.
#ifndef PORT_IFACE_ADD_H
#define PORT_IFACE_ADD_H

#include <stddef.h>

#include "table/iface.h"

// An interface like `wish`, with its TAP in the virtual router ("" or NULL: the default one), found
// by packets from the end on. With an ifindex, that device of Linux is used as it is, and no TAP.
// 0; or -errno, a sentence, and nothing is left.
int iface_add(const struct iface *wish, enum iface_kind kind, uint16_t mtu_wanted, const char *vr,
              char *err, size_t err_size);
void iface_update_carrier(struct iface *i); // what its carrier depends on may have changed

#endif
