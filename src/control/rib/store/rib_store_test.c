// SPDX-License-Identifier: BSD-3-Clause
// rib_store_test.c - random route events against a naive model of the kernel's lists
//
// The model does the same as the kernel's fib_table_insert(), on small arrays, and makes the events
// for the store. Some changes are withheld from the store, as if events had been lost, and a dump
// has to correct it. After each step, every prefix of the FIB and random addresses are compared,
// and rib_check() runs.
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "core/thread.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/test/store_fixture.h"
#include "rib/vr.h"
#include "table/counter.h"
#include "table/fib.h"
#include "table/iface.h"
#include "table/vr_budget.h"
#include "tests/unit.h"

#define PREFIXES 40
#define LIST 12
#define WAYS 6

struct entry {
    unsigned way; // index into WAYS
    uint32_t metric;
    uint8_t protocol;
};

static struct {
    struct prefix p;
    struct entry e[LIST];
    unsigned n;
} model[PREFIXES];
static bool counted[PREFIXES];
static unsigned seed;

static unsigned pick(unsigned n)
{
    return (unsigned)rand_r(&seed) % n;
}

// Ways 0-2: gateways on link 11; 3-4: on link 12; 5: both.
static void route_of(struct netlink_route *m, unsigned i, const struct entry *e)
{
    *m = (struct netlink_route){.prefix = model[i].p, .type = RTN_UNICAST, .protocol = e->protocol,
                                .table = RIB_TABLE_MAIN, .metric = e->metric, .n_hops = 1};
    m->hop[0] = (struct netlink_hop){.ifindex = e->way < 3 ? 11 : 12, .weight = 1};
    m->hop[0].gateway = (struct ip_addr){.family = IP4, .ip4 = htobe32(0x0a000001u + e->way)};
    if (e->way != 5)
        return;
    m->n_hops = 2;
    m->multipath = true;
    m->hop[1] = (struct netlink_hop){.ifindex = 11, .weight = 2,
                                     .gateway = {.family = IP4, .ip4 = htobe32(0x0a000001u)}};
}

static void link_event(int ifindex, bool up)
{
    struct netlink_event e = {.kind = NETLINK_EVENT_LINK};

    e.link = (struct netlink_link){.ifindex = ifindex, .mtu = 1500, .up = up, .carrier = up};
    rib_event_link(v, &e);
}

static int open_store(void **state)
{
    if (store_tables_open())
        return -1;
    for (int i = 0; i < 2; i++) {
        struct iface *f = iface_new(i ? "e2" : "e1");

        f->ifindex = 11 + i;
        f->kind = IFACE_PORT;
        f->mtu = 1500;
    }
    if (store_managers_open())
        return -1;
    v->rib[0].deferred = v->rib[1].deferred = false;
    v->synced = true;
    link_event(11, true);
    link_event(12, true);
    rib_iface_bind(v, 1);
    rib_iface_bind(v, 2);
    return 0;
}

static void insert(unsigned i, unsigned at, struct entry e)
{
    memmove(&model[i].e[at + 1], &model[i].e[at], (model[i].n - at) * sizeof e);
    model[i].e[at] = e;
    model[i].n++;
}

static void erase(unsigned i, unsigned at)
{
    memmove(&model[i].e[at], &model[i].e[at + 1], (--model[i].n - at) * sizeof model[i].e[0]);
}

