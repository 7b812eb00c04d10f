// SPDX-License-Identifier: BSD-3-Clause
// rib_multicast.h - multicast routes of configuration and kernel, for the forwarders' table
//
// Each virtual router keeps, per key, the route of the kernel and the route of the configuration;
// the configuration wins. Outputs are kept as Linux links and as names, and translated to our
// interfaces each time one comes or goes. Linux does not announce when a daemon adds or removes a
// link, so a dump follows. rib_manager's thread only.
#ifndef RIB_RIB_MULTICAST_H
#define RIB_RIB_MULTICAST_H

#include "netlink/netlink.h"
#include "rib/vr.h"
#include "rib/rib_manager.h"
#include "table/multicast.h"

struct rib_mroute {
    struct rib_mroute *next; // with the same hash
    struct multicast_key key;
    struct netlink_mroute *kernel;  // NULL = the kernel has none
    struct multicast_static *fixed; // NULL = none configured
    uint8_t gen;                    // of the last dump that showed it
};

// --- netlink events and rows ---
void rib_multicast_event(struct rib_vr *v, const struct netlink_event *e, bool is_row);
void rib_multicast_sweep(struct rib_vr *v, uint8_t family); // end of a dump
void rib_multicast_group(struct rib_vr *v, const struct netlink_group *g, bool del);
void rib_multicast_sweep_groups(struct rib_vr *v, uint8_t family);
void rib_multicast_daemon(struct rib_vr *v, struct rib_link *l, uint8_t family, bool runs);
void rib_multicast_own(struct rib_vr *v, const struct rib_link *l, const struct ip_addr *a,
                       bool on); // an address of the host was added or removed
void rib_multicast_link_gone(struct rib_vr *v, struct rib_link *l);

// --- our interfaces: l->iface is set ---
void rib_multicast_bind(struct rib_vr *v, struct rib_link *l);   // it came
void rib_multicast_unbind(struct rib_vr *v, struct rib_link *l); // it is going
void rib_multicast_refresh(struct rib_vr *v);                    // rebuilds all entries

// --- configuration; 0 or -errno ---
int rib_multicast_fix(struct rib_vr *v, const struct multicast_static *s);
int rib_multicast_unfix(struct rib_vr *v, const struct multicast_key *k);

void rib_multicast_fini(struct rib_vr *v);

#endif
