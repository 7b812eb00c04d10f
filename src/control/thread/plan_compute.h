// SPDX-License-Identifier: BSD-3-Clause
// plan_compute.h - which forwarder polls what: a pure function of ports, cores and assignments
//
// Separate from its caller thread_manager.c, so that every case can be tested without threads or
// ports. Any thread; no state.
#ifndef THREAD_PLAN_COMPUTE_H
#define THREAD_PLAN_COMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/plan.h"

struct thread_assignment { // `set thread CORE forwarder port P rx-queue Q`
    int core;
    char port[16];
    uint16_t queue;
};

struct plan_port { // a started port
    uint16_t id;
    char name[16];
    uint16_t n_rx, n_tx; // queues
    struct port_queue *queue; // NULL: sends directly
    int queue_core;           // core of the forwarder that owns `queue`, -1: chosen
};

struct plan_input {
    const struct plan_port *port; // in order of attachment
    unsigned n_ports;
    const struct thread_assignment *assignment; // none: queues are spread over `core`
    unsigned n_assignments;
    const int *core; // worker cores without assignments
    unsigned n_cores;
    int slot_core[FORWARDER_MAX]; // core of each running forwarder, which keeps its slot; -1 = free
};

struct plan_output {
    int core[FORWARDER_MAX]; // core of forwarder i, -1 = not needed
    struct plan plan[FORWARDER_MAX];
    unsigned n_unpolled; // queues for which no core had room (PLAN_RX_MAX)
};

// Returns 0, or -EINVAL / -E2BIG with a message in `err`.
int plan_compute(const struct plan_input *in, struct plan_output *out, char *err, size_t err_size);

// Returns true if a queue changes hands between the plans (old[i] may be NULL); then *mid must be
// in force for one grace period. No forwarder polls a receive queue while it moves. While a
// transmit queue moves, no forwarder receives, so no packet needs it.
bool plan_between(struct plan *const old[FORWARDER_MAX], const struct plan_output *next,
                  struct plan_output *mid);

#endif
