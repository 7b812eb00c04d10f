// SPDX-License-Identifier: BSD-3-Clause
// port_manager.c - attaching, configuring, starting and stopping DPDK ports
// A port goes through: device opened (port_device.c) -> interface and TAP -> started -> in the
// forwarders' plans, and back in the opposite order. Before a device stops, thread_manager takes it
// out of all plans and a grace period passes, so no forwarder is inside its driver.
//
// port_link.c follows the link, port_stats.c reads state and statistics, lag_manager.c handles
// ports that are LAGs (port_lags). A member of a LAG has no interface.
#include "port/port_manager.h"

#include <errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "device/devargs.h"
#include "device/port_device.h"
#include "interface/control_event.h"
#include "interface/iface_manager.h"
#include "netlink/netns.h"
#include "port/managed_port.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/watch.h"
#include "thread/thread_manager.h"
#include "thread/watch_manager.h"

// --- the list of ports with a device, and the link of each ---
// A change of a link goes first to the port's LAG, whose flows wait for another member, then to the
// interfaces, where rib_manager hears of it before the TAPs do, and last to management.

struct managed managed;
const struct port_lags *port_lags;

struct managed_port *managed_port_find(const char *name)
{
    vec_foreach (&managed.port, p)
        if (!strcmp((*p)->wish.name, name))
            return *p;
    return NULL;
}

static void (*link_listener)(const char *port, bool up);

void port_manager_on_link(void (*fn)(const char *port, bool up))
{
    thread_must_be(ROLE_CONTROL);
    link_listener = fn;
}

void managed_port_announce(const char *port, bool up)
{
    if (link_listener)
        link_listener(port, up);
}

void managed_port_update_link(struct managed_port *p)
{
    struct rte_eth_link link;
    bool up = p->started && port_device_link(&p->device, &link);

    if (up == p->link_up)
        return;
    p->link_up = up;
    __atomic_store_n(&port_get(p->device.id)->super, p->device.sends_supers, __ATOMIC_RELAXED);
    control_event_tell(EVENT_PORT_LINK, .port = p);
    p->link_changes += p->started;
    log_notice("port_manager: link: port=%s state=%s", p->wish.name, up ? "up" : "down");
    iface_manager_port_link(p->device.id, up);
    managed_port_announce(p->wish.name, up);
}

static struct managed_port *find_port_or_error(const char *name, char *err, size_t err_size)
{
    struct managed_port *p = managed_port_find(name);

    thread_must_be(ROLE_CONTROL);
    if (!p)
        snprintf(err, err_size, "there is no port %s", name);
    return p;
}

// --- starting and stopping ---

static int explain_lost_device(const struct managed_port *p, char *err, size_t err_size)
{
    if (p->gone)
        snprintf(err, err_size,
                 "port %s: its card was pulled out: plug it in and bind it again (dpdk-devbind.py "
                 "-b vfio-pci %s)",
                 p->wish.name, p->wish.devargs);
    else
        snprintf(err, err_size, "port %s has lost its device: delete it and configure it again",
                 p->wish.name);
    return -ENODEV;
}

int managed_port_start(struct managed_port *p, char *err, size_t err_size)
{
    if (!p->open)
        return explain_lost_device(p, err, err_size);
    int r = port_device_start(&p->device, err, err_size);
    if (r == -ENOTCONN) {
        if (!p->waiting)
            log_notice("port_manager: waiting for the other end: port=%s devargs=%s", p->wish.name,
                       p->device.config.devargs);
        p->waiting = true;
        return 0;
    }
    if (r)
        return r;
    p->waiting = false;
    p->started = true;
    port_get(p->device.id)->started = true;
    control_event_tell(EVENT_PORT_STARTS, .port = p);
    thread_manager_update();
    managed_port_update_link(p);
    log_info("port_manager: started: port=%s rx-queues=%u tx-queues=%u", p->wish.name,
             p->device.config.rx_queues, p->device.config.tx_queues);
    return 0;
}

