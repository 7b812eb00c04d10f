// SPDX-License-Identifier: BSD-3-Clause
// rib_label.h - the kernel's MPLS: routes of labels, links that accept labels, sysctls
//
// A namespace has one route per label, which all its virtual routers hear of. The router of the
// main table keeps them; a router of a VRF's table keeps them as well while one of its interfaces
// accepts labels. table/label.h has the label's operation: an ENCAP, or a group of them
// (hop_set.c). A label whose next hop is not usable is out of that table, so its packets are
// dropped.
//
// Linux announces every change of these routes, also after the removal of a device. The link tells
// that a device is down or has lost its carrier. Dumps find the rest. A kernel without MPLS is
// never asked (has_mpls). rib_manager's thread only.
#ifndef RIB_RIB_LABEL_H
#define RIB_RIB_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "rib/nexthop_manager.h"
#include "rib/rib_map.h"
#include "table/vr.h"

struct netlink_event;
struct netlink_netconf;
struct rib_link;
struct rib_unfollowed;
struct rib_vr;

struct rib_label {
    uint32_t label;
    uint32_t nexthop; // in table/label.h, held; 0 = it is not there
    uint8_t protocol, gen;
    uint8_t encap; // of netlink_route; not supported: never in table/label.h
    struct hop_set set;
};

struct rib_labels {
    struct rib_map of;  // struct rib_label
    bool wanted;        // this router keeps the routes
    bool lacks;         // some were refused for lack of budget
    uint32_t n_refused; // since the last dump began; the first of them
    uint32_t refused;
    uint64_t n_installed, updates;
    uint64_t read_ns; // time of the last reading of the sysctls
};

void rib_label_init(struct rib_vr *v);
void rib_label_fini(struct rib_vr *v);
void rib_label_event(struct rib_vr *v, const struct netlink_event *e, bool is_row);
void rib_label_dump_begins(struct rib_vr *v);
void rib_label_sweep(struct rib_vr *v); // end of a dump
void rib_label_netconf(struct rib_vr *v, const struct netlink_netconf *m, bool del);
void rib_label_bound(struct rib_vr *v, const struct rib_link *l); // it is our interface now
void rib_label_unbound(struct rib_vr *v, uint16_t iface);         // no longer
void rib_label_rehop(struct rib_vr *v, int ifindex); // resolves hops again; 0 = all links
// A virtual router came or went: labels may lead into it, from other routers of its namespace.
void rib_label_vr_changed(struct rib_vr *v);
void rib_label_tick(struct rib_vr *v, uint64_t now_ns); // reads the sysctls, retries refused labels
void rib_label_report(struct rib_vr *v, struct rib_unfollowed *u); // for rib_unfollowed.c
// For audits: compares table/label.h with the routes and repairs it.
void rib_label_compare(struct rib_vr *v);

#endif
