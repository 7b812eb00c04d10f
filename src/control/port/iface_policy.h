// SPDX-License-Identifier: BSD-3-Clause
// iface_policy.h - between iface_manager.c and iface_policy.c; control
#ifndef PORT_IFACE_POLICY_H
#define PORT_IFACE_POLICY_H

// Interfaces came, went, or have another policy or virtual router: tells rib_manager what they ask
// of its FIBs, where that has changed.
void iface_policy_publish_sources(void);

#endif
