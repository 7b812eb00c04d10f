// SPDX-License-Identifier: BSD-3-Clause
// cache_test.c - the verdict cache agrees with the list, for any traffic and any changes
#include <stdlib.h>

#include "acl/cache.h"
#include "acl/cache_table.h"
#include "poptrie/reference_lpm.h"
#include "tests/unit.h"

static const uint8_t secret[16] = "not so secret 1";
static uint64_t seed = 42;

static unsigned pick(unsigned n)
{
    return (unsigned)(lpm_random(&seed) >> 33) % n;
}

static struct acl_key_l4 l4_of(unsigned flow)
{
    return (struct acl_key_l4){.sport = (uint16_t)(flow * 7),
                               .dport = (uint16_t)(flow % 5),
                               .proto = flow % 2 ? 6 : 17,
                               .part = ACL_WHOLE};
}

static struct acl_key4 flow4(unsigned flow)
{
    return (struct acl_key4){.src_be = __builtin_bswap32(0x0a000000 + flow),
                             .dst_be = __builtin_bswap32(0xc0000200 + flow % 16),
                             .l4 = l4_of(flow)};
}

static struct acl_key6 flow6(unsigned flow)
{
    struct acl_key6 k = {.src = {0x20, 1, 0xd, 0xb8},
                         .dst = {0x20, 1, [15] = (uint8_t)(flow % 16)},
                         .l4 = l4_of(flow)};

    memcpy(k.src + 12, &flow, 4);
    return k;
}

static struct acl_rule random_rule(uint32_t number)
{
    struct acl_rule r;

    acl_rule_init(&r, number, ACL_BOTH);
    r.proto_any = false;
    r.proto = pick(2) ? 6 : 17;
    r.dport[0] = (uint16_t)pick(4);
    r.dport[1] = (uint16_t)(r.dport[0] + pick(2));
    r.sport[1] = (uint16_t)(0xffff >> pick(4));
    return r;
}

static struct acl *list_new(unsigned rules)
{
    struct acl *a = acl_new(&(struct acl_config){0});

    for (unsigned i = 0; i < rules; i++) {
        struct acl_rule r = random_rule(10 * (1 + i));
        assert_int_equal(acl_add(a, &r), 0);
    }
    return a;
}

// One burst of both families; flows below `flows`.
static void must_agree(struct acl_cache *c, const struct acl *a, uint16_t id, uint32_t epoch,
                       unsigned flows)
{
    enum { MOST = 150 };
    struct acl_key4 k4[MOST];
    struct acl_key6 k6[MOST];
    uint32_t want[MOST], got[MOST + 1];
    unsigned n = 1 + pick(MOST);

    for (unsigned i = 0; i < n; i++) {
        k4[i] = flow4(pick(flows));
        k6[i] = flow6(pick(flows));
    }
    got[n] = 0x12345678;
    acl_classify4(a, k4, want, n);
    acl_cache_classify(c, &(struct acl_asked){a, id, epoch}, ACL_IP4, k4, got, n);
    assert_memory_equal(got, want, n * sizeof *got);
    acl_classify6(a, k6, want, n);
    acl_cache_classify(c, &(struct acl_asked){a, id, epoch}, ACL_IP6, k6, got, n);
    assert_memory_equal(got, want, n * sizeof *got);
    assert_int_equal(got[n], 0x12345678);
}

unit_test(what_it_says_follows_every_change_of_a_list)
{
    for (int kernel = CACHE_PLAIN; kernel <= CACHE_VAES; kernel++) {
        struct acl_cache *c = acl_cache_new(1 << 18, secret);
        if (!acl_cache_use(c, (enum cache_kernel)kernel)) {
            acl_cache_free(c);
            continue;
        }
        struct acl *a[3] = {list_new(5), list_new(8), list_new(0)};
        uint32_t epoch[3] = {0, 7, UINT32_MAX - 20}, last[3] = {50, 80, 0};
        struct acl_cache_stats st;
        for (unsigned i = 0; i < 3000; i++) {
            unsigned l = pick(3);
            if (!pick(10)) {
                if (last[l] && pick(2)) {
                    assert_int_equal(acl_del(a[l], last[l]), 0);
                    last[l] -= 10;
                } else if (last[l] < 200) {
                    struct acl_rule r = random_rule(last[l] += 10);
                    assert_int_equal(acl_add(a[l], &r), 0);
                }
                acl_reclaim(a[l], acl_epoch(a[l]));
                epoch[l]++;
            }
            must_agree(c, a[l], (uint16_t)(l * 1000), epoch[l], 40);
        }
        acl_cache_stats(c, &st);
        assert_true(st.hits > st.misses && st.admitted > 0);
        for (unsigned l = 0; l < 3; l++)
            acl_free(a[l]);
        acl_cache_free(c);
    }
}

