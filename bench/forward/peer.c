// SPDX-License-Identifier: BSD-3-Clause
// peer.c - the least that a program can do as an IPv4 forwarder
//
// A yardstick for forward_bench, measured in the same rounds: DPDK's DIR-24-8 (rte_fib, widest
// vector kernel) in bursts of 64, TTL and checksum, 12 bytes of new header, one array per port. No
// interfaces, VLANs, martians, MTU, next-hop kinds, counters: kamueed's cost above it is the price
// of being a router.
#include <rte_ethdev.h>
#include <rte_fib.h>
#include <rte_prefetch.h>
#include <string.h>

#include "forward/peer.h"

#define PORTS 4

static struct rte_fib *fib;
static uint16_t port_id[PORTS];
static struct adjacency {
    uint8_t mac[12];
    uint32_t port; // index in port_id
} __attribute__((aligned(16))) adjacency[256];

int peer_make(const struct table *t, const uint16_t *ports, unsigned n_next_hops)
{
    struct rte_fib_conf conf = {.type = RTE_FIB_DIR24_8, .max_routes = 1 << 20,
                                .dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_2B, .num_tbl8 = 1 << 14}};

    memcpy(port_id, ports, sizeof port_id);
    for (unsigned k = 0; k < n_next_hops; k++) {
        memcpy(adjacency[k + 1].mac,
               (uint8_t[12]){2, 0, 0, 2, 0, (uint8_t)k, 2, 0, 0, 1, 0, (uint8_t)(k % PORTS)}, 12);
        adjacency[k + 1].port = k % PORTS;
    }
    fib = rte_fib_create("peer", SOCKET_ID_ANY, &conf);
    if (!fib)
        return -1;
    for (size_t i = 0; i < t->n; i++) {
        uint32_t key;
        memcpy(&key, t->route[i].key, 4);
        if (rte_fib_add(fib, rte_be_to_cpu_32(key), t->route[i].len, t->route[i].value))
            return -1;
    }
    return rte_fib_select_lookup(fib, RTE_FIB_LOOKUP_DEFAULT);
}

unsigned peer_poll(void)
{
    struct rte_mbuf *pkt[64], *out[PORTS][64];
    uint32_t dst[64];
    uint64_t nh[64];
    unsigned n_out[PORTS], sent = 0;

    for (unsigned p = 0; p < 2; p++) {
        uint16_t n = rte_eth_rx_burst(port_id[p], 0, pkt, 64);
        memset(n_out, 0, sizeof n_out);
        for (unsigned i = 0; i < 8 && i < n; i++)
            rte_prefetch0(rte_pktmbuf_mtod(pkt[i], void *));
        for (unsigned i = 0; i < n; i++) {
            if (i + 8 < n)
                rte_prefetch0(rte_pktmbuf_mtod(pkt[i + 8], void *));
            memcpy(&dst[i], rte_pktmbuf_mtod(pkt[i], uint8_t *) + 30, 4);
            dst[i] = rte_be_to_cpu_32(dst[i]);
        }
        rte_fib_lookup_bulk(fib, dst, nh, n);
        for (unsigned i = 0; i < n; i++) {
            const struct adjacency *a = &adjacency[nh[i]];
            uint8_t *f = rte_pktmbuf_mtod(pkt[i], uint8_t *);
            uint16_t sum;
            memcpy(f, a->mac, 12);
            f[22]--;
            memcpy(&sum, f + 24, 2);
            sum = (uint16_t)(sum + 1 + (sum >= 0xfffe));
            memcpy(f + 24, &sum, 2);
            out[a->port][n_out[a->port]++] = pkt[i];
        }
        for (unsigned k = 0; k < PORTS; k++)
            if (n_out[k])
                sent += rte_eth_tx_burst(port_id[k], 0, out[k], (uint16_t)n_out[k]);
    }
    return sent;
}
