// SPDX-License-Identifier: BSD-3-Clause
// event.c - events, sent at once to all listeners (RFC 8040, 6)
//
// An event is formatted once and written to every listener whose connection has space; http.c
// buffers at most 64 KiB for a listener that does not read. A listener without space misses events
// and gets their number (events-missed) as soon as it has space again. filter.c selects the events
// that a listener wants. A listener that is bound to a virtual router gets its own copy, with its
// own event numbers.
#include "event/event.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <time.h>

#include "base/clock.h"
#include "base/jwrite.h"
#include "base/log.h"
#include "core/thread.h"
#include "event/filter.h"
#include "http/refuse.h"
#include "mgmt/feature.h"
#include "yang/owner.h"
#include "yang/yang.h"

#define KEEPALIVE_S 15 // proxies and clients give up a connection that is silent for longer

struct listener {
    LIST_ENTRY(listener) next;
    struct http *http;
    struct filter *filter; // NULL: all events
    uint64_t number;       // last event sent, for a listener bound to a virtual router
    bool full;
    uint64_t missed;
};

static LIST_HEAD(, listener) listeners;
static unsigned n_listeners;
static struct event *keepalive;
static uint64_t number; // last event sent

bool event_wanted(void)
{
    return n_listeners;
}

// --- one event ----------------------------------------------------------------------------------

static void write_event(struct text *t, uint64_t id, const char *name, const json_t *body)
{
    struct timespec now;
    struct jwrite j = {.t = t};
    char member[80], *s = json_dumps(body, JSON_COMPACT);

    bug_on(!s);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(member, sizeof member, "kamuee:%s", name);
    text_printf(t, "id: %" PRIu64 "\ndata: ", id);
    jwrite_begin(&j, NULL, '{');
    jwrite_begin(&j, "ietf-restconf:notification", '{');
    jwrite_time(&j, "eventTime", (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec);
    jwrite_raw(&j, member, s);
    jwrite_end(&j, '}');
    jwrite_end(&j, '}');
    text_printf(t, "\n\n");
    free(s);
}

// --- features that produce events while there are listeners --------------------------------------

#define LOOK_US 200000

static struct event *look;

static void look_at_features(evutil_socket_t fd, short what, void *arg)
{
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->events && features[f]->events->look)
            features[f]->events->look();
}

static void want_events(bool on)
{
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->events && features[f]->events->want)
            features[f]->events->want(on);
}

static void start_features(void)
{
    const struct timeval every = {.tv_usec = LOOK_US};

    look = event_new(http_loop(), -1, EV_PERSIST, look_at_features, NULL);
    bug_on(!look || event_add(look, &every));
    want_events(true);
    look_at_features(-1, 0, NULL);
}

static void stop_features(void)
{
    want_events(false);
    event_free(look);
    look = NULL;
}

// --- listeners ----------------------------------------------------------------------------------

static void write_to_listener(struct listener *l, const struct text *t)
{
    struct text copy = {0};

    text_append(&copy, t->s, t->n);
    l->full = !http_stream_write(l->http, &copy);
}

static void write_missed(struct listener *l)
{
    json_t *body = json_pack("{s:o}", "count", json_sprintf("%" PRIu64, l->missed));
    struct text t = {0};

    write_event(&t, *http_vr(l->http) ? ++l->number : ++number, "events-missed", body);
    l->missed = 0;
    write_to_listener(l, &t);
    json_decref(body);
    text_free(&t);
}

static void tell_listener(struct listener *l, const struct text *t)
{
    if (l->full)
        l->missed++;
    else
        write_to_listener(l, t);
}

// Sends a listener bound to a virtual router its part of the event, if the filter passes that part.
static void tell_bound(struct listener *l, const char *name, const json_t *body)
{
    const struct lysc_node *s =
        lys_find_child(NULL, yang_module, name, 0, LYS_NOTIF, 0);
    json_t *own = json_deep_copy(body);
    struct text t = {0};

    if (s && owner_keep_json(http_vr(l->http), s, own) &&
        (!l->filter || filter_passes(l->filter, name, own))) {
        write_event(&t, ++l->number, name, own);
        tell_listener(l, &t);
    }
    text_free(&t);
    json_decref(own);
}

