// SPDX-License-Identifier: BSD-3-Clause
// net_replay.c - a DPDK device that is its own traffic generator and receiver
//
// Receive returns packets copied from a table; transmit counts, checks and frees them: any DPDK
// program forwards on one core at its full rate, without another core, cable or NIC. Load it with
// LD_PRELOAD (or EAL's -d, which refuses files below world-writable directories) and name ports by
// devargs:
//
//     LD_PRELOAD=librte_net_replay.so dpdk-testpmd …
//         --vdev net_replay0,routes=/tmp/p.txt,dst=prefix --vdev net_replay1 …
//
//     traffic
//     family=4|6|46     IPv4, IPv6, or each packet one of them at random [4]
//     dst=uniform       random addresses; with routes given, only those with a route [uniform]
//        =prefix        a random prefix of routes, and a random host of it
//        =flow          one destination, source and port for all packets
//     routes=FILE       lines "PREFIX [NEXTHOP]"; without NEXTHOP, prefix i of a family has next
//                       hop i % hops
//     hops=N            next hops [64]
//     size=N            bytes of a frame on the wire, with FCS [64]
//     vlan=A[-B]        tagged, each packet one of these at random; VLAN A + k is virtual
//                       router k
//     entries=N         packets of the table, rounded up to a power of two [524288]
//     seed=N            other random numbers [1]
//     rate=N            packets/s offered to each queue, evenly; a packet without a free descriptor
//                       is missed. 0: flood [0]
//     device
//     ports=N index=I   number of the program's ports, and index of this one [1 0]
//     ring=0|1          1: packets cycle through all receive descriptors and are freed late, like a
//                       NIC's; their buffers are then as cold as a NIC's. 0: the last freed buffer
//                       is received next, always in L1 [0]
//     verify=0|1|2      1: TTL, checksums, source MAC, length, payload; 2: also next hop, port and
//                       VLAN [0]
//     checksum_good=0|1 offer to mark received checksums as good [1]
//     fast_free=0|1     offer MBUF_FAST_FREE; without it each buffer is freed with all checks [1]
//     mac=MAC           MAC of the port [02:4b:52:02:00:INDEX]
//     page=FILE         counters and orders for a runner (page.h); best on tmpfs
//     held=0|1          1: no traffic until the runner asks for it in the page [0]
//
// Differences from a NIC: no PCIe, no descriptors written by a device, headers in L1 instead of the
// last-level cache, payload never touched. So the rate is that of the program with a perfect NIC:
// compare programs, not machines.
#include <errno.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <bus_vdev_driver.h>
#include <fcntl.h>
#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "replay.h"

#define FREE_AT_ONCE 32u // transmit with ring=1 frees in groups of this size, as drivers do
#define RING_TAKE 256u   // most packets that a receive call returns with ring=1
#define DESCRIPTORS_MAX 4096

struct pace { // of the offered rate
    uint64_t rate, since_tsc, gone; // gone: packets taken or missed
};

struct queue {
    struct device *device;
    struct rte_mempool *pool;
    struct rte_mbuf **slot; // ring=1: posted to receive, or waiting for transmit to free them
    uint32_t n_slots, next, n_waiting;
    bool fast_free;
    uint64_t at; // next line
    struct pace pace;
    uint64_t mbuf_image[2][4]; // bytes 16 to 47 of a received buffer, by family
    struct page_rx *rx;
    struct page_tx *tx;
} __rte_cache_aligned;

struct device {
    struct option option;
    struct page *page;
    struct traffic traffic;
    struct route_table *routes;
    uint16_t port;
};

// --- receive ---

