// SPDX-License-Identifier: BSD-3-Clause
// port_queue_manager.c - the queue managers of ports: wanted and effective settings
//
// The configuration names virtual routers and sub-interfaces; forwarders know ids. settings_build()
// converts names to ids and runs again whenever ids may have changed: at the end of each change,
// when the port starts, and once a second. Unchanged settings are not published.
//
// A port's queue exists from its first configuration to its removal. While the port is stopped the
// queue is in no plan, and its waiting packets are dropped, as packets waiting in a device are.
// port_queue_watch.c handles rates, waiting times, and devices that take less than they should.
#define ALLOW_EXPERIMENTAL_API // rte_ring_elem
#include "port_queue/port_queue_manager.h"

#include <errno.h>
#include <event2/event.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ring_elem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "core/manager.h"
#include "core/thread.h"
#include "interface/control_event.h"
#include "port/managed_port.h"
#include "port/port_state.h"
#include "port_queue/port_queue_entry.h"
#include "table/counter.h"
#include "table/exchange.h"
#include "table/iface.h"
#include "table/port.h"
#include "table/vr.h"
#include "thread/thread_manager.h"

#define FRAME_OVERHEAD 22u // Ethernet header, two tags
#define PER_MILLE_GUARANTEED 980u
#define DRAIN_TRIES 1000u // of 100 us

struct granted { // sum over the configured clients
    uint64_t bps, packets;
};

static struct granted granted_by(const struct port_queue_config *c)
{
    struct granted sum = {0};

    for (unsigned i = 0; i < c->n_clients; i++) {
        sum.bps += c->client[i].config.guarantee_bps;
        sum.packets += c->client[i].config.reserve_packets;
    }
    return sum;
}

// --- settings ------------------------------------------------------------------------------------

// If the rate is lower than configured, cuts all guarantees in proportion.
static void guarantees_fit(struct port_queue_settings *s, uint64_t sum)
{
    uint64_t most = s->rate_bps / 1000 * PER_MILLE_GUARANTEED;

    for (unsigned i = 0; sum > most && i < s->n; i++)
        s->client[i].guarantee_bps =
            (uint64_t)((unsigned __int128)s->client[i].guarantee_bps * most / sum);
}

// Fills in existing virtual routers, and former ones whose packets may still wait. One that is
// created later has the reserve of `other` if there is room.
static void others_fill(struct port_queue_entry *e, struct port_queue_settings *s)
{
    const struct port_queue_settings *old = e->queue->settings;
    uint64_t reserves = granted_by(&e->config).packets;

    for (unsigned i = 0; i < VR_MAX; i++) {
        bool used = vr_get((uint16_t)i)->used, was = old && old->client[i].limit_bytes;

        if (!used && !was)
            continue;
        s->client[i] = e->config.other;
        reserves += used ? s->client[i].reserve_packets : 0;
        if (!used || reserves > s->packets_max)
            s->client[i].reserve_packets = 0;
    }
}

static void clients_fill(struct port_queue_entry *e, struct port_queue_settings *s)
{
    const struct port_queue_config *c = &e->config;

    vec_foreach (&e->vport, v)
        v->wanted = false;
    others_fill(e, s);
    for (unsigned i = 0; i < c->n_clients; i++) {
        int id = port_queue_client_id(e, &c->client[i]);

        if (id >= 0)
            s->client[id] = c->client[i].config;
    }
    s->n = VR_MAX + (unsigned)e->vport.n;
    for (unsigned i = VR_MAX; i < s->n; i++)
        if (!e->vport.item[i - VR_MAX].wanted)
            s->client[i] = c->other; // for packets still waiting there
}

static void ifaces_fill(struct port_queue_entry *e, struct port_queue_settings *s)
{
    for (unsigned i = 0; i < e->vport.n; i++) {
        const struct iface *iface =
            e->vport.item[i].wanted ? iface_find_name(e->vport.item[i].name) : NULL;

        if (iface)
            s->client_of_iface[iface->id] = (uint16_t)(VR_MAX + i);
    }
}

