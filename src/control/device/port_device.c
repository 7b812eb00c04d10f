// SPDX-License-Identifier: BSD-3-Clause
// port_device.c - one DPDK device
// Requests the features that the device offers and reads back the granted ones, which may be fewer:
// only those are used and shown.
//
//     RSS         all fields of the driver, with more than one queue; if it refuses them together,
//                 the IP and transport ones; then none
//     receive     IPv4 checksum (forwarders check packets not marked good), VLAN strip
//     interrupts  of the receive queues, unless rx-mode is poll, the driver refuses them or they
//                 never come
//     supers      of virtual cards: TCP segments and unfinished checksums as the sender left them
//     transmit    FAST_FREE where a frame fits one buffer of exchange_pool and the machine has one
//                 memory node: forwarders pass only such buffers (tx.c); else multi-segment
//     buffers     one frame fits one buffer, unless that would take more than a quarter of the
//                 memory and the driver can scatter
#include "device/port_device.h"

#include <errno.h>
#include <linux/virtio_net.h>
#include <rte_eth_vhost.h>
#include <rte_vhost.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "core/eal.h"
#include "device/devargs.h"
#include "device/port_probe.h"
#include "netlink/netns.h"
#include "table/exchange.h"
#include "table/limits.h"
#include "table/super.h"

#define FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN)
#define BUFFER_STANDARD (2048 + RTE_PKTMBUF_HEADROOM)
#define MTU_MAX 9600
#define SOCKET_QUEUES 4u // limit for a kernel interface, unless configured
#define POOL_SLACK 4096  // buffers in rings, caches and bursts

