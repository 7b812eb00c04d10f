// SPDX-License-Identifier: BSD-3-Clause
// plan.h - which receive queues a forwarder polls, and which transmit queues it uses
//
// A forwarder's plan is immutable and replaced as a whole by RCU, so that queues move between
// running forwarders without a lock: remove the queue from the old plan, wait for a grace period,
// add it to the new one. Written by control (thread_manager), read by its forwarder once per poll.
#ifndef TABLE_PLAN_H
#define TABLE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "core/waker.h"
#include "table/limits.h"

#define PLAN_TX_NONE 0xff // in tx_owner: port stopped: drop TX_NO_QUEUE
#define PLAN_TX_LAG 0xfe  // in tx_owner: port is a LAG: each packet leaves by one of its members
#define PLAN_TX_QUEUE 0xfd // in tx_owner: port has a queue (table/port_queue.h)
#define PLAN_RX_MAX 128

// How a sleeping forwarder learns that a receive queue has a packet.
enum plan_wake {
    WAKE_POLL,     // it has to poll
    WAKE_READABLE, // `fd` stays readable while packets wait
    WAKE_EVENT, // `fd`, an eventfd, becomes readable by the driver's receive interrupt, which is
                // enabled before sleeping
    WAKE_EDGE, // the same, but `fd` shows each event of a file that stays readable (waker_edge_new)
    WAKE_UIO,  // the same, but `fd` is a UIO device, which counts interrupts in four bytes
};

struct plan_wait {
    uint16_t port, queue;
    uint16_t descriptors; // packets that the queue absorbs between polls
    uint8_t wake;         // enum plan_wake
    int fd;               // -1: WAKE_POLL
};

struct port_queue;

struct plan {
    struct rcu_retired retired;
    uint32_t serial; // counts all plans ever published, from 1 on
    uint16_t n_rx;
    struct plan_rx {
        uint16_t port, queue;
    } rx[PLAN_RX_MAX];
    // Queues of rx[] that wake a sleeper. n_wait < n_rx: the others have to be polled.
    uint16_t n_wait;
    struct plan_wait wait[PLAN_RX_MAX];
    uint16_t descriptors; // of the smallest queue
    // By port: owner of the transmit queue for this forwarder's packets. Own index: send by
    // tx_queue[port]; another's: hand over through that forwarder's inject ring (ports with fewer
    // queues than forwarders).
    uint8_t tx_owner[PORT_MAX];
    uint16_t tx_queue[PORT_MAX];
    // If tx_owner is PLAN_TX_QUEUE: the queue and its owner; PLAN_TX_NONE while it moves and
    // packets wait in the rings.
    struct port_queue *queue[PORT_MAX];
    uint8_t queue_owner[PORT_MAX];
    uint16_t n_owned; // ports whose queue this forwarder owns
    uint8_t owned[PORT_MAX];
};

// A NULL plan polls nothing.
static inline bool plan_polls(const struct plan *plan, struct plan_rx q)
{
    for (unsigned i = 0; plan && i < plan->n_rx; i++)
        if (plan->rx[i].port == q.port && plan->rx[i].queue == q.queue)
            return true;
    return false;
}
// Do its packets wake the forwarder, so that it need not be polled?
static inline bool plan_wakes(const struct plan *plan, struct plan_rx q)
{
    for (unsigned i = 0; i < plan->n_wait; i++)
        if (plan->wait[i].port == q.port && plan->wait[i].queue == q.queue)
            return true;
    return false;
}
static inline bool plan_wait_is_interrupt(const struct plan_wait *w)
{
    return w->wake >= WAKE_EVENT;
}

struct plan_rx_stats { // written by the forwarder, one per queue
    uint64_t packets, bytes;
    uint64_t depth_samples;       // 0: the driver cannot report the fill level
    uint32_t depth, depth_max;    // packets waiting when a burst was taken: at the last sample,
                                  // maximum of all samples
};
// Sum over all forwarders, each word read atomically: a queue may have moved, and each forwarder
// keeps its counts. Depth: the maximum.
struct plan_rx_stats plan_rx_sum(uint16_t port, uint16_t queue);

// Three parts by writer, on separate cache lines (128 bytes: CPUs fetch lines in pairs).
struct forwarder_slot {
    // control
    struct plan *plan;    // rcu_load by the forwarder once per poll; NULL = nothing to do
    uint8_t stop;         // set by control; the forwarder leaves its loop
    uint8_t running;      // forwarder thread exists
    int cpu;
    // the forwarder, and threads that give it work while it sleeps (core/waker.h): wake it after
    // changing plan, stop or its inject ring
    struct waker waker;
    // the forwarder only: receive counters per (port, queue)
    struct plan_rx_stats rx_stats[PORT_MAX][QUEUE_MAX] __attribute__((aligned(128)));
} __attribute__((aligned(128)));
_Static_assert(offsetof(struct forwarder_slot, waker) % 128 == 0, "lines of their own");
_Static_assert(offsetof(struct forwarder_slot, rx_stats) % 128 == 0, "lines of their own");
_Static_assert(sizeof(struct forwarder_slot) % 128 == 0, "no line belongs to two forwarders");

extern struct forwarder_slot *forwarder_slot; // [FORWARDER_MAX]
int plan_init(void);
void plan_fini(void);

// For managers with a packet for a port: the forwarder whose inject ring takes it, or PLAN_TX_NONE
// (drop INJECT_NO_FORWARDER). It owns a transmit queue of the port. Written by control, read by any
// manager per packet.
extern uint8_t plan_port_home[PORT_MAX];
static inline uint8_t plan_home(uint16_t port)
{
    return port < PORT_MAX ? __atomic_load_n(&plan_port_home[port], __ATOMIC_RELAXED)
                           : PLAN_TX_NONE;
}

enum idle_mode {
    IDLE_PERFORMANCE /* spin */,
    IDLE_BALANCED /* spin, then sleep */,
    IDLE_POWERSAVE /* sleep early and long */
};
extern uint8_t plan_idle_mode; // enum idle_mode; control writes, forwarders read once per poll

// At startup, while the kernel's tables are being read (port_manager.h): forwarders punt control
// packets and keep the others; then they forward the kept ones; then normal operation. Written by
// control, read by forwarders once per poll.
enum plan_begin { PLAN_BEGIN_OVER, PLAN_BEGIN_CONTROL, PLAN_BEGIN_KEPT };
extern uint8_t plan_begin;  // enum plan_begin
extern uint32_t plan_kept;  // packets kept by forwarders; each adds and subtracts its own

// Handling of IPv4 packets with record-route or timestamp options (RFC 7126 4.5, 4.7).
enum ip4_options { IP4_OPTIONS_DROP, IP4_OPTIONS_IGNORE, IP4_OPTIONS_PROCESS };
// enum ip4_options; control writes, forwarders read for packets with options.
extern uint8_t plan_ip4_options;

#endif
