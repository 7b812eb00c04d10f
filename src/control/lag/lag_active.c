// SPDX-License-Identifier: BSD-3-Clause
// lag_active.c - which members of a LAG are in use
//
// Every event of a member ends in lag_update(), which decides for all members together and
// publishes changes to forwarders in an order that loses no frame:
//
//     becomes active   collects, then gets its share of the buckets
//     ceases to be     its buckets go to others, then it collects no more
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "interface/iface_manager.h"
#include "lag/lag_port.h"
#include "table/port.h"
#include "tap/lag_frame.h"

#define PORT_PRIORITY 32768
#define ANNOUNCEMENTS 2 // of a new active member: at once, and a second later
#define LATE_NS (2 * LAG_TICK_MS * NS_PER_MS)

static uint64_t listened_ns, ticked_ns; // see lacp.h; the last tick

static void (*member_listener)(const char *lag, const char *port, const char *status,
                               const char *reason);

void lag_on_member(void (*fn)(const char *lag, const char *port, const char *status,
                              const char *reason))
{
    member_listener = fn;
}

struct lacp_side lag_actor(const struct lag_port *l, const struct managed_port *p)
{
    struct lacp_side s = {.system_priority = l->wish.lag.system_priority,
                          .key = (uint16_t)(1 + (l - lag_ports)),
                          .port_priority = PORT_PRIORITY,
                          .port = (uint16_t)(p->device.id + 1),
                          .state = LACP_AGGREGATION};

    memcpy(s.system, l->mac, sizeof s.system);
    s.state |= (uint8_t)((l->wish.lag.slow ? 0 : LACP_TIMEOUT) |
                         (l->wish.lag.passive ? 0 : LACP_ACTIVITY));
    return s;
}

static bool is_usable(const struct lag_port *l, const struct managed_port *p)
{
    return l->wish.enabled && p->started && p->link_up;
}

// Counts LACPDUs that tap_manager repeated while control was busy.
static void add_repeated_lacpdus(struct managed_port *p)
{
    uint64_t n = lacp_repeat_sent(p->device.id);

    p->lag->lacp.tx_pdus += n;
    if (n)
        log_notice(
            "lag_manager: control was busy, and LACPDUs were repeated: port=%s lacpdus=%" PRIu64,
            p->wish.name, n);
}

// Stopped members send no LACPDUs.
static void run_lacp(struct lag_port *l)
{
    struct lacp_port *port[LAG_MEMBER_MAX];
    uint64_t now = clock_now_ns();
    uint8_t pdu[LACP_PDU];
    unsigned n = 0;

    for_each_member (l, p) {
        lacp_set_link(&p->lag->lacp, is_usable(l, p), listened_ns);
        lacp_check_timeout(&p->lag->lacp, listened_ns);
        if (n < LAG_MEMBER_MAX)
            port[n++] = &p->lag->lacp;
    }
    lacp_select(port, n);
    for_each_member (l, p) {
        add_repeated_lacpdus(p);
        if (lacp_run(&p->lag->lacp, now, pdu) && p->started)
            lag_send_lacpdu(l, p, pdu);
    }
}

// Chooses the primary if usable, else the present one if usable, else the first usable one.
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

const char *lag_reason(const struct lag_port *l, const struct managed_port *p)
{
    if (!p->started)
        return "stopped";
    if (!l->wish.enabled)
        return "the LAG is stopped";
    if (!p->link_up)
        return "link down";
    if (l->wish.lag.mode == LAG_MODE_LACP)
        return lacp_reason(&p->lag->lacp);
    return p->lag->active ? "" : "standby";
}

const char *lag_status(const struct lag_port *l, const struct managed_port *p)
{
    return p->lag->active                         ? "active"
           : !strcmp(lag_reason(l, p), "standby") ? "standby"
                                                  : "inactive";
}

// Whether a member receives for the LAG, and whether it sends.
struct member_use {
    bool collects, active;
};

static struct member_use find_member_use(const struct lag_port *l, const struct managed_port *p,
                                         const struct managed_port *active)
{
    if (!is_usable(l, p))
        return (struct member_use){false, false};
    if (l->wish.lag.mode == LAG_MODE_LACP)
        return (struct member_use){lacp_collects(&p->lag->lacp), lacp_distributes(&p->lag->lacp)};
    return (struct member_use){p == active, p == active};
}

