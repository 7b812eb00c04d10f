// SPDX-License-Identifier: BSD-3-Clause
// iface_follow.h - follows, restores or reports changes that the operator makes to TAPs
//
// docs/features/kernel-state.md has a row for each attribute. rib_manager's kernel events call it.
// Control role.
#ifndef PORT_IFACE_FOLLOW_H
#define PORT_IFACE_FOLLOW_H

void iface_follow_init(void);

#endif
