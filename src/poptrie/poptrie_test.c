// SPDX-License-Identifier: BSD-3-Clause
// poptrie_test.c - the table against a naive model, operation by operation
#include "poptrie/model.h"
#include "poptrie/poptrie_priv.h"
#include "base/table_gen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static struct poptrie *table_new(unsigned key_bits)
{
    struct poptrie *t = poptrie_new(&(struct poptrie_config){.key_bits = key_bits});

    assert_non_null(t);
    return t;
}

static void must_be_sound(const struct poptrie *t)
{
    char why[200] = "";

    if (poptrie_check(t, why, sizeof(why)) != 0)
        fail_msg("%s", why);
}

static uint32_t find(const struct poptrie *t, const uint8_t key[16])
{
    uint32_t dst;

    if (t->geo.key_bits == 128)
        return poptrie_find6(t, key);
    memcpy(&dst, key, 4);
    return poptrie_find4(t, dst);
}

static void flush(struct poptrie *t)
{
    poptrie_reclaim(t, poptrie_epoch(t));
}

// An address: anywhere near the stems; or the first or last one of a route, or one beside it.
static void random_address(const struct model *m, uint8_t key[16])
{
    uint64_t r = model_random(&seed) >> 20;

    memset(key, 0, 16);
    model_random_key(&seed, m->key_bits, key);
    if (m->n > 0 && r % 4 < 3) {
        const struct poptrie_route *at = &m->r[(r >> 8) % m->n];
        uint8_t net[16];

        memset(net, 0xff, 16);
        model_mask(net, at->len);
        for (unsigned j = 0; j < 16; j++)
            key[j] = at->key[j] | (r % 2 == 0 ? (uint8_t)~net[j] : 0);
        if (r % 4 == 2)
            key[m->key_bits / 8 - 1] ^= 1;
    }
    if (m->key_bits == 32)
        memset(key + 4, 0, 12);
}

// n addresses: the single lookup and every kernel's bulk lookup say what the model says, and
// write no value behind the last one.
static void must_agree(const struct poptrie *t, const struct model *m, unsigned n)
{
    static uint8_t key[600][16];
    static uint32_t dst[600], got[601], want[600];

    for (unsigned i = 0; i < n; i++) {
        random_address(m, key[i]);
        memcpy(&dst[i], key[i], 4);
        want[i] = model_find(m, key[i]);
        assert_int_equal(find(t, key[i]), want[i]);
    }
    for (int k = POPTRIE_KERNEL_AUTO; k <= POPTRIE_KERNEL_AVX512_VPOPCNT; k++) {
        if (poptrie_set_kernel(k, 0) != 0)
            continue;
        memset(got, 0xee, sizeof(got));
        if (m->key_bits == 32)
            poptrie_find4_bulk(t, dst, got, n);
        else
            poptrie_find6_bulk(t, (const uint8_t(*)[16])key, got, n);
        for (unsigned i = 0; i < n; i++)
            if (got[i] != want[i])
                fail_msg("%s: address %u of %u: %u, not %u", poptrie_kernel_name(), i, n, got[i],
                         want[i]);
        assert_int_equal(got[n], 0xeeeeeeee);
    }
}

// --- random operations ---

static void random_step(struct poptrie *t, struct model *m, unsigned crowd, unsigned values)
{
    uint8_t key[16];
    unsigned len = model_random_len(&seed, m->key_bits);
    uint64_t r = model_random(&seed);

    model_random_key(&seed, m->key_bits, key);
    if (m->n > 0 && r % 100 < (m->n > crowd ? 60 : 40)) {
        const struct poptrie_route *at = &m->r[(r >> 32) % m->n];

        len = at->len;
        memcpy(key, at->key, 16);
    }
    if (r % 100 < (m->n > crowd ? 50 : 30)) {
        bool had = model_del(m, key, len);

        assert_int_equal(poptrie_del(t, key, len), had ? 0 : -ENOENT);
        assert_int_equal(poptrie_get(t, key, len), POPTRIE_NONE);
    } else {
        uint32_t value = 1 + (r >> 40) % values;

        model_set(m, key, len, value);
        assert_int_equal(poptrie_add(t, key, len, value), 0);
        assert_int_equal(poptrie_get(t, key, len), value);
    }
}

