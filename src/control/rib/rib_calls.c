// SPDX-License-Identifier: BSD-3-Clause
// rib_calls.c - synchronous calls from control to rib_manager
//
// Each call runs on rib_manager's thread with a copy of its argument (core/manager.h), while
// control waits for the result.
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/manager.h"
#include "rib/journal.h"
#include "rib/neigh.h"
#include "rib/rib_manager.h"
#include "rib/rib_multicast.h"
#include "rib/vr.h"
#include "table/iface.h"

// --- virtual routers ---

struct vr_call {
    int (*fn)(struct rib_vr *v, const struct vr_call *c);
    uint16_t vr;
    bool on; // adds, else deletes
    uint8_t family, sources;
    enum fib_engine engine;
    union {
        struct multicast_static route;
        struct rib_import import;
        struct prefix counted;
    };
};

static int run_with_vr(void *arg)
{
    const struct vr_call *c = arg;
    struct rib_vr *v = rib_vr_find(c->vr);

    return v ? c->fn(v, c) : -ENOENT;
}

static int call_with_vr(const struct vr_call *c)
{
    return manager_call(ROLE_RIB_MANAGER, run_with_vr, c, sizeof *c);
}

static int call_with_name(const char *name, struct vr_call *c)
{
    const struct vr *vr = vr_find(name);

    if (!vr)
        return -ENOENT;
    c->vr = vr->id;
    return call_with_vr(c);
}

static int set_engines(struct rib_vr *v, const struct vr_call *c)
{
    enum fib_engine was = fib_engine_of(rib_fib(v, IP4));
    int err;

    for (unsigned i = 0; i < 2; i++) {
        err = rib_engine_set(v, i ? IP6 : IP4, c->engine);
        if (!err)
            continue;
        if (i && rib_engine_set(v, IP4, was))
            log_warning("rib: engines differ by family: vr=%u ipv4=%s ipv6=%s", v->id,
                        fib_engine_name(c->engine),
                        fib_engine_name(fib_engine_of(rib_fib(v, IP6))));
        return err == -ENOMEM && c->engine != FIB_POPTRIE
                   ? (int)fib_engine_mib(c->engine, i ? IP6 : IP4, v->rib[i].n_fib)
                   : err;
    }
    return 0;
}

int rib_manager_vr_engine(uint16_t vr, enum fib_engine engine)
{
    return call_with_vr(&(struct vr_call){set_engines, vr, .engine = engine});
}

static int set_sources(struct rib_vr *v, const struct vr_call *c)
{
    rib_fib_sources(v, c->family, c->sources);
    return 0;
}

int rib_manager_vr_sources(uint16_t vr, uint8_t family, uint8_t sources)
{
    return call_with_vr(
        &(struct vr_call){set_sources, vr, .family = family, .sources = sources});
}

static int change_budget(struct rib_vr *v, const struct vr_call *c)
{
    rib_budget_changed(v);
    return 0;
}

int rib_manager_vr_budget(uint16_t vr)
{
    return call_with_vr(&(struct vr_call){change_budget, .vr = vr});
}

// --- interfaces and ports ---

static int delete_iface(void *arg)
{
    rib_vr_each (v) // control may have moved it to another router already
        rib_iface_unbind(v, *(uint16_t *)arg);
    return 0;
}

int rib_manager_iface_del(uint16_t iface)
{
    return manager_call(ROLE_RIB_MANAGER, delete_iface, &iface, sizeof iface);
}

static int refresh_iface(void *arg)
{
    rib_tunnel_iface_changed(*(uint16_t *)arg);
    nexthop_refresh_iface(*(uint16_t *)arg);
    return 0;
}

int rib_manager_iface_changed(uint16_t iface)
{
    return manager_call(ROLE_RIB_MANAGER, refresh_iface, &iface, sizeof iface);
}

static int refresh_tunnels(void *arg)
{
    rib_tunnel_changed();
    return 0;
}

int rib_manager_tunnels_changed(void)
{
    return manager_call(ROLE_RIB_MANAGER, refresh_tunnels, "", 0);
}

