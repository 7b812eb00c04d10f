// SPDX-License-Identifier: BSD-3-Clause
// rules.c - synthetic access lists of known kinds
//
// acl: a server's list, most rules for hosts and services; fw: a perimeter's list, wide on one
// side; ipc: between hosts. Addresses come from a tree of /16s, /24s and hosts (IPv6: /48s, /64s,
// interfaces), so that they nest and cluster. The tables are hand-made mixtures. A blocklist has
// hosts and networks by source only, most of them in bad neighborhoods; `hosts` is a blocklist of
// ordinary rules with more mixed lengths (IPv4: /8 to /32).
#include <stdlib.h>
#include <string.h>

#include "acl/acl_bench.h"
#include "base/hash.h"

const char *const shape_name[N_SHAPES] = {"one", "acl", "fw", "ipc", "blocklist", "hosts"};

static uint64_t state;

static uint64_t random_next(void)
{
    state += 0x9e3779b97f4a7c15u;
    return hash_mix64(state);
}

static double random_unit(void)
{
    return (double)(random_next() >> 11) * 0x1p-53;
}

static unsigned random_below(unsigned n)
{
    return (unsigned)((random_next() >> 32) * n >> 32);
}

// --- addresses: 128 bits, IPv4 in the first 32 ---

struct addr {
    uint64_t hi, lo;
};

struct space {
    unsigned family;
    size_t n16, n24, cap24;
    uint64_t *net16, *net24; // the first 64 bits
};

static void space_init(struct space *s, unsigned family, size_t n, bool blocklist)
{
    static const uint64_t top6[] = {0x2001, 0x2400, 0x2600, 0x2800, 0x2a00};

    s->family = family;
    s->n16 = n / 4096 > 8 ? n / 4096 : 8;
    s->cap24 = n / (blocklist ? 8 : 24) > 32 ? n / (blocklist ? 8 : 24) : 32;
    s->n24 = 0;
    s->net16 = malloc(s->n16 * sizeof *s->net16);
    s->net24 = malloc(s->cap24 * sizeof *s->net24);
    for (size_t i = 0; i < s->n16; i++)
        s->net16[i] = family == 4
                          ? (uint64_t)(1 + random_below(223)) << 56 | (random_next() & 255) << 48
                          : top6[random_below(5)] << 48 | (random_next() & 0xffff) << 32;
}

static void space_fini(struct space *s)
{
    free(s->net16);
    free(s->net24);
}

static struct addr space_pick(struct space *s)
{
    uint64_t net;

    if (s->n24 < s->cap24 && (!s->n24 || random_unit() < 0.15)) {
        net = s->net16[random_below((unsigned)s->n16)] |
              (s->family == 4 ? (random_next() & 255) << 40 : random_next() & UINT32_MAX);
        s->net24[s->n24++] = net;
    } else {
        double u = random_unit(), v = random_unit();
        net = s->net24[(size_t)((double)s->n24 *
                                (u < v ? u : v))]; // some are more crowded than others
    }
    if (s->family == 4)
        return (struct addr){net | (random_next() & 255) << 32, 0};
    return (struct addr){net, random_unit() < 0.3 ? random_next() : random_next() & 1023};
}

static struct addr address_anywhere(unsigned family)
{
    if (family == 4)
        return (struct addr){((1ull << 24) + random_below(223u << 24)) << 32, 0};
    return (struct addr){2ull << 60 | random_next() >> 4, random_next()};
}

static void side_set(struct acl_side *side, struct addr a, unsigned len)
{
    uint64_t hi = len >= 64 ? a.hi : len ? a.hi & UINT64_MAX << (64 - len) : 0;
    uint64_t lo = len >= 128 ? a.lo : len > 64 ? a.lo & UINT64_MAX << (128 - len) : 0;

    hi = __builtin_bswap64(hi);
    lo = __builtin_bswap64(lo);
    memcpy(side->addr, &hi, 8);
    memcpy(side->addr + 8, &lo, 8);
    side->len = (uint8_t)len;
}

// --- the mixtures ---

