// SPDX-License-Identifier: BSD-3-Clause
// poptrie_memory_test.c - lack of memory, garbage, and memory usage
#include "poptrie/poptrie_fixture.h"
#include "base/table_gen.h"
#include "tests/unit.h"

// The readers' answers at m's routes and around them.
static void answers(const struct poptrie *t, const uint8_t (*key)[16], uint32_t *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        v[i] = find(t, key[i]);
}

#define PROBES 300

static void without_memory_the_old_table_stays_in_force(unsigned key_bits)
{
    static struct lpm m;
    static uint8_t key[PROBES][16];
    uint32_t before[PROBES], after[PROBES];
    struct poptrie *t = table_new(key_bits);
    unsigned refused = 0;

    m.n = 0;
    m.key_bits = key_bits;
    for (unsigned i = 0; i < 400; i++)
        random_step(t, &m, 200, 100);
    for (unsigned i = 0; i < 300; i++) {
        struct pool *scarce = i % 2 == 0 ? &t->group->blocks : &t->nodes;
        uint8_t k[16];
        unsigned len = lpm_random_len(&seed, key_bits);
        bool del = m.n > 0 && i % 3 == 0;
        int rc;

        lpm_random_key(&seed, key_bits, k);
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
            lpm_del(&m, k, len);
        } else if (i % 50 != 49) {
            lpm_set(&m, k, len, 1 + i % 100);
        }
        must_agree(t, &m, 50);
        flush(t);
    }
    assert_in_range(refused, 50, 300);
    poptrie_free(t);
}

unit_test(without_memory_the_old_ip4_table_stays_in_force)
{
    without_memory_the_old_table_stays_in_force(32);
}

unit_test(without_memory_the_old_ip6_table_stays_in_force)
{
    without_memory_the_old_table_stays_in_force(128);
}

unit_test(a_full_arena_refuses_and_takes_routes_again_after_reclaim)
{
    struct poptrie *t = poptrie_new(&(struct poptrie_config){.key_bits = 32, .max_bytes = 8192});
    uint8_t key[16] = {10};
    unsigned n = 0;
    int rc = 0;

    assert_non_null(t);
    for (; rc == 0 && n < 100000; n++) { // rebuilds the same block, never reclaimed
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

static void *count_map(void *ctx, const char *name, size_t bytes, unsigned copy)
{
    struct maps *m = ctx;

    if (m->left-- == 0)
        return NULL;
    m->open++;
    return memset(aligned_alloc(64, (bytes + 63) / 64 * 64), 0, bytes);
}

static void count_unmap(void *ctx, void *p, size_t bytes)
{
    ((struct maps *)ctx)->open--;
    free(p);
}

unit_test(new_says_when_a_map_fails_and_free_unmaps)
{
    for (int k = 0; k < 4; k++) { // the third copy's fails last
        struct maps maps = {k, 0};
        struct poptrie *t = poptrie_new(&(struct poptrie_config){.key_bits = 32,
                                                                 .max_bytes = 65536,
                                                                 .copies = 3,
                                                                 .map = count_map,
                                                                 .unmap = count_unmap,
                                                                 .ctx = &maps});

        if (k < 3) {
            assert_null(t);
            assert_int_equal(errno, ENOMEM);
        } else {
            assert_non_null(t);
            assert_int_equal(maps.open, 3);
            assert_int_equal(poptrie_add(t, (const uint8_t[16]){1, 2, 3}, 24, 9), 0);
            assert_int_equal(poptrie_find4(t, htonl(0x01020304)), 9);
            poptrie_free(t);
        }
        assert_int_equal(maps.open, 0);
    }
}

unit_test(new_refuses_what_it_cannot_do)
{
    assert_null(poptrie_new(&(struct poptrie_config){.key_bits = 64}));
    assert_int_equal(errno, EINVAL);
    assert_null(poptrie_new(&(struct poptrie_config){.key_bits = 32, .max_bytes = 1ull << 30}));
    assert_int_equal(errno, EINVAL);
    poptrie_free(NULL);
}

unit_test(garbage_is_reused_only_after_its_epoch_is_reclaimed)
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
    assert_int_equal(t->group->garbage_n, 2);
    assert_int_equal(t->group->blocks.blocks, 3);
    poptrie_reclaim(t, first);
    assert_int_equal(t->group->garbage_n, 1);
    assert_int_equal(t->group->blocks.blocks, 2);
    poptrie_reclaim(t, second);
    assert_int_equal(t->group->garbage_n, 0);
    assert_int_equal(t->group->garbage_bytes, 0);
    must_be_sound(t);
    poptrie_free(t);
}

// After half a million changes, a generated table uses at most 10 % more memory than a fresh build.
unit_test(memory_does_not_drift_under_churn)
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
            size_t at = lpm_random(&seed) % n;

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
