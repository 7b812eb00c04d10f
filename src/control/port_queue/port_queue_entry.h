// SPDX-License-Identifier: BSD-3-Clause
// port_queue_entry.h - shared by the files of queues
//
// Control role.
#ifndef PORT_QUEUE_PORT_QUEUE_ENTRY_H
#define PORT_QUEUE_PORT_QUEUE_ENTRY_H

#include "base/vec.h"
#include "port_queue/port_queue_manager.h"

struct port_queue_watched; // port_queue_watch.c

struct port_queue_vport { // a sub-interface that has or had a queue
    char name[16];
    bool wanted;
};

struct port_queue_entry {
    struct port_queue_config config; // with `client` below
    VEC(struct port_queue_client) client;
    VEC(struct port_queue_vport) vport; // at place i: client VR_MAX + i
    struct port_queue *queue;
    // port_queue_watch.c
    uint64_t lowered_bps; // rate that the device takes, 0: all of C
    unsigned n_refusing, n_quiet; // seconds in a row in which it refused packets, or not
    uint64_t refused_before;
    struct port_queue_watched *watched[PORT_QUEUE_CLIENTS]; // NULL: has sent nothing yet
};

extern struct port_queues {
    VEC(struct port_queue_entry *) entry;
} port_queues;

struct port_queue_entry *port_queue_find(const char *port); // NULL: it has no queue
#define PER_MILLE_OF_LINK 995u
uint64_t port_queue_link_bps(const char *port);             // 0: unknown
uint64_t port_queue_rate(const struct port_queue_entry *e); // in force
uint32_t port_queue_packets_max(const struct port_queue_config *c);
// Client number in the queue manager; -1: no such virtual router, or too many sub-interfaces.
int port_queue_client_id(struct port_queue_entry *e, const struct port_queue_client *c);

// port_queue_watch.c
// Reads the recent rate and waiting times of a class; false if its client never sent.
bool port_queue_watched(const struct port_queue_entry *e, unsigned client, unsigned class,
                        struct port_queue_class_state *s);
void port_queue_watch_restart(struct port_queue_entry *e); // its queue manager is replaced
void port_queue_watch_second(void); // once a second

#endif