// Runs one random `ip route` command on the model; sets its event, or returns false.
static bool command(struct netlink_event *ev)
{
    unsigned i = pick(PREFIXES), first = 0, end, k;
    struct entry e = {pick(WAYS), pick(3) * 10, (uint8_t)(pick(8) ? 186 : 4)};
    int what = (int)pick(5); // 0 replace, 1 append, 2 prepend, 3-4 delete

    *ev = (struct netlink_event){.kind = NETLINK_EVENT_ROUTE};
    while (first < model[i].n && model[i].e[first].metric < e.metric)
        first++;
    for (end = first; end < model[i].n && model[i].e[end].metric == e.metric; end++)
        ;
    for (k = first; k < end && (model[i].e[k].way != e.way || model[i].e[k].protocol != e.protocol);
         k++)
        ;
    if (what >= 3) {
        if (first == end)
            return false;
        if (k == end)
            k = first;
        ev->del = true;
        route_of(&ev->route, i, &model[i].e[k]);
        erase(i, k);
        return true;
    }
    if (k < end || model[i].n == LIST - 1) // the kernel says "exists"
        return false;
    route_of(&ev->route, i, &e);
    if (what == 0 && first < end) {
        ev->replace = true;
        model[i].e[first] = e;
        return true;
    }
    ev->create = true;
    ev->excl = first == end;
    ev->append = what == 1 && !ev->excl;
    insert(i, ev->append ? end : first, e);
    return true;
}

static uint32_t nexthop_of_entry(unsigned i, unsigned k)
{
    struct netlink_route m;
    struct rib_path *p;
    uint32_t id;

    if (k >= model[i].n)
        return 0;
    route_of(&m, i, &model[i].e[k]);
    p = rib_path_get(v, &m);
    assert_true(p->n_routes > 0); // it has a route, or the store has lost one
    id = rib_path_nexthop(p);
    rib_path_put(v, p);
    return id;
}

static uint32_t nexthop_of_way(unsigned i)
{
    return nexthop_of_entry(i, 0);
}

// The FIB leaf of prefix i has exactly the facts for reverse-path checks and the counter that it
// should have.
static void compare_sources(unsigned i)
{
    uint32_t leaf = fib_get(store_vr->fib4, &model[i].p), other[LIST];
    bool is_default = v->sources[0] & RIB_SOURCES_DEFAULT && !model[i].p.len && model[i].n;
    unsigned n = 0;

    for (unsigned k = 1; k < model[i].n && v->sources[0] & RIB_SOURCES_ALL; k++) {
        uint32_t id = nexthop_of_entry(i, k);
        bool new = id != nexthop_of_way(i);
        for (unsigned j = 0; j < n; j++)
            new &= other[j] != id;
        if (new)
            other[n++] = id;
    }
    assert_int_equal(nexthop_real(leaf), nexthop_of_way(i));
    uint16_t slot = model[i].n ? rib_counted_slot(v, &model[i].p, nexthop_of_way(i)) : 0;
    assert_true(!model[i].n || !!slot == counted[i]); // none of these ways leads to ourselves
    assert_int_equal(nexthop_real(leaf) != leaf, is_default || n || slot);
    if (nexthop_real(leaf) == leaf)
        return;
    assert_int_equal(nexthop_get(leaf)->alias.counter, slot);
    assert_int_equal(nexthop_get(leaf)->alias.is_default, is_default);
    assert_int_equal(nexthop_get(leaf)->alias.n, n);
    for (unsigned j = 0; j < n; j++)
        assert_int_equal(nexthop_get(leaf)->alias.other[j], other[j]);
}

static void compare(void)
{
    char why[200];

    if (rib_check(v, &v->rib[0], why, sizeof why))
        fail_msg("%s", why);
    if (nexthop_check(why, sizeof why))
        fail_msg("%s", why);
    for (unsigned i = 0; i < PREFIXES; i++) {
        const struct rib *r = &v->rib[0];
        uint32_t node = rib_trie_find(&r->trie, &model[i].p);
        uint32_t id = node ? rib_trie_at(&r->trie, node)->head : 0;

        compare_sources(i);
        for (unsigned k = 0; k < model[i].n; k++, id = rib_route_at(r, id)->next) {
            assert_int_not_equal(id, 0);
            assert_int_equal(rib_route_at(r, id)->metric, model[i].e[k].metric);
            assert_int_equal(rib_route_at(r, id)->protocol, model[i].e[k].protocol);
        }
        assert_int_equal(id, 0);
    }
    for (int k = 0; k < 20; k++) {
        struct ip_addr a = {.family = IP4};
        unsigned best = PREFIXES;

        memcpy(a.b, model[pick(PREFIXES)].p.b, 4);
        a.b[3] = (uint8_t)pick(256);
        for (unsigned i = 0; i < PREFIXES; i++)
            if (model[i].n && prefix_has(&model[i].p, &a) &&
                (best == PREFIXES || model[i].p.len > model[best].p.len))
                best = i;
        assert_int_equal(nexthop_real(fib_find(store_vr->fib4, &a)),
                         best == PREFIXES ? 0 : nexthop_of_way(best));
    }
}

