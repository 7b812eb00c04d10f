// SPDX-License-Identifier: BSD-3-Clause
// port_manager.c - attaching, configuring, starting and stopping DPDK ports
//
// A port goes through: device opened (port_device.c) -> interface and TAP ->
// started -> in the forwarders' plans, and back in the opposite order. Before a
// device is stopped, thread_manager takes it out of all plans and a grace period
// passes, so no forwarder is inside its driver.
//
// The link is looked at twice a second, 40 times where a kernel interface
// is behind the port (its carrier is one ioctl), at once when the driver has a
// link interrupt, and at once when the kernel announces a change (carrier.h). The first two and the
// interrupt come from DPDK's interrupt thread as a call in control's mailbox.
#include "port/port_manager.h"

#include <errno.h>
#include <rte_alarm.h>
#include <rte_ethdev.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/mailbox.h"
#include "netlink/carrier.h"
#include "netlink/netns.h"
#include "port/iface_manager.h"
#include "port/port_device.h"
#include "port/port_pool.h"
#include "port/port_sensor.h"
#include "port/port_wait.h"
#include "port/thread_manager.h"
#include "port/watch_manager.h"
#include "table/iface.h"
#include "table/port.h"

#define LINK_POLL_US 25000
#define LINK_POLL_SLOW 20 // ports without kernel interface: every twentieth time

struct managed_port {
    struct port_config wish; // as asked for, zeroes and all
    struct port_device device;
    bool open; // false only when a change failed and the device did not even come back as it was
    bool started, link_up;
    uint64_t link_changes; // while started
    uint64_t cleared_wall_ns;       // of the statistics
    struct port_statistics cleared; // what they were then
    struct carrier *carrier; // of its kernel interface, if any
};

static VEC(struct managed_port *) ports; // in order of attachment
static _Atomic bool poll_posted, poll_running, poll_fast; // fast: some port has a kernel interface
static unsigned n_polls;
static struct event_base *loop; // control's

static struct managed_port *find(const char *name)
{
    vec_foreach(&ports, p)
        if (!strcmp((*p)->wish.name, name))
            return *p;
    return NULL;
}

static struct managed_port *find_or_say(const char *name, char *err, size_t err_size)
{
    struct managed_port *p = find(name);

    thread_must_be(ROLE_CONTROL);
    if (!p)
        snprintf(err, err_size, "there is no port %s", name);
    return p;
}

// --- link ---

static int reopen(struct managed_port *p, const struct port_config *cfg, char *err, size_t err_size);

// A kernel interface that was deleted and made again has a new identity: the port is opened again for it.
static void follow_netdev(struct managed_port *p)
{
    struct port_config cfg = p->wish;
    char err[480];

    if (!p->open || !p->device.netdev.name[0] || !netdev_was_replaced(&p->device.netdev))
        return;
    log_notice("port_manager: its kernel interface was made again: port=%s", p->wish.name);
    if (reopen(p, &cfg, err, sizeof err))
        log_error("port_manager: %s", err);
}

static void (*link_listener)(const char *port, bool up);

void port_manager_on_link(void (*fn)(const char *port, bool up))
{
    thread_must_be(ROLE_CONTROL);
    link_listener = fn;
}

static void link_look(struct managed_port *p)
{
    struct rte_eth_link link;
    bool up = p->started && port_device_link(&p->device, &link);

    if (up == p->link_up)
        return;
    p->link_up = up;
    p->link_changes += p->started;
    log_notice("port_manager: link: port=%s state=%s", p->wish.name, up ? "up" : "down");
    iface_manager_port_link(p->device.id, up);
    if (link_listener)
        link_listener(p->wish.name, up);
}

static void on_announcement(void *port)
{
    link_look(port);
}

static struct carrier *carrier_open(struct managed_port *p)
{
    int back = netns_enter(p->device.netns);
    struct carrier *c = back < 0 ? NULL : carrier_listen(loop, p->device.netdev.ifindex, on_announcement, p);

    if (!c)
        log_warning("port_manager: link changes are found by polling only: port=%s error=\"%m\"", p->wish.name);
    netns_leave(back);
    return c;
}

