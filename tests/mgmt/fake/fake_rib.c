// SPDX-License-Identifier: BSD-3-Clause
// fake_rib.c - a rib_manager that answers on the test's event loop, for unit tests of mgmt
#include "fake/fake_rib.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "rib/journal.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/nexthop.h"

#define CHUNK 256

uint64_t fake_rib_routes, fake_rib_rows, fake_rib_bgp, fake_rib_overruns;
unsigned fake_rib_walks;
int fake_rib_error;
bool fake_rib_silent;
static struct event_base *base;

struct question {
    void (*answer)(struct question *q);
    void *done, *ctx;
};
static VEC(struct question *) waiting;

void fake_rib_start(struct event_base *loop)
{
    base = loop;
    fake_rib_routes = 10;
    fake_rib_walks = 0;
    fake_rib_rows = 0;
    fake_rib_error = 0;
    fake_rib_bgp = 901890;
    fake_rib_overruns = 0;
    fake_rib_silent = false;
}

static void later(void (*fn)(evutil_socket_t, short, void *), void *arg)
{
    struct timeval now = {0};

    bug_on(event_base_once(base, -1, EV_TIMEOUT, fn, arg, &now));
}

static void run_question(evutil_socket_t fd, short what, void *arg)
{
    struct question *q = arg;

    q->answer(q);
    free(q);
}

static int ask(void (*answer)(struct question *q), void *done, void *ctx)
{
    struct question *q;

    if (fake_rib_error)
        return fake_rib_error;
    q = malloc(sizeof *q);
    bug_on(!q);
    *q = (struct question){answer, done, ctx};
    if (fake_rib_silent)
        *vec_push(&waiting) = q;
    else
        later(run_question, q);
    return 0;
}

void fake_rib_answer(void)
{
    vec_foreach (&waiting, q)
        later(run_question, *q);
    vec_free(&waiting);
}

static void answer_neigh(struct question *q)
{
    void (*done)(void *ctx, const struct neigh_row *row, unsigned n) = q->done;
    struct neigh_row row[2] = {{.iface = "p0",
                                .mac = {2, 0, 0, 0, 0, 9},
                                .state = "reachable",
                                .nexthop = 5,
                                .gateway = true,
                                .in_use = true},
                               {.iface = "p0", .state = "incomplete", .held = 3}};

    bug_on(ip_parse("10.0.0.1", &row[0].addr) || ip_parse("fe80::1", &row[1].addr));
    const struct iface *p0 = iface_find_name("p0");
    row[0].iface_id = row[1].iface_id = p0 ? p0->id : 0;
    done(q->ctx, row, 2);
}

int rib_manager_neigh(void (*done)(void *ctx, const struct neigh_row *row, unsigned n), void *ctx)
{
    return ask(answer_neigh, done, ctx);
}

int rib_manager_neigh_clear(int vr, const char *iface, const struct ip_addr *addr,
                            void (*done)(void *ctx, unsigned n, int error), void *ctx)
{
    done(ctx, 0, 0);
    return 0;
}

static void answer_addresses(struct question *q)
{
    void (*done)(void *ctx, const struct address_row *row, unsigned n) = q->done;
    const struct iface *p0 = iface_find_name("p0");
    struct address_row row[3] = {
        {.len = 24, .usable = true}, {.len = 64, .usable = true}, {.len = 48}};

    bug_on(ip_parse("10.0.0.254", &row[0].addr) || ip_parse("fe80::1", &row[1].addr) ||
           ip_parse("2001:db8::1", &row[2].addr));
    for (unsigned i = 0; p0 && i < 3; i++)
        row[i].iface = p0->id;
    done(q->ctx, row, p0 ? 3 : 0);
}

int rib_manager_addresses(void (*done)(void *ctx, const struct address_row *row, unsigned n),
                          void *ctx)
{
    return ask(answer_addresses, done, ctx);
}

