// SPDX-License-Identifier: BSD-3-Clause
// engine.c - our lists, with and without the verdict cache, our address sets, and DPDK's rte_acl
// behind one interface
//
// rte_acl gets every advantage: only fields that some rule uses, transparent huge pages, and its
// fastest vector variant. Memory for its build is limited, so that the machine survives a set that
// is too large.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include <rte_acl.h>
#include <rte_malloc.h>

#include "acl/acl_bench.h"
#include "acl/cache.h"
#include "lib/eal.h"

#define HEAP_BYTES (1536ull << 20) // DPDK zeroes all of it
#define EAL_MIB 64u
#define CACHE_BYTES (4u << 20)
#define FIELDS 11

static struct acl *list;
static struct acl_set *set;
static struct acl_cache *cache;
static uint32_t slot[BURST], found_rte[BURST];
static uint64_t found_set;
static bool set_only; // a blocklist: the list is one rule that refers to the set
static int heap_socket;
static size_t build_limit;

struct acl *engine_list(void)
{
    return list;
}

struct acl_set *engine_set(void)
{
    return set;
}

// Bursts of the packets from..from + n; the family's call handles those from i on.
#define RUN(name, setup, four, six)                                                                \
    static void name(const struct engine *e, const struct packets *p, uint32_t from, uint32_t n)   \
    {                                                                                              \
        setup;                                                                                     \
        for (uint32_t i = from; i < from + n; i += BURST)                                          \
            if (p->family == 4)                                                                    \
                four;                                                                              \
            else                                                                                   \
                six;                                                                               \
    }
#define KEY4 ((const struct acl_key4 *)p->key + i)
#define KEY6 ((const struct acl_key6 *)p->key + i)

// --- ours ---

static int set_build(struct engine *e, const struct rules *r)
{
    struct acl_set_stats st;
    int rc;

    set = acl_set_new(0);
    rc = acl_set_change(set, NULL, 0, r->prefix, r->n, NULL);
    acl_set_stats(set, &st);
    e->bytes = st.bytes;
    e->writer_bytes = st.writer_bytes;
    return rc;
}

static void set_drop(struct engine *e)
{
    acl_set_free(set);
    set = NULL;
}

static bool set_wanted(const struct rules *r)
{
    return r->prefix;
}

RUN(set_run, (void)0, found_set = acl_set_find4(set, (const uint32_t *)p->src + i, BURST),
    found_set = acl_set_find6(set, (const uint8_t(*)[16])p->src + i, BURST))

static uint32_t set_answer(const struct engine *e, unsigned i)
{
    return found_set >> i & 1;
}

// A blocklist is a list of only this rule.
static const struct acl_rule *rules_of(const struct rules *r, size_t *n)
{
    static struct acl_rule blocked;

    acl_rule_init(&blocked, 1, r->family == 4 ? ACL_IP4 : ACL_IP6);
    blocked.src.set = 0;
    *n = set_only ? 1 : r->n;
    return set_only ? &blocked : r->rule;
}

static int list_build(struct engine *e, const struct rules *r)
{
    struct acl_config cfg = {.set = {set}};
    struct acl_stats st;
    size_t n;

    set_only = r->shape == SHAPE_BLOCKLIST;
    list = acl_new(&cfg);
    const struct acl_rule *rule = rules_of(r, &n);
    int rc = acl_load(list, rule, n);
    acl_stats(list, &st);
    e->bytes = st.bytes;
    e->writer_bytes = st.writer_bytes;
    return rc;
}

static void list_drop(struct engine *e)
{
    acl_free(list);
    list = NULL;
}

RUN(list_run, (void)0, acl_classify4(list, KEY4, slot, BURST),
    acl_classify6(list, KEY6, slot, BURST))

static uint32_t list_answer(const struct engine *e, unsigned i)
{
    return slot[i] == ACL_MISS ? 0 : acl_rule_of(list, slot[i])->number;
}

static int cache_build(struct engine *e, const struct rules *r)
{
    e->bytes = engines[ENGINE_LIST].bytes;
    e->writer_bytes = engines[ENGINE_LIST].writer_bytes;
    return list ? 0 : -ENOENT;
}

static void cache_drop(struct engine *e)
{
    acl_cache_free(cache);
    cache = NULL;
}

