// SPDX-License-Identifier: BSD-3-Clause
// thread.c - starts, pins and names threads
//
// The starter waits until the new thread has its role and registrations, so that a failure (no such
// core, no lcore id left) is returned to it. Threads without their own core float over the "slow
// cores"; control is one of them.
#include "core/thread.h"

#include <errno.h>
#include <pthread.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "core/rcu.h"

struct thread {
    pthread_t id;
    enum thread_role role;
    unsigned slot;
    int cpu; // -1 = slow cores
    char name[16];
    void (*fn)(void *arg);
    void *arg;
    sem_t ready;
    int result; // of the start; valid after `ready`
};

static void ignore_thread(unsigned slot)
{
}

static void (*begins)(unsigned slot) = ignore_thread, (*ends)(unsigned slot) = ignore_thread;

static _Thread_local enum thread_role my_role;
static _Thread_local unsigned my_slot;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *by_slot[THREAD_SLOT_MAX];
static struct thread adopted_control; // so that control is listed and moved like the others
static pthread_once_t cores_once = PTHREAD_ONCE_INIT;
static cpu_set_t cores_allowed, cores_slow;

// Runs before DPDK pins the main thread: the cores that the machine and taskset leave us.
static void cores_read(void)
{
    if (sched_getaffinity(0, sizeof cores_allowed, &cores_allowed))
        CPU_SET(0, &cores_allowed);
    cores_slow = cores_allowed;
}

bool thread_core_exists(int cpu)
{
    pthread_once(&cores_once, cores_read);
    return cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET(cpu, &cores_allowed);
}

static int pin_to(pthread_t id, int cpu)
{
    cpu_set_t one;

    if (cpu < 0)
        return -pthread_setaffinity_np(id, sizeof cores_slow, &cores_slow);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return -pthread_setaffinity_np(id, sizeof one, &one);
}

static int enter_role(struct thread *t)
{
    my_role = t->role;
    my_slot = t->slot;
    begins(t->slot);
    pthread_setname_np(pthread_self(), t->name);
    // Polling threads sleep for microseconds; the kernel's slack of 50 us would be added.
    if (t->role == ROLE_FORWARDER || t->role == ROLE_TAP_MANAGER)
        prctl(PR_SET_TIMERSLACK, 1ul);
    int r = pin_to(pthread_self(), t->cpu);
    if (r)
        return r;
    if (t->role == ROLE_FORWARDER && rte_thread_register())
        return rte_errno ? -rte_errno : -ENOMEM;
    rcu_thread_register();
    if (t->role != ROLE_FORWARDER)
        rcu_offline();
    return 0;
}

static void leave_role(struct thread *t)
{
    ends(t->slot);
    rcu_thread_unregister();
    if (t->role == ROLE_FORWARDER)
        rte_thread_unregister();
}

static void *run_thread(void *arg)
{
    struct thread *t = arg;

    t->result = enter_role(t);
    bool ok = !t->result;
    sem_post(&t->ready); // if the start failed, the starter owns `t` again from here on
    if (ok) {
        t->fn(t->arg);
        leave_role(t);
    }
    return NULL;
}

static void forget_thread(struct thread *t)
{
    pthread_mutex_lock(&lock);
    if (by_slot[t->slot] == t)
        by_slot[t->slot] = NULL;
    pthread_mutex_unlock(&lock);
    sem_destroy(&t->ready);
    free(t);
}

int thread_start(struct thread **out, enum thread_role role, unsigned slot, const char *name,
                 int cpu, void (*fn)(void *arg), void *arg)
{
    struct thread *t;

    bug_on(slot >= THREAD_SLOT_MAX);
    pthread_once(&cores_once, cores_read);
    if (cpu >= 0 && !thread_core_exists(cpu))
        return -EINVAL;
    t = calloc(1, sizeof *t);
    if (!t)
        return -ENOMEM;
    t->role = role;
    t->slot = slot;
    t->cpu = cpu < 0 ? -1 : cpu;
    t->fn = fn;
    t->arg = arg;
    snprintf(t->name, sizeof t->name, "%s", name);
    sem_init(&t->ready, 0, 0);
    pthread_mutex_lock(&lock);
    bug_on(by_slot[slot]);
    by_slot[slot] = t;
    pthread_mutex_unlock(&lock);
    int r = pthread_create(&t->id, NULL, run_thread, t);
    if (r) {
        forget_thread(t);
        return -r;
    }
    TEMP_FAILURE_RETRY(sem_wait(&t->ready));
    if (t->result) {
        r = t->result;
        pthread_join(t->id, NULL);
        forget_thread(t);
        return r;
    }
    *out = t;
    return 0;
}

void thread_join(struct thread *t)
{
    if (!t)
        return;
    pthread_join(t->id, NULL);
    forget_thread(t);
}

int thread_cpu(const struct thread *t)
{
    return t->cpu;
}

const char *thread_name(const struct thread *t)
{
    return t->name;
}

uint64_t thread_cpu_time_ns(const struct thread *t)
{
    clockid_t clock;
    struct timespec ts;

    if (pthread_getcpuclockid(t->id, &clock) || clock_gettime(clock, &ts))
        return 0;
    return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

const struct thread *thread_of_slot(unsigned slot)
{
    pthread_mutex_lock(&lock);
    const struct thread *t = slot < THREAD_SLOT_MAX ? by_slot[slot] : NULL;
    pthread_mutex_unlock(&lock);
    return t;
}

void thread_watch(void (*when_begins)(unsigned slot), void (*when_ends)(unsigned slot))
{
    begins = when_begins;
    ends = when_ends;
}

void thread_adopt(enum thread_role role, unsigned slot)
{
    bug_on(slot >= THREAD_SLOT_MAX);
    pthread_once(&cores_once, cores_read);
    my_role = role;
    my_slot = slot;
    if (role != ROLE_CONTROL)
        return;
    begins(slot);
    pthread_mutex_lock(&lock);
    adopted_control = (struct thread){
        .id = pthread_self(), .role = role, .slot = slot, .cpu = -1, .name = "control"};
    by_slot[slot] = &adopted_control;
    pthread_mutex_unlock(&lock);
}

void thread_set_slow_cores(const int *cpu, unsigned n)
{
    pthread_mutex_lock(&lock);
    CPU_ZERO(&cores_slow);
    for (unsigned i = 0; i < n; i++)
        CPU_SET(cpu[i], &cores_slow);
    if (!n)
        cores_slow = cores_allowed;
    for (unsigned s = 0; s < THREAD_SLOT_MAX; s++)
        if (by_slot[s] && by_slot[s]->cpu < 0 && by_slot[s]->id)
            pin_to(by_slot[s]->id, -1);
    rcu_set_cores(&cores_slow);
    pthread_mutex_unlock(&lock);
}

enum thread_role thread_role(void)
{
    return my_role;
}

unsigned thread_slot(void)
{
    return my_slot;
}

const char *thread_role_name(enum thread_role role)
{
    static const char *const names[] = {
        [ROLE_NONE] = "none",
        [ROLE_CONTROL] = "control",
        [ROLE_RIB_MANAGER] = "rib_manager",
        [ROLE_TAP_MANAGER] = "tap_manager",
        [ROLE_ACL_MANAGER] = "acl_manager",
        [ROLE_FORWARDER] = "forwarder",
    };
    return names[role];
}

void thread_must_be(enum thread_role role)
{
    bug_on(my_role != role);
}
