// SPDX-License-Identifier: BSD-3-Clause
// vr_manager.h - adding and deleting virtual routers; control role
#ifndef PORT_VR_MANAGER_H
#define PORT_VR_MANAGER_H

#include <stddef.h>
#include <stdint.h>

#include "table/fib.h"
#include "table/vr.h"

// `netns`: name under /run/netns or "" for kamueed's own; `table`: kernel table, 254 (main) unless
// a VRF's. Opens the namespace's netlink in rib_manager (dump, then events) before it returns. 0 or
// -errno with a sentence.
int vr_manager_add(const char *name, const char *netns, uint32_t table, enum fib_engine engine,
                   char *err, size_t err_size);
int vr_manager_set_engine(const char *name, enum fib_engine engine, char *err,
                          size_t err_size); // live; else the old one stays
int vr_manager_set_flow_hash(const char *name, struct flow_hash hash, char *err,
                             size_t err_size); // live; seed 0 = random
int vr_manager_del(const char *name, char *err,
                   size_t err_size); // refused while interfaces are bound to it
// The namespace's descriptor (manager/netns.h), open while the virtual router exists; NETNS_OWN for
// kamueed's own.
int vr_manager_netns(uint16_t vr);
void vr_manager_check_namespaces(
    void); // are their namespaces still those of that name? kernel_state.h is told
// Does Linux make routes of interfaces in that table: main, or one with a VRF device? True also
// when nobody can tell.
bool vr_manager_has_vrf(const char *netns, uint32_t table);
int vr_manager_init(void); // adds "default"
void vr_manager_fini(void);

#endif