// In the kernel's order: by address, longer ones first.
static int by_walk(const void *a, const void *b)
{
    const struct prefix *p = a, *q = b; // the first member
    int d = memcmp(p->b, q->b, 4);

    return d ? d : q->len - p->len;
}

static void make_prefixes(void)
{
    for (unsigned i = 0; i < PREFIXES; i++) {
        bool again;

        do {
            model[i].p = (struct prefix){.family = IP4, .len = (uint8_t)(8 + pick(25))};
            model[i].p.b[0] = 20;
            model[i].p.b[1] = (uint8_t)(pick(2) << 7);
            model[i].p.b[2] = (uint8_t)(pick(2) << 4);
            model[i].p.b[3] = (uint8_t)pick(4);
            prefix_canon(&model[i].p);
            again = false;
            for (unsigned k = 0; k < i; k++)
                again |= prefix_equal(&model[i].p, &model[k].p);
        } while (again);
        model[i].n = 0;
    }
    model[0].p = (struct prefix){.family = IP4};
    qsort(model, PREFIXES, sizeof *model, by_walk);
}

// Dumps the model through rib_sync.c.
static void dump(void)
{
    struct nlmsghdr done = {.nlmsg_len = NLMSG_LENGTH(0), .nlmsg_type = NLMSG_DONE,
                            .nlmsg_pid = v->events.portid};
    struct netlink_route m;

    v->sync.stage = RIB_STAGE_ROUTE4;
    v->sync.todo = 0;
    v->sync.seq = done.nlmsg_seq = ++v->events.seq;
    v->sync.interrupted = v->sync.broken = false;
    v->sync.judged = 1u << RIB_STAGE_ROUTE4;
    v->rib[0].gen++;
    rib_gaps_begin(&v->sync.gaps, IP4);
    for (unsigned i = 0; i < PREFIXES; i++)
        for (unsigned k = 0; k < model[i].n; k++) {
            route_of(&m, i, &model[i].e[k]);
            rib_row_route(v, &m);
        }
    rib_sync_message(v, &done);
    rib_sync_step(v, true);
    assert_false(rib_sync_running(v));
    v->sync.want = 0;
}

// Starts counting another prefix, or stops counting one.
static void count_another(void)
{
    unsigned i = pick(PREFIXES);

    assert_int_equal(counted[i] ? rib_counted_del(v, &model[i].p) : rib_counted_add(v, &model[i].p),
                     0);
    assert_int_equal(counted[i] ? rib_counted_del(v, &model[i].p) : rib_counted_add(v, &model[i].p),
                     counted[i] ? -ENOENT : -EEXIST);
    rib_evaluate_prefix(v, &model[i].p);
    counted[i] = !counted[i];
}

static void set_budget_of(enum vr_budget_kind kind, uint64_t limit)
{
    struct vr_limits limits = {0};

    limits.of[kind] = limit;
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    vr_budget_set(v->id, &limits);
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    rib_budget_changed(v);
}

static void set_budget(uint64_t routes)
{
    set_budget_of(VR_BUDGET_IPV4_ROUTES, routes);
}

static void budget_work(void)
{
    for (int i = 0; rib_budget_work(v, 5); i++)
        assert_true(i < 1000);
    rib_commit(v);
}

