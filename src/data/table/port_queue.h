// SPDX-License-Identifier: BSD-3-Clause
// port_queue.h - a port's queue as forwarders see it: feeders and owner
//
//     forwarder, not the owner --ring[its index]--> owner --queue manager--> transmit queue 0
//
// A port with a queue has one owner, a forwarder, which alone calls the queue manager and sends
// (table/plan.h: queue_owner). Other forwarders hand it packets through one ring each (single
// producer, single consumer), whose elements carry all data that the queue manager needs: the
// packet itself is not read again before it is sent.
//
// Settings are immutable and replaced as a whole by RCU. The owner takes over new ones at its next
// poll, feeders read them once per burst. Written by control (port_queue_manager).
#ifndef TABLE_PORT_QUEUE_H
#define TABLE_PORT_QUEUE_H

#include <rte_mbuf.h>
#include <rte_ring.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "queue/queue.h"
#include "table/limits.h"

#define PORT_QUEUE_VPORTS_MAX 2048u // sub-interfaces of a port with their own queue
#define PORT_QUEUE_CLIENTS (VR_MAX + PORT_QUEUE_VPORTS_MAX) // routers by id, then vports
#define PORT_QUEUE_RING_SIZE 1024u
#define PORT_QUEUE_KEPT BURST_MAX

// How packets get their class. `class` of an access-list rule takes precedence.
struct class_map {
    uint8_t of_dscp[64];                  // DSCP -> class
    uint8_t other;                        // class of packets that are neither IPv4 nor IPv6
    bool remarks_pcp;                     // tagged frames leave with the 802.1p priority of their
    uint8_t pcp_of_class[QUEUE_CLASSES];  // class
};

struct port_queue_settings {
    struct rcu_retired retired;
    uint32_t serial;   // of this publication; unlike the address, never used twice
    uint64_t rate_bps; // from here on compared to find changes
    uint32_t packets_max;
    uint32_t overhead; // bytes on the wire beyond a frame's length
    struct class_map map;
    uint8_t has_flows[PORT_QUEUE_CLIENTS];   // bit c: class c of the client has flow queues
    uint16_t client_of_iface[IFACE_MAX];     // 0: use the virtual router's
    unsigned n;                              // configured clients are below
    struct queue_client_config client[PORT_QUEUE_CLIENTS]; // all zero: not configured (any more)
};

// A packet on its way to the owner: 16 bytes.
struct port_queue_element {
    struct rte_mbuf *packet;
    uint64_t len : 18, client : 13, class : 3, ecn : 2, hash : 28;
};
_Static_assert(sizeof(struct port_queue_element) == 16, "an element of the ring");
_Static_assert(PORT_QUEUE_CLIENTS <= 1u << 13, "client");

struct port_queue {
    struct rcu_retired retired;
    struct port_queue_settings *settings; // rcu_load
    struct rte_ring *ring[FORWARDER_MAX]; // NULL: no plan of that forwarder ever fed it
    uint8_t *full; // [PORT_QUEUE_CLIENTS]: the owner had to refuse packets of it; cleared when it
                   // accepts them again
    // the owner
    struct queue_manager *manager;
    uint32_t applied; // `serial` of the settings in force; 0: none
    uint64_t applied_bps;
    struct queue_client_config *current; // [PORT_QUEUE_CLIENTS]: configuration in the queue manager
    struct rte_mbuf *kept[PORT_QUEUE_KEPT]; // not yet accepted by the device: sent first
    unsigned n_kept;
    bool is_fed; // other rings had packets at the last poll: nothing may overtake these
    unsigned n_full; // clients in `full`
    uint16_t full_client[64];
    // counters: of the owner, and of each feeder
    uint64_t device_refused;           // bursts that the device did not take completely
    uint64_t refused_ring[FORWARDER_MAX]; // packets: ring full, or client full
    uint16_t port; // control's; DPDK's id, PORT_NONE: device missing
    int core;      // control's: requested owner, -1 = any
};

#endif