// Packets due for the queue at the offered rate. Packets without a free descriptor are missed.
static uint16_t paced(struct queue *q, uint64_t rate, uint16_t n)
{
    uint64_t now = rte_rdtsc();

    if (q->pace.rate != rate)
        q->pace = (struct pace){.rate = rate, .since_tsc = now};
    uint64_t come = (uint64_t)((double)(now - q->pace.since_tsc) * (double)rate /
                               (double)q->device->page->tsc_hz);
    uint64_t waiting = come - q->pace.gone;
    if (waiting > q->n_slots) {
        q->rx->missed += waiting - q->n_slots;
        q->pace.gone += waiting - q->n_slots;
        waiting = q->n_slots;
    }
    n = (uint16_t)RTE_MIN(waiting, n);
    q->pace.gone += n;
    return n;
}

// No traffic; afterwards the offered rate starts again.
static uint16_t hold(struct queue *q)
{
    q->pace.rate = 0;
    return 0;
}

// Replaces the oldest posted buffers by fresh ones.
static bool take_ring(struct queue *q, struct rte_mbuf **pkt, uint16_t n)
{
    struct rte_mbuf *fresh[RING_TAKE];
    uint32_t at = q->next;

    if (rte_mempool_get_bulk(q->pool, (void **)fresh, n))
        return false;
    for (uint16_t i = 0; i < n; i++) {
        pkt[i] = q->slot[at];
        rte_prefetch0(&pkt[i]->rearm_data);
        q->slot[at] = fresh[i];
        at = at + 1 == q->n_slots ? 0 : at + 1;
    }
    q->next = at;
    return true;
}

// Zeroes the bytes after the line if frames are verified: the checksum counts them as zero.
static __rte_noinline void clear_rest(struct rte_mbuf **pkt, uint16_t n, unsigned stride)
{
    for (uint16_t i = 0; i < n; i++)
        if (pkt[i]->data_len > stride)
            memset(rte_pktmbuf_mtod_offset(pkt[i], uint8_t *, stride), 0,
                   pkt[i]->data_len - stride);
}

static __rte_always_inline void put_packet(struct rte_mbuf *m, const uint64_t *image,
                                           const uint8_t *line, const bool two)
{
    uint8_t *to = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;

    memcpy(&m->rearm_data, image, 32);
    memcpy(to, line, LINE);
    if (two)
        memcpy(to + LINE, line + LINE, LINE);
}

static __rte_always_inline uint16_t receive(struct queue *q, struct rte_mbuf **pkt, uint16_t n,
                                            const bool ring, const bool two, const bool mixed)
{
    const struct page *page = q->device->page;
    const struct traffic *t = &q->device->traffic;
    uint64_t at = q->at, bytes = 0;

    if (ring)
        n = RTE_MIN(n, (uint16_t)RTE_MIN(q->n_slots, RING_TAKE));
    if (unlikely(page->held))
        n = hold(q);
    else if (unlikely(page->rate))
        n = paced(q, page->rate, n);
    q->rx->calls++;
    if (unlikely(!n)) {
        q->rx->empty++;
        return 0;
    }
    if (unlikely(ring ? !take_ring(q, pkt, n) : rte_mempool_get_bulk(q->pool, (void **)pkt, n))) {
        q->rx->no_buffer += n;
        return 0;
    }
    for (uint16_t i = 0; i < n; i++) {
        unsigned v = mixed ? t->family[at] : 0;
        put_packet(pkt[i], q->mbuf_image[v], t->line + at * (two ? 2 * LINE : LINE), two);
        if (mixed)
            bytes += t->length[v];
        at = (at + 1) & t->mask;
    }
    q->at = at;
    if (unlikely(page->verify))
        clear_rest(pkt, n, t->stride);
    q->rx->packets += n;
    q->rx->bytes += mixed ? bytes : (uint64_t)n * pkt[0]->pkt_len;
    return n;
}

#define RECEIVE(name, ring, two, mixed)                                        \
    static uint16_t name(void *queue, struct rte_mbuf **pkt, uint16_t n)       \
    {                                                                          \
        return receive(queue, pkt, n, ring, two, mixed);                       \
    }
RECEIVE(rx_hot_1, false, false, false)
RECEIVE(rx_hot_1_mixed, false, false, true)
RECEIVE(rx_hot_2, false, true, false)
RECEIVE(rx_hot_2_mixed, false, true, true)
RECEIVE(rx_ring_1, true, false, false)
RECEIVE(rx_ring_1_mixed, true, false, true)
RECEIVE(rx_ring_2, true, true, false)
RECEIVE(rx_ring_2_mixed, true, true, true)

