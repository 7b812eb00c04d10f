// SPDX-License-Identifier: BSD-3-Clause
// lag_manager.c - adding, changing and deleting LAGs and their members
//
// Members keep their own MACs and are promiscuous. The LAG has the MAC of its first member; a
// kernel interface set to it would keep it after kamueed ends.
#include "lag/lag_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <rte_random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/manager.h"
#include "interface/control_event.h"
#include "interface/iface_manager.h"
#include "lag/lag_port.h"
#include "port/port_manager.h"
#include "table/iface.h"
#include "table/port.h"
#include "tap/tap_manager.h"
#include "thread/thread_manager.h"
#include "thread/watch_manager.h"

static struct event *timer;

// --- members ---

static void set_lag_mac(struct lag_port *l, const uint8_t mac[6])
{
    memcpy(l->mac, mac, sizeof l->mac);
    memcpy(lag_get(lag_port_id(l))->system, mac, sizeof l->mac);
    for_each_member (l, p) {
        struct lacp_side actor = lag_actor(l, p);
        lacp_set_actor(&p->lag->lacp, &actor);
    }
}

// It is about to enter plans, and not in use yet.
static void member_enter(struct managed_port *p)
{
    struct lag_port *l = lag_port_find(p->wish.member_of);

    if (!l)
        return;
    if (!l->has_mac) {
        l->has_mac = true;
        set_lag_mac(l, p->device.config.mac);
        iface_manager_port_mac(lag_port_id(l), l->mac);
    }
    struct lacp_side actor = lag_actor(l, p);
    lacp_init(&p->lag->lacp, &actor);
    p->lag->active = false;
    p->lag->changed_ns = clock_now_ns();
    __atomic_store_n(&port_get(p->device.id)->lag, (uint8_t)lag_port_id(l), __ATOMIC_RELAXED);
    port_manager_update_filter(p->device.id);
    watch_manager_port_changed();
}

// It is about to leave them, and no longer in use.
static void member_leave(struct managed_port *p)
{
    struct lag_port *l = lag_port_find(p->wish.member_of);

    if (!p->wish.member_of[0])
        return;
    if (l)
        lag_update(l); // it has stopped and is not usable
    port_collect(port_get(p->device.id), false);
    __atomic_store_n(&port_get(p->device.id)->lag, 0, __ATOMIC_RELAXED);
    if (p->open)
        port_manager_update_filter(p->device.id);
    watch_manager_port_changed();
}

static void update_its_lag(const struct managed_port *p)
{
    struct lag_port *l = lag_port_find(p->wish.member_of);

    if (l)
        lag_update(l);
}

static void on_port_event(const struct control_event *e)
{
    switch (e->kind) {
    case EVENT_PORT_OPENED: lag_member_opened(e->port); break;
    case EVENT_PORT_CLOSES: lag_member_add_statistics(e->port); break;
    case EVENT_PORT_STARTS: member_enter(e->port); break;
    case EVENT_PORT_STOPS: member_leave(e->port); break;
    default: update_its_lag(e->port);
    }
}

static void receive_slow_frame(uint16_t port, const uint8_t frame[LAG_SLOW_FRAME])
{
    uint8_t pdu[LACP_PDU];

    thread_must_be(ROLE_CONTROL);
    memcpy(pdu, frame + 14, sizeof pdu);
    for_each_lag (l)
        for_each_member (l, p) {
            if (p->device.id != port || !p->started)
                continue;
            if (pdu[0] == 1) {
                lag_receive_lacpdu(l, p, pdu);
            } else if (lacp_marker_reply(pdu)) {
                lag_send_slow(l, p, pdu);
            }
            return;
        }
}

// --- LAGs ---

static void update_timer(void)
{
    const struct timeval every = {.tv_usec = LAG_TICK_MS * 1000};
    bool any = false;

    for_each_lag (l)
        any = true;
    if (!timer)
        return;
    if (any)
        event_add(timer, &every);
    else
        event_del(timer);
}

// The configured MAC, else that of a member, else a random one until there is a member.
static void choose_lag_mac(struct lag_port *l)
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
    set_lag_mac(l, mac);
}

static void lag_table_add(const struct lag_port *l)
{
    struct port *t = port_get(lag_port_id(l));
    struct lag *g = lag_get(lag_port_id(l));

    memset(t, 0, sizeof *t);
    t->mtu = l->wish.mtu;
    snprintf(t->name, sizeof t->name, "%s", l->wish.name);
    t->used = t->started = true;
    memset(g->bucket, LAG_NO_MEMBER, sizeof g->bucket);
    g->lacp = l->wish.lag.mode == LAG_MODE_LACP;
}

static void lag_table_remove(struct lag_port *l)
{
    port_get(lag_port_id(l))->used = port_get(lag_port_id(l))->started = false;
    l->used = false;
}