void managed_port_stop(struct managed_port *p)
{
    p->waiting = false;
    if (!p->started)
        return;
    p->started = false;
    control_event_tell(EVENT_PORT_STOPS, .port = p);
    thread_manager_release_port(p->device.id);
    control_event_tell(EVENT_PORT_STOPPED, .port = p);
    managed_port_update_link(p); // down
    port_device_stop(&p->device);
    log_info("port_manager: stopped: port=%s", p->wish.name);
}

static int set_enabled(struct managed_port *p, bool on, char *err, size_t err_size)
{
    int r = 0;

    if (!on)
        managed_port_stop(p);
    else if (!p->started)
        r = managed_port_start(p, err, err_size);
    if (!r)
        p->wish.enabled = p->device.config.enabled = on;
    return r;
}

// --- attaching and detaching ---

static void port_table_add(const struct managed_port *p)
{
    struct port *t = port_get(p->device.id);

    memset(t, 0, sizeof *t);
    t->used = true;
    t->fast_free = p->device.fast_free;
    t->offload = p->device.leaves_offloads;
    t->super = p->device.sends_supers;
    t->watch_rx = p->device.receives_supers ? PORT_SUPERS : 0;
    t->mtu = p->device.config.mtu;
    snprintf(t->name, sizeof t->name, "%s", p->wish.name);
}

// A device that cannot change its MAC is made promiscuous instead (port_manager_update_filter).
static int set_or_emulate_mac(struct managed_port *p, const uint8_t mac[6])
{
    int r = port_device_set_mac(&p->device, mac);

    p->device.other_mac = r == -ENOTSUP || r == -ENOSYS;
    if (!p->device.other_mac)
        return r;
    memcpy(p->device.config.mac, mac, sizeof p->device.config.mac);
    return 0;
}

static int open_device(struct managed_port *p, char *err, size_t err_size)
{
    int r =
        port_device_open(&p->device, &p->wish, thread_manager_workers(p->wish.name), err, err_size);

    if (r)
        return r;
    if (p->has_kernel_mac && !p->wish.has_mac && set_or_emulate_mac(p, p->kernel_mac))
        p->has_kernel_mac = false;
    port_table_add(p);
    p->cleared_wall_ns = 0; // the device counts from 0
    p->before = (struct port_statistics){0};
    p->offload_before = counter_sum_offload(p->device.id);
    watch_manager_port_changed();
    p->open = true;
    p->gone = false;
    control_event_tell(EVENT_PORT_OPENED, .port = p);
    return 0;
}

static void close_device(struct managed_port *p)
{
    if (!p->open)
        return;
    control_event_tell(EVENT_PORT_CLOSES, .port = p);
    p->open = false;
    port_device_close(&p->device);
    port_get(p->device.id)->used = false;
    watch_manager_port_changed();
}

static int check_new_port(const struct port_config *cfg, char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    iface_manager_claim(cfg->name);
    bool port = managed_port_find(cfg->name) || port_lags->find(cfg->name);
    if (port || iface_find_name(cfg->name)) {
        snprintf(err, err_size, "port %s: %s already has this name", cfg->name,
                 port ? "a port" : "an interface");
        return -EEXIST;
    }
    if (!cfg->mtu || (!cfg->lag.mode && !cfg->devargs[0])) {
        snprintf(err, err_size, "port %s needs %s", cfg->name, cfg->mtu ? "devargs" : "an MTU");
        return -EINVAL;
    }
    return 0;
}

static void free_port(struct managed_port *p)
{
    free(p->lag);
    free(p);
}

static bool id_is_taken(const struct managed_port *but, uint16_t id)
{
    vec_foreach (&managed.port, other)
        if (*other != but && (*other)->device.id == id)
            return true;
    return false;
}

static const uint8_t *(*deferred_mac)(const char *port);

void port_manager_defer(const uint8_t *(*fn)(const char *port))
{
    thread_must_be(ROLE_CONTROL);
    deferred_mac = fn;
}

