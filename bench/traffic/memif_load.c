// SPDX-License-Identifier: BSD-3-Clause
// memif_load.c - sends packets into a router by one memif port and counts them behind it by another
//
// What packet_load does on veth, without a system call per burst: shared memory
// between two processes. The first DPDK port sends, the second receives; both
// by the same thread, which spins. The peers stay connected from trial to trial:
// each line "PPS SECONDS" on standard input (PPS 0 = as fast as possible) makes
// one, and prints one JSON object (load.h).
//
//     memif_load EAL-OPTIONS -- --to ROUTER-MAC --source A --destination B [--destinations N] [--bytes 64]
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#undef NS_PER_S // DPDK's and base/clock.h's are the same number
#include "base/clock.h"
#include "traffic/load.h"

#define BURST 32
#define DESCRIPTORS 1024
#define MBUFS 8191
#define LINK_WAIT_NS (5 * NS_PER_S)
#define REST_NS (200 * NS_PER_MS)

static struct load_packet load = {.n_destinations = 256, .bytes = LOAD_FRAME_MIN};
static uint64_t first; // sequence number of this trial's first packet
static const uint16_t out = 0, in = 1;

static void die(const char *what)
{
    rte_exit(1, "memif_load: %s\n", what);
}

static struct rte_mempool *open_ports(void)
{
    struct rte_mempool *pool = rte_pktmbuf_pool_create("load", MBUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
    struct rte_eth_conf conf = {0};

    if (!pool)
        die("no memory for packets");
    if (rte_eth_dev_count_avail() < 2)
        die("two ports are needed: --vdev net_memif0,… --vdev net_memif1,…");
    for (uint16_t p = out; p <= in; p++) {
        if (rte_eth_dev_configure(p, 1, 1, &conf) ||
            rte_eth_rx_queue_setup(p, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL, pool) ||
            rte_eth_tx_queue_setup(p, 0, DESCRIPTORS, SOCKET_ID_ANY, NULL) || rte_eth_dev_start(p))
            die("a port does not start");
    }
    return pool;
}

static void wait_connected(void)
{
    uint64_t end = clock_now_ns() + LINK_WAIT_NS;

    for (uint16_t p = out; p <= in; p++) {
        struct rte_eth_link l = {0};

        while (rte_eth_link_get_nowait(p, &l), l.link_status != RTE_ETH_LINK_UP) {
            if (clock_now_ns() > end)
                die("no peer connects to a memif within 5 s: is the router running?");
            rte_delay_us_sleep(1000);
        }
    }
}

// --- the loop ---

static unsigned drain(uint16_t port, struct load_count *c)
{
    struct rte_mbuf *m[BURST];
    uint16_t n = rte_eth_rx_burst(port, 0, m, BURST);

    for (uint16_t i = 0; i < n; i++) {
        uint64_t seq;

        if (c && load_read(rte_pktmbuf_mtod(m[i], uint8_t *), rte_pktmbuf_data_len(m[i]), &seq) && seq >= first)
            load_receive(c, seq);
    }
    rte_pktmbuf_free_bulk(m, n);
    return n;
}

static unsigned send_burst(struct rte_mempool *pool, uint64_t seq, unsigned n)
{
    struct rte_mbuf *m[BURST];
    uint16_t sent;

    if (rte_pktmbuf_alloc_bulk(pool, m, n))
        return 0;
    for (unsigned i = 0; i < n; i++) {
        load_write(&load, rte_pktmbuf_mtod(m[i], uint8_t *), seq + i);
        m[i]->data_len = (uint16_t)load.bytes;
        m[i]->pkt_len = (uint32_t)load.bytes;
    }
    sent = rte_eth_tx_burst(out, 0, m, (uint16_t)n);
    // A full ring is backpressure, not loss: the packet counts when it has gone.
    if (sent < n)
        rte_pktmbuf_free_bulk(m + sent, n - sent);
    return sent;
}

static unsigned due(double rate, uint64_t elapsed_ns, uint64_t sent)
{
    uint64_t wanted;

    if (rate <= 0)
        return BURST;
    wanted = (uint64_t)((double)elapsed_ns * rate / NS_PER_S);
    return wanted < sent + BURST ? 0 : BURST;
}

static void trial(struct rte_mempool *pool, double rate, double seconds)
{
    struct load_count c = {0};
    uint64_t begun = clock_now_ns(), end = begun + (uint64_t)(seconds * NS_PER_S), now = begun, last, sending;

    while (now < end) {
        unsigned n = due(rate, now - begun, c.sent);

        if (n)
            c.sent += send_burst(pool, first + c.sent, n);
        drain(in, &c);
        drain(out, NULL); // what the router sends this way (ICMP, ARP) must not fill the ring
        now = clock_now_ns();
    }
    sending = now - begun;
    for (last = now; now - last < REST_NS && c.received < c.sent; now = clock_now_ns())
        if (drain(in, &c))
            last = now;
    first += c.sent;
    load_print(&c, (double)sending / NS_PER_S, rate);
    fflush(stdout);
}

static void read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"to", 1, 0, 't'},    {"source", 1, 0, 'a'}, {"destination", 1, 0, 'b'}, {"destinations", 1, 0, 'n'},
        {"bytes", 1, 0, 'l'}, {0, 0, 0, 0}};
    int c;

    optind = 1;
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
        switch (c) {
        case 't': load_parse_mac(optarg, load.dst_mac); break;
        case 'a': load.src = load_parse_ip4(optarg); break;
        case 'b': load.dst = load_parse_ip4(optarg); break;
        case 'n': load.n_destinations = (uint32_t)strtoul(optarg, NULL, 10); break;
        case 'l': load.bytes = strtoul(optarg, NULL, 10) - 4; break;
        default: die("unknown option");
        }
    }
    if (!load.src || !load.dst || !load.n_destinations || load.bytes < LOAD_FRAME_MIN || load.bytes > LOAD_FRAME_MAX)
        die("needed: --to MAC --source A --destination B [--bytes 64..1518]");
}

int main(int argc, char **argv)
{
    struct rte_mempool *pool;
    struct rte_ether_addr mac;
    char line[80];
    int n = rte_eal_init(argc, argv);

    if (n < 0)
        die("DPDK does not start with these options");
    read_options(argc - n, argv + n);
    pool = open_ports();
    rte_eth_macaddr_get(out, &mac);
    memcpy(load.src_mac, mac.addr_bytes, 6);
    wait_connected();
    while (fgets(line, sizeof(line), stdin)) {
        double rate, seconds;

        if (sscanf(line, "%lf %lf", &rate, &seconds) != 2)
            die("expected PACKETS-PER-SECOND SECONDS on standard input");
        trial(pool, rate, seconds);
    }
    for (uint16_t p = out; p <= in; p++) {
        rte_eth_dev_stop(p);
        rte_eth_dev_close(p);
    }
    rte_eal_cleanup();
    return 0;
}
