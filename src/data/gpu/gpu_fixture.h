// SPDX-License-Identifier: BSD-3-Clause
// gpu_fixture.h - for tests: tables with random routes, addresses near them
//
// Values are compared with poptrie_find, which poptrie's own tests compare with a naive search.
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H

#include "gpu/lookup.h"
#include "poptrie/image.h"
#include "poptrie/poptrie.h"
#include "poptrie/reference_lpm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "gpu/gpu_wait.h"

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static inline struct poptrie *table_new(unsigned key_bits, struct poptrie *beside)
{
    struct poptrie *t = poptrie_new(&(struct poptrie_config){
        .key_bits = key_bits, .beside = beside, .places = 4, .max_bytes = 32 << 20});

    assert_non_null(t);
    return t;
}

static inline void change_at_random(struct poptrie *t, unsigned key_bits, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint8_t key[16];
        unsigned len = lpm_random_len(&seed, key_bits);
        uint64_t r = lpm_random(&seed);

        lpm_random_key(&seed, key_bits, key);
        if (r % 4 == 0)
            poptrie_del(t, key, len);
        else
            assert_int_equal(poptrie_add(t, key, len, 1 + (uint32_t)(r >> 32) % 60000), 0);
    }
}

static inline uint32_t find(const struct poptrie *t, unsigned key_bits, const uint8_t *key)
{
    uint32_t dst;

    memcpy(&dst, key, sizeof(dst));
    return key_bits == 32 ? poptrie_find4(t, dst) : poptrie_find6(t, key);
}

#endif