unit_test(generations_come_round_without_old_verdicts)
{
    struct acl_cache *c = acl_cache_new(1 << 16, secret);
    struct acl *a[2] = {list_new(0), list_new(6)};
    struct acl_key4 k[4] = {flow4(1), flow4(1), flow4(2), flow4(2)};
    uint32_t want[2][4], got[4];

    for (unsigned l = 0; l < 2; l++)
        acl_classify4(a[l], k, want[l], 4);
    for (unsigned i = 0; i < 140000;
         i++) { // every burst under another content; more than there are generations
        acl_cache_classify(c, &(struct acl_asked){a[i % 2], 3, i}, ACL_IP4, k, got, 4);
        assert_memory_equal(got, want[i % 2], sizeof got);
    }
    acl_free(a[0]);
    acl_free(a[1]);
    acl_cache_free(c);
}

static void play(struct acl_cache *c, const struct acl *a, unsigned bursts, unsigned flows,
                 struct acl_cache_stats *more)
{
    struct acl_cache_stats before, after;
    struct acl_key4 k[64];
    uint32_t slot[64];

    acl_cache_stats(c, &before);
    for (unsigned b = 0; b < bursts; b++) {
        for (unsigned i = 0; i < 64; i++)
            k[i] = flow4(flows ? pick(flows) : (unsigned)lpm_random(&seed));
        acl_cache_classify(c, &(struct acl_asked){a, 1, 1}, ACL_IP4, k, slot, 64);
    }
    acl_cache_stats(c, &after);
    *more = (struct acl_cache_stats){.hits = after.hits - before.hits,
                                     .misses = after.misses - before.misses,
                                     .bypassed = after.bypassed - before.bypassed,
                                     .stepped_aside = after.stepped_aside - before.stepped_aside};
}

unit_test(it_steps_aside_when_nothing_hits_and_comes_back_when_something_does)
{
    struct acl_cache *c = acl_cache_new(4 << 20, secret);
    struct acl *a = list_new(1);
    struct acl_cache_stats st;

    play(c, a, 4000, 16384, &st); // admits the hot flows
    play(c, a, 1000, 16384, &st);
    assert_true(st.hits > 60000 && !st.stepped_aside);
    play(c, a, 4000, 0, &st); // no flow repeats
    assert_int_equal(st.stepped_aside, 1);
    assert_true(st.bypassed > 200000);
    play(c, a, 2000, 16384, &st); // hot flows are still cached: a scan displaces nothing
    play(c, a, 1000, 16384, &st);
    assert_true(st.hits > 60000 && !st.bypassed);
    acl_free(a);
    acl_cache_free(c);
}

unit_test(a_flow_seen_once_is_not_kept)
{
    struct acl_cache *c = acl_cache_new(1 << 20, secret);
    struct acl *a = list_new(1);
    struct acl_cache_stats st;
    struct acl_key6 k;
    uint32_t slot;

    for (unsigned i = 0; i < 100; i++) {
        k = flow6(i);
        acl_cache_classify(c, &(struct acl_asked){a, 1, 1}, ACL_IP6, &k, &slot, 1);
    }
    acl_cache_stats(c, &st);
    assert_true(st.admitted <= 1); // eight bits of the door may match by chance
    for (unsigned i = 0; i < 3; i++) {
        k = flow6(1000);
        acl_cache_classify(c, &(struct acl_asked){a, 1, 1}, ACL_IP6, &k, &slot, 1);
    }
    acl_cache_stats(c, &st);
    assert_int_equal(st.hits, 1);
    acl_free(a);
    acl_cache_free(c);
}

// --- hashes of each kernel ---

#define BUCKETS (1u << 12)

static const struct {
    enum cache_kernel kernel;
    cache_look *look4, *look6;
} kernels[] = {
    {CACHE_PLAIN, cache_look4_plain, cache_look6_plain},
#ifdef ACL_X86
    {CACHE_AVX512, cache_look4_avx512, cache_look6_avx512},
    {CACHE_VAES, cache_look4_vaes, cache_look6_vaes},
#endif
};
#define N_KERNELS (sizeof kernels / sizeof *kernels)

static bool kernel_runs(unsigned k)
{
    struct acl_cache *c = acl_cache_new(1 << 16, secret);
    bool runs = acl_cache_use(c, kernels[k].kernel);

    acl_cache_free(c);
    return runs;
}

static unsigned bucket_of(cache_look *look, unsigned words, const uint64_t *with, const void *key)
{
    static struct cache_bucket bucket[BUCKETS + 1];
    static uint64_t kept[(BUCKETS + 1) * CACHE_WAYS * CACHE_WORDS6];
    struct cache_table t = {.bucket = bucket, .key = kept, .mask = BUCKETS - 1, .words = words};
    uint32_t slot[64];
    uint64_t hash[64];

    assert_int_equal(look(&t, with, 1, key, 1, slot, hash), 0);
    return (unsigned)cache_bucket_of(&t, hash[0]);
}