static eth_rx_burst_t choose_receive(const struct device *d)
{
    static const eth_rx_burst_t all[2][2][2] = {
        {{rx_hot_1, rx_hot_1_mixed}, {rx_hot_2, rx_hot_2_mixed}},
        {{rx_ring_1, rx_ring_1_mixed}, {rx_ring_2, rx_ring_2_mixed}}};

    return all[d->option.ring][d->traffic.stride > LINE][d->option.families == 46];
}

// uint32_t before DPDK 25.11
static __typeof__(rte_eth_fp_ops->rx_queue_count(NULL)) receive_count(void *queue)
{
    const struct queue *q = queue;
    const struct page *page = q->device->page;

    if (page->held)
        return 0;
    if (!page->rate || page->rate != q->pace.rate)
        return q->n_slots;
    double come =
        (double)(rte_rdtsc() - q->pace.since_tsc) * (double)page->rate / (double)page->tsc_hz;
    uint64_t waiting = (uint64_t)come - q->pace.gone;
    return (uint32_t)RTE_MIN(waiting, q->n_slots);
}

// --- transmit ---

static __rte_always_inline void free_sent(const struct queue *q, struct rte_mbuf **pkt, uint32_t n)
{
    if (q->fast_free) // the program promises one pool, one reference, one segment
        rte_mempool_put_bulk(pkt[0]->pool, (void **)pkt, n);
    else
        rte_pktmbuf_free_bulk(pkt, n);
}

// Keeps buffers in the ring until there is no room for the next ones.
static void put_ring(struct queue *q, struct rte_mbuf **pkt, uint16_t n)
{
    while (q->n_waiting && q->n_waiting + n + FREE_AT_ONCE > q->n_slots) {
        uint32_t first =
            q->next >= q->n_waiting ? q->next - q->n_waiting : q->next + q->n_slots - q->n_waiting;
        uint32_t some = RTE_MIN(RTE_MIN(FREE_AT_ONCE, q->n_waiting), q->n_slots - first);
        free_sent(q, q->slot + first, some);
        q->n_waiting -= some;
    }
    for (uint16_t i = 0; i < n; i++) {
        q->slot[q->next] = pkt[i];
        q->next = q->next + 1 == q->n_slots ? 0 : q->next + 1;
    }
    q->n_waiting += n;
}

static __rte_noinline void verify(struct queue *q, struct rte_mbuf **pkt, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++)
        verify_frame(&q->device->option, q->device->routes, pkt[i], q->tx);
}

static __rte_always_inline uint16_t transmit(struct queue *q, struct rte_mbuf **pkt, uint16_t n,
                                             const bool ring)
{
    uint64_t bytes = 0;

    if (ring)
        n = (uint16_t)RTE_MIN(n, q->n_slots - FREE_AT_ONCE);
    if (unlikely(!n))
        return 0;
    for (uint16_t i = 0; i < n; i++)
        bytes += pkt[i]->pkt_len;
    if (unlikely(q->device->page->verify))
        verify(q, pkt, n);
    if (ring)
        put_ring(q, pkt, n);
    else
        free_sent(q, pkt, n);
    q->tx->packets += n;
    q->tx->bytes += bytes;
    q->tx->calls++;
    return n;
}

static uint16_t tx_hot(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    return transmit(queue, pkt, n, false);
}

static uint16_t tx_ring(void *queue, struct rte_mbuf **pkt, uint16_t n)
{
    return transmit(queue, pkt, n, true);
}

// --- queues ---

static struct queue *queue_new(struct rte_eth_dev *dev, uint16_t id, uint16_t descriptors)
{
    struct device *d = dev->data->dev_private;
    struct queue *q = rte_zmalloc("net_replay queue", sizeof *q, RTE_CACHE_LINE_SIZE);

