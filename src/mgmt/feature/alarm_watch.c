// SPDX-License-Identifier: BSD-3-Clause
// alarm_watch.c - observes the alarm conditions once a second
//
// Forwarders pay nothing: counters are read in place. rib_manager is asked for the numbers of one
// virtual router at a time; the time to its answer shows whether it still runs.
#include "feature/alarm_watch.h"

#include <event2/event.h>
#include <rte_mempool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/alarm.h"
#include "alarm/session.h"
#include "alarm/window.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/unwell.h"
#include "base/vec.h"
#include "core/process.h"
#include "core/thread.h"
#include "interface/kernel_state.h"
#include "interface/vr_manager.h"
#include "lag/lag_manager.h"
#include "mgmt/feature.h"
#include "model/vr_budget.h"
#include "port/port_manager.h"
#include "port_queue/port_queue_manager.h"
#include "program_manager/program_manager.h"
#include "rib/rib_manager.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/limits.h"
#include "table/nexthop.h"
#include "table/vr.h"
#include "thread/thread_manager.h"

#define ASK_EVERY_NS (10 * NS_PER_SECOND) // all virtual routers, one after the other
#define SLOW_EVERY_NS (60 * NS_PER_SECOND) // slow readings, of milliseconds: memory, sensors
#define LEDGER_LOOKS 10
#define LEDGER_TRIES 20

struct port_watch {
    char name[16];
    struct window flaps, cut;
    int celsius; // at the last slow look; INT32_MIN = not reported
    uint64_t well_ns; // last look at which it was not down
};

static struct {
    struct event *timer;
    uint64_t now_ns;
    unsigned generation; // counts starts: an answer may arrive after a stop
    uint64_t imbalance[LEDGER_LOOKS];
    unsigned n_looks;
    struct window divergence, punt[PUNT_CLASS_N], overruns[VR_MAX];
    uint64_t overruns_now[VR_MAX], unfollowed[VR_MAX], polls[FORWARDER_MAX],
        came_round_ns[FORWARDER_MAX];
    VEC(struct port_watch) port;
    struct process_regions memory; // at the last slow look
    uint64_t slow_ns, asked_ns, round_ns; // asked_ns 0: no answer pending
    unsigned vr;                          // asked now, or next
    struct vr_limits budget_percent[VR_MAX]; // used percentage of each budget
} watch;

// Under traffic, packets between two counters unbalance the ledger for a moment: only the least
// imbalance of the last looks counts as missing packets.
static void look_ledger(void)
{
    struct ledger l;
    uint64_t least = UINT64_MAX;

    ledger_read(&l, LEDGER_TRIES);
    watch.imbalance[watch.n_looks++ % LEDGER_LOOKS] =
        (uint64_t)(l.imbalance < 0 ? -l.imbalance : l.imbalance);
    for (unsigned i = 0; i < LEDGER_LOOKS; i++)
        least = watch.imbalance[i] < least ? watch.imbalance[i] : least;
    alarm_observe(ALARM_LEDGER, "", least);
}

static void observe_growth(enum alarm_name name, const char *subject, struct window *w,
                           uint32_t span_s, uint64_t counter)
{
    w->span_s = span_s;
    alarm_observe(name, subject, window_grown(w, counter, watch.now_ns));
}

static void observe_share(enum alarm_name name, const char *subject, uint64_t part, uint64_t whole)
{
    alarm_observe(name, subject, whole ? 100 * part / whole : 0);
}

static void look_tables(void)
{
    unsigned n_ifaces = 0, n_tunnels = 0, n_vrs = 0;

    iface_each (i) {
        n_ifaces++;
        n_tunnels += i->kind == IFACE_TUNNEL;
    }
    for (unsigned i = 0; i < VR_MAX; i++)
        n_vrs += vr_get((uint16_t)i)->used;
    observe_share(ALARM_TABLE, "nexthop", nexthop_used(), NEXTHOP_MAX);
    observe_share(ALARM_TABLE, "interface", n_ifaces, IFACE_TRIAL);
    observe_share(ALARM_TABLE, "tunnel", n_tunnels, TUNNEL_MAX);
    observe_share(ALARM_TABLE, "vr", n_vrs, VR_MAX);
    vec_foreach (&watch.memory.item, r)
        if (!strncmp(r->name, "fib ", 4) && r->bytes)
            observe_share(ALARM_TABLE, r->name, r->used, r->bytes);
}

static void look_pool(struct rte_mempool *pool, void *arg)
{
    observe_share(ALARM_BUFFERS, pool->name, rte_mempool_in_use_count(pool), pool->size);
}

static void look_punt(void)
{
    for (unsigned c = 0; c < PUNT_CLASS_N; c++) {
        struct counter_punt sum = counter_sum_punt(c);

        observe_growth(ALARM_PUNT_DROPS, punt_class_name[c], &watch.punt[c], 60,
                       sum.policed + sum.full);
    }
}

