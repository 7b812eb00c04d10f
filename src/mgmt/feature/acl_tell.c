// SPDX-License-Identifier: BSD-3-Clause
// acl_tell.c - see acl_tell.h
//
// Five times a second, at most LINES_A_LOOK packets: what more came waits in the ring, and what
// finds that full is lost; how many, the log says. A list that was taken away meanwhile is still
// told by its name while nobody else has its id.
#include "feature/acl_tell.h"

#include <event2/event.h>
#include <inttypes.h>
#include <string.h>

#include "acl_manager/acl_line.h"
#include "base/ip.h"
#include "base/log.h"
#include "event/event.h"
#include "http/http.h"
#include "table/acl.h"
#include "table/acl_log.h"
#include "table/iface.h"

#define LOOK_US 200000
#define LINES_A_LOOK 32u

static struct event *look;
static uint64_t told_lost;

static void tell(const struct acl_log_entry *e)
{
    const char *acl = acl_table[e->list].name, *iface = iface_get(e->iface)->name,
               *way = e->out ? "out" : "in";
    struct ip_addr src = {.family = e->family}, dst = {.family = e->family};
    char from[IP_TEXT_MAX], to[IP_TEXT_MAX];

    memcpy(src.b, e->key.src, 16);
    memcpy(dst.b, e->key.dst, 16);
    ip_format(&src, from);
    ip_format(&dst, to);
    log_notice("acl: match: acl=%s rule=%u action=%s direction=%s interface=%s protocol=%u "
               "source=%s source-port=%u destination=%s "
               "destination-port=%u length=%u",
               acl, e->rule, acl_verb_name[e->verb], way, iface, e->key.l4.proto, from,
               e->key.l4.sport, to, e->key.l4.dport, e->len);
    if (event_wanted())
        event_publish("acl-match",
                      json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i}", "acl",
                                acl, "rule", (int)e->rule, "action", acl_verb_name[e->verb],
                                "direction", way, "interface", iface, "source", from, "destination",
                                to, "protocol", e->key.l4.proto, "source-port", e->key.l4.sport,
                                "destination-port", e->key.l4.dport, "length", e->len));
}

void acl_tell_now(void)
{
    struct acl_log_entry e[LINES_A_LOOK];
    unsigned n = acl_log_take(e, LINES_A_LOOK);
    uint64_t lost = __atomic_load_n(&acl_log_lost, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < n; i++)
        tell(&e[i]);
    if (lost == told_lost)
        return;
    log_warning("acl: more matches than can be logged: lost=%" PRIu64
                "; make the rules log less ('log every N': one packet in N)",
                lost - told_lost);
    told_lost = lost;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    acl_tell_now();
}

void acl_tell_start(void)
{
    const struct timeval every = {.tv_usec = LOOK_US};

    look = event_new(http_loop(), -1, EV_PERSIST, on_timer, NULL);
    bug_on(!look || event_add(look, &every));
}

void acl_tell_stop(void)
{
    if (look)
        event_free(look);
    look = NULL;
}