static void links_look(void *all)
{
    bool fast = false;

    atomic_store(&poll_posted, false);
    bool slow = all || n_polls++ % LINK_POLL_SLOW == 0;
    vec_foreach(&ports, p)
        if (slow || (*p)->device.netdev.name[0]) {
            follow_netdev(*p);
            link_look(*p);
        }
    vec_foreach(&ports, p)
        fast |= (*p)->device.netdev.name[0] != 0;
    atomic_store(&poll_fast, fast);
}

// DPDK's interrupt thread
static void link_alarm(void *arg)
{
    if (!atomic_load(&poll_running))
        return;
    bool fast = atomic_load(&poll_fast);
    if (!atomic_exchange(&poll_posted, true) && mailbox_post(ROLE_CONTROL, links_look, fast ? NULL : "all"))
        atomic_store(&poll_posted, false);
    rte_eal_alarm_set(fast ? LINK_POLL_US : LINK_POLL_US * LINK_POLL_SLOW, link_alarm, NULL);
}

// DPDK's interrupt thread
static int link_interrupt(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
    if (mailbox_post(ROLE_CONTROL, links_look, "all"))
        return 0; // the next alarm sees it
    return 0;
}

static void device_removed(void *arg)
{
    uint16_t id = (uint16_t)(uintptr_t)arg;
    char err[200];

    vec_foreach(&ports, p)
        if ((*p)->device.id == id) {
            log_error("port_manager: the device was removed from the machine: port=%s", (*p)->wish.name);
            port_manager_stop((*p)->wish.name, err, sizeof err);
            return;
        }
}

// DPDK's interrupt thread
static int removal_interrupt(uint16_t id, enum rte_eth_event_type type, void *arg, void *ret)
{
    return mailbox_post(ROLE_CONTROL, device_removed, (void *)(uintptr_t)id) ? -1 : 0;
}

// --- starting and stopping ---

static int start_device(struct managed_port *p, char *err, size_t err_size)
{
    if (!p->open) {
        snprintf(err, err_size, "port %s has lost its device: configure it again", p->wish.name);
        return -ENODEV;
    }
    int r = port_device_start(&p->device, err, err_size);
    if (r)
        return r;
    p->started = true;
    port_get(p->device.id)->started = true;
    thread_manager_update();
    link_look(p);
    log_info("port_manager: started: port=%s rx-queues=%u tx-queues=%u", p->wish.name, p->device.config.rx_queues,
             p->device.config.tx_queues);
    return 0;
}

static void stop(struct managed_port *p)
{
    if (!p->started)
        return;
    p->started = false;
    thread_manager_release_port(p->device.id);
    link_look(p); // down
    port_device_stop(&p->device);
    log_info("port_manager: stopped: port=%s", p->wish.name);
}

int port_manager_start(const char *name, char *err, size_t err_size)
{
    struct managed_port *p = find_or_say(name, err, err_size);

    if (!p)
        return -ENOENT;
    int r = p->started ? 0 : start_device(p, err, err_size);
    if (!r)
        p->wish.enabled = p->device.config.enabled = true;
    return r;
}

int port_manager_stop(const char *name, char *err, size_t err_size)
{
    struct managed_port *p = find_or_say(name, err, err_size);

    if (!p)
        return -ENOENT;
    stop(p);
    p->wish.enabled = p->device.config.enabled = false;
    return 0;
}

// --- attaching and detaching ---

static void table_enter(const struct managed_port *p)
{
    struct port *t = port_get(p->device.id);

    memset(t, 0, sizeof *t);
    t->used = true;
    t->fast_free = p->device.fast_free;
    t->mtu = p->device.config.mtu;
    snprintf(t->name, sizeof t->name, "%s", p->wish.name);
}

static int open_device(struct managed_port *p, char *err, size_t err_size)
{
    int r = port_device_open(&p->device, &p->wish, thread_manager_workers(p->wish.name), err, err_size);

    if (r)
        return r;
    rte_eth_dev_callback_register(p->device.id, RTE_ETH_EVENT_INTR_LSC, link_interrupt, NULL);
    rte_eth_dev_callback_register(p->device.id, RTE_ETH_EVENT_INTR_RMV, removal_interrupt, NULL);
    table_enter(p);
    p->cleared_wall_ns = 0; // a device counts from 0
    p->carrier = p->device.netdev.name[0] ? carrier_open(p) : NULL;
    watch_manager_port_changed();
    p->open = true;
    return 0;
}

