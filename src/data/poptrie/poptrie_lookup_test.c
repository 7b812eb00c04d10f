// SPDX-License-Identifier: BSD-3-Clause
// poptrie_lookup_test.c - edge cases of addresses, lengths, values and counts, for every kernel
#include "base/cpu.h"
#include "poptrie/poptrie_fixture.h"
#include "tests/unit.h"

unit_test(bad_arguments_are_refused)
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

unit_test(every_length_of_one_address_nests)
{
    // all zeros, all ones, a real address
    for (unsigned bits = 32; bits <= 128; bits += 96)
        for (unsigned ones = 0; ones < 3; ones++) {
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

unit_test(default_route_answers_what_no_other_route_does)
{
    struct poptrie *t = table_new(128);
    uint8_t key[16] = {0x20, 1}, outside[16] = {0xfe, 0x80};
    uint64_t rebuilt;

    assert_int_equal(poptrie_add(t, key, 16, 5), 0);
    assert_int_equal(find(t, outside), POPTRIE_NONE);
    rebuilt = t->rebuilt;
    assert_int_equal(poptrie_add(t, key, 0, 7), 0);
    assert_int_equal(t->rebuilt, rebuilt); // a store, without a new block
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

unit_test(routes_of_up_to_6_bits_build_nothing)
{
    for (unsigned bits = 32; bits <= 128; bits += 96) {
        struct poptrie *t = table_new(bits);
        uint8_t key[16] = {0x20}, probe[16] = {0x20, 9}, far[16] = {0xdf};
        uint64_t rebuilt;

        for (unsigned i = 0; i < 200; i++) { // blocks with holes, through which the short routes
                                             // show
            key[1] = i;
            assert_int_equal(poptrie_add(t, key, 20, 1 + i), 0);
        }
        probe[2] = 0xff; // in the second half of a /16
        rebuilt = t->rebuilt;
        key[1] = 0;
        for (unsigned len = 0; len <= 6; len++) {
            key[0] = len >= 3 ? 0x20 : 0;
            assert_int_equal(poptrie_add(t, key, len, 1000 + len), 0);
            assert_int_equal(find(t, probe), 1000 + len);
            assert_int_equal(find(t, far), 1000);
            must_be_sound(t);
        }
        for (unsigned len = 6; len > 0; len--) {
            key[0] = len >= 3 ? 0x20 : 0;
            assert_int_equal(poptrie_del(t, key, len), 0);
            assert_int_equal(find(t, probe), 1000 + len - 1);
            must_be_sound(t);
        }
        if (bits == 32) // IPv6 has the root in a block
            assert_int_equal(t->rebuilt, rebuilt);
        poptrie_free(t);
    }
}

unit_test(a_block_grows_from_1_to_16_bit_leaves)
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

unit_test(all_65535_values_are_kept_apart)
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

unit_test(bulk_lookups_of_any_count_agree)
{
    static struct lpm m;

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

// Bursts whose addresses belong to tables of several sizes, one of them empty.
unit_test(lookups_in_many_tables_agree)
{
    enum { TABLES = 5, N = 200 };
    static struct lpm m[TABLES];
    const struct poptrie *each[N];
    struct poptrie *t[TABLES];
    uint8_t key[N][16];
    uint32_t dst[N], got[N + 1], want[N];

    for (unsigned bits = 32; bits <= 128; bits += 96) {
        for (unsigned k = 0; k < TABLES; k++) {
            t[k] = table_new(bits);
            m[k].n = 0;
            m[k].key_bits = bits;
            for (unsigned i = 0; i < 150 * k; i++)
                random_step(t[k], &m[k], 1000, k == 4 ? 60000 : 300);
        }
        for (unsigned n = 1; n <= N; n++) {
            for (unsigned i = 0; i < n; i++) {
                unsigned k = lpm_random(&seed) % TABLES;
                random_address(&m[k], key[i]);
                memcpy(&dst[i], key[i], 4);
                each[i] = t[k];
                want[i] = lpm_find(&m[k], key[i]);
            }
            for (int k = POPTRIE_KERNEL_AUTO; k < POPTRIE_KERNELS; k++) {
                if (poptrie_set_kernel(k, 0) != 0)
                    continue;
                memset(got, 0xee, sizeof(got));
                if (bits == 32)
                    poptrie_find4_each(each, dst, got, n);
                else
                    poptrie_find6_each(each, (const uint8_t(*)[16])key, got, n);
                assert_memory_equal(got, want, n * sizeof(*got));
                assert_int_equal(got[n], 0xeeeeeeee);
            }
        }
        for (unsigned k = 0; k < TABLES; k++)
            poptrie_free(t[k]);
    }
}

unit_test(every_copy_answers_alike)
{
    static struct lpm m;

    for (unsigned bits = 32; bits <= 128; bits += 96) {
        struct poptrie *t = table_new(bits);

        m.n = 0;
        m.key_bits = bits;
        for (unsigned i = 0; i < 400; i++) {
            random_step(t, &m, 1000, 300);
            // blocks get reused
            if (i % 16 == 0)
                flush(t);
            for (unsigned copy = 0; i % 8 == 0 && copy < 3; copy++)
                must_agree(poptrie_copy(t, copy), &m, 64);
        }
        must_be_sound(t);
        poptrie_free(t);
    }
    assert_null(
        poptrie_new(&(struct poptrie_config){.key_bits = 32, .copies = POPTRIE_COPIES_MAX + 1}));
}

unit_test(kernels_refuse_what_the_limit_rules_out)
{
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AVX512, 256), -ENOTSUP);
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AVX2, 128), -ENOTSUP);
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 64), 0);
    assert_string_equal(poptrie_kernel_name(), "scalar");
    assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0), 0);
    if (poptrie_set_kernel(POPTRIE_KERNEL_AVX512_LOADS, 0) == 0) {
        const char *best = gather_is_slow() ? "avx512-loads" : "avx512-vpopcnt";
        assert_int_equal(poptrie_set_kernel(POPTRIE_KERNEL_AUTO, 0), 0);
        assert_string_equal(poptrie_kernel_name(), best);
    }
}
