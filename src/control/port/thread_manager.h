// SPDX-License-Identifier: BSD-3-Clause
// thread_manager.h - forwarders: which run, on which core, with which queues
//
// Computes every forwarder's plan from the assignments (or from the machine,
// when there are none), publishes plans by RCU, and moves queues between running
// forwarders without loss. All calls: control role.
#ifndef PORT_THREAD_MANAGER_H
#define PORT_THREAD_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/plan.h"

struct thread_assignment { // `set thread CORE forwarder port P rx-queue Q`
    int core;
    char port[16];
    uint16_t queue;
};

// The forwarder's main function; main/ passes it in, because manager/ may not include forwarder/.
void thread_manager_set_forwarder(void (*forwarder_main)(void *arg));
// How a receive queue wakes its forwarder: port_manager knows.
void thread_manager_set_rx_wait(struct plan_wait (*fn)(uint16_t port, uint16_t queue));

// Replaces all assignments. n == 0: default — every queue of every started port, spread over the
// cores that are left when one is kept for the managers (on one core: shared). -EINVAL with a
// sentence: no such core, no such queue, a queue twice. Ports that do not exist yet are remembered.
// Nothing changes on failure.
int thread_manager_assign(const struct thread_assignment *a, unsigned n, char *err,
                          size_t err_size);
void thread_manager_update(
    void); // a port was started or stopped, its queues changed: recompute and publish
// Takes the port out of all plans and waits a grace period: it may be stopped afterwards.
void thread_manager_release_port(uint16_t port);
// Receive queues a port of this name can use: one for each worker core, or as many as assignments
// name.
unsigned thread_manager_workers(const char *port);
void thread_manager_set_idle(enum idle_mode mode);

struct thread_state {
    char name[16];
    const char *role;
    int core; // -1 = the slow cores
    int socket; // NUMA node of the core, -1 = none or not known
    uint64_t cpu_time_ns;
    unsigned slot; // index of its counter block
    int forwarder; // index, or -1
    const struct plan *plan; // NULL unless a forwarder; control role may read it
};
unsigned thread_manager_list(struct thread_state *s, unsigned max);
int thread_manager_port_socket(uint16_t port); // NUMA node of a device, -1 = it has none

int thread_manager_init(void);
void thread_manager_fini(void); // stops all forwarders

#endif
