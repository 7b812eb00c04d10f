// SPDX-License-Identifier: BSD-3-Clause
// iface_follow.h - what the operator does to a TAP with iproute2
//
// Followed where the device can, restored where the value is the port's, and named (kernel_state.h)
// where neither is possible. docs/features/kernel-state.md has a row for each attribute. Control
// role.
#ifndef PORT_IFACE_FOLLOW_H
#define PORT_IFACE_FOLLOW_H

#include "rib/rib_iface.h"

struct iface;
struct tap;

// The TAP of an interface that exists is not in the kernel, or not there any more, where it should
// be.
void iface_follow_init(void (*make_again)(struct iface *i),
                       struct tap *(*tap_of)(const struct iface *i));

#endif