// In an upgrade, a placeholder id stands for the device until the other kamueed closes it.
static int defer_device(struct managed_port *p, const uint8_t mac[6], char *err, size_t err_size)
{
    uint16_t id = PORT_DEVICE_MAX;

    while (id-- && (id_is_taken(p, id) ||
                    (id < RTE_MAX_ETHPORTS && rte_eth_dev_is_valid_port(id))))
        continue;
    if (id == UINT16_MAX) {
        snprintf(err, err_size, "port %s: too many ports", p->wish.name);
        return -ENOSPC;
    }
    p->device = (struct port_device){.config = p->wish, .id = id, .netns = NETNS_OWN,
                                     .kernel_link.sock = -1};
    memcpy(p->device.config.mac, mac, sizeof p->device.config.mac);
    port_table_add(p);
    return 0;
}

int port_manager_attach(const struct port_config *cfg, char *err, size_t err_size)
{
    int r = check_new_port(cfg, err, err_size);

    if (r)
        return r;
    if (cfg->lag.mode)
        return port_lags->attach(cfg, err, err_size);
    struct managed_port *p = calloc(1, sizeof *p);
    if (!p || !(p->lag = port_lags->new_member())) {
        free(p);
        return -ENOMEM;
    }
    p->wish = *cfg;
    const uint8_t *mac =
        deferred_mac && !devargs_is_shared(cfg->devargs) ? deferred_mac(cfg->name) : NULL;
    r = mac ? defer_device(p, mac, err, err_size) : open_device(p, err, err_size);
    if (r)
        goto fail_open;
    if (!cfg->member_of[0])
        r = iface_manager_add_port(cfg->name, p->device.id, p->device.config.mac,
                                   p->device.config.mtu, cfg->vr, err, err_size);
    if (r)
        goto fail_iface;
    *vec_push(&managed.port) = p;
    log_info("port_manager: attached: port=%s id=%u driver=%s mtu=%u rss=%#lx rx-offloads=%#lx "
             "tx-offloads=%#lx",
             cfg->name, p->device.id, p->device.driver, p->device.config.mtu, p->device.rss_hf,
             p->device.rx_offloads, p->device.tx_offloads);
    if (mac)
        return 0;
    if (cfg->enabled)
        r = managed_port_start(p, err, err_size);
    // The kernel reports the link of its interfaces at once; other devices need a moment.
    if (!r && !p->link_up && (!p->started || p->device.kernel_link.name[0]) && !p->waiting)
        iface_manager_end_presumed(p->device.id);
    if (!r)
        return 0;
    managed.port.n--;
    if (!cfg->member_of[0])
        iface_manager_del(cfg->name, (char[200]){0}, 200);
fail_iface:
    close_device(p);
fail_open:
    free_port(p);
    return r;
}

int port_manager_detach(const char *name, char *err, size_t err_size)
{
    struct lag_port *l = port_lags->find(name);
    if (l)
        return port_lags->detach(l, err, err_size);
    struct managed_port *p = find_port_or_error(name, err, err_size);

    if (!p)
        return -ENOENT;
    int r = p->wish.member_of[0]
                ? 0
                : iface_manager_del(name, err, err_size); // refuses while sub-interfaces exist
    if (r)
        return r;
    managed_port_stop(p);
    close_device(p);
    for (size_t i = 0; i < managed.port.n; i++)
        if (managed.port.item[i] == p) {
            memmove(&managed.port.item[i], &managed.port.item[i + 1],
                    (managed.port.n - i - 1) * sizeof *managed.port.item);
            managed.port.n--;
            break;
        }
    log_info("port_manager: detached: port=%s", name);
    free_port(p);
    return 0;
}

// --- losing the card ---

// Until the port has a device again, its interfaces point to an id that DPDK never assigns.
static void assign_unused_port_id(struct managed_port *p)
{
    for (uint16_t id = PORT_DEVICE_MAX - 1; id >= RTE_MAX_ETHPORTS; id--) {
        if (id_is_taken(NULL, id))
            continue;
        memset(port_get(id), 0, sizeof *port_get(id));
        iface_manager_port_moved(p->device.id, id);
        p->device.id = id;
        return;
    }
    log_error("port_manager: too many ports have lost their device: port=%s", p->wish.name);
}

void managed_port_lose(struct managed_port *p)
{
    thread_must_be(ROLE_CONTROL);
    managed_port_stop(p);
    close_device(p);
    assign_unused_port_id(p);
    p->gone = true;
    p->n_returns = 0;
}