    if (!q)
        return NULL;
    q->device = d;
    q->n_slots = descriptors;
    q->rx = &d->page->rx[id];
    q->tx = &d->page->tx[id];
    if (d->option.ring)
        q->slot =
            rte_zmalloc("net_replay ring", descriptors * sizeof *q->slot, RTE_CACHE_LINE_SIZE);
    if (d->option.ring && !q->slot) {
        rte_free(q);
        return NULL;
    }
    return q;
}

static void queue_free(struct queue *q)
{
    for (uint32_t i = 0; q && q->slot && i < q->n_slots; i++)
        if (q->pool) { // receive: all are posted
            rte_pktmbuf_free(q->slot[i]);
        } else if (i < q->n_waiting) {
            uint32_t at = (q->next + q->n_slots - q->n_waiting + i) % q->n_slots;
            rte_pktmbuf_free(q->slot[at]);
        }
    if (q)
        rte_free(q->slot);
    rte_free(q);
}

static void make_image(struct queue *q, uint64_t offloads, unsigned family_of_line, unsigned v)
{
    const struct device *d = q->device;
    struct rte_mbuf m;

    memset(&m, 0, sizeof m);
    m.data_off = RTE_PKTMBUF_HEADROOM;
    rte_mbuf_refcnt_set(&m, 1);
    m.nb_segs = 1;
    m.port = d->port;
    m.pkt_len = d->traffic.length[v];
    m.data_len = d->traffic.length[v];
    m.packet_type =
        RTE_PTYPE_L2_ETHER | RTE_PTYPE_L4_UDP | (v ? RTE_PTYPE_L3_IPV6 : RTE_PTYPE_L3_IPV4);
    if (d->option.vlan_low)
        m.packet_type = RTE_PTYPE_L2_ETHER_VLAN | (m.packet_type & ~RTE_PTYPE_L2_MASK);
    if (!v && offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM)
        m.ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
    if (offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
        m.ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
    _Static_assert(offsetof(struct rte_mbuf, rx_descriptor_fields1) -
                           offsetof(struct rte_mbuf, rearm_data) ==
                       16,
                   "one image");
    memcpy(q->mbuf_image[family_of_line], &m.rearm_data, sizeof q->mbuf_image[0]);
}

static int rx_queue_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t descriptors,
                          unsigned socket, const struct rte_eth_rxconf *conf,
                          struct rte_mempool *pool)
{
    struct device *d = dev->data->dev_private;
    uint64_t offloads = conf->offloads | dev->data->dev_conf.rxmode.offloads;
    struct queue *q = queue_new(dev, id, descriptors);

    if (!q)
        return -ENOMEM;
    if (rte_pktmbuf_data_room_size(pool) <
        RTE_PKTMBUF_HEADROOM + RTE_MAX(d->traffic.length[1], 2 * LINE)) {
        SAY("port %u: buffers of %u bytes are too small\n", d->port,
            rte_pktmbuf_data_room_size(pool));
        queue_free(q);
        return -EINVAL;
    }
    if (d->option.ring && rte_mempool_get_bulk(pool, (void **)q->slot, descriptors)) {
        SAY("port %u: the pool has fewer than %u free buffers\n", d->port, descriptors);
        queue_free(q);
        return -ENOMEM;
    }
    q->pool = pool;
    q->at = d->option.entries / RTE_MAX(dev->data->nb_rx_queues, 1) * id;
    make_image(q, offloads, 0, d->option.families == 6);
    make_image(q, offloads, 1, 1);
    dev->data->rx_queues[id] = q;
    return 0;
}

static int tx_queue_setup(struct rte_eth_dev *dev, uint16_t id, uint16_t descriptors,
                          unsigned socket, const struct rte_eth_txconf *conf)
{
    struct queue *q = queue_new(dev, id, descriptors);

    if (!q)
        return -ENOMEM;
    q->fast_free =
        (conf->offloads | dev->data->dev_conf.txmode.offloads) & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    dev->data->tx_queues[id] = q;
    return 0;
}

