// SPDX-License-Identifier: BSD-3-Clause
// poptrie_update_test.c - changes and loads against a naive model, operation by operation
#include "poptrie/poptrie_fixture.h"
#include "tests/unit.h"

static void random_run(unsigned key_bits, unsigned steps, unsigned crowd, unsigned values)
{
    static struct lpm m;
    struct poptrie *t = table_new(key_bits);

    m.n = 0;
    m.key_bits = key_bits;
    for (unsigned i = 0; i < steps; i++) {
        random_step(t, &m, crowd, values);
        must_be_sound(t);
        must_agree(t, &m, 1 + lpm_random(&seed) % 64);
        if (i % 7 == 0)
            flush(t);
    }
    while (m.n > 0) {
        struct poptrie_route r = m.r[0];

        assert_true(lpm_del(&m, r.key, r.len));
        assert_int_equal(poptrie_del(t, r.key, r.len), 0);
        must_agree(t, &m, 8);
    }
    flush(t);
    must_be_sound(t);
    assert_int_equal(t->group->blocks.blocks, 0);
    assert_int_equal(t->nodes.blocks, 1); // the root
    poptrie_free(t);
}

unit_test(random_ip4_operations_equal_the_model)
{
    random_run(32, 1000, 30, 5);
    random_run(32, 1000, 300, 65535);
}

unit_test(random_ip6_operations_equal_the_model)
{
    random_run(128, 300, 30, 5);
    random_run(128, 300, 300, 65535);
}

static void load_in_any_order_equals_adding_one_by_one(unsigned key_bits)
{
    static struct lpm m;
    static struct poptrie_route r[600];
    struct poptrie *t = table_new(key_bits);

    for (unsigned round = 0; round < 20; round++) {
        size_t n = round == 19 ? 0 : lpm_random(&seed) % 600;

        m.n = 0;
        m.key_bits = key_bits;
        for (size_t i = 0; i < n; i++) {
            memset(&r[i], 0, sizeof(r[i]));
            lpm_random_key(&seed, key_bits, r[i].key);
            r[i].len = lpm_random_len(&seed, key_bits);
            r[i].value = 1 + lpm_random(&seed) % 9;
            lpm_set(&m, r[i].key, r[i].len, r[i].value); // the last of equal prefixes also wins
                                                         // here
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
    assert_int_equal(t->group->blocks.blocks, 0);
    poptrie_free(t);
}

unit_test(ip4_load_in_any_order_equals_adding_one_by_one)
{
    load_in_any_order_equals_adding_one_by_one(32);
}

unit_test(ip6_load_in_any_order_equals_adding_one_by_one)
{
    load_in_any_order_equals_adding_one_by_one(128);
}

unit_test(load_refuses_bad_routes_and_keeps_the_old_table)
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

struct piece {
    uint8_t key[16];
    unsigned len, n, room;
};

static int take_piece(void *ctx, const uint8_t *key, unsigned len, uint32_t value)
{
    struct piece *p = ctx;

    memcpy(p->key, key, 16);
    p->len = len;
    p->n++;
    return --p->room == 0;
}

// A walk in pieces of random size visits the same prefixes as a single walk, also after a prefix
// that is not stored.
unit_test(a_walk_in_pieces_is_the_whole_walk)
{
    static struct lpm m;

    for (unsigned bits = 32; bits <= 128; bits += 96) {
        struct poptrie *t = table_new(bits);

        m.n = 0;
        m.key_bits = bits;
        for (unsigned i = 0; i < 2000; i++)
            random_step(t, &m, 1000, 300);
        for (unsigned round = 0; round < 50; round++) {
            struct piece p = {.room = 1 + (unsigned)(lpm_random(&seed) % 9)};
            int rc = poptrie_walk(t, take_piece, &p);

            while (rc) {
                p.room = 1 + (unsigned)(lpm_random(&seed) % 9);
                // removes and re-adds the last prefix visited: its position is enough
                if ((lpm_random(&seed) >> 9) % 4 == 0) {
                    uint32_t value = poptrie_get(t, p.key, p.len);
                    uint8_t key[16];
                    unsigned len = p.len;

                    memcpy(key, p.key, 16);
                    assert_int_equal(poptrie_del(t, key, len), 0);
                    rc = poptrie_walk_after(t, key, len, take_piece, &p);
                    assert_int_equal(poptrie_add(t, key, len, value), 0);
                } else {
                    rc = poptrie_walk_after(t, p.key, p.len, take_piece, &p);
                }
            }
            assert_int_equal(p.n, m.n);
        }
        poptrie_free(t);
    }
}

unit_test(walk_visits_every_route_once_in_prefix_order)
{
    static struct lpm m;

    for (unsigned bits = 32; bits <= 128; bits += 96) {
        struct poptrie *t = table_new(bits);
        struct order o = {.t = t};
        struct poptrie_stats s;
        int calls = 0;

        m.n = 0;
        m.key_bits = bits;
        for (unsigned i = 0; i < 1000; i++)
            random_step(t, &m, 1000, 300);
        assert_int_equal(poptrie_walk(t, must_follow, &o), 0);
        assert_int_equal(o.n, m.n);
        assert_int_equal(poptrie_walk(t, stop_at_third, &calls), 42);
        poptrie_usage(t, &s);
        assert_int_equal(s.routes, m.n);
        assert_int_equal(s.nodes + t->group->garbage_n, t->group->blocks.blocks);
        assert_true(s.leaves > s.nodes);
        poptrie_free(t);
    }
}