static void secret_of(uint64_t s[CACHE_SECRETS], uint64_t from)
{
    for (unsigned i = 0; i < CACHE_SECRETS; i++)
        s[i] = lpm_random(&from);
}

// Keys that fill one bucket under one secret spread under another.
unit_test(colliding_keys_collide_under_their_secret_alone)
{
    uint64_t own[CACHE_SECRETS], other[CACHE_SECRETS];

    secret_of(own, 1);
    secret_of(other, 2);
    for (unsigned k = 0; k < N_KERNELS; k++) {
        unsigned load[64] = {0}, most = 0, found = 0;
        if (!kernel_runs(k))
            continue;
        for (unsigned i = 0; found < 64; i++) {
            struct acl_key4 key = flow4(i);
            if (bucket_of(kernels[k].look4, CACHE_WORDS4, own, &key) % 64 != 17)
                continue;
            unsigned at = bucket_of(kernels[k].look4, CACHE_WORDS4, other, &key) % 64;
            most = ++load[at] > most ? load[at] : most;
            found++;
        }
        assert_true(most < 10);
    }
}

unit_test(burst_hashes_do_not_depend_on_the_neighbors)
{
    uint64_t s[CACHE_SECRETS], hash[2][64], one[64];
    struct cache_table t = {.bucket = aligned_alloc(64, (BUCKETS + 1) * sizeof *t.bucket),
                            .mask = BUCKETS - 1,
                            .key = calloc((BUCKETS + 1) * CACHE_WAYS * CACHE_WORDS6, 8)};
    struct acl_key4 k4[64];
    struct acl_key6 k6[64];
    uint32_t slot[64];

    memset(t.bucket, 0, (BUCKETS + 1) * sizeof *t.bucket);
    secret_of(s, 3);
    for (unsigned i = 0; i < 64; i++) {
        k4[i] = flow4(i * 77);
        k6[i] = flow6(i * 77);
    }
    for (unsigned k = 0; k < N_KERNELS; k++)
        for (unsigned n = 1; n <= 64 && kernel_runs(k); n += 9) {
            kernels[k].look4(&t, s, 1, k4, n, slot, hash[0]);
            kernels[k].look6(&t, s, 1, k6, n, slot, hash[1]);
            for (unsigned i = 0; i < n; i++) {
                kernels[k].look4(&t, s, 1, &k4[i], 1, slot, one);
                assert_int_equal(hash[0][i], one[0]);
                kernels[k].look6(&t, s, 1, &k6[i], 1, slot, one);
                assert_int_equal(hash[1][i], one[0]);
            }
        }
    free(t.bucket);
    free(t.key);
}

static struct acl_key4 counted4(unsigned what, unsigned i)
{
    struct acl_key4 k = flow4(1);

    if (what == 0)
        k.src_be += __builtin_bswap32(i);
    else if (what == 1)
        k.dst_be += i;
    else
        k.l4.sport = (uint16_t)i, k.l4.dport = (uint16_t)(i >> 2);
    return k;
}

static struct acl_key6 counted6(unsigned what, unsigned i)
{
    struct acl_key6 k = flow6(1);

    if (what < 2)
        memcpy(what ? k.dst + 4 : k.src + 12, &i, 4);
    else
        k.l4.sport = (uint16_t)i, k.l4.dport = (uint16_t)(i >> 2);
    return k;
}

// Addresses, ports or both count up, as from scanners and load generators: no bucket gets much more
// than its share.
unit_test(counted_up_keys_spread_evenly)
{
    static unsigned load[2][BUCKETS];
    uint64_t s[CACHE_SECRETS];

    secret_of(s, 4);
    for (unsigned k = 0; k < N_KERNELS; k++)
        for (unsigned what = 0; what < 3 && kernel_runs(k); what++) {
            unsigned most = 0;
            memset(load, 0, sizeof load);
            for (unsigned i = 0; i < 4 * BUCKETS; i++) {
                struct acl_key4 k4 = counted4(what, i);
                struct acl_key6 k6 = counted6(what, i);
                unsigned four = ++load[0][bucket_of(kernels[k].look4, CACHE_WORDS4, s, &k4)];
                unsigned six = ++load[1][bucket_of(kernels[k].look6, CACHE_WORDS6, s, &k6)];
                most = four > most ? four : most;
                most = six > most ? six : most;
            }
            assert_in_range(most, 5, 20); // 4 on average
        }
}

unit_test(less_than_a_bucket_is_refused)
{
    assert_null(acl_cache_new(100, secret));
}
