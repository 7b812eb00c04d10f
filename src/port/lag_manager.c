// SPDX-License-Identifier: BSD-3-Clause
// lag_manager.c - LAGs, their members, and when each is in use
//
// Whatever happens to a member ends in settle(): who may be used is decided for all members together, and what changed is told to
// forwarders in an order that loses nothing:
//
//     comes into use    collects, then gets its share of the buckets
//     goes out of use   its buckets go to others, then it collects no more
//
// Members keep their own MACs, and receive everything: the MAC of the LAG is that of the member that was there first, and a kernel interface that
// had been given it would keep it after us.
#include "port/lag_manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_random.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "port/iface_manager.h"
#include "port/managed_port.h"
#include "port/thread_manager.h"
#include "port/watch_manager.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/lag.h"
#include "table/port.h"

#define TICK_MS 100
#define PORT_PRIORITY 32768
#define ANNOUNCEMENTS 2 // of a new active member: at once, and a second later

static struct lag_port {
    struct port_config wish;
    bool used, up, has_mac;
    uint8_t mac[6];
    char active[16]; // active-backup: the member in use, "" = none
    unsigned n_active;
    uint64_t link_changes;
    unsigned announcements;
    uint64_t announce_ns;
    uint64_t cleared_wall_ns;
    struct port_statistics cleared;
} lags[LAG_MAX];

static struct event *timer;
static void (*link_listener)(const char *port, bool up);

#define for_each_lag(l) for (struct lag_port *l = lags; l < lags + LAG_MAX; l++) if (l->used)
#define for_each_member(l, p) vec_foreach (&managed.port, p##_at) \
    for (struct managed_port *p = *p##_at; p && !strcmp(p->wish.member_of, (l)->wish.name); p = NULL)

static struct lag_port *find(const char *name)
{
    for_each_lag(l)
        if (!strcmp(l->wish.name, name))
            return l;
    return NULL;
}

static uint16_t id_of(const struct lag_port *l)
{
    return (uint16_t)(LAG_FIRST + (l - lags));
}

bool lag_exists(const char *name)
{
    return find(name);
}

// --- frames that control sends ---

// By a member, of which it is known that it has a queue; else it is as if the frame were lost on the way.
static void send_frame(const struct lag_port *l, const struct managed_port *p, const uint8_t *frame, uint16_t n)
{
    uint16_t port = p->device.id, iface = port_get(id_of(l))->untagged;
    uint8_t home = plan_home(port);
    struct counter_block *c = counter_mine();
    struct rte_mbuf *m = home < FORWARDER_MAX ? rte_pktmbuf_alloc(exchange_pool) : NULL;

    if (!m)
        return;
    memcpy(rte_pktmbuf_append(m, n), frame, n);
    *packet_meta(m) = (struct packet_meta){.port = port, .iface = iface, .kind = INJECT_TX};
    c->inject++;
    if (rte_ring_enqueue(exchange_inject[home], m)) {
        c->drop[DROP_INJECT_RING_FULL]++;
        c->iface[iface].drop_packets++;
        rte_pktmbuf_free(m);
        return;
    }
    c->iface[iface].tx_packets++;
    c->iface[iface].tx_bytes += n;
    waker_wake(&forwarder_slot[home].waker);
}

static void send_slow(const struct lag_port *l, const struct managed_port *p, const uint8_t pdu[LACP_PDU])
{
    uint8_t frame[LAG_SLOW_FRAME] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x02, [12] = 0x88, [13] = 0x09};

    memcpy(frame + 6, p->device.config.mac, 6);
    memcpy(frame + 14, pdu, LACP_PDU);
    send_frame(l, p, frame, sizeof frame);
}

// A broadcast from each MAC of each interface, so that switches learn by which port it is reached now: a RARP request, which hosts do not answer.
static void announce_mac(const struct lag_port *l, const struct managed_port *p, const struct iface *i, const uint8_t mac[6])
{
    uint8_t frame[68] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, *at = frame + 12;
    static const uint8_t rarp[] = {0x80, 0x35, 0, 1, 8, 0, 6, 4, 0, 3};
    uint16_t tag_be;

    memcpy(frame + 6, mac, 6);
    if (i->outer_vlan) {
        tag_be = htons(i->outer_vlan);
        memcpy(at, &i->tpid_be, 2);
        memcpy(at + 2, &tag_be, 2);
        at += 4;
    }
    if (i->vlan) {
        tag_be = htons(i->vlan);
        memcpy(at, (uint8_t[]){0x81, 0}, 2);
        memcpy(at + 2, &tag_be, 2);
        at += 4;
    }
    memcpy(at, rarp, sizeof rarp);
    memcpy(at + 10, mac, 6);
    memcpy(at + 20, mac, 6);
    send_frame(l, p, frame, (uint16_t)(at - frame + 48));
}

