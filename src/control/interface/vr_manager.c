// SPDX-License-Identifier: BSD-3-Clause
// vr_manager.c - see vr_manager.h
//
// Two virtual routers with the same namespace and table are refused, because events of the kernel
// could not be assigned to one of them. The namespace stays open while the virtual router exists,
// so that `ip netns del` does not destroy it.
#include "interface/vr_manager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "core/eal.h"
#include "core/thread.h"
#include "interface/control_event.h"
#include "interface/kernel_state.h"
#include "netlink/netns_use.h"
#include "netlink/netns.h"
#include "netlink/netns_own.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/vr.h"
#include "thread/watch_manager.h"

#define TABLE_MAIN 254
#define IPSEC_AT_ONCE 4

struct netns_held {
    int fd; // NETNS_OWN, or open
    dev_t device;
    ino_t inode;
};
static struct netns_held held[VR_MAX];

int vr_manager_netns(uint16_t vr)
{
    return held[vr].fd;
}

bool vr_manager_has_vrf(const char *netns, uint32_t table)
{
    char err[200];
    int fd;

    thread_must_be(ROLE_CONTROL);
    if (table == TABLE_MAIN ||
        netns_open(netns, &fd, err, sizeof err)) // no such namespace: reported elsewhere
        return true;
    bool has = netlink_has_vrf(fd, table);
    netns_close(fd);
    return has;
}

// Identifies a namespace; inode 0: unknown, so it is the same as no other.
static struct netns_held held_of(int fd)
{
    struct stat s = {0};
    int r = fd >= 0 ? fstat(fd, &s) : stat("/proc/self/ns/net", &s);

    return (struct netns_held){fd, s.st_dev, r ? 0 : s.st_ino};
}

static bool is_same(const struct netns_held *a, const struct netns_held *b)
{
    return a->inode && a->inode == b->inode && a->device == b->device;
}

// After `ip netns del`, and perhaps `ip netns add` of the same name, the operator works in another
// namespace than the virtual router.
static void check_namespace(const struct vr *v)
{
    char path[96];
    struct stat named;

    snprintf(path, sizeof path, "/run/netns/%s", v->netns);
    if (stat(path, &named) && netns_own_is_marked(v->netns) &&
        !netns_own_restore(v->netns, held[v->id].fd))
        log_notice("vr_manager: name of a network namespace was removed, restored: vr=%s netns=%s",
                   v->name, v->netns);
    bool gone = stat(path, &named), other = !gone && named.st_ino != held[v->id].inode;
    kernel_state_set(v->name, "namespace", gone || other,
                     "network namespace %s was deleted%s, but the virtual router still uses the "
                     "old one: remove its interfaces (delete interface NAME vr), delete it and "
                     "configure it again",
                     v->netns, gone ? "" : " and recreated");
}

static void check_ipsec(const struct vr *v)
{
    bool forwarded;

    netlink_has_ipsec(held[v->id].fd, &forwarded);
    kernel_state_set(v->name, "ipsec", forwarded,
                     "IPsec policies (ip xfrm policy) do not apply to forwarded packets, which "
                     "leave unencrypted: run IPsec in a network namespace behind a port, and route "
                     "to it");
}

// A few at each call, because each takes tens of microseconds.
static void check_next_ipsec(void)
{
    static uint16_t at;

    for (unsigned i = 0, n = 0; i < VR_MAX && n < IPSEC_AT_ONCE; i++, at = (at + 1) % VR_MAX)
        if (vr_get(at)->used) {
            check_ipsec(vr_get(at));
            n++;
        }
}

void vr_manager_check_namespaces(void)
{
    thread_must_be(ROLE_CONTROL);
    for (unsigned i = 0; i < VR_MAX; i++)
        if (vr_get((uint16_t)i)->used && vr_get((uint16_t)i)->netns[0])
            check_namespace(vr_get((uint16_t)i));
    check_next_ipsec();
}

static const struct vr *find_vr_with_table(int fd, uint32_t table)
{
    const struct netns_held now = held_of(fd);

    for (unsigned i = 0; i < VR_MAX; i++)
        if (vr_get((uint16_t)i)->used && vr_get((uint16_t)i)->table == table &&
            is_same(&held[i], &now))
            return vr_get((uint16_t)i);
    return NULL;
}