static void answer_nexthops(struct question *q)
{
    void (*done)(void *ctx, const struct nexthop_row *row, unsigned n,
                 const struct nexthop_leg *leg) = q->done;
    struct nexthop_row row[2] = {{.id = 5,
                                  .kind = NEXTHOP_ADJACENCY,
                                  .iface = "p0",
                                  .mac = {2, 0, 0, 0, 0, 9},
                                  .mtu = 1500,
                                  .holders = 2,
                                  .packets = 1ull << 40},
                                 {.id = 6,
                                  .kind = NEXTHOP_GROUP,
                                  .holders = 900000,
                                  .kernel_id = 20,
                                  .buckets = 64,
                                  .n_legs = 2}};
    struct nexthop_leg leg[2] = {
        {.nexthop = 5, .iface = "p0", .weight = 3, .alive = true, .buckets = 64},
        {.iface = "eth9", .weight = 1}};

    bug_on(ip_parse("10.0.0.1", &row[0].gateway) || ip_parse("fe80::1", &leg[1].gateway));
    leg[0].gateway = row[0].gateway;
    done(q->ctx, row, 2, leg);
}

int rib_manager_nexthops(void (*done)(void *ctx, const struct nexthop_row *row, unsigned n,
                                      const struct nexthop_leg *leg),
                         void *ctx)
{
    return ask(answer_nexthops, done, ctx);
}

static void answer_labels(struct question *q)
{
    void (*done)(void *ctx, const struct label_row *row, unsigned n, const struct rib_hop *hop) =
        q->done;
    struct label_row row[2] = {
        {.label = 100, .protocol = 186, .active = true, .nexthop = 7, .kind = "encap", .n_hops = 1},
        {.label = 101, .first_hop = 1, .n_hops = 1}};
    struct rib_hop hop[2] = {
        {.iface = "p0", .labels = {.n = 2, .label = {200, 300}}, .weight = 1, .resolved = true},
        {.iface = "eth9", .has_mac = true, .mac = {2, 0, 0, 0, 0, 9}, .weight = 1}};

    bug_on(ip_parse("10.0.0.1", &hop[0].gateway));
    done(q->ctx, row, 2, hop);
}

int rib_manager_labels(int vr, uint32_t label,
                       void (*done)(void *ctx, const struct label_row *row, unsigned n,
                                    const struct rib_hop *hop),
                       void *ctx)
{
    return ask(answer_labels, done, ctx);
}

static void answer_counted(struct question *q)
{
    void (*done)(void *ctx, const struct counted_row *row, unsigned n) = q->done;
    struct counted_row row[2] = {{.active = true, .nexthop = 5, .packets = 7, .bytes = 1ull << 40}};

    bug_on(prefix_parse("192.0.2.0/24", &row[0].prefix, false) ||
           prefix_parse("2001:db8::/32", &row[1].prefix, false));
    done(q->ctx, row, 2);
}

int rib_manager_counted(void (*done)(void *ctx, const struct counted_row *row, unsigned n),
                        void *ctx)
{
    return ask(answer_counted, done, ctx);
}

static void answer_multicast(struct question *q)
{
    void (*done)(void *ctx, const struct multicast_row *row, unsigned n,
                 const struct multicast_join_row *join, unsigned n_join) = q->done;
    struct multicast_row row[2] = {{.family = IP4,
                                    .is_static = true,
                                    .in = "p0",
                                    .n_out = 1,
                                    .out = {{"v40", 16}},
                                    .packets = 7,
                                    .bytes = 1ull << 40,
                                    .wrong = 2},
                                   {.family = IP6, .by_kernel = true}};
    struct multicast_join_row join = {.iface = "p0"};

    bug_on(ip_parse("239.1.1.1", &row[0].group) || ip_parse("ff1e::1", &row[1].group) ||
           ip_parse("2001:db8::1", &row[1].source) || ip_parse("239.1.1.9", &join.group));
    done(q->ctx, row, 2, &join, 1);
}

int rib_manager_multicast(void (*done)(void *ctx, const struct multicast_row *row, unsigned n,
                                       const struct multicast_join_row *join, unsigned n_join),
                          void *ctx)
{
    return ask(answer_multicast, done, ctx);
}

static void answer_stats(struct question *q)
{
    void (*done)(void *ctx, const struct rib_stats *s) = q->done;
    struct rib_stats s = {.family[0] = {.routes = 901899,
                                        .fib_routes = 901899,
                                        .fib.bytes_used = 1ull << 33},
                          .synced = true,
                          .overruns = fake_rib_overruns,
                          .netlink_port = 7};

    s.family[0].by_protocol[186] = fake_rib_bgp;
    s.family[0].by_protocol[2] = 9;
    s.family[0].by_protocol[77] = 1;
    done(q->ctx, &s);
}

