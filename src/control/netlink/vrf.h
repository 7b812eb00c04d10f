// SPDX-License-Identifier: BSD-3-Clause
// vrf.h - does Linux have a VRF device for a table?
//
// Without one Linux makes no interface routes in the table. A commit warns at once, by this;
// rib_unfollowed.c reports it later. Control.
#ifndef NETLINK_VRF_H
#define NETLINK_VRF_H

#include <stdbool.h>
#include <stdint.h>

// In the namespace (netns.h; NETNS_OWN: our own). True also when it cannot be found out.
bool netlink_has_vrf(int netns_fd, uint32_t table);

#endif
