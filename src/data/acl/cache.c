// SPDX-License-Identifier: BSD-3-Clause
// cache.c - admission, replacement and bypass of the verdict cache
//
// Admission: `door` remembers a few bits of the last flow that was not admitted, so a flow is
// admitted at its second packet. Flows of one packet, such as a scan, displace nothing.
//
// Bypass, for each list: after a window of packets of which more than half missed, only one burst
// in five is looked up, then one in 17, in 61, in 241 (primes, so that periodic traffic does not
// seem to hit). A sampled window with more hits than misses ends it. Sampling is sparse because a
// burst of misses costs several times as much as the list alone. After a change of the list
// everything misses for a while, so the first window is long.
#include <errno.h>
#include <stdlib.h>

#include "acl/cache.h"
#include "acl/cache_table.h"
#include "acl/pages.h"
#include "base/cpu.h"
#include "base/hash.h"

#define KEY_BURST 64u
#define LISTS (1u << 16)
#define GENERATIONS (1u << 16)
#define WINDOW_FIRST 65536u // packets of a new generation

// The longer the cache gains nothing, the fewer bursts it looks up. The time to detect a gain stays
// the same.
static const struct sampling {
    uint32_t every,
        window; // one burst in so many; packets looked up before the next decision
} sampled[] = {{1, 4096}, {5, 1024}, {17, 1024}, {61, 1024}, {241, 256}};
#define SAMPLING_SPARSEST (sizeof sampled / sizeof *sampled - 1)

struct list_state {
    uint32_t epoch, generation; // generation 0: none yet
    uint32_t seen, missed, window;
    uint32_t aside, turn; // index into sampled[]; bursts until the next lookup
};

struct acl_cache {
    struct cache_table table4, table6;
    uint64_t secret[CACHE_SECRETS];
    cache_look *look4, *look6;
    struct list_state *list;      // [LISTS]
    uint16_t *list_of_generation; // [GENERATIONS]
    uint32_t generation;          // the last one assigned
    uint32_t turn;                // way from which the next admitted flow displaces another
    uint64_t bytes, entries;
    uint64_t hits, misses, admitted, bypassed, stepped_aside; // read by other threads
};

// --- life ---

static size_t bucket_bytes(unsigned words)
{
    return sizeof(struct cache_bucket) + CACHE_WAYS * (words * sizeof(uint64_t) + 1);
}

static bool table_init(struct acl_cache *c, struct cache_table *t, size_t buckets, unsigned words)
{
    size_t bytes = (buckets + 1) * bucket_bytes(words);

    t->bucket = pages_map(bytes, true);
    if (!t->bucket)
        return false;
    c->bytes += bytes;
    t->key = (uint64_t *)(t->bucket + buckets + 1);
    t->door = (uint8_t *)(t->key + (buckets + 1) * CACHE_WAYS * words);
    t->mask = buckets - 1;
    t->words = words;
    c->entries += buckets * CACHE_WAYS;
    return true;
}

// Expands the secret's sixteen bytes to as many words as the hashes need.
static void secrets_make(uint64_t secret[CACHE_SECRETS], const uint8_t given[16])
{
    uint64_t g[2];

    memcpy(g, given, 16);
    for (unsigned i = 0; i < CACHE_SECRETS; i++)
        secret[i] = hash_mix64(
            cache_fold(g[0] ^ hash_mix64(2 * i + 1), g[1] ^ hash_mix64(2 * i + 2)) ^ g[i % 2]);
}

static bool kernel_runs(enum cache_kernel k)
{
#ifdef ACL_X86
    if (k == CACHE_AVX512)
        return cpu_runs(CPU_AVX512) && __builtin_cpu_supports("aes");
    if (k == CACHE_VAES)
        return cpu_runs_vaes() && __builtin_cpu_supports("aes");
#endif
    return k == CACHE_PLAIN;
}