static int set_vr_engine(struct vr *v, enum fib_engine engine, char *err, size_t err_size)
{
    int r = rib_manager_vr_engine(v->id, engine);

    if (r > 0)
        snprintf(err, err_size,
                 "virtual router %s: FIB engine %s needs about %d MiB more DPDK memory: 'set "
                 "memory %u' and restart kamueed, "
                 "or use 'fib-engine poptrie'",
                 v->name, fib_engine_name(engine), r, eal_memory_mib() + (unsigned)r);
    else if (r == -E2BIG)
        snprintf(err, err_size,
                 "virtual router %s: too many routes for FIB engine %s: expected 'fib-engine "
                 "poptrie' or 'dir24_8'",
                 v->name, fib_engine_name(engine));
    else if (r)
        snprintf(err, err_size, "virtual router %s: FIB engine %s: %s", v->name,
                 fib_engine_name(engine), strerror(-r));
    else
        log_info("vr_manager: FIB engine: vr=%s engine=%s", v->name, fib_engine_name(engine));
    return r > 0 ? -ENOMEM : r;
}

static struct vr *find_vr_or_error(const char *name, char *err, size_t err_size)
{
    struct vr *v = vr_find(name);

    thread_must_be(ROLE_CONTROL);
    if (!v)
        snprintf(err, err_size, "there is no virtual router %s", name);
    return v;
}

int vr_manager_set_engine(const char *name, enum fib_engine engine, char *err, size_t err_size)
{
    struct vr *v = find_vr_or_error(name, err, err_size);

    if (!v)
        return -ENOENT;
    return set_vr_engine(v, engine, err, err_size);
}

int vr_manager_set_cpu_weight(const char *name, uint8_t weight, char *err, size_t err_size)
{
    struct vr *v = find_vr_or_error(name, err, err_size);

    if (!v)
        return -ENOENT;
    __atomic_store_n(&v->cpu_weight, weight, __ATOMIC_RELAXED);
    return 0;
}

int vr_manager_set_budget(const char *name, const struct vr_limits *limits, char *err,
                          size_t err_size)
{
    struct vr *v = find_vr_or_error(name, err, err_size);

    if (!v)
        return -ENOENT;
    vr_budget_set(v->id, limits);
    control_event_tell(EVENT_VR_BUDGET, .vr = v->id);
    int r = rib_manager_vr_budget(v->id);
    if (r)
        snprintf(err, err_size, "virtual router %s: budget: %s", name, strerror(-r));
    return r;
}

int vr_manager_set_flow_hash(const char *name, struct flow_hash hash, char *err, size_t err_size)
{
    struct vr *v = find_vr_or_error(name, err, err_size);

    if (!v)
        return -ENOENT;
    vr_set_flow_hash(v, hash);
    return 0;
}

int vr_manager_rename(const char *name, const char *to, const char *netns, char *err,
                      size_t err_size)
{
    struct vr *v = find_vr_or_error(name, err, err_size);
    int r = 0;

    if (!v)
        return -ENOENT;
    if (vr_find(to)) {
        snprintf(err, err_size, "virtual router %s already exists", to);
        return -EEXIST;
    }
    if (strcmp(v->netns, netns))
        r = netns_own_rename(v->netns, netns, err, err_size);
    if (r)
        return r;
    log_info("vr_manager: renamed: from=%s to=%s", name, to);
    kernel_state_forget(v->name);
    watch_manager_vr_renamed(name, to);
    snprintf(v->name, sizeof v->name, "%s", to);
    snprintf(v->netns, sizeof v->netns, "%s", netns);
    return 0;
}

int vr_manager_set_enabled(const char *name, bool enabled, char *err, size_t err_size)
{
    struct vr *v = find_vr_or_error(name, err, err_size);

    if (!v)
        return -ENOENT;
    if (v->stopped == enabled) {
        v->stopped = !enabled;
        control_event_tell(EVENT_VR_SWITCHED, .vr = v->id);
        log_info("vr_manager: %s: vr=%s", enabled ? "started" : "stopped", name);
    }
    return 0;
}