static void assign_buckets(struct lag_port *l)
{
    uint8_t member[LAG_MEMBER_MAX];
    unsigned n = 0;

    for_each_member (l, p)
        if (p->lag->active && n < LAG_MEMBER_MAX)
            member[n++] = (uint8_t)p->device.id;
    l->n_active = n;
    lag_share(lag_get(lag_port_id(l)), member, n);
}

static void report_member(const struct lag_port *l, struct managed_port *p)
{
    p->lag->changes++;
    p->lag->changed_ns = clock_now_ns();
    log_notice("lag_manager: member: lag=%s port=%s status=%s reason=%s", l->wish.name,
               p->wish.name, lag_status(l, p), LOG_VALUE(lag_reason(l, p)));
    if (member_listener)
        member_listener(l->wish.name, p->wish.name, lag_status(l, p), lag_reason(l, p));
}

static void update_lag_link(struct lag_port *l)
{
    bool up = l->wish.enabled && l->n_active && l->n_active >= l->wish.lag.min_links;

    if (up == l->up)
        return;
    l->up = up;
    l->link_changes += l->wish.enabled;
    log_notice("lag_manager: link: lag=%s state=%s active=%u min-links=%u", l->wish.name,
               up ? "up" : "down", l->n_active, l->wish.lag.min_links);
    iface_manager_port_link(lag_port_id(l), up);
    managed_port_announce(l->wish.name, up);
}

// The LAG needs offloads (checksums, segmentation) if any member does.
static void update_lag_offload(struct lag_port *l)
{
    struct port *t = port_get(lag_port_id(l));
    bool offload = false;

    for_each_member (l, p)
        offload |= p->started && port_get(p->device.id)->offload;
    if (t->offload == offload)
        return;
    t->offload = offload;
    iface_manager_port_link(lag_port_id(l), l->up); // updates the flags of its interfaces
}

void lag_update(struct lag_port *l)
{
    struct managed_port *active = NULL;
    bool changed = false;

    if (l->wish.lag.mode == LAG_MODE_LACP)
        run_lacp(l);
    else
        active = choose_active(l);
    for_each_member (l, p) {
        if (l->wish.lag.mode != LAG_MODE_LACP || !lacp_speaks(&p->lag->lacp))
            lag_send_stop(p);
        struct member_use u = find_member_use(l, p, active);
        if (u.collects && !port_get(p->device.id)->collects)
            port_collect(port_get(p->device.id), true);
        p->lag->changed = u.active != p->lag->active;
        p->lag->active = u.active;
        changed |= p->lag->changed;
    }
    if (changed)
        assign_buckets(l);
    for_each_member (l, p)
        if (p->open && port_get(p->device.id)->collects && !find_member_use(l, p, active).collects)
            port_collect(port_get(p->device.id), false);
    update_lag_offload(l);
    update_lag_link(l);
    if (active && strcmp(l->active, active->wish.name))
        l->announcements = ANNOUNCEMENTS;
    snprintf(l->active, sizeof l->active, "%s", active ? active->wish.name : "");
    if (active && l->announcements &&
        (l->announcements == ANNOUNCEMENTS || clock_now_ns() >= l->announce_ns))
        lag_announce(l, active);
    for_each_member (l, p) {
        if (p->lag->changed)
            report_member(l, p);
        p->lag->changed = false;
    }
}

void lag_receive_lacpdu(struct lag_port *l, struct managed_port *p, const uint8_t pdu[LACP_PDU])
{
    lacp_receive(&p->lag->lacp, pdu, listened_ns);
    lag_update(l);
}

// After a late tick LACPDUs may still be unread: time during which control was busy or the process
// was stopped does not count as silence of the partner.
void lag_tick(int fd, short what, void *arg)
{
    uint64_t now = clock_now_ns(), since = now - ticked_ns;

    listened_ns += since < LATE_NS ? since : LATE_NS;
    ticked_ns = now;
    for_each_lag (l)
        lag_update(l);
}