// --- changing ---

int managed_port_reopen(struct managed_port *p, const struct port_config *cfg, char *err,
                        size_t err_size)
{
    struct port_config before = p->wish;
    bool was_started = p->open ? p->started || p->waiting : p->wish.enabled;
    uint16_t id = p->device.id;
    uint8_t mac[6];
    char again[200];

    managed_port_stop(p);
    memcpy(mac, p->device.config.mac, sizeof mac);
    struct port *saved = malloc(sizeof *saved); // its table of interfaces by tag
    if (!saved)
        return -ENOMEM;
    *saved = *port_get(id);
    close_device(p);
    p->wish = *cfg;
    int r = open_device(p, err, err_size);
    if (r) {
        p->wish = before;
        if (open_device(p, again, sizeof again)) {
            log_error("port_manager: the old configuration no longer works either: %s", again);
            p->device.id = id; // where its interfaces still point
            if (id < RTE_MAX_ETHPORTS)
                assign_unused_port_id(p);
            free(saved);
            return r;
        }
    }
    if (p->device.id == id) // otherwise its interfaces move below
        port_lead_as(port_get(id), saved);
    free(saved);
    if (p->device.id != id)
        iface_manager_port_moved(id, p->device.id);
    if (memcmp(mac, p->device.config.mac, sizeof mac))
        iface_manager_port_mac(p->device.id, p->device.config.mac);
    port_manager_update_filter(p->device.id);
    if (was_started) {
        int s = managed_port_start(p, again, sizeof again);
        if (s && !r)
            snprintf(err, err_size, "%s", again);
        r = r ? r : s;
    }
    return r;
}

static bool needs_reopen(const struct port_config *a, const struct port_config *b)
{
    return strcmp(a->devargs, b->devargs) || strcmp(a->netns, b->netns) ||
           a->rx_queues != b->rx_queues || a->tx_queues != b->tx_queues ||
           a->rx_descriptors != b->rx_descriptors || a->tx_descriptors != b->tx_descriptors ||
           a->rx_mode != b->rx_mode;
}

static int change_mtu(struct managed_port *p, uint16_t mtu, char *err, size_t err_size)
{
    if (!p->open)
        return explain_lost_device(p, err, err_size);
    if (mtu == p->device.config.mtu) {
        p->wish.mtu = mtu;
        return 0;
    }
    int r = port_device_set_mtu(&p->device, mtu);
    if (r == -EBUSY || r == -ENOTSUP) {
        struct port_config cfg = p->wish;
        cfg.mtu = mtu;
        r = managed_port_reopen(p, &cfg, err, err_size);
    } else if (r) {
        snprintf(err, err_size, "port %s: MTU %u: %s (the device allows up to %u)", p->wish.name,
                 mtu, strerror(-r), p->device.mtu_max);
    }
    if (r)
        return r;
    p->wish.mtu = mtu;
    port_get(p->device.id)->mtu = mtu;
    return p->wish.member_of[0] ? 0 : iface_manager_set_mtu(p->wish.name, mtu, err, err_size);
}

static int change_mac(struct managed_port *p, const struct port_config *cfg, char *err,
                      size_t err_size)
{
    const uint8_t *mac = cfg->has_mac        ? cfg->mac
                         : p->has_kernel_mac ? p->kernel_mac
                                             : p->device.mac_own;

    p->has_kernel_mac &= !cfg->has_mac;

    if (memcmp(mac, p->device.config.mac, 6)) {
        int r = port_device_set_mac(&p->device, mac);
        if (r) {
            snprintf(err, err_size, "port %s: cannot set its MAC address: %s", p->wish.name,
                     strerror(-r));
            return r;
        }
        p->device.other_mac = false;
        iface_manager_port_mac(p->device.id, mac);
        port_manager_update_filter(p->device.id);
    }
    p->wish.has_mac = p->device.config.has_mac = cfg->has_mac;
    memcpy(p->wish.mac, cfg->mac, sizeof p->wish.mac);
    return 0;
}

