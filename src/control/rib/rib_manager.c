// SPDX-License-Identifier: BSD-3-Clause
// rib_manager.c - the thread that turns kernel state into the FIB
//
// One libevent loop with, per virtual router, an event socket and a request
// socket, and one timer. The first packet that a forwarder gives us to hold wakes
// us (exchange_hold_waker); while packets come the timer polls their ring every
// millisecond, so that forwarders make no system call. It also starts what waits for its time
// (dumps, refreshes, negative answers).
//
// Control's calls arrive by mailbox. Some wait until they are done (a router or an
// interface is added or deleted: "nothing refers to it" is what the caller waits for).
// A commit waits for them aside (core/aside.h), so that control serves others meanwhile.
#include "rib/rib_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <rte_ring.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/aside.h"
#include "core/mailbox.h"
#include "core/thread.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/rib.h"
#include "rib/rib_audit.h"
#include "rib/rib_multicast.h"
#include "rib/rib_reply.h"
#include "table/exchange.h"
#include "table/iface.h"

#define TICK_BUSY_US 1000
#define TICK_IDLE_US 50000
#define STORM_MESSAGES 32 // within STORM_PAUSE_US
#define STORM_PAUSE_US 1000
#define BUSY_NS (100 * NS_PER_MS) // after the last held packet
#define NEIGH_TICK_NS (50 * NS_PER_MS)
#define CALL_TIMEOUT_MS 30000

static struct thread *thread;
static struct event_base *loop;
static struct event *tick_event, *held_event;
static uint64_t held_ns, neigh_ns;

// --- the thread ---

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

// A reader that sleeps on the socket is woken by every message, at the cost of whoever changes
// routes. So in a storm the socket is looked at by the clock; the first quiet turn goes back to
// waking.
static void turn(struct rib_vr *v)
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
    turn(arg);
}

static void on_answer(evutil_socket_t fd, short what, void *arg)
{
    rib_vr_read_answers(arg);
}

static void tick_vr(struct rib_vr *v, uint64_t now, bool neigh_time)
{
    rib_sync_watch(v, now);
    if (rib_audit_slice(v, true) || v->dirty.n || rib_sync_is_due(v, now))
        turn(v);
    else
        rib_commit(v); // what neighbors changed
    if (neigh_time)
        rib_link_free_unused(v, false);
}

// Until the next tick. In a silence forwarders wake us by the first packet; one that came while
// they were not told to is taken at once.
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
        rib_redirect_tick(now);
        neigh_ns = now;
    }
    for (unsigned i = 0; i < VR_MAX; i++)
        if (rib_vr_find((uint16_t)i))
            tick_vr(rib_vr_find((uint16_t)i), now, neigh_time);
    rib_reply_retry();
    again = tick_pause(now);
    evtimer_add(tick_event, &again);
}

// The ring has a packet after a silence.
static void on_held(evutil_socket_t fd, short what, void *arg)
{
    waker_done(&exchange_hold_waker);
    held_ns = clock_now_ns();
    on_tick(-1, 0, NULL);
}

struct starting {
    sem_t ready;
    int result;
};

static int setup(void)
{
    static const struct timeval soon = {.tv_usec = TICK_IDLE_US};
    int err = nexthop_manager_init();

    if (!err)
        err = neigh_manager_init(&(struct neigh_routes){rib_is_connected, rib_host_set});
    loop = event_base_new();
    tick_event = loop ? evtimer_new(loop, on_tick, NULL) : NULL;
    held_event = loop && exchange_hold
                     ? event_new(loop, exchange_hold_waker.fd, EV_READ | EV_PERSIST, on_held, NULL)
                     : NULL;
    if (!err && (!tick_event || (exchange_hold && (!held_event || event_add(held_event, NULL)))))
        err = -ENOMEM;
    if (!err)
        err = mailbox_open(loop);
    if (!err)
        evtimer_add(tick_event, &soon);
    return err;
}

static void vr_end(struct rib_vr *v)
{
    event_free(v->ev_events);
    event_free(v->ev_requests);
    event_free(v->ev_work);
    rib_vr_free(v);
}

static void teardown(void)
{
    mailbox_close();
    for (unsigned i = 0; i < VR_MAX; i++)
        if (rib_vr_find((uint16_t)i))
            vr_end(rib_vr_find((uint16_t)i));
    nexthop_manager_fini();
    neigh_manager_fini();
    if (tick_event)
        event_free(tick_event);
    if (held_event)
        event_free(held_event);
    if (loop)
        event_base_free(loop);
    tick_event = held_event = NULL;
    loop = NULL;
    rib_reply_fini();
}

static void run(void *arg)
{
    struct starting *s = arg;
    int err = setup();

    s->result = err;
    sem_post(&s->ready); // `s` is gone from here on
    if (!err)
        event_base_loop(loop, EVLOOP_NO_EXIT_ON_EMPTY);
    teardown();
}

// --- control ---