// Route i: a /24 of its own, far from the previous one.
static void far_route(unsigned i, bool del)
{
    struct netlink_event ev = {.kind = NETLINK_EVENT_ROUTE, .create = !del, .excl = !del,
                               .del = del};
    unsigned where = i * 4099 % 65536;

    ev.route = (struct netlink_route){.prefix = {.family = IP4, .len = 24,
                                                 .b = {20 + (uint8_t)(where >> 14),
                                                       (uint8_t)(where >> 6),
                                                       (uint8_t)(where << 2)}},
                                      .type = RTN_UNICAST, .protocol = 186,
                                      .table = RIB_TABLE_MAIN, .n_hops = 1};
    ev.route.hop[0] = (struct netlink_hop){.ifindex = 11, .weight = 1,
                                           .gateway = {.family = IP4, .ip4 = htobe32(0x0a000001u)}};
    rib_event_route(v, &ev);
}

// These two are first: they take the store as empty, the others what is left of those before them.
unit_test(an_empty_virtual_router_is_charged_little)
{
    assert_in_range(rib_memory_charged(v), 1, 64 << 10);
    assert_in_range(rib_memory_bytes(&v->rib[0]) + rib_memory_bytes(&v->rib[1]), 1, 32 << 10);
}

unit_test(a_mebibyte_has_room_for_a_thousand_routes)
{
    const unsigned most = 40000;
    uint64_t full;

    set_budget_of(VR_BUDGET_MEMORY, 1 << 20);
    for (unsigned i = 0; i < 1000; i++)
        far_route(i, false);
    budget_work();
    assert_int_equal(rib_budget_waiting(&v->rib[0]), 0);
    for (unsigned i = 1000; i < most; i++)
        far_route(i, false);
    budget_work();
    full = rib_memory_charged(v);
    assert_true(rib_budget_waiting(&v->rib[0]) > 0);
    // waiting prefixes are charged, too: for their places in the RIB
    assert_true(v->rib[0].n_fib > 1000 && full > 1 << 20);
    for (unsigned i = 0; i < most; i++)
        far_route(i, true);
    rib_commit(v);
    rib_budget_tick(v, clock_now_ns() + NS_PER_SECOND); // memory was short, so it is freed
    assert_true(rib_memory_charged(v) < 1 << 20);
    assert_int_equal(rib_budget_waiting(&v->rib[0]), 0);
    set_budget(0);
    v->retried_ns = 0;
}

unit_test(events_and_dumps_lead_to_the_kernels_lists)
{
    struct netlink_event ev;
    unsigned lost = 0, dumps = 0;

    seed = 3;
    make_prefixes();
    for (int i = 0; i < 20000; i++) {
        if (!command(&ev))
            continue;
        if (pick(200) == 0) { // this and some more events are lost, until the dump
            lost++;
            for (unsigned k = pick(30); k; k--)
                command(&ev);
            dump();
            dumps++;
        } else {
            rib_event_route(v, &ev);
        }
        rib_commit(v);
        if (pick(100) == 0)
            rib_fib_sources(v, IP4, (uint8_t)pick(4));
        if (pick(50) == 0)
            count_another();
        if (i % 7 == 0)
            compare();
    }
    compare();
    assert_true(lost > 20 && dumps == lost);
    assert_true(v->diverged > lost);
}

unit_test(repeated_events_change_nothing)
{
    struct netlink_event ev;
    uint64_t updates;

    seed = 4;
    for (int i = 0; i < 2000; i++) {
        if (!command(&ev))
            continue;
        rib_event_route(v, &ev);
        if (ev.append || ev.excl) { // shown by a dump before the event is read
            updates = v->rib[0].updates;
            rib_event_route(v, &ev);
            assert_int_equal(v->rib[0].updates, updates);
        }
    }
    compare();
}

