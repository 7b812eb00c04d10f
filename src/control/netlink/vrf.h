// SPDX-License-Identifier: BSD-3-Clause
// vrf.h - does Linux have a VRF device for a table?
//
// Without a VRF device, Linux creates no interface routes in the table. A commit warns of that at
// once; rib_unfollowed.c reports it later. Control role.
#ifndef NETLINK_VRF_H
#define NETLINK_VRF_H

#include <stdbool.h>
#include <stdint.h>

// In the namespace (netns.h; NETNS_OWN: our own). Returns true also if it cannot find out.
bool netlink_has_vrf(int netns_fd, uint32_t table);

#endif