static void random_run(unsigned key_bits, unsigned steps, unsigned crowd, unsigned values)
{
    static struct model m;
    struct poptrie *t = table_new(key_bits);

    m.n = 0;
    m.key_bits = key_bits;
    for (unsigned i = 0; i < steps; i++) {
        random_step(t, &m, crowd, values);
        must_be_sound(t);
        must_agree(t, &m, 1 + model_random(&seed) % 64);
        if (i % 7 == 0)
            flush(t);
    }
    while (m.n > 0) {
        struct poptrie_route r = m.r[0];

        assert_true(model_del(&m, r.key, r.len));
        assert_int_equal(poptrie_del(t, r.key, r.len), 0);
        must_agree(t, &m, 8);
    }
    flush(t);
    must_be_sound(t);
    assert_int_equal(t->blocks.blocks, 0);
    assert_int_equal(t->nodes.blocks, 1); // the root
    poptrie_free(t);
}

static void random_ip4_operations_equal_the_model(void **state)
{
    random_run(32, 1000, 30, 5);
    random_run(32, 1000, 300, 65535);
}

static void random_ip6_operations_equal_the_model(void **state)
{
    random_run(128, 300, 30, 5);
    random_run(128, 300, 300, 65535);
}

// --- load ---

static void load_in_any_order_equals_adding_one_by_one(unsigned key_bits)
{
    static struct model m;
    static struct poptrie_route r[600];
    struct poptrie *t = table_new(key_bits);

    for (unsigned round = 0; round < 20; round++) {
        size_t n = round == 19 ? 0 : model_random(&seed) % 600;

        m.n = 0;
        m.key_bits = key_bits;
        for (size_t i = 0; i < n; i++) {
            memset(&r[i], 0, sizeof(r[i]));
            model_random_key(&seed, key_bits, r[i].key);
            r[i].len = model_random_len(&seed, key_bits);
            r[i].value = 1 + model_random(&seed) % 9;
            model_set(&m, r[i].key, r[i].len, r[i].value); // the last of equal ones wins here too
        }
        assert_int_equal(poptrie_load(t, r, n), 0);
        must_be_sound(t);
        must_agree(t, &m, 200);
        for (unsigned i = 0; i < 20; i++) {
            random_step(t, &m, 1000, 9);
            must_be_sound(t);
            must_agree(t, &m, 20);
        }
        if (round % 3 == 0)
            flush(t);
    }
    flush(t);
    assert_int_equal(poptrie_load(t, NULL, 0), 0);
    flush(t);
    assert_int_equal(t->blocks.blocks, 0);
    poptrie_free(t);
}

static void ip4_load_in_any_order_equals_adding_one_by_one(void **state)
{
    load_in_any_order_equals_adding_one_by_one(32);
}

static void ip6_load_in_any_order_equals_adding_one_by_one(void **state)
{
    load_in_any_order_equals_adding_one_by_one(128);
}

static void load_refuses_bad_routes_and_keeps_the_old_table(void **state)
{
    struct poptrie *t = table_new(32);
    struct poptrie_route r[3] = {{{10}, 8, 1}, {{11}, 8, 2}, {{12}, 33, 3}};

    assert_int_equal(poptrie_add(t, (const uint8_t[16]){10}, 8, 77), 0);
    assert_int_equal(poptrie_load(t, r, 3), -EINVAL);
    r[2].len = 8;
    r[2].value = 65536;
    assert_int_equal(poptrie_load(t, r, 3), -ERANGE);
    assert_int_equal(poptrie_find4(t, htonl(0x0a000001)), 77);
    assert_int_equal(poptrie_find4(t, htonl(0x0b000001)), POPTRIE_NONE);
    must_be_sound(t);
    poptrie_free(t);
}

// --- want of memory ---

// What readers see: the answers at m's routes and around them.
static void answers(const struct poptrie *t, const uint8_t (*key)[16], uint32_t *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        v[i] = find(t, key[i]);
}

#define PROBES 300

