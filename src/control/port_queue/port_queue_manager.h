// SPDX-License-Identifier: BSD-3-Clause
// port_queue_manager.h - the queue managers of ports: configuration and state
//
// A port with a queue manager sends through it, from one forwarder (table/port_queue.h). The
// configuration names the port and stays while its device is away. Called by the steps of a change
// and by readers of the state; control role. An int is 0 or -errno with a message in `err`; a
// failed call changes nothing.
#ifndef PORT_QUEUE_PORT_QUEUE_MANAGER_H
#define PORT_QUEUE_PORT_QUEUE_MANAGER_H

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
    int core;              // core of the forwarder that owns it; -1: chosen
    uint32_t packets_max;  // packets that may wait; 0: a quarter of the port's packet buffers
    uint32_t overhead; // bytes of a frame on the wire beyond its length
    struct class_map map;
    struct queue_client_config other; // for virtual routers that are not in `client`
    const struct port_queue_client *client;
    unsigned n_clients;
};

// Gives the port a queue manager, or changes its configuration; waiting packets keep waiting.
// -ENOSPC: guarantees above 98 % of C, or too large reserves; -EINVAL: C above the link's speed, no
// such core, or a client's values out of range; -ENOMEM.
int port_queue_manager_set(const struct port_queue_config *c, char *err, size_t err_size);
// The port sends directly again; waiting packets are sent first.
void port_queue_manager_remove(const char *port);

struct port_queue_state {
    char port[16];
    bool active;              // the port is started, and its packets go through the queue
    uint64_t rate_bps;        // C in force; below the configured rate if the device takes less
    uint64_t configured_bps;  // 0: 99.5 % of the link's speed
    bool lowered;             // the device takes less than it should, namely rate_bps
    int core;                 // core of its owner, -1 = none
    uint32_t packets_max, waiting_packets;
    uint64_t refused_port;    // packets beyond packets_max
    uint64_t refused_ring;    // packets for which the ring to the owner was full
    uint64_t device_refused;  // bursts that the device took only in part
};

struct port_queue_class_state {
    struct queue_class_stats total; // only grow
    uint64_t rate_bps;              // sent in the last second
    // Waiting times of the last ten to twenty seconds, in nanoseconds; 0: nothing was sent.
    uint64_t p50_ns, p99_ns, max_ns;
};

struct port_queue_client_state {
    char vr[32], vport[16]; // one of the two
    bool configured;        // false: uses `other`
    struct queue_client_config config;
    struct queue_stats total;
    uint64_t rate_bps;
    struct port_queue_class_state class[QUEUE_CLASSES];
};

// Reads the i-th configured port; false if there are fewer.
bool port_queue_manager_at(unsigned i, struct port_queue_state *s);
// Reads the i-th client of the port: configured clients first, then virtual routers that have sent
// through it.
bool port_queue_manager_client(const char *port, unsigned i, struct port_queue_client_state *s);

// Percentage of its guarantee that the i-th configured client missed in the last seconds although
// it had packets waiting. False if there are fewer clients.
bool port_queue_manager_guarantee(const char *port, unsigned i, char client[32], unsigned *lacks);

int port_queue_manager_init(struct event_base *loop);
void port_queue_manager_fini(void);

#endif