struct share {
    uint8_t src, dst;
    uint8_t weight;
};
static const struct share shares[N_SHAPES][16] = {
    [SHAPE_ACL] = {{32, 32, 30}, {24, 32, 14}, {0, 32, 8}, {32, 24, 6}, {24, 24, 10}, {28, 32, 6},
                   {16, 32, 4}, {27, 27, 5}, {23, 32, 3}, {30, 30, 3}, {20, 24, 4}, {16, 24, 3},
                   {22, 26, 2}, {29, 32, 2}},
    [SHAPE_FW] = {{0, 32, 24}, {32, 0, 12}, {0, 24, 10}, {24, 0, 5}, {32, 32, 16}, {24, 32, 10},
                  {16, 16, 4}, {0, 28, 6}, {28, 0, 2}, {26, 32, 6}, {20, 20, 3}, {8, 24, 2}},
    [SHAPE_IPC] = {{32, 32, 38}, {24, 24, 10}, {0, 32, 7}, {32, 0, 5}, {27, 27, 6}, {32, 24, 9},
                   {24, 32, 9}, {0, 24, 3}, {30, 32, 5}, {16, 24, 4}, {25, 28, 4}},
};
static const struct share blocked4[16] = {{32, 0, 164}, {24, 0, 18}, {22, 0, 4}, {23, 0, 3},
                                          {20, 0, 2},   {16, 0, 1},  {29, 0, 4}, {28, 0, 4}};
static const struct share blocked6[16] = {
    {128, 0, 55}, {64, 0, 25}, {48, 0, 12}, {56, 0, 5}, {32, 0, 3}};
#define WIDE 0.0005 // share of `hosts` that is wider than all others
static const uint16_t service[] = {80,   443,  53,   22,   25,   123,  110,  143,  161,  162,  179,
                                   389,  445,  465,  514,  587,  636,  993,  995,  1433, 1521, 1723,
                                   3306, 3389, 5060, 5432, 6379, 8080, 8443, 9200, 27017};

static const struct share *share_pick(const struct share *s)
{
    unsigned all = 0, at;

    for (unsigned i = 0; i < 16; i++)
        all += s[i].weight;
    for (at = random_below(all); at >= s->weight; s++)
        at -= s->weight;
    return s;
}

static uint16_t service_pick(void) // the first ones are the common ones
{
    double u = random_unit();

    return service[(unsigned)(u * u * (sizeof service / sizeof *service))];
}

static unsigned length_of(unsigned len4, unsigned family)
{
    static const uint8_t len6[33] = {
        [8] = 29,  [16] = 32, [20] = 40, [22] = 44, [23] = 46, [24] = 48, [25] = 48,
        [26] = 52, [27] = 56, [28] = 60, [29] = 64, [30] = 64, [32] = 128};

    if (len4 > 9 && random_unit() < 0.1) // a few odd lengths
        len4 -= 1 + random_below(3);
    return family == 4 ? len4 : len6[len4] || !len4 ? len6[len4] : len4 * 2;
}

static void ports_pick(struct acl_rule *r, enum shape shape)
{
    double p = random_unit(), q = random_unit();

    if (p < 0.12) {
        r->proto_any = p >= 0.06;
        r->proto = r->proto_any ? 0 : 1;
        return;
    }
    r->proto_any = false;
    r->proto = random_unit() < (shape == SHAPE_IPC ? 0.6 : 0.8) ? 6 : 17;
    if (q < 0.70)
        r->dport[0] = r->dport[1] = service_pick();
    else if (q < 0.80)
        r->dport[0] = r->dport[1] = (uint16_t)(1024 + random_below(64512));
    else if (q < 0.87)
        r->dport[0] = 1024;
    else if (q < 0.92) {
        static const uint16_t more[] = {1, 3, 9, 99, 999, 4095};
        r->dport[0] = (uint16_t)(1024 + random_below(58976));
        r->dport[1] = (uint16_t)(r->dport[0] + more[random_below(6)]);
    }
    q = random_unit();
    if (q >= 0.94)
        r->sport[0] = r->sport[1] = service_pick();
    else if (q >= (shape == SHAPE_ACL ? 0.90 : 0.75))
        r->sport[0] = 1024;
}

// --- sets of rules ---

struct made {
    struct acl_rule rule;
    double order;
};