static void rx_queue_release(struct rte_eth_dev *dev, uint16_t id)
{
    queue_free(dev->data->rx_queues[id]);
    dev->data->rx_queues[id] = NULL;
}

static void tx_queue_release(struct rte_eth_dev *dev, uint16_t id)
{
    queue_free(dev->data->tx_queues[id]);
    dev->data->tx_queues[id] = NULL;
}

// --- the device ---

static int configure(struct rte_eth_dev *dev)
{
    struct device *d = dev->data->dev_private;
    const struct option *o = &d->option;

    d->page->n_queues = RTE_MAX(dev->data->nb_rx_queues, dev->data->nb_tx_queues);
    if (d->traffic.line)
        return 0;
    if (o->routes[0] && !d->routes)
        d->routes = route_table_get(o->routes, o->hops);
    if (o->routes[0] && !d->routes)
        return -EINVAL;
    if (d->routes) {
        d->page->n_prefixes4 = d->routes->ip4.n;
        d->page->n_prefixes6 = d->routes->ip6.n;
    }
    int r = traffic_make(&d->traffic, o, d->routes);
    if (r)
        SAY("port %u: no traffic: %s\n", d->port, strerror(-r));
    return r;
}

static int start(struct rte_eth_dev *dev)
{
    struct device *d = dev->data->dev_private;

    dev->rx_pkt_burst = choose_receive(d);
    dev->tx_pkt_burst = d->option.ring ? tx_ring : tx_hot;
    dev->rx_queue_count = receive_count;
    dev->data->dev_link.link_status = RTE_ETH_LINK_UP;
    return 0;
}

static int stop(struct rte_eth_dev *dev)
{
    dev->data->dev_link.link_status = RTE_ETH_LINK_DOWN;
    return 0;
}

static int device_info(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
    const struct option *o = &((struct device *)dev->data->dev_private)->option;
    const struct rte_eth_desc_lim limits = {
        .nb_max = DESCRIPTORS_MAX, .nb_min = 2 * FREE_AT_ONCE, .nb_align = 1};

    info->max_rx_pktlen = 9728;
    info->max_mtu = 9700;
    info->max_mac_addrs = 1;
    info->max_rx_queues = QUEUE_MAX;
    info->max_tx_queues = QUEUE_MAX;
    info->rx_offload_capa = o->checksum_good ? RTE_ETH_RX_OFFLOAD_CHECKSUM : 0;
    info->tx_offload_capa = o->fast_free ? RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE : 0;
    info->rx_desc_lim = limits;
    info->tx_desc_lim = limits;
    info->default_rxportconf = (struct rte_eth_dev_portconf){.ring_size = 1024, .nb_queues = 1};
    info->default_txportconf = info->default_rxportconf;
    info->speed_capa = RTE_ETH_LINK_SPEED_100G;
    return 0;
}

static int statistics(struct rte_eth_dev *dev, struct rte_eth_stats *s)
{
    const struct page *page = ((struct device *)dev->data->dev_private)->page;

    for (unsigned q = 0; q < QUEUE_MAX; q++) {
        s->ipackets += page->rx[q].packets;
        s->ibytes += page->rx[q].bytes;
        s->imissed += page->rx[q].missed;
        s->rx_nombuf += page->rx[q].no_buffer;
        s->opackets += page->tx[q].packets;
        s->obytes += page->tx[q].bytes;
    }
    return 0;
}

static int mac_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
    struct device *d = dev->data->dev_private;

    d->option.mac = *mac;
    traffic_set_mac(&d->traffic, mac);
    return 0;
}

static const uint32_t *packet_types(struct rte_eth_dev *dev)
{
    static const uint32_t all[] = {RTE_PTYPE_L2_ETHER, RTE_PTYPE_L2_ETHER_VLAN, RTE_PTYPE_L3_IPV4,
                                   RTE_PTYPE_L3_IPV6,  RTE_PTYPE_L4_UDP,        RTE_PTYPE_UNKNOWN};
    return all;
}

