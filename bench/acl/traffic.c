// SPDX-License-Identifier: BSD-3-Clause
// traffic.c - packets for a set of rules, as keys in each engine's layout
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl_bench.h"

#define HOT 16384u
#define HITS_IN_HOT 0.9 // share of the flows that match a rule

const char *const traffic_name[N_TRAFFIC] = {"hot", "scatter", "unlisted", "hostile"};

void packets_init(struct packets *p, unsigned family)
{
    p->family = family;
    p->key =
        memory_huge(PACKETS * (family == 4 ? sizeof(struct acl_key4) : sizeof(struct acl_key6)));
    p->rte =
        memory_huge(PACKETS * (family == 4 ? sizeof(struct rte_key) : sizeof(struct rte_key6)));
    p->ptr = memory_huge(PACKETS * sizeof *p->ptr);
    p->src = memory_huge(PACKETS * (family == 4 ? 4ul : 16ul));
    for (uint32_t i = 0; i < PACKETS; i++)
        p->ptr[i] = (const uint8_t *)p->rte +
                    i * (family == 4 ? sizeof(struct rte_key) : sizeof(struct rte_key6));
}

// --- one packet, in IPv6's form; IPv4 addresses are the first four bytes ---

static void address_anywhere(uint8_t *addr, unsigned family)
{
    uint64_t r[2] = {bench_random(), bench_random()};

    memcpy(addr, r, 16);
    if (family == 6)
        addr[0] = 0x20 | (addr[0] & 15);
    else
        addr[0] = (uint8_t)(1 + addr[0] % 223);
}

static void address_inside(uint8_t *addr, const struct acl_side *s, unsigned family)
{
    uint64_t r[2] = {bench_random(), bench_random()};
    const uint8_t *any = (const uint8_t *)r;

    if (!s->len) {
        address_anywhere(addr, family);
        return;
    }
    for (unsigned i = 0; i < (family == 4 ? 4u : 16u); i++) {
        uint8_t rest = s->len >= 8 * (i + 1) ? 0
                       : s->len <= 8 * i     ? 0xff
                                             : 0xff >> (s->len - 8 * i);
        addr[i] = (uint8_t)(s->addr[i] | (any[i] & rest));
    }
}

static uint16_t port_between(const uint16_t range[2])
{
    return (uint16_t)(range[0] + bench_random() % (range[1] - range[0] + 1u));
}

static void ports_of(struct acl_key6 *k, const struct acl_rule *r)
{
    k->l4.proto = r->proto_any ? (bench_random() & 1 ? 6 : 17) : r->proto;
    k->l4.sport = k->l4.proto == 1 ? 0 : port_between(r->sport);
    k->l4.dport = k->l4.proto == 1 ? 0 : port_between(r->dport);
}

static const struct acl_rule *some_rule(const struct rules *r)
{
    return &r->rule[bench_random() % r->n];
}

static struct acl_key6 key_matching(const struct rules *r)
{
    const struct acl_rule *rule = some_rule(r);
    struct acl_key6 k = {.l4.part = ACL_WHOLE};

    address_inside(k.src, &rule->src, r->family);
    address_inside(k.dst, &rule->dst, r->family);
    ports_of(&k, rule);
    return k;
}

static struct acl_key6 at_random(const struct rules *r)
{
    struct acl_key6 k = {.l4 = {.part = ACL_WHOLE, .proto = bench_random() & 1 ? 6 : 17,
                                .sport = (uint16_t)bench_random(), .dport = 443}};

    address_anywhere(k.src, r->family);
    address_anywhere(k.dst, r->family);
    return k;
}

static struct acl_key6 key_mixed(const struct rules *r)
{
    struct acl_key6 k = {.l4.part = ACL_WHOLE};

    address_inside(k.src, &some_rule(r)->src, r->family);
    address_inside(k.dst, &some_rule(r)->dst, r->family);
    ports_of(&k, some_rule(r));
    return k;
}

static void packet_store(struct packets *p, uint32_t i, const struct acl_key6 *k)
{
    if (p->family == 4) {
        struct acl_key4 *key = (struct acl_key4 *)p->key + i;
        key->l4 = k->l4;
        memcpy(&key->src_be, k->src, 4);
        memcpy(&key->dst_be, k->dst, 4);
        ((struct rte_key *)p->rte)[i] = (struct rte_key){
            k->l4.proto, {0}, key->src_be, key->dst_be, htons(k->l4.sport), htons(k->l4.dport)};
        ((uint32_t *)p->src)[i] = key->src_be;
        return;
    }
    struct rte_key6 *rte = (struct rte_key6 *)p->rte + i;
    ((struct acl_key6 *)p->key)[i] = *k;
    *rte = (struct rte_key6){
        .proto = k->l4.proto, .sport_be = htons(k->l4.sport), .dport_be = htons(k->l4.dport)};
    memcpy(rte->src, k->src, 16);
    memcpy(rte->dst, k->dst, 16);
    memcpy((uint8_t(*)[16])p->src + i, k->src, 16);
}

// --- all packets ---

static void flows_make(struct packets *p, const struct rules *r)
{
    struct acl_key6 *flow = malloc(HOT * sizeof *flow);

    for (uint32_t i = 0; i < HOT; i++)
        flow[i] = bench_random_unit() < HITS_IN_HOT ? key_matching(r) : at_random(r);
    p->n = PACKETS_HOT;
    for (uint32_t i = 0; i < p->n; i++)
        packet_store(p, i, &flow[bench_random() % HOT]);
    free(flow);
}

void packets_make(struct packets *p, const struct rules *r, enum pattern_of t)
{
    if (t == TRAFFIC_HOT) {
        flows_make(p, r);
        return;
    }
    p->n = PACKETS;
    for (uint32_t i = 0; i < PACKETS; i++) {
        struct acl_key6 k = t == TRAFFIC_HOSTILE                         ? key_mixed(r)
                            : t == TRAFFIC_UNLISTED && bench_random_unit() < 0.95 ? at_random(r)
                                                                         : key_matching(r);
        packet_store(p, i, &k);
    }
}
