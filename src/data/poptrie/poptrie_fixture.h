// SPDX-License-Identifier: BSD-3-Clause
// poptrie_fixture.h - test fixture: a table and its model, changed at random and compared
#ifndef POPTRIE_FIXTURE_H
#define POPTRIE_FIXTURE_H

#include "poptrie/reference_lpm.h"
#include "poptrie/poptrie_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static inline struct poptrie *table_new(unsigned key_bits)
{
    struct poptrie *t = poptrie_new(&(struct poptrie_config){.key_bits = key_bits, .copies = 3});

    assert_non_null(t);
    return t;
}

static inline void must_be_sound(const struct poptrie *t)
{
    char why[200] = "";

    if (poptrie_check(t, why, sizeof(why)) != 0)
        fail_msg("%s", why);
}

static inline uint32_t find(const struct poptrie *t, const uint8_t key[16])
{
    uint32_t dst;

    if (t->geo.key_bits == 128)
        return poptrie_find6(t, key);
    memcpy(&dst, key, 4);
    return poptrie_find4(t, dst);
}

static inline void flush(struct poptrie *t)
{
    poptrie_reclaim(t, poptrie_epoch(t));
}

// A random address: near the stems; or the first or last one of a route, or next to it.
static inline void random_address(const struct lpm *m, uint8_t key[16])
{
    uint64_t r = lpm_random(&seed) >> 20;

    memset(key, 0, 16);
    lpm_random_key(&seed, m->key_bits, key);
    if (m->n > 0 && r % 4 < 3) {
        const struct poptrie_route *at = &m->r[(r >> 8) % m->n];
        uint8_t net[16];

        memset(net, 0xff, 16);
        lpm_mask(net, at->len);
        for (unsigned j = 0; j < 16; j++)
            key[j] = at->key[j] | (r % 2 == 0 ? (uint8_t)~net[j] : 0);
        if (r % 4 == 2)
            key[m->key_bits / 8 - 1] ^= 1;
    }
    if (m->key_bits == 32)
        memset(key + 4, 0, 12);
}

// The nodes of the path give the same answer, in sequence along the address.
static inline void path_must_agree(const struct poptrie *t, unsigned bits, const uint8_t *key,
                                   uint32_t want)
{
    struct poptrie_node node[32];
    uint32_t value = 0;
    unsigned n = poptrie_lookup_trace(t, bits, key, node, 32, &value), at = 0;

    assert_int_equal(value, want);
    assert_in_range(n, 1, 32);
    for (unsigned i = 0; i < n; i++) {
        assert_int_equal(node[i].depth, node[i].kind == POPTRIE_NODE_FLOOR ? 0 : at);
        assert_true(node[i].bits > 0 || node[i].kind == POPTRIE_NODE_OUTSIDE);
        at = node[i].depth + node[i].bits;
    }
}

// Compares the single lookup and every kernel's bulk lookup of n addresses with the model, and
// checks that nothing is written after the last value.
static inline void must_agree(const struct poptrie *t, const struct lpm *m, unsigned n)
{
    static uint8_t key[600][16];
    static uint32_t dst[600], got[601], want[600];

    for (unsigned i = 0; i < n; i++) {
        random_address(m, key[i]);
        memcpy(&dst[i], key[i], 4);
        want[i] = lpm_find(m, key[i]);
        assert_int_equal(find(t, key[i]), want[i]);
        path_must_agree(t, m->key_bits, key[i], want[i]);
    }
    for (int k = POPTRIE_KERNEL_AUTO; k < POPTRIE_KERNELS; k++) {
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

static inline void random_step(struct poptrie *t, struct lpm *m, unsigned crowd, unsigned values)
{
    uint8_t key[16];
    unsigned len = lpm_random_len(&seed, m->key_bits);
    uint64_t r = lpm_random(&seed);

    lpm_random_key(&seed, m->key_bits, key);
    if (m->n > 0 && r % 100 < (m->n > crowd ? 60 : 40)) {
        const struct poptrie_route *at = &m->r[(r >> 32) % m->n];

        len = at->len;
        memcpy(key, at->key, 16);
    }
    if (r % 100 < (m->n > crowd ? 50 : 30)) {
        bool had = lpm_del(m, key, len);

        assert_int_equal(poptrie_del(t, key, len), had ? 0 : -ENOENT);
        assert_int_equal(poptrie_get(t, key, len), POPTRIE_NONE);
    } else {
        uint32_t value = 1 + (r >> 40) % values;

        lpm_set(m, key, len, value);
        assert_int_equal(poptrie_add(t, key, len, value), 0);
        assert_int_equal(poptrie_get(t, key, len), value);
    }
}

#endif