static bool is_new(uint64_t *seen, size_t mask, const struct acl_rule *r)
{
    uint64_t h = hash_bytes(&r->src, sizeof r->src, 1) ^ hash_bytes(&r->dst, sizeof r->dst, 2) ^
                 hash_mix64((uint64_t)r->sport[0] << 48 | (uint64_t)r->sport[1] << 32 |
                            (uint64_t)r->dport[0] << 16 | r->dport[1]) ^
                 hash_mix64(r->proto + 256u * r->proto_any) * 3;

    for (size_t at = h & mask;; at = (at + 1) & mask) {
        if (seen[at] == (h | 1))
            return false;
        if (!seen[at]) {
            seen[at] = h | 1;
            return true;
        }
    }
}

static unsigned host_length(unsigned family)
{
    if (random_unit() < WIDE)
        return (family == 4 ? 8 : 20) + random_below(8);
    return family == 4 ? length_of(share_pick(blocked4)->src, 4) : share_pick(blocked6)->src;
}

static void rule_make(struct acl_rule *r, enum shape shape, unsigned family, struct space *src,
                      struct space *dst)
{
    acl_rule_init(r, 0, family == 4 ? ACL_IP4 : ACL_IP6);
    if (shape == SHAPE_BLOCKLIST) {
        side_set(&r->src, random_unit() < 0.7 ? space_pick(src) : address_anywhere(family),
                 share_pick(family == 4 ? blocked4 : blocked6)->src);
        return;
    }
    if (shape == SHAPE_HOSTS) {
        side_set(&r->src, random_unit() < 0.7 ? space_pick(src) : address_anywhere(family),
                 host_length(family));
        return;
    }
    const struct share *s = share_pick(shares[shape == SHAPE_ONE ? SHAPE_ACL : shape]);
    side_set(&r->src, space_pick(src), length_of(s->src, family));
    side_set(&r->dst, space_pick(dst), length_of(s->dst, family));
    ports_pick(r, shape);
}

static int by_order(const void *a, const void *b)
{
    double x = ((const struct made *)a)->order, y = ((const struct made *)b)->order;

    return (x > y) - (x < y);
}

static void prefixes_make(struct rules *r)
{
    r->prefix = calloc(r->n, sizeof *r->prefix);
    for (size_t i = 0; i < r->n; i++) {
        r->prefix[i] = (struct prefix){.len = r->rule[i].src.len, .family = (uint8_t)r->family};
        memcpy(r->prefix[i].b, r->rule[i].src.addr, 16);
    }
}

void rules_make(struct rules *r, enum shape shape, unsigned family, size_t n, uint64_t seed)
{
    struct made *made = malloc(n * sizeof *made);
    struct space src, dst;
    size_t slots = 2;

    state = seed * 1000003 + shape * 101 + family;
    while (slots < n * 2)
        slots *= 2;
    uint64_t *seen = calloc(slots, sizeof *seen);
    space_init(&src, family, n, shape == SHAPE_BLOCKLIST || shape == SHAPE_HOSTS);
    space_init(&dst, family, n, false);
    *r = (struct rules){.shape = shape, .family = family};
    for (size_t tries = 0; r->n < n && tries < n * 20; tries++) {
        struct made *m = &made[r->n];
        rule_make(&m->rule, shape, family, &src, &dst);
        if (!is_new(seen, slots - 1, &m->rule))
            continue;
        m->order = -(double)(m->rule.src.len + m->rule.dst.len) +
                   random_unit() * (family == 4 ? 16 : 64); // specific ones first, roughly
        r->n++;
    }
    qsort(made, r->n, sizeof *made, by_order);
    r->rule = malloc(r->n * sizeof *r->rule);
    for (size_t i = 0; i < r->n; i++) {
        r->rule[i] = made[i].rule;
        r->rule[i].number = (uint32_t)(i + 1);
    }
    if (shape == SHAPE_BLOCKLIST || shape == SHAPE_HOSTS)
        prefixes_make(r);
    space_fini(&src);
    space_fini(&dst);
    free(seen);
    free(made);
}

void rules_free(struct rules *r)
{
    free(r->rule);
    free(r->prefix);
    *r = (struct rules){0};
}

uint32_t rules_search(const struct rules *r, const void *key)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->family == 4 ? acl_rule_matches4(&r->rule[i], key, NULL)
                           : acl_rule_matches6(&r->rule[i], key, NULL))
            return r->shape == SHAPE_BLOCKLIST ? 1 : (uint32_t)(i + 1);
    return 0;
}
