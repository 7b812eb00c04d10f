// SPDX-License-Identifier: BSD-3-Clause
// gpu_lookup_test.c - the lookup for devices agrees with poptrie_find on the same memory
#include "gpu/gpu_fixture.h"
#include "tests/unit.h"

static void view(const struct poptrie *t, struct gpu_table *g)
{
    struct poptrie_image image;

    poptrie_image(t, &image);
    *g = (struct gpu_table){.dir = (uint64_t)(uintptr_t)image.dir,
                            .arena = (uint64_t)(uintptr_t)image.arena,
                            .key_bits = image.key_bits,
                            .outside = *image.outside};
    memcpy(g->floor, image.floor, sizeof(g->floor));
}

static uint32_t found(const struct gpu_table *g, const uint8_t *key)
{
    uint64_t half[2];

    memcpy(half, key, sizeof(half));
    return g->key_bits == 32
               ? gpu_find4(g, __builtin_bswap32((uint32_t)half[0]))
               : gpu_find6(g, __builtin_bswap64(half[0]), __builtin_bswap64(half[1]));
}

static void must_agree(const struct poptrie *t, unsigned key_bits, unsigned n)
{
    struct gpu_table g;
    unsigned answered = 0;

    view(t, &g);
    for (unsigned i = 0; i < n; i++) {
        uint8_t key[16];
        uint32_t want;

        lpm_random_key(&seed, key_bits, key);
        want = find(t, key_bits, key);
        answered += want != POPTRIE_NONE;
        assert_int_equal(found(&g, key), want);
    }
    assert_true(answered > n / 20);
}

static void random_tables_answer_alike(unsigned key_bits)
{
    struct poptrie *t = table_new(key_bits, NULL);

    for (unsigned step = 0; step < 300; step++) {
        change_at_random(t, key_bits, step < 100 ? 3 : 30);
        if (step > 20)
            must_agree(t, key_bits, 300);
        poptrie_reclaim(t, poptrie_epoch(t));
    }
    poptrie_free(t);
}

unit_test(ipv4_answers_alike)
{
    random_tables_answer_alike(32);
}

unit_test(ipv6_answers_alike)
{
    random_tables_answer_alike(128);
}

// Covers every kind of block: a route of each length around one address, and dense /32s.
unit_test(every_length_answers_alike)
{
    for (unsigned key_bits = 32; key_bits <= 128; key_bits += 96) {
        struct poptrie *t = table_new(key_bits, NULL);
        uint8_t key[16] = {0x20, 0x01, 0x0d, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
        struct gpu_table g;

        for (unsigned len = 0; len <= key_bits; len++)
            assert_int_equal(poptrie_add(t, key, len, 100 + len), 0);
        for (unsigned i = 0; i < 256; i += 3) {
            key[key_bits / 8 - 1] = (uint8_t)i;
            assert_int_equal(poptrie_add(t, key, key_bits, 50000 + i), 0);
        }
        view(t, &g);
        for (unsigned bit = 0; bit < key_bits; bit++)
            for (unsigned i = 0; i < 256; i++) {
                uint8_t probe[16];

                key[key_bits / 8 - 1] = (uint8_t)i;
                memcpy(probe, key, 16);
                probe[bit / 8] ^= 0x80 >> bit % 8;
                assert_int_equal(found(&g, probe), find(t, key_bits, probe));
            }
        poptrie_free(t);
    }
}

unit_test(an_empty_table_has_no_route)
{
    struct poptrie *t = table_new(128, NULL);
    struct gpu_table g;

    view(t, &g);
    assert_int_equal(found(&g, (const uint8_t[16]){0x20, 1}), POPTRIE_NONE);
    assert_int_equal(found(&g, (const uint8_t[16]){0xfe, 0x80}), POPTRIE_NONE);
    poptrie_free(t);
}
