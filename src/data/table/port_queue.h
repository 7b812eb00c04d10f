// SPDX-License-Identifier: BSD-3-Clause
// port_queue.h - a port's queue as forwarders see it: who feeds it, who owns it
//
//     forwarder, not the owner --ring[its index]--> owner --queue manager--> transmit queue 0
//
// A port with a queue has one owner, a forwarder, which alone calls the queue manager and sends
// (table/plan.h: queue_owner). Others hand it their packets by a ring each, single producer and
// single consumer, whose elements say all that the queue manager wants to know: the packet itself
// is not read again before it is sent.
//
// Settings are immutable and replaced whole by RCU. The owner takes new ones over at its next poll,
// those who feed read them once per burst. Written by control (port_queue_manager).
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

#define PORT_QUEUE_VPORTS_MAX 2048u // sub-interfaces of a port that have a queue of their own
#define PORT_QUEUE_CLIENTS (VR_MAX + PORT_QUEUE_VPORTS_MAX) // virtual routers by id, then these
#define PORT_QUEUE_RING_SIZE 1024u
#define PORT_QUEUE_KEPT BURST_MAX

// How packets get their class. An access-list rule's `class` comes before it.
struct class_map {
    uint8_t of_dscp[64];                  // DSCP -> class
    uint8_t other;                        // class of what is neither IPv4 nor IPv6
    bool remarks_pcp;                     // tagged frames leave with the 802.1p priority of their
    uint8_t pcp_of_class[QUEUE_CLASSES];  // class
};

struct port_queue_settings {
    struct rcu_retired retired;
    uint64_t rate_bps;
    uint32_t packets_max;
    uint32_t overhead; // bytes of a frame on the wire that its length does not have
    struct class_map map;
    uint8_t has_flows[PORT_QUEUE_CLIENTS];   // bit c: class c of the client has flow queues
    uint16_t client_of_iface[IFACE_MAX];     // 0: its virtual router's
    unsigned n;                              // clients that are configured, below
    struct queue_client_config client[PORT_QUEUE_CLIENTS]; // all zero: not (any more)
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
    struct rte_ring *ring[FORWARDER_MAX]; // NULL: the forwarder has never had a plan that feeds it
    uint8_t *full; // [PORT_QUEUE_CLIENTS]: the owner had to refuse packets of it; cleared when it
                   // takes them again
    // the owner:
    struct queue_manager *manager;
    const struct port_queue_settings *applied; // never read, only compared
    uint64_t applied_bps;
    struct queue_client_config *current; // [PORT_QUEUE_CLIENTS]: as the queue manager has them
    struct rte_mbuf *kept[PORT_QUEUE_KEPT]; // taken out, which the device did not take yet: first
    unsigned n_kept;
    bool is_fed; // others had put packets into their rings at the last poll: nothing passes these
    unsigned n_full; // clients in `full`
    uint16_t full_client[64];
    // counters: of the owner, and of each that feeds
    uint64_t device_refused;           // bursts that the device did not take whole
    uint64_t refused_ring[FORWARDER_MAX]; // packets: ring full, or client full
    uint16_t port; // control's; DPDK's id, PORT_NONE: its device is not there
    int core;      // control's: wished owner, -1 = any
};

#endif
