// SPDX-License-Identifier: BSD-3-Clause
// iface_policy.h - shared by iface_manager.c and iface_policy.c; control role
#ifndef INTERFACE_IFACE_POLICY_H
#define INTERFACE_IFACE_POLICY_H

#include <stddef.h>

struct iface;

// Returns NULL with a message in `err` if there is no such interface.
struct iface *iface_manager_find(const char *name, char *err, size_t err_size);
// Call after any change of interfaces, their policy or their virtual router: tells rib_manager
// which sources the FIBs must know for uRPF.
void iface_policy_publish_sources(void);

#endif
