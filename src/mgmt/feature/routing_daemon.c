// SPDX-License-Identifier: BSD-3-Clause
// alarm_daemon.c - looks whether routing daemons are silent
//
// What is expected is configured (alarm/routing_daemon.h); nothing is looked at otherwise. Two
// things tell:
//
//     "red bgp"      fewer routes of the protocol than expected: bgpd has ended, its sessions are
//     down, or it was told so "red netlink"  nobody but us reads the kernel's announcements of
//     routes in the namespace of the virtual router: zebra or BIRD
//                    has ended (the kernel keeps its routes), or hangs, and what it is told stays
//                    unread
//
// The alarm's value is for how long it has been so, of the time it is expected. A reader hangs when
// something waits for it and no less than at the look before. A second program that reads (`ip
// monitor`) hides that one of them has gone.
#include "feature/alarm_daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feature/alarm.h"
#include "feature/routing_daemon.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/protocol.h"
#include "netlink/netlink_reader.h"
#include "port/vr_manager.h"
#include "table/limits.h"
#include "table/vr.h"

#define READERS_MAX 64

struct silence {
    unsigned round;  // it was looked at last
    uint64_t end_ns; // it was not silent then
};

static struct router { // a virtual router
    char name[32];     // ids are used again
    unsigned round;    // it was looked at last
    bool known;        // rib_manager has answered since
    uint32_t own_port;
    uint64_t routes[256]; // by protocol, both families
    struct silence protocol[256], netlink;
    unsigned n_readers;
    struct netlink_reader reader[READERS_MAX]; // at the last look
} *routers[VR_MAX];
static unsigned round_now = 1; // 0 is never

void alarm_daemon_reset(void)
{
    for (unsigned i = 0; i < VR_MAX; i++) {
        free(routers[i]);
        routers[i] = NULL;
    }
    round_now = 1;
}

// The virtual router's, anew where it was not looked at in the round before.
static struct router *router_of(const struct vr *v)
{
    struct router *o = routers[v->id];

    if (!o)
        o = routers[v->id] = malloc(sizeof *o);
    else if (o->round + 1 >= round_now && !strcmp(o->name, v->name))
        return o;
    bug_on(!o);
    memset(o, 0, sizeof *o);
    snprintf(o->name, sizeof o->name, "%s", v->name);
    return o;
}

void alarm_daemon_answered(uint16_t vr, const struct rib_stats *r)
{
    struct router *o = routers[vr];

    if (!o)
        return; // nothing is expected
    o->known = true;
    o->own_port = r->netlink_port;
    for (unsigned p = 0; p < 256; p++)
        o->routes[p] = r->by_protocol4[p] + r->by_protocol6[p];
}

static void observe(const char *vr, const char *what, struct silence *s, bool silent,
                    uint64_t now_ns)
{
    char subject[ALARM_SUBJECT];

    if (!silent || s->round + 1 != round_now)
        s->end_ns = now_ns;
    s->round = round_now;
    snprintf(subject, sizeof subject, "%.15s %.15s", vr, what);
    alarm_observe(ALARM_ROUTING_DAEMON, subject, (now_ns - s->end_ns) / NS_PER_SECOND);
}

static bool has_read(const struct router *o, const struct netlink_reader *now)
{
    if (!now->waiting_bytes)
        return true;
    for (unsigned i = 0; i < o->n_readers; i++)
        if (o->reader[i].inode == now->inode)
            return now->waiting_bytes < o->reader[i].waiting_bytes;
    return true; // it is new
}

static void look_readers(const struct vr *v, struct router *o, uint64_t now_ns)
{
    struct netlink_reader reader[READERS_MAX];
    int n = netlink_readers(vr_manager_netns(v->id), o->own_port, reader, READERS_MAX);
    bool any = n < 0; // what cannot be seen is not wrong

    for (int i = 0; i < n; i++)
        any |= has_read(o, &reader[i]);
    o->n_readers = n < 0 ? 0 : (unsigned)n;
    memcpy(o->reader, reader, o->n_readers * sizeof *reader);
    observe(v->name, "netlink", &o->netlink, !any, now_ns);
}

void alarm_daemon_look(uint64_t now_ns)
{
    const struct routing_daemons *d = routing_daemon_get();

    round_now++;
    for (unsigned i = 0; i < d->n; i++) {
        const struct routing_daemon *item = &d->item[i];
        const struct vr *v = vr_find(item->vr);
        struct router *o = v ? router_of(v) : NULL;
        int p = protocol_number(item->protocol);

        bug_on(p < 0); // the schema has none without a number
        if (o && o->known) {
            if (o->round != round_now)
                look_readers(v, o, now_ns);
            observe(v->name, item->protocol, &o->protocol[p], o->routes[p] < item->minimum_routes,
                    now_ns);
        }
        if (o)
            o->round = round_now;
    }
}
