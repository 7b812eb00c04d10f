// SPDX-License-Identifier: BSD-3-Clause
// poptrie_group_test.c - tables of a group: they share parts, and each behaves as if alone
//
// Each table has its own model. Changes go to one table, or to all of them, so that trees become
// equal, are shared, and separate again.
#include "poptrie/poptrie_fixture.h"
#include "base/table_gen.h"
#include "tests/unit.h"

#define TABLES 5

#define GROUPS 2 // of TABLES, one after the other; all tests but one use only the first

static struct lpm model[GROUPS * TABLES];
static struct poptrie *table[GROUPS * TABLES];

static void group_make(unsigned group, unsigned key_bits, unsigned copies)
{
    for (unsigned k = group * TABLES; k < (group + 1) * TABLES; k++) {
        table[k] = poptrie_new(
            &(struct poptrie_config){.key_bits = key_bits,
                                     .copies = copies,
                                     .places = TABLES,
                                     .beside = k % TABLES ? table[group * TABLES] : NULL});
        assert_non_null(table[k]);
        model[k].n = 0;
        model[k].key_bits = key_bits;
    }
}

static void tables_make(unsigned key_bits, unsigned copies)
{
    group_make(0, key_bits, copies);
}

static void tables_free(void)
{
    for (unsigned k = 0; k < GROUPS * TABLES; k++) {
        poptrie_free(table[k]);
        table[k] = NULL;
    }
}

static void fold_all(void)
{
    for (unsigned k = 0; k < TABLES; k++)
        poptrie_dedupe(table[k]);
    flush(table[0]);
}

// Looks up addresses of all tables of a group in one burst, of which `strays` belong to a table of
// the other group: with every kernel and copy.
static void each_must_agree_but(unsigned n, unsigned group, unsigned strays)
{
    static const struct poptrie *of[150];
    static uint8_t key[150][16];
    static uint32_t dst[150], got[151];
    unsigned who[150];

    for (unsigned copy = 0; copy <= table[0]->n_copies; copy++) {
        for (unsigned i = 0; i < n; i++) {
            bool stray = strays != 0 && lpm_random(&seed) % strays == 0;

            who[i] = (stray ? 1 - group : group) * TABLES + lpm_random(&seed) % TABLES;
            of[i] = poptrie_copy(table[who[i]], copy);
            random_address(&model[who[i]], key[i]);
            memcpy(&dst[i], key[i], 4);
        }
        for (int k = POPTRIE_KERNEL_AUTO; k < POPTRIE_KERNELS; k++) {
            if (poptrie_set_kernel(k, 0) != 0)
                continue;
            memset(got, 0xee, sizeof(got));
            if (model[0].key_bits == 32)
                poptrie_find4_each(of, dst, got, n);
            else
                poptrie_find6_each(of, (const uint8_t(*)[16])key, got, n);
            for (unsigned i = 0; i < n; i++)
                if (got[i] != lpm_find(&model[who[i]], key[i]))
                    fail_msg("%s: address %u of %u: %u, not %u", poptrie_kernel_name(), i, n,
                             got[i], lpm_find(&model[who[i]], key[i]));
            assert_int_equal(got[n], 0xeeeeeeee);
        }
    }
}

static void each_must_agree(unsigned n)
{
    each_must_agree_but(n, 0, 0);
}

static void copy_route(unsigned to, const struct poptrie_route *r)
{
    lpm_set(&model[to], r->key, r->len, r->value);
    assert_int_equal(poptrie_add(table[to], r->key, r->len, r->value), 0);
}

// Makes the table equal to table `from`: adds all its routes, removes all others.
static void become_equal(unsigned to, unsigned from)
{
    for (size_t i = model[to].n; i-- > 0;) {
        struct poptrie_route r = model[to].r[i];

        if (lpm_at(&model[from], r.key, r.len) == NULL) {
            assert_true(lpm_del(&model[to], r.key, r.len));
            assert_int_equal(poptrie_del(table[to], r.key, r.len), 0);
        }
    }
    for (size_t i = 0; i < model[from].n; i++)
        copy_route(to, &model[from].r[i]);
}

static uint64_t shared_bytes(unsigned k)
{
    struct poptrie_stats s;

    poptrie_usage(table[k], &s);
    return s.shared_bytes;
}