static void flows_fill(struct port_queue_settings *s)
{
    for (unsigned i = 0; i < s->n; i++)
        for (unsigned k = 0; k < QUEUE_CLASSES; k++)
            if (s->client[i].class[k].discipline == QUEUE_FQ_CODEL)
                s->has_flows[i] |= (uint8_t)(1u << k);
}

static struct port_queue_settings *settings_build(struct port_queue_entry *e)
{
    struct port_queue_settings *s = calloc(1, sizeof *s);

    bug_on(!s);
    s->rate_bps = port_queue_rate(e);
    s->overhead = e->config.overhead;
    s->packets_max = port_queue_packets_max(&e->config);
    s->map = e->config.map;
    clients_fill(e, s);
    guarantees_fit(s, granted_by(&e->config).bps);
    ifaces_fill(e, s);
    flows_fill(s);
    return s;
}

static void settings_free(struct rcu_retired *r)
{
    free(r); // `retired` is the first member
}

// Publishes the settings if they changed.
static void settings_update(struct port_queue_entry *e)
{
    static uint32_t serial;
    const size_t head = offsetof(struct port_queue_settings, rate_bps);
    struct port_queue_settings *old = e->queue->settings, *new = settings_build(e);

    if (old && !memcmp((char *)old + head, (char *)new + head, sizeof *new - head)) {
        free(new);
        return;
    }
    new->serial = ++serial;
    rcu_publish(&e->queue->settings, new);
    if (old)
        rcu_retire(&old->retired, settings_free);
    uint8_t owner = plan_home(e->queue->port);
    if (owner < FORWARDER_MAX)
        waker_wake(&forwarder_slot[owner].waker);
}

// Virtual routers or sub-interfaces may have come, gone or moved.
static void refresh(const struct control_event *event)
{
    vec_foreach (&port_queues.entry, e)
        settings_update(*e);
}

// --- a port's queue ------------------------------------------------------------------------------

static struct queue_manager *manager_new(const struct port_queue_entry *e)
{
    struct port_state s;
    uint32_t mtu = port_manager_state(e->config.port, &s) ? 1500 : s.config.mtu;

    return queue_make(&(struct queue_config){
        .ticks_hz = rte_get_tsc_hz(),
        .rate_bps = port_queue_rate(e),
        .clients = PORT_QUEUE_CLIENTS,
        .packets_max = exchange_pool ? exchange_pool->size : 4096,
        .frame_max = mtu + FRAME_OVERHEAD + e->config.overhead,
    });
}

static void queue_delete(struct rcu_retired *r)
{
    struct port_queue *q = (struct port_queue *)r;

    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        rte_ring_free(q->ring[f]);
    queue_free(q->manager, NULL, NULL);
    free(q->settings);
    free(q->current);
    free(q->full);
    free(q);
}

static bool rings_make(struct port_queue *q)
{
    static unsigned serial;
    char name[RTE_RING_NAMESIZE];
    bool ok = true;

    for (unsigned f = 0; f < FORWARDER_MAX; f++) {
        snprintf(name, sizeof name, "queue-%u-%u", serial, f);
        q->ring[f] = rte_ring_create_elem(name, sizeof(struct port_queue_element),
                                          PORT_QUEUE_RING_SIZE, SOCKET_ID_ANY,
                                          RING_F_SP_ENQ | RING_F_SC_DEQ);
        ok = ok && q->ring[f];
    }
    serial++;
    return ok;
}

static struct port_queue *queue_new(const struct port_queue_entry *e)
{
    struct port_queue *q = calloc(1, sizeof *q);

    if (!q)
        return NULL;
    q->port = PORT_NONE;
    q->manager = manager_new(e);
    q->current = calloc(PORT_QUEUE_CLIENTS, sizeof *q->current);
    q->full = calloc(PORT_QUEUE_CLIENTS, 1);
    if (q->manager && q->current && q->full && rings_make(q))
        return q;
    queue_delete(&q->retired);
    return NULL;
}

// --- waiting packets of a queue without an owner -------------------------------------------------

static void packet_discard(void *ctx, void *packet)
{
    struct counter_block *c = counter_mine();

    (void)ctx;
    c->held--;
    c->drop[DROP_TX_NO_QUEUE]++;
    rte_pktmbuf_free(packet);
}

