// SPDX-License-Identifier: BSD-3-Clause
// routing_daemon.c - detects expected routing daemons that are silent
//
// Two checks:
//
//     "red bgp"      fewer routes of the protocol than expected: bgpd has ended, its sessions are
//                    down, or it withdrew the routes
//     "red netlink"  only kamueed reads the kernel's route announcements in the virtual router's
//                    namespace: zebra or BIRD has ended (the kernel keeps its routes), or hangs
//
// The alarm's value is the duration of this state while the daemon is expected. A reader hangs if
// its backlog has not shrunk since the last check. A second reader (`ip monitor`) hides the loss of
// one.
#include "alarm/routing_daemon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/alarm.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/protocol.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "interface/vr_manager.h"
#include "model/model.h"
#include "netlink/netns_use.h"
#include "table/limits.h"
#include "table/vr.h"

#define READERS_MAX 64

// --- silence -------------------------------------------------------------------------------------

struct silence {
    unsigned round;  // round of the last check
    uint64_t end_ns; // last time it was not silent
};

static struct router { // a virtual router
    char name[32];     // ids are reused
    unsigned round;    // round of the last check
    bool known;        // rib_manager has answered since
    uint32_t own_port;
    uint64_t routes[256]; // by protocol, both families
    struct silence protocol[256], netlink;
    unsigned n_readers;
    struct netlink_reader reader[READERS_MAX]; // at the last check
} *routers[VR_MAX];
static unsigned round_now = 1; // 0 = never

void routing_daemon_reset(void)
{
    for (unsigned i = 0; i < VR_MAX; i++) {
        free(routers[i]);
        routers[i] = NULL;
    }
    round_now = 1;
}

// Record of the virtual router; a new one if the previous round skipped it.
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

void routing_daemon_answered(uint16_t vr, const struct rib_stats *r)
{
    struct router *o = routers[vr];

    if (!o)
        return; // no daemon expected
    o->known = true;
    o->own_port = r->netlink_port;
    for (unsigned p = 0; p < 256; p++)
        o->routes[p] = r->family[0].by_protocol[p] + r->family[1].by_protocol[p];
}

static void observe_silence(const char *vr, const char *what, struct silence *s, bool silent,
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
    return true; // a new reader
}

static void look_readers(const struct vr *v, struct router *o, uint64_t now_ns)
{
    struct netlink_reader reader[READERS_MAX];
    int n = netlink_readers(vr_manager_netns(v->id), o->own_port, reader, READERS_MAX);
    bool any = n < 0; // an unknown state is not an error

    for (int i = 0; i < n; i++)
        any |= has_read(o, &reader[i]);
    o->n_readers = n < 0 ? 0 : (unsigned)n;
    memcpy(o->reader, reader, o->n_readers * sizeof *reader);
    observe_silence(v->name, "netlink", &o->netlink, !any, now_ns);
}

// A virtual router with its own daemon: checks only that the daemon reads.
static void look_own(uint64_t now_ns)
{
    vec_foreach (&model_vrs(config_model())->vr, c) {
        const struct vr *v = vr_find(c->name);

        if (c->daemon == VR_DAEMON_NONE || !c->enabled || !v)
            continue;
        struct router *o = router_of(v);
        if (o->known && o->round != round_now)
            look_readers(v, o, now_ns);
        o->round = round_now;
    }
}

void routing_daemon_look(uint64_t now_ns)
{
    round_now++;
    look_own(now_ns);
    vec_foreach (&model_routing_daemons(config_model())->expected, item) {
        const struct vr *v = vr_find(item->vr);
        struct router *o = v ? router_of(v) : NULL;
        int p = protocol_number(item->protocol);

        bug_on(p < 0); // the schema allows only protocols with a number
        if (o && o->known) {
            if (o->round != round_now)
                look_readers(v, o, now_ns);
            observe_silence(v->name, item->protocol, &o->protocol[p],
                            o->routes[p] < item->minimum_routes, now_ns);
        }
        if (o)
            o->round = round_now;
    }
}
