// SPDX-License-Identifier: BSD-3-Clause
// thread_manager.c - forwarders: starting, stopping, and moving queues between them
// thread_manager_update() computes the next plans (plan_compute.c) and moves to them from the
// present ones in steps that never give a queue to two threads:
//     1  plans between: queues that move are in no plan            -> grace period
//     2  new forwarders start with their plan, running forwarders get theirs
//     3  no plan leads to stopping forwarders                      -> grace period
//     4  they stop, and packets left in their inject ring are dropped and counted
// A forwarder exists while it has a queue to poll. The managers run on cores without forwarders or,
// if there are none, on the first core.
#include "thread/thread_manager.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/mem.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/port_queue.h"
#include "table/tunnel.h"
#include "thread/plan_compute.h"

#define CORES_MAX 1024

static void (*forwarder_main)(void *arg);
static VEC(struct thread_assignment) assignments;
static struct thread *threads[FORWARDER_MAX];
static int all_core[CORES_MAX]; // cores that this process may use
static unsigned n_all_cores;
static struct plan_output next, mid; // large, so not on the stack
static uint32_t plan_serial;

void thread_manager_set_forwarder(void (*fn)(void *arg))
{
    forwarder_main = fn;
}

int thread_manager_init(void)
{
    thread_must_be(ROLE_CONTROL);
    n_all_cores = 0;
    for (int cpu = 0; cpu < CORES_MAX; cpu++)
        if (thread_core_exists(cpu))
            all_core[n_all_cores++] = cpu;
    thread_set_slow_cores(NULL, 0);
    return 0;
}

// Worker cores without assignments: all but the first, which belongs to the managers.
static unsigned worker_cores(const int **core)
{
    *core = n_all_cores > 1 ? all_core + 1 : all_core;
    unsigned n = n_all_cores > 1 ? n_all_cores - 1 : 1;
    return n < FORWARDER_MAX ? n : FORWARDER_MAX;
}

unsigned thread_manager_workers(const char *port)
{
    const int *core;
    unsigned n = worker_cores(&core), named = 0;

    vec_foreach (&assignments, a)
        if (!strcmp(a->port, port) && a->queue + 1u > named)
            named = a->queue + 1u;
    return named ? named : n;
}

static unsigned list_started_ports(struct plan_port *port)
{
    unsigned n = 0;

    for (uint16_t id = 0; id < PORT_MAX; id++) {
        const struct port *p = port_get(id);
        struct rte_eth_dev_info info;
        if (!p->used || !p->started || lag_is(id) || rte_eth_dev_info_get(id, &info))
            continue;
        port[n] =
            (struct plan_port){.id = id, .n_rx = info.nb_rx_queues, .n_tx = info.nb_tx_queues};
        port[n].queue = p->queue;
        port[n].queue_core = p->queue ? p->queue->core : -1;
        snprintf(port[n].name, sizeof port[n].name, "%.15s", p->name);
        n++;
    }
    return n;
}

// Every forwarder sends to a LAG through its members.
static void plan_lag_transmit(struct plan_output *o)
{
    for (uint16_t id = LAG_FIRST; id < PORT_MAX; id++)
        for (unsigned f = 0; f < FORWARDER_MAX && port_get(id)->used && port_get(id)->started; f++)
            if (o->core[f] >= 0)
                o->plan[f].tx_owner[id] = PLAN_TX_LAG;
}

static int compute_plans(const struct thread_assignment *a, unsigned n, char *err, size_t err_size)
{
    static struct plan_port port[PORT_MAX];
    struct plan_input in = {
        .port = port, .n_ports = list_started_ports(port), .assignment = a, .n_assignments = n};

    in.n_cores = worker_cores(&in.core);
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        in.slot_core[f] = threads[f] ? thread_cpu(threads[f]) : -1;
    int r = plan_compute(&in, &next, err, err_size);
    plan_lag_transmit(&next);
    return r;
}