// Passes the packet to the forwarder that sends through the port now.
static void packet_pass_on(void *ctx, void *packet)
{
    uint16_t port = *(const uint16_t *)ctx;
    uint8_t home = plan_home(port);

    *packet_meta(packet) = (struct packet_meta){
        .port = port, .kind = INJECT_TX, .iface = ((const struct rte_mbuf *)packet)->vlan_tci};
    for (unsigned i = 0; home < FORWARDER_MAX && i < DRAIN_TRIES; i++) {
        if (!rte_ring_enqueue(exchange_inject[home], packet)) {
            counter_mine()->held--;
            waker_wake(&forwarder_slot[home].waker);
            return;
        }
        usleep(100);
    }
    packet_discard(NULL, packet);
}

// Empties the queue in the order in which packets would have left, as far as known: first packets
// that already had their turn.
static void queue_empty(struct port_queue *q, void (*end)(void *ctx, void *packet), void *ctx)
{
    struct port_queue_element e;

    for (unsigned i = 0; i < q->n_kept; i++)
        end(ctx, q->kept[i]);
    q->n_kept = 0;
    queue_free(q->manager, end, ctx);
    q->manager = NULL;
    for (unsigned f = 0; f < FORWARDER_MAX; f++)
        while (q->ring[f] && !rte_ring_dequeue_elem(q->ring[f], &e, sizeof e))
            end(ctx, e.packet);
}

// --- ports come and go ---------------------------------------------------------------------------

// The port may be in plans under this id from now on.
static void lead_port(struct port_queue_entry *e, uint16_t port)
{
    e->queue->port = port;
    settings_update(e);
    port_get(port)->queue = e->queue;
}

static void on_port_starts(const struct control_event *event)
{
    struct port_queue_entry *e = port_queue_find(event->port->wish.name);

    if (e)
        lead_port(e, event->port->device.id);
}

// Drops the waiting packets.
static void on_port_stopped(const struct control_event *event)
{
    uint16_t port = event->port->device.id;
    struct port_queue *q = port_get(port)->queue;

    if (!q)
        return;
    port_get(port)->queue = NULL;
    q->port = PORT_NONE;
    vec_foreach (&port_queues.entry, e)
        if ((*e)->queue == q) {
            queue_empty(q, packet_discard, NULL);
            q->manager = manager_new(*e);
            bug_on(!q->manager);
            memset(q->current, 0, PORT_QUEUE_CLIENTS * sizeof *q->current);
            q->applied = 0;
            q->applied_bps = 0;
            port_queue_watch_restart(*e);
        }
}

static uint16_t started_port(const char *name)
{
    struct port_state s;

    return port_manager_state(name, &s) || !s.started ? PORT_NONE : s.id;
}

// --- configuration -------------------------------------------------------------------------------

static int rate_check(const struct port_queue_config *c, char *err, size_t n)
{
    uint64_t link = port_queue_link_bps(c->port), sum = granted_by(c).bps, rate = c->rate_bps;

    if (rate && link && rate > link) {
        snprintf(err, n,
                 "port %s: queue rate %llu bit/s is above the link's %llu bit/s, expected a lower "
                 "rate, or none for 99.5 %% of the link's",
                 c->port, (unsigned long long)rate, (unsigned long long)link);
        return -EINVAL;
    }
    if (!rate && link)
        rate = link / 1000 * PER_MILLE_OF_LINK;
    if (!rate || sum <= rate / 1000 * PER_MILLE_GUARANTEED)
        return 0;
    snprintf(err, n,
             "port %s: the guarantees are %llu bit/s together, at most %llu bit/s (98 %% of %llu) "
             "can be kept: lower one, or raise the rate",
             c->port, (unsigned long long)sum,
             (unsigned long long)(rate / 1000 * PER_MILLE_GUARANTEED), (unsigned long long)rate);
    return -ENOSPC;
}

