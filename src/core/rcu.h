// SPDX-License-Identifier: BSD-3-Clause
// rcu.h - read-copy-update by quiescent states (QSBR)
//
// Forwarders are readers: they load each root once per burst, call rcu_quiescent() once per poll,
// and go offline before they sleep. Managers publish with rcu_publish() and retire unlinked objects
// with rcu_retire(): the callback runs on a separate thread, about a third of a millisecond and a
// grace period later, so it may only free memory or post to a mailbox.
#ifndef CORE_RCU_H
#define CORE_RCU_H

#include <sched.h>
#include <stdint.h>

struct rcu_retired { // embed in an object to retire; opaque outside rcu.c
    void *opaque[4];
};

void rcu_init(void); // before any thread
void rcu_fini(void); // runs all pending callbacks
void rcu_set_cores(const cpu_set_t *cores); // cores for the callbacks: not a forwarder's

// --- every thread that reads; thread_start() registers (forwarders online, managers offline) ---
void rcu_thread_register(void);
void rcu_thread_unregister(void);
void rcu_quiescent(void); // while online: the caller holds no RCU pointer now
void rcu_offline(void);   // for any time, until rcu_online()
void rcu_online(void);

// The pointer's content becomes visible before the pointer (release); partner: rcu_load (consume).
#define rcu_publish(pp, p) __atomic_store_n((pp), (p), __ATOMIC_RELEASE)
#define rcu_load(pp) __atomic_load_n((pp), __ATOMIC_CONSUME)

// --- writers ---
// Calls fn after a grace period.
void rcu_retire(struct rcu_retired *r, void (*fn)(struct rcu_retired *r));
void rcu_synchronize(void); // waits one grace period; the caller may be a registered, online reader
void rcu_barrier(void);     // waits until all objects retired so far have had their callback

#endif