static void plan_free(struct rcu_retired *r)
{
    free(r); // `retired` is the first member
}

static struct plan_wait (*rx_wait)(uint16_t port, uint16_t queue);

void thread_manager_set_rx_wait(struct plan_wait (*fn)(uint16_t port, uint16_t queue))
{
    rx_wait = fn;
}

// Finds the descriptors on which the forwarder can sleep, for queues that have one.
static void find_queue_waits(struct plan *plan)
{
    plan->n_wait = 0;
    plan->descriptors = UINT16_MAX;
    for (unsigned i = 0; rx_wait && i < plan->n_rx; i++) {
        struct plan_wait w = rx_wait(plan->rx[i].port, plan->rx[i].queue);
        if (w.wake != WAKE_POLL)
            plan->wait[plan->n_wait++] = w;
        if (w.descriptors < plan->descriptors)
            plan->descriptors = w.descriptors;
    }
}

// For queues that no forwarder polls while they change hands: a forwarder that slept left their
// interrupts on.
static void disable_moving_interrupts(void)
{
    for (unsigned f = 0; rx_wait && f < FORWARDER_MAX; f++)
        for (unsigned i = 0; i < next.plan[f].n_rx; i++) {
            struct plan_rx q = next.plan[f].rx[i];
            struct plan_wait w = rx_wait(q.port, q.queue);
            if (plan_wait_is_interrupt(&w) && !plan_polls(&mid.plan[f], q))
                rte_eth_dev_rx_intr_disable(q.port, q.queue);
        }
}

static void publish_plan(unsigned f, const struct plan *plan)
{
    struct plan *old = forwarder_slot[f].plan, *copy = NULL;

    if (old && plan && old->n_rx == plan->n_rx &&
        !memcmp(old->rx, plan->rx, old->n_rx * sizeof *old->rx) &&
        !memcmp(old->tx_owner, plan->tx_owner, sizeof old->tx_owner) &&
        !memcmp(old->tx_queue, plan->tx_queue, sizeof old->tx_queue) &&
        !memcmp(old->queue, plan->queue, sizeof old->queue) &&
        !memcmp(old->queue_owner, plan->queue_owner, sizeof old->queue_owner))
        return;
    if (plan) {
        copy = malloc(sizeof *copy);
        bug_on(!copy);
        *copy = *plan;
        copy->serial = ++plan_serial;
        find_queue_waits(copy);
    }
    rcu_publish(&forwarder_slot[f].plan, copy);
    waker_wake(&forwarder_slot[f].waker);
    if (old)
        rcu_retire(&old->retired, plan_free);
}

static void publish_running(const struct plan_output *o)
{
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        if (threads[f])
            publish_plan(f, &o->plan[f]);
}

static void start_forwarder(unsigned f)
{
    char name[16];

    snprintf(name, sizeof name, "forwarder/%u", f);
    publish_plan(f, &next.plan[f]);
    forwarder_slot[f].stop = 0;
    forwarder_slot[f].cpu = next.core[f];
    int r = thread_start(&threads[f], ROLE_FORWARDER, THREAD_SLOT_FORWARDER + f, name, next.core[f],
                         forwarder_main, (void *)(uintptr_t)f);
    if (r) {
        threads[f] = NULL;
        publish_plan(f, NULL);
        log_error("thread_manager: forwarder not started: forwarder=%u core=%d error=%s", f,
                  next.core[f], LOG_VALUE(strerror(-r)));
        return;
    }
    __atomic_store_n(&forwarder_slot[f].running, 1, __ATOMIC_RELEASE);
    log_info("thread_manager: forwarder started: forwarder=%u core=%d queues=%u", f, next.core[f],
             next.plan[f].n_rx);
}