int rib_manager_stats(uint16_t vr, void (*done)(void *ctx, const struct rib_stats *s), void *ctx)
{
    return ask(answer_stats, done, ctx);
}

struct rib_audit_totals rib_audit_totals = {.runs = 3, .fib_divergence = 7, .last_ns = 1};

static void answer_audit(struct question *q)
{
    void (*done)(void *ctx, const struct rib_audit_report *r) = q->done;
    struct rib_audit_report r = {.checked = 1062046,
                                 .prefixes = 1062050,
                                 .lookups = 4000000,
                                 .blocks = 1,
                                 .diverged = 2,
                                 .took_ns = 1500000000,
                                 .longest_ns = 4100000,
                                 .ended_ns = 1,
                                 .runs = 3,
                                 .total = 7,
                                 .n_findings = 1};

    bug_on(prefix_parse("10.1.0.0/16", &r.finding[0].prefix, false));
    r.finding[0].what = "missing from the FIB";
    done(q->ctx, &r);
}

int rib_manager_audit(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                      void *ctx)
{
    return ask(answer_audit, done, ctx);
}

int rib_manager_audit_report(uint16_t vr, void (*done)(void *ctx, const struct rib_audit_report *r),
                             void *ctx)
{
    return ask(answer_audit, done, ctx);
}

// --- changes of neighbors -----------------------------------------------------------------------

static bool news_wanted, news_taken;

void neigh_feed_want(bool on)
{
    news_wanted = on;
    news_taken = false;
}

bool neigh_feed_take(struct neigh_news *row)
{
    if (!news_wanted || news_taken)
        return false;
    news_taken = true;
    *row = (struct neigh_news){.change = NEIGH_RESOLVED, .mac = {2, 0, 0, 0, 0, 9}, .iface = "p0"};
    bug_on(ip_parse("10.0.0.1", &row->addr));
    return true;
}

uint64_t neigh_feed_missed(void)
{
    return 0;
}

// --- the journal --------------------------------------------------------------------------------

static struct journal_query asked;

static void answer_journal(struct question *q)
{
    void (*done)(void *ctx, struct journal_answer *a) = q->done;
    struct journal_nexthop way[2] = {{.nexthop = 7,
                                  .kind = NEXTHOP_ADJACENCY,
                                  .n_legs = 1,
                                  .leg = {{.iface = "p0", .weight = 1}}},
                                 {.nexthop = 3, .kind = NEXTHOP_BLACKHOLE}};
    struct journal_row row[2] = {{.wall_ns = 1795298710123000000,
                                  .cause = JOURNAL_KERNEL,
                                  .was = 1,
                                  .was_protocol = 186,
                                  .is = 2,
                                  .protocol = 4},
                                 {.wall_ns = 1795298710120000000, .cause = JOURNAL_LINK, .is = 1}};
    struct journal_answer a = {
        .since_ns = 1795298700000000000, .reached = true, .found = true, .protocol = 186, .is = 1};

    bug_on(ip_parse("10.0.0.1", &way[0].leg[0].gateway) ||
           prefix_parse("10.1.0.0/16", &row[0].prefix, false));
    a.prefix = row[0].prefix;
    a.next = 105;
    a.lost = 3;
    for (unsigned i = 0; i < 2; i++) {
        if (i < asked.limit)
            *vec_push(&a.row) = row[i];
        *vec_push(&a.nexthop) = way[i];
    }
    if (asked.match == JOURNAL_EXACT && asked.prefix.len == 32)
        a.result = -ENODATA;
    done(q->ctx, &a);
    vec_free(&a.row);
    vec_free(&a.nexthop);
}

int journal_save(unsigned limit, struct journal_answer *a)
{
    *a = (struct journal_answer){0};
    return 0;
}

int journal_restore(const struct journal_answer *a)
{
    return 0;
}

int journal_changes(const struct journal_query *q,
                    void (*done)(void *ctx, struct journal_answer *a), void *ctx)
{
    asked = *q;
    return ask(answer_journal, done, ctx);
}

int journal_at(const struct journal_query *q,
               void (*done)(void *ctx, struct journal_answer *a), void *ctx)
{
    asked = *q;
    return ask(answer_journal, done, ctx);
}

