// SPDX-License-Identifier: BSD-3-Clause
// rib_unfollowed.h - what Linux routes by and forwarding does not: rules, routes with a TOS, …
//
// "The FIB is the kernel's table" is said by audits only as long as there is nothing of it. What is
// kept here was announced and could not be taken into the RIB; what is in the RIB, but leads
// elsewhere than in Linux, is found among the paths when somebody asks (rib_unfollowed_report).
// Written and asked by rib_manager.
#ifndef RIB_RIB_UNFOLLOWED_H
#define RIB_RIB_UNFOLLOWED_H

#include "rib/rib.h"

// A route that is none of ours to keep came, went, or was in a dump: is it one that Linux would
// route by?
void rib_unfollowed_route(struct rib_vr *v, const struct netlink_route *m, bool del);
void rib_unfollowed_rule(struct rib_vr *v, const struct netlink_rule *m, bool del);
void rib_unfollowed_mpls(struct rib_vr *v, const struct netlink_mpls *m, bool del);
void rib_unfollowed_sweep(struct rib_vr *v,
                          enum rib_stage stage); // forgets what the dump has not shown
void rib_unfollowed_report(struct rib_vr *v, struct rib_unfollowed *u);
void rib_unfollowed_fini(struct rib_vr *v);

#endif