static void without_memory_the_old_table_stays_in_force(unsigned key_bits)
{
    static struct model m;
    static uint8_t key[PROBES][16];
    uint32_t before[PROBES], after[PROBES];
    struct poptrie *t = table_new(key_bits);
    unsigned refused = 0;

    m.n = 0;
    m.key_bits = key_bits;
    for (unsigned i = 0; i < 400; i++)
        random_step(t, &m, 200, 100);
    for (unsigned i = 0; i < 300; i++) {
        struct pool *scarce = i % 2 == 0 ? &t->blocks : &t->nodes;
        uint8_t k[16];
        unsigned len = model_random_len(&seed, key_bits);
        bool del = m.n > 0 && i % 3 == 0;
        int rc;

        model_random_key(&seed, key_bits, k);
        if (del) {
            memcpy(k, m.r[i % m.n].key, 16);
            len = m.r[i % m.n].len;
        }
        for (unsigned j = 0; j < PROBES; j++)
            random_address(&m, key[j]);
        answers(t, key, before, PROBES);
        scarce->fail_after = i / 2 % 5;
        if (i % 50 == 49)
            rc = poptrie_load(t, m.r, m.n);
        else
            rc = del ? poptrie_del(t, k, len) : poptrie_add(t, k, len, 1 + i % 100);
        scarce->fail_after = UINT64_MAX;
        must_be_sound(t);
        if (rc != 0) {
            assert_true(rc == -ENOMEM || rc == -ENOSPC);
            answers(t, key, after, PROBES);
            assert_memory_equal(before, after, sizeof(before));
            refused++;
        } else if (i % 50 != 49 && del) {
            model_del(&m, k, len);
        } else if (i % 50 != 49) {
            model_set(&m, k, len, 1 + i % 100);
        }
        must_agree(t, &m, 50);
        flush(t);
    }
    assert_in_range(refused, 50, 300);
    poptrie_free(t);
}

static void without_memory_the_old_ip4_table_stays_in_force(void **state)
{
    without_memory_the_old_table_stays_in_force(32);
}

static void without_memory_the_old_ip6_table_stays_in_force(void **state)
{
    without_memory_the_old_table_stays_in_force(128);
}

static void a_full_arena_refuses_and_takes_routes_again_after_reclaim(void **state)
{
    struct poptrie *t = poptrie_new(&(struct poptrie_config){.key_bits = 32, .max_bytes = 8192});
    uint8_t key[16] = {10};
    unsigned n = 0;
    int rc = 0;

    assert_non_null(t);
    for (; rc == 0 && n < 100000; n++) { // the same block again and again, never reclaimed
        key[2] = n % 200;
        rc = poptrie_add(t, key, 24, 1 + n % 1000);
    }
    assert_int_equal(rc, -ENOSPC);
    must_be_sound(t);
    flush(t);
    assert_int_equal(poptrie_add(t, key, 24, 5), 0);
    must_be_sound(t);
    poptrie_free(t);
}

struct maps {
    int left, open;
};

static void *count_map(void *ctx, const char *name, size_t bytes)
{
    struct maps *m = ctx;

    if (m->left-- == 0)
        return NULL;
    m->open++;
    return calloc(1, (bytes + 63) / 64 * 64);
}

static void count_unmap(void *ctx, void *p, size_t bytes)
{
    ((struct maps *)ctx)->open--;
    free(p);
}

static void new_gives_back_what_it_mapped_when_a_map_fails(void **state)
{
    for (int k = 0; k < 3; k++) {
        struct maps maps = {k, 0};
        struct poptrie *t = poptrie_new(&(struct poptrie_config){.key_bits = 32,
                                                                 .max_bytes = 65536,
                                                                 .map = count_map,
                                                                 .unmap = count_unmap,
                                                                 .ctx = &maps});

        if (k < 2) {
            assert_null(t);
            assert_int_equal(errno, ENOMEM);
        } else {
            assert_non_null(t);
            assert_int_equal(maps.open, 2);
            assert_int_equal(poptrie_add(t, (const uint8_t[16]){1, 2, 3}, 24, 9), 0);
            assert_int_equal(poptrie_find4(t, htonl(0x01020304)), 9);
            poptrie_free(t);
        }
        assert_int_equal(maps.open, 0);
    }
}