// Also counts in the ledger of the virtual router, where a finished frame (INJECT_TX) is already
// sent.
static void count_undelivered(struct counter_block *c, const struct packet_meta *meta)
{
    const enum drop_reason why = DROP_INJECT_NO_FORWARDER;

    if (meta->kind == INJECT_FRAME) {
        iface_count_drop(c, meta->iface, why);
        return;
    }
    c->drop[why]++;
    if (meta->kind == INJECT_NEXTHOP) { // held until now
        c->vr_drop[meta->owner][why]++;
        c->vr[meta->owner].resumed++;
    }
}

static void drain_inject_ring(unsigned f)
{
    struct counter_block *c = counter_mine();
    void *m;

    while (exchange_inject[f] && !rte_ring_dequeue(exchange_inject[f], &m)) {
        count_undelivered(c, packet_meta(m));
        rte_pktmbuf_free(m);
    }
}

// Call after a grace period in which no plan of another forwarder led to it.
static void stop_forwarder(unsigned f)
{
    publish_plan(f, NULL);
    __atomic_store_n(&forwarder_slot[f].running, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&forwarder_slot[f].stop, 1, __ATOMIC_RELEASE); // partner: forwarder_main
    waker_wake(&forwarder_slot[f].waker);
    thread_join(threads[f]);
    threads[f] = NULL;
    log_info("thread_manager: forwarder stopped: forwarder=%u", f);
}

static void set_port_homes(bool gone_only)
{
    for (uint16_t p = 0; p < PORT_MAX; p++) {
        uint8_t home = PLAN_TX_NONE;
        for (unsigned f = 0; f < FORWARDER_MAX && home == PLAN_TX_NONE; f++)
            if ((next.plan[f].tx_owner[p] == f || next.plan[f].tx_owner[p] == PLAN_TX_LAG ||
                 next.plan[f].queue_owner[p] == f ||
                 ((p == PORT_METALINK || tunnel_is_port(p)) && next.core[f] >= 0)) &&
                (gone_only || threads[f]))
                home = (uint8_t)f;
        if (!gone_only || home == PLAN_TX_NONE)
            __atomic_store_n(&plan_port_home[p], home, __ATOMIC_RELAXED);
    }
}

static void set_slow_cores(void)
{
    static int slow[CORES_MAX];
    unsigned n = 0;

    for (unsigned i = 0; i < n_all_cores; i++) {
        bool taken = false;
        for (unsigned f = 0; f < FORWARDER_MAX; f++)
            taken |= threads[f] && thread_cpu(threads[f]) == all_core[i];
        if (!taken)
            slow[n++] = all_core[i];
    }
    if (!n)
        slow[n++] = all_core[0];
    thread_set_slow_cores(slow, n);
}

static void move_to_next_plans(void)
{
    struct plan *old[FORWARDER_MAX];
    bool stops = false;

    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        old[f] = forwarder_slot[f].plan;
    set_port_homes(true);
    if (plan_between(old, &next, &mid)) {
        publish_running(&mid);
        rcu_synchronize();
        disable_moving_interrupts();
    }
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        if (next.core[f] >= 0 && !threads[f])
            start_forwarder(f);
    publish_running(&next);
    set_port_homes(false);
    set_slow_cores();
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        stops |= threads[f] && next.core[f] < 0;
    if (stops)
        rcu_synchronize();
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        if (threads[f] && next.core[f] < 0)
            stop_forwarder(f);
        if (!threads[f])
            drain_inject_ring(f);
    }
    if (stops)
        set_slow_cores();
}

static bool held;

void thread_manager_hold(bool on)
{
    held = on;
    if (!on)
        thread_manager_update();
}

bool thread_manager_is_held(void)
{
    return held;
}

void thread_manager_update(void)
{
    char err[200];

    thread_must_be(ROLE_CONTROL);
    if (held)
        return;
    if (compute_plans(assignments.item, (unsigned)assignments.n, err, sizeof err)) {
        log_error(
            "thread_manager: thread configuration does not match the ports, using the default: %s",
            err);
        int r = compute_plans(NULL, 0, err, sizeof err);
        bug_on(r); // the default refuses nothing
    }
    if (next.n_unpolled)
        log_error("thread_manager: queues=%u of started ports are not polled by any core: each "
                  "core polls at most %d",
                  next.n_unpolled, PLAN_RX_MAX);
    move_to_next_plans();
}