static void announce(struct lag_port *l, const struct managed_port *p)
{
    l->announcements--;
    l->announce_ns = clock_now_ns() + NS_PER_SECOND;
    for (uint16_t id = 1; id < IFACE_MAX; id++) {
        const struct iface *i = iface_get(id);
        uint64_t w;
        if (i->kind == IFACE_NONE || i->port != id_of(l))
            continue;
        announce_mac(l, p, i, i->mac);
        for (unsigned k = 0; k < IFACE_MACS && (w = iface_macs[id][k]); k++)
            announce_mac(l, p, i, (const uint8_t *)&w);
    }
}

// --- who is in use ---

static struct lacp_side actor_of(const struct lag_port *l, const struct managed_port *p)
{
    struct lacp_side s = {.system_priority = l->wish.lag.system_priority, .key = (uint16_t)(1 + (l - lags)),
                          .port_priority = PORT_PRIORITY, .port = (uint16_t)(p->device.id + 1), .state = LACP_AGGREGATION};

    memcpy(s.system, l->mac, sizeof s.system);
    s.state |= (uint8_t)((l->wish.lag.slow ? 0 : LACP_TIMEOUT) | (l->wish.lag.passive ? 0 : LACP_ACTIVITY));
    return s;
}

static bool is_usable(const struct lag_port *l, const struct managed_port *p)
{
    return l->wish.enabled && p->started && p->link_up;
}

// LACPDUs go out while a member may come into use, and never from one that is stopped.
static void run_lacp(struct lag_port *l)
{
    struct lacp_port *port[LAG_MEMBER_MAX];
    uint64_t now = clock_now_ns();
    uint8_t pdu[LACP_PDU];
    unsigned n = 0;

    for_each_member (l, p) {
        lacp_link(&p->lacp, is_usable(l, p), now);
        if (n < LAG_MEMBER_MAX)
            port[n++] = &p->lacp;
    }
    lacp_select(port, n);
    for_each_member (l, p)
        if (lacp_run(&p->lacp, now, pdu) && p->started)
            send_slow(l, p, pdu);
}

// The primary if it can be used, else the one in use if it can, else the first that can.
static struct managed_port *choose_active(struct lag_port *l)
{
    struct managed_port *first = NULL, *active = NULL, *primary = NULL;

    for_each_member (l, p) {
        if (!is_usable(l, p))
            continue;
        first = first ? first : p;
        active = strcmp(p->wish.name, l->active) ? active : p;
        primary = strcmp(p->wish.name, l->wish.lag.primary) ? primary : p;
    }
    return primary ? primary : active ? active : first;
}

static const char *reason_of(const struct lag_port *l, const struct managed_port *p)
{
    if (!p->started)
        return "stopped";
    if (!l->wish.enabled)
        return "the LAG is stopped";
    if (!p->link_up)
        return "link down";
    if (l->wish.lag.mode == LAG_MODE_LACP)
        return lacp_reason(&p->lacp);
    return p->lag_active ? "" : "standby";
}

// What frames a member takes, and which it gets.
struct use {
    bool collects, active;
};

static struct use use_of(const struct lag_port *l, const struct managed_port *p, const struct managed_port *active)
{
    if (!is_usable(l, p))
        return (struct use){false, false};
    if (l->wish.lag.mode == LAG_MODE_LACP)
        return (struct use){lacp_collects(&p->lacp), lacp_distributes(&p->lacp)};
    return (struct use){p == active, p == active};
}

static void share(struct lag_port *l)
{
    uint8_t member[LAG_MEMBER_MAX];
    unsigned n = 0;

    for_each_member (l, p)
        if (p->lag_active && n < LAG_MEMBER_MAX)
            member[n++] = (uint8_t)p->device.id;
    l->n_active = n;
    lag_share(lag_get(id_of(l)), member, n);
}

static void log_member(const struct lag_port *l, const struct managed_port *p)
{
    log_notice("lag_manager: member: lag=%s port=%s state=%s reason=%s", l->wish.name, p->wish.name, p->lag_active ? "active" : "inactive",
               LOG_VALUE(reason_of(l, p)));
}

