// SPDX-License-Identifier: BSD-3-Clause
// session.c - routing sessions that were up and are lost, and expected routing daemons that are
// silent
//
// Daemons do not report sessions to the kernel, and kamueed asks no daemon. It follows the kernel's
// own state, whoever created it:
//
//     "red bgp 192.0.2.1"  a TCP connection with port 179 in the namespace of red was established
//     "red ospf"           the protocol had routes in red
//
// A session that lasted KNOWN_NS is expected from then on; the alarm's value is the time since its
// loss. It ends when the session is back, when the operator clears it, or with its virtual router.
//
// A configured routing daemon has two checks:
//
//     "red bgp"      fewer routes of the protocol than expected: bgpd has ended, its sessions are
//                    down, or it withdrew the routes
//     "red netlink"  only kamueed reads the kernel's route announcements in the virtual router's
//                    namespace: zebra or BIRD has ended (the kernel keeps its routes), or hangs
//
// The alarm's value is the duration of this state while the daemon is expected. A reader hangs if
// its backlog has not shrunk since the last check. A second reader (`ip monitor`) hides the loss of
// one.
#include "alarm/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alarm/alarm.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/protocol.h"
#include "base/vec.h"
#include "config/config_running.h"
#include "core/thread.h"
#include "interface/vr_manager.h"
#include "model/model.h"
#include "netlink/netns_use.h"
#include "table/limits.h"
#include "table/vr.h"

#define KNOWN_NS (10 * NS_PER_SECOND)
#define SESSIONS_MAX 1024 // per namespace
#define READERS_MAX 64

struct session {
    struct ip_addr peer; // family 0 = all routes of the protocol
    uint8_t protocol;
    bool known, there, seen; // seen: in the present round
    uint64_t since_ns; // start of its presence or absence
};

struct silence {
    unsigned round;  // round of the last check
    uint64_t end_ns; // last time it was not silent
};

static struct router { // a virtual router
    char name[32];     // ids are reused
    bool answered;     // rib_manager has answered
    uint32_t own_port;
    uint64_t routes[256]; // by protocol, both families
    VEC(struct session) session;
    struct daemons { // its expected daemons
        unsigned round; // round of the last check
        bool answered;  // rib_manager has answered since they are expected
        struct silence protocol[256], netlink;
        unsigned n_readers;
        struct netlink_reader reader[READERS_MAX]; // at the last check
    } daemons;
} *routers[VR_MAX];
static unsigned next_vr;       // next namespace to look at
static unsigned round_now = 1; // 0 = never

// Static and kernel routes follow the operator's configuration and show no session.
static bool has_sessions(unsigned protocol)
{
    static const uint8_t dynamic[] = {12 /* bird */, 42 /* babel */, 186 /* bgp */,  187 /* isis */,
                                      188 /* ospf */, 189 /* rip */,  190 /* ripng */,
                                      192 /* eigrp */, 197 /* openfabric */};

    return memchr(dynamic, (int)protocol, sizeof dynamic);
}

static void router_free(unsigned vr)
{
    if (routers[vr])
        vec_free(&routers[vr]->session);
    free(routers[vr]);
    routers[vr] = NULL;
}

void session_reset(void)
{
    for (unsigned i = 0; i < VR_MAX; i++)
        router_free(i);
    next_vr = 0;
    round_now = 1;
}

static struct router *router_of(const struct vr *v)
{
    if (routers[v->id] && strcmp(routers[v->id]->name, v->name))
        router_free(v->id);
    if (!routers[v->id]) {
        routers[v->id] = calloc(1, sizeof *routers[v->id]);
        bug_on(!routers[v->id]);
        snprintf(routers[v->id]->name, sizeof routers[v->id]->name, "%s", v->name);
    }
    return routers[v->id];
}

void session_answered(uint16_t vr, const struct rib_stats *r)
{
    struct router *o = router_of(vr_get(vr));

    o->answered = o->daemons.answered = true;
    o->own_port = r->netlink_port;
    for (unsigned p = 0; p < 256; p++)
        o->routes[p] = r->family[0].by_protocol[p] + r->family[1].by_protocol[p];
}

// --- sessions ------------------------------------------------------------------------------------

static struct session *session_find(struct router *o, unsigned protocol, const struct ip_addr *peer)
{
    vec_foreach (&o->session, s)
        if (s->protocol == protocol && s->peer.family == peer->family &&
            (!peer->family || ip_equal(&s->peer, peer)))
            return s;
    return NULL;
}

static void session_seen(struct router *o, unsigned protocol, const struct ip_addr *peer,
                         uint64_t now_ns)
{
    struct session *s = session_find(o, protocol, peer);

    if (!s && o->session.n == SESSIONS_MAX)
        return;
    if (!s) {
        s = vec_push(&o->session);
        *s = (struct session){
            .peer = *peer, .protocol = (uint8_t)protocol, .there = true, .since_ns = now_ns};
    }
    s->seen = true;
}

// Called when all present sessions with peers, or all present protocols, have been seen.
static void sessions_judge(struct router *o, bool with_peer, uint64_t now_ns)
{
    for (size_t i = o->session.n; i-- > 0;) {
        struct session *s = &o->session.item[i];

        if ((s->peer.family != 0) != with_peer)
            continue;
        if (s->seen != s->there)
            s->since_ns = now_ns;
        s->there = s->seen;
        s->seen = false;
        s->known |= s->there && now_ns - s->since_ns >= KNOWN_NS;
        if (!s->there && !s->known)
            vec_del_swap(&o->session, i);
    }
}

