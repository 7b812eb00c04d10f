// SPDX-License-Identifier: BSD-3-Clause
// limits.h - sizes of the tables
//
// Tables that forwarders index are arrays of these sizes, mapped at start and committed when
// touched. Index 0 always means "none".
#ifndef TABLE_LIMITS_H
#define TABLE_LIMITS_H

#define PORT_MAX                                                                                   \
    64 // ids below LAG_FIRST are DPDK's port ids, where 0 is a real port; from there on LAGs
#define LAG_MAX 16
#define LAG_FIRST (PORT_MAX - LAG_MAX)
#define LAG_MEMBER_MAX 8
#define PORT_METALINK (LAG_FIRST - 1) // all metalinks (table/metalink.h); no device has this id
#define METALINK_MAX 2046
#define TUNNEL_PORTS 3
#define PORT_TUNNEL (PORT_METALINK - TUNNEL_PORTS) // first port of tunnels (table/tunnel.h)
#define TUNNEL_MAX (TUNNEL_PORTS * 4094)
#define PORT_DEVICE_MAX PORT_TUNNEL // device ids are below
#define PORT_NONE 0xffff
#define QUEUE_MAX 32        // queues of a port
#define OUTER_VLAN_MAX 1024 // outer VLANs with sub-interfaces, all ports together; 0 = none
#define IFACE_MAX 16386     // ports and sub-interfaces; id 0 = none; the last two: IFACE_TRIAL
#define VR_MAX 2048         // virtual routers; id 0 = default
#define NEXTHOP_MAX 65536   // next hops, groups and adjacencies; id 0 = no route
#define NEXTHOP_ALL_MAX (4 * NEXTHOP_MAX) // with ids that only labels name
#define NEXTHOP_BUCKET_MAX (1u << 20)
#define PREFIX_COUNT_MAX 1025 // counted prefixes; slot 0 = none
#define BURST_MAX 64

#endif
