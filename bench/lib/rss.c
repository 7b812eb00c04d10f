// SPDX-License-Identifier: BSD-3-Clause
// rss.c - see rss.h
#include "lib/rss.h"

#include <arpa/inet.h>
#include <rte_thash.h>
#include <stdlib.h>
#include <string.h>

#include "lib/frame.h"

#define SOURCE_ADDRESS 0xc0000201u // 192.0.2.1
#define UDP_PORT 9u
#define RETA 128u // entries of a NIC's table from hash to queue

const char *const traffic_pattern_name[TRAFFIC_PATTERNS] = {
    "straight", "cross", "random", "loopback", "prefix", "flows", "ports"};
const char *const traffic_rss_name[TRAFFIC_RSS_N] = {"none", "ip", "all"};

struct flow { // host order
    uint32_t dst;
    uint16_t from_port;
};

// Whether a router may forward it: link-local addresses (RFC 3927) are excluded too.
static bool is_unicast(uint32_t dst)
{
    uint32_t first = dst >> 24;
    return first >= 1 && first < 224 && first != 127 && dst >> 16 != 0xa9fe;
}

static uint32_t address_in(const struct poptrie_route *r, uint32_t random)
{
    uint32_t net, host = r->len ? ~0u >> 1 >> (r->len - 1) : ~0u;

    memcpy(&net, r->key, 4);
    return (ntohl(net) & ~host) | (random & host);
}

static uint32_t address_routed(const struct table *routes)
{
    uint32_t dst;

    do {
        uint64_t r = bench_random();
        dst = address_in(&routes->route[(r >> 32) % routes->n], (uint32_t)r);
    } while (!is_unicast(dst));
    return dst;
}

static uint32_t address_anywhere(bool loopback)
{
    uint32_t dst;

    do
        dst = (uint32_t)(bench_random() >> 16);
    while (!is_unicast(dst) && !(loopback && dst >> 24 == 127));
    return dst;
}

static struct flow flow_of(const struct traffic_of *t, const struct table *routes, unsigned port)
{
    struct flow f = {.from_port = UDP_PORT};
    bool straight = t->pattern == TRAFFIC_STRAIGHT;

    switch (t->pattern) {
    case TRAFFIC_STRAIGHT:
    case TRAFFIC_CROSS:
        f.dst = ((port == 0) == straight ? 0x01000000u : 0x01000400u) | (uint8_t)bench_random();
        break;
    case TRAFFIC_PORTS:
        f.dst = 0x01000001u;
        f.from_port = (uint16_t)(bench_random() >> 16);
        break;
    case TRAFFIC_PREFIX:
    case TRAFFIC_FLOWS:
        f.dst = address_routed(routes);
        break;
    default:
        f.dst = address_anywhere(t->pattern == TRAFFIC_LOOPBACK);
    }
    return f;
}

static unsigned queue_of(const struct traffic_of *t, struct flow f, unsigned n_queues)
{
    static uint8_t key[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                              0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                              0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                              0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
    uint32_t word[3] = {SOURCE_ADDRESS, f.dst, (uint32_t)f.from_port << 16 | UDP_PORT};

    if (t->rss == TRAFFIC_RSS_NONE || n_queues == 1)
        return 0;
    return rte_softrss(word, t->rss == TRAFFIC_RSS_IP ? 2 : 3, key) % RETA % n_queues;
}

static void line_write(uint8_t *p, struct flow f, unsigned bytes)
{
    const uint16_t udp[3] = {htons(f.from_port), htons(UDP_PORT),
                             htons((uint16_t)(bytes - 4 - 34))};
    uint32_t src = htonl(SOURCE_ADDRESS), dst = htonl(f.dst);

    memset(p, 0, SOURCE_LINE);
    memcpy(frame_ether(p), (uint8_t[2]){8, 0}, 2);
    frame_ip4(p + 14, bytes - 4 - 14, &src, &dst);
    memcpy(p + 34, udp, sizeof udp);
}

void traffic_lines(const struct traffic_of *t, const struct table *routes, unsigned port,
                   unsigned n_queues, uint8_t (*line)[SOURCE_LINE], uint32_t *first_of,
                   uint32_t *n_of)
{
    struct flow *flow = malloc(TRAFFIC_LINES * sizeof *flow);
    unsigned n_flows = t->pattern == TRAFFIC_FLOWS ? t->flows : TRAFFIC_LINES;
    uint32_t at[SOURCE_QUEUES] = {0};

    memset(n_of, 0, n_queues * sizeof *n_of);
    for (unsigned i = 0; flow && i < TRAFFIC_LINES; i++) {
        flow[i] = i < n_flows ? flow_of(t, routes, port) : flow[i % n_flows];
        n_of[queue_of(t, flow[i], n_queues)]++;
    }
    for (unsigned q = 0, first = 0; q < n_queues; first += n_of[q++])
        first_of[q] = at[q] = first;
    for (unsigned i = 0; flow && i < TRAFFIC_LINES; i++)
        line_write(line[at[queue_of(t, flow[i], n_queues)]++], flow[i], t->bytes);
    free(flow);
}
