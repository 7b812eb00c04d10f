// SPDX-License-Identifier: BSD-3-Clause
// thread_manager.h - which forwarders run, on which cores and with which queues
//
// Computes every forwarder's plan from the assignments (without any, from the machine), publishes
// plans by RCU, and moves queues between running forwarders without loss. Called by port_manager,
// lag_manager and the steps of a change; control role.
#ifndef THREAD_THREAD_MANAGER_H
#define THREAD_THREAD_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/plan.h"
#include "thread/plan_compute.h"

// The forwarder's main function; main/ passes it in, because control/ may not include forwarder/.
void thread_manager_set_forwarder(void (*forwarder_main)(void *arg));
// How a receive queue wakes its forwarder; port_manager passes it in.
void thread_manager_set_rx_wait(struct plan_wait (*fn)(uint16_t port, uint16_t queue));

// Replaces all assignments. n == 0: keeps one core for the managers and spreads every queue of
// every started port over the others (a single core is shared). Ports need not exist yet. -EINVAL
// with a message in `err` and nothing changed: no such core, no such queue, a queue assigned twice.
int thread_manager_assign(const struct thread_assignment *a, unsigned n, char *err,
                          size_t err_size);
// A port was started or stopped, or its queues changed: computes and publishes new plans.
void thread_manager_update(void);
// The process is about to stop: nothing is received any more; waiting packets are still sent.
void thread_manager_stop_receiving(void);
// While held, started ports are in no plan and received frames wait in their queues.
void thread_manager_hold(bool on);
// Sets plan_begin and waits until no poll uses the former value.
void thread_manager_begin(enum plan_begin begin);
bool thread_manager_is_held(void);
// Takes the port out of all plans and waits a grace period: afterwards it may be stopped.
void thread_manager_release_port(uint16_t port);
// Number of receive queues that a port of this name can use: one per worker core, or as many as
// assigned.
unsigned thread_manager_workers(const char *port);
void thread_manager_set_idle(enum idle_mode mode);

struct thread_state {
    char name[16];
    const char *role;
    int core;   // -1 = the slow cores
    int socket; // NUMA node of the core, -1 = none or unknown
    uint64_t cpu_time_ns;
    unsigned slot;           // index of its counter block
    int forwarder;           // index, or -1
    const struct plan *plan; // of a forwarder, else NULL
};
unsigned thread_manager_list(struct thread_state *s, unsigned max);
int thread_manager_port_socket(uint16_t port); // NUMA node of a device, -1 = it has none

int thread_manager_init(void);
void thread_manager_fini(void); // stops all forwarders

#endif