static void observe_state(void *ctx, const struct kernel_state *s)
{
    char subject[ALARM_SUBJECT];

    snprintf(subject, sizeof subject, "%.21s %s", s->subject, s->attribute);
    alarm_observe(ALARM_KERNEL_STATE, subject, 1);
}

// --- ports --------------------------------------------------------------------------------------

static struct port_watch *port_of(const char *name)
{
    vec_foreach (&watch.port, p)
        if (!strcmp(p->name, name))
            return p;
    struct port_watch *p = vec_push(&watch.port);
    const struct window from_0 = {.begun = true}; // a new port
    *p = (struct port_watch){.flaps = from_0, .cut = from_0, .celsius = INT32_MIN};
    memcpy(p->name, name, sizeof p->name);
    return p;
}

static void look_ports(uint64_t now_ns, bool slow)
{
    char name[PORT_MAX][16];
    unsigned n = port_manager_list(name, PORT_MAX);

    for (unsigned i = 0; i < n; i++) {
        struct port_watch *p = port_of(name[i]);

        if (!p->well_ns || !port_manager_is_down(name[i]))
            p->well_ns = now_ns;
        alarm_observe(ALARM_PORT_DOWN, name[i], (now_ns - p->well_ns) / NS_PER_SECOND);
        observe_growth(ALARM_LINK_FLAPPING, name[i], &p->flaps, 60,
                       port_manager_link_changes(name[i]));
        observe_growth(ALARM_OFFLOAD_CUT, name[i], &p->cut, 60, port_manager_offload(name[i]).cut);
        if (slow && port_manager_temperature(name[i], &p->celsius))
            p->celsius = INT32_MIN;
        if (p->celsius > 0)
            alarm_observe(ALARM_TEMPERATURE, name[i], (uint64_t)p->celsius);
    }
}

static void look_lags(void)
{
    char name[LAG_MAX][16];
    unsigned n = lag_list(name, LAG_MAX);
    struct lag_state l;

    for (unsigned i = 0; i < n; i++)
        if (!lag_state(name[i], &l))
            alarm_observe(ALARM_LAG_DEGRADED, name[i], l.n_missing);
}

static uint64_t wanted_bps(const struct port_queue_state *q)
{
    struct port_state *p = q->configured_bps ? NULL : malloc(sizeof *p);
    uint64_t bps = q->configured_bps;

    if (p && !port_manager_state(q->port, p))
        bps = p->speed_mbps * 995000ull; // 99.5 % of the link's speed
    free(p);
    return bps;
}

static void look_guarantees(const char *port)
{
    char client[32], subject[ALARM_SUBJECT];
    unsigned lacks;

    for (unsigned i = 0; port_queue_manager_guarantee(port, i, client, &lacks); i++) {
        snprintf(subject, sizeof subject, "%s %s", port, client);
        alarm_observe(ALARM_QUEUE_GUARANTEE, subject, lacks);
    }
}

// Missing part of each queue's rate, in percent, rounded up.
static void look_queues(void)
{
    struct port_queue_state q;

    for (unsigned i = 0; port_queue_manager_at(i, &q); i++) {
        uint64_t wanted = q.lowered ? wanted_bps(&q) : 0,
                 lacks = wanted > q.rate_bps ? wanted - q.rate_bps : 0;

        alarm_observe(ALARM_QUEUE_RATE, q.port, lacks ? (100 * lacks + wanted - 1) / wanted : 0);
        if (!port_manager_is_down(q.port))
            look_guarantees(q.port);
    }
}

// --- threads ------------------------------------------------------------------------------------

// A sleeping forwarder wakes up at least ten times a second (forwarder/idle.c).
static void look_forwarder(const struct thread_state *t, uint64_t now_ns)
{
    unsigned f = (unsigned)t->forwarder;
    uint64_t polls = __atomic_load_n(&counter_of_slot(t->slot)->polls, __ATOMIC_RELAXED);

    if (polls != watch.polls[f] || !watch.came_round_ns[f])
        watch.came_round_ns[f] = now_ns;
    watch.polls[f] = polls;
    alarm_observe(ALARM_STALL, t->name, (now_ns - watch.came_round_ns[f]) / NS_PER_SECOND);
}

static void look_threads(uint64_t now_ns)
{
    struct thread_state t[THREAD_SLOT_MAX];
    unsigned n = thread_manager_list(t, THREAD_SLOT_MAX);

    for (unsigned i = 0; i < n; i++)
        if (t[i].forwarder >= 0)
            look_forwarder(&t[i], now_ns);
    alarm_observe(ALARM_STALL, "rib_manager",
                  watch.asked_ns ? (now_ns - watch.asked_ns) / NS_PER_SECOND : 0);
}

static void keep_budget(uint16_t vr, const struct rib_stats *r)
{
    struct vr_limits used = vr_budget_used(vr, r);

    for (unsigned k = 0; k < VR_BUDGET_N; k++) {
        uint64_t limit = vr_budget_limit(vr, k);

        watch.budget_percent[vr].of[k] = limit ? 100 * used.of[k] / limit : 0;
    }
}