static void close_device(struct managed_port *p)
{
    if (!p->open)
        return;
    p->open = false;
    carrier_end(p->carrier);
    p->carrier = NULL;
    rte_eth_dev_callback_unregister(p->device.id, RTE_ETH_EVENT_INTR_LSC, link_interrupt, NULL);
    rte_eth_dev_callback_unregister(p->device.id, RTE_ETH_EVENT_INTR_RMV, removal_interrupt, NULL);
    port_device_close(&p->device);
    port_get(p->device.id)->used = false;
    watch_manager_port_changed();
}

static int check_new(const struct port_config *cfg, char *err, size_t err_size)
{
    thread_must_be(ROLE_CONTROL);
    if (find(cfg->name) || iface_find_name(cfg->name)) {
        snprintf(err, err_size, "port %s: there is %s of this name already", cfg->name,
                 find(cfg->name) ? "a port" : "an interface");
        return -EEXIST;
    }
    if (!cfg->mtu || !cfg->devargs[0]) {
        snprintf(err, err_size, "port %s needs %s", cfg->name, cfg->mtu ? "devargs" : "an MTU");
        return -EINVAL;
    }
    return 0;
}

int port_manager_attach(const struct port_config *cfg, char *err, size_t err_size)
{
    int r = check_new(cfg, err, err_size);

    if (r)
        return r;
    struct managed_port *p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->wish = *cfg;
    r = open_device(p, err, err_size);
    if (r)
        goto fail_open;
    r = iface_manager_add_port(cfg->name, p->device.id, p->device.config.mac, p->device.config.mtu, "default", err,
                               err_size);
    if (r)
        goto fail_iface;
    *vec_push(&ports) = p;
    log_info("port_manager: attached: port=%s id=%u driver=%s mtu=%u rss=%#lx rx-offloads=%#lx tx-offloads=%#lx",
             cfg->name, p->device.id, p->device.driver, p->device.config.mtu, p->device.rss_hf,
             p->device.rx_offloads, p->device.tx_offloads);
    if (cfg->enabled)
        r = start_device(p, err, err_size);
    if (!r)
        return 0;
    ports.n--;
    iface_manager_del(cfg->name, (char[200]){0}, 200);
fail_iface:
    close_device(p);
fail_open:
    free(p);
    return r;
}

int port_manager_detach(const char *name, char *err, size_t err_size)
{
    struct managed_port *p = find_or_say(name, err, err_size);

    if (!p)
        return -ENOENT;
    int r = iface_manager_del(name, err, err_size); // refuses while sub-interfaces exist
    if (r)
        return r;
    stop(p);
    close_device(p);
    for (size_t i = 0; i < ports.n; i++)
        if (ports.item[i] == p) {
            memmove(&ports.item[i], &ports.item[i + 1], (ports.n - i - 1) * sizeof *ports.item);
            ports.n--;
            break;
        }
    log_info("port_manager: detached: port=%s", name);
    free(p);
    return 0;
}

// --- changing ---