unit_test(condemned_routes_go_in_pieces_and_may_come_back)
{
    struct netlink_event ev;
    unsigned i, left = 0;

    compare();
    link_event(12, false); // ways 3 and 4 die, 5 keeps its leg on 11
    assert_true(rib_path_work(v, 3));
    for (i = 0; i < PREFIXES; i++) // meanwhile, announce one of them again
        if (model[i].n && model[i].e[0].way == 3)
            break;
    for (unsigned k = 0; k < PREFIXES; k++)
        for (unsigned j = 0; j < model[k].n;)
            if (model[k].e[j].way == 3 || model[k].e[j].way == 4)
                erase(k, j);
            else
                j++;
    link_event(12, true);
    if (i < PREFIXES) {
        ev = (struct netlink_event){.kind = NETLINK_EVENT_ROUTE, .create = true};
        route_of(&ev.route, i, &(struct entry){3, 0, 186});
        insert(i, 0, (struct entry){3, 0, 186});
        rib_event_route(v, &ev);
    }
    while (rib_path_work(v, 1))
        left++;
    assert_true(left > 5);
    rib_commit(v);
    compare();
}

// --- the budget of routes ---

// Applies the rule of rib_budget.c to the model: as many prefixes as allowed are in, and none is
// missing.
static void compare_budget(uint64_t limit)
{
    uint32_t in = 0, waiting = 0, free = 0;
    char why[200];

    if (rib_check(v, &v->rib[0], why, sizeof why))
        fail_msg("%s", why);
    for (unsigned i = 0; i < PREFIXES; i++) {
        uint32_t node = rib_trie_find(&v->rib[0].trie, &model[i].p);

        if (!model[i].n)
            continue;
        assert_true(node);
        if (rib_budget_waits(&v->rib[0], node)) {
            assert_true(model[i].p.len); // the default route never waits
            waiting++;
        } else {
            assert_int_equal(nexthop_real(fib_get(store_vr->fib4, &model[i].p)), nexthop_of_way(i));
            in += model[i].p.len > 0;
            free += !model[i].p.len;
        }
    }
    assert_int_equal(rib_budget_waiting(&v->rib[0]), waiting);
    assert_int_equal(rib_budget_used(&v->rib[0]), in);
    assert_int_equal(v->rib[0].budget.n_free, free);
    assert_true(!limit || in <= limit);
    assert_true(!waiting || in == limit);
}

static bool waits_at(unsigned i)
{
    uint32_t node = rib_trie_find(&v->rib[0].trie, &model[i].p);

    return node && rib_budget_waits(&v->rib[0], node);
}

unit_test(prefixes_beyond_the_budget_wait)
{
    struct netlink_event ev;
    bool before[PREFIXES];
    uint64_t limit = 10;

    seed = 5;
    set_budget(limit);
    for (int i = 0; i < 20000; i++) {
        if (pick(100) == 0) {
            limit = pick(4) ? 1 + pick(PREFIXES) : 0;
            set_budget(limit);
        }
        if (pick(300) == 0)
            dump();
        if (command(&ev))
            rib_event_route(v, &ev);
        budget_work();
        if (i % 5)
            continue;
        compare_budget(limit);
        for (unsigned k = 0; k < PREFIXES; k++)
            before[k] = waits_at(k);
        dump(); // a dump without news, and an evaluation as in an audit
        for (unsigned k = 0; k < PREFIXES; k++) {
            rib_evaluate_prefix(v, &model[k].p);
            assert_int_equal(waits_at(k), before[k]);
        }
    }
    set_budget(0);
    budget_work();
    compare();
}