static void random_changes(unsigned key_bits)
{
    tables_make(key_bits, 2);
    for (unsigned round = 0; round < 40; round++) {
        for (unsigned i = 0; i < 20; i++)
            random_step(table[round % TABLES], &model[round % TABLES], 150, 100);
        if (round % 4 == 3)
            for (unsigned k = 0; k < TABLES; k++)
                if (k != round % TABLES && k != (round / 4) % TABLES)
                    become_equal(k, round % TABLES);
        if (round % 10 == 9)
            assert_int_equal(poptrie_load(table[3], model[3].r, model[3].n), 0);
        if (round % 3 != 2)
            fold_all();
        for (unsigned k = 0; k < TABLES; k++) {
            must_be_sound(table[k]);
            must_agree(table[k], &model[k], 20);
        }
        each_must_agree(1 + lpm_random(&seed) % 150);
        if (round % 5 == 0)
            flush(table[round % TABLES]);
    }
    for (unsigned k = 1; k < TABLES; k++)
        become_equal(k, 0);
    fold_all();
    for (unsigned k = 0; k < TABLES; k++) {
        must_be_sound(table[k]);
        must_agree(table[k], &model[k], 100);
    }
    tables_free();
}

unit_test(random_changes_of_five_ip4_tables)
{
    random_changes(32);
}

unit_test(random_changes_of_five_ip6_tables)
{
    random_changes(128);
}

// More virtual routers than places: their packets still come in one burst, mostly of one group,
// half and half, or with one packet of the other group.
static void bursts_of_two_groups(unsigned key_bits)
{
    tables_make(key_bits, 2);
    group_make(1, key_bits, 2);
    for (unsigned round = 0; round < 8; round++) {
        for (unsigned k = 0; k < GROUPS * TABLES; k++) {
            // routes of one group are absent in the other
            for (unsigned i = 0; i < 30; i++)
                random_step(table[k], &model[k], 200, k < TABLES ? 100 : 60000);
            if (k % TABLES && round % 2)
                become_equal(k, k - k % TABLES);
            poptrie_dedupe(table[k]);
            if (k % TABLES == 0)
                flush(table[k]);
        }
        for (unsigned n = 1; n <= 150; n += n < 70 ? 1 : 16)
            for (unsigned strays = 2; strays <= 32; strays *= 4)
                each_must_agree_but(n, round % GROUPS, strays);
        for (unsigned k = 0; k < GROUPS * TABLES; k += TABLES)
            must_be_sound(table[k]);
    }
    tables_free();
}

unit_test(bursts_of_two_ip4_groups)
{
    bursts_of_two_groups(32);
}

unit_test(bursts_of_two_ip6_groups)
{
    bursts_of_two_groups(128);
}

static struct poptrie_route *generated(size_t n, unsigned family, size_t *got)
{
    struct prefix *p = calloc(n, sizeof(*p));
    struct poptrie_route *r = calloc(n, sizeof(*r));

    *got = table_gen(p, n, 5, family);
    for (size_t i = 0; i < *got; i++) {
        r[i] = (struct poptrie_route){.len = p[i].len, .value = 1 + i % 500};
        memcpy(r[i].key, p[i].b, 16);
    }
    free(p);
    return r;
}

