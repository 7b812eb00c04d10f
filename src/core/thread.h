// SPDX-License-Identifier: BSD-3-Clause
// thread.h - threads and their roles
//
// A role defines which tables a thread may write; every writer function begins with
// thread_must_be(ROLE_…), so `git grep thread_must_be` lists the owner of each table. There is one
// thread of each manager role and any number of forwarders. A thread's slot is the index of its
// counter block.
//
// RCU: a forwarder starts online. A manager starts registered but offline, because it sleeps in its
// event loop: it calls rcu_online() ... rcu_offline() around a read of another role's RCU data.
//
//     slot 0 control · 1 rib_manager · 2 tap_manager · 3 acl_manager · 4+i forwarder i
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

enum thread_role {
    ROLE_NONE,
    ROLE_CONTROL,
    ROLE_RIB_MANAGER,
    ROLE_TAP_MANAGER,
    ROLE_ACL_MANAGER,
    ROLE_FORWARDER
};

#define FORWARDER_MAX 32
#define THREAD_SLOT_CONTROL 0
#define THREAD_SLOT_RIB_MANAGER 1
#define THREAD_SLOT_TAP_MANAGER 2
#define THREAD_SLOT_ACL_MANAGER 3
#define THREAD_SLOT_FORWARDER 4
#define THREAD_SLOT_MAX (THREAD_SLOT_FORWARDER + FORWARDER_MAX)

struct thread;

// Starts `fn(arg)` on a new thread: named, with its role and slot set, registered with RCU, pinned
// to `cpu` (or to the set of slow cores if cpu < 0). Forwarders are also registered with DPDK, for
// mempool caches. 0 or -errno (-EINVAL: no such core).
int thread_start(struct thread **t, enum thread_role role, unsigned slot, const char *name, int cpu,
                 void (*fn)(void *arg), void *arg);
void thread_join(struct thread *t); // waits for its end and frees it
int thread_cpu(const struct thread *t);
// CPU time that the thread has used, for `show thread`.
uint64_t thread_cpu_time_ns(const struct thread *t);
const char *thread_name(const struct thread *t);
// The thread in this slot (including control, once adopted), or NULL. Control role, which starts
// and joins all of them.
const struct thread *thread_of_slot(unsigned slot);

// Gives the calling thread a role: main() for control, and tests.
void thread_adopt(enum thread_role role, unsigned slot);

// Callbacks when a thread with a slot begins and ends. Call before any thread starts.
void thread_watch(void (*begins)(unsigned slot), void (*ends)(unsigned slot));

// Cores that no forwarder owns, for managers. Called by control; moves running managers.
void thread_set_slow_cores(const int *cpu, unsigned n);
bool thread_core_exists(int cpu);

// --- any thread ---
enum thread_role thread_role(void);
unsigned thread_slot(void);
const char *thread_role_name(enum thread_role role);
void thread_must_be(enum thread_role role); // bug if the caller has another role

#endif