// After a decrease, the last prefixes in order wait, the same ones as after a load.
unit_test(lower_budget_keeps_the_first)
{
    struct netlink_event ev;
    unsigned n = 0, seen = 0;
    char text[100];

    for (unsigned i = 0; i < PREFIXES; i++)
        if (!model[i].n) {
            struct entry e = {0, 0, 186};
            ev = (struct netlink_event){.kind = NETLINK_EVENT_ROUTE, .create = true, .excl = true};
            route_of(&ev.route, i, &e);
            insert(i, 0, e);
            rib_event_route(v, &ev);
        }
    set_budget(7);
    budget_work();
    compare_budget(7);
    for (uint32_t id = rib_trie_first(&v->rib[0].trie); id;
         id = rib_trie_next(&v->rib[0].trie, id)) {
        if (!rib_trie_at(&v->rib[0].trie, id)->head || !rib_trie_at(&v->rib[0].trie, id)->len)
            continue;
        n += rib_budget_waits(&v->rib[0], id);
        assert_int_equal(rib_budget_waits(&v->rib[0], id), ++seen > 7);
    }
    rib_budget_text(&v->rib[0], text, sizeof text);
    assert_true(strstr(text, "and ") && strstr(text, " more"));
    set_budget(0);
    budget_work();
    assert_int_equal(n, rib_budget_waiting(&v->rib[0]) + n);
    compare();
}

// A group takes part of the budget of next hops; without room its first leg forwards.
unit_test(groups_beyond_the_budget_use_one_leg)
{
    struct vr_limits limits = {.of[VR_BUDGET_NEXTHOPS] = v->n_nexthops};
    struct netlink_event ev = {.kind = NETLINK_EVENT_ROUTE, .create = true, .excl = true};
    struct prefix p = {.family = IP4, .len = 24, .b = {203, 0, 113}};
    uint32_t one, now = v->n_nexthops;

    assert_true(now > 0);
    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    vr_budget_set(v->id, &limits);
    thread_adopt(ROLE_RIB_MANAGER, THREAD_SLOT_RIB_MANAGER);
    ev.route = (struct netlink_route){.prefix = p, .type = RTN_UNICAST, .protocol = 186,
                                      .table = RIB_TABLE_MAIN, .n_hops = 2, .multipath = true};
    ev.route.hop[0] = (struct netlink_hop){.ifindex = 11, .weight = 1,
                                           .gateway = {.family = IP4, .ip4 = htobe32(0x0a000001u)}};
    ev.route.hop[1] = (struct netlink_hop){.ifindex = 12, .weight = 1,
                                           .gateway = {.family = IP4, .ip4 = htobe32(0x0a000004u)}};
    rib_event_route(v, &ev);
    one = nexthop_real(fib_get(store_vr->fib4, &p));
    assert_int_not_equal(nexthop_word_kind(nexthop_word(nexthop_get(one))), NEXTHOP_GROUP);
    assert_true(v->lacks_nexthops);
    set_budget(0); // of next hops, too
    uint64_t now_ns = clock_now_ns();
    v->retried_ns = now_ns + 1 - NS_PER_SECOND;
    rib_budget_tick(v, now_ns);
    assert_true(v->lacks_nexthops); // retried once a second
    rib_budget_tick(v, now_ns + 1);
    assert_false(v->lacks_nexthops);
    while (rib_path_work(v, 100))
        ;
    one = nexthop_real(fib_get(store_vr->fib4, &p));
    assert_int_equal(nexthop_word_kind(nexthop_word(nexthop_get(one))), NEXTHOP_GROUP);
    assert_int_equal(v->n_nexthops, now + 1);
    ev.create = ev.excl = false;
    ev.del = true;
    rib_event_route(v, &ev);
    rib_commit(v);
    assert_int_equal(v->n_nexthops, now);
    compare();
}

unit_test(everything_can_be_deleted)
{
    struct netlink_event ev;

    for (unsigned i = 0; i < PREFIXES; i++)
        while (model[i].n) {
            ev = (struct netlink_event){.kind = NETLINK_EVENT_ROUTE, .del = true};
            route_of(&ev.route, i, &model[i].e[model[i].n - 1]);
            erase(i, model[i].n - 1);
            rib_event_route(v, &ev);
        }
    rib_commit(v);
    compare();
    assert_int_equal(v->rib[0].n_routes, 0);
    assert_int_equal(v->rib[0].trie.root, 0);
    assert_int_equal(v->path_of_hash.n, 0);
    assert_int_equal(v->unexpected, 0);
    assert_int_equal(neigh_count(-1), 0);
    assert_int_equal(v->n_neighbors, 0);
    assert_int_equal(v->n_nexthops, 0);
    rib_fib_sources(v, IP4, 0);
}