static void new_refuses_what_it_cannot_do(void **state)
{
    assert_null(poptrie_new(&(struct poptrie_config){.key_bits = 64}));
    assert_int_equal(errno, EINVAL);
    assert_null(poptrie_new(&(struct poptrie_config){.key_bits = 32, .max_bytes = 1ull << 30}));
    assert_int_equal(errno, EINVAL);
    poptrie_free(NULL);
}

// --- edges ---

static void bad_arguments_are_refused(void **state)
{
    struct poptrie *t = table_new(32), *u = table_new(128);
    uint8_t key[16] = {1};

    assert_int_equal(poptrie_add(t, key, 33, 1), -EINVAL);
    assert_int_equal(poptrie_add(u, key, 129, 1), -EINVAL);
    assert_int_equal(poptrie_add(t, key, 8, 0), -ERANGE);
    assert_int_equal(poptrie_add(t, key, 8, 65536), -ERANGE);
    assert_int_equal(poptrie_del(t, key, 33), -EINVAL);
    assert_int_equal(poptrie_del(t, key, 8), -ENOENT);
    assert_int_equal(poptrie_del(t, key, 0), -ENOENT);
    assert_int_equal(poptrie_get(t, key, 33), POPTRIE_NONE);
    must_be_sound(t);
    poptrie_free(t);
    poptrie_free(u);
}

static void every_length_of_one_address_nests(void **state)
{
    for (unsigned bits = 32; bits <= 128; bits += 96)
        for (unsigned ones = 0; ones < 3; ones++) { // all zeros, all ones, a real one
            struct poptrie *t = table_new(bits);
            uint8_t key[16], probe[16];

            memset(key, ones == 1 ? 0xff : 0, 16);
            if (ones == 2)
                memcpy(key, "\x20\x01\x0d\xb8\x12\x34\x56\x78\x9a\xbc\xde\xf0\x13\x57\x9b\xdf", 16);
            for (unsigned len = 0; len <= bits; len++) {
                assert_int_equal(poptrie_add(t, key, len, 1000 + len), 0);
                assert_int_equal(find(t, key), 1000 + len);
            }
            must_be_sound(t);
            for (unsigned len = 0; len < bits; len++) { // differs first in bit `len`
                memcpy(probe, key, 16);
                probe[len / 8] ^= 0x80 >> len % 8;
                assert_int_equal(find(t, probe), 1000 + len);
            }
            for (unsigned len = bits; len > 0; len--) {
                assert_int_equal(poptrie_del(t, key, len), 0);
                assert_int_equal(find(t, key), 1000 + len - 1);
                must_be_sound(t);
            }
            poptrie_free(t);
        }
}

static void default_route_answers_what_no_other_route_does(void **state)
{
    struct poptrie *t = table_new(128);
    uint8_t key[16] = {0x20, 1}, outside[16] = {0xfe, 0x80};
    uint64_t rebuilt;

    assert_int_equal(poptrie_add(t, key, 16, 5), 0);
    assert_int_equal(find(t, outside), POPTRIE_NONE);
    rebuilt = t->rebuilt;
    assert_int_equal(poptrie_add(t, key, 0, 7), 0);
    assert_int_equal(t->rebuilt, rebuilt); // one store, nothing built
    assert_int_equal(find(t, outside), 7);
    assert_int_equal(find(t, key), 5);
    assert_int_equal(poptrie_get(t, outside, 0), 7);
    assert_int_equal(poptrie_add(t, key, 0, 8), 0);
    assert_int_equal(find(t, outside), 8);
    assert_int_equal(poptrie_del(t, key, 0), 0);
    assert_int_equal(find(t, outside), POPTRIE_NONE);
    must_be_sound(t);
    poptrie_free(t);
}

static void a_block_grows_from_1_to_16_bit_leaves(void **state)
{
    struct poptrie *t = table_new(32);
    uint8_t key[16] = {10};
    uint32_t value = 1;

    for (unsigned i = 0; i < 64; i++) {
        key[2] = i;
        value = i < 17 ? (1u << i) - (i == 16) : 65535 - i;
        assert_int_equal(poptrie_add(t, key, 24, value), 0);
        must_be_sound(t);
        for (unsigned j = 0; j <= i; j++)
            assert_int_equal(poptrie_find4(t, htonl(0x0a000001 | j << 8)),
                             j < 17 ? (1u << j) - (j == 16) : 65535 - j);
        flush(t);
    }
    poptrie_free(t);
}