// The second query finds two new records, and three more beyond the limit.
static void answer_journal_tail(struct question *q)
{
    void (*done)(void *ctx, struct journal_answer *a) = q->done;

    if (asked.from != 100) {
        done(q->ctx, &(struct journal_answer){.next = asked.from == UINT64_MAX ? 100 : asked.from});
        return;
    }
    asked.limit = 2;
    answer_journal(q);
}

int journal_tail(const struct journal_query *q,
                 void (*done)(void *ctx, struct journal_answer *a), void *ctx)
{
    asked = *q;
    return ask(answer_journal_tail, done, ctx);
}

static void answer_journal_stats(struct question *q)
{
    void (*done)(void *ctx, const struct journal_stats *s) = q->done;

    done(q->ctx, &(struct journal_stats){.mib = 64, .room = 1468006, .records = 12, .changes = 12,
                                         .since_ns = 1795298700000000000, .nexthops = 2});
}

int journal_ask_stats(void (*done)(void *ctx, const struct journal_stats *s), void *ctx)
{
    return ask(answer_journal_stats, done, ctx);
}

const char *journal_cause_name(enum journal_cause c)
{
    return c == JOURNAL_KERNEL ? "kernel" : "link";
}

// --- walks --------------------------------------------------------------------------------------

struct rib_walk {
    struct rib_query q;
    bool (*rows)(void *ctx, const struct rib_row *row, unsigned n);
    void (*done)(void *ctx, int result);
    void *ctx;
    uint64_t next;
    bool closed, scheduled, in_rows;
};

static void make_row(const struct rib_walk *w, uint64_t i, struct rib_row *r)
{
    uint32_t address = htobe32((uint32_t)(0x01000000 + (i << 8)));

    *r = (struct rib_row){.type = RIB_UNICAST,
                          .protocol = 186,
                          .metric = 20,
                          .active = true,
                          .nexthop = 7,
                          .nexthop_kind = "adjacency",
                          .n_hops = 1};
    r->prefix = (struct prefix){.family = w->q.family, .len = w->q.family == IP4 ? 24 : 48};
    memcpy(r->prefix.b, &address, 4);
    r->hop[0] = (struct rib_hop){.iface = "p0", .weight = 1, .resolved = true, .alive = true};
    bug_on(ip_parse(w->q.family == IP4 ? "10.0.0.1" : "fe80::1", &r->hop[0].gateway));
}

static void chunk(evutil_socket_t fd, short what, void *arg)
{
    struct rib_walk *w = arg;
    struct rib_row row[CHUNK];
    uint64_t total = w->q.match == RIB_ALL || w->q.match == RIB_LONGER ? fake_rib_routes : 1;
    unsigned n = 0;

    w->scheduled = false;
    while (!w->closed && n < CHUNK && w->next < total)
        make_row(w, w->next++, &row[n++]);
    fake_rib_rows += n;
    w->in_rows = true;
    bool more = !n || w->rows(w->ctx, row, n);
    w->in_rows = false;
    if (!w->closed && w->next == total)
        w->done(w->ctx, 0);
    if (w->closed || w->next == total) {
        fake_rib_walks--;
        free(w);
    } else if (more) {
        w->scheduled = true;
        later(chunk, w);
    }
}

struct rib_walk *rib_walk_open(const struct rib_query *q,
                               bool (*rows)(void *ctx, const struct rib_row *row, unsigned n),
                               void (*done)(void *ctx, int result), void *ctx)
{
    struct rib_walk *w = calloc(1, sizeof *w);

    bug_on(!w);
    if (fake_rib_error) {
        errno = -fake_rib_error;
        free(w);
        return NULL;
    }
    *w = (struct rib_walk){.q = *q, .rows = rows, .done = done, .ctx = ctx, .scheduled = true};
    fake_rib_walks++;
    later(chunk, w);
    return w;
}

void rib_walk_more(struct rib_walk *w)
{
    if (w->scheduled)
        return;
    w->scheduled = true;
    later(chunk, w);
}

void rib_walk_close(struct rib_walk *w)
{
    w->closed = true;
    if (w->scheduled || w->in_rows)
        return;
    fake_rib_walks--;
    free(w);
}