bool acl_cache_use(struct acl_cache *c, enum cache_kernel k)
{
    if (!kernel_runs(k))
        return false;
    c->look4 = cache_look4_plain;
    c->look6 = cache_look6_plain;
#ifdef ACL_X86
    if (k != CACHE_PLAIN) {
        c->look4 = k == CACHE_VAES ? cache_look4_vaes : cache_look4_avx512;
        c->look6 = k == CACHE_VAES ? cache_look6_vaes : cache_look6_avx512;
    }
#endif
    return true;
}

static void kernel_choose(struct acl_cache *c)
{
    for (int k = CACHE_VAES; !acl_cache_use(c, (enum cache_kernel)k);)
        k--;
}

struct acl_cache *acl_cache_new(size_t bytes, const uint8_t secret[16])
{
    size_t each = bucket_bytes(CACHE_WORDS4) + bucket_bytes(CACHE_WORDS6), buckets = 1;
    struct acl_cache *c = calloc(1, sizeof *c);

    if (!c || bytes < each) {
        free(c);
        errno = bytes < each ? EINVAL : ENOMEM;
        return NULL;
    }
    while (buckets * 2 * each <= bytes)
        buckets *= 2;
    secrets_make(c->secret, secret);
    kernel_choose(c);
    c->list = calloc(LISTS, sizeof *c->list);
    c->list_of_generation = calloc(GENERATIONS, sizeof *c->list_of_generation);
    if (!c->list || !c->list_of_generation || !table_init(c, &c->table4, buckets, CACHE_WORDS4) ||
        !table_init(c, &c->table6, buckets, CACHE_WORDS6)) {
        acl_cache_free(c);
        errno = ENOMEM;
        return NULL;
    }
    return c;
}

static void table_fini(struct cache_table *t)
{
    pages_unmap(t->bucket, (t->mask + 2) * bucket_bytes(t->words));
}

void acl_cache_free(struct acl_cache *c)
{
    if (!c)
        return;
    table_fini(&c->table4);
    table_fini(&c->table6);
    free(c->list);
    free(c->list_of_generation);
    free(c);
}

static void counter_add(uint64_t *counter, uint64_t n) // one writer; partner: acl_cache_stats
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

void acl_cache_stats(const struct acl_cache *c, struct acl_cache_stats *s)
{
    *s = (struct acl_cache_stats){
        .hits = __atomic_load_n(&c->hits, __ATOMIC_RELAXED),
        .misses = __atomic_load_n(&c->misses, __ATOMIC_RELAXED),
        .admitted = __atomic_load_n(&c->admitted, __ATOMIC_RELAXED),
        .bypassed = __atomic_load_n(&c->bypassed, __ATOMIC_RELAXED),
        .stepped_aside = __atomic_load_n(&c->stepped_aside, __ATOMIC_RELAXED),
        .entries = c->entries,
        .bytes = c->bytes,
    };
}

// --- generations ---

static void cache_clear(struct acl_cache *c)
{
    memset(c->table4.bucket, 0, (c->table4.mask + 1) * sizeof(struct cache_bucket));
    memset(c->table6.bucket, 0, (c->table6.mask + 1) * sizeof(struct cache_bucket));
    for (unsigned i = 0; i < LISTS; i++)
        c->list[i].generation = 0;
    c->generation = 0;
}

static void generation_begin(struct acl_cache *c, struct list_state *l, uint16_t list,
                             uint32_t epoch)
{
    bool known = l->window;

    if (c->generation == GENERATIONS - 1)
        cache_clear(c);
    l->generation = ++c->generation;
    c->list_of_generation[l->generation] = list;
    l->epoch = epoch;
    if (known && l->aside) // keep the bypass: the traffic has not changed
        return;
    l->seen = l->missed = 0;
    l->window = WINDOW_FIRST;
}

static bool tag_is_stale(const struct acl_cache *c, uint32_t tag)
{
    uint32_t generation = tag >> 16;

    return c->list[c->list_of_generation[generation]].generation != generation;
}

