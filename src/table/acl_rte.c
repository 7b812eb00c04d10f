// SPDX-License-Identifier: BSD-3-Clause
// acl_rte.c - see acl_rte.h
//
// Our keys are in its order already but for the ports, which it wants in network order: they are swapped into a copy.
#include "table/acl_rte.h"

#include <errno.h>
#include <rte_acl.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BURST 64u
#define FIELDS4 5
#define FIELDS6 11
#define WORDS6 4u // of an address

RTE_ACL_RULE_DEF(rte_rule, FIELDS6); // room for either family

struct acl_rte {
    struct rte_acl_ctx *ctx[2]; // IPv4, IPv6; NULL: no rules
    size_t bytes;
};

bool acl_rte_can(const struct acl_rule *r)
{
    return r->src.set == ACL_NO_SET && r->dst.set == ACL_NO_SET && r->part == ACL_ANY_PART && !r->tcp_mask && !r->tcp_any && r->dscp == ACL_DSCP_ANY;
}

// --- rules ---

static void prefix_fields(struct rte_acl_field *f, const struct acl_side *s, unsigned words)
{
    for (unsigned w = 0; w < words; w++) {
        uint32_t v;
        int len = s->len - 32 * (int)w;

        memcpy(&v, s->addr + 4 * w, sizeof v);
        f[w].value.u32 = __builtin_bswap32(v);
        f[w].mask_range.u32 = len < 0 ? 0 : len > 32 ? 32 : (uint32_t)len;
    }
}

static struct rte_rule rule_of(const struct acl_rule *r, uint32_t slot, uint32_t rank, unsigned words)
{
    struct rte_rule to = {.data = {.category_mask = 1, .priority = (int32_t)(RTE_ACL_MAX_PRIORITY - rank), .userdata = slot + 1}};
    unsigned at = 1 + 2 * words;

    to.field[0].value.u8 = r->proto_any ? 0 : r->proto;
    to.field[0].mask_range.u8 = r->proto_any ? 0 : 0xff;
    prefix_fields(to.field + 1, &r->src, words);
    prefix_fields(to.field + 1 + words, &r->dst, words);
    to.field[at].value.u16 = r->sport[0];
    to.field[at].mask_range.u16 = r->sport[1];
    to.field[at + 1].value.u16 = r->dport[0];
    to.field[at + 1].mask_range.u16 = r->dport[1];
    return to;
}

static struct rte_acl_config layout(unsigned words, size_t max_bytes)
{
    struct rte_acl_config c = {.num_categories = 1, .num_fields = 3 + 2 * words, .max_size = max_bytes};
    const uint32_t l4 = 8 * words;

    c.defs[0] = (struct rte_acl_field_def){RTE_ACL_FIELD_TYPE_BITMASK, sizeof(uint8_t), 0, 0, l4 + offsetof(struct acl_key_l4, proto)};
    for (uint8_t i = 0; i < 2 * words; i++)
        c.defs[1 + i] = (struct rte_acl_field_def){RTE_ACL_FIELD_TYPE_MASK, sizeof(uint32_t), (uint8_t)(1 + i), (uint8_t)(1 + i), 4u * i};
    for (uint8_t i = 0, at = (uint8_t)(1 + 2 * words); i < 2; i++)
        c.defs[at + i] = (struct rte_acl_field_def){RTE_ACL_FIELD_TYPE_RANGE, sizeof(uint16_t), (uint8_t)(at + i), at, l4 + 2u * i};
    return c;
}

static struct rte_acl_ctx *compile(const struct acl_rule *const *rule, const uint32_t *slot, uint32_t n, uint8_t family, size_t max_bytes)
{
    static _Atomic unsigned number; // DPDK wants names
    unsigned words = family == ACL_IP4 ? 1 : WORDS6;
    char name[RTE_ACL_NAMESIZE];
    struct rte_acl_config cfg = layout(words, max_bytes);