// --- fast reroute ---

static void send_route(uint8_t len, uint32_t gateway, int ifindex, uint32_t metric, bool del)
{
    struct netlink_event ev = {
        .kind = NETLINK_EVENT_ROUTE, .create = !del, .excl = !del, .del = del};

    ev.route = (struct netlink_route){.prefix = {.family = IP4, .len = len},
                                      .type = RTN_UNICAST, .protocol = 186,
                                      .table = RIB_TABLE_MAIN, .metric = metric, .n_hops = 1};
    if (len)
        memcpy(ev.route.prefix.b, (uint8_t[]){203, 0, 113}, 3);
    ev.route.hop[0] = (struct netlink_hop){
        .ifindex = ifindex, .weight = 1, .gateway = {.family = IP4, .ip4 = htobe32(gateway)}};
    rib_event_route(v, &ev);
    rib_commit(v);
}

static void resolve(int ifindex, uint32_t gateway, uint8_t mac)
{
    struct netlink_neigh m = {.ifindex = ifindex, .state = NUD_REACHABLE, .has_mac = true,
                              .addr = {.family = IP4, .ip4 = htobe32(gateway)}};

    memset(m.mac, mac, 6);
    neigh_event(v, &m, false);
}

static void set_carrier(uint16_t iface, bool up)
{
    iface_get(iface)->carrier = up;
    neigh_carrier_changed(rib_link_find(v, iface_get(iface)->ifindex));
}

// Asserts that packets to the prefix leave by that interface to that MAC.
static void assert_way(const struct prefix *p, uint16_t iface, uint8_t mac)
{
    const struct nexthop *nh = nexthop_get(nexthop_real(fib_get(store_vr->fib4, p)));
    uint64_t word = nexthop_word(nh);
    uint8_t dst[6];

    memset(dst, mac, 6);
    assert_int_equal(nexthop_word_kind(word), NEXTHOP_ADJACENCY);
    assert_int_equal(nexthop_word_iface(word), iface);
    assert_memory_equal(nexthop_rewrite(nh, word) + NEXTHOP_REWRITE - nexthop_word_head(word), dst,
                        6);
}

unit_test(gateways_without_carrier_take_the_way_of_the_default_route)
{
    const struct prefix p = {.family = IP4, .len = 24, .b = {203, 0, 113}};
    const uint32_t first = 0x0a000001u, second = 0x0a000004u;

    set_carrier(1, true);
    set_carrier(2, true);
    send_route(24, first, 11, 0, false);
    send_route(0, first, 11, 10, false); // the lost link itself is no detour
    send_route(0, second, 12, 20, false);
    resolve(11, first, 2);
    resolve(12, second, 4);
    assert_way(&p, 1, 2);
    set_carrier(1, false); // fast reroute is off
    assert_way(&p, 1, 2);
    set_carrier(1, true);
    iface_get(1)->policy.fast_reroute = true;
    set_carrier(1, false);
    assert_way(&p, 2, 4);
    resolve(12, second, 6); // the default gateway gets another MAC; the neighbors' tick notices
    set_carrier(1, false);
    assert_way(&p, 2, 6);
    set_carrier(1, true);
    assert_way(&p, 1, 2);
    set_carrier(1, false);
    set_carrier(2, false); // no other gateway is reachable
    assert_int_equal(
        nexthop_word_kind(nexthop_word(nexthop_get(nexthop_real(fib_get(store_vr->fib4, &p))))),
        NEXTHOP_ADJACENCY); // the interface has no carrier and drops them
    set_carrier(2, true);
    set_carrier(1, true);
    send_route(24, first, 11, 0, true);
    send_route(0, first, 11, 10, true);
    send_route(0, second, 12, 20, true);
    iface_get(1)->policy.fast_reroute = false;
    compare();
}

int main(void)
{
    return unit_tests_run(open_store, close_store);
}