// --- admission ---

// The first free way of a bucket; CACHE_WAYS: none. *there: some way has the flow's tag already.
static unsigned way_free(const struct acl_cache *c, const struct cache_bucket *b, uint32_t tag,
                         bool *there)
{
    unsigned way = CACHE_WAYS;

    for (unsigned w = 0; w < CACHE_WAYS; w++) {
        *there |= b->tag[w] == tag; // admitted by an earlier packet of the burst
        // the first, so that fewer lines of keys are in use
        if (way == CACHE_WAYS && (!b->tag[w] || tag_is_stale(c, b->tag[w])))
            way = w;
    }
    return way;
}

static void flow_admit(struct acl_cache *c, struct cache_table *t, uint32_t generation,
                       const void *key, uint64_t hash, uint32_t slot)
{
    uint64_t at = cache_bucket_of(t, hash), other = cache_other_bucket_of(t, hash);
    uint8_t *door = &t->door[at * CACHE_WAYS + (hash >> 45 & (CACHE_WAYS - 1))],
            bits = (uint8_t)(hash ^ generation);
    uint32_t tag = cache_tag(generation, hash);
    bool there = false;

    if (*door != bits) {
        *door = bits;
        return;
    }
    unsigned way = way_free(c, &t->bucket[at], tag, &there);
    if (way == CACHE_WAYS && (way = way_free(c, &t->bucket[other], tag, &there)) < CACHE_WAYS)
        at = other;
    if (there)
        return;
    if (way == CACHE_WAYS)
        way = c->turn++ % CACHE_WAYS;
    memcpy(t->key + (at * CACHE_WAYS + way) * t->words, key, t->words * sizeof *t->key);
    t->bucket[at].slot[way] = slot;
    t->bucket[at].tag[way] = tag;
    counter_add(&c->admitted, 1);
}

// Looks up the packets of `miss` in their other bucket.
static uint64_t look_up_other_bucket(const struct cache_table *t, uint32_t generation,
                                     const uint8_t *key, const uint64_t *hash, uint64_t miss,
                                     uint32_t *slot)
{
    uint64_t found = 0;

    for (; miss; miss &= miss - 1) {
        unsigned i = (unsigned)__builtin_ctzll(miss);
        uint64_t at = cache_other_bucket_of(t, hash[i]);
        const struct cache_bucket *b = &t->bucket[at];
        uint32_t tag = cache_tag(generation, hash[i]);
        unsigned ways = 0;
        for (unsigned w = 0; w < CACHE_WAYS; w++)
            ways |= (unsigned)(b->tag[w] == tag) << w;
        unsigned way = (unsigned)__builtin_ctz(ways | 1u << CACHE_WAYS);
        if (!ways || memcmp(t->key + (at * CACHE_WAYS + way) * t->words, key + i * t->words * 8,
                            t->words * 8))
            continue;
        slot[i] = b->slot[way];
        found |= 1ull << i;
    }
    return found;
}

// --- a burst ---

static void sample_window_end(struct acl_cache *c, struct list_state *l)
{
    if (l->missed * 2 <= l->seen) {
        l->aside = 0;
    } else if (l->aside < SAMPLING_SPARSEST) {
        counter_add(&c->stepped_aside, !l->aside);
        l->aside++;
    }
    l->window = sampled[l->aside].window;
    l->seen = l->missed = 0;
}

static struct list_state *list_state_of(struct acl_cache *c, uint16_t list, uint32_t epoch)
{
    struct list_state *l = &c->list[list];

    if (l->epoch != epoch || !l->generation)
        generation_begin(c, l, list, epoch);
    return l;
}

// Does not advance the turn when it returns false: acl_cache_classify, called next, decides the
// same.
static bool list_is_bypassed(struct acl_cache *c, struct list_state *l, unsigned n)
{
    if (!l->aside || !l->turn)
        return false;
    l->turn--;
    counter_add(&c->bypassed, n);
    return true;
}