static int link_update(struct rte_eth_dev *dev, int wait)
{
    return 0;
}

static int set_mtu(struct rte_eth_dev *dev, uint16_t mtu)
{
    return 0;
}

static int nothing(struct rte_eth_dev *dev)
{
    return 0;
}

static int close_device(struct rte_eth_dev *dev)
{
    struct device *d = dev->data->dev_private;

    for (uint16_t q = 0; q < dev->data->nb_rx_queues; q++)
        rx_queue_release(dev, q);
    for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++)
        tx_queue_release(dev, q);
    traffic_free(&d->traffic);
    route_table_put(d->routes);
    d->routes = NULL;
    if (d->page)
        munmap(d->page, sizeof *d->page);
    d->page = NULL;
    return 0;
}

static const struct eth_dev_ops operations = {
    .dev_configure = configure,
    .dev_start = start,
    .dev_stop = stop,
    .dev_close = close_device,
    .dev_set_link_up = start,
    .dev_set_link_down = stop,
    .dev_infos_get = device_info,
    .dev_supported_ptypes_get = packet_types,
    .rx_queue_setup = rx_queue_setup,
    .rx_queue_release = rx_queue_release,
    .tx_queue_setup = tx_queue_setup,
    .tx_queue_release = tx_queue_release,
    .stats_get = statistics,
    .stats_reset = NULL, // the runner's counters never go back
    .link_update = link_update,
    .mtu_set = set_mtu,
    .mac_addr_set = mac_set,
    .promiscuous_enable = nothing,
    .promiscuous_disable = nothing,
    .allmulticast_enable = nothing,
    .allmulticast_disable = nothing,
};

// In the named file, or in private memory.
static struct page *page_new(const char *path)
{
    int fd = path[0] ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    struct page *p;

    if (path[0] && (fd < 0 || ftruncate(fd, sizeof *p))) {
        SAY("page=%s: %s\n", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
             fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return p == MAP_FAILED ? NULL : p;
}

static int probe(struct rte_vdev_device *vdev)
{
    struct option o = {0};
    int r = option_parse(&o, rte_vdev_device_args(vdev));

    if (r)
        return r;
    if (rte_is_zero_ether_addr(&o.mac))
        o.mac = (struct rte_ether_addr){{0x02, 0x4b, 0x52, 0x02, 0, (uint8_t)o.index}};
    struct page *page = page_new(o.page);
    struct rte_eth_dev *dev = page ? rte_eth_vdev_allocate(vdev, sizeof(struct device)) : NULL;
    struct rte_ether_addr *mac = dev ? rte_zmalloc(NULL, sizeof *mac, 0) : NULL;
    if (!mac) {
        if (dev)
            rte_eth_dev_release_port(dev);
        if (page)
            munmap(page, sizeof *page);
        return -ENOMEM;
    }
    struct device *d = dev->data->dev_private;
    *d = (struct device){.option = o, .page = page, .port = dev->data->port_id};
    page->tsc_hz = rte_get_tsc_hz();
    page->held = o.held;
    page->verify = o.verify;
    page->rate = o.rate;
    __atomic_store_n(&page->magic, PAGE_MAGIC, __ATOMIC_RELEASE);
    *mac = o.mac;
    dev->data->mac_addrs = mac;
    dev->data->promiscuous = 1;
    dev->data->dev_link = (struct rte_eth_link){.link_speed = RTE_ETH_SPEED_NUM_100G,
                                                .link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
                                                .link_autoneg = RTE_ETH_LINK_FIXED};
    dev->dev_ops = &operations;
    rte_eth_dev_probing_finish(dev);
    return 0;
}

static int remove_device(struct rte_vdev_device *vdev)
{
    struct rte_eth_dev *dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

    if (!dev)
        return 0;
    close_device(dev);
    return rte_eth_dev_release_port(dev);
}

static struct rte_vdev_driver driver = {.probe = probe, .remove = remove_device};
RTE_PMD_REGISTER_VDEV(net_replay, driver);
