// SPDX-License-Identifier: BSD-3-Clause
// rib_manager.c - the thread that turns kernel state into the FIB
//
// One libevent loop with an event socket and a request socket per virtual router, and one timer.
// The first packet that a forwarder hands over for holding wakes the loop (exchange_hold_waker);
// while packets come, the timer polls their ring every millisecond, so that forwarders make no
// system call. The timer also starts periodic work: dumps, refreshes, negative answers, and copies
// of FIBs to a device. Other calls from control are in rib_calls.c.
#include "rib/rib_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <rte_ring.h>

#include "base/clock.h"
#include "core/manager.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/vr.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/lookaside.h"

#define TICK_BUSY_US 1000
#define TICK_IDLE_US 50000
#define STORM_MESSAGES 32 // within STORM_PAUSE_US
#define STORM_PAUSE_US 1000
#define BUSY_NS (100 * NS_PER_MS) // after the last held packet
#define NEIGH_TICK_NS (50 * NS_PER_MS)

static struct event_base *loop;
static struct event *tick_event, *held_event;
static uint64_t held_ns, neigh_ns;

static bool is_storm(struct rib_vr *v, uint64_t n_messages)
{
    uint64_t now = clock_now_ns();

    if (now - v->window_ns >= STORM_PAUSE_US * NS_PER_US) {
        v->window_ns = now;
        v->window_messages = 0;
    }
    v->window_messages += n_messages;
    return v->window_messages >= STORM_MESSAGES;
}

// Each message wakes a reader that sleeps on the socket, at the cost of the program that changes
// routes. So in a storm a timer reads the socket; the first quiet turn returns to waking.
static void turn_vr(struct rib_vr *v)
{
    static const struct timeval now = {0}, pause = {.tv_usec = STORM_PAUSE_US};
    uint64_t before = v->messages;
    bool more = rib_vr_turn(v), storm = is_storm(v, v->messages - before);

    if (storm)
        event_del(v->ev_events);
    else
        event_add(v->ev_events, NULL);
    if (more || storm)
        evtimer_add(v->ev_work, more ? &now : &pause);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    turn_vr(arg);
}

static void tick_vr(struct rib_vr *v, uint64_t now, bool neigh_time)
{
    rib_sync_watch(v, now);
    if (rib_audit_slice(v, true) || v->dirty.n || rib_sync_is_due(v, now) ||
        rib_budget_due(v))
        turn_vr(v);
    else
        rib_commit(v); // changes by neighbors
    if (neigh_time) {
        rib_budget_tick(v, now);
        rib_label_tick(v, now);
        rib_link_free_unused(v, false);
    }
}

// Time until the next tick. After a silence we ask forwarders to wake us with the next packet; a
// packet that came earlier is taken at once.
static struct timeval tick_pause(uint64_t now)
{
    if (now - held_ns < BUSY_NS)
        return (struct timeval){.tv_usec = TICK_BUSY_US};
    waker_prepare(&exchange_hold_waker);
    return (struct timeval){.tv_usec =
                                exchange_hold && !rte_ring_empty(exchange_hold) ? 0 : TICK_IDLE_US};
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    uint64_t now = clock_now_ns();
    bool neigh_time = now - neigh_ns >= NEIGH_TICK_NS;
    struct timeval again;

    journal_because(JOURNAL_NEIGHBOR);
    if (neigh_hold_poll(now))
        held_ns = now;
    if (neigh_time) {
        neigh_pending_tick(now);
        neigh_tick(now);
        acl_target_resolve_tick(now);
        rib_tunnel_tick(now);
        neigh_ns = now;
    }
    rib_vr_each (v)
        tick_vr(v, now, neigh_time);
    again = tick_pause(now);
    if (lookaside_work() && again.tv_usec > TICK_BUSY_US)
        again.tv_usec = TICK_BUSY_US;
    evtimer_add(tick_event, &again);
}

// The first packet in the ring after a silence wakes the loop.
static void on_held(evutil_socket_t fd, short what, void *arg)
{
    waker_done(&exchange_hold_waker);
    held_ns = clock_now_ns();
    on_tick(-1, 0, NULL);
}