bool acl_cache_is_bypassed(struct acl_cache *c, uint16_t list, uint32_t epoch, unsigned n)
{
    return list_is_bypassed(c, list_state_of(c, list, epoch), n);
}

static void sample_add(struct acl_cache *c, struct list_state *l, unsigned n, unsigned missed)
{
    counter_add(&c->hits, n - missed);
    counter_add(&c->misses, missed);
    l->seen += n;
    l->missed += missed;
    if (l->seen >= l->window)
        sample_window_end(c, l);
}

// Packs the keys of `miss` side by side into `to`; returns their number.
static unsigned missed_keys_pack(void *to, const void *key, size_t bytes, uint64_t miss)
{
    unsigned n = 0;

    for (; miss; miss &= miss - 1)
        memcpy((uint8_t *)to + bytes * n++,
               (const uint8_t *)key + bytes * (unsigned)__builtin_ctzll(miss), bytes);
    return n;
}

static void missed_answers_store(struct acl_cache *c, struct cache_table *t,
                                 const struct list_state *l, const void *key, const uint64_t *hash,
                                 uint64_t miss, const uint32_t *from, uint32_t *slot)
{
    for (; miss; miss &= miss - 1) {
        unsigned i = (unsigned)__builtin_ctzll(miss);
        slot[i] = *from++;
        flow_admit(c, t, l->generation, (const uint8_t *)key + t->words * 8 * i, hash[i], slot[i]);
    }
}

static uint64_t first_bits(unsigned n)
{
    return n == 64 ? UINT64_MAX : (1ull << n) - 1;
}

static void rules_classify(const struct acl *rules, enum acl_family family, const void *key,
                           uint32_t *slot, unsigned n)
{
    if (family == ACL_IP4)
        acl_classify4(rules, key, slot, n);
    else
        acl_classify6(rules, key, slot, n);
}

static void burst_look_up(struct acl_cache *c, struct list_state *l, const struct acl *rules,
                          enum acl_family family, const void *key, uint32_t *slot, unsigned n)
{
    struct cache_table *t = family == ACL_IP4 ? &c->table4 : &c->table6;
    cache_look *look = family == ACL_IP4 ? c->look4 : c->look6;
    uint32_t known[KEY_BURST];
    uint64_t hash[KEY_BURST],
        miss = first_bits(n) & ~look(t, c->secret, l->generation, key, n, known, hash);
    struct acl_key6 rest[KEY_BURST];
    uint32_t found[KEY_BURST];
    unsigned m = 0;

    if (miss)
        miss &= ~look_up_other_bucket(t, l->generation, key, hash, miss, known);
    memcpy(slot, known, n * sizeof *slot);
    if (miss) {
        m = missed_keys_pack(rest, key, t->words * 8, miss);
        rules_classify(rules, family, rest, found, m);
        missed_answers_store(c, t, l, key, hash, miss, found, slot);
    }
    sample_add(c, l, n, m);
}

void acl_cache_classify(struct acl_cache *c, const struct acl_asked *q, enum acl_family family,
                        const void *key, uint32_t *slot, unsigned n)
{
    struct list_state *l = c ? list_state_of(c, q->list, q->epoch) : NULL;
    const size_t bytes = family == ACL_IP4 ? sizeof(struct acl_key4) : sizeof(struct acl_key6);

    if (!l || list_is_bypassed(c, l, n)) {
        rules_classify(q->rules, family, key, slot, n);
        return;
    }
    l->turn = sampled[l->aside].every - 1;
    for (unsigned i = 0; i < n; i += KEY_BURST)
        burst_look_up(c, l, q->rules, family, (const uint8_t *)key + i * bytes, slot + i,
                      n - i < KEY_BURST ? n - i : KEY_BURST);
}