static int vr_add(const char *name, const char *netns, uint32_t table,
                  const struct vr_limits *budget, int fd, char *err, size_t err_size)
{
    const struct vr *other = find_vr_with_table(fd, table);

    if (other) {
        snprintf(err, err_size,
                 "virtual router %s already has this namespace and table: use another namespace or "
                 "table for %s",
                 other->name, name);
        return -EEXIST;
    }
    struct vr *v = vr_new(name);
    if (!v) {
        int e = errno;
        snprintf(err, err_size, "virtual router %s: %s", name,
                 e == ENOSPC ? "too many virtual routers" : strerror(e));
        return -e;
    }
    snprintf(v->netns, sizeof v->netns, "%s", netns);
    v->table = table;
    held[v->id] = held_of(fd);
    vr_budget_set(v->id, budget); // before the first routes
    int r = rib_manager_vr_add(v->id, fd, table);
    if (r) {
        snprintf(err, err_size, "virtual router %s: cannot follow its kernel tables: %s", name,
                 strerror(-r));
        held[v->id].fd = NETNS_OWN;
        vr_budget_set(v->id, &(struct vr_limits){0});
        vr_free(v);
        return r;
    }
    control_event_tell(EVENT_VR_ADDED, .vr = v->id);
    log_info("vr_manager: added: vr=%s id=%u netns=%s table=%u", name, v->id,
             netns[0] ? netns : "-", table);
    return 0;
}

static void vr_remove(struct vr *v)
{
    uint16_t id = v->id;

    kernel_state_forget(v->name);
    rib_manager_vr_del(id);
    control_event_tell(EVENT_VR_LEAVES, .vr = id); // drops its last reports
    vr_budget_set(id, &(struct vr_limits){0});
    vr_free(v);
    watch_manager_port_changed(); // before its id is reused
    netns_close(held[id].fd);
    held[id].fd = NETNS_OWN;
}

int vr_manager_add(const char *name, const char *netns, uint32_t table, enum fib_engine engine,
                   const struct vr_limits *budget, char *err, size_t err_size)
{
    int fd;

    thread_must_be(ROLE_CONTROL);
    if (vr_find(name)) {
        snprintf(err, err_size, "virtual router %s already exists", name);
        return -EEXIST;
    }
    int r = netns_open(netns, &fd, err, err_size);
    if (r)
        return r;
    r = vr_add(name, netns, table, budget, fd, err, err_size);
    if (r) {
        netns_close(fd);
        return r;
    }
    r = engine == FIB_POPTRIE ? 0 : set_vr_engine(vr_find(name), engine, err, err_size);
    if (r)
        vr_remove(vr_find(name));
    return r;
}

int vr_manager_del(const char *name, char *err, size_t err_size)
{
    struct vr *v = vr_find(name);

    thread_must_be(ROLE_CONTROL);
    if (!v || v->id == VR_DEFAULT) {
        snprintf(err, err_size,
                 v ? "virtual router %s always exists" : "there is no virtual router %s", name);
        return v ? -EINVAL : -ENOENT;
    }
    control_event_tell(EVENT_VR_LEAVES, .vr = v->id);
    for (unsigned i = 1; i < IFACE_MAX; i++)
        if (iface_get((uint16_t)i)->kind != IFACE_NONE && iface_get((uint16_t)i)->vr == v->id) {
            snprintf(err, err_size, "virtual router %s still has interface %s", name,
                     iface_get((uint16_t)i)->name);
            return -EBUSY;
        }
    vr_remove(v);
    log_info("vr_manager: deleted: vr=%s", name);
    return 0;
}

int vr_manager_init(const char *own_netns)
{
    char err[200];

    thread_must_be(ROLE_CONTROL);
    netns_own_init(own_netns);
    for (unsigned i = 0; i < VR_MAX; i++)
        held[i].fd = NETNS_OWN;
    int r = vr_add("default", "", TABLE_MAIN, &(struct vr_limits){0}, NETNS_OWN, err, sizeof err);
    if (r)
        log_error("vr_manager: %s", err);
    return r;
}

void vr_manager_fini(void)
{
    for (unsigned i = VR_MAX; i-- > 0;)
        if (vr_get((uint16_t)i)->used)
            vr_remove(vr_get((uint16_t)i));
}