static void all_65535_values_are_kept_apart(void **state)
{
    struct poptrie *t = table_new(32);
    struct poptrie_route *r = calloc(65535, sizeof(*r));

    for (uint32_t i = 0; i < 65535; i++)
        r[i] = (struct poptrie_route){{20, i >> 10, i >> 2, i << 6}, 26, i + 1};
    assert_int_equal(poptrie_load(t, r, 65535), 0);
    must_be_sound(t);
    for (uint32_t i = 0; i < 65535; i++)
        assert_int_equal(poptrie_find4(t, htonl(20u << 24 | i << 6 | 63)), i + 1);
    free(r);
    poptrie_free(t);
}

static void bulk_lookups_of_any_count_agree(void **state)
{
    static struct model m;

    for (unsigned bits = 32; bits <= 128; bits += 96) {
        struct poptrie *t = table_new(bits);

        m.n = 0;
        m.key_bits = bits;
        for (unsigned i = 0; i < 300; i++)
            random_step(t, &m, 1000, 300);
        for (unsigned n = 1; n <= 300; n++)
            must_agree(t, &m, n);
        must_agree(t, &m, 600);
        poptrie_free(t);
    }
}

static void kernels_refuse_what_the_limit_rules_out(void **state)
{
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AVX512, 256), -ENOTSUP);
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AVX2, 128), -ENOTSUP);
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 64), 0);
    assert_string_equal(poptrie_kernel_name(), "scalar");
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0), 0);
}

// --- walk, statistics, memory ---

struct order {
    struct poptrie_route last;
    size_t n;
    const struct poptrie *t;
};

static int must_follow(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    struct order *o = ctx;
    struct poptrie_route r = {.len = len, .value = value};

    memcpy(r.key, key, o->t->geo.key_bits / 8);
    if (o->n++ > 0) {
        int c = memcmp(o->last.key, r.key, 16);

        assert_true(c < 0 || (c == 0 && o->last.len < len));
    }
    assert_int_equal(poptrie_get(o->t, key, len), value);
    o->last = r;
    return o->n == 1000000 ? -1 : 0;
}

static int stop_at_third(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    return ++*(int *)ctx == 3 ? 42 : 0;
}

static void walk_visits_every_route_once_in_prefix_order(void **state)
{
    static struct model m;

    for (unsigned bits = 32; bits <= 128; bits += 96) {
        struct poptrie *t = table_new(bits);
        struct order o = {.t = t};
        struct poptrie_stats s;
        uint64_t by_depth = 0;
        int calls = 0;

        m.n = 0;
        m.key_bits = bits;
        for (unsigned i = 0; i < 1000; i++)
            random_step(t, &m, 1000, 300);
        assert_int_equal(poptrie_walk(t, must_follow, &o), 0);
        assert_int_equal(o.n, m.n);
        assert_int_equal(poptrie_walk(t, stop_at_third, &calls), 42);
        poptrie_stats(t, &s);
        assert_int_equal(s.routes, m.n);
        for (unsigned i = 0; i < 32; i++)
            by_depth += s.depth[i];
        assert_int_equal(by_depth, m.n);
        assert_int_equal(s.nodes + t->garbage_n, t->blocks.blocks);
        assert_true(s.leaves > s.nodes);
        poptrie_free(t);
    }
}

static void garbage_is_reused_only_after_its_epoch_is_reclaimed(void **state)
{
    struct poptrie *t = table_new(32);
    uint8_t key[16] = {10, 0, 1};
    uint64_t first, second;

    assert_int_equal(poptrie_add(t, key, 24, 1), 0);
    assert_int_equal(poptrie_add(t, key, 24, 2), 0);
    first = poptrie_epoch(t);
    assert_int_equal(poptrie_add(t, key, 24, 3), 0);
    second = poptrie_epoch(t);
    assert_true(second > first);
    assert_int_equal(t->garbage_n, 2);
    assert_int_equal(t->blocks.blocks, 3);
    poptrie_reclaim(t, first);
    assert_int_equal(t->garbage_n, 1);
    assert_int_equal(t->blocks.blocks, 2);
    poptrie_reclaim(t, second);
    assert_int_equal(t->garbage_n, 0);
    assert_int_equal(t->garbage_bytes, 0);
    must_be_sound(t);
    poptrie_free(t);
}