#define SUPERS_RX                                                                                  \
    (RTE_ETH_RX_OFFLOAD_TCP_LRO | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
#define SUPERS_TX (RTE_ETH_TX_OFFLOAD_TCP_TSO | RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static const uint64_t rss_basic =
    RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP;

static uint16_t clamp_queues(const struct port_config *cfg, const char *what, uint16_t wish,
                             unsigned choice, uint16_t max)
{
    unsigned want = wish ? wish : choice;

    if (want <= max)
        return (uint16_t)(want ? want : 1);
    if (wish)
        log_warning("port_manager: the device has fewer than configured: port=%s %s=%u asked=%u",
                    cfg->name, what, max, want);
    return max ? max : 1;
}

// --- choosing ---

static bool is_socket(const struct port_device *d)
{
    return devargs_is_packet_socket(d->config.devargs);
}

static bool is_vhost(const struct port_device *d)
{
    return !strcmp(d->driver, "net_vhost");
}

// Can it deliver super-packets? A virtual card can: its sender leaves the cutting to it.
static bool brings_supers(const struct port_device *d, const struct rte_eth_dev_info *info)
{
    char tso[8];

    if (is_vhost(d))
        return devargs_get(d->config.devargs, "tso", tso, sizeof tso) && !strcmp(tso, "1");
    return is_socket(d) ||
           ((!strcmp(d->driver, "net_virtio") || !strcmp(d->driver, "net_virtio_user")) &&
            info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TCP_LRO);
}

// The driver's largest MTU; some drivers give it only as a frame length.
static uint16_t device_mtu_max(const struct port_device *d, const struct rte_eth_dev_info *info)
{
    uint32_t most = info->max_mtu ? info->max_mtu : UINT16_MAX;

    if (is_socket(d))
        return MTU_MAX;
    if (most == UINT16_MAX && info->max_rx_pktlen > RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN)
        most = info->max_rx_pktlen - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN;
    return most < MTU_MAX ? (uint16_t)most : MTU_MAX;
}

static int choose_mtu(struct port_device *d, const struct rte_eth_dev_info *info, char *err,
                      size_t err_size)
{
    d->mtu_max = device_mtu_max(d, info);
    if (d->config.mtu > d->mtu_max) {
        snprintf(err, err_size, "MTU %u is more than the device's %u", d->config.mtu, d->mtu_max);
        return -EINVAL;
    }
    if (info->min_mtu && d->config.mtu < info->min_mtu) {
        snprintf(err, err_size, "MTU %u is less than the device's %u", d->config.mtu,
                 info->min_mtu);
        return -EINVAL;
    }
    return 0;
}

static unsigned pool_size(const struct port_config *c)
{
    return (unsigned)c->rx_queues * c->rx_descriptors + (unsigned)c->tx_queues * c->tx_descriptors +
           POOL_SLACK;
}

// Size of a buffer with headroom; *scatter: a frame may take several buffers.
static uint16_t choose_buffer(const struct port_device *d, const struct rte_eth_dev_info *info,
                              bool *scatter)
{
    unsigned whole = RTE_ALIGN(d->config.mtu + FRAME_OVERHEAD + RTE_PKTMBUF_HEADROOM, 256u);
    unsigned least = info->min_rx_bufsize + RTE_PKTMBUF_HEADROOM;

    *scatter = false;
    if (d->receives_supers) { // which take several buffers anyhow
        *scatter = true;
        return BUFFER_STANDARD;
    }
    if (whole < BUFFER_STANDARD)
        whole = BUFFER_STANDARD;
    bool large = port_pool_bytes(pool_size(&d->config), (uint16_t)whole) >
                 (uint64_t)eal_memory_mib() * (1 << 20) / 4;
    if (whole > BUFFER_STANDARD && large && info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) {
        *scatter = true;
        whole = BUFFER_STANDARD;
    }
    return (uint16_t)(whole < least && least <= UINT16_MAX ? least : whole);
}

// The driver offers interrupts, but none arrives: vfio-pci delivers them by MSI-X, and the driver
// neither checks that the card has MSI-X (82540) nor assigns vectors (82574).
static bool lacks_interrupts(const struct port_device *d)
{
    return !strcmp(d->driver, "net_e1000_em") && port_probe_by_vfio(d->config.devargs);
}

// The driver reads the interrupt's cause from a register that is always 0 in QEMU, and so ignores
// link changes.
static bool lacks_link_interrupt(const struct port_device *d)
{
    return !strcmp(d->driver, "net_vmxnet3");
}

static struct rte_eth_conf choose_conf(struct port_device *d, const struct rte_eth_dev_info *info)
{
    const uint64_t rx_wish = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP |
                             (d->receives_supers ? SUPERS_RX : 0);
    const uint64_t tx_wish = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | (d->receives_supers ? SUPERS_TX : 0);
    struct rte_eth_conf conf = {.rxmode.mtu = d->config.mtu};

    conf.rxmode.offloads = rx_wish & info->rx_offload_capa;
    if (d->scatter) {
        conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER & info->rx_offload_capa;
        exchange_mix();
    }
    conf.txmode.offloads =
        (d->fast_free ? RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE : tx_wish) & info->tx_offload_capa;
    conf.intr_conf.lsc = d->has_lsc;
    conf.intr_conf.rxq =
        d->config.rx_mode == PORT_RX_INTERRUPT && !d->kernel_link.name[0] && !lacks_interrupts(d);
    if (d->config.rx_queues > 1 && info->flow_type_rss_offloads) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads;
    }
    return conf;
}

// --- configuring ---

static int try_configure(struct port_device *d, struct rte_eth_conf *conf)
{
    uint64_t all = conf->rx_adv_conf.rss_conf.rss_hf;
    int r = rte_eth_dev_configure(d->id, d->config.rx_queues, d->config.tx_queues, conf);

    if (r && all) {
        log_warning("port_manager: the driver rejects its own full set of RSS fields, trying IP "
                    "and transport: port=%s rss=%#lx",
                    d->config.name, all);
        conf->rx_adv_conf.rss_conf.rss_hf = all & rss_basic;
        r = rte_eth_dev_configure(d->id, d->config.rx_queues, d->config.tx_queues, conf);
    }
    if (r && conf->intr_conf.lsc) { // some drivers announce the interrupt and then refuse it
        conf->intr_conf.lsc = 0;
        d->has_lsc = false;
        r = rte_eth_dev_configure(d->id, d->config.rx_queues, d->config.tx_queues, conf);
    }
    if (r && conf->intr_conf.rxq) {
        conf->intr_conf.rxq = 0;
        r = rte_eth_dev_configure(d->id, d->config.rx_queues, d->config.tx_queues, conf);
    }
    d->rx_interrupt = conf->intr_conf.rxq;
    return r;
}