static void rehop(const struct iface *f)
{
    struct rib_vr *v = f->kind != IFACE_NONE && f->ifindex ? rib_vr_find(f->vr) : NULL;
    struct rib_link *l = v ? rib_link_find(v, f->ifindex) : NULL;
    bool alive = l && rib_link_is_alive(l);

    if (!v)
        return;
    if (alive) // before its gateways join groups
        neigh_carrier_changed(l);
    rib_link_rehop(v, f->ifindex);
    if (l && !alive)
        neigh_carrier_changed(l);
    rib_iface_rehop_others(v, f->ifindex);
}

static int rehop_iface(void *arg)
{
    rehop(iface_get(*(uint16_t *)arg));
    return 0;
}

int rib_manager_iface_link(uint16_t iface)
{
    return manager_call(ROLE_RIB_MANAGER, rehop_iface, &iface, sizeof iface);
}

static int rehop_port(void *arg)
{
    uint16_t port = *(uint16_t *)arg;

    for (unsigned i = 1; i < iface_id_end(); i++)
        if (iface_get((uint16_t)i)->port == port)
            rehop(iface_get((uint16_t)i));
    return 0;
}

int rib_manager_port_link(uint16_t port)
{
    return manager_call(ROLE_RIB_MANAGER, rehop_port, &port, sizeof port);
}

// --- configured multicast routes and counted prefixes ---

static int change_multicast(struct rib_vr *v, const struct vr_call *c)
{
    return c->on ? rib_multicast_fix(v, &c->route) : rib_multicast_unfix(v, &c->route.key);
}

int rib_manager_multicast_set(const char *vr, const struct multicast_static *s)
{
    return call_with_name(vr, &(struct vr_call){change_multicast, .on = true, .route = *s});
}

int rib_manager_multicast_del(const char *vr, const struct multicast_key *k)
{
    return call_with_name(vr, &(struct vr_call){change_multicast, .route.key = *k});
}

static int change_import(struct rib_vr *v, const struct vr_call *c)
{
    return c->on ? rib_import_add(v, &c->import) : rib_import_del(v, &c->import);
}

int rib_manager_import(const char *vr, const struct rib_import_rule *r, bool on)
{
    const struct vr *source = vr_find(r->source);

    if (!source)
        return -ENOENT;
    struct vr_call c = {change_import, .on = on, .import = {source->id, r->ge, r->le, r->prefix}};
    return call_with_name(vr, &c);
}

static int change_counted(struct rib_vr *v, const struct vr_call *c)
{
    int err = c->on ? rib_counted_add(v, &c->counted) : rib_counted_del(v, &c->counted);

    if (!err)
        rib_evaluate_prefix(v, &c->counted);
    return err;
}

int rib_manager_counted_add(const char *vr, const struct prefix *p)
{
    return call_with_name(vr, &(struct vr_call){change_counted, .on = true, .counted = *p});
}

int rib_manager_counted_del(const char *vr, const struct prefix *p)
{
    return call_with_name(vr, &(struct vr_call){change_counted, .counted = *p});
}

// --- settings; before the thread runs they take effect when it starts, or not at all ---

static int set_receive_buffer(void *arg)
{
    rib_receive_bytes = *(size_t *)arg;
    rib_vr_each (v) {
        int err = netlink_set_receive_buffer(&v->events, rib_receive_bytes);

        if (err)
            log_warning("rib: receive buffer not set: vr=%u bytes=%zu error=%d", v->id,
                        rib_receive_bytes, err);
    }
    return 0;
}

void rib_manager_set_receive_buffer(size_t bytes)
{
    if (manager_call(ROLE_RIB_MANAGER, set_receive_buffer, &bytes, sizeof bytes) == -ENOTCONN)
        rib_receive_bytes = bytes;
}

static int set_audit_interval(void *arg)
{
    rib_audit_interval(*(uint32_t *)arg * NS_PER_SECOND);
    return 0;
}

void rib_manager_set_audit_interval(uint32_t seconds)
{
    manager_call(ROLE_RIB_MANAGER, set_audit_interval, &seconds, sizeof seconds);
}

static int resize_journal(void *arg)
{
    return journal_resize(*(uint32_t *)arg);
}

int rib_manager_set_journal(uint32_t mib)
{
    int err = manager_call(ROLE_RIB_MANAGER, resize_journal, &mib, sizeof mib);

    return err == -ENOTCONN ? 0 : err;
}