static int lag_attach(const struct port_config *cfg, char *err, size_t err_size)
{
    struct lag_port *l = lag_ports;

    thread_must_be(ROLE_CONTROL);
    iface_manager_claim(cfg->name);
    if (iface_find_name(cfg->name)) {
        snprintf(err, err_size, "port %s: an interface already has this name", cfg->name);
        return -EEXIST;
    }
    while (l < lag_ports + LAG_MAX && l->used)
        l++;
    if (l == lag_ports + LAG_MAX) {
        snprintf(err, err_size, "port %s: too many LAGs (at most %d)", cfg->name, LAG_MAX);
        return -ENOSPC;
    }
    *l = (struct lag_port){.wish = *cfg, .used = true};
    lag_table_add(l);
    choose_lag_mac(l);
    int r = iface_manager_add_port(cfg->name, lag_port_id(l), l->mac, cfg->mtu, cfg->vr, err,
                                   err_size);
    if (r) {
        lag_table_remove(l);
        return r;
    }
    watch_manager_port_changed();
    thread_manager_update();
    for_each_member (l, p) {
        lag_member_opened(p); // packets counted earlier do not count for the LAG
        if (p->started)
            member_enter(p);
    }
    log_info("lag_manager: attached: lag=%s id=%u mode=%s min-links=%u", cfg->name, lag_port_id(l),
             lag_mode_name(cfg->lag.mode), cfg->lag.min_links);
    update_timer();
    lag_update(l);
    return 0;
}

static int lag_detach(struct lag_port *l, char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    int r = iface_manager_del(l->wish.name, err, err_size); // refuses while sub-interfaces exist
    if (r)
        return r;
    l->wish.enabled = false;
    lag_update(l);
    for_each_member (l, p)
        if (p->started)
            member_leave(p);
    lag_table_remove(l);
    thread_manager_release_port(lag_port_id(l));
    watch_manager_port_changed();
    update_timer();
    log_info("lag_manager: detached: lag=%s", l->wish.name);
    return 0;
}

static void lag_set_mac(struct lag_port *l, const uint8_t mac[6])
{
    l->has_mac = true;
    if (!memcmp(l->mac, mac, sizeof l->mac))
        return;
    set_lag_mac(l, mac);
    iface_manager_port_mac(lag_port_id(l), mac);
    lag_update(l);
}

static int change_lag_mtu(struct lag_port *l, uint16_t mtu, char *err, size_t err_size)
{
    if (mtu == l->wish.mtu)
        return 0;
    port_get(lag_port_id(l))->mtu = mtu;
    l->wish.mtu = mtu;
    return iface_manager_set_mtu(l->wish.name, mtu, err, err_size);
}

static int lag_change(struct lag_port *l, const struct port_config *cfg, char *err, size_t err_size)
{
    bool other_mode = l->wish.lag.mode != cfg->lag.mode, mac = cfg->has_mac;

    thread_must_be(ROLE_CONTROL);
    int r = change_lag_mtu(l, cfg->mtu, err, err_size);
    if (r)
        return r;
    l->wish = *cfg;
    if (mac)
        lag_set_mac(l, cfg->mac);
    __atomic_store_n(&lag_get(lag_port_id(l))->lacp, cfg->lag.mode == LAG_MODE_LACP,
                     __ATOMIC_RELAXED);
    for_each_member (l, p) {
        struct lacp_side actor = lag_actor(l, p);
        if (other_mode)
            lacp_init(&p->lag->lacp, &actor);
        else
            lacp_set_actor(&p->lag->lacp, &actor);
    }
    lag_update(l);
    return 0;
}

// --- start and end ---

static struct lag_member *new_member(void)
{
    return calloc(1, sizeof(struct lag_member));
}

static const struct port_lags lags = {
    .new_member = new_member,
    .find = lag_port_find,
    .attach = lag_attach,
    .detach = lag_detach,
    .change = lag_change,
    .set_mac = lag_set_mac,
    .state = lag_port_state,
    .list = lag_list,
};

int lag_init(struct event_base *loop)
{
    static const enum control_event_kind kinds[] = {EVENT_PORT_OPENED, EVENT_PORT_CLOSES,
                                                    EVENT_PORT_STARTS, EVENT_PORT_STOPS,
                                                    EVENT_PORT_LINK};

    port_lags = &lags;
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        control_event_listen(kinds[k], on_port_event);
    tap_manager_on_slow_frame(receive_slow_frame);
    timer = loop ? event_new(loop, -1, EV_PERSIST, lag_tick, NULL) : NULL;
    return loop && !timer ? -ENOMEM : 0;
}

void lag_fini(void)
{
    drop_event(&timer);
    for_each_lag (l)
        lag_table_remove(l);
}