static void carrier_set(struct lag_port *l)
{
    bool up = l->wish.enabled && l->n_active && l->n_active >= l->wish.lag.min_links;

    if (up == l->up)
        return;
    l->up = up;
    l->link_changes += l->wish.enabled;
    log_notice("lag_manager: link: lag=%s state=%s active=%u min-links=%u", l->wish.name, up ? "up" : "down", l->n_active,
               l->wish.lag.min_links);
    iface_manager_port_link(id_of(l), up);
    if (link_listener)
        link_listener(l->wish.name, up);
}

// Its frames may want what senders leave to a card when those of any member may.
static void offload_set(struct lag_port *l)
{
    struct port *t = port_get(id_of(l));
    bool offload = false;

    for_each_member (l, p)
        offload |= p->started && port_get(p->device.id)->offload;
    if (t->offload == offload)
        return;
    t->offload = offload;
    iface_manager_port_link(id_of(l), l->up); // flags of its interfaces
}

static void settle(struct lag_port *l)
{
    struct managed_port *active = NULL;
    bool changed = false;

    if (l->wish.lag.mode == LAG_MODE_LACP)
        run_lacp(l);
    else
        active = choose_active(l);
    for_each_member (l, p) {
        struct use u = use_of(l, p, active);
        if (u.collects && !port_get(p->device.id)->collects)
            port_collect(port_get(p->device.id), true);
        p->lag_changed = u.active != p->lag_active;
        p->lag_active = u.active;
        changed |= p->lag_changed;
    }
    if (changed)
        share(l);
    for_each_member (l, p)
        if (p->open && port_get(p->device.id)->collects && !use_of(l, p, active).collects)
            port_collect(port_get(p->device.id), false);
    offload_set(l);
    carrier_set(l);
    if (active && strcmp(l->active, active->wish.name))
        l->announcements = ANNOUNCEMENTS;
    snprintf(l->active, sizeof l->active, "%s", active ? active->wish.name : "");
    if (active && l->announcements && (l->announcements == ANNOUNCEMENTS || clock_now_ns() >= l->announce_ns))
        announce(l, active);
    for_each_member (l, p) {
        p->lag_changes += p->lag_changed;
        if (p->lag_changed)
            log_member(l, p);
        p->lag_changed = false;
    }
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    for_each_lag(l)
        settle(l);
}

// --- members come and go ---

static void mac_take(struct lag_port *l, const uint8_t mac[6])
{
    memcpy(l->mac, mac, sizeof l->mac);
    memcpy(lag_get(id_of(l))->system, mac, sizeof l->mac);
    for_each_member (l, p) {
        struct lacp_side actor = actor_of(l, p);
        lacp_settings(&p->lacp, &actor);
    }
}

void lag_member_enter(struct managed_port *p)
{
    struct lag_port *l = find(p->wish.member_of);

    if (!l)
        return;
    if (!l->has_mac) {
        l->has_mac = true;
        mac_take(l, p->device.config.mac);
        iface_manager_port_mac(id_of(l), l->mac);
    }
    struct lacp_side actor = actor_of(l, p);
    lacp_init(&p->lacp, &actor);
    p->lag_active = false;
    __atomic_store_n(&port_get(p->device.id)->lag, (uint8_t)id_of(l), __ATOMIC_RELAXED);
    port_manager_filter(p->device.id);
    watch_manager_port_changed();
}

void lag_member_leave(struct managed_port *p)
{
    struct lag_port *l = find(p->wish.member_of);

    if (!p->wish.member_of[0])
        return;
    if (l)
        settle(l); // it has stopped: not usable
    port_collect(port_get(p->device.id), false);
    __atomic_store_n(&port_get(p->device.id)->lag, 0, __ATOMIC_RELAXED);
    if (p->open)
        port_manager_filter(p->device.id);
    watch_manager_port_changed();
}

void lag_member_link(struct managed_port *p)
{
    struct lag_port *l = find(p->wish.member_of);

    if (l)
        settle(l);
}