static int setup_queues(struct port_device *d, const struct rte_eth_dev_info *info,
                        const struct rte_eth_conf *conf)
{
    struct rte_eth_rxconf rx = info->default_rxconf;
    struct rte_eth_txconf tx = info->default_txconf;
    unsigned socket = (unsigned)rte_eth_dev_socket_id(d->id);
    int r = 0;

    rx.offloads = conf->rxmode.offloads;
    tx.offloads = conf->txmode.offloads;
    for (uint16_t q = 0; !r && q < d->config.rx_queues; q++)
        r = rte_eth_rx_queue_setup(d->id, q, d->config.rx_descriptors, socket, &rx, d->pool);
    for (uint16_t q = 0; !r && q < d->config.tx_queues; q++)
        r = rte_eth_tx_queue_setup(d->id, q, d->config.tx_descriptors, socket, &tx);
    return r;
}

static void read_back_offloads(struct port_device *d, const struct rte_eth_conf *conf)
{
    struct rte_eth_rss_conf rss = {0};
    struct rte_eth_rxq_info rxq;
    struct rte_eth_txq_info txq;

    d->rx_offloads = conf->rxmode.offloads;
    d->tx_offloads = conf->txmode.offloads;
    if (!rte_eth_rx_queue_info_get(d->id, 0, &rxq))
        d->rx_offloads &= rxq.conf.offloads;
    if (!rte_eth_tx_queue_info_get(d->id, 0, &txq))
        d->tx_offloads &= txq.conf.offloads;
    d->rss_hf = conf->rx_adv_conf.rss_conf.rss_hf;
    if (d->rss_hf && !rte_eth_dev_rss_hash_conf_get(d->id, &rss))
        d->rss_hf = rss.rss_hf;
    if (d->rx_offloads != conf->rxmode.offloads || d->tx_offloads != conf->txmode.offloads ||
        d->rss_hf != conf->rx_adv_conf.rss_conf.rss_hf)
        log_notice("port_manager: the driver enabled less than it offered: port=%s rx=%#lx/%#lx "
                   "tx=%#lx/%#lx rss=%#lx/%#lx",
                   d->config.name, d->rx_offloads, conf->rxmode.offloads, d->tx_offloads,
                   conf->txmode.offloads, d->rss_hf, conf->rx_adv_conf.rss_conf.rss_hf);
}

// Super-packets that the guest behind it takes. Known once it is connected.
static uint8_t read_guest_supers(const struct port_device *d)
{
    const uint64_t both = 1ull << VIRTIO_NET_F_GUEST_TSO4 | 1ull << VIRTIO_NET_F_GUEST_TSO6;
    int vid = rte_eth_vhost_get_vid_from_port_id(d->id);
    uint64_t features;

    return vid >= 0 && !rte_vhost_get_negotiated_features(vid, &features) &&
                   (features & both) == both
               ? SUPER_TCP
               : 0;
}

static void read_supers(struct port_device *d)
{
    d->leaves_offloads = !is_socket(d) && (d->kernel_link.name[0] || d->receives_supers);
    if (is_socket(d))
        d->sends_supers = packet_socket_sends_udp() ? SUPER_TCP | SUPER_UDP : SUPER_TCP;
    else
        d->sends_supers = d->tx_offloads & RTE_ETH_TX_OFFLOAD_TCP_TSO ? SUPER_TCP : 0;
}