// Five equal tables have the blocks of one; again after changes that are undone, and after changes
// of short routes.
static void equal_tables_are_as_large_as_one(unsigned key_bits)
{
    size_t n;
    struct poptrie_route *r = generated(20000, key_bits == 32 ? 4 : 6, &n);
    struct table_group *g;
    uint64_t one, pages;

    tables_make(key_bits, 1);
    g = table[0]->group;
    assert_int_equal(poptrie_load(table[0], r, n), 0);
    one = g->blocks.block_bytes;
    for (unsigned k = 1; k < TABLES; k++)
        assert_int_equal(poptrie_load(table[k], r, n), 0);
    fold_all();
    // each table has its own tree outside IPv6's directory
    assert_in_range(g->blocks.block_bytes, one, one * 11 / 10);
    assert_true(shared_bytes(1) > 0);
    pages = g->pages_used;
    assert_int_equal(pages, PAGES);
    one = g->blocks.block_bytes;
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned k = 0; k < TABLES; k++)
            for (unsigned i = 0; i < 150; i++) {
                size_t at = (i * 37 + round * 1001) % n;

                if (round % 2 == 0)
                    assert_int_equal(poptrie_add(table[k], r[at].key, r[at].len, 7 + k), 0);
                else
                    assert_int_equal(poptrie_del(table[k], r[at].key, r[at].len), 0);
            }
        fold_all();
        must_be_sound(table[round % TABLES]);
        assert_true(round % 2 != 0 || g->pages_used < PAGES);
        for (unsigned k = 0; k < TABLES; k++)
            for (unsigned i = 0; i < 150; i++) {
                size_t at = (i * 37 + round * 1001) % n;

                assert_int_equal(poptrie_add(table[k], r[at].key, r[at].len, r[at].value), 0);
            }
        fold_all();
        assert_int_equal(g->blocks.block_bytes, one);
        assert_int_equal(g->pages_used, PAGES);
    }
    for (unsigned k = 0; k < TABLES; k++)
        must_be_sound(table[k]);
    for (unsigned k = 1; k < TABLES; k++) { // tables that leave free all their memory
        poptrie_free(table[k]);
        flush(table[0]);
        must_be_sound(table[0]);
    }
    poptrie_free(table[0]);
    free(r);
}

unit_test(equal_ip4_tables_are_as_large_as_one)
{
    equal_tables_are_as_large_as_one(32);
}

unit_test(equal_ip6_tables_are_as_large_as_one)
{
    equal_tables_are_as_large_as_one(128);
}

unit_test(the_last_one_keeps_what_it_shared)
{
    uint8_t key[16] = {10, 1, 2};

    tables_make(32, 1);
    for (unsigned k = 0; k < TABLES; k++)
        for (unsigned i = 0; i < 8; i++) {
            key[2] = 2 * i;
            assert_int_equal(poptrie_add(table[k], key, 24, 3 + i), 0);
        }
    fold_all();
    assert_int_equal(table[4]->dir[(10u << 10) + 4], table[0]->dir[(10u << 10) + 4]);
    for (unsigned k = 0; k + 1 < TABLES; k++)
        poptrie_free(table[k]);
    flush(table[4]);
    must_be_sound(table[4]);
    assert_int_equal(poptrie_find4(table[4], htonl(0x0a010201)), 4);
    assert_int_equal(poptrie_add(table[4], key, 25, 99), 0);
    flush(table[4]);
    must_be_sound(table[4]);
    poptrie_free(table[4]);
}

unit_test(a_place_is_taken_again_and_begins_empty)
{
    uint8_t key[16] = {10, 1, 2};

    tables_make(32, 2);
    assert_null(poptrie_new(&(struct poptrie_config){.key_bits = 32, .beside = table[0]}));
    assert_int_equal(errno, ENOSPC);
    assert_null(poptrie_new(&(struct poptrie_config){.key_bits = 128, .beside = table[0]}));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(poptrie_add(table[2], key, 24, 3), 0);
    assert_int_equal(poptrie_add(table[2], key, 4, 5), 0);
    poptrie_free(table[2]);
    table[2] = poptrie_new(&(struct poptrie_config){.key_bits = 32, .beside = table[0]});
    assert_non_null(table[2]);
    assert_int_equal(poptrie_find4(table[2], htonl(0x0a010201)), 0);
    must_be_sound(table[2]);
    flush(table[2]);
    must_be_sound(table[0]);
    assert_int_equal(table[0]->group->blocks.blocks, 0);
    tables_free();
}

// A change in a shared tree without memory for it: all tables stay as they are.
unit_test(without_memory_nothing_parts)
{
    tables_make(32, 2);
    for (unsigned i = 0; i < 200; i++)
        random_step(table[0], &model[0], 100, 100);
    for (unsigned k = 1; k < TABLES; k++)
        become_equal(k, 0);
    fold_all();
    for (unsigned i = 0; i < 150; i++) {
        unsigned k = i % TABLES;
        struct pool *scarce = i % 2 == 0 ? &table[k]->group->blocks : &table[k]->nodes;
        struct poptrie_route r = {.len = lpm_random_len(&seed, 32), .value = 1 + i % 100};

        lpm_random_key(&seed, 32, r.key);
        scarce->fail_after = i / 2 % 6;
        if (poptrie_add(table[k], r.key, r.len, r.value) == 0)
            lpm_set(&model[k], r.key, r.len, r.value);
        scarce->fail_after = UINT64_MAX;
        must_be_sound(table[k]);
        must_agree(table[k], &model[k], 30);
        if (i % 10 == 9) {
            for (unsigned j = 1; j < TABLES; j++)
                become_equal(j, 0);
            fold_all();
            must_be_sound(table[0]);
        }
    }
    tables_free();
}

