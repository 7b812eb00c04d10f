// SPDX-License-Identifier: BSD-3-Clause
// vr_manager.h - adding and deleting virtual routers
//
// A virtual router is a network namespace, or a kernel table in one; no two may share both. Called
// by the steps of a change; control role. An int is 0 or -errno with a message in `err`.
#ifndef INTERFACE_VR_MANAGER_H
#define INTERFACE_VR_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/fib.h"
#include "table/vr.h"
#include "table/vr_budget.h"

// `netns`: name under /run/netns, or "" for kamueed's own; `table`: kernel table, 254 (main) or a
// VRF's; `budget`: in force before the first route. rib_manager opens the namespace's netlink
// (dump, then events) before this returns. kamueed may have made the namespace
// (netlink/netns_own.h).
int vr_manager_add(const char *name, const char *netns, uint32_t table, enum fib_engine engine,
                   const struct vr_limits *budget, char *err, size_t err_size);
// Renames a virtual router while it forwards. `netns`: the new name of its namespace, which may
// differ only if kamueed made the namespace (netlink/netns_own.h).
int vr_manager_rename(const char *name, const char *to, const char *netns, char *err,
                      size_t err_size);
// A disabled virtual router has interfaces without carrier, which neither receive nor send.
int vr_manager_set_enabled(const char *name, bool enabled, char *err, size_t err_size);
// While it forwards; on failure the old engine stays.
int vr_manager_set_engine(const char *name, enum fib_engine engine, char *err, size_t err_size);
// Sets its share of a core that does not keep up (forwarder/budget.h); live.
int vr_manager_set_cpu_weight(const char *name, uint8_t weight, char *err, size_t err_size);
// Sets its budget (table/vr_budget.h) live: a larger one admits waiting entries, a smaller one
// makes the last entries wait.
int vr_manager_set_budget(const char *name, const struct vr_limits *limits, char *err,
                          size_t err_size);
// While it forwards; seed 0 = random.
int vr_manager_set_flow_hash(const char *name, struct flow_hash hash, char *err, size_t err_size);
// Refused while interfaces are bound to it.
int vr_manager_del(const char *name, char *err, size_t err_size);
// Descriptor of the namespace, open while the virtual router exists; NETNS_OWN for kamueed's own.
int vr_manager_netns(uint16_t vr);
// Reports to kernel_state.h namespaces that were deleted or replaced, and those with IPsec policies
// for forwarded packets.
void vr_manager_check_namespaces(void);
// True if the table is main or has a VRF device, so that Linux makes interface routes in it; also
// if that is unknown.
bool vr_manager_has_vrf(const char *netns, uint32_t table);
// Adds "default". `own_netns`: directory for the marks of namespaces that kamueed makes, or NULL.
int vr_manager_init(const char *own_netns);
void vr_manager_fini(void);

#endif