static void choose_descriptors(struct port_device *d)
{
    uint16_t rx = d->config.rx_descriptors ? d->config.rx_descriptors : 1024;
    uint16_t tx = d->config.tx_descriptors ? d->config.tx_descriptors : 1024;
    uint16_t rx_wish = rx, tx_wish = tx;

    // An error means a driver without limits.
    if (rte_eth_dev_adjust_nb_rx_tx_desc(d->id, &rx, &tx))
        rx = rx_wish, tx = tx_wish;
    if (rx != rx_wish || tx != tx_wish)
        log_notice(
            "port_manager: number of descriptors adjusted to the device: port=%s rx=%u/%u tx=%u/%u",
            d->config.name, rx, rx_wish, tx, tx_wish);
    d->config.rx_descriptors = rx;
    d->config.tx_descriptors = tx;
}

static int take_pool(struct port_device *d, uint16_t room, char *err, size_t err_size)
{
    unsigned n = pool_size(&d->config);

    d->pool = port_pool_get(n, room, rte_eth_dev_socket_id(d->id),
                            devargs_is_driver(d->config.devargs, "net_af_xdp"));
    if (d->pool)
        return 0;
    int e = errno;
    snprintf(err, err_size,
             "no memory for its %u packet buffers (%lu MiB of %u MiB in total): increase memory, "
             "or use fewer queues and "
             "descriptors",
             n, port_pool_bytes(n, room) >> 20, eal_memory_mib());
    return -e;
}

// No two entries of a memif's rings may share a buffer.
static int check_memif_rings(const struct port_device *d, char *err, size_t err_size)
{
    unsigned places =
        devargs_memif_entries(d->config.devargs, d->config.rx_queues + d->config.tx_queues);

    if (places <= MEMIF_ENTRIES_MAX)
        return 0;
    snprintf(err, err_size,
             "the rings of its %u receive and %u transmit queues have %u entries, more than the %u "
             "that net_memif supports, "
             "so packets would overwrite each other; set fewer rx-queues and tx-queues, a smaller "
             "rsize=, or zero-copy=yes",
             d->config.rx_queues, d->config.tx_queues, places, MEMIF_ENTRIES_MAX);
    return -EINVAL;
}

static int configure_device(struct port_device *d, unsigned workers, char *err, size_t err_size)
{
    struct rte_eth_dev_info info;
    int r = rte_eth_dev_info_get(d->id, &info);

    if (r) {
        snprintf(err, err_size, "the driver gives no information about it: %s", strerror(-r));
        return r;
    }
    snprintf(d->driver, sizeof d->driver, "%s", is_socket(d) ? "net_af_packet" : info.driver_name);
    // The driver reports 2 for all its cards, but older cards have one; it never sets up RSS.
    bool has_one_queue = !strcmp(d->driver, "net_e1000_em");
    d->max_rx_queues = has_one_queue ? 1 : info.max_rx_queues;
    d->max_tx_queues = has_one_queue ? 1 : info.max_tx_queues;
    d->has_lsc = info.dev_flags && *info.dev_flags & RTE_ETH_DEV_INTR_LSC && !lacks_interrupts(d) &&
                 !lacks_link_interrupt(d);
    d->config.rx_queues = clamp_queues(&d->config, "rx-queues", d->config.rx_queues, workers,
                                       RTE_MIN(d->max_rx_queues, QUEUE_MAX));
    d->config.tx_queues = clamp_queues(&d->config, "tx-queues", d->config.tx_queues, workers,
                                       RTE_MIN(d->max_tx_queues, QUEUE_MAX));
    r = choose_mtu(d, &info, err, err_size);
    if (!r)
        r = check_memif_rings(d, err, err_size);
    if (r)
        return r;
    choose_descriptors(d);
    d->receives_supers = brings_supers(d, &info);
    uint16_t room = choose_buffer(d, &info, &d->scatter);
    d->fast_free = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE &&
                   rte_socket_count() == 1 &&
                   d->config.mtu + FRAME_OVERHEAD + RTE_PKTMBUF_HEADROOM <=
                       rte_pktmbuf_data_room_size(exchange_pool);
    struct rte_eth_conf conf = choose_conf(d, &info);
    eal_complaint_clear();
    r = try_configure(d, &conf);
    if (!r) {
        choose_descriptors(d); // limits may depend on the configuration
        r = take_pool(d, room, err, err_size);
        if (r)
            return r;
        r = setup_queues(d, &info, &conf);
    }
    if (r) {
        char why[300];
        port_probe_explain_rights(d->config.devargs, why, sizeof why);
        snprintf(err, err_size, "the driver %s rejects the configuration: %s (DPDK says: %s)",
                 d->driver, why[0] ? why : strerror(-r),
                 eal_complaint()[0] ? eal_complaint() : "nothing");
        return r;
    }
    read_back_offloads(d, &conf);
    read_supers(d);
    d->conf = conf;
    return 0;
}