// A generated table and half a million changes: no more memory than a fresh build, and 10 %.
static void memory_does_not_drift_under_churn(void **state)
{
    static const unsigned family[2] = {4, 6};
    size_t n = 50000;
    struct prefix *p = calloc(n, sizeof(*p));
    struct poptrie_route *r = calloc(n, sizeof(*r));

    for (unsigned f = 0; f < 2; f++) {
        struct poptrie *t = table_new(family[f] == 4 ? 32 : 128);
        struct poptrie *fresh = table_new(family[f] == 4 ? 32 : 128);
        struct poptrie_stats a, b;
        char *gone = calloc(1, n);

        n = table_gen(p, n, 5, family[f]);
        for (size_t i = 0; i < n; i++) {
            r[i] = (struct poptrie_route){.len = p[i].len, .value = 1 + i % 500};
            memcpy(r[i].key, p[i].b, 16);
        }
        assert_int_equal(poptrie_load(t, r, n), 0);
        for (unsigned i = 0; i < 500000; i++) {
            size_t at = model_random(&seed) % n;

            if (gone[at] || i % 3 == 0) {
                r[at].value = 1 + i % 500;
                assert_int_equal(poptrie_add(t, r[at].key, r[at].len, r[at].value), 0);
                gone[at] = 0;
            } else {
                assert_int_equal(poptrie_del(t, r[at].key, r[at].len), 0);
                gone[at] = 1;
            }
            if (i % 256 == 0)
                flush(t);
        }
        for (size_t i = 0; i < n; i++) {
            if (gone[i])
                assert_int_equal(poptrie_add(t, r[i].key, r[i].len, r[i].value), 0);
            if (i % 256 == 0)
                flush(t);
        }
        flush(t);
        must_be_sound(t);
        assert_int_equal(poptrie_load(fresh, r, n), 0);
        poptrie_usage(t, &a);
        poptrie_usage(fresh, &b);
        assert_true(a.bytes_used <= b.bytes_used + b.bytes_used / 10);
        assert_true(a.writer_bytes <= b.writer_bytes + b.writer_bytes / 10 + 65536);
        free(gone);
        poptrie_free(t);
        poptrie_free(fresh);
    }
    free(p);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_ip4_operations_equal_the_model),
        cmocka_unit_test(random_ip6_operations_equal_the_model),
        cmocka_unit_test(ip4_load_in_any_order_equals_adding_one_by_one),
        cmocka_unit_test(ip6_load_in_any_order_equals_adding_one_by_one),
        cmocka_unit_test(load_refuses_bad_routes_and_keeps_the_old_table),
        cmocka_unit_test(without_memory_the_old_ip4_table_stays_in_force),
        cmocka_unit_test(without_memory_the_old_ip6_table_stays_in_force),
        cmocka_unit_test(a_full_arena_refuses_and_takes_routes_again_after_reclaim),
        cmocka_unit_test(new_gives_back_what_it_mapped_when_a_map_fails),
        cmocka_unit_test(new_refuses_what_it_cannot_do),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(every_length_of_one_address_nests),
        cmocka_unit_test(default_route_answers_what_no_other_route_does),
        cmocka_unit_test(a_block_grows_from_1_to_16_bit_leaves),
        cmocka_unit_test(all_65535_values_are_kept_apart),
        cmocka_unit_test(bulk_lookups_of_any_count_agree),
        cmocka_unit_test(kernels_refuse_what_the_limit_rules_out),
        cmocka_unit_test(walk_visits_every_route_once_in_prefix_order),
        cmocka_unit_test(garbage_is_reused_only_after_its_epoch_is_reclaimed),
        cmocka_unit_test(memory_does_not_drift_under_churn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