int rib_manager_start(void)
{
    struct starting s = {0};
    int err;

    thread_must_be(ROLE_CONTROL);
    sem_init(&s.ready, 0, 0);
    err = thread_start(&thread, ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER, "rib_manager", -1, run,
                       &s);
    if (!err) {
        while (sem_wait(&s.ready) && errno == EINTR)
            ;
        err = s.result;
        if (err) {
            thread_join(thread);
            thread = NULL;
        }
    }
    sem_destroy(&s.ready);
    return err;
}

static void break_loop(void *arg)
{
    event_base_loopbreak(loop);
}

void rib_manager_stop(void)
{
    struct timespec pause = {.tv_nsec = 1000000};

    if (!thread)
        return;
    while (mailbox_post(ROLE_RIB_MANAGER, break_loop, NULL) == -EAGAIN)
        nanosleep(&pause, NULL);
    thread_join(thread);
    thread = NULL;
}

// One waiting call. It may outlive its caller's patience.
struct call {
    int (*fn)(struct call *c);
    uint16_t id; // vr or interface
    int netns_fd;
    uint32_t table; // or the number to be set
    size_t bytes;   // of the receive buffer; 0: the multicast route goes
    enum fib_engine engine;
    uint8_t family, sources;
    struct multicast_static multicast;
    struct prefix prefix;
    int result;
};

static void call_run(void *arg)
{
    struct call *c = arg;

    journal_because(JOURNAL_LINK); // control's calls are about interfaces
    journal_new_moment();
    c->result = c->fn(c);
}

struct waiting {
    struct call *call;
    int err;
};

static void wait_for_call(void *arg)
{
    struct waiting *w = arg;

    w->err = mailbox_call(ROLE_RIB_MANAGER, call_run, w->call, free, CALL_TIMEOUT_MS);
}

// Waits aside: before it comes to the call, rib_manager may have a table to read, and that takes
// long.
static int call(struct call init)
{
    struct waiting w = {.call = malloc(sizeof init)};
    int err;

    thread_must_be(ROLE_CONTROL);
    if (!w.call)
        return -ENOMEM;
    *w.call = init;
    aside(wait_for_call, &w);
    if (w.err == -ETIMEDOUT)
        return w.err;
    err = w.err ? w.err : w.call->result;
    free(w.call);
    return err;
}

static int vr_add(struct call *c)
{
    static const struct timeval now = {0};
    struct rib_vr *v;

    if (rib_vr_find(c->id))
        return -EEXIST;
    v = rib_vr_new(c->id, c->netns_fd, c->table);
    if (!v)
        return -errno;
    v->ev_events = event_new(loop, v->events.fd, EV_READ | EV_PERSIST, on_event, v);
    v->ev_requests = event_new(loop, v->requests.fd, EV_READ | EV_PERSIST, on_answer, v);
    v->ev_work = evtimer_new(loop, on_event, v);
    bug_on(!v->ev_events || !v->ev_requests || !v->ev_work);
    event_add(v->ev_events, NULL);
    event_add(v->ev_requests, NULL);
    evtimer_add(v->ev_work, &now);
    return 0;
}

int rib_manager_vr_add(uint16_t vr, int netns_fd, uint32_t table)
{
    return call((struct call){.fn = vr_add, .id = vr, .netns_fd = netns_fd, .table = table});
}

static int vr_del(struct call *c)
{
    struct rib_vr *v = rib_vr_find(c->id);

    if (!v)
        return -ENOENT;
    vr_end(v);
    return 0;
}

int rib_manager_vr_del(uint16_t vr)
{
    return call((struct call){.fn = vr_del, .id = vr});
}

static int vr_engine(struct call *c)
{
    struct rib_vr *v = rib_vr_find(c->id);
    enum fib_engine was;
    int err;

    if (!v)
        return -ENOENT;
    was = fib_engine_of(rib_fib(v, IP4));
    for (unsigned i = 0; i < 2; i++) {
        err = rib_engine_set(v, i ? IP6 : IP4, c->engine);
        if (!err)
            continue;
        if (i && rib_engine_set(v, IP4, was))
            log_warning("rib: engines differ by family: vr=%u ipv4=%s ipv6=%s", v->id,
                        fib_engine_name(c->engine),
                        fib_engine_name(fib_engine_of(rib_fib(v, IP6))));
        return err == -ENOMEM && c->engine != FIB_POPTRIE
                   ? (int)fib_engine_mib(c->engine, i ? IP6 : IP4, v->rib[i].n_fib)
                   : err;
    }
    return 0;
}

int rib_manager_vr_engine(uint16_t vr, enum fib_engine engine)
{
    return call((struct call){.fn = vr_engine, .id = vr, .engine = engine});
}

static int vr_sources(struct call *c)
{
    struct rib_vr *v = rib_vr_find(c->id);

    if (!v)
        return -ENOENT;
    rib_fib_sources(v, c->family, c->sources);
    return 0;
}