static int accept_unsupported(int r)
{
    return r == -ENOTSUP || r == -ENOSYS ? 0 : r;
}

// Makes a local MAC for virtual devices without one; it depends only on the port's name, so it is
// the same at each start.
static void make_local_mac(struct rte_ether_addr *mac, const char *name)
{
    uint64_t h = hash_bytes(name, strlen(name), 0);

    memcpy(mac->addr_bytes, &h, sizeof mac->addr_bytes);
    mac->addr_bytes[0] =
        (uint8_t)((mac->addr_bytes[0] | RTE_ETHER_LOCAL_ADMIN_ADDR) & ~RTE_ETHER_GROUP_ADDR);
}

static int read_mac(const struct port_device *d, struct rte_ether_addr *mac)
{
    return d->sockets ? kernel_link_mac(&d->kernel_link, mac->addr_bytes)
                      : rte_eth_macaddr_get(d->id, mac);
}

static int apply_mtu(const struct port_device *d, uint16_t mtu)
{
    return d->sockets ? kernel_link_set_mtu(&d->kernel_link, mtu) : rte_eth_dev_set_mtu(d->id, mtu);
}

// Sets values that drivers accept only after their queues are set up.
static int set_mac_mtu_promiscuous(struct port_device *d, char *err, size_t err_size)
{
    struct rte_ether_addr mac;
    int r = read_mac(d, &mac);

    if (!r) {
        if (!rte_is_valid_assigned_ether_addr(&mac))
            make_local_mac(&mac, d->config.name);
        memcpy(d->mac_own, mac.addr_bytes, sizeof d->mac_own);
        if (d->config.has_mac)
            r = port_device_set_mac(d, d->config.mac);
        else
            memcpy(d->config.mac, d->mac_own, sizeof d->config.mac);
    }
    if (r) {
        snprintf(err, err_size, "cannot set its MAC address: %s", strerror(-r));
        return r;
    }
    r = accept_unsupported(apply_mtu(d, d->config.mtu));
    if (r) {
        snprintf(err, err_size, "cannot set MTU %u: %s", d->config.mtu, strerror(-r));
        return r;
    }
    kernel_link_keep(&d->kernel_link);
    r = port_device_set_promiscuous(d, d->config.promiscuous);
    if (r)
        log_warning("port_manager: promiscuous mode not set: port=%s error=%s", d->config.name,
                    LOG_VALUE(strerror(-r)));
    return 0;
}

static int open_sockets(struct port_device *d, char *err, size_t err_size)
{
    int r =
        packet_socket_open(&(struct packet_socket_settings){.port = d->id,
                                                            .ifindex = d->kernel_link.ifindex,
                                                            .n_rx = d->config.rx_queues,
                                                            .n_tx = d->config.tx_queues,
                                                            .mtu = d->config.mtu,
                                                            .descriptors = d->config.rx_descriptors,
                                                            .pool = d->pool},
                           &d->sockets);

    if (r)
        snprintf(err, err_size, "cannot open packet sockets on %s: %s", d->kernel_link.name,
                 strerror(-r));
    return r;
}

static void remove_device(struct port_device *d)
{
    packet_socket_close(d->sockets);
    d->sockets = NULL;
    port_probe_remove(d->id);
}