static void look_protocols(struct router *o, uint64_t now_ns)
{
    for (unsigned p = 0; p < 256; p++)
        if (has_sessions(p) && o->routes[p])
            session_seen(o, p, &(struct ip_addr){0}, now_ns);
    sessions_judge(o, false, now_ns);
}

static bool is_first_of_namespace(const struct vr *v)
{
    for (unsigned i = 0; i < v->id; i++)
        if (vr_get((uint16_t)i)->used && !strcmp(vr_get((uint16_t)i)->netns, v->netns))
            return false;
    return true;
}

// One namespace at a time, since the kernel walks a table of all connections of the machine.
static void look_peers(uint64_t now_ns)
{
    static struct ip_addr peer[SESSIONS_MAX];
    int bgp = protocol_number("bgp");

    for (unsigned tried = 0; tried < VR_MAX; tried++) {
        const struct vr *v = vr_get((uint16_t)(next_vr++ % VR_MAX));
        if (!v->used || !is_first_of_namespace(v))
            continue;
        int n = bgp_sessions(vr_manager_netns(v->id), peer, SESSIONS_MAX);
        for (int i = 0; i < n; i++)
            session_seen(router_of(v), (unsigned)bgp, &peer[i], now_ns);
        if (n >= 0) // an unknown state is not an error
            sessions_judge(router_of(v), true, now_ns);
        return;
    }
}

static void session_subject(const struct router *o, const struct session *s,
                            char subject[ALARM_SUBJECT])
{
    char protocol[PROTOCOL_NAME_SIZE], peer[IP_TEXT_MAX] = "";

    snprintf(subject, ALARM_SUBJECT, "%.15s %s%s%s", o->name,
             protocol_name(s->protocol, protocol), s->peer.family ? " " : "",
             s->peer.family ? ip_format(&s->peer, peer) : "");
}

static void observe_sessions(const struct router *o, uint64_t now_ns)
{
    char subject[ALARM_SUBJECT];

    vec_foreach (&o->session, s) {
        session_subject(o, s, subject);
        alarm_observe(ALARM_SESSION_DOWN, subject,
                      s->there ? 0 : (now_ns - s->since_ns) / NS_PER_SECOND);
    }
}

// --- daemons -------------------------------------------------------------------------------------

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

static bool has_read(const struct daemons *d, const struct netlink_reader *now)
{
    if (!now->waiting_bytes)
        return true;
    for (unsigned i = 0; i < d->n_readers; i++)
        if (d->reader[i].inode == now->inode)
            return now->waiting_bytes < d->reader[i].waiting_bytes;
    return true; // a new reader
}

static void look_readers(const struct vr *v, struct router *o, uint64_t now_ns)
{
    struct netlink_reader reader[READERS_MAX];
    struct daemons *d = &o->daemons;
    int n = netlink_readers(vr_manager_netns(v->id), o->own_port, reader, READERS_MAX);
    bool any = n < 0; // an unknown state is not an error

    for (int i = 0; i < n; i++)
        any |= has_read(d, &reader[i]);
    d->n_readers = n < 0 ? 0 : (unsigned)n;
    memcpy(d->reader, reader, d->n_readers * sizeof *reader);
    observe_silence(v->name, "netlink", &d->netlink, !any, now_ns);
}

// NULL: rib_manager has not answered yet.
static struct router *look_daemons(const struct vr *v, uint64_t now_ns)
{
    struct router *o = router_of(v);
    struct daemons *d = &o->daemons;

    if (d->round + 1 < round_now) // no daemon was expected in the previous round
        memset(d, 0, sizeof *d);
    if (d->answered && d->round != round_now)
        look_readers(v, o, now_ns);
    d->round = round_now;
    return d->answered ? o : NULL;
}

static void look_expected(uint64_t now_ns)
{
    round_now++;
    vec_foreach (&model_vrs(config_model())->vr, c) { // with its own daemon: only that it reads
        const struct vr *v = vr_find(c->name);

        if (c->daemon != VR_DAEMON_NONE && c->enabled && v)
            look_daemons(v, now_ns);
    }
    vec_foreach (&model_routing_daemons(config_model())->expected, item) {
        const struct vr *v = vr_find(item->vr);
        struct router *o = v ? look_daemons(v, now_ns) : NULL;
        int p = protocol_number(item->protocol);

        bug_on(p < 0); // the schema allows only protocols with a number
        if (o)
            observe_silence(v->name, item->protocol, &o->daemons.protocol[p],
                            o->routes[p] < item->minimum_routes, now_ns);
    }
}

// --- once a second -------------------------------------------------------------------------------

void session_look(uint64_t now_ns)
{
    look_expected(now_ns);
    look_peers(now_ns);
    for (unsigned i = 0; i < VR_MAX; i++) {
        if (!vr_get((uint16_t)i)->used) {
            router_free(i);
            continue;
        }
        struct router *o = router_of(vr_get((uint16_t)i));
        if (o->answered)
            look_protocols(o, now_ns);
        if (!vr_get((uint16_t)i)->stopped)
            observe_sessions(o, now_ns);
    }
}

bool session_forget(const char *subject)
{
    char mine[ALARM_SUBJECT];
    bool any = false;

    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < VR_MAX; i++)
        for (size_t k = routers[i] ? routers[i]->session.n : 0; k-- > 0;) {
            session_subject(routers[i], &routers[i]->session.item[k], mine);
            if (routers[i]->session.item[k].there || (*subject && strcmp(subject, mine)))
                continue;
            vec_del_swap(&routers[i]->session, k);
            any = true;
        }
    return any;
}