void lag_slow_frame(uint16_t port, const uint8_t frame[LAG_SLOW_FRAME])
{
    uint8_t pdu[LACP_PDU];

    thread_must_be(ROLE_CONTROL);
    memcpy(pdu, frame + 14, sizeof pdu);
    for_each_lag(l)
        for_each_member (l, p) {
            if (p->device.id != port || !p->started)
                continue;
            if (pdu[0] == 1) {
                lacp_receive(&p->lacp, pdu, clock_now_ns());
                settle(l);
            } else if (lacp_marker_answer(pdu)) {
                send_slow(l, p, pdu);
            }
            return;
        }
}

// --- LAGs come and go ---

static void clock_set(void)
{
    const struct timeval every = {.tv_usec = TICK_MS * 1000};
    bool any = false;

    for_each_lag(l)
        any = true;
    if (!timer)
        return;
    if (any)
        event_add(timer, &every);
    else
        event_del(timer);
}

// Its own; else that of a member; else, as long as there is none, one made up.
static void mac_choose(struct lag_port *l)
{
    uint64_t made = rte_rand();
    const uint8_t *mac = l->wish.has_mac ? l->wish.mac : NULL;

    for_each_member (l, p)
        if (!mac && p->open)
            mac = p->device.config.mac;
    l->has_mac = mac;
    if (!mac) {
        memcpy(l->mac, &made, sizeof l->mac);
        l->mac[0] = (uint8_t)((l->mac[0] & ~1) | 2);
        mac = l->mac;
    }
    mac_take(l, mac);
}

static void table_enter(const struct lag_port *l)
{
    struct port *t = port_get(id_of(l));
    struct lag *g = lag_get(id_of(l));

    memset(t, 0, sizeof *t);
    t->mtu = l->wish.mtu;
    snprintf(t->name, sizeof t->name, "%s", l->wish.name);
    t->used = t->started = true;
    memset(g->bucket, LAG_NO_MEMBER, sizeof g->bucket);
    g->lacp = l->wish.lag.mode == LAG_MODE_LACP;
}

static void table_leave(struct lag_port *l)
{
    port_get(id_of(l))->used = port_get(id_of(l))->started = false;
    l->used = false;
}

int lag_attach(const struct port_config *cfg, char *err, size_t err_size)
{
    struct lag_port *l = lags;

    thread_must_be(ROLE_CONTROL);
    if (iface_find_name(cfg->name)) {
        snprintf(err, err_size, "port %s: there is an interface of this name already", cfg->name);
        return -EEXIST;
    }
    while (l < lags + LAG_MAX && l->used)
        l++;
    if (l == lags + LAG_MAX) {
        snprintf(err, err_size, "port %s: there are as many LAGs as possible (%d)", cfg->name, LAG_MAX);
        return -ENOSPC;
    }
    *l = (struct lag_port){.wish = *cfg, .used = true};
    table_enter(l);
    mac_choose(l);
    int r = iface_manager_add_port(cfg->name, id_of(l), l->mac, cfg->mtu, "default", err, err_size);
    if (r) {
        table_leave(l);
        return r;
    }
    watch_manager_port_changed();
    thread_manager_update();
    for_each_member (l, p)
        if (p->started)
            lag_member_enter(p);
    log_info("lag_manager: attached: lag=%s id=%u mode=%s min-links=%u", cfg->name, id_of(l), lag_mode_name(cfg->lag.mode), cfg->lag.min_links);
    clock_set();
    settle(l);
    return 0;
}

int lag_detach(const char *name, char *err, size_t err_size)
{
    struct lag_port *l = find(name);

    thread_must_be(ROLE_CONTROL);
    int r = iface_manager_del(name, err, err_size); // refuses while sub-interfaces exist
    if (r)
        return r;
    l->wish.enabled = false;
    settle(l);
    for_each_member (l, p)
        if (p->started)
            lag_member_leave(p);
    table_leave(l);
    thread_manager_release_port(id_of(l));
    watch_manager_port_changed();
    clock_set();
    log_info("lag_manager: detached: lag=%s", name);
    return 0;
}

void lag_set_mac(const char *name, const uint8_t mac[6])
{
    struct lag_port *l = find(name);

    l->has_mac = true;
    if (!memcmp(l->mac, mac, sizeof l->mac))
        return;
    mac_take(l, mac);
    iface_manager_port_mac(id_of(l), mac);
    settle(l);
}

static int change_mtu(struct lag_port *l, uint16_t mtu, char *err, size_t err_size)
{
    if (mtu == l->wish.mtu)
        return 0;
    port_get(id_of(l))->mtu = mtu;
    l->wish.mtu = mtu;
    return iface_manager_set_mtu(l->wish.name, mtu, err, err_size);
}