void event_publish(const char *name, json_t *body)
{
    struct listener *l;
    struct text t = {0};

    thread_must_be(ROLE_CONTROL);
    LIST_FOREACH(l, &listeners, next) {
        if (*http_vr(l->http)) {
            tell_bound(l, name, body);
            continue;
        }
        if (l->filter && !filter_passes(l->filter, name, body))
            continue;
        if (!t.n)
            write_event(&t, ++number, name, body);
        tell_listener(l, &t);
    }
    text_free(&t);
    json_decref(body);
}

void event_publish_missed(uint64_t n)
{
    if (n)
        event_publish("events-missed", json_pack("{s:o}", "count", json_sprintf("%" PRIu64, n)));
}

static void on_room(void *ctx)
{
    struct listener *l = ctx;

    l->full = false;
    if (l->missed)
        write_missed(l);
}

static void on_gone(void *ctx)
{
    struct listener *l = ctx;

    LIST_REMOVE(l, next);
    filter_free(l->filter);
    free(l);
    if (--n_listeners)
        return;
    stop_features();
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
            write_to_listener(l, &comment);
    }
}

// --- the resource -------------------------------------------------------------------------------

static bool may_be_one_more(const struct http *h)
{
    unsigned mine = 0;
    struct listener *l;

    if (http_peer_is_root(h))
        return n_listeners < EVENT_LISTENERS_MAX;
    LIST_FOREACH(l, &listeners, next)
        mine += http_same_peer(l->http, h);
        return mine < EVENT_LISTENERS_PEER &&
               n_listeners < EVENT_LISTENERS_MAX - EVENT_LISTENERS_RESERVE;
}

// False: the request has been refused.
static bool may_listen(struct http *h, struct filter **filter)
{
    const char *text = http_query(h, "filter");
    struct text why = {0};

    *filter = text ? filter_parse(text, &why) : NULL;
    if (http_query(h, "start-time") || http_query(h, "stop-time"))
        http_refuse(h, 400, "invalid-value",
                    "events cannot be replayed: 'start-time' and 'stop-time' are not supported");
    else if (text && !*filter)
        http_refuse(h, 400, "invalid-value", "%s", text_str(&why));
    else if (!may_be_one_more(h) && *http_vr(h))
        http_refuse(h, 409, "resource-denied",
                    "too many clients listen to events; try again later");
    else if (!may_be_one_more(h))
        http_refuse(h, 409, "resource-denied",
                    "too many clients listen to events: %u of at most %d, at most %d per user; try "
                    "again later",
                    n_listeners, EVENT_LISTENERS_MAX, EVENT_LISTENERS_PEER);
    else
        return true;
    filter_free(*filter);
    text_free(&why);
    return false;
}

void event_stream(struct http *h)
{
    const struct timeval every = {.tv_sec = KEEPALIVE_S};
    struct text hello = {.s = NULL};
    struct filter *filter;

    if (!may_listen(h, &filter))
        return;
    struct listener *l = calloc(1, sizeof *l);
    bug_on(!l);
    l->http = h;
    l->filter = filter;
    if (!n_listeners++) {
        keepalive = event_new(http_loop(), -1, EV_PERSIST, keep_alive, NULL);
        bug_on(!keepalive || event_add(keepalive, &every));
    }
    LIST_INSERT_HEAD(&listeners, l, next);
    http_for_anyone(h); // each event is filtered for a bound listener
    http_stream_begin(h, "text/event-stream", on_room, on_gone, l);
    http_stream_quiet(h);
    text_printf(&hello, ": events of kamueed\n\n");
    http_stream_write(h, &hello);
    if (n_listeners == 1)
        start_features();
}
