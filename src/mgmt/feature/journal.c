// SPDX-License-Identifier: BSD-3-Clause
// operation_journal.c - the operations route-changes and route-at, and the page of the journal
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "http/refuse.h"
#include "restconf/operation.h"
#include "rib/journal.h"
#include "feature/route_way.h"
#include "restconf/state.h"
#include "table/vr.h"

// What an answer is written from; one for each question under way.
struct asked {
    struct http *http;
    uint64_t at_wall_ns;
};

static uint64_t wall_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

// False: an answer has been given.
static bool may_go_on(struct http *h, int result)
{
    if (http_gone(h))
        http_reply(h, 200, NULL, NULL);
    else if (result == -ENODATA)
        http_refuse(h, 409, "operation-failed",
                    "the journal is off (set journal size 64), or the kernel's table has not been "
                    "read yet");
    else if (result)
        http_refuse_busy(h, "rib_manager", result);
    else
        return true;
    return false;
}

static void ask_failed(struct asked *q, int err)
{
    http_refuse_busy(q->http, "rib_manager", err);
    free(q);
}

static struct asked *asked_new(struct http *h, const struct lyd_node *op, struct journal_query *q)
{
    struct asked *a = malloc(sizeof *a);
    uint64_t ago_ms = strtoull(operation_input(op, "ago"), NULL, 10), now = clock_now_ns();
    uint64_t ago_ns = ago_ms < now / NS_PER_MS ? ago_ms * NS_PER_MS : now;

    bug_on(!a);
    q->from_ns = now - ago_ns;
    *a = (struct asked){h, wall_now_ns() -
                               (ago_ms < wall_now_ns() / NS_PER_MS ? ago_ms * NS_PER_MS : ago_ns)};
    return a;
}

// The leaf `vr`; false: an answer has been given.
static bool read_vr(struct http *h, const struct lyd_node *op, struct journal_query *q)
{
    const char *name = operation_input(op, "vr");
    const struct vr *v = *name ? vr_find(name) : NULL;

    q->vr = v ? v->id : -1;
    if (!*name || v)
        return true;
    http_refuse(h, 404, "invalid-value", "there is no vr '%s'", name);
    return false;
}

// --- what changed -------------------------------------------------------------------------------

static void changes_answered(void *ctx, const struct journal_answer *a)
{
    struct asked *q = ctx;
    struct text t = {0};
    struct jwrite j;

    if (may_go_on(q->http, a->result)) {
        output_begin(&j, &t);
        jwrite_time(&j, "since", a->since_ns);
        jwrite_bool(&j, "complete", a->reached);
        jwrite_bool(&j, "cut", a->cut);
        jwrite_begin(&j, "change", '[');
        vec_foreach (&a->row, r)
            route_change_write(&j, a, r);
        jwrite_end(&j, ']');
        output_send(q->http, &j);
    }
    free(q);
}

void operation_route_changes(struct http *h, const struct lyd_node *op)
{
    const char *prefix = operation_input(op, "prefix");
    struct journal_query q = {.match = JOURNAL_ALL,
                              .limit = (unsigned)strtoul(operation_input(op, "limit"), NULL, 10)};
    struct asked *a;

    if (!read_vr(h, op, &q))
        return;
    if (*prefix) {
        bug_on(prefix_parse(prefix, &q.prefix, true)); // libyang has looked at it
        q.family = q.prefix.family;
        q.match = strcmp(operation_input(op, "longer"), "true") ? JOURNAL_EXACT : JOURNAL_LONGER;
    }
    a = asked_new(h, op, &q);
    int r = journal_changes(&q, changes_answered, a);
    if (r)
        ask_failed(a, r);
}

// --- what was -----------------------------------------------------------------------------------

static void at_answered(void *ctx, const struct journal_answer *a)
{
    struct asked *q = ctx;
    struct text t = {0};
    struct jwrite j;

    if (may_go_on(q->http, a->result)) {
        output_begin(&j, &t);
        jwrite_time(&j, "time", q->at_wall_ns);
        jwrite_time(&j, "since", a->since_ns);
        jwrite_bool(&j, "known", a->reached);
        if (a->found) {
            jwrite_prefix(&j, "prefix", &a->prefix);
            route_way_write(&j, a, a->is, a->protocol);
        }
        output_send(q->http, &j);
    }
    free(q);
}

void operation_route_at(struct http *h, const struct lyd_node *op)
{
    const char *address = operation_input(op, "address"), *prefix = operation_input(op, "prefix");
    struct journal_query q = {.match = *prefix ? JOURNAL_EXACT : JOURNAL_COVERING};
    struct asked *a;

    if (!*address == !*prefix) {
        http_refuse(h, 400, "invalid-value", "expected either 'address' or 'prefix'");
        return;
    }
    if (prefix_parse(*prefix ? prefix : address, &q.prefix, true)) {
        http_refuse(h, 400, "invalid-value",
                    "'address' is '%s', expected an address without a zone", address);
        return;
    }
    q.family = q.prefix.family;
    if (!read_vr(h, op, &q))
        return;
    a = asked_new(h, op, &q);
    int r = journal_at(&q, at_answered, a);
    if (r)
        ask_failed(a, r);
}

// --- the page -----------------------------------------------------------------------------------

static void stats_answered(void *ctx, const struct journal_stats *s)
{
    struct show *show = ctx;
    struct jwrite *j = &show->out;

    jwrite_int(j, "size", s->mib);
    jwrite_u64(j, "room", s->room);
    jwrite_u64(j, "records", s->records);
    jwrite_u64(j, "changes", s->changes);
    if (s->records)
        jwrite_time(j, "since", s->since_ns);
    jwrite_u64(j, "ways", s->ways);
    jwrite_u64(j, "ways-cut", s->ways_refused);
    jwrite_end(j, '}');
    show->done(show, 0);
}

int show_journal(struct show *s)
{
    int r;

    jwrite_begin(&s->out, s->name, '{');
    r = journal_ask_stats(stats_answered, s);
    if (r)
        s->done(s, r);
    return SHOW_LATER;
}