static int begin_manager(struct event_base *base)
{
    static const struct timeval soon = {.tv_usec = TICK_IDLE_US};
    int err = nexthop_manager_init();

    loop = base;
    if (!err)
        err = neigh_manager_init(
            &(struct neigh_routes){rib_is_connected, rib_host_set, rib_detour});
    tick_event = evtimer_new(loop, on_tick, NULL);
    held_event = exchange_hold ? event_new(loop, exchange_hold_waker.fd, EV_READ | EV_PERSIST,
                                           on_held, NULL)
                               : NULL;
    if (!err && (!tick_event || (exchange_hold && (!held_event || event_add(held_event, NULL)))))
        err = -ENOMEM;
    if (!err)
        evtimer_add(tick_event, &soon);
    return err;
}

static void end_vr(struct rib_vr *v)
{
    event_free(v->ev_events);
    event_free(v->ev_requests);
    event_free(v->ev_work);
    rib_vr_free(v);
}

static void end_manager(void)
{
    for (struct rib_vr *v; (v = rib_vr_next(NULL));)
        end_vr(v);
    nexthop_manager_fini();
    neigh_manager_fini();
    if (tick_event)
        event_free(tick_event);
    if (held_event)
        event_free(held_event);
    tick_event = held_event = NULL;
}

// Calls from control concern interfaces.
static void before_call(void)
{
    journal_because(JOURNAL_LINK);
    journal_new_moment();
}

static struct manager manager = {.role = ROLE_RIB_MANAGER,
                                 .slot = THREAD_SLOT_RIB_MANAGER,
                                 .name = "rib_manager",
                                 .begin = begin_manager,
                                 .end = end_manager,
                                 .before_call = before_call};

int rib_manager_start(void)
{
    return manager_start(&manager);
}

void rib_manager_stop(void)
{
    manager_stop(&manager);
}

// --- calls for the loop ---

struct new_vr {
    uint16_t id;
    int netns_fd;
    uint32_t table;
};

static int add_vr(void *arg)
{
    static const struct timeval now = {0};
    const struct new_vr *n = arg;
    struct rib_vr *v;

    if (rib_vr_find(n->id))
        return -EEXIST;
    v = rib_vr_new(n->id, n->netns_fd, n->table);
    if (!v)
        return -errno;
    v->ev_events = event_new(loop, v->events.fd, EV_READ | EV_PERSIST, on_event, v);
    v->ev_requests = event_new(loop, v->requests.fd, EV_READ | EV_PERSIST, rib_vr_read_answers, v);
    v->ev_work = evtimer_new(loop, on_event, v);
    bug_on(!v->ev_events || !v->ev_requests || !v->ev_work);
    event_add(v->ev_events, NULL);
    event_add(v->ev_requests, NULL);
    evtimer_add(v->ev_work, &now);
    return 0;
}

int rib_manager_vr_add(uint16_t vr, int netns_fd, uint32_t table)
{
    struct new_vr n = {vr, netns_fd, table};

    return manager_call(ROLE_RIB_MANAGER, add_vr, &n, sizeof n);
}

static int delete_vr(void *arg)
{
    struct rib_vr *v = rib_vr_find(*(uint16_t *)arg);

    if (!v)
        return -ENOENT;
    end_vr(v);
    return 0;
}

int rib_manager_vr_del(uint16_t vr)
{
    return manager_call(ROLE_RIB_MANAGER, delete_vr, &vr, sizeof vr);
}

static int add_iface(void *arg)
{
    uint16_t iface = *(uint16_t *)arg;
    struct rib_vr *v = rib_vr_find(iface_get(iface)->vr);

    if (!v)
        return -ENOENT;
    rib_iface_bind(v, iface);
    turn_vr(v);
    return 0;
}

int rib_manager_iface_add(uint16_t iface)
{
    return manager_call(ROLE_RIB_MANAGER, add_iface, &iface, sizeof iface);
}
