// SPDX-License-Identifier: BSD-3-Clause
// event_source.c - where events come from that control does not make itself
//
// Five times a second the ring of neighbors is emptied and the journal of
// routes is asked what it has written since. A flood of changes costs no more
// than ROUTES_A_LOOK rows a look: the newest are told, the others counted.
#include "feature/event_source.h"

#include <event2/event.h>
#include <inttypes.h>

#include "base/jwrite.h"
#include "base/log.h"
#include "event/event.h"
#include "http/http.h"
#include "port/lag_manager.h"
#include "port/port_manager.h"
#include "rib/journal.h"
#include "rib/neigh_feed.h"
#include "feature/route_way.h"
#include "table/vr.h"

#define LOOK_US 200000
#define ROUTES_A_LOOK 1024

static struct event *look;
static uint64_t next_record;
static bool asked;          // an answer of the journal is to come
static unsigned generation; // of starts: an answer may come after a stop

static json_t *body_of(struct text *t)
{
    json_t *body = json_loadb(t->s, t->n, 0, NULL);

    bug_on(!body);
    text_free(t);
    return body;
}

static void tell_missed(uint64_t n)
{
    if (n)
        event_publish("events-missed", json_pack("{s:o}", "count", json_sprintf("%" PRIu64, n)));
}

// --- links, members of LAGs, neighbors -----------------------------------------------------------

static void on_link(const char *port, bool up)
{
    event_publish("link-change",
                  json_pack("{s:s, s:s}", "port", port, "status", up ? "up" : "down"));
}

static void on_member(const char *lag, const char *port, const char *status, const char *reason)
{
    json_t *body = json_pack("{s:s, s:s, s:s}", "lag", lag, "port", port, "status", status);

    if (reason[0])
        json_object_set_new(body, "reason", json_string(reason));
    event_publish("lag-member-change", body);
}

static void tell_neighbor(const struct neigh_news *n)
{
    static const char *const status[] = {
        [NEIGH_RESOLVED] = "resolved", [NEIGH_FAILED] = "failed", [NEIGH_GONE] = "gone"};
    struct text t = {0};
    struct jwrite j = {.t = &t};

    jwrite_begin(&j, NULL, '{');
    jwrite_string(&j, "vr", vr_get(n->vr)->name);
    jwrite_string(&j, "interface", n->iface);
    jwrite_ip(&j, "address", &n->addr);
    jwrite_string(&j, "status", status[n->change]);
    if (n->change == NEIGH_RESOLVED)
        jwrite_mac(&j, "mac", n->mac);
    jwrite_end(&j, '}');
    event_publish("neighbor-change", body_of(&t));
}

// --- routes -------------------------------------------------------------------------------------

static void tell_route(const struct journal_answer *a, const struct journal_row *r)
{
    struct text t = {0};
    struct jwrite j = {.t = &t};

    route_change_write(&j, a, r);
    event_publish("route-change", body_of(&t));
}

static void routes_answered(void *ctx, const struct journal_answer *a)
{
    if ((unsigned)(uintptr_t)ctx != generation)
        return;
    asked = false;
    if (a->result) // no journal: nothing to tell, now
        return;
    bool first = next_record == UINT64_MAX;
    next_record = a->next;
    if (first)
        return;
    tell_missed(a->lost);
    vec_foreach (&a->row, r)
        tell_route(a, r);
}

static void look_now(evutil_socket_t fd, short what, void *arg)
{
    const struct journal_query q = {
        .vr = -1, .match = JOURNAL_ALL, .limit = ROUTES_A_LOOK, .from = next_record};
    struct neigh_news n;

    while (neigh_feed_take(&n))
        tell_neighbor(&n);
    tell_missed(neigh_feed_missed());
    if (!asked)
        asked = !journal_tail(&q, routes_answered, (void *)(uintptr_t)generation);
}

void event_source_start(void)
{
    const struct timeval every = {.tv_usec = LOOK_US};

    look = event_new(http_loop(), -1, EV_PERSIST, look_now, NULL);
    bug_on(!look || event_add(look, &every));
    next_record = UINT64_MAX;
    neigh_feed_want(true);
    port_manager_on_link(on_link);
    lag_on_member(on_member);
    look_now(-1, 0, NULL); // where the journal ends now
}

void event_source_stop(void)
{
    port_manager_on_link(NULL);
    lag_on_member(NULL);
    neigh_feed_want(false);
    event_free(look);
    look = NULL;
    asked = false;
    generation++;
}