void thread_manager_begin(enum plan_begin begin)
{
    thread_must_be(ROLE_CONTROL);
    __atomic_store_n(&plan_begin, (uint8_t)begin, __ATOMIC_RELAXED);
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        if (threads[f])
            waker_wake(&forwarder_slot[f].waker);
    rcu_synchronize();
}

void thread_manager_stop_receiving(void)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        if (!threads[f])
            continue;
        next.plan[f] = *forwarder_slot[f].plan;
        next.plan[f].n_rx = 0;
        publish_plan(f, &next.plan[f]);
    }
    rcu_synchronize();
}

void thread_manager_release_port(uint16_t port)
{
    thread_must_be(ROLE_CONTROL);
    port_get(port)->started = false;
    thread_manager_update();
    rcu_synchronize();
}

static int check_cores(const struct thread_assignment *a, unsigned n, char *err, size_t err_size)
{
    for (unsigned i = 0; i < n; i++)
        if (!thread_core_exists(a[i].core)) {
            snprintf(err, err_size, "core %d does not exist or is not allowed, expected %d to %d",
                     a[i].core, all_core[0], all_core[n_all_cores - 1]);
            return -EINVAL;
        }
    return 0;
}

int thread_manager_assign(const struct thread_assignment *a, unsigned n, char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    int r = check_cores(a, n, err, err_size);
    if (!r)
        r = compute_plans(a, n, err, err_size);
    if (r)
        return r;
    vec_clear(&assignments);
    for (unsigned i = 0; i < n; i++)
        *vec_push(&assignments) = a[i];
    thread_manager_update();
    return 0;
}

void thread_manager_set_idle(enum idle_mode mode)
{
    thread_must_be(ROLE_CONTROL);
    __atomic_store_n(&plan_idle_mode, (uint8_t)mode, __ATOMIC_RELAXED);
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        waker_wake(&forwarder_slot[f].waker);
}

int thread_manager_port_socket(uint16_t port)
{
    return rte_eth_dev_socket_id(port);
}

unsigned thread_manager_list(struct thread_state *s, unsigned max)
{
    unsigned n = 0;

    thread_must_be(ROLE_CONTROL);
    for (unsigned slot = 0; slot < THREAD_SLOT_MAX && n < max; slot++) {
        const struct thread *t = thread_of_slot(slot);
        if (!t)
            continue;
        bool forwards = slot >= THREAD_SLOT_FORWARDER;
        enum thread_role role = forwards                          ? ROLE_FORWARDER
                                : slot == THREAD_SLOT_ACL_MANAGER ? ROLE_ACL_MANAGER
                                : slot == THREAD_SLOT_TAP_MANAGER ? ROLE_TAP_MANAGER
                                : slot == THREAD_SLOT_RIB_MANAGER ? ROLE_RIB_MANAGER
                                                                  : ROLE_CONTROL;
        s[n] =
            (struct thread_state){.role = thread_role_name(role),
                                  .core = thread_cpu(t),
                                  .socket = mem_node_of_core(thread_cpu(t)),
                                  .cpu_time_ns = thread_cpu_time_ns(t),
                                  .slot = slot,
                                  .forwarder = forwards ? (int)(slot - THREAD_SLOT_FORWARDER) : -1};
        if (forwards)
            s[n].plan = forwarder_slot[slot - THREAD_SLOT_FORWARDER].plan;
        snprintf(s[n].name, sizeof s[n].name, "%s", thread_name(t));
        n++;
    }
    return n;
}

void thread_manager_fini(void)
{
    thread_must_be(ROLE_CONTROL);
    vec_free(&assignments);
    plan_compute(&(struct plan_input){0}, &next, NULL, 0); // no ports: no forwarder is needed
    move_to_next_plans();
    rcu_barrier();
}
