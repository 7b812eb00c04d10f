// SPDX-License-Identifier: BSD-3-Clause
// plan.h - which forwarder polls which receive queue and sends by which transmit queue
//
// A forwarder's plan is immutable and replaced whole by RCU, so that queues move between running
// forwarders without a lock: take the queue out of the old plan, wait a grace period, put it into
// the new one. Written by control (thread_manager), read by its forwarder once per poll.
#ifndef TABLE_PLAN_H
#define TABLE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rcu.h"
#include "core/thread.h"
#include "core/waker.h"
#include "table/limits.h"

#define PLAN_TX_NONE 0xff // in tx_owner: the port is stopped: drop TX_NO_QUEUE
#define PLAN_TX_LAG 0xfe  // in tx_owner: the port is a LAG: each packet by one of its members
#define PLAN_TX_QUEUE 0xfd // in tx_owner: the port has a queue (table/port_queue.h)
#define PLAN_RX_MAX 128

// How a forwarder that sleeps learns that a receive queue has a packet.
enum plan_wake {
    WAKE_POLL,     // it has to look
    WAKE_READABLE, // `fd` is readable as long as packets wait
    WAKE_EVENT, // `fd`, an eventfd, becomes readable with the driver's receive interrupt, which is
                // switched on before sleeping
    WAKE_EDGE, // the same, but `fd` tells each event of a file that stays readable (waker_edge_new)
    WAKE_UIO,  // the same, but `fd` is a UIO device, which counts interrupts in four bytes
};

struct plan_wait {
    uint16_t port, queue;
    uint16_t descriptors; // packets that the queue bridges while nobody looks
    uint8_t wake;         // enum plan_wake
    int fd;               // -1: WAKE_POLL
};

struct port_queue;

struct plan {
    struct rcu_retired retired;
    uint32_t serial; // of all plans ever published, from 1 on
    uint16_t n_rx;
    struct plan_rx {
        uint16_t port, queue;
    } rx[PLAN_RX_MAX];
    // Queues of rx[] that wake who sleeps. n_wait < n_rx: the others have to be polled.
    uint16_t n_wait;
    struct plan_wait wait[PLAN_RX_MAX];
    uint16_t descriptors; // of the queue that has the fewest
    // For each port: who owns the transmit queue this forwarder's packets leave by. Own index: send
    // by tx_queue[port]; another's: hand over through that forwarder's inject ring (ports with
    // fewer queues than forwarders).
    uint8_t tx_owner[PORT_MAX];
    uint16_t tx_queue[PORT_MAX];
    // Where tx_owner is PLAN_TX_QUEUE: the queue, and whose it is; PLAN_TX_NONE while it moves,
    // when packets wait in the rings.
    struct port_queue *queue[PORT_MAX];
    uint8_t queue_owner[PORT_MAX];
    uint16_t n_owned; // ports whose queue is this forwarder's
    uint8_t owned[PORT_MAX];
};

// NULL polls nothing.
static inline bool plan_polls(const struct plan *plan, struct plan_rx q)
{
    for (unsigned i = 0; plan && i < plan->n_rx; i++)
        if (plan->rx[i].port == q.port && plan->rx[i].queue == q.queue)
            return true;
    return false;
}
// Its arrival wakes the forwarder: it need not be polled.
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

struct plan_rx_stats { // written by the forwarder, one for each queue
    uint64_t packets, bytes;
    uint64_t depth_samples;       // 0: the driver cannot tell how full the queue is
    uint32_t depth, depth_max;    // packets that waited when a burst was taken: at the last sample,
                                  // most of all samples
};
// The sum of all forwarders, each word read atomically: a queue may have moved, and each forwarder
// keeps what it counted. Depth: the largest.
struct plan_rx_stats plan_rx_sum(uint16_t port, uint16_t queue);

// Three parts on cache lines of their own (128 bytes: CPUs fetch lines in pairs), by who writes
// them.
struct forwarder_slot {
    // control:
    struct plan *plan;    // rcu_load by the forwarder once per poll; NULL = nothing to do
    uint8_t stop;         // control sets, forwarder leaves its loop
    uint8_t running;      // forwarder thread exists
    int cpu;
    // the forwarder, and who gives it work while it sleeps (core/waker.h): wake it after plan,
    // stop, its inject ring
    struct waker waker;
    // the forwarder alone: receive counters per (port, queue)
    struct plan_rx_stats rx_stats[PORT_MAX][QUEUE_MAX] __attribute__((aligned(128)));
} __attribute__((aligned(128)));
_Static_assert(offsetof(struct forwarder_slot, waker) % 128 == 0, "lines of their own");
_Static_assert(offsetof(struct forwarder_slot, rx_stats) % 128 == 0, "lines of their own");
_Static_assert(sizeof(struct forwarder_slot) % 128 == 0, "no line belongs to two forwarders");

extern struct forwarder_slot *forwarder_slot; // [FORWARDER_MAX]
int plan_init(void);
void plan_fini(void);

// For managers that have a packet for a port: the forwarder whose inject ring takes it, or
// PLAN_TX_NONE (drop INJECT_NO_FORWARDER). It owns a transmit queue of the port. Written by
// control, read by any manager per packet.
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

// At the start, while the kernel's tables are being read (port_begin.h): forwarders let control
// packets up and keep the others; then forward those that they have kept; then it is over. Control
// writes, forwarders read once per poll.
enum plan_begin { PLAN_BEGIN_OVER, PLAN_BEGIN_CONTROL, PLAN_BEGIN_KEPT };
extern uint8_t plan_begin;  // enum plan_begin
extern uint32_t plan_kept;  // packets that forwarders keep; each adds and takes away its own

// What becomes of IPv4 packets that ask to have route or time recorded (RFC 7126 4.5, 4.7).
enum ip4_options { IP4_OPTIONS_DROP, IP4_OPTIONS_IGNORE, IP4_OPTIONS_PROCESS };
// enum ip4_options; control writes, forwarders read for packets with options.
extern uint8_t plan_ip4_options;

#endif
