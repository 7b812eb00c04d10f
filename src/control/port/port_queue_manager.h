// SPDX-License-Identifier: BSD-3-Clause
// port_queue_manager.h - the queue managers of ports: configuration and state
//
// A port that has one sends through it, by one forwarder (table/port_queue.h). What is configured
// for a port by its name stays wanted while its device is away. Called by the steps of a change, by
// the state's readers, and by port_manager and thread_manager; control role. An int is 0 or -errno
// with a sentence in `err`; a failed call changes nothing.
#ifndef PORT_PORT_QUEUE_MANAGER_H
#define PORT_PORT_QUEUE_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue/queue.h"
#include "table/port_queue.h"

struct event_base;

// A client of a port's queue: a virtual router, or a sub-interface. Exactly one name is set.
struct port_queue_client {
    char vr[32], vport[16];
    struct queue_client_config config;
};

struct port_queue_config {
    char port[16];
    uint64_t rate_bps;     // C; 0: 99.5 % of the link's speed
    int core;              // whose forwarder owns it; -1: chosen
    uint32_t packets_max;  // that may wait; 0: a quarter of the port's packet buffers
    uint32_t overhead; // bytes of a frame on the wire that its length does not have
    struct class_map map;
    struct queue_client_config other; // of virtual routers that are not in `client`
    const struct port_queue_client *client;
    unsigned n_clients;
};

// The port has a queue manager from now on, or its configuration changes; what waits, waits on.
// -ENOSPC: guarantees above 98 % of C; -EINVAL: C above the link's speed; no such core; no memory.
int port_queue_manager_set(const struct port_queue_config *c, char *err, size_t err_size);
// Sends straight again; what waits is sent first.
void port_queue_manager_remove(const char *port);

struct port_queue_state {
    char port[16];
    bool active;              // the port is started, and its packets go through the queue
    uint64_t rate_bps;        // C in force; below what is configured where the device takes less
    uint64_t configured_bps;  // 0: 99.5 % of the link's
    bool lowered;             // the device takes less than it should: rate_bps is what it takes
    int core;                 // of its owner, -1 = none
    uint32_t packets_max, waiting_packets;
    uint64_t refused_port;    // packets: packets_max
    uint64_t refused_ring;    // packets: the ring to the owner was full
    uint64_t device_refused;  // bursts that the device did not take whole
};

struct port_queue_class_state {
    struct queue_class_stats total; // they only grow
    uint64_t rate_bps;              // sent in the last second
    // Waits in the last ten to twenty seconds, in nanoseconds; 0: nothing was sent.
    uint64_t p50_ns, p99_ns, max_ns;
};

struct port_queue_client_state {
    char vr[32], vport[16]; // one of them
    bool configured;        // false: as `other`
    struct queue_client_config config;
    struct queue_stats total;
    uint64_t rate_bps;
    struct port_queue_class_state class[QUEUE_CLASSES];
};

// The i-th port that has one is configured for; false: there are not so many.
bool port_queue_manager_at(unsigned i, struct port_queue_state *s);
// The i-th client of the port: those configured, then virtual routers that have sent by it.
bool port_queue_manager_client(const char *port, unsigned i, struct port_queue_client_state *s);

// Of the i-th configured client: percent of its guarantee that it has lacked for the last seconds
// although it had packets waiting. False: there are not so many.
bool port_queue_manager_guarantee(const char *port, unsigned i, char client[32], unsigned *lacks);

// --- port_manager, iface_manager ---
// The port may be in plans from now on, under this id: thread_manager_update() comes next.
void port_queue_manager_port_starts(const char *name, uint16_t port);
// It is in no plan any more, and a grace period has passed: what waited is dropped.
void port_queue_manager_port_stopped(uint16_t port);
// Virtual routers or sub-interfaces may have come, gone or moved.
void port_queue_manager_refresh(void);

int port_queue_manager_init(struct event_base *loop);
void port_queue_manager_fini(void);

#endif