void engine_cache_fresh(void)
{
    acl_cache_free(cache);
    cache = acl_cache_new(CACHE_BYTES, (const uint8_t *)"measured, public");
}

RUN(cache_run, const struct acl_asked q = ((struct acl_asked){list, 1, 1}),
    acl_cache_classify(cache, &q, ACL_IP4, KEY4, slot, BURST),
    acl_cache_classify(cache, &q, ACL_IP6, KEY6, slot, BURST))

// --- rte_acl ---

struct shape_of { // fields that some rule uses
    bool src, dst, ports;
};

static struct shape_of fields_of(const struct rules *r)
{
    struct shape_of f = {false, false, false};

    for (size_t i = 0; i < r->n; i++) {
        const struct acl_rule *a = &r->rule[i];
        f.src |= a->src.len > 0;
        f.dst |= a->dst.len > 0;
        f.ports |= a->sport[0] || a->dport[0] || a->sport[1] != 0xffff || a->dport[1] != 0xffff;
    }
    return f;
}

static void field_add(struct rte_acl_config *c, unsigned *input, uint8_t type, uint8_t size,
                      size_t offset)
{
    c->defs[c->num_fields] = (struct rte_acl_field_def){.type = type, .size = size,
                                                        .field_index = (uint8_t)c->num_fields,
                                                        .input_index = (uint8_t)*input,
                                                        .offset = (uint32_t)offset};
    c->num_fields++;
}

static void fields_add(struct rte_acl_config *c, const struct shape_of *f, unsigned family)
{
    unsigned words = family == 4 ? 1 : 4, input = 0;

    field_add(c, &input, RTE_ACL_FIELD_TYPE_BITMASK, 1, offsetof(struct rte_key, proto));
    for (unsigned w = 0; f->src && w < words; w++)
        input++, field_add(c, &input, RTE_ACL_FIELD_TYPE_MASK, 4,
                           offsetof(struct rte_key6, src) + 4 * w);
    for (unsigned w = 0; f->dst && w < words; w++)
        input++, field_add(c, &input, RTE_ACL_FIELD_TYPE_MASK, 4,
                           (family == 4 ? offsetof(struct rte_key, dst_be)
                                        : offsetof(struct rte_key6, dst)) +
                               4 * w);
    if (f->ports) {
        size_t at =
            family == 4 ? offsetof(struct rte_key, sport_be) : offsetof(struct rte_key6, sport_be);
        input++;
        field_add(c, &input, RTE_ACL_FIELD_TYPE_RANGE, 2, at);
        field_add(c, &input, RTE_ACL_FIELD_TYPE_RANGE, 2, at + 2);
    }
}

static unsigned side_put(struct rte_acl_field *field, const struct acl_side *s, unsigned words)
{
    for (unsigned w = 0; w < words; w++) {
        uint32_t be;
        int bits = (int)s->len - 32 * (int)w;
        memcpy(&be, s->addr + 4 * w, 4);
        field[w].value.u32 = __builtin_bswap32(be);
        field[w].mask_range.u32 = bits < 0 ? 0 : bits > 32 ? 32 : (uint32_t)bits;
    }
    return words;
}

static int rule_put(struct rte_acl_ctx *x, const struct acl_rule *r, const struct shape_of *f,
                    unsigned words, size_t n)
{
    union {
        struct rte_acl_rule rule;
        uint8_t room[RTE_ACL_RULE_SZ(FIELDS)];
    } u = {0};
    struct rte_acl_field *field = u.rule.field;

    u.rule.data = (struct rte_acl_rule_data){
        .category_mask = 1, .priority = (int32_t)(n + 1 - r->number), .userdata = r->number};
    field->value.u8 = r->proto;
    (field++)->mask_range.u8 = r->proto_any ? 0 : 0xff;
    if (f->src)
        field += side_put(field, &r->src, words);
    if (f->dst)
        field += side_put(field, &r->dst, words);
    if (f->ports) {
        field[0].value.u16 = r->sport[0];
        field[0].mask_range.u16 = r->sport[1];
        field[1].value.u16 = r->dport[0];
        field[1].mask_range.u16 = r->dport[1];
    }
    return rte_acl_add_rules(x, &u.rule, 1);
}