int rib_manager_vr_sources(uint16_t vr, uint8_t family, uint8_t sources)
{
    return call((struct call){.fn = vr_sources, .id = vr, .family = family, .sources = sources});
}

static int iface_add(struct call *c)
{
    struct rib_vr *v = rib_vr_find(iface_get(c->id)->vr);

    if (!v)
        return -ENOENT;
    rib_iface_bind(v, c->id);
    turn(v);
    return 0;
}

int rib_manager_iface_add(uint16_t iface)
{
    return call((struct call){.fn = iface_add, .id = iface});
}

static int iface_del(struct call *c)
{
    for (unsigned i = 0; i < VR_MAX; i++) // control may have moved it to another router already
        if (rib_vr_find((uint16_t)i))
            rib_iface_unbind(rib_vr_find((uint16_t)i), c->id);
    return 0;
}

int rib_manager_iface_del(uint16_t iface)
{
    return call((struct call){.fn = iface_del, .id = iface});
}

static int iface_changed(struct call *c)
{
    nexthop_refresh_iface(c->id);
    return 0;
}

int rib_manager_iface_changed(uint16_t iface)
{
    return call((struct call){.fn = iface_changed, .id = iface});
}

static int port_link(struct call *c)
{
    for (unsigned i = 1; i < IFACE_MAX; i++) {
        const struct iface *f = iface_get((uint16_t)i);
        struct rib_vr *v =
            f->kind != IFACE_NONE && f->port == c->id && f->ifindex ? rib_vr_find(f->vr) : NULL;

        if (!v)
            continue;
        rib_link_rehop(v, f->ifindex);
        rib_iface_rehop_others(v, f->ifindex);
    }
    return 0;
}

int rib_manager_port_link(uint16_t port)
{
    return call((struct call){.fn = port_link, .id = port});
}

static int multicast_call(struct call *c)
{
    struct rib_vr *v = rib_vr_find(c->id);

    if (!v)
        return -ENOENT;
    return c->bytes ? rib_multicast_fix(v, &c->multicast)
                    : rib_multicast_unfix(v, &c->multicast.key);
}

int rib_manager_multicast_set(const char *vr, const struct multicast_static *s)
{
    const struct vr *v = vr_find(vr);

    return v ? call((struct call){
                   .fn = multicast_call, .id = v->id, .bytes = sizeof *s, .multicast = *s})
             : -ENOENT;
}

int rib_manager_multicast_del(const char *vr, const struct multicast_key *k)
{
    const struct vr *v = vr_find(vr);

    return v ? call((struct call){.fn = multicast_call, .id = v->id, .multicast = {.key = *k}})
             : -ENOENT;
}

static int counted_add(struct call *c)
{
    struct rib_vr *v = rib_vr_find(c->id);
    int err = v ? rib_counted_add(v, &c->prefix) : -ENOENT;

    if (!err)
        rib_evaluate_prefix(v, &c->prefix);
    return err;
}

static int counted_del(struct call *c)
{
    struct rib_vr *v = rib_vr_find(c->id);
    int err = v ? rib_counted_del(v, &c->prefix) : -ENOENT;

    if (!err)
        rib_evaluate_prefix(v, &c->prefix);
    return err;
}

int rib_manager_counted_add(const char *vr, const struct prefix *p)
{
    const struct vr *v = vr_find(vr);

    return v ? call((struct call){.fn = counted_add, .id = v->id, .prefix = *p}) : -ENOENT;
}

int rib_manager_counted_del(const char *vr, const struct prefix *p)
{
    const struct vr *v = vr_find(vr);

    return v ? call((struct call){.fn = counted_del, .id = v->id, .prefix = *p}) : -ENOENT;
}

static int set_receive_buffer(struct call *c)
{
    rib_receive_bytes = c->bytes;
    for (unsigned i = 0; i < VR_MAX; i++) {
        struct rib_vr *v = rib_vr_find((uint16_t)i);
        int err = v ? netlink_set_receive_buffer(&v->events, c->bytes) : 0;

        if (err)
            log_warning("rib: receive buffer not set: vr=%u bytes=%zu error=%d", i, c->bytes, err);
    }
    return 0;
}

void rib_manager_set_receive_buffer(size_t bytes)
{
    if (thread)
        call((struct call){.fn = set_receive_buffer, .bytes = bytes});
    else
        rib_receive_bytes = bytes;
}

static int set_audit_interval(struct call *c)
{
    rib_audit_interval(c->table * NS_PER_SECOND);
    return 0;
}

void rib_manager_set_audit_interval(uint32_t seconds)
{
    if (thread)
        call((struct call){.fn = set_audit_interval, .table = seconds});
}

static int set_journal(struct call *c)
{
    return journal_resize(c->table);
}

int rib_manager_set_journal(uint32_t mib)
{
    return thread ? call((struct call){.fn = set_journal, .table = mib}) : 0;
}