    snprintf(name, sizeof name, "acl%u", atomic_fetch_add(&number, 1));
    struct rte_acl_param param = {.name = name, .socket_id = SOCKET_ID_ANY, .rule_size = RTE_ACL_RULE_SZ(FIELDS6), .max_rule_num = n};
    struct rte_acl_ctx *ctx = rte_acl_create(&param);
    int rc = ctx ? 0 : -rte_errno;
    for (uint32_t i = 0; i < n && !rc; i++) {
        struct rte_rule r = rule_of(rule[i], slot[i], i, words);
        if (rule[i]->families & family)
            rc = rte_acl_add_rules(ctx, (const struct rte_acl_rule *)&r, 1);
    }
    if (!rc)
        rc = rte_acl_build(ctx, &cfg);
    if (rc) {
        rte_acl_free(ctx);
        errno = -rc;
        return NULL;
    }
    if (rte_acl_set_ctx_classify(ctx, RTE_ACL_CLASSIFY_AVX512X32))
        rte_acl_set_ctx_classify(ctx, RTE_ACL_CLASSIFY_DEFAULT);
    return ctx;
}

static bool has_family(const struct acl_rule *const *rule, uint32_t n, uint8_t family)
{
    for (uint32_t i = 0; i < n; i++)
        if (rule[i]->families & family)
            return true;
    return false;
}

static size_t heap_bytes(void)
{
    struct rte_malloc_socket_stats s;
    size_t n = 0;

    for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++)
        n += rte_malloc_get_socket_stats(socket, &s) ? 0 : s.heap_allocsz_bytes;
    return n;
}

struct acl_rte *acl_rte_new(const struct acl_rule *const *rule, const uint32_t *slot, uint32_t n, size_t max_bytes)
{
    struct acl_rte *t = calloc(1, sizeof *t);
    size_t before = heap_bytes();

    for (unsigned f = 0; f < 2 && t; f++) {
        uint8_t family = f ? ACL_IP6 : ACL_IP4;

        if (!has_family(rule, n, family))
            continue;
        t->ctx[f] = compile(rule, slot, n, family, max_bytes);
        if (!t->ctx[f]) {
            acl_rte_free(t);
            return NULL;
        }
    }
    if (t)
        t->bytes = heap_bytes() - before; // about: others may allocate meanwhile
    return t;
}

size_t acl_rte_bytes(const struct acl_rte *t)
{
    return t->bytes;
}

void acl_rte_free(struct acl_rte *t)
{
    if (!t)
        return;
    for (unsigned f = 0; f < 2; f++)
        rte_acl_free(t->ctx[f]);
    free(t);
}

// --- reader ---

typedef uint8_t bytes16 __attribute__((vector_size(16)));

static void classify(const struct rte_acl_ctx *ctx, const uint8_t **at, uint32_t *slot, unsigned n)
{
    if (!ctx)
        memset(slot, 0, n * sizeof *slot);
    else
        rte_acl_classify(ctx, at, slot, n, 1);
    for (unsigned i = 0; i < n; i++)
        slot[i]--; // 0, no rule, becomes ACL_MISS
}

void acl_rte_classify4(const struct acl_rte *t, const struct acl_key4 *key, uint32_t *slot, unsigned n)
{
    const uint8_t *at[BURST];
    bytes16 copy[BURST];

    for (unsigned i = 0; i < n; i++) {
        memcpy(&copy[i], &key[i], sizeof copy[i]);
        copy[i] = __builtin_shufflevector(copy[i], copy[i], 0, 1, 2, 3, 4, 5, 6, 7, 9, 8, 11, 10, 12, 13, 14, 15);
        at[i] = (const uint8_t *)&copy[i];
    }
    classify(t->ctx[0], at, slot, n);
}

void acl_rte_classify6(const struct acl_rte *t, const struct acl_key6 *key, uint32_t *slot, unsigned n)
{
    const uint8_t *at[BURST];
    struct acl_key6 copy[BURST];

    for (unsigned i = 0; i < n; i++) {
        copy[i] = key[i];
        copy[i].l4.sport = __builtin_bswap16(key[i].l4.sport);
        copy[i].l4.dport = __builtin_bswap16(key[i].l4.dport);
        at[i] = (const uint8_t *)&copy[i];
    }
    classify(t->ctx[1], at, slot, n);
}