static int open_device_in_netns(struct port_device *d, unsigned workers, char *err, size_t err_size)
{
    char devargs[sizeof d->config.devargs + 64], name[16];
    unsigned queues =
        d->config.rx_queues > d->config.tx_queues ? d->config.rx_queues : d->config.tx_queues;

    devargs_kernel_link(d->config.devargs, name, sizeof name);
    if (name[0] && workers > SOCKET_QUEUES) // each costs kernel rings; more is no faster
        workers = SOCKET_QUEUES;
    int r = devargs_complete(d->config.devargs, queues ? queues : workers, d->config.rx_descriptors,
                             devargs, sizeof devargs);
    if (r) {
        snprintf(err, err_size, "its device arguments are too long");
        return r;
    }
    if (name[0])
        r = kernel_link_take(&d->kernel_link, name, d->config.netns, err, err_size);
    if (r)
        return r;
    r = port_probe(devargs, d->config.devargs, &d->id, err, err_size);
    if (!r) {
        r = configure_device(d, workers, err, err_size);
        if (!r && is_socket(d))
            r = open_sockets(d, err, err_size);
        if (!r)
            r = set_mac_mtu_promiscuous(d, err, err_size);
        if (r)
            remove_device(d);
    }
    return r;
}

int port_device_open(struct port_device *d, const struct port_config *cfg, unsigned workers,
                     char *err, size_t err_size)
{
    char why[480] = "";

    *d = (struct port_device){.config = *cfg, .netns = NETNS_OWN, .kernel_link.sock = -1};
    int r = netns_open(cfg->netns, &d->netns, why, sizeof why);
    int back = r ? r : netns_enter(d->netns);
    if (!r && back < 0) {
        r = back;
        snprintf(why, sizeof why, "cannot enter network namespace %s: %s", cfg->netns,
                 strerror(-r));
    }
    if (!r) {
        r = open_device_in_netns(d, workers, why, sizeof why);
        netns_leave(back);
    }
    if (!r)
        return 0;
    snprintf(err, err_size, "port %s: %s", cfg->name, why);
    port_pool_put(d->pool, pool_size(&d->config));
    kernel_link_release(&d->kernel_link, d->netns);
    netns_close(d->netns);
    d->pool = NULL;
    d->netns = NETNS_OWN;
    return r;
}

void port_device_close(struct port_device *d)
{
    int back = netns_enter(d->netns);

    remove_device(d);
    netns_leave(back);
    port_pool_put(d->pool, pool_size(&d->config));
    kernel_link_release(&d->kernel_link, d->netns);
    netns_close(d->netns);
}

// --- while it is open ---

// No driver tells whether it has receive interrupts; some refuse to start with them.
static int start_polled(struct port_device *d)
{
    struct rte_eth_dev_info info;

    d->rx_interrupt = false;
    d->conf.intr_conf.rxq = 0;
    int r = rte_eth_dev_info_get(d->id, &info);
    if (!r)
        r = rte_eth_dev_configure(d->id, d->config.rx_queues, d->config.tx_queues, &d->conf);
    if (!r)
        r = setup_queues(d, &info, &d->conf);
    return r ? r : rte_eth_dev_start(d->id);
}

bool port_device_calls_once(const struct port_device *d)
{
    char path[256];

    return devargs_is_driver(d->config.devargs, "net_memif") &&
           devargs_socket(d->config.devargs, path, sizeof path) == DEVARGS_SOCKET_CALLS;
}

static bool peer_socket_is_closed(const struct port_device *d)
{
    char path[256];

    if (!port_device_calls_once(d))
        return false;
    devargs_socket(d->config.devargs, path, sizeof path);
    return !port_socket_is_taken(path);
}

int port_device_start(struct port_device *d, char *err, size_t err_size)
{
    int back = netns_enter(d->netns);

    eal_complaint_clear();
    int r = back < 0 ? back : peer_socket_is_closed(d) ? -ENOTCONN : rte_eth_dev_start(d->id);
    if (r && r != -ENOTCONN && back >= 0 && d->rx_interrupt)
        r = start_polled(d);
    netns_leave(back);
    if (!r)
        port_wait_open(d);
    else
        snprintf(err, err_size, "cannot start port %s: %s%s%s", d->config.name, strerror(-r),
                 eal_complaint()[0] ? ", DPDK says: " : "", eal_complaint());
    return r;
}