// Opens the device again with another configuration; interface, TAP and sub-interfaces stay.
static int reopen(struct managed_port *p, const struct port_config *cfg, char *err, size_t err_size)
{
    struct port_config before = p->wish;
    bool was_started = p->started || !p->open;
    uint16_t id = p->device.id;
    uint8_t mac[6];
    char again[200];

    stop(p);
    memcpy(mac, p->device.config.mac, sizeof mac);
    struct port *saved = malloc(sizeof *saved); // which interfaces its frames lead to
    if (!saved)
        return -ENOMEM;
    *saved = *port_get(id);
    close_device(p);
    p->wish = *cfg;
    int r = open_device(p, err, err_size);
    if (r) {
        p->wish = before;
        if (open_device(p, again, sizeof again)) {
            log_error("port_manager: the old configuration does not work any more either: %s", again);
            p->device.id = id; // where its interfaces still point
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
    if (was_started) {
        int s = start_device(p, again, sizeof again);
        if (s && !r)
            snprintf(err, err_size, "%s", again);
        r = r ? r : s;
    }
    return r;
}

static bool needs_reopen(const struct port_config *a, const struct port_config *b)
{
    return strcmp(a->devargs, b->devargs) || strcmp(a->netns, b->netns) || a->rx_queues != b->rx_queues ||
           a->tx_queues != b->tx_queues || a->rx_descriptors != b->rx_descriptors ||
           a->tx_descriptors != b->tx_descriptors || a->rx_mode != b->rx_mode;
}

static int change_mtu(struct managed_port *p, uint16_t mtu, char *err, size_t err_size)
{
    if (!p->open) {
        snprintf(err, err_size, "port %s has lost its device: configure it again", p->wish.name);
        return -ENODEV;
    }
    if (mtu == p->device.config.mtu) {
        p->wish.mtu = mtu;
        return 0;
    }
    int r = port_device_set_mtu(&p->device, mtu);
    if (r == -EBUSY || r == -ENOTSUP) {
        struct port_config cfg = p->wish;
        cfg.mtu = mtu;
        r = reopen(p, &cfg, err, err_size);
    } else if (r) {
        snprintf(err, err_size, "port %s: MTU %u: %s (the device allows up to %u)", p->wish.name, mtu, strerror(-r),
                 p->device.mtu_max);
    }
    if (r)
        return r;
    p->wish.mtu = mtu;
    port_get(p->device.id)->mtu = mtu;
    return iface_manager_set_mtu(p->wish.name, mtu, err, err_size);
}

static int change_mac(struct managed_port *p, const struct port_config *cfg, char *err, size_t err_size)
{
    const uint8_t *mac = cfg->has_mac ? cfg->mac : p->device.mac_own;

    if (memcmp(mac, p->device.config.mac, 6)) {
        int r = port_device_set_mac(&p->device, mac);
        if (r) {
            snprintf(err, err_size, "port %s: its MAC address cannot be set: %s", p->wish.name, strerror(-r));
            return r;
        }
        iface_manager_port_mac(p->device.id, mac);
    }
    p->wish.has_mac = p->device.config.has_mac = cfg->has_mac;
    memcpy(p->wish.mac, cfg->mac, sizeof p->wish.mac);
    return 0;
}

int port_manager_set_mtu(const char *name, uint16_t mtu, char *err, size_t err_size)
{
    struct managed_port *p = find_or_say(name, err, err_size);

    return p ? change_mtu(p, mtu, err, err_size) : -ENOENT;
}

int port_manager_change(const struct port_config *cfg, char *err, size_t err_size)
{
    struct managed_port *p = find_or_say(cfg->name, err, err_size);
    int r = 0;

    if (!p)
        return -ENOENT;
    struct port_config before = p->wish;
    if (!p->open || needs_reopen(&before, cfg)) {
        struct port_config next = *cfg;
        next.mtu = before.mtu; // follows below, with the interfaces
        r = reopen(p, &next, err, err_size);
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
        r = cfg->enabled ? port_manager_start(cfg->name, err, err_size) : port_manager_stop(cfg->name, err, err_size);
    return r;
}

// --- looking ---

static struct port_statistics statistics(struct managed_port *p)
{
    struct rte_eth_stats st;

    if (rte_eth_stats_get(p->device.id, &st))
        return (struct port_statistics){0};
    return (struct port_statistics){
        .rx_packets = st.ipackets,
        .rx_bytes = st.ibytes,
        .tx_packets = st.opackets,
        .tx_bytes = st.obytes,
        .rx_missed = st.imissed + netdev_missed(&p->device.netdev),
        .rx_errors = st.ierrors,
        .rx_no_buffer = st.rx_nombuf,
        .tx_errors = st.oerrors,
    };
}

int port_manager_clear(const char *name)
{
    struct managed_port *p = find(name);

    thread_must_be(ROLE_CONTROL);
    if (!p)
        return -ENOENT;
    if (p->open) {
        p->cleared_wall_ns = clock_wall_ns();
        p->cleared = statistics(p);
    }
    return 0;
}

int port_manager_state(const char *name, struct port_state *s)
{
    struct managed_port *p = find(name);
    struct rte_eth_link link = {0};

    thread_must_be(ROLE_CONTROL);
    if (!p)
        return -ENOENT;
    const struct port_device *d = &p->device;
    *s = (struct port_state){
        .config = d->config,
        .id = d->id,
        .started = p->started,
        .link_up = p->link_up,
        .rx_mode = p->started ? port_wait_mode(d) : d->config.rx_mode,
        .max_rx_queues = d->max_rx_queues,
        .max_tx_queues = d->max_tx_queues,
        .mtu_max = d->mtu_max,
        .rss_hf = d->rss_hf,
        .rx_offloads = d->rx_offloads,
        .tx_offloads = d->tx_offloads,
        .socket = p->open ? rte_eth_dev_socket_id(d->id) : -1,
        .cleared_wall_ns = p->cleared_wall_ns,
        .cleared = p->cleared,
    };
    snprintf(s->driver, sizeof s->driver, "%s", d->driver);
    memcpy(s->mac, d->config.mac, sizeof s->mac);
    if (!p->open)
        return 0;
    if (p->started && port_device_link(&p->device, &link)) {
        s->full_duplex = link.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
        s->speed_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
    }
    s->statistics = statistics(p);
    return 0;
}

uint64_t port_manager_link_changes(const char *name)
{
    const struct managed_port *p = find(name);

    return p ? p->link_changes : 0;
}

int port_manager_temperature(const char *name, int *celsius)
{
    const struct managed_port *p = find(name);

    thread_must_be(ROLE_CONTROL);
    return p && p->open ? port_sensor_read(p->device.id, p->device.config.devargs, p->device.netdev.name, celsius) : -ENODATA;
}

unsigned port_manager_list(char (*name)[16], unsigned max)
{
    unsigned n = 0;

    vec_foreach(&ports, p)
        if (n < max)
            memcpy(name[n++], (*p)->wish.name, sizeof *name);
    return n;
}

int port_manager_xstats(const char *name, void (*fn)(void *ctx, const char *stat, uint64_t value), void *ctx)
{
    struct managed_port *p = find(name);

    if (!p || !p->open)
        return -ENOENT;
    int n = rte_eth_xstats_get(p->device.id, NULL, 0);
    if (n <= 0)
        return n;
    struct rte_eth_xstat *value = calloc((size_t)n, sizeof *value);
    struct rte_eth_xstat_name *text = calloc((size_t)n, sizeof *text);
    if (value && text && rte_eth_xstats_get(p->device.id, value, (unsigned)n) == n &&
        rte_eth_xstats_get_names(p->device.id, text, (unsigned)n) == n)
        for (int i = 0; i < n; i++)
            fn(ctx, text[value[i].id].name, value[i].value);
    free(value);
    free(text);
    return 0;
}

// --- life ---

static struct plan_wait rx_wait(uint16_t id, uint16_t queue)
{
    vec_foreach(&ports, p)
        if ((*p)->open && (*p)->device.id == id)
            return (*p)->device.wait[queue];
    return (struct plan_wait){.port = id, .queue = queue, .fd = -1};
}

int port_manager_init(struct event_base *base)
{
    thread_must_be(ROLE_CONTROL);
    loop = base;
    thread_manager_set_rx_wait(rx_wait);
    atomic_store(&poll_running, true);
    return rte_eal_alarm_set(LINK_POLL_US, link_alarm, NULL);
}

// The process ends: ports are closed, but interfaces and TAPs are iface_manager's to leave.
void port_manager_fini(void)
{
    atomic_store(&poll_running, false);
    rte_eal_alarm_cancel(link_alarm, NULL);
    vec_foreach(&ports, p)
        port_get((*p)->device.id)->started = false;
    thread_manager_update(); // all at once: no port in any plan
    rcu_synchronize();
    vec_foreach(&ports, p) { // without telling the interfaces: routes need not move any more
        if ((*p)->started)
            port_device_stop(&(*p)->device);
        close_device(*p);
        free(*p);
    }
    vec_free(&ports);
    port_pool_fini();
}