// A refused change has separated its trees: the next dedupe finds them.
unit_test(what_a_refused_change_parted_is_shared_again)
{
    const uint8_t key[4] = {10, 1, 0, 0};
    uint64_t shared;

    tables_make(32, 1);
    for (unsigned k = 0; k < TABLES; k++)
        for (uint8_t i = 0; i < 200; i++)
            copy_route(
                k, &(struct poptrie_route){.key = {10, 1, i, 128}, .len = 26, .value = 1 + i % 3});
    fold_all();
    shared = shared_bytes(2);
    assert_true(shared > 0);
    assert_int_equal(poptrie_del(table[2], key, 12), -ENOENT);
    fold_all();
    assert_int_equal(shared_bytes(2), shared);
    table[2]->nodes.fail_after = 0;
    assert_int_equal(poptrie_add(table[2], key, 12, 9), -ENOMEM);
    table[2]->nodes.fail_after = UINT64_MAX;
    fold_all();
    assert_int_equal(shared_bytes(2), shared);
    must_be_sound(table[2]);
    tables_free();
}

// The maximum number of tables: all equal, then each removed in a different order while the others
// change, with garbage not yet reclaimed.
unit_test(sixty_four_tables_come_and_go)
{
    static struct poptrie *t[POPTRIE_TABLES_MAX];
    static struct lpm m[POPTRIE_TABLES_MAX];
    uint8_t key[16];

    for (unsigned k = 0; k < POPTRIE_TABLES_MAX; k++) {
        t[k] = poptrie_new(&(struct poptrie_config){
            .key_bits = 32, .places = POPTRIE_TABLES_MAX, .beside = k ? t[0] : NULL});
        assert_non_null(t[k]);
        m[k] = (struct lpm){.key_bits = 32};
    }
    errno = 0;
    assert_null(poptrie_new(&(struct poptrie_config){.key_bits = 32, .beside = t[9]}));
    assert_int_equal(errno, ENOSPC);
    for (unsigned i = 0; i < 120; i++) {
        unsigned len = lpm_random_len(&seed, 32);
        lpm_random_key(&seed, 32, key);
        for (unsigned k = 0; k < POPTRIE_TABLES_MAX; k++) {
            lpm_set(&m[k], key, len, 1 + i);
            assert_int_equal(poptrie_add(t[k], key, len, 1 + i), 0);
        }
    }
    for (unsigned k = 0; k < POPTRIE_TABLES_MAX; k++)
        poptrie_dedupe(t[k]);
    for (unsigned round = 0; round < 60; round++) {
        unsigned gone = 1 + lpm_random(&seed) % (POPTRIE_TABLES_MAX - 1),
                 other = lpm_random(&seed) % POPTRIE_TABLES_MAX;

        if (other == gone)
            continue;
        random_step(t[other], &m[other], 150, 100);
        poptrie_dedupe(t[other]);
        poptrie_free(t[gone]);
        must_be_sound(t[other]);
        t[gone] = poptrie_new(&(struct poptrie_config){.key_bits = 32, .beside = t[0]});
        assert_non_null(t[gone]);
        for (size_t i = 0; i < m[0].n; i++)
            assert_int_equal(poptrie_add(t[gone], m[0].r[i].key, m[0].r[i].len, m[0].r[i].value),
                             0);
        m[gone] = m[0];
        poptrie_dedupe(t[gone]);
        if (round % 8 == 0) {
            flush(t[other]);
            must_be_sound(t[gone]);
            must_agree(t[gone], &m[gone], 20);
            must_agree(t[other], &m[other], 20);
        }
    }
    for (unsigned k = 0; k < POPTRIE_TABLES_MAX; k++)
        poptrie_free(t[k]);
}