void port_device_stop(struct port_device *d)
{
    int back = netns_enter(d->netns);

    port_wait_close(d);
    int r = rte_eth_dev_stop(d->id);

    netns_leave(back);
    if (r)
        log_warning("port_manager: the driver did not stop: port=%s error=%s", d->config.name,
                    LOG_VALUE(strerror(-r)));
}

int port_device_set_mtu(struct port_device *d, uint16_t mtu)
{
    unsigned frame = mtu + FRAME_OVERHEAD + RTE_PKTMBUF_HEADROOM;

    if (mtu > d->mtu_max)
        return -EINVAL;
    if ((!d->scatter && frame > rte_pktmbuf_data_room_size(d->pool)) ||
        (d->fast_free && frame > rte_pktmbuf_data_room_size(exchange_pool)))
        return -EBUSY; // needs larger buffers
    int back = netns_enter(d->netns);
    int r = back < 0 ? back : apply_mtu(d, mtu);
    if (back >= 0)
        kernel_link_keep(&d->kernel_link); // before the kernel's duplicate-address probe
    netns_leave(back);
    if (!r)
        d->config.mtu = mtu;
    return r;
}

void port_device_keep(const struct port_device *d)
{
    int back = netns_enter(d->netns);

    if (back >= 0)
        kernel_link_keep(&d->kernel_link);
    netns_leave(back);
}

static int apply_promiscuous(struct port_device *d)
{
    bool on = d->config.promiscuous || d->force_promiscuous;

    if (d->sockets)
        return packet_socket_set_promiscuous(d->sockets, on);
    int back = netns_enter(d->netns);
    int r = back < 0 ? back
            : on     ? rte_eth_promiscuous_enable(d->id)
                     : rte_eth_promiscuous_disable(d->id);

    if (!on && !r) // routing protocols and neighbor discovery need multicast
        r = rte_eth_allmulticast_enable(d->id);
    netns_leave(back);
    return accept_unsupported(r);
}

int port_device_set_promiscuous(struct port_device *d, bool on)
{
    d->config.promiscuous = on;
    return apply_promiscuous(d);
}

void port_device_force_promiscuous(struct port_device *d, bool on)
{
    if (d->force_promiscuous == on)
        return;
    d->force_promiscuous = on;
    int r = apply_promiscuous(d);
    if (r)
        log_warning("port_manager: promiscuous mode not set, frames to virtual MACs may be lost: "
                    "port=%s error=%s",
                    d->config.name, LOG_VALUE(strerror(-r)));
    else if (!d->config.promiscuous)
        log_notice("port_manager: promiscuous %s: port=%s",
                   on ? "because of additional MACs" : "no longer", d->config.name);
}

int port_device_set_mac(struct port_device *d, const uint8_t mac[6])
{
    struct rte_ether_addr a;

    memcpy(a.addr_bytes, mac, sizeof a.addr_bytes);
    int back = netns_enter(d->netns);
    int r = back < 0     ? back
            : d->sockets ? kernel_link_set_mac(&d->kernel_link, mac)
                         : rte_eth_dev_default_mac_addr_set(d->id, &a);
    netns_leave(back);
    if (!r)
        memcpy(d->config.mac, mac, sizeof d->config.mac);
    return r;
}

bool port_device_link(struct port_device *d, struct rte_eth_link *link)
{
    bool by_kernel = d->kernel_link.name[0];
    // Drivers on a kernel interface do not read its link here; they always report "up".
    int back = netns_enter(by_kernel ? NETNS_OWN : d->netns);

    memset(link, 0, sizeof *link);
    int r = back < 0 ? back : rte_eth_link_get_nowait(d->id, link);
    netns_leave(back);

    bool up = !r && link->link_status == RTE_ETH_LINK_UP &&
              (!by_kernel || kernel_link_has_carrier(&d->kernel_link));
    if (up && is_vhost(d))
        d->sends_supers = read_guest_supers(d);
    return up;
}
