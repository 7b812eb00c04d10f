// SPDX-License-Identifier: BSD-3-Clause
// event.c - what happens, told at once to whoever listens (RFC 8040, 6)
//
// One text is made of an event and written to each listener that has room;
// http.c keeps at most 64 KiB for one that does not read. Who has none misses
// events, and hears how many as soon as there is room again (events-missed). A filter is an XPath
// expression over the notification: libyang answers it.
#include "event/event.h"

#include <event2/event.h>
#include <inttypes.h>
#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/clock.h"
#include "base/jwrite.h"
#include "base/log.h"
#include "core/thread.h"
#include "http/refuse.h"
#include "yang/yang.h"

#define KEEPALIVE_S 15 // proxies and clients take a longer silence for death

struct listener {
    LIST_ENTRY(listener) next;
    struct http *http;
    char *filter; // XPath, or NULL
    bool full;
    uint64_t missed;
};

static LIST_HEAD(, listener) listeners;
static unsigned n_listeners;
static struct event *keepalive;
static uint64_t number; // of the last event
static struct event_sources sources;

void event_init(const struct event_sources *s)
{
    sources = *s;
}

bool event_wanted(void)
{
    return n_listeners;
}

// --- one event ----------------------------------------------------------------------------------

static void write_event(struct text *t, const char *name, const json_t *body)
{
    struct timespec now;
    struct jwrite j = {.t = t};
    char member[80], *s = json_dumps(body, JSON_COMPACT);

    bug_on(!s);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(member, sizeof member, "kamuee:%s", name);
    text_printf(t, "id: %" PRIu64 "\ndata: ", ++number);
    jwrite_begin(&j, NULL, '{');
    jwrite_begin(&j, "ietf-restconf:notification", '{');
    jwrite_time(&j, "eventTime", (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec);
    jwrite_raw(&j, member, s);
    jwrite_end(&j, '}');
    jwrite_end(&j, '}');
    text_printf(t, "\n\n");
    free(s);
}

// The notification as a tree, for filters; NULL when it is not as the schema says.
static struct lyd_node *event_tree(const char *name, json_t *body)
{
    struct lyd_node *tree = NULL, *op = NULL;
    struct ly_in *in = NULL;
    char member[80];

    snprintf(member, sizeof member, "kamuee:%s", name);
    json_t *wrapped = json_pack("{s:O}", member, body);
    char *s = json_dumps(wrapped, JSON_COMPACT);
    bug_on(!s || ly_in_new_memory(s, &in));
    if (lyd_parse_op(yang_ctx, NULL, in, LYD_JSON, LYD_TYPE_NOTIF_YANG, &tree, &op)) {
        log_warning("event: not as the schema says: event=%s", name);
        lyd_free_all(tree);
        tree = NULL;
    }
    ly_in_free(in, 0);
    free(s);
    json_decref(wrapped);
    return tree;
}

static bool passes(const struct listener *l, const struct lyd_node *tree)
{
    ly_bool yes = 0;

    return !l->filter || (tree && !lyd_eval_xpath(tree, l->filter, &yes) && yes);
}

// --- listeners ----------------------------------------------------------------------------------

static void tell(struct listener *l, const struct text *t)
{
    struct text copy = {0};

    text_append(&copy, t->s, t->n);
    l->full = !http_stream_write(l->http, &copy);
}

static void tell_missed(struct listener *l)
{
    json_t *body = json_pack("{s:o}", "count", json_sprintf("%" PRIu64, l->missed));
    struct text t = {0};

    write_event(&t, "events-missed", body);
    l->missed = 0;
    tell(l, &t);
    json_decref(body);
    text_free(&t);
}

void event_publish(const char *name, json_t *body)
{
    struct lyd_node *tree = NULL;
    struct listener *l;
    struct text t = {0};

    thread_must_be(ROLE_CONTROL);
    LIST_FOREACH(l, &listeners, next) {
        if (l->filter && !tree)
            tree = event_tree(name, body);
        if (!passes(l, tree))
            continue;
        if (!t.n)
            write_event(&t, name, body);
        if (l->full)
            l->missed++;
        else
            tell(l, &t);
    }
    lyd_free_all(tree);
    text_free(&t);
    json_decref(body);
}

static void on_room(void *ctx)
{
    struct listener *l = ctx;

    l->full = false;
    if (l->missed)
        tell_missed(l);
}

static void on_gone(void *ctx)
{
    struct listener *l = ctx;

    LIST_REMOVE(l, next);
    free(l->filter);
    free(l);
    if (--n_listeners)
        return;
    if (sources.stop)
        sources.stop();
    event_free(keepalive);
    keepalive = NULL;
}

static void keep_alive(evutil_socket_t fd, short what, void *arg)
{
    static const struct text comment = {.s = ": keepalive\n\n", .n = 13};
    struct listener *l, *next;

    for (l = LIST_FIRST(&listeners); l; l = next) {
        next = LIST_NEXT(l, next);
        if (http_left(l->http))
            http_stream_cut(l->http);
        else if (!l->full)
            tell(l, &comment);
    }
}

// --- the resource -------------------------------------------------------------------------------

// Whether libyang understands the expression: it is asked about an event that never is.
static bool is_xpath(const char *filter)
{
    json_t *body = json_pack("{s:s}", "count", "0");
    struct lyd_node *tree = event_tree("events-missed", body);
    ly_bool yes;
    bool ok = !lyd_eval_xpath(tree, filter, &yes);

    lyd_free_all(tree);
    json_decref(body);
    return ok;
}

// False: an answer has been given.
static bool may_listen(struct http *h)
{
    const char *filter = http_query(h, "filter");

    if (http_query(h, "start-time") || http_query(h, "stop-time"))
        http_refuse(h, 400, "invalid-value", "events are not replayed: no 'start-time', no 'stop-time'");
    else if (filter && !is_xpath(filter))
        http_refuse(h, 400, "invalid-value", "'filter' is '%s', expected XPath, such as /kamuee:link-change[port='p0']", filter);
    else if (n_listeners == EVENT_LISTENERS_MAX)
        http_refuse(h, 409, "resource-denied", "%u clients listen to events already, which is the most there can be; try again later", n_listeners);
    else
        return true;
    return false;
}

void event_stream(struct http *h)
{
    const struct timeval every = {.tv_sec = KEEPALIVE_S};
    const char *filter = http_query(h, "filter");
    struct text hello = {.s = NULL};

    if (!may_listen(h))
        return;
    struct listener *l = calloc(1, sizeof *l);
    bug_on(!l);
    l->http = h;
    l->filter = filter ? strdup(filter) : NULL;
    if (!n_listeners++) {
        keepalive = event_new(http_loop(), -1, EV_PERSIST, keep_alive, NULL);
        bug_on(!keepalive || event_add(keepalive, &every));
    }
    LIST_INSERT_HEAD(&listeners, l, next);
    http_stream_begin(h, "text/event-stream", on_room, on_gone, l);
    http_stream_quiet(h);
    text_printf(&hello, ": events of kamueed\n\n");
    http_stream_write(h, &hello);
    if (n_listeners == 1 && sources.start)
        sources.start();
}