static void observe_budget(uint16_t vr)
{
    char subject[ALARM_SUBJECT];

    for (unsigned k = 0; k < VR_BUDGET_N; k++) {
        uint64_t percent = watch.budget_percent[vr].of[k];

        if (!percent)
            continue;
        snprintf(subject, sizeof subject, "%.15s %s", vr_get(vr)->name, vr_budget_info[k].word);
        alarm_observe(ALARM_VR_BUDGET, subject, percent);
        alarm_observe(ALARM_VR_BUDGET_FULL, subject, percent);
    }
}

static void vr_stats_answered(void *ctx, const struct rib_stats *r)
{
    if ((unsigned)(uintptr_t)ctx != watch.generation)
        return;
    watch.asked_ns = 0;
    if (r) {
        watch.overruns_now[watch.vr] = r->overruns;
        watch.unfollowed[watch.vr] = r->unfollowed;
        keep_budget((uint16_t)watch.vr, r);
        session_answered((uint16_t)watch.vr, r);
    }
    watch.vr++;
}

static void look_routers(uint64_t now_ns)
{
    while (watch.vr < VR_MAX && !vr_get((uint16_t)watch.vr)->used)
        watch.vr++;
    if (watch.vr == VR_MAX && now_ns - watch.round_ns >= ASK_EVERY_NS) {
        watch.vr = 0;
        watch.round_ns = now_ns;
    }
    if (watch.vr < VR_MAX && !watch.asked_ns &&
        !rib_manager_stats((uint16_t)watch.vr, vr_stats_answered,
                           (void *)(uintptr_t)watch.generation))
        watch.asked_ns = now_ns;
    for (unsigned v = 0; v < VR_MAX; v++) {
        if (!vr_get((uint16_t)v)->used) {
            watch.unfollowed[v] = 0; // the next virtual router with this id has no answer yet
            watch.budget_percent[v] = (struct vr_limits){0};
            continue;
        }
        alarm_observe(ALARM_ROUTE_NOT_FOLLOWED, vr_get((uint16_t)v)->name, watch.unfollowed[v]);
        observe_budget((uint16_t)v);
        observe_growth(ALARM_NETLINK_OVERRUN, vr_get((uint16_t)v)->name, &watch.overruns[v], 600,
                       watch.overruns_now[v]);
    }
}

// --- once a second ------------------------------------------------------------------------------

static void look_programs(void)
{
    struct program_status s;

    for (unsigned i = 0; program_manager_at(i, &s); i++)
        alarm_observe(ALARM_PROGRAM_FAULT, s.config->name, s.off);
}

static void observe_process(void *ctx, const char *process, const char *why)
{
    alarm_observe(ALARM_PROCESS, process, 1);
}

void alarm_watch_look(uint64_t now_ns, uint64_t wall_ns)
{
    bool slow = !watch.slow_ns || now_ns - watch.slow_ns >= SLOW_EVERY_NS;

    thread_must_be(ROLE_CONTROL);
    watch.now_ns = now_ns;
    if (slow) {
        watch.slow_ns = now_ns;
        vec_free(&watch.memory.item);
        process_regions(&watch.memory);
    }
    alarm_round_begin(now_ns, wall_ns);
    look_ledger();
    observe_growth(ALARM_FIB_DIVERGENCE, "", &watch.divergence, 3600,
                   __atomic_load_n(&rib_audit_totals.fib_divergence, __ATOMIC_RELAXED));
    look_tables();
    if (exchange_pool)
        rte_mempool_walk(look_pool, NULL);
    look_punt();
    look_ports(now_ns, slow);
    look_lags();
    look_queues();
    look_threads(now_ns);
    vr_budget_look(now_ns);
    look_routers(now_ns);
    vr_manager_check_namespaces();
    kernel_state_each(observe_state, NULL);
    look_programs();
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->observe)
            features[f]->observe();
    unwell_each(observe_process, NULL);
    session_look(now_ns);
    alarm_round_end();
}

static void look_now(evutil_socket_t fd, short what, void *arg)
{
    alarm_watch_look(clock_now_ns(), clock_wall_ns());
}

// Forgets everything; answers that are still to come belong to an earlier generation.
static void forget(void)
{
    unsigned generation = watch.generation + 1;

    thread_must_be(ROLE_CONTROL);
    if (watch.timer)
        event_free(watch.timer);
    vec_free(&watch.port);
    vec_free(&watch.memory.item);
    memset(&watch, 0, sizeof watch);
    watch.generation = generation;
    session_reset();
}

void alarm_watch_start(struct event_base *loop)
{
    const struct timeval second = {.tv_sec = 1};

    alarm_init();
    forget();
    watch.timer = event_new(loop, -1, EV_PERSIST, look_now, NULL);
    bug_on(!watch.timer || event_add(watch.timer, &second));
}

void alarm_watch_stop(void)
{
    forget();
    alarm_fini();
}