int port_manager_follow_mac(const char *name, const uint8_t mac[6], char *err, size_t err_size)
{
    struct lag_port *l = port_lags->find(name);
    if (l) {
        port_lags->set_mac(l, mac);
        return 0;
    }
    struct managed_port *p = find_port_or_error(name, err, err_size);

    if (!p)
        return -ENOENT;
    if (p->wish.has_mac) {
        snprintf(err, err_size,
                 "the MAC of port %s is set by the configuration (set port %s mac M)", name, name);
        return -EPERM;
    }
    int r = p->open ? set_or_emulate_mac(p, mac) : -ENODEV;
    if (r) {
        snprintf(err, err_size, "the device of port %s does not accept another MAC: %s", name,
                 strerror(-r));
        return r;
    }
    p->has_kernel_mac = true;
    memcpy(p->kernel_mac, mac, sizeof p->kernel_mac);
    iface_manager_port_mac(p->device.id, mac);
    return 0;
}

void port_manager_update_filter(uint16_t port)
{
    thread_must_be(ROLE_CONTROL);
    vec_foreach (&managed.port, p) {
        if ((*p)->device.id != port || !(*p)->open)
            continue;
        bool all = (*p)->device.other_mac || port_get(port)->lag; // a member accepts its LAG's MACs
        for (unsigned i = 1; i < IFACE_MAX && !all; i++) {
            const struct iface *f = iface_get((uint16_t)i);
            all = f->kind != IFACE_NONE && f->port == port &&
                  (iface_macs[i][0] || memcmp(f->mac, (*p)->device.config.mac, sizeof f->mac));
        }
        port_device_force_promiscuous(&(*p)->device, all);
    }
}

int port_manager_change(const struct port_config *cfg, char *err, size_t err_size)
{
    struct lag_port *l = port_lags->find(cfg->name);
    if (l)
        return port_lags->change(l, cfg, err, err_size);
    struct managed_port *p = find_port_or_error(cfg->name, err, err_size);
    int r = 0;

    if (!p)
        return -ENOENT;
    struct port_config before = p->wish;
    if (!p->open || needs_reopen(&before, cfg)) {
        struct port_config next = *cfg;
        next.mtu = before.mtu; // changed below, with the interfaces
        r = managed_port_reopen(p, &next, err, err_size);
    }
    if (!r)
        r = change_mtu(p, cfg->mtu, err, err_size);
    if (!r)
        r = change_mac(p, cfg, err, err_size);
    if (!r && cfg->promiscuous != p->wish.promiscuous) {
        r = port_device_set_promiscuous(&p->device, cfg->promiscuous);
        p->wish.promiscuous = cfg->promiscuous;
        if (r)
            snprintf(err, err_size, "port %s: promiscuous mode: %s", cfg->name, strerror(-r));
    }
    if (!r && cfg->enabled != p->started)
        r = set_enabled(p, cfg->enabled, err, err_size);
    return r;
}

// --- start and end ---

static struct plan_wait find_rx_wait(uint16_t id, uint16_t queue)
{
    vec_foreach (&managed.port, p)
        if ((*p)->open && (*p)->device.id == id)
            return (*p)->device.wait[queue];
    return (struct plan_wait){.port = id, .queue = queue, .fd = -1};
}

int port_manager_init(void)
{
    thread_must_be(ROLE_CONTROL);
    thread_manager_set_rx_wait(find_rx_wait);
    return 0;
}

// Closes the ports; iface_manager_fini leaves the interfaces and TAPs.
void port_manager_fini(void)
{
    vec_foreach (&managed.port, p)
        port_get((*p)->device.id)->started = false;
    thread_manager_update(); // takes all ports out of the plans at once
    rcu_synchronize();
    vec_foreach (&managed.port, p) { // routes need not move any more, so no managed_port_stop
        if ((*p)->started)
            control_event_tell(EVENT_PORT_STOPPED, .port = *p);
        if ((*p)->started)
            port_device_stop(&(*p)->device);
    }
    vec_foreach (&managed.port, p) { // now no queue uses its port any more
        close_device(*p);
        free_port(*p);
    }
    vec_free(&managed.port);
    port_pool_fini();
}