static size_t heap_used(void)
{
    struct rte_malloc_socket_stats s;

    rte_malloc_get_socket_stats(heap_socket, &s);
    return s.heap_allocsz_bytes;
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%lu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * 4096;
}

// Limits memory: rte_acl's build temporarily needs many times the size of its result.
static int build_limited(struct rte_acl_ctx *x, const struct rte_acl_config *c)
{
    struct rlimit old, now;

    getrlimit(RLIMIT_AS, &old);
    now = old;
    now.rlim_cur = address_space() + build_limit;
    setrlimit(RLIMIT_AS, &now);
    int rc = rte_acl_build(x, c);
    setrlimit(RLIMIT_AS, &old);
    return rc;
}

static int peer_build(struct engine *e, const struct rules *r)
{
    struct shape_of f = fields_of(r);
    struct rte_acl_config c = {.num_categories = 1, .max_size = build_limit};
    struct rte_acl_param prm = {.name = "acl_bench", .socket_id = heap_socket,
                                .rule_size = RTE_ACL_RULE_SZ(r->family == 4 ? 5 : FIELDS),
                                .max_rule_num = (uint32_t)r->n};
    int rc = 0;

    fields_add(&c, &f, r->family);
    e->state = rte_acl_create(&prm);
    for (size_t i = 0; e->state && i < r->n && !rc; i++)
        rc = rule_put(e->state, &r->rule[i], &f, r->family == 4 ? 1 : 4, r->n);
    if (!e->state || rc)
        return -ENOMEM;
    size_t before = heap_used();
    rc = build_limited(e->state, &c);
    e->bytes = heap_used() - before;
    e->writer_bytes = 0;
    snprintf(e->note, sizeof e->note, "%s",
             rc == -ERANGE ? "larger than the limit" : strerror(rc < 0 ? -rc : 0));
    return rc;
}

static void peer_drop(struct engine *e)
{
    rte_acl_free(e->state);
    e->state = NULL;
}

static void peer_run(const struct engine *e, const struct packets *p, uint32_t from, uint32_t n)
{
    for (uint32_t i = from; i < from + n; i += BURST)
        rte_acl_classify(e->state, p->ptr + i, found_rte, BURST, 1);
}

static uint32_t peer_answer(const struct engine *e, unsigned i)
{
    return set_only && found_rte[i] ? 1 : found_rte[i];
}

void peer_choose(const struct packets *p)
{
    static const struct {
        const char *name;
        enum rte_acl_classify_alg alg;
    } known[] = {{"avx512x32", RTE_ACL_CLASSIFY_AVX512X32},
                 {"avx512x16", RTE_ACL_CLASSIFY_AVX512X16}, {"avx2", RTE_ACL_CLASSIFY_AVX2},
                 {"sse", RTE_ACL_CLASSIFY_SSE}, {"scalar", RTE_ACL_CLASSIFY_SCALAR}};
    double best = 0;
    unsigned at = 0;

    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        if (rte_acl_set_ctx_classify(peer->state, known[i].alg))
            continue;
        for (unsigned trial = 0; trial < 5; trial++) {
            double start = bench_cpu_s();
            peer_run(peer, p, 0, PACKETS_HOT / 4);
            double took = bench_cpu_s() - start;
            if (trial && (!best || took < best)) {
                best = took;
                at = i;
            }
        }
    }
    peer->kernel = known[at].name;
    rte_acl_set_ctx_classify(peer->state, known[at].alg);
}

static bool any_rules(const struct rules *r)
{
    return true;
}

// In build order: a list may refer to the set.
struct engine engines[N_ENGINES] = {
    [ENGINE_SET] = {"set", set_build, set_drop, set_run, set_answer, set_wanted, ""},
    [ENGINE_LIST] = {"list", list_build, list_drop, list_run, list_answer, any_rules, ""},
    [ENGINE_CACHE] = {"list, cache", cache_build, cache_drop, cache_run, list_answer, any_rules,
                      ""},
    [ENGINE_PEER] = {"rte_acl", peer_build, peer_drop, peer_run, peer_answer, any_rules, ""},
};
struct engine *const peer = &engines[ENGINE_PEER];

void engines_init(size_t memory_mib)
{
    build_limit = memory_mib << 20;
    heap_socket = bench_eal_heap(EAL_MIB, HEAP_BYTES);
}