static int config_refusal(const struct port_queue_config *c, char *err, size_t n)
{
    if (c->core >= 0 && !thread_core_exists(c->core)) {
        snprintf(err, n, "port %s: queue core %d does not exist or is not allowed", c->port,
                 c->core);
        return -EINVAL;
    }
    for (unsigned i = 0; i < c->n_clients; i++)
        if (queue_config_check(&c->client[i].config)) {
            snprintf(err, n,
                     "port %s: queue of %s: a rate below 8 kbit/s, a maximum below the guarantee, "
                     "or a weight out of range",
                     c->port, c->client[i].vr[0] ? c->client[i].vr : c->client[i].vport);
            return -EINVAL;
        }
    uint64_t reserves = (uint64_t)vr_count * c->other.reserve_packets + granted_by(c).packets;
    if (reserves > port_queue_packets_max(c)) {
        snprintf(err, n, "port %s: the reserves are %llu packets together, at most %u may wait",
                 c->port, (unsigned long long)reserves, port_queue_packets_max(c));
        return -ENOSPC;
    }
    return rate_check(c, err, n);
}

static void config_copy(struct port_queue_entry *e, const struct port_queue_config *c)
{
    vec_clear(&e->client);
    for (unsigned i = 0; i < c->n_clients; i++)
        *vec_push(&e->client) = c->client[i];
    e->config = *c;
    e->config.client = e->client.item;
    e->lowered_bps = 0;
}

static struct port_queue_entry *entry_new(const struct port_queue_config *c)
{
    struct port_queue_entry *e = calloc(1, sizeof *e);

    if (!e)
        return NULL;
    config_copy(e, c);
    e->queue = queue_new(e);
    if (!e->queue) {
        vec_free(&e->client);
        free(e);
        return NULL;
    }
    *vec_push(&port_queues.entry) = e;
    return e;
}

int port_queue_manager_set(const struct port_queue_config *c, char *err, size_t err_size)
{
    struct port_queue_entry *e = port_queue_find(c->port);
    bool moves = !e || e->config.core != c->core;
    int r = config_refusal(c, err, err_size);

    thread_must_be(ROLE_CONTROL);
    if (r)
        return r;
    if (e) {
        config_copy(e, c);
    } else if (!(e = entry_new(c))) {
        snprintf(err, err_size, "port %s: no memory for its queue", c->port);
        return -ENOMEM;
    }
    e->queue->core = c->core;
    settings_update(e);
    uint16_t port = started_port(c->port);
    if (port != PORT_NONE && moves) {
        lead_port(e, port);
        thread_manager_update();
    }
    return 0;
}

static void entry_free(struct port_queue_entry *e)
{
    port_queue_watch_restart(e);
    vec_free(&e->client);
    vec_free(&e->vport);
    rcu_retire(&e->queue->retired, queue_delete);
    free(e);
}

void port_queue_manager_remove(const char *name)
{
    struct port_queue_entry *e = port_queue_find(name);

    thread_must_be(ROLE_CONTROL);
    if (!e)
        return;
    uint16_t port = e->queue->port;
    if (port != PORT_NONE) {
        port_get(port)->queue = NULL;
        thread_manager_update();
        rcu_synchronize();
        queue_empty(e->queue, packet_pass_on, &port);
    }
    for (size_t i = 0; i < port_queues.entry.n; i++)
        if (port_queues.entry.item[i] == e)
            vec_del_swap(&port_queues.entry, i);
    entry_free(e);
}

// --- the module ----------------------------------------------------------------------------------

static struct event *timer;

static void on_second(evutil_socket_t fd, short events, void *ctx)
{
    port_queue_watch_second();
    refresh(NULL);
}

int port_queue_manager_init(struct event_base *loop)
{
    const struct timeval second = {.tv_sec = 1};

    control_event_listen(EVENT_VR_ADDED, refresh);
    control_event_listen(EVENT_CHANGE_ENDED, refresh);
    control_event_listen(EVENT_PORT_STARTS, on_port_starts);
    control_event_listen(EVENT_PORT_STOPPED, on_port_stopped);
    timer = event_new(loop, -1, EV_PERSIST, on_second, NULL);
    return timer && !event_add(timer, &second) ? 0 : -ENOMEM;
}

void port_queue_manager_fini(void)
{
    drop_event(&timer);
    vec_foreach (&port_queues.entry, e) {
        queue_empty((*e)->queue, packet_discard, NULL);
        entry_free(*e);
    }
    vec_free(&port_queues.entry);
    rcu_barrier();
}
