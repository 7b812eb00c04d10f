// SPDX-License-Identifier: BSD-3-Clause
// fake_rib.c - a rib_manager that answers on the test's event loop, for unit tests of mgmt
#include "mgmt/fake_rib.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "manager/rib_manager.h"

#define CHUNK 256

uint64_t fake_rib_routes, fake_rib_rows;
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
    done(q->ctx, row, 2);
}

int rib_manager_neigh(int vr, void (*done)(void *ctx, const struct neigh_row *row, unsigned n),
                      void *ctx)
{
    return ask(answer_neigh, done, ctx);
}

static void answer_stats(struct question *q)
{
    void (*done)(void *ctx, const struct rib_stats *s) = q->done;
    struct rib_stats s = {
        .routes4 = 901899, .fib_routes4 = 901899, .fib_bytes4 = 1ull << 33, .synced = true};

    s.by_protocol4[186] = 901890;
    s.by_protocol4[2] = 9;
    s.by_protocol4[77] = 1;
    done(q->ctx, &s);
}

int rib_manager_stats(uint16_t vr, void (*done)(void *ctx, const struct rib_stats *s), void *ctx)
{
    return ask(answer_stats, done, ctx);
}

static void answer_audit(struct question *q)
{
    void (*done)(void *ctx, int result, uint64_t checked, uint64_t diverged) = q->done;

    done(q->ctx, 0, 1062046, 2);
}

int rib_manager_audit(uint16_t vr,
                      void (*done)(void *ctx, int result, uint64_t checked, uint64_t diverged),
                      void *ctx)
{
    return ask(answer_audit, done, ctx);
}

// --- walks --------------------------------------------------------------------------------------

struct rib_walk {
    struct rib_query q;
    bool (*rows)(void *ctx, const struct rib_row *row, unsigned n);
    void (*done)(void *ctx, int result);
    void *ctx;
    uint64_t next;
    bool closed, scheduled;
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
    bool more = !n || w->rows(w->ctx, row, n);
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
    if (w->scheduled)
        return;
    fake_rib_walks--;
    free(w);
}
