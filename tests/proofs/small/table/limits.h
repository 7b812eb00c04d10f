// SPDX-License-Identifier: BSD-3-Clause
// limits.h - in place of src/data/table/limits.h for the model checker: tables of a few entries
//
// No parser looks at the size of a table, and an index comes from a table of the same kind.
#ifndef TABLE_LIMITS_H
#define TABLE_LIMITS_H

#define PORT_MAX 8
#define LAG_MAX 2
#define LAG_FIRST (PORT_MAX - LAG_MAX)
#define LAG_MEMBER_MAX 2
#define PORT_METALINK (LAG_FIRST - 1)
#define METALINK_MAX 4
#define TUNNEL_PORTS 1
#define PORT_TUNNEL (PORT_METALINK - TUNNEL_PORTS)
#define TUNNEL_MAX 2
#define PORT_DEVICE_MAX PORT_TUNNEL
#define PORT_NONE 0xffff
#define QUEUE_MAX 2
#define OUTER_VLAN_MAX 4
#define IFACE_MAX 4
#define VR_MAX 2
#define NEXTHOP_MAX 4
#define NEXTHOP_ALL_MAX (4 * NEXTHOP_MAX)
#define NEXTHOP_BUCKET_MAX 8
#define PREFIX_COUNT_MAX 2
#define BURST_MAX 8

#endif
