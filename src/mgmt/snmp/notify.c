// SPDX-License-Identifier: BSD-3-Clause
// notify.c - sends linkUp and linkDown, and follows the virtual routers (notify.h)
//
// It remembers the state of each of kamueed's links and tells the differences to the table just
// read. The first table is only remembered. After an event it looks at most every LOOK_NS, and less
// often if reading takes long. A connection that ends leads to another and to a look, so no change
// is missed.
#include "snmp/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "snmp/api.h"
#include "snmp/interfaces.h"
#include "snmp/mib.h"

#define FILTER "/kamuee:interface-change%20%7C%20/kamuee:configuration-change"
#define LOOK_NS (NS_PER_SECOND / 5)
#define RETRY_NS NS_PER_SECOND

static int events = -1;         // connection, -1 = none
static bool asked_to_look;      // an event arrived, or may have been missed
static uint64_t look_at_ns, connect_at_ns;

// --- links ---------------------------------------------------------------------------------------

struct told {
    uint32_t number;
    bool up;
};
static VEC(struct told) told; // by ifIndex

static void tell_link(const struct interface *i)
{
    static const oid trap_name[] = {1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0};
    const oid trap[] = {1, 3, 6, 1, 6, 3, 1, 1, 5, i->oper == 1 ? 4 : 3};
    const long value[] = {i->key.id[0], i->admin, i->oper};
    static const unsigned column[] = {1, 7, 8}; // ifIndex, ifAdminStatus, ifOperStatus
    netsnmp_variable_list *list = NULL;

    snmp_varlist_add_variable(&list, trap_name, OID_LENGTH(trap_name), ASN_OBJECT_ID, trap,
                              sizeof trap);
    for (unsigned k = 0; k < 3; k++) {
        const oid name[] = {1, 3, 6, 1, 2, 1, 2, 2, 1, column[k], i->key.id[0]};
        snmp_varlist_add_variable(&list, name, OID_LENGTH(name), ASN_INTEGER, &value[k],
                                  sizeof value[k]);
    }
    send_v2trap(list);
    snmp_free_varbind(list);
    log_info("snmp: told of a link: interface=%s ifindex=%u status=%s", i->name, i->key.id[0],
             i->oper == 1 ? "up" : "down");
}

static const struct told *find_told(uint32_t number)
{
    size_t lo = 0, hi = told.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (told.item[mid].number < number)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < told.n && told.item[lo].number == number ? &told.item[lo] : NULL;
}

static void tell_changes(const struct interfaces *all)
{
    static bool begun;
    VEC(struct told) now = {0};

    for (size_t k = 0; k < all->n; k++) {
        const struct interface *i = &all->item[k];
        if (!i->ours)
            continue;
        const struct told *before = find_told(i->key.id[0]);
        bool up = i->oper == 1;
        if (begun && (before ? before->up != up : up))
            tell_link(i);
        *vec_push(&now) = (struct told){i->key.id[0], up};
    }
    free(told.item);
    told.item = now.item;
    told.n = now.n;
    told.cap = now.cap;
    begun = true;
}

// --- virtual routers -----------------------------------------------------------------------------

struct context {
    char vr[16];
    bool stays;
};
static VEC(struct context) contexts;

static void keep_context(const char *vr)
{
    vec_foreach (&contexts, c)
        if (!strcmp(c->vr, vr)) {
            c->stays = true;
            return;
        }
    struct context *c = vec_push(&contexts);
    *c = (struct context){.stays = true};
    snprintf(c->vr, sizeof c->vr, "%s", vr);
    mib_register(vr);
}

static int look_at_contexts(void)
{
    json_t *list = NULL, *o;
    size_t at;
    int r = api_get("kamuee:vr?fields=name", &list);

    if (r && r != -ENOENT)
        return r;
    vec_foreach (&contexts, c)
        c->stays = false;
    keep_context("default");
    json_array_foreach(list, at, o)
        keep_context(api_text(o, "name"));
    json_decref(list);
    for (size_t i = 0; i < contexts.n;) {
        if (contexts.item[i].stays) {
            i++;
            continue;
        }
        mib_unregister(contexts.item[i].vr);
        contexts.item[i] = contexts.item[--contexts.n];
    }
    return 0;
}

// --- events --------------------------------------------------------------------------------------

static void lose_events(void)
{
    unregister_readfd(events);
    close(events);
    events = -1;
    connect_at_ns = clock_now_ns() + RETRY_NS;
    log_notice("snmp: kamueed's events have ended");
}

// The content does not matter: look_at_router finds the change.
static void on_events(int fd, void *ctx)
{
    char some[65536];
    ssize_t n = recv(fd, some, sizeof some, MSG_DONTWAIT);

    if (n > 0)
        asked_to_look = true;
    else if (!n || (errno != EAGAIN && errno != EINTR))
        lose_events();
}

static void listen_to_events(void)
{
    static bool failed;
    int fd = api_listen(FILTER);

    connect_at_ns = clock_now_ns() + RETRY_NS;
    if (fd < 0) {
        if (!failed)
            log_warning("snmp: kamueed does not answer: error=%s", LOG_VALUE(strerror(-fd)));
        failed = true;
        return;
    }
    failed = false;
    events = fd;
    register_readfd(fd, on_events, NULL);
    asked_to_look = true;
    log_notice("snmp: connected to kamueed");
}

static void look_at_router(void)
{
    const struct interfaces *all;
    uint64_t begun = clock_now_ns();

    asked_to_look = false;
    if (look_at_contexts() || interfaces_read_again(&all))
        asked_to_look = true; // try again
    else
        tell_changes(all);
    uint64_t now = clock_now_ns(), ten = (now - begun) * 10;
    look_at_ns = now + (ten > LOOK_NS ? ten : LOOK_NS);
}

static void on_tick(unsigned id, void *ctx) // wakes the loop
{
}

void notify_start(void)
{
    struct timeval t = {.tv_usec = 200000};

    snmp_alarm_register_hr(t, SA_REPEAT, on_tick, NULL);
}

void notify_work(void)
{
    uint64_t now = clock_now_ns();

    if (events < 0 && now >= connect_at_ns)
        listen_to_events();
    if (asked_to_look && events >= 0 && now >= look_at_ns)
        look_at_router();
}
