// SPDX-License-Identifier: BSD-3-Clause
// poptrie_group_test.c - tables beside each other: what they share, and that none notices
//
// Each table has its model. Changes go to one table, or to all of them, so that trees become equal, are shared, and part again.
#include "poptrie/test_kit.h"
#include "base/table_gen.h"

#define TABLES 5

static struct model model[TABLES];
static struct poptrie *table[TABLES];

static void tables_make(unsigned key_bits, unsigned copies)
{
    for (unsigned k = 0; k < TABLES; k++) {
        table[k] = poptrie_new(&(struct poptrie_config){
            .key_bits = key_bits, .copies = copies, .places = TABLES, .beside = k ? table[0] : NULL});
        assert_non_null(table[k]);
        model[k].n = 0;
        model[k].key_bits = key_bits;
    }
}

static void tables_free(void)
{
    for (unsigned k = 0; k < TABLES; k++) {
        poptrie_free(table[k]);
        table[k] = NULL;
    }
}

static void fold_all(void)
{
    for (unsigned k = 0; k < TABLES; k++)
        poptrie_fold(table[k]);
    flush(table[0]);
}

// Addresses of all tables in one burst: every kernel, every copy.
static void each_must_agree(unsigned n)
{
    static const struct poptrie *of[150];
    static uint8_t key[150][16];
    static uint32_t dst[150], got[151];
    unsigned who[150];

    for (unsigned copy = 0; copy <= table[0]->n_copies; copy++) {
        for (unsigned i = 0; i < n; i++) {
            who[i] = model_random(&seed) % TABLES;
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
                if (got[i] != model_find(&model[who[i]], key[i]))
                    fail_msg("%s: address %u of %u: %u, not %u", poptrie_kernel_name(), i, n, got[i], model_find(&model[who[i]], key[i]));
            assert_int_equal(got[n], 0xeeeeeeee);
        }
    }
}

static void copy_route(unsigned to, const struct poptrie_route *r)
{
    model_set(&model[to], r->key, r->len, r->value);
    assert_int_equal(poptrie_add(table[to], r->key, r->len, r->value), 0);
}

// The table gets what table `from` has: all routes of it, none that it has not.
static void become_equal(unsigned to, unsigned from)
{
    for (size_t i = model[to].n; i-- > 0;) {
        struct poptrie_route r = model[to].r[i];

        if (model_at(&model[from], r.key, r.len) == NULL) {
            assert_true(model_del(&model[to], r.key, r.len));
            assert_int_equal(poptrie_del(table[to], r.key, r.len), 0);
        }
    }
    for (size_t i = 0; i < model[from].n; i++)
        copy_route(to, &model[from].r[i]);
}

static uint64_t shared_bytes(unsigned k)
{
    struct poptrie_stats s;

    poptrie_stats(table[k], &s);
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
        each_must_agree(1 + model_random(&seed) % 150);
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

static void random_changes_of_five_ip4_tables(void **state)
{
    random_changes(32);
}

static void random_changes_of_five_ip6_tables(void **state)
{
    random_changes(128);
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

// Five equal tables have the blocks of one; after changes that are taken back, and those of short routes, again.
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
    assert_in_range(g->blocks.block_bytes, one, one * 11 / 10); // the tree outside of IPv6's directory is each one's own
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
    for (unsigned k = 1; k < TABLES; k++) { // those who leave leave nothing behind
        poptrie_free(table[k]);
        flush(table[0]);
        must_be_sound(table[0]);
    }
    poptrie_free(table[0]);
    free(r);
}

static void equal_ip4_tables_are_as_large_as_one(void **state)
{
    equal_tables_are_as_large_as_one(32);
}

static void equal_ip6_tables_are_as_large_as_one(void **state)
{
    equal_tables_are_as_large_as_one(128);
}

static void the_last_one_keeps_what_it_shared(void **state)
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

static void a_place_is_taken_again_and_begins_empty(void **state)
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

// A change in a shared tree for which there is no room: all tables stay as they are.
static void without_memory_nothing_parts(void **state)
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
        struct poptrie_route r = {.len = model_random_len(&seed, 32), .value = 1 + i % 100};

        model_random_key(&seed, 32, r.key);
        scarce->fail_after = i / 2 % 6;
        if (poptrie_add(table[k], r.key, r.len, r.value) == 0)
            model_set(&model[k], r.key, r.len, r.value);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_of_five_ip4_tables),
        cmocka_unit_test(random_changes_of_five_ip6_tables),
        cmocka_unit_test(equal_ip4_tables_are_as_large_as_one),
        cmocka_unit_test(equal_ip6_tables_are_as_large_as_one),
        cmocka_unit_test(the_last_one_keeps_what_it_shared),
        cmocka_unit_test(a_place_is_taken_again_and_begins_empty),
        cmocka_unit_test(without_memory_nothing_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
