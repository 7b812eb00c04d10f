// SPDX-License-Identifier: BSD-3-Clause
// iface_follow.h - follows, restores or reports changes that the operator makes to TAPs
//
// docs/features/kernel-state.md has a row for each attribute. iface_manager.c sets it up;
// rib_manager's kernel events call it. Control role.
#ifndef PORT_IFACE_FOLLOW_H
#define PORT_IFACE_FOLLOW_H

#include "rib/rib_iface.h"

struct iface;

// `recreate` is called when the TAP of an existing interface has left its namespace.
void iface_follow_init(void (*recreate)(struct iface *i));

#endif
