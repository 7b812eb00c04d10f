// SPDX-License-Identifier: BSD-3-Clause
// vr_manager.h - adding and deleting virtual routers
//
// A virtual router is a network namespace, or a kernel table in one; no two may share both. Called
// by the steps of a change; control role. An int is 0 or -errno with a sentence in `err`.
#ifndef PORT_VR_MANAGER_H
#define PORT_VR_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/fib.h"
#include "table/vr.h"
#include "table/vr_budget.h"

// `netns`: name under /run/netns, or "" for kamueed's own; `table`: kernel table, 254 (main) or a
// VRF's; `budget`: in force before the first route. Opens the namespace's netlink in rib_manager
// (dump, then events) before it returns.
int vr_manager_add(const char *name, const char *netns, uint32_t table, enum fib_engine engine,
                   const struct vr_limits *budget, char *err, size_t err_size);
// A namespace that kamueed makes (netlink/netns_own.h), or has made; before vr_manager_add.
int vr_manager_make_netns(const char *name, char *err, size_t err_size);
bool vr_manager_may_make_netns(const char *name); // no other namespace has the name
bool vr_manager_made_netns(const char *name);
void vr_manager_yield_netns(const char *name); // it is the operator's from now on
void vr_manager_sweep_netns(bool (*keep)(void *ctx, const char *name), void *ctx);
// The same virtual router under another name, while it forwards; `netns`: the name that its
// namespace has from now on, another one only if kamueed made it (netlink/netns_own.h).
int vr_manager_rename(const char *name, const char *to, const char *netns, char *err,
                      size_t err_size);
// Not enabled: its interfaces have no carrier, so that they neither receive nor send.
int vr_manager_set_enabled(const char *name, bool enabled, char *err, size_t err_size);
// While it forwards; on failure the old engine stays.
int vr_manager_set_engine(const char *name, enum fib_engine engine, char *err, size_t err_size);
// While it forwards; seed 0 = random.
// Of a core that does not keep up (forwarder/budget.h); live.
int vr_manager_set_cpu_weight(const char *name, uint8_t weight, char *err, size_t err_size);
// What it may use (table/vr_budget.h); live: more lets in what waits, less has the last ones wait.
int vr_manager_set_budget(const char *name, const struct vr_limits *limits, char *err,
                          size_t err_size);
int vr_manager_set_flow_hash(const char *name, struct flow_hash hash, char *err, size_t err_size);
// Refused while interfaces are bound to it.
int vr_manager_del(const char *name, char *err, size_t err_size);
// The namespace's descriptor, open while the virtual router exists; NETNS_OWN for kamueed's own.
int vr_manager_netns(uint16_t vr);
// Reports namespaces that were deleted or replaced to kernel_state.h.
void vr_manager_check_namespaces(void);
// Is the table main, or has it a VRF device, so that Linux makes routes of interfaces in it? True
// also when that cannot be known.
bool vr_manager_has_vrf(const char *netns, uint32_t table);
// Adds "default". `own_netns`: directory of the marks of namespaces that kamueed makes, or NULL.
int vr_manager_init(const char *own_netns);
void vr_manager_fini(void);

#endif