int lag_change(const struct port_config *cfg, char *err, size_t err_size)
{
    struct lag_port *l = find(cfg->name);
    bool other_mode = l->wish.lag.mode != cfg->lag.mode, mac = cfg->has_mac;

    thread_must_be(ROLE_CONTROL);
    int r = change_mtu(l, cfg->mtu, err, err_size);
    if (r)
        return r;
    l->wish = *cfg;
    if (mac)
        lag_set_mac(cfg->name, cfg->mac);
    __atomic_store_n(&lag_get(id_of(l))->lacp, cfg->lag.mode == LAG_MODE_LACP, __ATOMIC_RELAXED);
    for_each_member (l, p) {
        struct lacp_side actor = actor_of(l, p);
        if (other_mode)
            lacp_init(&p->lacp, &actor);
        else
            lacp_settings(&p->lacp, &actor);
    }
    settle(l);
    return 0;
}

void lag_enable(const char *name, bool on)
{
    struct lag_port *l = find(name);

    thread_must_be(ROLE_CONTROL);
    l->wish.enabled = on;
    settle(l);
}

// --- what there is to see ---

static void add(struct port_statistics *sum, const struct port_statistics *s)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)s;

    _Static_assert(sizeof *s % sizeof *from == 0, "all are counters");
    for (size_t i = 0; i < sizeof *s / sizeof *from; i++)
        to[i] += from[i];
}

int lag_port_state(const char *name, struct port_state *s)
{
    struct lag_port *l = find(name);
    struct port_state m;

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return -ENOENT;
    *s = (struct port_state){.config = l->wish, .id = id_of(l), .driver = "lag", .started = l->wish.enabled, .link_up = l->up,
                             .full_duplex = true, .mtu_max = l->wish.mtu, .socket = -1,
                             .cleared_wall_ns = l->cleared_wall_ns, .cleared = l->cleared};
    memcpy(s->mac, l->mac, sizeof s->mac);
    for_each_member (l, p) {
        if (port_manager_state(p->wish.name, &m))
            continue;
        s->speed_mbps += p->lag_active ? m.speed_mbps : 0;
        add(&s->statistics, &m.statistics);
    }
    return 0;
}

void lag_clear(const char *name)
{
    struct lag_port *l = find(name);
    struct port_state s;

    lag_port_state(name, &s);
    l->cleared_wall_ns = clock_wall_ns();
    l->cleared = s.statistics;
}

uint64_t lag_link_changes(const char *name)
{
    const struct lag_port *l = find(name);

    return l ? l->link_changes : 0;
}

unsigned lag_list(char (*name)[16], unsigned max)
{
    unsigned n = 0;

    for_each_lag(l)
        if (n < max)
            memcpy(name[n++], l->wish.name, sizeof *name);
    return n;
}

int lag_state(const char *name, struct lag_state *s)
{
    struct lag_port *l = find(name);

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return -ENOENT;
    *s = (struct lag_state){.config = l->wish, .up = l->up, .n_active = l->n_active, .link_changes = l->link_changes};
    memcpy(s->mac, l->mac, sizeof s->mac);
    for_each_member (l, p) {
        const char *reason = reason_of(l, p);
        s->n_members++;
        s->n_ready += !reason[0] || !strcmp(reason, "standby");
    }
    return 0;
}

unsigned lag_members(const char *name, struct lag_member_state *m, unsigned max)
{
    struct lag_port *l = find(name);
    unsigned n = 0;

    thread_must_be(ROLE_CONTROL);
    if (!l)
        return 0;
    for_each_member (l, p) {
        if (n == max)
            break;
        m[n] = (struct lag_member_state){.link_up = p->link_up, .active = p->lag_active, .reason = reason_of(l, p), .changes = p->lag_changes,
                                         .lacp = p->lacp};
        memcpy(m[n++].name, p->wish.name, sizeof m->name);
    }
    return n;
}

// --- life ---

void lag_on_link(void (*fn)(const char *port, bool up))
{
    link_listener = fn;
}

int lag_init(struct event_base *loop)
{
    timer = loop ? event_new(loop, -1, EV_PERSIST, on_timer, NULL) : NULL;
    return loop && !timer ? -ENOMEM : 0;
}

void lag_fini(void)
{
    if (timer)
        event_free(timer);
    timer = NULL;
    for_each_lag(l)
        table_leave(l);
}
